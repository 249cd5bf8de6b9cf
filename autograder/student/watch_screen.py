"""The parts of the screen of `watch`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from autograder.course import Handout, Stage
from autograder.reports.feedback import ExerciseFeedback, counted
from autograder.reports.terminal import exercise_parts, passed_parts, picture_parts
from autograder.student.learner_folder import location
from autograder.student.progress import Progress, Task, first_open, tasks
from autograder.student.warm_checker import CheckAnswer

if TYPE_CHECKING:  # it imports torch
    from autograder.student.attention_weights import Weights

BLOCKS: Final = 20  # of the progress bar


def heading(own: Handout, stage: Stage) -> Iterator[RenderableType]:
    """Show the title of the stage and its number."""
    number = own.file.stages.index(stage.name) + 1
    count = f"  {stage.name}, {number} of {counted(len(own.stages), 'stage')}"
    yield Text.assemble((stage.title, "bold"), (count, "dim"))
    yield ""


def exercise_location(task: Task, *, unwritten: bool) -> Iterator[RenderableType]:
    """Show in which file and line the exercise is."""
    file, line = location(task)
    at = f"{task.stage.name}/{file.name}" + (f", line {line}" if line else "")
    what = f"Write {task.exercise.name} and save" if unwritten else "Mend it and save"
    yield from ("", Text(f"{what}: {at}", style="bold" if unwritten else "dim"))
    if unwritten and task.stage.lab.is_file():
        yield Text(f"The lab leads through it: {task.stage.name}/{task.stage.lab.name}", "dim")


def exercise_list(own: Handout, progress: Progress, current: Task) -> Iterator[RenderableType]:
    """Show all exercises, which have passed, and which is the current one."""
    for stage in own.stages:
        done = "✓" if progress.is_done(stage) else " "
        yield Text(f"{done} {stage.name}", style="bold")
        names = []
        for exercise in stage.exercises:
            task = Task(stage, exercise)
            mark = "✓" if task.key in progress.passed else "·"
            here = "  ← here" if task.key == current.key else ""
            names.append(Text(f"{mark} {exercise.name}{here}", "green" if mark == "✓" else ""))
        yield from (Padding(name, (0, 0, 0, 4)) for name in names)


def finished_stage(stage: Stage, last: ExerciseFeedback | None) -> Iterator[RenderableType]:
    """Show that the stage is done, and the feedback on its last exercise."""
    if last is not None:
        yield from (*passed_parts(last), "")
    yield Text(f"This stage is done: {stage.title}. Well done!", style="bold green")


def stage_picture(stage: Stage, weights: "Weights", width: int) -> Iterator[RenderableType]:
    """Show what the learner's code has just computed, and what it means."""
    picture = stage.file.picture
    if picture is not None:
        title = "What your code computes:"
        yield ""
        yield from picture_parts(title, picture.tokens, picture.columns, weights, width)
        yield from ("", Text(picture.meaning))
        yield Text(f"A bug hunt in this stage: autograder hunt {stage.name}", style="dim")


def hidden_answer(answer: CheckAnswer, task: Task, width: int) -> Iterator[RenderableType]:
    """Show what the hidden suite says about the exercise."""
    if answer.feedback is None:
        yield Text(answer.message)
        return
    yield Text(f"The hidden suite on {task.exercise.name}:", style="bold")
    yield from exercise_parts(answer.feedback, width)


def following_stage(own: Handout, progress: Progress, stage: Stage) -> Iterator[RenderableType]:
    """Show which stage comes next."""
    following = first_open(own, progress, Task(stage, stage.exercises[-1]))
    yield ""
    if following is None:
        yield Text("This was the last open exercise. Congratulations on the whole course!")
    else:
        comes = following.stage
        yield Text.assemble(("Next: ", "bold"), f"{comes.title}. {comes.file.goal}")
        yield Text("Press n to go on.", style="dim")


def progress_bar(own: Handout, progress: Progress) -> Text:
    """Return a bar that shows how many exercises have passed."""
    every = tasks(own)
    done = sum(task.key in progress.passed for task in every)
    full = round(BLOCKS * done / len(every))
    count = f"  {done} of {counted(len(every), 'exercise')}"
    return Text.assemble(("█" * full, "green"), ("░" * (BLOCKS - full), "dim"), count)
