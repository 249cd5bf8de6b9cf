"""Command-line interface."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer import Argument, Option

from autograder import __version__
from autograder.course import Course, find_root, load
from autograder.errors import AutograderError, UsageError
from autograder.results import Results, Status, to_json

if TYPE_CHECKING:  # each command imports what it uses, so that `--help` does not wait for torch
    from autograder.exports.export_file import ExportFile
    from autograder.exports.grade_table import GradeTable
    from autograder.gradebook.writer import Writer, Written
    from autograder.submission import Submission

# Optional libraries by the name that is imported, and the extra that installs each.
EXTRAS: Final = {
    "distributed": "cluster",
    "jupyterlab": "lab",
    "matplotlib": "lab",
    "nbformat": "instructor",
    "nbgrader": "instructor",
}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Teach attention mechanisms, and grade submissions in a sandbox.",
)
CourseOption = Annotated[
    Path | None,
    Option("--course", metavar="DIR", help="The course's folder (default: found from here)."),
]


def _out(default: str) -> Any:
    return Option("--out", "-o", metavar="FILE", help=f"The file to write (default: {default}).")


@app.callback(invoke_without_command=True)
def _main(
    *, version: Annotated[bool, Option("--version", help="Print the version and stop.")] = False
) -> None:
    if version:
        typer.echo(f"autograder {__version__}")
        raise typer.Exit


@app.command()
def check(
    name: Annotated[
        str,
        Argument(
            metavar="[STAGE | FILE]",
            help="A stage by name or number, a .py or a .ipynb (default: the stage's folder here).",
        ),
    ] = "",
    *,
    hidden: Annotated[
        bool, Option("--hidden", help="Run the hidden suite, too, where the course has it.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Check your own work: what is right, what to fix first, and what comes next.

    Exit code 0 when every check passed, 1 when something is left to do.
    """
    with _errors_as_messages("check"):
        from autograder.reports.terminal import self_check_text  # noqa: PLC0415  # imports rich
        from autograder.student import check as checking  # noqa: PLC0415  # imports torch when it runs
        from autograder.student import target  # noqa: PLC0415  # only this command needs it

        here = Path.cwd()
        feedback = checking.check(target.find_target(name, here, course, hidden=hidden))
        width, colour = _terminal()
        typer.echo(self_check_text(feedback, here, width, colour=colour), nl=False)
        if not feedback.complete:
            raise typer.Exit(1)


@app.command()
def grade(
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH...",
            help="A submitted/ tree, a folder or zip of one submission, a folder of LMS zips, "
            "a .py or a .ipynb.",
        ),
    ],
    *,
    stage: Annotated[str, Option(help="Grade this stage only, by name or number.")] = "",
    json: Annotated[
        Path | None, Option(metavar="FILE", help="Write the record here (docs/results.md).")
    ] = None,
    report: Annotated[
        Path | None,
        Option(metavar="DIR", help="Write a page per submission and the class report here."),
    ] = None,
    gradebook: Annotated[
        bool, Option("--gradebook", help="Write nbgrader's gradebook and autograded notebooks.")
    ] = False,
    jobs: Annotated[int, Option(min=0, help="Grading processes (default: one per core).")] = 0,
    isolation: Annotated[
        Literal["full", "process"] | None,
        Option(help="How strictly student code is confined (default: full)."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Grade submissions with the hidden suites, each in a sandbox.

    Exit code 0 when grading worked, whatever the grades; 1 when the grader itself failed somewhere.
    """
    with _errors_as_messages("grade --gradebook" if gradebook else "grade"):
        from autograder.submission import collect  # noqa: PLC0415  # only this command needs it

        found = _course(course)
        _require_writable(json, report)
        only = found.stage(stage) if stage else None
        submissions = [item for path in paths for item in collect(path, found.stages, only)]
        writer = _writer(found, submissions) if gradebook else None
        results = _grade(found, submissions, isolation, jobs)
        if json is not None:
            json.write_bytes(to_json(results))
        if report is not None:
            from autograder.reports.html import write_pages  # noqa: PLC0415  # imports jinja2

            typer.echo(f"report: {write_pages(found, results, report)}")
        written = writer.write(submissions, results.submissions) if writer else None
        _print_results(found, results)
        if written is not None:
            _report_written(written)


@app.command()
def export(
    form: Annotated[
        str, Argument(metavar="[FORMAT]", help="Leave it out to list all formats.")
    ] = "",
    record: Annotated[
        Path | None,
        Argument(metavar="[RECORD]", help="The file that `autograder grade --json` wrote."),
    ] = None,
    *,
    gradebook: Annotated[
        bool, Option("--gradebook", help="Export nbgrader's gradebook, manual scores too.")
    ] = False,
    fill: Annotated[
        Path | None,
        Option(metavar="FILE", help="The file downloaded from the LMS, to be filled in."),
    ] = None,
    stage: Annotated[str, Option(help="Export this stage only, by name or number.")] = "",
    grade_column: Annotated[str, Option(help="Moodle: the header of the column of grades.")] = "",
    out: Annotated[Path | None, _out("the format's name")] = None,
    course: CourseOption = None,
) -> None:
    """Export grades: Canvas, Moodle, Gradescope, Classroom 50, JUnit, CSV.

    They come from a record, or with --gradebook from nbgrader's database.
    """
    with _errors_as_messages("export --gradebook" if gradebook else "export"):
        from autograder.exports import formats  # noqa: PLC0415  # only this command needs it

        if not form:
            for name, known in formats.FORMATS.items():
                typer.echo(f"{name:12} {known.about}")
            return
        found = _course(course)
        asked = formats.find_format(form)
        request = formats.ExportRequest(
            course=found,
            record=record,
            download=fill,
            grades=_grade_table(found) if gradebook else None,
            stage=found.stage(stage).name if stage else "",
            grade_column=grade_column,
        )
        _write_export(form, asked.make(request), out or Path(asked.file))


@app.command()
def bundle(
    platform: Annotated[
        Literal["gradescope"], Argument(metavar="PLATFORM", help="The platform: gradescope.")
    ],
    *,
    stage: Annotated[
        str, Option(help="Pack this stage only, by name or number (default: all).")
    ] = "",
    isolation: Annotated[
        Literal["full", "process"],
        Option(help="The weakest isolation in which the container may grade."),
    ] = "process",
    out: Annotated[Path | None, _out("gradescope.zip")] = None,
    course: CourseOption = None,
) -> None:
    """Pack the course for a platform that runs the grader itself: a zip for Gradescope.

    The file holds solutions and hidden suites; keep it as secret as these.
    """
    with _errors_as_messages("bundle"):
        from autograder.gradescope import build as bundling  # noqa: PLC0415  # imports torch

        found = _course(course)
        stages = [found.stage(stage)] if stage else found.stages
        made = bundling.build_zip(found, stages, least=isolation)
        _write_export(platform, made, out or Path(bundling.FILE))


@app.command()
def release(
    *,
    check: Annotated[bool, Option("--check", help="Only list what is stale.")] = False,
    course: CourseOption = None,
) -> None:
    """Build the stubs and the assignments from the solutions."""
    with _errors_as_messages("release"):
        from autograder.authoring import release as releasing  # noqa: PLC0415  # only this command needs it

        found = _course(course)
        stale = [f"{path} is stale" for path in releasing.stale(found)] if check else []
        if not check:
            for path in releasing.build(found):
                typer.echo(f"built {path.relative_to(found.root)}")
        _report_stale([*stale, *releasing.leaks(found)])


@app.command()
def verify(
    *,
    stage: Annotated[str, Option(help="Verify this stage only, by name or number.")] = "",
    course: CourseOption = None,
) -> None:
    """Check the course: stubs earn 0, solutions full marks, every misconception is found."""
    with _errors_as_messages("verify"):
        from autograder.authoring import verify as verifying  # noqa: PLC0415  # imports torch

        found = _course(course)
        report = verifying.verify(found, found.stage(stage) if stage else None)
        for line in report.lines:
            typer.echo(line)
        for finding in report.findings:
            typer.echo(f"✗ {finding}", err=True)
        if report.findings:
            raise typer.Exit(1)
        typer.echo("Everything holds.")


@app.command()
def mutate(
    *,
    stage: Annotated[str, Option(help="Mutate this stage only, by name or number.")] = "",
    course: CourseOption = None,
) -> None:
    """Change the solutions in small ways and list the changes that no hidden check notices."""
    with _errors_as_messages("mutate"):
        from autograder.authoring import mutation  # noqa: PLC0415  # imports torch

        found = _course(course)
        left = 0
        for one in [found.stage(stage)] if stage else found.stages:
            trial = mutation.mutate_stage(found, one)
            left += len(trial.survived) + len(trial.unneeded)
            typer.echo(
                f"{trial.stage:28} killed {trial.killed:4} ({trial.share:.1%}), "
                f"equivalent {len(trial.equivalent):3}, survived {len(trial.survived):3}"
            )
            for mutant in trial.survived:
                typer.echo(f"  line {mutant.line}: {mutant.label}")
            for item in trial.unneeded:
                typer.echo(f"  no longer survives: {item.was}  →  {item.becomes}")
        if left:
            raise typer.Exit(1)


@app.command()
def doctor(*, course: CourseOption = None) -> None:
    """Examine this machine: isolation, torch, and whether it gives the documented tensors."""
    with _errors_as_messages("doctor"):
        from autograder import doctor as examining  # noqa: PLC0415  # imports torch

        healthy = True
        for finding in examining.examine(_course(course)):
            typer.echo(f"{'✓' if finding.good else '✗'} {finding.text}")
            healthy = healthy and finding.good
        if not healthy:
            raise typer.Exit(1)


def _require_writable(json: Path | None, report: Path | None) -> None:
    """Raise ``UsageError`` before the grading for a file that could not be written after it."""
    if json is not None and json.is_dir():
        msg = f"{json} is a folder; name a file for the record."
        raise UsageError(msg)
    if json is not None and not json.resolve().parent.is_dir():
        msg = f"There is no folder {json.parent} to write {json.name} into."
        raise UsageError(msg)
    if report is not None and report.exists() and not report.is_dir():
        msg = f"{report} is a file; name a folder for the report."
        raise UsageError(msg)


def _grade(
    course: Course, submissions: "list[Submission]", isolation: str | None, jobs: int
) -> Results:
    from autograder.grading import grade as grading  # noqa: PLC0415  # imports torch
    from autograder.suite.hidden_inputs import course_secret  # noqa: PLC0415  # imports torch

    if not course_secret(course.root):
        typer.echo(
            "No course secret: hidden inputs are those of every public copy (docs/security.md).",
            err=True,
        )
    with _progress(len(submissions)) as advance:
        return grading.grade(
            course, submissions, isolation=isolation, jobs=jobs or None, on_result=advance
        )


def _print_results(course: Course, results: Results) -> None:
    """Print a single submission in full, and the table; exit code 1 after a grader error."""
    from rich.console import Console  # noqa: PLC0415  # only this command needs it

    from autograder.reports.class_table import class_table  # noqa: PLC0415  # imports rich
    from autograder.reports.terminal import feedback_text  # noqa: PLC0415  # imports rich

    if len(results.submissions) == 1:
        width, colour = _terminal()
        typer.echo(feedback_text(course, results.submissions[0], width, colour=colour))
    Console(highlight=False).print(class_table(results))
    if any(result.status is Status.GRADER_ERROR for result in results.submissions):
        typer.echo("The grader itself failed; those submissions have no grade.", err=True)
        raise typer.Exit(1)


def _writer(course: Course, submissions: "list[Submission]") -> "Writer":
    from autograder.gradebook.writer import Writer  # noqa: PLC0415  # imports nbgrader

    writer = Writer(course, submissions)
    for stage in writer.registered:
        typer.echo(f"Registered {stage} in the gradebook.")
    return writer


def _grade_table(course: Course) -> "GradeTable":
    from autograder.gradebook.connection import NbgraderSetup  # noqa: PLC0415  # imports nbgrader
    from autograder.gradebook.grade_export import grade_table_of_gradebook  # noqa: PLC0415  # likewise

    with NbgraderSetup.of_course(course).gradebook() as book:
        return grade_table_of_gradebook(book, course)


def _report_written(written: "Written") -> None:
    for fault in written.faults:
        typer.echo(f"✗ not in the gradebook: {fault}", err=True)
    typer.echo(f"{written.submissions} submissions are in the gradebook.")
    if written.faults:
        raise typer.Exit(1)


def _terminal() -> tuple[int, bool]:
    """Return the columns of the terminal, and whether to print in colour."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return shutil.get_terminal_size().columns, colour


def _write_export(name: str, made: "ExportFile", file: Path) -> None:
    for remark in made.remarks:
        typer.echo(remark, err=True)
    made.write(file)
    typer.echo(f"{name}: {file}")


def _course(folder: Path | None) -> Course:
    return load(folder if folder is not None else find_root(Path.cwd()))


def _report_stale(findings: list[str]) -> None:
    for finding in findings:
        typer.echo(f"✗ {finding}", err=True)
    if findings:
        typer.echo("Run `autograder release` to build what is stale.", err=True)
        raise typer.Exit(1)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[object], None]]:
    """Show a bar on a terminal, nothing in a pipe."""
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415  # only this command needs it

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("grading", total=total)
        yield lambda _result: bar.advance(task)


@contextmanager
def _errors_as_messages(command: str) -> Iterator[None]:
    """Print an error of *command* as one message, without a traceback; exit code 2."""
    try:
        yield
    except AutograderError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:  # a bug, and its traceback says where
            raise
        install = f"pip install 'attention-course-kit[{EXTRAS[library]}]'"
        typer.echo(f"`autograder {command}` needs {library}: {install}", err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    app()
