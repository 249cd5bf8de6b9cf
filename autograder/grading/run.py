"""Runs `autograder grade`: grades submissions and writes the requested files."""

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, Protocol

from msgspec.structs import replace

from autograder.course import Course
from autograder.disk import quoted, replacing_file, require_space
from autograder.errors import AutograderError, UsageError
from autograder.exports.csv_files import review_csv
from autograder.exports.export_file import write_file
from autograder.exports.grade_table import lms_number
from autograder.grading.class_guesses import class_guesses
from autograder.grading.journal import Journal, grade_with_journal
from autograder.grading.term_record import (
    Key,
    Merged,
    merge,
    not_submitted,
    read_earlier,
    without,
)
from autograder.reports.class_report import NO_GUESSES, Guesses
from autograder.reports.feedback import counted
from autograder.reports.html import other_pages, write_pages
from autograder.reports.page_names import page_names
from autograder.reports.term_report import ClassList
from autograder.results import Results, SubmissionResult, json_parts
from autograder.stored_results import read_record, score_changes, scores_of
from autograder.submission import Submission
from autograder.submission.collect import LazySubmissions
from autograder.submission.roster import Groups

REVIEW: Final = "review.csv"  # in the folder of the report
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
    people: ClassList
    changes: list[str]  # lines on the differences from the earlier record
    whole: Results  # the results of the run, and those that the record kept


@dataclass(frozen=True)
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

    def require_writable(self, course: Course) -> None:
        """Raise ``UsageError`` if the record or the report can't be written after the grading."""
        record, report = self.record, self.report
        if record is not None and record.is_dir():
            raise UsageError(f"{record} is a folder; choose a file for the record.")
        if record is not None and not record.resolve().parent.is_dir():
            raise UsageError(f"The folder {record.parent} for {record.name} does not exist.")
        if report is not None and report.exists() and not report.is_dir():
            raise UsageError(f"{report} is a file; choose a folder for the report.")
        if record is not None and _is_file_to_be(record):
            read_earlier(record, course)
            _require_space(record.resolve().parent)
        if report is not None:
            _require_space(report)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Grades *submissions* and writes the results.

    *grade_each* is by default ``grade.grade_each``. *people* is called after *writer* has written
    to the gradebook, and returns what the report shows about the students. The results of
    *forgotten* are removed from the record. If *is_class*, the run names kept results without a
    submission.
    """

    course: Course
    submissions: LazySubmissions
    options: RunOptions
    grade_each: GradeEach | None = None
    writer: GradeWriter | None = None
    people: Callable[[], ClassList] = ClassList
    groups: Groups | None = None
    forgotten: frozenset[Key] = frozenset()
    is_class: bool = False

    def require_whole_report(self) -> None:
        """Raise ``UsageError`` if a run without a record would hide pages of other results."""
        report = self.options.report
        if report is None or self.options.record is not None:
            return
        hidden = other_pages(report, page_names(self.submissions.outlines()))
        if hidden:
            raise UsageError(
                f"{report} has {counted(len(hidden), 'page')} of other results, such as "
                f"{hidden[0]}. Add --json with the record that has all results, or choose a "
                "different folder with --report."
            )

    def open_journal(self) -> Journal:
        """Open the journal next to the record, or a temporary one if the record is not a file."""
        record = self.options.record
        file = record.resolve() if record is not None and _is_file_to_be(record) else None
        journal = Journal(file, fresh=self.options.fresh)
        if self.forgotten:
            journal.forget(self.forgotten)
        return journal

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
        with _noting(faults):
            results = self._with_groups(results)
        changes: list[str] = []
        written, whole = None, results
        if record is not None:
            with _noting(faults):
                whole = self._write_record(record, results, changes)
        if writer is not None:
            with _noting(faults):
                written = writer.write(self.submissions, results.submissions)
                faults += [f"not in the gradebook: {fault}" for fault in written.faults]
        if writer is not None and written is None and record is None:  # grades would be lost
            with _noting(faults):
                _write_elsewhere(results, "These grades are not in the gradebook.")
        people, guesses = ClassList(), NO_GUESSES
        with _noting(faults):
            people = self.people()
        if report is not None:
            with _noting(faults):
                guesses = class_guesses(self.course.stages, self.submissions)
            with _noting(faults):
                page = write_report(self.course, whole, report, people, guesses)
                messages.append(f"report: {page}")
        return Saved(messages, faults, written, people, changes, whole)

    def _with_groups(self, results: Results) -> Results:
        """Add to *results* who submitted for the members of groups."""
        if self.groups is None:
            return results
        by_stage: dict[str, list[str]] = {}
        for score in scores_of(results):
            by_stage.setdefault(score.stage, []).append(score.student)
        known = tuple(self.people().names)
        found = {
            stage: {
                member: work.submitters[0]
                for work in self.groups.shared(students, known, lms_number)
                for member in work.others
                if len(work.submitters) == 1
            }
            for stage, students in by_stage.items()
        }
        return replace(
            results, groups={stage: members for stage, members in found.items() if members}
        )

    def _write_record(self, file: Path, results: Results, changes: list[str]) -> Results:
        """Add *results* to the record in *file*; return it, with lines on the *changes*.

        If scores changed, the earlier record is kept next to the new one.
        """
        earlier = read_earlier(file, self.course)
        found = score_changes(earlier, results) if earlier else None
        kept = _keep(file) if found and found.are_any else ""
        merged = merge(earlier, results, self.forgotten) if earlier else Merged(results, ())
        try:
            write_file(file, json_parts(merged.results))
        except UsageError as error:
            _write_elsewhere(merged.results, str(error))
        changes += [str(found)] if found and str(found) and self.writer is None else []
        changes += [kept] if kept else []
        if merged.kept:
            was = "was" if len(merged.kept) == 1 else "were"
            changes.append(f"{file}: {counted(len(merged.kept), 'other result')} {was} kept.")
        if self.is_class:
            stages = {outline.stage for outline in self.submissions.outlines()}
            changes += not_submitted(merged.kept, stages, file)
        return read_record(file) if _is_file_to_be(file) else merged.results


def write_report(
    course: Course,
    whole: Results,
    folder: Path,
    people: ClassList,
    guesses: Guesses = NO_GUESSES,
) -> Path:
    """Write the pages and the review list into *folder*; return the path of the class report."""
    people = dataclasses.replace(people, groups=whole.groups)
    index = write_pages(course, whole, folder, people, guesses)
    review_csv(whole, people.names).write(folder / REVIEW)
    return index


def forget(course: Course, file: Path, keys: Collection[Key]) -> Results:
    """Remove the results of *keys* from the record in *file* and its journal; return the rest."""
    with Journal(file.resolve()) as journal:
        earlier = read_earlier(file, course)
        if earlier is None:
            raise UsageError(f"{file} does not exist, so there is nothing to forget.")
        write_file(file, json_parts(without(earlier, keys)))
        journal.forget(keys)
    return read_record(file)


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


def _keep(record: Path) -> str:
    """Copy *record*, which will be replaced; return a sentence with the copy or the problem."""
    earlier = record.with_name(f"{record.stem}.earlier{record.suffix}")
    try:
        with replacing_file(earlier) as draft:
            shutil.copyfile(record, draft)
    except OSError as error:
        return f"The earlier record was replaced; {earlier} can't be written: {error.strerror}."
    command = f"autograder diff {quoted(earlier)} {quoted(record)}"
    return f"The earlier record is {earlier}. `{command}` lists all changes."


def _write_elsewhere(results: Results, problem: str) -> NoReturn:
    """Write the record to a new folder; raise ``UsageError`` with *problem* and the new file."""
    file = Path(tempfile.mkdtemp(prefix="grades-")) / "results.json"
    write_file(file, json_parts(results))
    raise UsageError(f"{problem} The record of this run is {file}.")
