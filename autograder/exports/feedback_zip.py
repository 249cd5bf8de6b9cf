"""Packs feedback pages into a zip with file names that Canvas or Moodle assigns to students.

Canvas (``app/models/assignment.rb``) divides a name at ``_`` and takes the first two parts that are
numbers: the user, and the file that this user submitted. It ignores a name whose last part begins
with ``link``, and shows the page under the name of the submitted file. Moodle
(``mod/assign/feedback/file/importziplib.php``) takes the second part, the participant's number, and
then the plugin, so the full name at the start must not contain ``_``. Both ignore any other name
without a message, so the zip contains no other names.
"""

import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Literal

import msgspec

from autograder.course import Course, Stage
from autograder.errors import UsageError
from autograder.exports.export_file import ExportFile
from autograder.exports.grade_table import GradeTable, Score, StudentGrades, lms_number
from autograder.reports.feedback import FinalGrade, WrittenAnswer
from autograder.reports.html import feedback_page
from autograder.results import Results, SubmissionResult, add
from autograder.stored_results import scores_of
from autograder.submission.download_names import ParsedName, parse_download_name, parse_name
from autograder.times import LATE_MARK, shown_time

Platform = Literal["canvas", "moodle"]

PAGE: Final = "feedback.html"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time, so that the same record gives the same bytes
_READABLE = 0o644 << 16
_MAX_NAMES = 100_000  # in one download; the download of 1000 students has some thousands
_MAX_LMS_NAME = 60  # characters of a name in a file name, which also has a number
_PREFERRED = (".py", ".ipynb", ".zip")  # the order of files to which Canvas may attach the page
_CHOOSE = "Choose the assignment's stage with --stage."


class FeedbackRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request for a zip of pages, with the data that is not in the record.

    *download* contains the names of files and folders in the platform's download. *identify*
    returns the id in the record for such a name. *names* maps each id to the student's name.
    """

    platform: Platform
    stage: str = ""
    download: Sequence[str] = ()
    grades: GradeTable | None = None
    identify: Callable[[ParsedName], str] = lambda name: name.student
    names: Mapping[str, str] = {}


def feedback_zip(course: Course, results: Results, request: FeedbackRequest) -> ExportFile:
    """Pack the page of each student in one stage; raise ``UsageError`` if no student is found."""
    stage = _stage(course, results, request.stage)
    chosen = _students(results, stage)
    canvas = request.platform == "canvas"
    files = _canvas_files(request) if canvas else _moodle_files(request, chosen)
    if not files.keys() & chosen.keys():
        raise UsageError(_nobody(request, len(chosen), stage.name))
    rows = {row.student: row for row in request.grades.rows} if request.grades else {}
    pages: dict[str, str] = {}
    from_gradebook = request.grades.remarks if request.grades else ()
    remarks = [text for text in from_gradebook if f", {stage.name}: " in text]
    for student, index in chosen.items():
        if student not in files:
            remarks.append(f"{student}: not found in the download, no page packed")
            continue
        if request.grades and (student not in rows or stage.name not in rows[student].scores):
            remarks.append(f"{student}: not in the gradebook, so the page has no total")
        result = results.submissions[index]
        pages[files[student]] = _page(course, stage, result, rows.get(student), request.names)
    return ExportFile(_pack(pages), tuple(remarks))


def download_names(path: Path) -> tuple[str, ...]:
    """List the names in a download, packed or unpacked; raise ``UsageError`` if that fails."""
    try:
        if path.is_dir():
            inside = sorted(path.iterdir())
            packed = [_zip_names(item) for item in inside if _is_whole_download(item)]
            return (*(item.name for item in inside), *(name for names in packed for name in names))
        return _zip_names(path)
    except (OSError, zipfile.BadZipFile) as error:
        msg = f"{path} is neither a readable folder nor a readable zip of submissions: {error}."
        raise UsageError(msg) from error


def final_grade(score: Score, exercises: Collection[str], zone: dt.tzinfo = dt.UTC) -> FinalGrade:
    """Return the grade in the gradebook, with times in *zone*.

    Cells that are not in *exercises* are written answers.
    """
    submitted, late = _submitted(score, zone)
    checked = [cell for name, cell in score.exercises.items() if name in exercises]
    return FinalGrade(
        score=score.score,
        max_score=score.max_score,
        penalty=score.penalty,
        checks=add(points or 0.0 for points, _ in checked),
        max_checks=add(most for _, most in checked),
        written=tuple(
            WrittenAnswer(name, points, most)
            for name, (points, most) in score.exercises.items()
            if name not in exercises
        ),
        submitted=submitted,
        late=late,
    )


def _stage(course: Course, results: Results, wanted: str) -> Stage:
    """Return the *wanted* stage, or the record's only one; raise ``UsageError`` without one."""
    if wanted:
        return course.stage(wanted)
    held = {score.stage for score in scores_of(results)}
    found = [stage for stage in course.stages if stage.name in held]
    if len(found) != 1:
        names = ", ".join(stage.name for stage in found) or "no stage of this course"
        msg = f"A download belongs to one assignment, and the record holds {names}. {_CHOOSE}"
        raise UsageError(msg)
    return found[0]


def _students(results: Results, stage: Stage) -> dict[str, int]:
    """Return each student's result of *stage* by index; raise ``UsageError`` if one has several."""
    found: dict[str, int] = {}
    twice = set()
    for index, score in enumerate(scores_of(results)):
        if score.stage == stage.name:
            twice |= {score.student} if score.student in found else set()
            found[score.student] = index
    if twice:
        msg = (
            "Some students have two pages, and it is unknown which one counts: "
            f"{', '.join(sorted(twice))}. "
            "Remove one submission of each student and grade again."
        )
        raise UsageError(msg)
    return found


def _canvas_files(request: FeedbackRequest) -> dict[str, str]:
    """Return, for each student, the page name that belongs to the preferred submitted file."""
    if not request.download:
        msg = (
            "Canvas identifies a student by two numbers in the file name of a page, and only the "
            "download from Canvas contains them. Pass that download with --download: the zip "
            "of “Download Submissions”, or its folder."
        )
        raise UsageError(msg)
    found: dict[str, str] = {}
    for name in sorted(request.download, key=_by_preference):
        parsed = parse_name(PurePosixPath(name).name, "canvas")
        if parsed and parsed.upload:  # a typed answer has no file to which a page can belong
            whole = f"{_plain(parsed.student)}_{parsed.number}_{parsed.upload}_{PAGE}"
            found.setdefault(request.identify(parsed), whole)
    return found


def _by_preference(name: str) -> tuple[int, str]:
    suffix = PurePosixPath(name).suffix.lower()
    return _PREFERRED.index(suffix) if suffix in _PREFERRED else len(_PREFERRED), name


def _moodle_files(request: FeedbackRequest, chosen: Iterable[str]) -> dict[str, str]:
    """Return, for each student, the page name with the participant's number.

    The number is at the end of an id that came from Moodle, or in the name of a folder or file in
    the download.
    """
    students = {student: student for student in chosen}
    for name in request.download:
        parsed = parse_download_name(name.split("/", 1)[0])
        if parsed.platform:
            students[request.identify(parsed)] = parsed.student
    return {
        student: f"{_plain(moodle)}_{lms_number(moodle)}_assignsubmission_file_{PAGE}"
        for student, moodle in students.items()
        if lms_number(moodle)
    }


def _plain(student: str) -> str:
    """Return the name before the number of an id, with characters that all file systems allow."""
    name = student.rpartition("_")[0]
    return re.sub(r"[^\w .-]|_", "", name).strip(" .")[:_MAX_LMS_NAME] or "student"


def _page(
    course: Course,
    stage: Stage,
    result: SubmissionResult,
    row: StudentGrades | None,
    names: Mapping[str, str],
) -> str:
    in_gradebook = f"{row.first_name} {row.last_name}".strip() if row else ""
    score = row.scores.get(stage.name) if row else None
    exercises = {exercise.name for exercise in stage.exercises}
    return feedback_page(
        course,
        result,
        name=names.get(result.student) or in_gradebook,
        grade=final_grade(score, exercises, course.zone) if score else None,
    )


def _nobody(request: FeedbackRequest, students: int, stage: str) -> str:
    if not students:
        return f"The record holds no submission of {stage}. {_CHOOSE}"
    what = (
        (
            f"The download has {len(request.download)} names, but none of the {students} students "
            f"of {stage}, so there is no page to pack."
        )
        if request.download
        else f"No student id of {stage} ends in a participant number."
    )
    return f"{what} Pass the download of these submissions with --download."


def _pack(pages: Mapping[str, str]) -> bytes:
    """Return a zip of *pages*, the content by name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, page in pages.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = _READABLE
            archive.writestr(info, page, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _zip_names(path: Path) -> tuple[str, ...]:
    with zipfile.ZipFile(path) as archive:
        return tuple(archive.namelist()[:_MAX_NAMES])


def _is_whole_download(item: Path) -> bool:
    """Whether *item* is the zip of the platform and not that of a student."""
    return zipfile.is_zipfile(item) and not parse_download_name(item.name).platform


def _submitted(score: Score, zone: dt.tzinfo) -> tuple[str, str]:
    """Return when the work was submitted, and how late that was; "" for what is unknown.

    Canvas gives no time, only a mark.
    """
    time, due, extended = map(_time, (score.timestamp, score.duedate, score.extended))
    if time is None or due is None or time <= due:
        return (shown_time(time, zone) if time else ""), ""
    until = f" (your own deadline is {shown_time(extended, zone)})" if extended else ""
    if time == due + LATE_MARK:
        return "", f"after the deadline, as Canvas marks it{until}"
    late = time - (extended or due)
    if extended and late <= dt.timedelta(0):
        return shown_time(time, zone), f"within your extension to {shown_time(extended, zone)}"
    deadline = "your extended deadline" if extended else "the deadline"
    return shown_time(time, zone), f"{_duration(late)} after {deadline}"


def _duration(time: dt.timedelta) -> str:
    minutes = max(1, int(time.total_seconds()) // 60)
    days, rest = divmod(minutes, 24 * 60)
    parts = ((days, "d"), (rest // 60, "h"), (rest % 60, "min"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def _time(text: str) -> dt.datetime | None:
    """Read a time of the gradebook, which is in UTC without a time zone."""
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.astimezone(dt.UTC).replace(tzinfo=None) if time.tzinfo else time
