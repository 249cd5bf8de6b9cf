"""Defines the commands that create the files of a course."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from autograder.authoring import handout_folder
from autograder.authoring import new_course as courses
from autograder.authoring import release as releasing
from autograder.cli import inputs, options, output
from autograder.errors import UsageError

app = typer.Typer()
WheelUrl = Annotated[
    str,
    Option(
        "--wheel-url",
        metavar="URL",
        help="With --handout: where you upload the wheel. Also writes labs for a browser.",
    ),
]
LabsUrl = Annotated[
    str,
    Option(
        "--labs-url",
        metavar="URL",
        help="With --wheel-url: where you upload DIR/labs, which Colab opens.",
    ),
]


@app.command()
def release(
    *,
    check: Annotated[bool, Option("--check", help="Only list the stale files.")] = False,
    print_: Annotated[
        str, Option("--print", metavar="STAGE", help="Only print the records of a stage as text.")
    ] = "",
    stage: options.StagesOption = None,
    handout: Annotated[
        Path | None,
        Option(metavar="DIR", help="Also write the folder for a class: START_HERE.md and a wheel."),
    ] = None,
    wheel_url: WheelUrl = "",
    labs_url: LabsUrl = "",
    solutions: Annotated[
        Path | None, Option(metavar="DIR", help="Also write a wheel with the solutions.")
    ] = None,
    course_folder: options.CourseOption = None,
) -> None:
    """Build the stubs and the assignments from the solutions."""
    writes = {"--handout": handout, "--solutions": solutions}
    inputs.refuse_ignored("--check", check, writes)
    inputs.refuse_ignored("--print", print_, {"--check": check, "--stage": stage, **writes})
    urls = _urls(wheel_url, labs_url, handout)
    course = inputs.find_course(course_folder)
    stages = inputs.find_stages(course, stage, graded=False)
    if print_:
        from autograder.authoring.recording import record_lines  # noqa: PLC0415  # imports torch

        output.print_lines(record_lines(course.stage(print_)))
        return
    if check:
        paths = [*releasing.stale(course, stages), *handout_folder.stale(course)]
        stale = [f"{path} is stale" for path in paths]
        _report_stale([*stale, *releasing.leaks(course)], list(releasing.kept(course)))
        return
    built = releasing.build(course, stages, output.print_progress)
    output.print_lines(f"built {path.relative_to(course.root)}" for path in built)
    output.print_lines(releasing.left_out(built))
    _report_stale([*releasing.leaks(course)], list(releasing.kept(course)))
    written = handout_folder.refresh(course)
    if handout is not None:
        written += handout_folder.write(course, stages or course.every_stage, handout, urls)
    if solutions is not None:
        folder = handout_folder.write_solutions(course, stages or course.every_stage, solutions)
        written.append(folder)
    output.print_lines(f"wrote {path}" for path in written)


@app.command("new-stage")
def new_stage(
    name: Annotated[str, Argument(metavar="NAME", help="Such as 20_your_stage.")],
    *,
    course_folder: options.CourseOption = None,
) -> None:
    """Write the skeleton of a stage, which `release` and `verify` accept as it is."""
    course = inputs.find_course(course_folder, may_be_empty=True)
    written = courses.new_stage(course, name)
    output.print_lines(f"wrote {path.relative_to(course.root)}" for path in written)
    number = name.partition("_")[0]
    typer.echo(f"Next: autograder release, then autograder verify --stage {number}.")


@app.command("new-course")
def new_course(
    folder: Annotated[Path, Argument(metavar="DIR", help="The new folder.")],
    *,
    stages: Annotated[str, Option(help="The stages by name or number, such as 01,04,05,10.")] = "",
    road: Annotated[
        str, Option(metavar="ROAD", help="The stages of a road, and the stages that they need.")
    ] = "",
    only: Annotated[
        bool, Option("--only", help="With --road: without the stages that they need.")
    ] = False,
    empty: Annotated[
        bool, Option("--empty", help="Create a course on another topic, without stages.")
    ] = False,
    course_folder: options.CourseOption = None,
) -> None:
    """Create a new course in a separate folder: some stages of this one, or none."""
    if empty:
        if stages or road or course_folder:
            raise UsageError("--empty needs no course: leave out --stages, --road and --course.")
        courses.empty_course(folder)
        typer.echo(f"Next: cd {folder}, then autograder new-stage 01_name. README.md says more.")
        return
    if only and not road:
        raise UsageError("--only needs a road: --road ROAD.")
    wanted = [name.strip() for name in stages.split(",") if name.strip()]
    course = inputs.find_course(course_folder)
    wanted += courses.stages_of_road(course, road, only=only) if road else []
    made = courses.new_course(course, wanted, folder, output.print_progress)
    typer.echo(f"{folder}: {', '.join(made.course.file.stages)}")
    if made.mentions:
        count = f"{len(made.mentions)} sentence{'s' if len(made.mentions) > 1 else ''}"
        typer.echo(f"{count} about stages that this course leaves out; change what is unclear:")
        output.print_lines(f"  {mention}" for mention in made.mentions)
    typer.echo(f"{folder / handout_folder.DEFAULT} is the folder for your class.")
    typer.echo(f"Next: cd {folder}, then autograder verify.")


def _urls(wheel: str, labs: str, handout: Path | None) -> tuple[str, str] | None:
    """Return both addresses, or None without them; raise ``UsageError`` if an option is missing."""
    given = [bool(wheel), bool(labs), handout is not None]
    if any(given[:2]) and not all(given):
        msg = "Labs for a browser need all of --handout DIR, --wheel-url URL and --labs-url URL."
        raise UsageError(msg)
    return (wheel, labs) if wheel else None


def _report_stale(findings: list[str], kept: list[str]) -> None:
    """Print *findings* and *kept*, if any, and exit with code 1."""
    output.print_remarks(f"✗ {finding}" for finding in [*findings, *kept])
    if findings:
        typer.echo("Run `autograder release` to build the stale files.", err=True)
    if findings or kept:
        raise typer.Exit(1)
