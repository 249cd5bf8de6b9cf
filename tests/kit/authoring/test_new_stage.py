"""Tests `autograder new-stage`, which writes a complete skeleton of a stage."""

import re
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest

from autograder import course as courses
from autograder.authoring import release, verify
from autograder.authoring.new_course import empty_course, new_stage
from autograder.course import Course
from autograder.errors import CourseError, UsageError
from autograder.sandbox.supervisor import ForkServer
from autograder.student.lab import Lab
from autograder.suite.compare import agrees
from autograder.suite.student_proxy import Student
from tests.kit.commands import forget_suites


def test_a_skeleton_holds_as_it_is(
    tiny: Course, lent_fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
):
    """A new stage that is built and verified without a change has no finding."""
    monkeypatch.setattr(verify, "ForkServer", lambda *_arguments: lent_fork_server)
    new_stage(tiny, "02_layer_norm")
    course = courses.load(tiny.root)
    with forget_suites():
        release.build(course)
        report = verify.verify(course, [course.stage("02")], full=True)

    assert report.findings == ()
    assert report.lines[0].startswith(
        "02_layer_norm: stub 0, solution 10, 1 misconception caught and named, "
        "1 correct variant right"
    )


@pytest.mark.slow
def test_the_first_stage_of_a_course_on_another_topic_holds(
    tmp_path: Path, lent_fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
):
    """The skeleton in a course without torch is plain Python, and no file of it says tensor."""
    monkeypatch.setattr(verify, "ForkServer", lambda *_arguments: lent_fork_server)
    written = new_stage(empty_course(tmp_path / "mine"), "01_words")
    course = courses.load(tmp_path / "mine")
    with forget_suites():
        release.build(course)
        report = verify.verify(course, course.stages, full=True)
    folder = course.stages[0].assignment
    built = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".bin"]
    texts = [path.read_text("utf-8") for path in (*written[:-1], *built)]

    assert report.findings == ()
    assert not [text for text in texts if re.search("tensor|torch|Documented", text)]


def test_every_written_file_is_named(tiny: Course):
    """The author reads which files to edit; the stage is last in course.toml."""
    written = {path.relative_to(tiny.root).as_posix() for path in new_stage(tiny, "02_layer_norm")}

    assert {
        "course.toml",
        "solutions/02_layer_norm/layer_norm.py",
        "source/02_layer_norm/lab.ipynb",
        "source/02_layer_norm/stage.toml",
        "tests/hidden/02_layer_norm/test_layer_norm.py",
        "tests/hidden/02_layer_norm/misconceptions.py",
        "tests/hidden/02_layer_norm/sentences.toml",
        "tests/hidden/02_layer_norm/equivalents.toml",
        "tests/hidden/02_layer_norm/hollow.py",
        "tests/hidden/02_layer_norm/ready.py",
    } <= written
    assert courses.load(tiny.root).file.stages == ("01_tiny", "02_layer_norm")


def test_files_that_all_stages_share_are_written_once(tiny: Course):
    """Rules and documented values of a course stay; a course without them gets both files."""
    before = tiny.documented.read_text("utf-8")
    written = new_stage(tiny, "02_layer_norm")

    assert tiny.documented.read_text("utf-8") == before
    assert tiny.documented not in written
    assert tiny.stages[0].rules in written


def test_no_word_of_the_templates_is_left(tiny: Course):
    """Names, numbers and titles of the templates are filled in."""
    texts = [path.read_text("utf-8") for path in new_stage(tiny, "02_layer_norm")]

    assert not [text for text in texts for word in ("MODULE", "NUMBER", "TITLE") if word in text]


def test_the_suite_shows_the_line_to_write_for_common_errors(tiny: Course):
    """Each line in the comments of the suite is a call that the kit has, with these arguments."""
    new_stage(tiny, "02_layer_norm")
    suite = (tiny.root / "tests/hidden/02_layer_norm/test_layer_norm.py").read_text("utf-8")
    lines = [line.removeprefix("#        ") for line in suite.splitlines() if "#    " in line]
    objects = {"lab": create_autospec(Lab, instance=True), "agrees": create_autospec(agrees)}
    for name in ("student", "reference"):
        objects[name] = create_autospec(Student, instance=True)
    for line in lines:
        exec(line, {**objects, "probe": Mock(), "x": 1})  # noqa: S102  # a line of our own skeleton

    assert [line.partition("(")[0] for line in lines] == [
        "lab.check",
        "agrees",
        "student.gradients",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("layer_norm", "such as 20_your_stage", id="without-a-number"),
        pytest.param("02_../up", "such as 20_your_stage", id="a-path"),
        pytest.param("02_torch", "would hide", id="a-library"),
        pytest.param("02_class", "would hide", id="a-keyword"),
        pytest.param("01_layer_norm", "share a number or a module", id="a-number-of-another"),
        pytest.param("02_tiny", "share a number or a module", id="a-module-of-another"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(tiny: Course, name: str, words: str):
    """A wrong name is refused with the form of a right one, and nothing is written."""
    before = sorted(tiny.root.rglob("*"))
    with pytest.raises(UsageError, match=words):
        new_stage(tiny, name)

    assert sorted(tiny.root.rglob("*")) == before


def test_a_folder_that_exists_is_never_overwritten(tiny: Course):
    """`new-stage` does not change a folder that exists already."""
    (tiny.root / "solutions/02_layer_norm").mkdir()

    with pytest.raises(UsageError, match="exists already"):
        new_stage(tiny, "02_layer_norm")


def test_comments_among_the_stages_are_kept(tiny: Course):
    """If a comment in course.toml would be lost, the author has to list the stage."""
    listing = tiny.root / "course.toml"
    listing.write_text(listing.read_text().replace("[", "[  # the first week\n", 1))

    with pytest.raises(CourseError, match="list '02_layer_norm' there yourself"):
        new_stage(courses.load(tiny.root), "02_layer_norm")
