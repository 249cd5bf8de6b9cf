"""Collects downloaded submissions into nbgrader's ``submitted/`` folder, with times and names.

An archive is copied as it is. The grader reads it later, within bounds.
"""

import datetime as dt
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from msgspec.structs import replace
from nbgrader.api import Assignment, Gradebook, Student

from autograder.course import Course, Stage
from autograder.disk import replacing_folder
from autograder.gradebook.connection import NbgraderSetup
from autograder.sanitize import MAX_SENTENCE, line
from autograder.submission import Submission
from autograder.submission.archive import MAX_TOTAL
from autograder.submission.assemble import STAMP
from autograder.submission.class_division import FoundSubmissions
from autograder.submission.files import StudentWork, SubmittedFile, UnusableFile, reason
from autograder.submission.lazy_submissions import SubmissionOutline
from autograder.submission.names import EARLIER, superseded
from autograder.submission.roster import Person, Roster, person_of_nbgrader

NOT_COLLECTED = "not_collected.txt"  # lists the files that were not collected, with the reasons
_STUDENT = ("id", "first_name", "last_name", "email", "lms_user_id")  # columns of a gradebook
# Files with these names are not collected, because nbgrader would trust a student's copy.
_NBGRADERS = frozenset({STAMP, "submission_secret.txt"})


class Collection:
    """Collects submissions of *stage* into the nbgrader folders that *setup* names."""

    def __init__(self, setup: NbgraderSetup, stage: Stage) -> None:
        self._setup = setup
        self.stage = stage
        with setup.gradebook() as book:
            self._due = due_date(book, stage.name)

    def write(self, found: FoundSubmissions, *, again: bool = False) -> tuple[int, list[str]]:
        """Write each submission of *found*; return the number written, and remarks.

        A submission that was collected earlier is replaced only if *again* is true.
        """
        remarks = self.remarks(found)
        written = 0
        for work in found.works:
            folder = self.folder(work.student)
            if folder.exists() and not again:
                remarks.append(f"{work.student}: collected before, not replaced (--again)")
                continue
            try:
                with replacing_folder(folder) as new:
                    write_work(new, work, self.stamp(work))
                written += 1
            except OSError as error:
                remarks.append(f"{work.student}: could not be written ({reason(error)})")
        return written, remarks

    def remarks(self, found: FoundSubmissions) -> list[str]:
        """Return a remark if submissions are marked as late but the stage has no due date."""
        is_late = any(work.is_late for work in found.works)
        return [no_due_date(self.stage.name)] if is_late and self._due is None else []

    def folder(self, student: str) -> Path:
        """Return the student's folder below ``submitted/``."""
        coursedir = self._setup.coursedir
        step = coursedir.submitted_directory
        return Path(coursedir.format_path(step, student, self.stage.name))

    def stamp(self, work: StudentWork) -> str:
        """Return the text for ``timestamp.txt`` if *work* is marked as late, otherwise ""."""
        return late_stamp(self._due) if work.is_late and self._due else ""


def write_work(folder: Path, work: StudentWork, stamp: str = "") -> None:
    """Write the files of *work* below *folder*, and list those that could not be read."""
    faults = list(work.missing)  # faults inside an archive are reported when it is graded
    left = MAX_TOTAL
    earlier = superseded(work.originals, work.files)
    for file in work.originals:
        if file.path.name in _NBGRADERS:
            continue
        path = EARLIER / file.path if file in earlier else file.path
        try:
            data = file.read(left)
            left -= len(data)
            _write(folder, path, data)
        except UnusableFile as error:
            faults.append(str(error))
        except OSError as error:
            faults.append(f"{file.label} could not be stored ({reason(error)}).")
    folder.mkdir(parents=True, exist_ok=True)
    if not faults and not any(folder.iterdir()):
        faults.append("Nothing was submitted.")  # nbgrader ignores an empty folder
    if faults:
        lines = "\n".join(line(fault, MAX_SENTENCE) for fault in dict.fromkeys(faults))
        _write(folder, PurePosixPath(NOT_COLLECTED), f"{lines}\n".encode())
    if stamp:
        (folder / STAMP).write_text(f"{stamp}\n", "utf-8")


def _write(folder: Path, path: PurePosixPath, data: bytes) -> None:
    """Write *data*; number a second file of the same name, as browsers do."""
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while place.exists():
        number += 1
        place = place.with_name(f"{path.stem} ({number}){path.suffix}")
    place.write_bytes(data)


def due_date(book: Gradebook, stage: str) -> dt.datetime | None:
    """Return the due date of *stage* in the gradebook, as UTC without a time zone."""
    assignment = book.db.query(Assignment).filter_by(name=stage).one_or_none()
    return assignment.duedate if assignment else None


def late_stamp(due: dt.datetime) -> str:
    """Return a time one second after *due*, for a submission that an LMS only marks as late."""
    return f"{due + dt.timedelta(seconds=1)} UTC"


def no_due_date(stage: str) -> str:
    """Return the remark that late marks have no effect because *stage* has no due date."""
    return (
        f"{stage} has no due date, so late marks have no effect. "
        f'Set one: nbgrader db assignment add {stage} --duedate "2026-11-20 23:00:00 UTC"'
    )


def late_stamper(
    course: Course, outlines: Iterable[SubmissionOutline]
) -> tuple[Callable[[Submission], Submission], list[str]]:
    """Return a function that stamps late submissions with a time after the due date, and remarks.

    A submission is late if an LMS marks it as late.
    """
    late = {item.stage for item in outlines if item.is_late and item.stage}
    due: dict[str, dt.datetime | None] = {}
    if late:
        with NbgraderSetup.of_course(course).gradebook() as book:
            due = {stage: due_date(book, stage) for stage in late}
    remarks = [no_due_date(stage) for stage in sorted(late) if due[stage] is None]
    return lambda submission: _stamped(submission, due.get(submission.stage)), remarks


def _stamped(submission: Submission, due: dt.datetime | None) -> Submission:
    if not submission.is_late or due is None:
        return submission
    text = late_stamp(due).encode()
    stamp = SubmittedFile(path=PurePosixPath(STAMP), label=STAMP, read=lambda _limit: text)
    return replace(submission, stamp=stamp)


def register_people(course: Course, roster: Roster, students: Iterable[str]) -> None:
    """Copy the names of *students* from *roster* into the gradebook."""
    people = {person.student: person for person in roster.people}
    with NbgraderSetup.of_course(course).gradebook() as book:
        for student in sorted(set(students) & set(people)):
            known = {key: value for key, value in _columns(people[student]).items() if value}
            book.update_or_create_student(student, **known)


def _columns(person: Person) -> dict[str, str]:
    return {
        "first_name": person.first_name,
        "last_name": person.last_name,
        "email": person.email,
        "lms_user_id": person.number,
    }


def roster_of_gradebook(book: Gradebook) -> Roster:
    """Return the students of the gradebook, or no students if none has an LMS number."""
    people = people_of_gradebook(book)
    return Roster(people if any(person.number for person in people) else ())


def people_of_gradebook(book: Gradebook) -> tuple[Person, ...]:
    """Return the students of the gradebook."""
    rows = [
        {column: getattr(student, column) or "" for column in _STUDENT}
        for student in book.db.query(Student)
    ]
    return tuple(filter(None, map(person_of_nbgrader, rows)))
