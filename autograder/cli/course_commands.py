"""Defines the commands that run a course's code; all of them import torch."""

from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from autograder import doctor as examining
from autograder.authoring import mutation, stage_verifier
from autograder.authoring import verify as verifying
from autograder.cli import inputs, options, output
from autograder.course import Course, Stage, find_root, load
from autograder.course_file import Isolation
from autograder.errors import CourseError, UsageError
from autograder.exports.gradescope_results import Visibility
from autograder.gradescope import bundle as bundling

app = typer.Typer()


@app.command()
def verify(
    *,
    stage: options.StagesOption = None,
    full: Annotated[
        bool,
        Option(
            "--full", help="Also grade variants, print the table of prices, and measure distances."
        ),
    ] = False,
    verbose: Annotated[
        bool,
        Option("--verbose", help="With --full, print the distance from the bound of each check."),
    ] = False,
    course_folder: options.CourseOption = None,
) -> None:
    """Check the course: stubs earn 0, solutions earn full marks, misconceptions are named."""
    inputs.refuse_unused("--full", full, {"--verbose": verbose})
    course = inputs.find_course(course_folder)
    stages = inputs.find_stages(course, stage, graded=False)
    report = verifying.verify(course, stages, output.print_progress, full=full)
    output.print_lines([*report.lines, *(report.details if verbose else ())])
    output.print_remarks(f"✗ {finding}" for finding in report.findings)
    if report.findings:
        raise typer.Exit(1)
    more = "" if full else " `autograder verify --full` also grades variants and prints the prices."
    typer.echo(f"Everything holds.{more}")


@app.command()
def mutate(
    *,
    stage: options.StagesOption = None,
    course_folder: options.CourseOption = None,
) -> None:
    """Change the solutions in small ways and list the changes that no hidden check notices."""
    course = inputs.find_course(course_folder)
    stages = inputs.find_stages(course, stage, graded=False) or course.stages
    if sum([_mutate(course, mutated) for mutated in stages]):
        raise typer.Exit(1)


@app.command()
def diagnose(
    file: Annotated[Path, Argument(metavar="FILE", exists=True, dir_okay=False)],
    *,
    stage: Annotated[str, Option(help="The stage of the file, by name or number.")],
    course_folder: options.CourseOption = None,
) -> None:
    """List the possible explanations of a file's mistakes and how well each one matches."""
    course = inputs.find_course(course_folder)
    output.print_lines(stage_verifier.diagnose_file(course, course.stage(stage), file))


@app.command()
def doctor(*, course_folder: options.CourseOption = None) -> None:
    """Check this machine: isolation, torch, and whether it computes the documented tensors.

    Without a course, only test whether checks run on this machine.
    """
    healthy = True
    root = course_folder
    with suppress(CourseError):
        root = root or find_root(Path.cwd())
    course = load(root) if root else None
    findings = ((found.good, found.text) for found in examining.examine(course))
    for good, text in chain(findings, _gradebook(course)):
        typer.echo(f"{'✓' if good else '✗'} {text}")
        healthy = healthy and good
    if not healthy:
        raise typer.Exit(1)


@app.command()
def bundle(
    platform: Annotated[
        Literal["gradescope"], Argument(metavar="PLATFORM", help="The platform: gradescope.")
    ],
    *,
    stage: options.StagesOption = None,
    isolation: Annotated[
        Isolation,
        Option(help="The weakest isolation in which the container may grade."),
    ] = "process",
    visibility: Annotated[
        Visibility, Option(help="When students see the results of the tests and the score.")
    ] = "after_due_date",
    out: Annotated[Path | None, options.out_option("gradescope.zip")] = None,
    course_folder: options.CourseOption = None,
) -> None:
    """Pack the course for a platform that runs the grader itself: a zip for Gradescope.

    The file contains solutions and hidden suites, so keep it secret.
    """
    course = inputs.find_course(course_folder)
    stages = inputs.find_stages(course, stage, graded=True) or course.stages
    made = bundling.build_zip(course, stages, least=isolation, visibility=visibility)
    output.write_export(platform, made, out or Path(bundling.FILE))


def _mutate(course: Course, stage: Stage) -> int:
    """Print the mutants that no check of *stage* notices; return the number of findings."""
    report = mutation.mutate_stage(course, stage)
    typer.echo(
        f"{report.stage:28} killed {report.killed:4} ({report.share:.1%}), "
        f"equivalent {len(report.equivalent):3}, survived {len(report.survived):3}"
    )
    for mutant in report.survived:
        typer.echo(f"  line {mutant.line}: {mutant.label}")
    for entry in report.unneeded:
        typer.echo(f"  no longer survives: {entry.was}  →  {entry.becomes}")
    return len(report.survived) + len(report.unneeded)


def _gradebook(course: Course | None) -> Iterator[tuple[bool, str]]:
    if course is None or find_spec("nbgrader") is None:
        return
    try:
        yield inputs.open_gradebook(course).finding()
    except UsageError as error:
        yield False, str(error)
