"""Tests the folder that a class receives: a wheel and START_HERE.md."""

from pathlib import Path

import pytest

from autograder.authoring import handout_folder
from autograder.course import Course, load
from autograder.errors import CourseError, UsageError


@pytest.fixture
def course(built_course) -> Course:
    """Two stages, built."""
    return built_course("01_tiny", "02_more")


@pytest.fixture
def own(course: Course) -> Path:
    """The handout of the course, which `release` keeps up to date."""
    folder = course.root / handout_folder.DEFAULT
    handout_folder.write(course, course.every_stage, folder)
    return folder


def test_the_guide_names_the_wheel_next_to_it(course: Course, own: Path):
    """The command in START_HERE.md contains the name of the wheel and can be pasted."""
    (wheel,) = own.glob("*.whl")
    guide = (own / "START_HERE.md").read_text("utf-8")

    assert {path.name for path in own.iterdir()} == {"START_HERE.md", wheel.name}
    assert f'pip install "./{wheel.name}"' in guide
    assert course.file.title in guide
    assert "WHEEL" not in guide


def test_a_wheel_of_before_is_replaced(course: Course, own: Path):
    """An older wheel is removed, because students could not tell which one to install."""
    (before,) = own.glob("*.whl")
    handout_folder.write(course, course.every_stage[:1], own)
    (after,) = own.glob("*.whl")

    assert before.name != after.name
    assert [stage.name for stage in handout_folder.stages_in(course, own)] == ["01_tiny"]


def test_a_changed_title_makes_the_hand_out_stale(course: Course, own: Path):
    """The wheel and the guide contain the title, and writing both again updates it."""
    file = course.root / "course.toml"
    file.write_text(file.read_text().replace(course.file.title, "Mine"))
    changed = load(course.root)
    stale = handout_folder.stale(changed)
    handout_folder.refresh(changed)

    assert own / "START_HERE.md" in stale
    assert any(path.suffix == ".whl" for path in stale)
    assert handout_folder.stale(changed) == []
    assert "Mine" in (own / "START_HERE.md").read_text()


def test_a_course_without_a_hand_out_has_no_stale_one(course: Course):
    """A handout folder that does not exist is not stale."""
    assert handout_folder.stale(course) == []
    assert handout_folder.refresh(course) == []


def test_a_solution_in_a_file_for_students_stops_it(course: Course, tmp_path: Path):
    """If a file for students holds a solution, no handout is written."""
    notes = course.stages[0].assignment / "notes.py"
    notes.write_text("self.factor = nn.Parameter(torch.rand(d))\n")

    with pytest.raises(CourseError, match="a line of the solution"):
        handout_folder.write(course, course.every_stage, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_module_that_somebody_solved_stops_it(course: Course, tmp_path: Path):
    """A solved module in assignments/ is refused, because students would receive it."""
    course.stages[0].assignment.joinpath("tiny.py").write_text("def double(x):\n    return 2 * x\n")

    with pytest.raises(CourseError, match="was edited"):
        handout_folder.write(course, course.every_stage, tmp_path / "out")


def test_a_folder_that_can_not_be_written_is_named(course: Course, tmp_path: Path):
    """If a file has the name of the folder, the error contains its path."""
    (tmp_path / "out").write_text("")

    with pytest.raises(UsageError, match="out can't be written"):
        handout_folder.write(course, course.every_stage, tmp_path / "out")


def test_solutions_are_a_separate_file(course: Course, tmp_path: Path):
    """The wheel of solutions is a separate file, which an instructor may hand out later."""
    path = handout_folder.write_solutions(course, course.every_stage, tmp_path)

    assert [*tmp_path.glob("*.whl")] == [path]
