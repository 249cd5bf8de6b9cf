"""Defines the commands that check a learner's work."""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from autograder.cli import inputs, options, output
from autograder.course import Stage
from autograder.reports.exercise_screen import self_check_text
from autograder.reports.feedback import SelfCheckFeedback, counted
from autograder.reports.terminal import render
from autograder.student import check as checking
from autograder.student import learner_folder
from autograder.student import watch as watching
from autograder.student.check import CheckTarget
from autograder.student.progress import AmbiguousNameError

app = typer.Typer()


@app.command()
def check(
    name: Annotated[
        str,
        Argument(
            metavar="[STAGE | EXERCISE | FILE]",
            help="A stage by name or number, an exercise, a .py or a .ipynb (default: the stage's "
            "folder here, else the stages that changed since their last check).",
        ),
    ] = "",
    *,
    hidden: Annotated[
        bool, Option("--hidden", help="Also run the hidden suite, if the course has it.")
    ] = False,
    course_folder: options.CourseOption = None,
) -> None:
    """Check your own work: what is right, what to fix first, and what comes next.

    Exit code 0 if every check passes, 1 if a check does not pass.
    """
    here = Path.cwd()
    changed = [] if name or course_folder else checking.changed_stages(here)
    if len(changed) > 1:
        feedback, fault = _check_several(changed, here, hidden=hidden)
    else:
        word = changed[0].name if changed else name
        feedback, fault = _check(_target(word, here, course_folder, hidden=hidden))
    width, colour = output.terminal()
    size = width, output.rows()
    typer.echo(self_check_text(feedback, here, size, colour=colour), nl=False)
    output.print_remarks(filter(None, [fault]))
    if not feedback.complete:
        raise typer.Exit(1)


def _target(name: str, here: Path, root: Path | None, *, hidden: bool) -> CheckTarget:
    try:
        return checking.find_target(name, here, root, hidden=hidden)
    except AmbiguousNameError as error:
        chosen = inputs.choose(name, error)
        return checking.find_target(chosen.key, here, root, hidden=hidden)


def _check_several(
    changed: Sequence[Stage], here: Path, *, hidden: bool
) -> tuple[SelfCheckFeedback, str]:
    """Check the *changed* stages, with a line for each; return the first that is not right."""
    found = []
    typer.echo(f"{len(changed)} stages have changed since their last check.")
    for number, stage in enumerate(changed, start=1):
        feedback, fault = _check(checking.find_target(stage.name, here, hidden=hidden))
        done = len(feedback.exercises) - len(feedback.open)
        mark = "✓" if feedback.complete else "✗"
        count = f"{done} of {counted(len(feedback.exercises), 'exercise')}"
        typer.echo(f"{number} of {len(changed)}  {mark} {stage.name}  {count}")
        found.append((feedback, fault))
    typer.echo()
    return next((one for one in found if not one[0].complete), found[-1])


def _check(target: CheckTarget) -> tuple[SelfCheckFeedback, str]:
    """Check *target*; return also a sentence if the learner's progress can't be written."""
    feedback = checking.check(target)
    outcomes = {exercise.name: exercise.first is None for exercise in feedback.exercises}
    failing = {one.name: one.first.name for one in feedback.exercises if one.first is not None}
    return feedback, learner_folder.remember(target.file, target.stage, outcomes, failing)


@app.command()
def watch(
    where: options.Where = "",
    *,
    plain: Annotated[
        bool,
        Option(
            "--plain",
            help="Append lines, without colours and movements of the cursor, for screen readers.",
        ),
    ] = False,
) -> None:
    """Check your current exercise at each save; it shows one problem at a time."""
    own, _, task, _ = inputs.find_place(where)
    newer = learner_folder.newer_course(own)
    output.print_lines([watching.watch(own, task, newer, plain=plain)])


@app.command()
def hunt(
    stage: Annotated[str, Argument(metavar="STAGE", help="A stage that is done.")],
    *,
    answer: Annotated[
        int | None, Option("--answer", help="The number that answers the question.")
    ] = None,
    new: Annotated[bool, Option("--new", help="Begin a new hunt in this stage.")] = False,
) -> None:
    """Hunt a bug planted in your own code: see it, fix it, write a test that catches it.

    Run it again after each step. Exit code 0 if your test catches every mistake, otherwise 1.
    """
    from autograder.student.hunt import Hunt  # noqa: PLC0415  # imports torch, which `watch` does not need

    inputs.refuse_ignored("--new", new, {"--answer": answer})
    handout = inputs.find_handout(None)
    width, colour = output.terminal()
    with closing(Hunt(handout, handout.stage(stage), _small_changes)) as bug_hunt:
        if new or bug_hunt.is_new:
            output.print_lines(
                ["Making small changes to a copy of your code; this can take up to a minute."]
            )
            bug_hunt.begin()
        elif bug_hunt.is_slow:
            typer.echo("Running your code; this can take up to a minute.")
        report = bug_hunt.go_on(answer, width, output.rows())
        typer.echo(render(report.parts, width, colour=colour), nl=False)
        while report.asks and sys.stdin.isatty():
            report = bug_hunt.go_on(_number(), width)
            typer.echo(render(report.parts, width, colour=colour), nl=False)
        if report.asks:
            typer.echo(f"Answer with: autograder hunt {stage} --answer NUMBER")
        output.print_remarks(filter(None, [bug_hunt.fault]))
    if not report.done:
        raise typer.Exit(1)


def _number() -> int:
    while True:
        text = typer.prompt("Your answer")
        if text.strip().isdecimal():
            return int(text)
        typer.echo("Answer with the number of a sentence.")


def _small_changes(text: str, lines: Sequence[range]) -> list[tuple[str, str]]:
    from autograder.authoring.mutation import edits_in  # noqa: PLC0415  # loaded after the fork

    return [*edits_in(text, lines)]
