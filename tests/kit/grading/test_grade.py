"""Grading a class: one result for each submission, in their order."""

import os
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Self

import pytest

from autograder.course import Course
from autograder.errors import CourseError, SandboxError, UsageError
from autograder.grading import grade as grading
from autograder.grading.grade import grade
from autograder.results import Results, Status, SubmissionResult
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission

WRONG = "def double(x):\n    return 3 * x\n"
HALF = "def double(x):\n    return x + x\n"


@pytest.fixture
def class_(submit, solved: Submission) -> list[Submission]:
    """Five submissions: right, half right, unreadable, crashing, wrong."""
    unreadable = Submission(student="carl", stage="01_tiny", code=None, problem="No code here.")
    return [
        solved,
        submit(HALF, student="bert"),
        unreadable,
        submit("import os; os._exit(1)", student="dora"),
        submit(WRONG, student="emil"),
    ]


def summary(results: Results) -> list[tuple[str, str, float | None]]:
    """Return student, status and score of each submission."""
    return [(item.student, str(item.status), item.score) for item in results.submissions]


EXPECTED = [
    ("alice", "graded", 10.0),
    ("bert", "graded", 5.0),
    ("carl", "unreadable", 0.0),
    ("dora", "crashed", 0.0),
    ("emil", "graded", 0.0),
]


@pytest.mark.usefixtures("lent_fork_server")
def test_results_are_in_the_order_of_submissions(tiny: Course, class_: list[Submission]):
    """There is one for each submission, unreadable or not; each is reported at once."""
    reported: list[SubmissionResult] = []
    level = detect_capabilities().level
    results = grade(tiny, class_, isolation=level, jobs=1, on_result=reported.append)

    assert summary(results) == EXPECTED
    assert tuple(reported) == results.submissions
    assert (results.course, results.isolation) == ("tiny", level)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # torch keeps idle threads
def test_two_jobs_grade_as_one_does(
    tiny: Course, class_: list[Submission], request: pytest.FixtureRequest
):
    """Several processes give the same results as one."""
    level = detect_capabilities().level
    two = grade(tiny, class_, isolation=level, jobs=2)
    request.getfixturevalue(
        "lent_fork_server"
    )  # for the other run, which need not import torch again
    one = grade(tiny, class_, isolation=level, jobs=1)

    assert summary(two) == EXPECTED
    assert two == one


def test_nothing_readable_needs_no_sandbox(tiny: Course, class_: list[Submission]):
    """A class without any code gets results all the same."""
    results = grade(tiny, [class_[2]], isolation="process")

    assert summary(results) == [EXPECTED[2]]
    assert results.submissions[0].message == "No code here."


def test_an_empty_class_has_no_results(tiny: Course):
    """It is no error."""
    assert grade(tiny, [], isolation="process").submissions == ()


@pytest.mark.usefixtures("lent_fork_server")
def test_a_bug_of_ours_costs_one_grade(
    tiny: Course, class_: list[Submission], monkeypatch: pytest.MonkeyPatch
):
    """If the grader raises on one submission, the others are graded."""
    real = grading.Session

    def session(
        fork_server: ForkServer, module: str, cells: tuple[bytes, ...], **options: object
    ) -> object:
        made = real(fork_server, module, cells, **options)
        if cells == (HALF.encode(),):
            monkeypatch.setattr(made, "open", lambda: 1 / 0)
        return made

    monkeypatch.setattr(grading, "Session", session)
    results = grade(tiny, class_[:2], isolation=detect_capabilities().level, jobs=1)

    assert [item.status for item in results.submissions] == [Status.GRADED, Status.GRADER_ERROR]
    assert results.submissions[1].score is None


@pytest.mark.usefixtures("lent_fork_server")
def test_results_say_whether_hidden_inputs_were_secret(
    tiny: Course, class_: list[Submission], monkeypatch: pytest.MonkeyPatch
):
    """A course secret changes no grade here."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    public = grade(tiny, class_[:1], isolation=detect_capabilities().level, jobs=1)
    (tiny.root / ".course-secret").write_text("hush")
    secret = grade(tiny, class_[:1], isolation=detect_capabilities().level, jobs=1)

    assert (public.hidden_inputs, secret.hidden_inputs) == ("public", "secret")
    assert summary(secret) == EXPECTED[:1]


def test_isolation_is_never_lowered_silently(tiny: Course, monkeypatch: pytest.MonkeyPatch):
    """If full isolation is impossible, grading is refused and the message names the option."""
    weaker = type(detect_capabilities())
    found = detect_capabilities()
    facts = {name: getattr(found, name) for name in found.__struct_fields__}
    weak = weaker(**(facts | {"level": "process", "reason": "No Landlock here."}))
    monkeypatch.setattr("autograder.sandbox.supervisor.detect_capabilities", lambda: weak)

    with pytest.raises(SandboxError, match="--isolation process"):
        grade(tiny, [])


class NoForkServer:
    """Replaces the fork server in tests that replace ``grade_one``, which alone uses it."""

    def __init__(self, *_arguments: object, **_options: object) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def wait_ready(self, client: int) -> None:
        """Be ready."""


@pytest.fixture
def grade_with(
    tiny: Course, submit, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[tuple[str, Status]]]:
    """Grade a class in two processes by a function of the student's name."""

    def grade_class(grade_student: Callable[[str], None], *students: str) -> list:
        def grade_one(_runner, _server, submission: Submission, _client: int) -> SubmissionResult:
            grade_student(submission.student)
            return SubmissionResult(
                student=submission.student,
                stage=submission.stage,
                status=Status.GRADED,
                score=1.0,
                max_score=1.0,
            )

        monkeypatch.setattr(grading, "ForkServer", NoForkServer)
        monkeypatch.setattr(grading, "grade_one", grade_one)
        submissions = [submit(HALF, student=student) for student in students]
        results = grade(tiny, submissions, isolation="process", jobs=2)
        return [(item.student, item.status) for item in results.submissions]

    return grade_class


def kill_this_process(student: str) -> None:
    """End the grading process from outside if it grades a student named ``killed``."""
    if student.startswith("killed"):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # torch keeps idle threads
@pytest.mark.parametrize(
    "students",
    [
        pytest.param(["ada", "killed", "bea", "cleo", "dora"], id="one-of-two-processes"),
        pytest.param(["killed1", "killed2", "ada", "bea", "cleo"], id="both-processes"),
        pytest.param(["ada", "bea", "cleo", "killed"], id="on-the-last-submission"),
        pytest.param(["killed1", "killed2", "killed3", "killed4"], id="on-every-submission"),
    ],
)
def test_a_killed_process_costs_one_result(grade_with, students: list[str]):
    """Only the submission that it was grading has no grade; the others are graded."""
    expected = {True: Status.GRADER_ERROR, False: Status.GRADED}

    assert grade_with(kill_this_process, *students) == [
        (student, expected[student.startswith("killed")]) for student in students
    ]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # torch keeps idle threads
@pytest.mark.parametrize("error", [CourseError, SandboxError, UsageError, KeyboardInterrupt])
def test_an_error_in_a_process_reaches_the_caller(grade_with, error: type[BaseException]):
    """Grading ends, although another process is busy."""

    def grade_student(student: str) -> None:
        if student == "ada":
            raise error(student)
        signal.pause()

    with pytest.raises(error, match="ada"):
        grade_with(grade_student, "ada", "busy", "bea")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # torch keeps idle threads
def test_ctrl_c_ends_every_grading_process(grade_with):
    """Each process gets the time to end its worker."""
    ended, in_fork = os.pipe()

    def grade_student(student: str) -> None:
        try:
            if student == "ada":
                os.kill(os.getppid(), signal.SIGINT)
            signal.pause()
        finally:
            os.write(in_fork, student[:1].encode())

    with pytest.raises(KeyboardInterrupt):
        grade_with(grade_student, "ada", "bea")
    os.close(in_fork)

    assert b"a" in os.read(ended, 9)  # bea's process may not have started its work
    os.close(ended)
