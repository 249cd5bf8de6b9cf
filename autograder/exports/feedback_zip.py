"""Packs feedback pages into a zip with file names that Canvas or Moodle assigns to students.

Canvas (``app/models/assignment.rb``) divides a name at ``_`` and takes the first two parts that are
numbers: the user, and the file that this user submitted. It ignores a name whose last part begins
with ``link``, and shows the page under the name of the submitted file. Moodle
(``mod/assign/feedback/file/importziplib.php``) takes the second part, the participant's number, and
then the plugin, so the full name at the start must not contain ``_``. Both ignore any other name
without a message, so the zip contains no other names.
"""

import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Literal

import msgspec

from autograder.course import Course, Stage
from autograder.errors import UsageError
from autograder.exports.export_file import ExportFile, zip_of
from autograder.exports.final_grade import final_grade
from autograder.exports.grade_table import GradeTable, Score, StudentGrades, lms_number
from autograder.reports.feedback import counted
from autograder.reports.html import feedback_page
from autograder.results import Results, SubmissionResult, add
from autograder.sanitize import MAX_WORD, line
from autograder.stored_results import SubmissionScore, scores_of
from autograder.submission.files import in_sentence
from autograder.submission.names import ParsedName, parse_download_name, parse_name
from autograder.submission.roster import Groups, Member

Platform = Literal["canvas", "moodle"]

PAGE: Final = "feedback.html"
_MAX_NAMES = 100_000  # in one download; the download of 1000 students has some thousands
_MAX_LMS_NAME = 60  # characters of a name in a file name, which also has a number
_PREFERRED = (".py", ".ipynb", ".zip")  # the order of files to which Canvas may attach the page
_CHOOSE = "Choose the assignment's stage with --stage."


class FeedbackRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request for a zip of pages, with the data that is not in the record.

    *download* contains the names of files and folders in the platform's download. *identify*
    returns the id in the record for such a name. *names* maps each id to the student's name.
    *answers* returns the written answers of a student in a stage. With *groups*, every member of a
    group gets the page of the group's only submission.
    """

    platform: Platform
    stage: str = ""
    download: Sequence[str] = ()
    grades: GradeTable | None = None
    identify: Callable[[ParsedName], str] = lambda name: name.student
    names: Mapping[str, str] = {}
    answers: Callable[[str, str], Mapping[str, str]] = lambda _student, _stage: {}
    groups: Groups | None = None

    def name_of(self, student: str) -> str:
        """Return the name of *student* in the roster, the gradebook or the groups; "" if none."""
        rows = self.grades.rows if self.grades else ()
        known: list[StudentGrades | Member] = [row for row in rows if row.student == student]
        known += self.groups.of(student, lms_number(student)) if self.groups else []
        names = (f"{one.first_name} {one.last_name}".strip() for one in known)
        return self.names.get(student) or next(filter(None, names), "")


class _PlannedPage(msgspec.Struct, frozen=True):
    """A page: its file, the result by its index, and the students for whom it is."""

    file: str
    index: int
    students: tuple[str, ...]


def feedback_zip(course: Course, results: Results, request: FeedbackRequest) -> ExportFile:
    """Pack the page of each student in one stage; raise ``UsageError`` if no student is found."""
    stage = _stage(course, results, request.stage)
    chosen = _students(results, stage)
    canvas = request.platform == "canvas"
    files = _canvas_files(request) if canvas else _moodle_files(request, chosen)
    if not files.keys() & chosen.keys():
        raise UsageError(_nobody(request, len(chosen), stage.name))
    planned, remarks = _planned(request, chosen, files)
    grades = request.grades.rows if request.grades else ()
    scored = {row.student: row.scores[stage.name] for row in grades if stage.name in row.scores}
    for student in chosen:
        if request.grades and student in files and student not in scored:
            remarks.append(f"{student}: not in the gradebook, so the page has no total")
    differing = [
        score.student
        for score in scores_of(results)
        if score.student in scored and _differs(scored[score.student], stage, score)
    ]
    if differing:
        remarks.append(
            f"{stage.name}: the checks gave other points in the gradebook than in this record: "
            f"{', '.join(differing)}. Grade them again, with --gradebook and --json together"
        )
    pages = {
        page.file: _page(course, stage, result, request, page.students, scored.get(result.student))
        for page in planned
        for result in [results.submissions[page.index]]
    }
    people = sum(len(page.students) for page in planned)
    if people > len(planned):
        remarks.append(
            f"{counted(len(planned), 'page')} for {people} students: Canvas shows the page of a "
            "group's submission to every member"
        )
    known = request.grades.remarks if request.grades else ()
    own = (text for text in known if text.startswith(f"{stage.name}: "))
    return ExportFile(zip_of(pages), (*own, *remarks))


def download_names(path: Path) -> tuple[str, ...]:
    """List the names in a download, packed or unpacked; raise ``UsageError`` if that fails."""
    try:
        if path.is_dir():
            inside = sorted(path.iterdir())
            zips = filter(zipfile.is_zipfile, inside)  # the platform's, unlike those of students
            packed = [_zip_names(one) for one in zips if not parse_download_name(one.name).platform]
            return (*(item.name for item in inside), *(name for names in packed for name in names))
        return _zip_names(path)
    except (OSError, zipfile.BadZipFile) as error:
        msg = f"{path} is neither a readable folder nor a readable zip of submissions: {error}."
        raise UsageError(msg) from error


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
        raise UsageError(
            "Some students have two pages, and it is unknown which one counts: "
            f"{', '.join(sorted(twice))}. "
            "Remove one submission of each student and grade again."
        )
    return found


def _canvas_files(request: FeedbackRequest) -> dict[str, str]:
    """Return, for each student, the page name that belongs to the preferred submitted file."""
    if not request.download:
        raise UsageError(
            "Canvas identifies a student by two numbers in the file name of a page, and only the "
            "download from Canvas contains them. Pass that download with --download: the zip "
            "of “Download Submissions”, or its folder."
        )
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
    """Return each student's page name, with the participant's number of the id or the download."""
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


def _planned(
    request: FeedbackRequest, chosen: Mapping[str, int], files: Mapping[str, str]
) -> tuple[list[_PlannedPage], list[str]]:
    """Return all pages, and remarks on students and groups; *chosen* are the results to return."""
    partners, remarks = _partners(request, chosen, files)
    pages, absent = [], []
    for student, index in chosen.items():
        whole = (student, *partners.get(student, ()))
        # Canvas shows a page to the whole group, so a second one would be shown twice to everybody.
        for one in whole[:1] if request.platform == "canvas" else whole:
            if one in files:
                shown = whole if request.platform == "canvas" else (one,)
                pages.append(_PlannedPage(files[one], index, shown))
            else:
                absent.append(one)
    if absent:
        remarks.append(f"Not found in the download, no page packed: {in_sentence(absent)}")
    return pages, remarks


def _partners(
    request: FeedbackRequest, chosen: Iterable[str], files: Iterable[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the other members of each group by the member who submitted, and remarks."""
    if request.groups is None:
        return {}, []
    partners, remarks = {}, []
    for work in request.groups.shared([*chosen], (*files, *request.names), lms_number):
        if len(work.submitters) == 1:
            partners[work.submitters[0]] = [*work.others]
            continue
        names = ", ".join(work.submitters)
        shown = "; Canvas shows each of their pages to the whole group"
        remarks.append(
            f"{work.group}: {names} submitted, so each has a separate page"
            + shown * (request.platform == "canvas")
        )
    return partners, remarks


def _differs(in_gradebook: Score, stage: Stage, score: SubmissionScore) -> bool:
    """Whether the record has a *score* of *stage* that the checks in the gradebook don't give."""
    cells = [in_gradebook.cells.get(exercise.name) for exercise in stage.exercises]
    points = [cell.automatic for cell in cells if cell and cell.automatic is not None]
    is_known = score.stage == stage.name and score.score is not None and points
    return bool(is_known) and add(points) != add((score.score or 0.0,))


def _page(
    course: Course,
    stage: Stage,
    result: SubmissionResult,
    request: FeedbackRequest,
    students: Sequence[str],
    score: Score | None,
) -> str:
    names = {student: line(request.name_of(student), MAX_WORD) for student in students}
    shown = ", ".join(names[one] or one for one in students) if any(names.values()) else ""
    exercises = {exercise.name for exercise in stage.exercises}
    answers = request.answers(result.student, stage.name)
    grade = final_grade(score, exercises, course.zone, answers) if score else None
    return feedback_page(course, result, name=shown, grade=grade)


def _nobody(request: FeedbackRequest, students: int, stage: str) -> str:
    if not students:
        return f"The record holds no submission of {stage}. {_CHOOSE}"
    how = "Pass the download of these submissions with --download."
    if not request.download:
        return f"No student id of {stage} ends in a participant number. {how}"
    return (
        f"The download has {len(request.download)} names, but none of the {students} students "
        f"of {stage}, so there is no page to pack. {how} If you collected them with --roster, add "
        "the same files."
    )


def _zip_names(path: Path) -> tuple[str, ...]:
    with zipfile.ZipFile(path) as archive:
        return tuple(archive.namelist()[:_MAX_NAMES])
