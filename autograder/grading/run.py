"""Runs `autograder grade`: grades submissions and writes the requested files."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

from autograder.course import Course
from autograder.disk import replacing_file, require_space
from autograder.errors import AutograderError, UsageError
from autograder.exports.export_file import write_file
from autograder.grading.journal import Journal, grade_with_journal
from autograder.reports.html import write_pages
from autograder.results import Results, SubmissionResult, json_parts
from autograder.stored_results import ScoreChanges, read_record, score_changes
from autograder.submission import Submission
from autograder.submission.lazy_submissions import LazySubmissions

GradeEach = Callable[..., Results]  # such as ``grade.grade_each``


class Written(NamedTuple):
    """The number of submissions written to the gradebook, and the reasons why others were not.

    *remarks* tell the instructor which scores changed and what should be graded again.
    """

    submissions: int
    faults: tuple[str, ...]
    remarks: tuple[str, ...] = ()


class GradeWriter(Protocol):
    """Writes results into a gradebook."""

    def write(
        self, submissions: Sequence[Submission], results: Sequence[SubmissionResult]
    ) -> Written:
        """Write *results*, which are in the order of *submissions*."""


class Saved(NamedTuple):
    """The outcome of writing: messages about written files, faults, and students' names by id."""

    messages: list[str]
    faults: list[str]
    written: Written | None  # what was written to the gradebook
    names: Mapping[str, str]
    changes: list[str]  # lines on the scores that differ from those of the earlier record


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options for grading a class and for the files to write.

    *record* has a journal next to it, whose results are reused unless the run is *fresh*. *report*
    is a folder. With 0 *jobs*, there is one process for each core.
    """

    record: Path | None = None
    report: Path | None = None
    fresh: bool = False
    isolation: str | None = None
    jobs: int = 0

    def require_writable(self) -> None:
        """Raise ``UsageError`` if the record or the report can't be written after the grading."""
        record, report = self.record, self.report
        if record is not None and record.is_dir():
            msg = f"{record} is a folder; choose a file for the record."
            raise UsageError(msg)
        if record is not None and not record.resolve().parent.is_dir():
            msg = f"The folder {record.parent} for {record.name} does not exist."
            raise UsageError(msg)
        if report is not None and report.exists() and not report.is_dir():
            msg = f"{report} is a file; choose a folder for the report."
            raise UsageError(msg)
        if record is not None and _is_file_to_be(record):
            _require_space(record.resolve().parent)
        if report is not None:
            _require_space(report)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Grades *submissions* and writes the results.

    *grade_each* is by default ``grade.grade_each``. *names* is called after *writer* has written to
    the gradebook, and returns the students' names for the report.
    """

    course: Course
    submissions: LazySubmissions
    options: RunOptions
    grade_each: GradeEach | None = None
    writer: GradeWriter | None = None
    names: Callable[[], Mapping[str, str]] = dict

    def open_journal(self) -> Journal:
        """Open the journal next to the record, or a temporary one if the record is not a file."""
        record = self.options.record
        file = record.resolve() if record is not None and _is_file_to_be(record) else None
        return Journal(file, fresh=self.options.fresh)

    def grade(self, journal: Journal, on_done: Callable[[], object] = lambda: None) -> Results:
        """Grade the submissions whose results are not in *journal*; return all results."""
        return grade_with_journal(
            self.course,
            self.submissions,
            journal,
            isolation=self.options.isolation,
            jobs=self.options.jobs or None,
            on_done=on_done,
            grade_each=self.grade_each,
        )

    def save(self, results: Results) -> Saved:
        """Write *results*; a file that can't be written does not affect the others."""
        record, report, writer = self.options.record, self.options.report, self.writer
        messages: list[str] = []
        faults: list[str] = []
        changes: list[str] = []
        written = None
        if record is not None:
            with _noting(faults):
                changes += _write_record(record, results, show_changes=writer is None)
        if writer is not None:
            with _noting(faults):
                written = writer.write(self.submissions, results.submissions)
                faults += [f"not in the gradebook: {fault}" for fault in written.faults]
        if writer is not None and written is None and record is None:  # grades would be lost
            with _noting(faults):
                _write_elsewhere(results, "These grades are not in the gradebook.")
        names: Mapping[str, str] = {}
        with _noting(faults):
            names = self.names()
        if report is not None:
            with _noting(faults):
                index = write_pages(self.course, results, report, names)
                messages.append(f"report: {index}")
        return Saved(messages, faults, written, names, changes)


def on_cluster(address: str, folder: str) -> GradeEach:
    """Return a function that grades on the cluster at *address*, with the course in *folder*."""
    from autograder.grading import cluster  # noqa: PLC0415  # distributed is an optional library

    return partial(cluster.grade_each, address=address, folder=folder)


def _is_file_to_be(path: Path) -> bool:
    """Whether *path* is or will be a file, not a pipe or /dev/stdout."""
    return path.is_file() or not path.exists()


def _require_space(folder: Path) -> None:
    """Raise ``UsageError`` if no file can be written into *folder*, which is created if missing."""
    try:
        require_space(folder)
    except OSError as error:
        msg = f"Nothing was graded because {folder} can't be written: {error.strerror}."
        raise UsageError(msg) from None


@contextmanager
def _noting(faults: list[str]) -> Iterator[None]:
    """Add an error to *faults* and continue, so that graded results are not lost."""
    try:
        yield
    except (AutograderError, OSError) as error:
        if str(error) not in faults:  # an unusable gradebook is reported once
            faults.append(str(error))


def _write_record(file: Path, results: Results, *, show_changes: bool) -> list[str]:
    """Write the record to *file*; return lines on changed scores, if there are any.

    If scores changed, the earlier record is kept next to the new one.
    """
    changes = _changes(file, results)
    kept = _keep(file) if changes and changes.are_any else ""
    try:
        write_file(file, json_parts(results))
    except UsageError as error:
        _write_elsewhere(results, str(error))
    found = str(changes) if changes and show_changes else ""
    return [line for line in (found, kept) if line]


def _keep(record: Path) -> str:
    """Copy *record*, which will be replaced; return a sentence with the copy or the problem."""
    earlier = record.with_name(f"{record.stem}.earlier{record.suffix}")
    try:
        with replacing_file(earlier) as draft:
            shutil.copyfile(record, draft)
    except OSError as error:
        return f"The earlier record was replaced; {earlier} can't be written: {error.strerror}."
    command = f"autograder diff {earlier} {record}"
    return f"The earlier record is {earlier}. `{command}` lists all changes."


def _write_elsewhere(results: Results, problem: str) -> NoReturn:
    """Write the record to a new folder; raise ``UsageError`` with *problem* and the new file."""
    file = Path(tempfile.mkdtemp(prefix="grades-")) / "results.json"
    write_file(file, json_parts(results))
    msg = f"{problem} The record of this run is {file}."
    raise UsageError(msg)


def _changes(file: Path, results: Results) -> ScoreChanges | None:
    """Return the scores that differ from the record in *file*; None without a record."""
    if not file.is_file():
        return None
    try:
        return score_changes(read_record(file), results)
    except UsageError:
        return None
