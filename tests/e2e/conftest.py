"""A class with hostile submissions, graded once for all tests that look at what became of it."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from autograder import course as courses
from autograder.authoring import release
from autograder.course import Course
from autograder.gradebook.writer import Writer
from autograder.results import Results, from_json
from autograder.submission import Submission
from tests.e2e.hostile_students import SECRET, submit_all
from tests.factories import HIDDEN, STAGE, dump, exercise, query, record, write_template
from tests.kit.commands import forget_suites, run

# One check of the tiny suite is not for students.
HIDDEN_FROM_STUDENTS = HIDDEN.replace(
    'layer="probe")', 'layer="probe", hidden="inputs by heart")', 1
)


class HostileClass(NamedTuple):
    """A course after `autograder grade --gradebook` and `nbgrader generate_feedback`."""

    root: Path
    template: Path  # the course as it was before
    before: dict[str, list[tuple]]  # the gradebook, row by row
    after: dict[str, list[tuple]]
    results: Results

    def pages(self) -> dict[str, str]:
        """The feedback by student."""
        found = (self.root / "feedback").glob(f"*/{STAGE}/lab.html")
        return {path.parts[-3]: path.read_text("utf-8") for path in found}


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> HostileClass:
    """Grade the hostile students, with honest ones and one who was graded before."""
    home = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_CONFIG_DIR", str(home / "jupyter"))  # without this machine's settings
        patch.setenv("JUPYTER_DATA_DIR", str(home / "jupyter"))
        template = write_template(home / "template")
        suite = template / "tests/hidden/01_tiny/test_tiny.py"
        suite.write_text(HIDDEN_FROM_STUDENTS, "utf-8")
        root = shutil.copytree(template, home / "course")
        course = courses.load(root)
        with forget_suites():
            release.build(course)
        (root / ".course-secret").write_text(SECRET, "utf-8")
        write_earlier_grade(course)
        submit_all(root)
        before = dump(root)
        words = ("submitted", "mailed/zip.zip", "--gradebook", "--json", "results.json")
        run(root, "autograder", "grade", *words)
        after = dump(root)
        run(root, "nbgrader", "generate_feedback", STAGE)
    results = from_json((root / "results.json").read_bytes())
    return HostileClass(root, template, before, after, results)


def write_earlier_grade(course: Course) -> None:
    """Give bea a grade, by hand too, and set a due date."""
    bea = Submission(student="bea", stage=STAGE, code=None)
    points = (exercise("double", 2.5, 5.0), exercise("Scale", 5.0, 5.0))
    Writer(course, [bea]).write([bea], [record("bea", points)])
    query(course.root, "update grade set manual_score = 4 where auto_score = 2.5")
    query(course.root, "update comment set manual_comment = 'Well done!'")
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
