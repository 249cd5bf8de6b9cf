"""Provides fixtures that tests share: the course's suites, and a class with hostile submissions."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring import release
from autograder.course import Course
from autograder.gradebook.writer import Writer
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import Results, SubmissionResult, from_json
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission
from tests.e2e.hostile_students import SECRET, submit_all
from tests.kit.commands import forget_suites, run
from tests.kit.factories import (
    HIDDEN,
    POINTS,
    STAGE,
    dump,
    exercise,
    query,
    record,
    rows,
    write_template,
)

# One check of the tiny suite is hidden from students.
HIDDEN_FROM_STUDENTS = HIDDEN.replace(
    'layer="probe")', 'layer="probe", hidden="inputs by heart")', 1
)


GradeClass = Callable[[Sequence[Submission]], list[SubmissionResult]]


@pytest.fixture(scope="session")
def course(pytestconfig: pytest.Config) -> Course:
    """The course itself."""
    return courses.load(courses.find_root(pytestconfig.rootpath))


@pytest.fixture(scope="session")
def fork_server(course: Course) -> Iterator[ForkServer]:
    """A fork server with the course's limits, but less time, because endless loops use it up."""
    limits = replace(course.limits, call_seconds=1.0)
    with ForkServer(choose_isolation(None, course.root), limits) as running:
        running.wait_ready()
        yield running


@pytest.fixture(scope="session")
def grade_class(course: Course, fork_server: ForkServer) -> Iterator[GradeClass]:
    """Grades submissions of the course itself; the suites and the wrong programs are cached."""
    with pytest.MonkeyPatch.context() as environment, open_suites(course, course.stages) as all_:
        environment.delenv(courses.SECRET_VARIABLE, raising=False)  # messages hold drawn numbers
        yield lambda class_: [grade_one(all_, fork_server, one) for one in class_]


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

    def points(self) -> dict[str, tuple[float | None, ...]]:
        """The points of each exercise of each student in the gradebook."""
        students = query(self.root, "select id from student order by id")
        return {
            student: tuple(rows(self.root, student)[name].auto for name in POINTS)
            for (student,) in students
        }


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> HostileClass:
    """The hostile students, with honest ones and one who was graded before, graded once."""
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
    """Give bea an automatic and a manual grade, and set a due date."""
    bea = Submission(student="bea", stage=STAGE, code=None)
    points = (exercise("double", 2.5, 5.0), exercise("Scale", 5.0, 5.0))
    Writer(course, [bea]).write([bea], [record("bea", points)])
    query(course.root, "update grade set manual_score = 4 where auto_score = 2.5")
    query(course.root, "update comment set manual_comment = 'Well done!'")
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
