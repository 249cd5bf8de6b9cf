"""Provides a tiny course, and one fork server that forks the workers of every test."""

import copy
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from autograder import course
from autograder.authoring import release
from autograder.course import Course
from autograder.course_file import Limits
from autograder.results import (
    CheckResult,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from tests.kit.commands import forget_suites
from tests.kit.factories import (
    SOLUTION,
    MakeCheck,
    MakeResults,
    MakeSubmission,
    OpenSession,
    Submit,
    WriteCourse,
    course_files,
    write_files,
)


@pytest.fixture
def write_course(tmp_path: Path) -> Iterator[WriteCourse]:
    """Write the tiny course, with some files replaced or added, and load it."""

    def write(
        changed: dict[str, str] | None = None, stages: tuple[str, ...] = ("01_tiny",)
    ) -> Course:
        root = tmp_path / "course"
        write_files(root, course_files(stages) | (changed or {}))
        return course.load(root)

    with forget_suites():
        yield write


@pytest.fixture
def tiny(write_course: WriteCourse) -> Course:
    """The tiny course: stage 01_tiny with function `double` and module `Scale`."""
    return write_course()


@pytest.fixture(scope="session")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    """Write and build the tiny course with these stages once, for all tests that copy it."""

    @cache
    def build(stages: tuple[str, ...]) -> Path:
        root = tmp_path_factory.mktemp("built")
        write_files(root, course_files(stages))
        with forget_suites():
            release.build(course.load(root))
        return root

    return build


@pytest.fixture
def built_course(
    build_once: Callable[[tuple[str, ...]], Path], tmp_path: Path
) -> Iterator[Callable[..., Course]]:
    """Copy the tiny course, with the files that `release` builds, and load it."""

    def copied(*stages: str) -> Course:
        return course.load(shutil.copytree(build_once(stages), tmp_path / "course"))

    with forget_suites():
        yield copied


@pytest.fixture
def built(built_course: Callable[..., Course]) -> Course:
    """The tiny course, with the files that `release` builds."""
    return built_course("01_tiny")


@pytest.fixture
def submit() -> Submit:
    """Submit text as a student's module, or several texts as the cells of a notebook."""

    def work(*cells: str, student: str = "alice", stage: str = "01_tiny") -> Submission:
        kind = "module" if len(cells) == 1 else "notebook"
        code = Code(kind=kind, cells=tuple(cell.encode() for cell in cells), label="tiny.py")
        return Submission(student=student, stage=stage, code=code)

    return work


@pytest.fixture
def solved(submit: Submit) -> Submission:
    """The solution, submitted."""
    return submit(SOLUTION)


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """A real fork server, with the strictest isolation that this machine supports."""
    with ForkServer(detect_capabilities().level, Limits(call_seconds=20.0)) as running:
        running.wait_ready()
        yield running


@pytest.fixture
def lent_fork_server(fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> ForkServer:
    """Lend the fork server to any code that starts one, to import torch only once."""
    lent = copy.copy(fork_server)
    lent.wait_ready = lambda _user=0: None
    lent.close = lambda: None
    for module in ("autograder.grading.grade", "autograder.grading.standalone"):
        monkeypatch.setattr(f"{module}.ForkServer", lambda *_arguments, **_options: lent)
    return lent


@pytest.fixture
def open_session(fork_server: ForkServer) -> Iterator[OpenSession]:
    """Make a session over texts, with its own limits; several texts are a notebook."""
    from autograder.sandbox.session import Session  # noqa: PLC0415  # imports torch, which takes long

    opened: list[Session] = []

    def make(*cells: str, **limits: float) -> Session:
        narrowed = copy.copy(fork_server)
        narrowed.limits = msgspec.structs.replace(fork_server.limits, **limits)
        codes = tuple(cell.encode() for cell in cells)
        opened.append(Session(narrowed, "tiny", codes, notebook=len(cells) > 1))
        return opened[-1]

    yield make
    for session in opened:
        session.close()


@pytest.fixture(scope="session")
def check() -> MakeCheck:
    """Make a check worth two points; any field can be given."""

    def make(outcome: Outcome = Outcome.PASSED, **fields: object) -> CheckResult:
        passed = outcome is Outcome.PASSED
        facts = {
            "name": "test_doubles",
            "title": "Twice one is two.",
            "status": Status.OK if passed else Status.WRONG_VALUE,
            "points": 2.0 if passed else 0.0,
            "max_points": 2.0,
        }
        return CheckResult(outcome=outcome, **(facts | fields))

    return make


@pytest.fixture(scope="session")
def submission() -> MakeSubmission:
    """Make a submission with the exercise `double` from its checks; any field can be given."""

    def make(*checks: CheckResult, **fields: object) -> SubmissionResult:
        exercise = ExerciseResult.of("double", checks)
        facts = {
            "student": "alice",
            "stage": "01_tiny",
            "status": Status.GRADED,
            "score": exercise.score,
            "max_score": exercise.max_score or None,
            "exercises": (exercise,) if checks else (),
        }
        return SubmissionResult(**(facts | fields))

    return make


@pytest.fixture(scope="session")
def results() -> MakeResults:
    """Make the record of a run out of its submissions."""

    def make(*submissions: SubmissionResult) -> Results:
        return Results(course="tiny", isolation="full", submissions=submissions)

    return make
