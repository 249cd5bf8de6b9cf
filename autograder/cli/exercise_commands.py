"""Defines the commands for the exercises in a learner's folder."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from autograder.cli import inputs, options, output
from autograder.disk import quoted
from autograder.errors import UsageError
from autograder.student import copies, learner_folder
from autograder.student.progress import Progress, first_open, outdated_lines, progress_lines

app = typer.Typer()


@app.command()
def start(
    folder: Annotated[
        Path | None, Argument(metavar="[DIR]", help="The folder to create (default: my-work).")
    ] = None,
    *,
    course_folder: options.CourseOption = None,
) -> None:
    """Create your own folder with every stage; files that you changed are kept."""
    here = Path.cwd()
    done = learner_folder.start(here, folder, course_folder)
    inside = done.folder.is_relative_to(here)
    shown = done.folder.relative_to(here) if inside else done.folder
    name = done.folder.name if done.folder == here else shown
    output.print_lines([f"{name} holds your stages: {len(done.added)} files added."])
    named = " ".join(done.changes)
    output.print_lines(f"updated {path}" for path in done.replaced if str(path) not in named)
    output.print_lines(f"kept your {path}" for path in done.kept)
    output.print_lines(done.changes)
    own = inputs.find_handout(done.folder)
    state = Progress.read(own.root)
    filled = ((stage, one) for stage in own.stages for one in copies.fill(own, state, stage))
    output.print_lines(f"{stage.name}: {one}" for stage, one in filled)
    place = "" if here.is_relative_to(done.folder) else f" {quoted(shown)}"
    typer.echo(f"Next: autograder watch{place}")
    output.print_remarks(filter(None, [done.fault]))


@app.command()
def hint(
    where: options.Where = "",
    number: Annotated[
        int | None,
        Argument(metavar="[N]", min=1, max=3, help="1, 2 or 3 (default: one more each time)."),
    ] = None,
) -> None:
    """Show a hint: first a question, then a direction, then almost the whole line."""
    _, state, task, _ = inputs.find_place(where)
    shown = state.next_hint(task, number)
    hints = state.hints_of(task)
    text = hints[shown - 1] or "This copy has no hints file."
    output.print_lines([f"{task.key}, hint {shown} of {len(hints)}:", text])
    output.print_remarks(filter(None, [state.fault]))


@app.command("next")
def next_(where: options.Where = "") -> None:
    """Show the next exercise, with its file and line."""
    handout, state, task, stage = inputs.find_place(where)
    output.print_lines(outdated_lines(handout, state))
    output.print_lines(filter(None, [learner_folder.newer_course(handout)]))
    if task.key in state.passed and (following := first_open(handout, state, task)):
        typer.echo(f"Every exercise of {stage.name} passes." if stage else f"{task.key} passes.")
        task = following
    filled = {one.task.key: one for one in copies.fill(handout, state, task.stage)}
    output.print_lines(map(str, filled.values()))
    while filled.pop(task.key, None):
        task = first_open(handout, state, task) or task
    if task.key in state.passed:
        typer.echo("Every exercise is done. Congratulations on the whole course!")
        typer.echo("To see all of it on one page: autograder progress --report page")
        typer.echo(f"Hunt a bug next: autograder hunt {handout.stages[-1].name}")
        return
    file, line = learner_folder.location(task)
    file = learner_folder.shown_path(file)
    shown = f" ({task.exercise.effort})" if task.exercise.effort else ""
    what = f"Next: {task.exercise.name}{shown}, in {task.stage.title}."
    request = copies.request(handout, state, task)
    output.print_lines(filter(None, [what, f"{file}{f', line {line}' if line else ''}", request]))
    typer.echo("`autograder watch` checks it each time you save.")


@app.command()
def progress(
    folder: options.LearnerFolder = None,
    *,
    report: Annotated[
        Path | None,
        Option(
            "--report", metavar="DIR", help=("Write a page that shows everything you have built.")
        ),
    ] = None,
) -> None:
    """Show your stages: how many exercises pass, and how many minutes are left."""
    handout = inputs.find_handout(folder)
    state = Progress.read(handout.root)
    output.print_lines(progress_lines(handout, state))
    if report is not None:
        from autograder.student import course_page  # noqa: PLC0415  # only --report needs it
        from autograder.student.warm_checker import WarmChecker  # noqa: PLC0415  # starts a process that most commands do not need

        typer.echo("Drawing the pictures of your stages; this takes a few seconds.")
        with closing(WarmChecker(handout)) as checker:
            page = course_page.write_page(handout, state, report, checker.picture)
        typer.echo(f"What you have built: {page}")


@app.command()
def story(
    prompt: Annotated[
        list[str] | None,
        Argument(metavar="[PROMPT]", help="The first words (default: those of your stage)."),
    ] = None,
    *,
    teach: Annotated[
        str, Option("--teach", metavar="TEXT", help="A text that your code teaches it first.")
    ] = "",
    temperature: Annotated[
        float, Option("--temperature", min=0, help="0 is the likeliest; 1 draws as it has learned.")
    ] = 0.0,
) -> None:
    """Let the course's companion write with the code that passes.

    It grades nothing, and your progress does not change.
    """
    from autograder.companion import answer_lines  # noqa: PLC0415  # imports torch
    from autograder.sandbox.spawned_workers import own_workers  # noqa: PLC0415  # only this command needs it
    from autograder.student import companion_show  # noqa: PLC0415  # only this command needs it

    handout = inputs.find_handout(None)
    passed = Progress.read(handout.root).passed
    with own_workers(handout.limits) as server:
        server.wait_ready()
        answer = companion_show.show(
            handout,
            server,
            passed,
            prompt=" ".join(prompt or ()),
            teach=teach,
            heat=temperature,
        )
    width, _ = output.terminal()
    if answer is not None:
        output.print_lines(answer_lines(answer, width))


@app.command()
def reset(exercise: Annotated[str, Argument(metavar="EXERCISE")]) -> None:
    """Reset an exercise to the version you received; a copy of your file is kept."""
    handout, state, task, _ = inputs.find_place(exercise)
    copy = learner_folder.reset_exercise(handout, state, task)
    typer.echo(f"{task.key} is as you received it.")
    if copy is not None:
        output.print_lines([f"A copy of your file: {copy}"])
    output.print_remarks(filter(None, [state.fault]))


@app.command()
def solution(
    exercise: Annotated[str, Argument(metavar="EXERCISE")],
    *,
    i_give_up: Annotated[
        bool,
        Option("--i-give-up", help="Show it before your code passes; your progress records this."),
    ] = False,
    course_folder: options.CourseOption = None,
) -> None:
    """Show the solution of an exercise that you have solved; needs the course."""
    _, state, task, _ = inputs.find_place(exercise)
    text = learner_folder.solution(task, course_folder)
    if task.key not in state.passed | state.gave_up:
        if not i_give_up:
            raise UsageError(
                f"{task.key} does not pass yet. Try `autograder hint {task.key}` first, "
                "or see the solution with --i-give-up."
            )
        state.gave_up.add(task.key)
        state.save()
    typer.echo(text)
    output.print_remarks(filter(None, [state.fault]))
