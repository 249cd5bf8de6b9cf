"""Tests that course.toml and stage.toml are read strictly; errors name the file and the place."""

import re
from pathlib import Path

import pytest

from autograder import course
from autograder.course import Course
from autograder.errors import CourseError, UsageError
from tests.kit.factories import STAGE_TOML

MODULE = 'module = "tiny"'  # a line of the stage's file


def test_the_root_is_found_from_below(tiny: Course):
    """From any folder inside, the course's folder is the nearest with a course.toml."""
    deep = tiny.root / "source" / "01_tiny"

    assert course.find_root(deep) == tiny.root.resolve()


def test_outside_of_a_course_the_message_names_what_to_do(tmp_path: Path):
    """When no folder above holds course.toml, the message names --course."""
    with pytest.raises(CourseError, match="--course"):
        course.find_root(tmp_path)


def test_paths_are_derived_from_the_stage_name(tiny: Course):
    """The stage's name and module are enough to find each of its files."""
    stage = tiny.stages[0]

    assert stage.solution == tiny.root / "solutions/01_tiny/tiny.py"
    assert stage.stub == tiny.root / "assignments/01_tiny/tiny.py"
    assert stage.hidden_suite == tiny.root / "tests/hidden/01_tiny/test_tiny.py"


@pytest.mark.parametrize("wanted", ["01_tiny", "01", "1", "tiny"])
def test_a_stage_is_found_by_name_number_and_module(tiny: Course, wanted: str):
    """A stage is found by its name, its number or its module."""
    assert tiny.stage(wanted).name == "01_tiny"


def test_the_first_of_two_stages_with_one_module_is_found(write_course):
    """All stages of this course have the module tiny; their names and numbers still differ."""
    both = write_course(stages=("01_tiny", "02_tiny"))

    assert both.stage("tiny").name == "01_tiny"
    assert both.stage("2").name == "02_tiny"


def test_a_stage_cannot_have_the_name_of_the_shared_folder(tiny: Course):
    """A stage named like the folder that all stages share is refused."""
    (tiny.root / "course.toml").write_text(
        'format_version = 1\nid = "tiny"\ntitle = "Tiny"\nstages = ["course"]\n'
    )

    with pytest.raises(CourseError, match="can't be named 'course'"):
        course.load(tiny.root)


def test_a_time_zone_must_exist(tiny: Course):
    """A zone in ``course.toml`` that this machine does not know is reported with an example."""
    path = tiny.root / "course.toml"
    path.write_text(path.read_text("utf-8") + 'timezone = "Europe/Nowhere"\n', "utf-8")

    with pytest.raises(CourseError, match='Use a name such as "Europe/Berlin"'):
        course.load(tiny.root)


@pytest.mark.parametrize(
    "address",
    ["ta@example.org?{key}", "mailto:ta@example.org", "https://a b/{key}", "javascript:{key}"],
)
def test_an_address_for_second_looks_that_cannot_work_is_refused(tiny: Course, address: str):
    """The message names the two forms of addresses, and the place of the key."""
    path = tiny.root / "course.toml"
    path.write_text(f"second_looks = {address!r}\n" + path.read_text("utf-8"), "utf-8")

    with pytest.raises(CourseError, match="https:// or mailto: and contains"):
        course.load(tiny.root)


def test_an_unknown_stage_is_reported_with_the_known_ones(tiny: Course):
    """The message about an unknown stage lists every stage of the course."""
    with pytest.raises(UsageError, match=r"'99'.*01_tiny"):
        tiny.stage("99")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param('name = "Scale"', 'name = "double"', "two exercises", id="duplicates"),
        pytest.param(MODULE, f"{MODULE}\nlevel = 3", "level", id="unknown-key"),
        pytest.param(MODULE, "", "module", id="missing-key"),
        pytest.param(', "x + x"]', "]", r"exercise\[0\]", id="two-hints"),
        pytest.param(
            MODULE, f'{MODULE}\nprerequisites = ["00_none"]', "00_none", id="prerequisite"
        ),
    ],
)
def test_a_wrong_stage_file_is_refused_by_name_and_place(tiny: Course, old, new, words):
    """A typing error in stage.toml is reported with the file, the key and its location."""
    path = tiny.root / "source/01_tiny/stage.toml"
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(CourseError, match=words) as caught:
        _ = tiny.stages

    assert str(path) in str(caught.value)


def test_a_missing_stage_file_is_named(tiny: Course):
    """A missing stage.toml is an error with its path."""
    (tiny.root / "source/01_tiny/stage.toml").unlink()

    with pytest.raises(CourseError, match=r"stage\.toml is missing"):
        _ = tiny.stages


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path):
    """Bytes that are not UTF-8 are reported as such."""
    (tmp_path / "course.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(CourseError, match="not UTF-8"):
        course.load(tmp_path)


def test_hints_are_in_a_separate_file(tiny: Course):
    """Hints are in hints.toml, which nobody opens by accident, and name exercises only."""
    stage = tiny.root / "source" / "01_tiny" / "stage.toml"
    stage.write_text(re.sub(r"hints = .*\n", "", stage.read_text()))
    hints = stage.with_name("hints.toml")
    hints.write_text('double = ["How?", "So.", "x + x"]\n')
    found = {one.name: one.hints for one in course.load(tiny.root).stages[0].exercises}
    hints.write_text('triple = ["How?", "So.", "x + x"]\n')

    assert found == {"double": ("How?", "So.", "x + x"), "Scale": ("", "", "")}
    with pytest.raises(CourseError, match="'triple' is not an exercise"):
        _ = course.load(tiny.root).stages


def test_a_stage_for_practice_is_found_and_not_graded(write_course):
    """A stage for practice is released with the others, and has no column in a gradebook."""
    text = STAGE_TOML.replace(MODULE, f"{MODULE}\ngraded = false")
    course = write_course({"source/00_try/stage.toml": text}, stages=("00_try", "01_tiny"))

    assert [stage.name for stage in course.every_stage] == ["00_try", "01_tiny"]
    assert [stage.name for stage in course.stages] == ["01_tiny"]
    assert course.stage("0").name == "00_try"
    with pytest.raises(UsageError, match="00_try is a practice stage: it gives no points"):
        course.graded_stage("0")


@pytest.mark.parametrize("origin", ["file", "environment"])
@pytest.mark.parametrize(
    "short", [pytest.param("a", id="one-letter"), pytest.param("fifteen letters\n", id="fifteen")]
)
def test_a_short_secret_is_refused(tmp_path: Path, monkeypatch, short: str, origin: str):
    """A secret of less than 16 bytes, which code could find by trying, is refused."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    if origin == "file":
        (tmp_path / ".course-secret").write_text(short)
    else:
        monkeypatch.setenv("AUTOGRADER_COURSE_SECRET", short)

    with pytest.raises(CourseError, match="it needs at least 16"):
        course.course_secret(tmp_path)


def test_an_empty_file_is_a_short_secret(tmp_path: Path, monkeypatch):
    """An empty file is refused, because its author wanted a secret; an empty variable is none."""
    monkeypatch.setenv("AUTOGRADER_COURSE_SECRET", " ")
    none = course.course_secret(tmp_path)
    (tmp_path / ".course-secret").touch()

    assert none == b""
    with pytest.raises(CourseError, match="has 0 bytes"):
        course.course_secret(tmp_path)


def test_the_secret_is_read_from_environment_then_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The environment variable comes first, then the file; without both there is no secret."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    nothing = course.course_secret(tmp_path)
    (tmp_path / ".course-secret").write_text("read from the file\n")
    file = course.course_secret(tmp_path)
    monkeypatch.setenv("AUTOGRADER_COURSE_SECRET", "from the environment")

    assert (nothing, file, course.course_secret(tmp_path)) == (
        b"",
        b"read from the file",
        b"from the environment",
    )
