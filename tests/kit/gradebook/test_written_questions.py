"""Tests a course without written questions, for which nbgrader and the kit build equal labs."""

import pytest

from autograder import course as courses
from autograder.authoring import lab_notebook
from autograder.course import Course
from autograder.gradebook.autograded_submission import read_master
from tests.kit.commands import run
from tests.kit.factories import STAGE


def without_questions(course: Course) -> Course:
    """Return *course* after `written = false` was set."""
    with (course.root / "course.toml").open("a", encoding="utf-8") as file:
        file.write("[grading]\nwritten = false\n")
    return courses.load(course.root)


@pytest.mark.slow
def test_nbgrader_leaves_out_what_release_leaves_out(course: Course):
    """Without written questions, nbgrader and `release` write the same bytes."""
    stage = without_questions(course).stage(STAGE)
    ours = lab_notebook.build_student_lab(stage.lab.read_bytes(), written=False)
    run(course.root, "nbgrader", "generate_assignment", STAGE, "--force")
    theirs = (stage.assignment / stage.lab.name).read_bytes()

    assert theirs == ours
    assert b"Write your answer" not in ours


def test_the_gradebook_has_no_cell_for_answers(course: Course):
    """Without written questions, only the exercises give points in the gradebook."""
    master = read_master(without_questions(course).stage(STAGE))
    graded = [
        cell["metadata"]["nbgrader"]["grade_id"]
        for cell in master["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade")
    ]

    assert graded == ["double", "Scale"]
