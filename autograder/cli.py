"""Words in, words out: the only room that prints and exits."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Optional

import typer

from autograder import __version__
from autograder.errors import AutograderError, UsageError

if TYPE_CHECKING:  # commands load what they use
    from autograder.course import Course
    from autograder.exports.grade_table import GradeTable
    from autograder.gradebook.writer import Writer, Written
    from autograder.results import Results, SubmissionResult
    from autograder.submission import Submission

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Teach attention mechanisms, and grade them: check, release, grade, verify, doctor.",
)
CourseOption = Annotated[
    Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
    typer.Option("--course", metavar="DIR", help="The course's folder (default: found from here)."),
]
IsolationOption = Annotated[
    Optional[Literal["full", "process"]],  # noqa: UP045  # typer reads the annotation at run time
    typer.Option(help="How strictly student code is confined (default: full)."),
]


@app.callback(invoke_without_command=True)
def _main(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"autograder {__version__}")
        raise typer.Exit


@app.command()
def check(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[STAGE | FILE]",
            help="A stage by name or number, a .py or a .ipynb (default: the stage's folder here).",
        ),
    ] = "",
    *,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Add the hidden suite, where the course has it.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Check your own work: what holds, what is wrong first, and where to go on.

    Exit code 0 when every check passed, 1 when something is left to do.
    """
    from rich.console import Console  # noqa: PLC0415  # commands load what they use

    from autograder.student import check as checking  # noqa: PLC0415  # imports torch when it runs
    from autograder.student import check_report, target  # noqa: PLC0415  # likewise

    with _plain_errors():
        report = checking.check(target.find(what, Path.cwd(), course, hidden=hidden))
        typer.echo(check_report.text(report, Console(highlight=False), Path.cwd()), nl=False)
        if not report.complete:
            raise typer.Exit(1)


@app.command()
def grade(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A submitted/ tree, a folder or zip of one submission, a folder of LMS zips, "
            "a .py or a .ipynb.",
        ),
    ],
    *,
    stage: Annotated[str, typer.Option(help="Grade this stage only, by name or number.")] = "",
    json: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option(metavar="FILE", help="Write the record here (docs/results.md)."),
    ] = None,
    report: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option(metavar="DIR", help="Write a page per submission and the class report here."),
    ] = None,
    gradebook: Annotated[
        bool,
        typer.Option("--gradebook", help="Write nbgrader's gradebook and autograded notebooks."),
    ] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Grading processes (default: one a core).")] = 0,
    isolation: IsolationOption = None,
    course: CourseOption = None,
) -> None:
    """Grade submissions with the hidden suites, each in a sandbox.

    Exit code 0 when grading worked, whatever the grades; 1 when the grader itself failed somewhere.
    """
    with _plain_errors():
        _grade(paths, stage, _Files(json, report, gradebook), jobs, isolation, course)


@app.command()
def export(
    form: Annotated[
        str, typer.Argument(metavar="[FORMAT]", help="Leave it out to see them all.")
    ] = "",
    record: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Argument(metavar="[RECORD]", help="What `autograder grade --json` wrote."),
    ] = None,
    *,
    gradebook: Annotated[
        bool, typer.Option("--gradebook", help="Export nbgrader's gradebook, manual scores too.")
    ] = False,
    fill: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option(metavar="FILE", help="What was downloaded from the LMS, to be filled in."),
    ] = None,
    stage: Annotated[str, typer.Option(help="Export this stage only, by name or number.")] = "",
    grade_column: Annotated[
        str, typer.Option(help="Moodle: the header of the column for grades.")
    ] = "",
    out: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option("--out", "-o", metavar="FILE", help="Where to (default: the format's name)."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Hand grades on: Canvas, Moodle, Gradescope, Classroom 50, JUnit, CSV.

    From a record, or with --gradebook from what nbgrader's database holds.
    """
    from autograder.exports import formats, run  # noqa: PLC0415  # commands load what they use

    with _plain_errors():
        if not form:
            for name, known in formats.FORMATS.items():
                typer.echo(f"{name:12} {known.about}")
            return
        found = _course(course)
        source = _grade_table(found) if gradebook else None
        asked = run.Asked(
            form, record, fill, found.stage(stage).name if stage else "", grade_column
        )
        made = run.export(found, asked, source)
        for remark in made.remarks:
            typer.echo(remark, err=True)
        file = out if out is not None else Path(formats.FORMATS[form].file)
        run.write(file, made.content)
        typer.echo(f"{form}: {file}")


@app.command()
def bundle(
    platform: Annotated[
        Literal["gradescope"], typer.Argument(metavar="PLATFORM", help="Which one: gradescope.")
    ],
    *,
    stage: Annotated[
        str, typer.Option(help="Pack this stage only, by name or number (default: all).")
    ] = "",
    isolation: Annotated[
        Literal["full", "process"],
        typer.Option(help="The least that the container must give for a grade."),
    ] = "process",
    out: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option("--out", "-o", metavar="FILE", help="Where to (default: gradescope.zip)."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Pack the course for a platform that grades by itself: its zip for Gradescope.

    The file holds solutions and hidden suites; treat it as you treat them.
    """
    from autograder.exports.run import write  # noqa: PLC0415  # commands load what they use
    from autograder.gradescope import build as bundling  # noqa: PLC0415  # imports torch

    with _plain_errors():
        found = _course(course)
        stages = [found.stage(stage)] if stage else found.stages
        made = bundling.gradescope(found, stages, least=isolation)
        for remark in made.remarks:
            typer.echo(remark, err=True)
        file = out if out is not None else Path(bundling.FILE)
        write(file, made.content)
        typer.echo(f"{platform}: {file}")


@app.command()
def release(
    *,
    check: Annotated[bool, typer.Option("--check", help="Only say what is stale.")] = False,
    course: CourseOption = None,
) -> None:
    """Build the stubs and what students receive, from the solutions."""
    from autograder.authoring import release as releasing  # noqa: PLC0415  # commands load what they use

    with _plain_errors():
        found = _course(course)
        if check:
            _say_stale(
                [*(f"{path} is stale" for path in releasing.stale(found)), *releasing.leaks(found)]
            )
            return
        for path in releasing.build(found):
            typer.echo(f"built {path.relative_to(found.root)}")
        _say_stale(list(releasing.leaks(found)))


@app.command()
def verify(
    *,
    stage: Annotated[str, typer.Option(help="Verify this stage only, by name or number.")] = "",
    course: CourseOption = None,
) -> None:
    """Prove the course: stubs 0, solutions full marks, every misconception seen, nothing stale."""
    from autograder.authoring import verify as verifying  # noqa: PLC0415  # imports torch

    with _plain_errors():
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
    stage: Annotated[str, typer.Option(help="Mutate this stage only, by name or number.")] = "",
    course: CourseOption = None,
) -> None:
    """Change the solutions in small ways and say which changes no hidden check notices."""
    from autograder.authoring import mutation  # noqa: PLC0415  # imports torch

    with _plain_errors():
        found = _course(course)
        left = 0
        for one in [found.stage(stage)] if stage else found.stages:
            trial = mutation.try_stage(found, one)
            left += len(trial.survived) + len(trial.unneeded)
            typer.echo(
                f"{trial.stage:28} killed {trial.killed:4} ({trial.share:.1%}), "
                f"equivalent {len(trial.explained):3}, survived {len(trial.survived):3}"
            )
            for mutant in trial.survived:
                typer.echo(f"  line {mutant.line}: {mutant.label}")
            for item in trial.unneeded:
                typer.echo(f"  no longer survives: {item.was}  →  {item.becomes}")
        if left:
            raise typer.Exit(1)


@app.command()
def doctor(*, course: CourseOption = None) -> None:
    """Say what this machine can do: isolation, torch, and whether the documented tensors hold."""
    from autograder import doctor as examining  # noqa: PLC0415  # imports torch

    with _plain_errors():
        healthy = True
        for finding in examining.examine(_course(course)):
            typer.echo(f"{'✓' if finding.good else '✗'} {finding.text}")
            healthy = healthy and finding.good
        if not healthy:
            raise typer.Exit(1)


def _grade(
    paths: list[Path],
    stage: str,
    files: "_Files",
    jobs: int,
    isolation: str | None,
    course: Path | None,
) -> None:
    from rich.console import Console  # noqa: PLC0415  # commands load what they use

    from autograder.grading import grade as grading  # noqa: PLC0415  # imports torch
    from autograder.reports.class_table import table  # noqa: PLC0415  # imports rich
    from autograder.results import Status, to_json  # noqa: PLC0415  # commands load what they use
    from autograder.submission import collect  # noqa: PLC0415  # commands load what they use
    from autograder.suite.hidden_inputs import course_secret  # noqa: PLC0415  # imports torch

    found = _course(course)
    files.check()
    only = found.stage(stage) if stage else None
    submissions = [item for path in paths for item in collect(path, found.stages, only)]
    writer = _writer(found, submissions) if files.gradebook else None
    if not course_secret(found.root):
        typer.echo(
            "No course secret: hidden inputs are those of every public copy (docs/security.md).",
            err=True,
        )
    with _progress(len(submissions)) as advance:
        results = grading.grade(
            found,
            submissions,
            isolation=isolation,
            jobs=jobs or None,
            on_result=lambda _result: advance(),
        )
    if files.json is not None:
        files.json.write_bytes(to_json(results))
    if files.report is not None:
        typer.echo(f"report: {_write_report(found, results, files.report)}")
    written = writer.write(submissions, results.submissions) if writer else None
    if len(results.submissions) == 1:
        typer.echo(_feedback(found, results.submissions[0]))
    Console(highlight=False).print(table(results))
    if any(result.status is Status.GRADER_ERROR for result in results.submissions):
        typer.echo("The grader itself failed; those submissions have no grade.", err=True)
        raise typer.Exit(1)
    if written is not None:
        _say_written(written)


def _writer(course: "Course", submissions: "list[Submission]") -> "Writer":
    from autograder.gradebook.writer import Writer  # noqa: PLC0415  # imports nbgrader

    writer = Writer(course, submissions)
    for stage in writer.registered:
        typer.echo(f"The gradebook knows {stage} now.")
    return writer


def _grade_table(course: "Course") -> "GradeTable":
    from autograder.gradebook.connection import NbgraderSetup  # noqa: PLC0415  # imports nbgrader
    from autograder.gradebook.grade_export import grade_table_of_gradebook  # noqa: PLC0415  # likewise

    with NbgraderSetup.of_course(course).gradebook() as book:
        return grade_table_of_gradebook(book, course)


def _say_written(written: "Written") -> None:
    for fault in written.faults:
        typer.echo(f"✗ not in the gradebook: {fault}", err=True)
    typer.echo(f"{written.submissions} submissions are in the gradebook.")
    if written.faults:
        raise typer.Exit(1)


def _feedback(course: "Course", result: "SubmissionResult") -> str:
    """Lay out one submission in full, as wide and as colourful as the terminal is."""
    from autograder.reports.terminal import feedback_text  # noqa: PLC0415  # imports rich

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return feedback_text(course, result, shutil.get_terminal_size().columns, colour=colour)


class _Files(NamedTuple):
    """What a grading run is to write."""

    json: Path | None
    report: Path | None
    gradebook: bool

    def check(self) -> None:
        """Refuse before the grading, which takes its time, what would fail after it."""
        if self.json is not None and self.json.is_dir():
            msg = f"{self.json} is a folder; name a file for the record."
            raise UsageError(msg)
        if self.json is not None and not self.json.resolve().parent.is_dir():
            msg = f"There is no folder {self.json.parent} to write {self.json.name} into."
            raise UsageError(msg)
        if self.report is not None and self.report.exists() and not self.report.is_dir():
            msg = f"{self.report} is a file; name a folder for the report."
            raise UsageError(msg)


def _write_report(course: "Course", results: "Results", folder: Path) -> Path:
    from autograder.reports.folder import write  # noqa: PLC0415  # imports jinja2

    try:
        return write(course, results, folder)
    except OSError as error:
        msg = f"The report can't be written: {error}."
        raise UsageError(msg) from None


def _course(folder: Path | None) -> "Course":
    from autograder.course import find_root, load  # noqa: PLC0415  # commands load what they use

    return load(folder if folder is not None else find_root(Path.cwd()))


def _say_stale(findings: list[str]) -> None:
    for finding in findings:
        typer.echo(f"✗ {finding}", err=True)
    if findings:
        typer.echo("Run `autograder release` to build what is stale.", err=True)
        raise typer.Exit(1)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on a terminal, nothing in a pipe."""
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415  # commands load what they use

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("grading", total=total)
        yield lambda: bar.advance(task)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Print what went wrong as one message, without a traceback; exit code 2."""
    try:
        yield
    except AutograderError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    app()
