"""Defines the commands that grade submissions, or collect them for nbgrader."""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.progress import Progress as ProgressBar
from typer import Argument, Option

from autograder.cli import inputs, options, output
from autograder.course import PUBLIC_INPUTS, Course, Stage, course_secret
from autograder.errors import ClusterError, UsageError
from autograder.grading import class_copies
from autograder.grading import run as term
from autograder.grading.journal import Journal
from autograder.grading.run import Run, RunOptions, on_cluster
from autograder.grading.term_record import Key, read_earlier
from autograder.reports.class_report import class_table, missing_labs
from autograder.reports.feedback import counted
from autograder.reports.term_report import ClassList
from autograder.reports.terminal import feedback_text
from autograder.results import Results, Status
from autograder.stored_results import scores_of
from autograder.submission.class_division import FindOptions, FoundSubmissions
from autograder.submission.collect import LazySubmissions, find_all
from autograder.submission.names import Source
from autograder.submission.roster import Groups, Roster, find_student

if TYPE_CHECKING:  # nbgrader is an optional library
    from autograder.gradebook.course_gradebook import CourseGradebook
    from autograder.gradebook.writer import Writer

app = typer.Typer()


@app.command()
def grade(  # noqa: PLR0913  # each parameter is an option of the command
    paths: options.GradedPaths = None,
    *,
    stage: options.StagesOption = None,
    json: options.JsonOption = None,
    report: options.ReportOption = None,
    gradebook: options.GradebookOption = False,
    fresh: options.FreshOption = False,
    forget: options.ForgetOption = None,
    jobs: Annotated[int, Option(min=0, help="Grading processes (default: one per core).")] = 0,
    isolation: options.IsolationOption = None,
    cluster: options.ClusterOption = "",
    cluster_course: options.ClusterCourseOption = "",
    source: options.FromOption = None,
    roster: options.RosterOption = None,
    id_column: options.IdColumnOption = "",
    groups: options.GroupsOption = None,
    course_folder: options.CourseOption = None,
) -> None:
    """Grade submissions with the hidden suites, each in a sandbox.

    With --json, each result is stored in FILE.journal at once: an interrupted run resumes, and a
    regrade grades only what changed. Results of other students and stages stay in FILE.

    Exit code 0 if grading worked, even if every grade is 0. Exit code 1 if the grader itself
    failed, a file could not be written, or it is unclear to whom a submission belongs; such a
    submission is not graded. Exit code 2 if nothing could be graded.
    """
    course = inputs.find_course(course_folder)
    inputs.refuse_unused("--json", json, {"--fresh": fresh, "--forget": forget})
    inputs.refuse_unused("--cluster", cluster, {"--cluster-course": cluster_course})
    stages = inputs.find_stages(course, stage, graded=True)
    book = inputs.open_gradebook(course) if gradebook else None
    people = inputs.read_roster(roster, book, id_column)
    known = book.class_list if book else lambda: ClassList(names=people.names if people else {})
    run = Run(
        course=course,
        submissions=LazySubmissions(()),
        options=RunOptions(json, report, fresh, isolation, jobs),
        grade_each=on_cluster(cluster, cluster_course) if cluster else None,
        people=known,
        groups=Groups.read(groups) if groups else None,
        forgotten=_forgotten(course, json, forget, stages, known) if forget else frozenset(),
    )
    if paths:
        places = _find_submissions(course, paths, stages, _find_options(source, people, groups))
        _grade_and_print(_with_submissions(run, places, book, people))
        _require_none_set_aside(places)
    else:
        _forget(run)


@app.command()
def collect(  # each parameter is an option of the command
    stage: Annotated[str, Argument(metavar="STAGE", help="The stage, by name or number.")],
    paths: Annotated[
        list[Path],
        Argument(metavar="PATH...", help="A download, packed or not, or a folder of submissions."),
    ],
    *,
    source: options.FromOption = None,
    roster: options.RosterOption = None,
    id_column: options.IdColumnOption = "",
    groups: options.GroupsOption = None,
    again: Annotated[
        bool, Option("--again", help="Replace earlier submissions of these students.")
    ] = False,
    course_folder: options.CourseOption = None,
) -> None:
    """Collect a download into nbgrader's submitted/ folder, with times and the course's ids.

    No archive is unpacked, and a damaged archive affects only its student. Exit code 1 if it is
    unclear to whom a submission belongs; such a submission is not collected.
    """
    course = inputs.find_course(course_folder)
    book = inputs.open_gradebook(course)
    people = inputs.read_roster(roster, book, id_column)
    search = _find_options(source, people, groups)
    places = _find_submissions(course, paths, [course.graded_stage(stage)], search)
    collection = book.collection(course.graded_stage(stage))
    for place in places:
        written, remarks = collection.write(place, again=again)
        output.print_remarks(remarks)
        book.register(people, [work.student for work in place.works])
        count = f"{counted(written, 'submission')} of {collection.stage.name}"
        typer.echo(f"{count} {'is' if written == 1 else 'are'} in submitted/.")
    _require_none_set_aside(places)


@app.command()
def copies(
    stage: Annotated[str, Argument(metavar="STAGE", help="The stage, by name or number.")],
    paths: Annotated[
        list[Path],
        Argument(metavar="PATH...", help="A download, packed or not, or a folder of submissions."),
    ],
    *,
    report: Annotated[
        Path,
        Option(
            "--report",
            metavar="DIR",
            help="The folder of the class report, which then links to the pages in DIR/copies.",
        ),
    ] = Path("report"),
    source: options.FromOption = None,
    roster: options.RosterOption = None,
    id_column: options.IdColumnOption = "",
    course_folder: options.CourseOption = None,
) -> None:
    """Compare the code of a class by compare50, and write its pages.

    The pairs prove nothing, because short exercises have few right answers. compare50 must be
    installed.
    """
    course = inputs.find_course(course_folder)
    chosen = course.graded_stage(stage)
    people = inputs.read_roster(roster, None, id_column)
    places = _find_submissions(course, paths, [chosen], _find_options(source, people, None))
    works = [work for place in places for work in place.submissions()]
    page, pairs = class_copies.compare(chosen, works, report)
    output.print_lines(f"{pair.score:4.1f}  {pair.one} and {pair.other}" for pair in pairs)
    if pairs:
        typer.echo(f"{counted(len(pairs), 'pair')}; {page} shows the similar lines.")
        typer.echo(f"The class report lists them when `grade --report {report}` writes it again.")
    else:
        typer.echo("compare50 found no similar code.")
    _require_none_set_aside(places)


@app.command()
def extend(
    student: Annotated[
        str, Argument(metavar="STUDENT", help="The student's id or name in the gradebook.")
    ],
    stage: Annotated[str, Argument(metavar="STAGE", help="The stage, by name or number.")],
    when: Annotated[
        str,
        Argument(
            metavar="WHEN",
            help="The new due time, such as '2026-11-22 23:00 UTC'; or the time after the due date "
            "of the class, such as 2d or 12h; or none.",
        ),
    ],
    *,
    course_folder: options.CourseOption = None,
) -> None:
    """Give a student more time for a stage, before or after the submission.

    A late penalty in the gradebook is computed again.
    """
    course = inputs.find_course(course_folder)
    book = inputs.open_gradebook(course)
    output.print_lines(book.extend(student, course.graded_stage(stage), when))


def _find_options(source: Source | None, roster: Roster | None, groups: Path | None) -> FindOptions:
    return FindOptions(source=source, roster=roster, groups=Groups.read(groups) if groups else None)


def _find_submissions(
    course: Course, paths: Sequence[Path], stages: Sequence[Stage], options: FindOptions
) -> list[FoundSubmissions]:
    only = stages[0] if len(stages) == 1 else None
    places = find_all(paths, course.stages, only, replace(options, stages=tuple(stages)))
    for place in places:
        typer.echo(f"{place.what}.", err=True)
        output.print_remarks([*place.remarks, *(f"✗ {sentence}" for sentence in place.set_aside)])
    return places


def _register(
    book: "CourseGradebook", people: Roster | None, submissions: LazySubmissions
) -> tuple[LazySubmissions, "Writer"]:
    """Register the students in the gradebook; return the submissions with their times."""
    book.register(people, [outline.student for outline in submissions.outlines()])
    submissions, remarks = book.stamped(submissions)
    output.print_remarks(remarks)
    writer = book.writer(submissions)
    output.print_lines(f"Registered {name} in the gradebook." for name in writer.registered)
    return submissions, writer


def _require_none_set_aside(places: Sequence[FoundSubmissions]) -> None:
    if any(place.set_aside for place in places):
        typer.echo("Some submissions were set aside; see above.", err=True)
        raise typer.Exit(1)


def _forgotten(
    course: Course,
    record: Path | None,
    students: Sequence[str],
    stages: Sequence[Stage],
    people: Callable[[], ClassList],
) -> frozenset[Key]:
    """Return the keys of the results of *students*, of *stages* only if there are any."""
    earlier = read_earlier(record, course) if record else None
    if earlier is None:
        raise UsageError(f"{record} does not exist, so there is nothing to forget.")
    keys = [score.key for score in scores_of(earlier)]
    known = people().names
    found = {find_student(one, (student for student, _ in keys), known) for one in students}
    wanted = {stage.name for stage in stages}
    return frozenset(key for key in keys if key[0] in found and (not wanted or key[1] in wanted))


def _forget(run: Run) -> None:
    """Remove the forgotten results from the record and the report; grade nothing."""
    record, report = run.options.record, run.options.report
    if record is None or not run.forgotten:
        raise UsageError("PATH is missing: pass the folder of the submissions, such as submitted.")
    whole = term.forget(run.course, record, run.forgotten)
    output.print_lines(
        f"forgotten: {', '.join(filter(None, key))}" for key in sorted(run.forgotten)
    )
    if report is not None:
        typer.echo(f"report: {term.write_report(run.course, whole, report, run.people())}")
    typer.echo("The gradebook, submitted/ and earlier copies of the record are unchanged.")


def _with_submissions(
    run: Run,
    places: Sequence[FoundSubmissions],
    book: "CourseGradebook | None",
    people: Roster | None,
) -> Run:
    """Return *run* with the submissions at *places*, registered in *book*; refuse a lost result."""
    run.options.require_writable(run.course)
    submissions, writer = LazySubmissions.of(places), None
    both = {(one.student, one.stage) for one in submissions.outlines()} & run.forgotten
    if both:
        who = ", ".join(sorted({student for student, _ in both}))
        raise UsageError(f"--forget {who}: there is a submission to grade. Remove it first.")
    is_class = any(place.is_class for place in places)
    whole = dataclasses.replace(run, submissions=submissions, is_class=is_class)
    whole.require_whole_report()
    if book is not None:
        submissions, writer = _register(book, people, submissions)
    return dataclasses.replace(whole, submissions=submissions, writer=writer)


def _grade_and_print(run: Run) -> None:
    with run.open_journal() as journal:
        results = _grade(run, journal)
        saved = run.save(results)
        output.print_lines(saved.messages)
        _print_results(run.course, results, saved.people.names)
        if saved.written is not None:
            written = saved.written.submissions
            are = "is" if written == 1 else "are"
            typer.echo(f"{counted(written, 'submission')} {are} in the gradebook.")
            output.print_lines(saved.written.remarks)
        output.print_lines(saved.changes)
        _report_faults(results, saved.faults)


def _grade(run: Run, journal: Journal) -> Results:
    if not course_secret(run.course.root):
        typer.echo(PUBLIC_INPUTS, err=True)
    with _saying_where_to_go_on(journal.file), _progress(len(run.submissions)) as advance:
        results = run.grade(journal, advance)
    if journal.fault and journal.file:
        typer.echo(f"{journal.file} is incomplete: {journal.fault}.", err=True)
    return results


@contextmanager
def _saying_where_to_go_on(journal: Path | None) -> Iterator[None]:
    """Print how to resume the run if Ctrl-C or a ``ClusterError`` ends it."""
    try:
        yield
    except (KeyboardInterrupt, ClusterError) as error:
        if journal is None:
            raise
        how = "Interrupted. " if isinstance(error, KeyboardInterrupt) else ""
        msg = f"{how}{journal} holds the results so far; run the same command again to resume."
        typer.echo(msg, err=True)
        raise


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    columns = (*ProgressBar.get_default_columns(), MofNCompleteColumn())
    with ProgressBar(*columns, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("grading", total=total)
        yield lambda: bar.advance(task)


def _print_results(course: Course, results: Results, names: Mapping[str, str]) -> None:
    """Print the table of the class, after the full feedback if there is only one submission."""
    if len(results.submissions) == 1:
        width, colour = output.terminal()
        typer.echo(feedback_text(course, results.submissions[0], width, colour=colour))
    Console(highlight=False).print(class_table(results, names))
    output.print_lines(missing_labs(results))


def _report_faults(results: Results, faults: list[str]) -> None:
    output.print_remarks(f"✗ {fault}" for fault in faults)
    is_graded = all(score.status is not Status.GRADER_ERROR for score in scores_of(results))
    if not is_graded:
        typer.echo("The grader itself failed; the affected submissions have no grade.", err=True)
    if faults or not is_graded:
        raise typer.Exit(1)
