"""Tests `autograder collect`: files as submitted, times, and one id for each student."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from nbgrader.api import Student

from autograder.course import Course
from autograder.gradebook.collection import roster_of_gradebook
from autograder.gradebook.connection import NbgraderSetup
from autograder.submission.collect import find
from autograder.submission.names import parse_download_name
from tests.kit.commands import run
from tests.kit.factories import SOLUTION, STAGE

RIGHT = SOLUTION.encode()
ROSTER = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Tiny (7)\n"
    "    Points Possible,,,,,10\n"
    '"Lovelace, Ada",101,s101,ada,A,\n'
    '"Hopper, Grace",102,s102,grace,A,\n'
)
Packed = Callable[[Mapping[str, bytes]], Path]


@pytest.fixture
def packed(course: Course) -> Packed:
    """Pack files as Canvas does, and put the roster next to them."""

    def pack(files: Mapping[str, bytes]) -> Path:
        (course.root / "canvas.csv").write_text(ROSTER, "utf-8")
        with zipfile.ZipFile(course.root / "submissions.zip", "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return course.root / "submissions.zip"

    return pack


def students(course: Course) -> dict[str, tuple[str, str, str]]:
    """Name and number of every student in the gradebook."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        return {
            one.id: (one.first_name, one.last_name, one.lms_user_id)
            for one in book.db.query(Student)
        }


def test_a_student_of_canvas_is_one_person(packed: Packed, course: Course):
    """A student of Canvas has the course's id and a name in formgrader and in the exports."""
    packed({"lovelaceada_101_9_tiny.py": RIGHT, "hoppergrace_102_8_README.md": b"Later."})
    output = run(
        course.root, "autograder", "collect", "1", "submissions.zip", "--roster", "canvas.csv"
    )
    submitted = course.root / "submitted"

    assert (submitted / "s101" / STAGE / "tiny.py").read_bytes() == RIGHT
    assert (submitted / "s102" / STAGE / "README.md").exists()
    assert "submissions.zip: a download from Canvas, 2 students." in output
    assert students(course) == {
        "s101": ("Ada", "Lovelace", "101"), "s102": ("Grace", "Hopper", "102"),
    }  # fmt: skip


def test_the_gradebook_knows_its_own_ids(course: Course):
    """Known ids include those of folders in submitted/, even without a number in the LMS."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.update_or_create_student("s101", lms_user_id="101")
        book.update_or_create_student("bob")
        roster = roster_of_gradebook(book)
    names = ("s101", "bob", "lovelaceada_101_9_tiny.py")
    found = [roster.find(parse_download_name(name)) for name in names]

    assert [person.student for person in found if person] == ["s101", "bob", "s101"]


def test_an_earlier_attempt_is_stored_apart(packed: Packed, course: Course):
    """The newest upload is graded from submitted/, too, and the page names both files."""
    packed({"lovelaceada_101_9_tiny.py": b"old", "lovelaceada_101_10_tiny-1.py": RIGHT})
    run(course.root, "autograder", "collect", "1", "submissions.zip", "--roster", "canvas.csv")
    folder = course.root / "submitted" / "s101" / STAGE
    stored = {str(path.relative_to(folder)) for path in folder.rglob("*.py")}
    (submission,) = find(course.root / "submitted", course.stages).submissions()

    assert stored == {"tiny-1.py", "earlier_uploads/tiny.py"}
    assert submission.module == RIGHT
    assert "tiny-1.py was uploaded last and was graded, not tiny.py." in submission.notices[-1]


@pytest.mark.slow
def test_the_grades_find_their_way_back(packed: Packed, course: Course):
    """A download that is graded directly fills in Canvas's export; a PDF's cell stays empty."""
    packed({"lovelaceada_101_9_tiny.py": RIGHT, "hoppergrace_102_8_x.pdf": b"%PDF"})
    grade = ("grade", "submissions.zip", "--stage", "1", "--gradebook", "--roster", "canvas.csv")
    run(course.root, "autograder", *grade)
    run(course.root, "autograder", "export", "canvas", "--gradebook", "--fill", "canvas.csv")
    rows = (course.root / "canvas.csv").read_text("utf-8").splitlines()

    assert set(students(course)) == {"s101", "s102"}
    assert [row.rpartition(",")[2] for row in rows[2:]] == ["10", ""]


@pytest.mark.usefixtures("lent_fork_server")
def test_an_export_that_places_nothing_fails(packed: Packed, course: Course):
    """An export fails if no id of the download is in the class."""
    packed({"lovelaceada_901_9_tiny.py": RIGHT})
    run(course.root, "autograder", "grade", "submissions.zip", "--stage", "1", "--gradebook")
    fill = ("--fill", "canvas.csv", "-o", "out.csv")
    output = run(course.root, "autograder", "export", "canvas", "--gradebook", *fill, code=2)

    assert "contains none of the students with a score; nothing was written." in output
    assert not (course.root / "out.csv").exists()


def test_what_was_collected_is_replaced_on_demand_only(packed: Packed, course: Course):
    """A collected submission is replaced only on request."""
    collect = ("autograder", "collect", "1", "submissions.zip")
    place = course.root / "submitted" / "ada_1" / STAGE / "tiny.py"
    packed({"ada_1_9_tiny.py": b"1"})
    run(course.root, *collect)
    packed({"ada_1_9_tiny.py": b"2"})
    output = run(course.root, *collect)
    kept = place.read_bytes()
    run(course.root, *collect, "--again")

    assert "ada_1: collected before, not replaced (--again)" in output
    assert (kept, place.read_bytes()) == (b"1", b"2")


def test_a_submission_that_two_claim_is_exit_code_1(packed: Packed, course: Course):
    """A submission that two students claim is not collected; the others are."""
    packed({"ada_1_9_tiny.py": b"1", "eve_1_8_tiny.py": b"2", "bob_2_7_tiny.py": b"3"})
    output = run(course.root, "autograder", "collect", "1", "submissions.zip", code=1)

    assert "✗ ada_1: ada_1_9_tiny.py, eve_1_8_tiny.py claim one student." in output
    assert [path.name for path in (course.root / "submitted").iterdir()] == ["bob_2"]


@pytest.mark.usefixtures("lent_fork_server")
@pytest.mark.parametrize("due", ["2026-11-20 23:00:00 UTC", None])
def test_canvas_marks_become_late_submissions(packed: Packed, course: Course, due: str | None):
    """Canvas's late marks become late submissions if there is a due date."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.update_or_create_assignment(STAGE, duedate=due)
    packed({"ada_LATE_1_9_tiny.py": RIGHT})
    output = run(
        course.root, "autograder", "grade", "submissions.zip", "--stage", "1", "--gradebook"
    )
    with NbgraderSetup.of_course(course).gradebook() as book:
        late = book.find_submission(STAGE, "ada_1").total_seconds_late

    assert late == (1 if due else 0)
    assert ("nbgrader db assignment add 01_tiny --duedate" in output) == (due is None)


def test_a_download_inside_the_folder_is_not_collected(packed: Packed, course: Course):
    """A class in the only entry of a folder ends with exit code 1, and no file is made."""
    packed({"ada_1_9_tiny.py": RIGHT, "bob_2_8_tiny.py": RIGHT})
    (course.root / "class").mkdir()
    (course.root / "submissions.zip").rename(course.root / "class" / "mallory.zip")
    (course.root / "gradebook.db").unlink(missing_ok=True)
    before = sorted(course.root.rglob("*"))
    output = run(course.root, "autograder", "collect", "1", "class", code=1)

    assert "mallory.zip: it looks like the submissions of a class. Pass it alone" in output
    assert sorted(course.root.rglob("*")) == before


@pytest.mark.slow
def test_equal_files_earn_equal_points_by_every_route(packed: Packed, course: Course):
    """A file of any name gets equal points by nbgrader's commands, the kit's, or direct grading."""
    packed({"ada_1_9_SelfAttention_final_FINAL.py": RIGHT, "bob_2_8_work.rar": b"Rar!"})
    run(course.root, "autograder", "collect", "1", "submissions.zip")
    run(course.root, "nbgrader", "autograde", STAGE)
    by_nbgrader = scores(course)
    run(course.root, "autograder", "grade", "submissions.zip", "--stage", "1", "--gradebook")

    assert by_nbgrader == scores(course) == {"ada_1": 10.0, "bob_2": 0.0}


def scores(course: Course) -> dict[str, float]:
    """The points of every submission in the gradebook."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        return {one.student_id: one.score for one in book.assignment_submissions(STAGE)}
