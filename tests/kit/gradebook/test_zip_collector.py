"""Tests that `nbgrader zip_collect` collects the files of `autograder collect`, still packed."""

import io
import zipfile
from collections.abc import Callable, Mapping

import pytest

from autograder.course import Course
from autograder.gradebook.connection import NbgraderSetup
from autograder.submission.names import student_id
from tests.kit.commands import run
from tests.kit.factories import STAGE

MODULE = "_1201_88_tiny.py"
UNWRAP = "--BoundedExtractor.unwrap=True"
Download = Callable[..., str]


def archive(members: Mapping[str, bytes]) -> bytes:
    """A zip of *members*."""
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return page.getvalue()


@pytest.fixture
def download(course: Course) -> Download:
    """Put files where nbgrader expects a download, collect them, and return the output."""

    def collect(files: Mapping[str, bytes], *options: str) -> str:
        for name, data in files.items():
            path = course.root / "downloaded" / STAGE / "archive" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return run(course.root, "nbgrader", "zip_collect", STAGE, *options)

    return collect


def submitted(course: Course) -> dict[str, bytes]:
    """The files in ``submitted/``, by student."""
    root = course.root / "submitted"
    files = [path for path in root.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(root)).replace(f"/{STAGE}/", "/"): path.read_bytes() for path in files
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("lovelaceada" + MODULE, "lovelaceada_1201/tiny.py", id="canvas"),
        pytest.param("lovelaceada_LATE" + MODULE, "lovelaceada_1201/tiny.py", id="late"),
        pytest.param("a_1201_88_hw.zip", "a_1201/hw.zip", id="zip"),
        pytest.param("a_1201_88_essay.pdf", "a_1201/essay.pdf", id="pdf"),
        pytest.param("a_1201_88_work.rar", "a_1201/work.rar", id="rar"),
        pytest.param("Ada L_77_assignsubmission_file_/tiny.py", "Ada L_77/tiny.py", id="moodle"),
        pytest.param("Ada L_77_assignsubmission_file/tiny.py", "Ada L_77/tiny.py", id="moodle-4.1"),
        pytest.param("ada/README.md", "ada/README.md", id="readme-only"),
        pytest.param("ada/src/lab.ipynb", "ada/src/lab.ipynb", id="deep"),
        pytest.param("a<b>/tiny.py", f"{student_id('a<b>')}/tiny.py", id="name-made-safe"),
    ],
)
def test_every_submission_is_collected(
    download: Download, course: Course, name: str, expected: str
):
    """Every submission is collected without a regular expression, with every kind of file."""
    download({name: b"1", name.replace("1201", "1299").replace("77", "78") + ".py": b"2"})

    assert submitted(course)[expected] == b"1"


def test_what_no_student_made_is_left_out(download: Download, course: Course):
    """A timestamp that a student packed is left out."""
    names = ("timestamp.txt", "submission_secret.txt", "__MACOSX/._tiny.py", "tiny.py")
    download({f"{student}/{name}": b"1" for name in names for student in ("ada", "bob")})

    assert set(submitted(course)) == {"ada/tiny.py", "bob/tiny.py"}


@pytest.mark.parametrize(
    "name", ["submissions.zip", "hw-4.zip"], ids=["as-moodle-names-it", "other"]
)
def test_a_packed_class_is_a_class(download: Download, course: Course, name: str):
    """The name of an archive that Canvas or Moodle packed is not a student."""
    members = {"a" + MODULE: b"1", "b_LATE_1202_89_hw.zip": b"2"}
    download({name: archive(members)}, UNWRAP)

    assert submitted(course) == {"a_1201/tiny.py": b"1", "b_1202/hw.zip": b"2"}


def test_an_only_entry_that_nothing_confirms_is_not_collected(download: Download, course: Course):
    """An unconfirmed only entry is not collected, and the message states what to do."""
    with pytest.raises(AssertionError, match=r"mallory\.zip, the only entry of archive") as raised:
        download({"mallory.zip": archive({"a" + MODULE: b"1", "b_1202_89_tiny.py": b"2"})})

    assert "--BoundedExtractor.unwrap=True" in str(raised.value)
    assert submitted(course) == {}


def test_an_only_entry_may_be_what_one_student_submitted(download: Download, course: Course):
    """The option `unwrap` declares an only entry the submission of one student."""
    packed = archive({"a" + MODULE: b"1", "b_1202_89_tiny.py": b"2"})
    download({"mallory.zip": packed}, "--BoundedExtractor.unwrap=False")

    assert submitted(course) == {"mallory/mallory.zip": packed}


def test_the_gradebook_confirms_a_packed_class(download: Download, course: Course):
    """An only entry is a class if the gradebook has every name in it but not its own."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.update_or_create_student("s1", lms_user_id="1201")
    download({"submissions.zip": archive({"a" + MODULE: b"1"})})

    assert submitted(course) == {"s1/tiny.py": b"1"}


def test_a_damaged_archive_stops_nobody_else(download: Download, course: Course):
    """A damaged archive is collected as it is; grading reports the damage."""
    download({"a_1201_88_hw.zip": b"no zip", "b_1202_89_tiny.py": b"1"})

    assert submitted(course) == {"a_1201/hw.zip": b"no zip", "b_1202/tiny.py": b"1"}


def test_no_bomb_is_unpacked(download: Download, course: Course):
    """A bomb in a class's archive is left out with a reason, and a student's is not unpacked."""
    bomb = archive({"tiny.py": b"0" * (4 * 2**20)})
    members = {"a_1201_88_hw.zip": bomb, "b_1202_89_data.bin": b"0" * (4 * 2**20)}
    download({"submissions.zip": archive(members)}, UNWRAP)
    found = submitted(course)

    assert found["a_1201/hw.zip"] == bomb
    assert b"is compressed more than 200:1" in found["b_1202/not_collected.txt"]
    assert set(found) == {"a_1201/hw.zip", "b_1202/not_collected.txt"}


def test_a_late_mark_becomes_a_time_after_the_due_date(download: Download, course: Course):
    """A late mark of Canvas becomes one second after the due date."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.update_or_create_assignment(STAGE, duedate="2026-11-20 23:00:00 UTC")
    download({"a_LATE" + MODULE: b"1", "b_1202_89_tiny.py": b"2"})
    found = submitted(course)

    assert found["a_1201/timestamp.txt"].startswith(b"2026-11-20 23:00:01")
    assert "b_1202/timestamp.txt" not in found


def test_the_gradebook_is_the_roster(download: Download, course: Course):
    """In nbgrader's command, too, students with a number in the gradebook keep their ids."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.update_or_create_student("s1", lms_user_id="1201")
    download({"lovelaceada" + MODULE: b"1", "b_1202_89_tiny.py": b"2"})

    assert set(submitted(course)) == {"s1/tiny.py", "b_1202/tiny.py"}


def test_an_instructors_regular_expression_is_used(download: Download, course: Course):
    """An instructor's regular expression replaces the kit's rules; archives are unpacked for it."""
    expression = r".*/(?P<student_id>[a-z]+)-hw/(?P<file_id>\w+)\.py"
    files = {"ada-hw.zip": archive({"tiny.py": b"1"}), "eve-hw.zip": b"no zip"}
    output = download(files, f"--FileNameCollectorPlugin.named_regexp={expression}")

    assert submitted(course) == {"ada/tiny.py": b"1"}
    assert "eve-hw.zip: The archive eve-hw.zip could not be read" in output
