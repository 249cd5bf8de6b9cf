"""Tests that nbgrader builds the files for students as `autograder release` does."""

from pathlib import Path

import pytest
from nbgrader.apps.api import NbGraderAPI

from autograder import course as courses
from autograder.authoring import release
from autograder.course import Course
from autograder.gradebook.autograded_submission import read_master
from autograder.gradebook.connection import NbgraderSetup
from tests.kit.commands import run
from tests.kit.factories import STAGE


def without_questions(course: Course) -> Course:
    """Return *course* after `written = false` was set."""
    with (course.root / "course.toml").open("a", encoding="utf-8") as file:
        file.write("[grading]\nwritten = false\n")
    return courses.load(course.root)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below *folder*."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def generate(course: Course, **options: bool) -> dict:
    """Press formgrader's button for the stage, and return its answer."""
    api = NbGraderAPI(config=NbgraderSetup.of_course(course).config)
    return api.generate_assignment(STAGE, **options)


@pytest.mark.slow
def test_nbgraders_command_writes_the_bytes_of_release(course: Course):
    """`nbgrader generate_assignment` writes what `release` writes, also over older files."""
    release.build(course)
    ours = contents(course.root / "assignments")
    (course.stage(STAGE).assignment / "test_public.py").write_text("# old\n")
    run(course.root, "nbgrader", "generate_assignment", STAGE, "--force")

    assert contents(course.root / "assignments") == ours


@pytest.mark.slow
def test_formgraders_button_leaves_out_what_release_leaves_out(course: Course):
    """Formgrader's button writes what `release` writes, also without written questions."""
    course = without_questions(course)
    release.build(course)
    ours = contents(course.root / "assignments")
    (course.stage(STAGE).assignment / "lab.ipynb").unlink()
    done = generate(course)

    assert done["success"], done
    assert contents(course.root / "assignments") == ours
    assert b"Write your answer" not in ours[f"{STAGE}/lab.ipynb"]


def test_an_edited_module_is_refused(course: Course):
    """An edited module is kept, and the answer says so."""
    release.build(course)
    module = course.stage(STAGE).stub
    module.write_text("# mine\n")
    done = generate(course)

    assert not done["success"]
    assert "was edited, so `release` keeps it" in done["log"]
    assert module.read_text() == "# mine\n"


def test_an_existing_assignment_is_skipped_unless_forced(course: Course):
    """Without `--force`, files that are there stay as they are, as in nbgrader."""
    release.build(course)
    suite = course.stage(STAGE).public_suite
    suite.write_text("# old\n")
    done = generate(course, force=False)

    assert done["success"], done
    assert suite.read_text() == "# old\n"


def test_an_assignment_is_not_created_against_the_wish(course: Course):
    """With `create_assignment=False`, the assignment must be in the gradebook already."""
    (course.root / "gradebook.db").unlink()
    done = generate(course, create=False)

    assert not done["success"]
    assert f"No assignment called '{STAGE}'" in done["log"]


def test_a_folder_that_is_not_a_stage_is_left_to_nbgrader(course: Course):
    """A folder in source/ that is not a stage is converted by nbgrader itself."""
    lab = course.root / "source" / "survey" / "lab.ipynb"
    lab.parent.mkdir()
    lab.write_bytes(course.stage(STAGE).lab.read_bytes())
    api = NbGraderAPI(config=NbgraderSetup.of_course(course).config)
    done = api.generate_assignment("survey")

    assert done["success"], done
    assert (course.root / "assignments" / "survey" / "lab.ipynb").is_file()


def test_the_gradebook_has_no_cell_for_answers(course: Course):
    """Without written questions, only the exercises give points in the gradebook."""
    master = read_master(without_questions(course).stage(STAGE))
    graded = [
        cell["metadata"]["nbgrader"]["grade_id"]
        for cell in master["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade")
    ]

    assert graded == ["double", "Scale"]
