"""Collects downloaded submissions into nbgrader's ``submitted/`` folder, with times and names.

An archive is copied as it is. The grader reads it later, within bounds.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace
from nbgrader.api import Assignment, Gradebook, Student, SubmittedNotebook
from nbgrader.preprocessors import AssignLatePenalties

from autograder.course import Course, Stage
from autograder.disk import replacing_folder
from autograder.gradebook.autograded_submission import text_of
from autograder.gradebook.connection import NbgraderSetup
from autograder.reports.feedback import counted
from autograder.sanitize import MAX_SENTENCE, line
from autograder.submission import Submission
from autograder.submission.archive import MAX_TOTAL
from autograder.submission.assemble import STAMP
from autograder.submission.class_division import FoundSubmissions
from autograder.submission.collect import SubmissionOutline
from autograder.submission.files import StudentWork, SubmittedFile, UnusableFile, reason
from autograder.submission.names import EARLIER, superseded
from autograder.submission.roster import Person, Roster, person_of_nbgrader
from autograder.times import LATE_MARK, parse_time

NO_TIME = "timestamp.txt holds no time that can be read"  # the beginning of a notice
_SHOWN = 40  # characters of a time that can't be read
_SCORE = 10.0  # points with which a penalty is tried
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
        """Write each of *found*, *again* if collected before; return their number, and remarks."""
        late = [work.student for work in found.works if work.is_late]
        remarks = no_effect(self._setup.late, self.stage.name, late)
        if late and self._due is None:
            remarks = [no_due_date(self.stage.name)]
        coursedir, written = self._setup.coursedir, 0
        for work in found.works:
            step = coursedir.submitted_directory
            folder = Path(coursedir.format_path(step, work.student, self.stage.name))
            if folder.exists() and not again:
                remarks.append(f"{work.student}: collected before, not replaced (--again)")
                continue
            try:
                with replacing_folder(folder) as new:
                    stamp = late_stamp(self._due) if work.is_late and self._due else ""
                    write_work(new, work, stamp)
                written += 1
            except OSError as error:
                remarks.append(f"{work.student}: could not be written ({reason(error)})")
        return written, remarks


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


def is_marked_late(row: SubmittedNotebook) -> bool:
    """Whether the time of *row* stands for a late mark, and no extension is known."""
    submission = row.assignment
    due, time = submission.assignment.duedate, submission.timestamp
    return bool(due and not submission.extension and time == due + LATE_MARK)


def no_effect(late: AssignLatePenalties, stage: str, students: Sequence[str]) -> list[str]:
    """Return a remark if the late marks of *students* have no effect, and how to change that."""
    plugin, seconds = late.plugin_inst, LATE_MARK.total_seconds()
    try:
        penalties = [plugin.late_submission_penalty(one, _SCORE, seconds) for one in students]
    except Exception:  # noqa: BLE001  # the plugin is reported when scores are written
        return []
    if any(penalties) or not students:
        return []
    remark = (
        f"{counted(len(students), 'late mark')} of {stage} can't lower a grade: the download gives "
        f"no time, so this work counts as one second late, and {type(plugin).__name__} subtracts "
        "nothing for one second. Change its options in nbgrader_config.py, or write the time of "
        f"submission into {STAMP} of the student's folder below submitted/."
    )
    return [remark]


def late_stamp(due: dt.datetime) -> str:
    """Return a time one second after *due*, for a submission that an LMS only marks as late."""
    return f"{due + LATE_MARK} UTC"


def no_due_date(stage: str) -> str:
    """Return the remark that late marks have no effect because *stage* has no due date."""
    return (
        f"{stage} has no due date, so late marks have no effect. "
        f'Set one: nbgrader db assignment add {stage} --duedate "2026-11-20 23:00:00 UTC"'
    )


def late_stamper(
    course: Course, outlines: Iterable[SubmissionOutline]
) -> tuple[Callable[[Submission], Submission], list[str]]:
    """Return a function that gives late submissions a time after the due date, and remarks."""
    late = {item.stage for item in outlines if item.is_late and item.stage}
    due: dict[str, dt.datetime | None] = {}
    if late:
        with NbgraderSetup.of_course(course).gradebook() as book:
            due = {stage: due_date(book, stage) for stage in late}
    remarks = [no_due_date(stage) for stage in sorted(late) if due[stage] is None]
    return lambda found: _stamped(found, due.get(found.stage), course.zone), remarks


def note_unreadable_time(submission: Submission, zone: dt.tzinfo) -> Submission:
    """Add a notice to *submission* if its ``timestamp.txt`` holds no time that can be read."""
    if submission.stamp is None or parse_time(text := text_of(submission.stamp), zone):
        return submission
    quoted = f" (“{line(text, _SHOWN)}”)" if text.strip() else ""
    notice = (
        f"{NO_TIME}{quoted}, so it is unknown whether the work was late. Write the time into "
        f"{STAMP} as in “2026-11-21 09:30:00 UTC” or “2026-11-21 10:30:00 +0100”; then grade again."
    )
    return replace(submission, notices=(*submission.notices, notice))


def _stamped(submission: Submission, due: dt.datetime | None, zone: dt.tzinfo) -> Submission:
    if not submission.is_late or due is None:
        return note_unreadable_time(submission, zone)
    text = late_stamp(due).encode()
    stamp = SubmittedFile(path=PurePosixPath(STAMP), label=STAMP, read=lambda _limit: text)
    return replace(submission, stamp=stamp)


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
