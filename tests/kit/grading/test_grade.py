"""Tests grading a class: one result for each submission, in their order."""

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.course_file import Limits
from autograder.errors import CourseError, LostProcessError, SandboxError, UsageError
from autograder.grading import grade as grading
from autograder.grading.grade import grade, grade_one
from autograder.grading.provenance import Provenance
from autograder.grading.suite_runner import open_suites
from autograder.results import Results, Status, SubmissionResult
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission
from tests.kit.factories import WriteCourse, course_files
from tools.records import without_times

WRONG = "def double(x):\n    return 3 * x\n"
TEST_SECONDS = 60  # processor time that earlier tests may have taken
HALF = "def double(x):\n    return x + x\n"

needs_limit_of_memory = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux says how much a process has mapped"
)


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
    """Each submission, readable or not, has a result, which is reported at once and in order."""
    reported: list[SubmissionResult] = []
    level = detect_capabilities().level
    results = grade(tiny, class_, isolation=level, jobs=1, on_result=reported.append)

    assert summary(results) == EXPECTED
    assert tuple(reported) == results.submissions
    assert (results.course, results.isolation) == ("tiny", level)


@pytest.mark.slow
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
    assert without_times(two) == without_times(one)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # torch keeps idle threads
@pytest.mark.usefixtures("lent_fork_server")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_wrong_digit_of_the_course_accuses_nobody(
    tiny: Course, class_: list[Submission], jobs: int
):
    """The solution is graded before any submission, and no submission gets a result."""
    documented = tiny.documented.read_text("utf-8").replace("[1.0, 3.0, 5.0]", "[1.0, 3.0, 5.1]")
    tiny.documented.write_text(documented, "utf-8")
    reported: list[SubmissionResult] = []
    level = detect_capabilities().level

    with pytest.raises(CourseError, match="test_doubles_the_documented_numbers"):
        grade(tiny, class_, isolation=level, jobs=jobs, on_result=reported.append)
    assert not reported


def test_nothing_readable_needs_no_sandbox(tiny: Course, class_: list[Submission]):
    """A class without any code also gets results."""
    results = grade(tiny, [class_[2]], isolation="process")

    assert summary(results) == [EXPECTED[2]]
    assert results.submissions[0].message == "No code here."


def test_an_empty_class_has_no_results(tiny: Course):
    """An empty class has no results and is not an error."""
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
def test_results_say_what_decided_them(tiny: Course, class_: list[Submission]):
    """A result has an audit even if nothing could be read, and keys differ between students."""
    level = detect_capabilities().level
    results = grade(tiny, class_[:3], isolation=level, jobs=1)
    audits = [result.audit for result in results.submissions]

    assert [audit.key for audit in audits] == [
        Provenance(tiny, level).key("01_tiny", one.digest) for one in class_[:3]
    ]
    assert {audit.isolation for audit in audits} == {level}
    assert results.settings == Provenance(tiny, level).settings
    assert results.settings.limits["call_seconds"] == 3.0


@pytest.mark.usefixtures("lent_fork_server")
def test_results_say_whether_hidden_inputs_were_secret(
    tiny: Course, class_: list[Submission], monkeypatch: pytest.MonkeyPatch
):
    """The record states whether hidden inputs were secret."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    public = grade(tiny, class_[:1], isolation=detect_capabilities().level, jobs=1)
    (tiny.root / ".course-secret").write_text("known to no submission")
    secret = grade(tiny, class_[:1], isolation=detect_capabilities().level, jobs=1)

    assert (public.hidden_inputs, secret.hidden_inputs) == ("public", "secret")
    assert summary(secret) == EXPECTED[:1]


@pytest.fixture
def without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take full isolation from this machine."""
    weak = msgspec.structs.replace(detect_capabilities(), level="process", reason="No Landlock.")
    monkeypatch.setattr("autograder.sandbox.isolation.detect_capabilities", lambda: weak)


@pytest.mark.usefixtures("without_landlock")
def test_the_course_may_ask_for_less_isolation(write_course: WriteCourse):
    """A course may allow less isolation, which the record states; a command may demand more."""
    head = course_files(("01_tiny",))["course.toml"]
    course = write_course({"course.toml": f'{head}\n[grading]\nisolation = "process"\n'})

    assert grade(course, []).isolation == "process"
    with pytest.raises(SandboxError, match="Full isolation is not available"):
        grade(course, [], isolation="full")


@pytest.mark.usefixtures("without_landlock")
def test_isolation_is_never_lowered_silently(tiny: Course):
    """If full isolation is impossible, grading is refused and the message names the option."""
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

    def grade_class(grade_student: Callable[[str], None], *students: str, jobs: int = 2) -> list:
        def grade_one(
            _runner, _server, submission: Submission, _client: int, **_options: bool
        ) -> SubmissionResult:
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
        results = grade(tiny, submissions, isolation="process", jobs=jobs)
        return [(item.student, item.status) for item in results.submissions]

    return grade_class


def kill_this_process(student: str) -> None:
    """End the grading process from outside if it grades a student named ``killed``."""
    if student.startswith("killed"):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "students",
    [
        pytest.param(["ada", "killed", "bea", "cleo", "dora"], id="one-of-two-processes"),
        pytest.param(["killed1", "killed2", "ada", "bea", "cleo"], id="both-processes"),
        pytest.param(["ada", "bea", "cleo", "killed"], id="on-the-last-submission"),
        pytest.param(["killed1", "killed2", "killed3", "killed4"], id="on-every-submission"),
    ],
)
def test_a_killed_process_costs_one_result(grade_with, students: list[str], jobs: int):
    """A killed process loses only the result of the submission that it was grading."""
    expected = {True: Status.GRADER_ERROR, False: Status.GRADED}

    assert grade_with(kill_this_process, *students, jobs=jobs) == [
        (student, expected[student.startswith("killed")]) for student in students
    ]


def test_a_grading_process_has_so_much_processor_time_for_a_submission(grade_with, tmp_path: Path):
    """A grading process has a limit of processor time for each submission."""

    def grade_student(_student: str) -> None:
        (tmp_path / "limit").write_text(str(resource.getrlimit(resource.RLIMIT_CPU)[0]))

    grade_with(grade_student, "ada", jobs=1)

    assert 0 < int((tmp_path / "limit").read_text()) - Limits().grader_seconds < TEST_SECONDS


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_submission_whose_process_died_is_graded_once_more_alone(
    grade_with, tmp_path: Path, jobs: int
):
    """A process that ends for a reason from outside costs no grade at all."""

    def grade_student(student: str) -> None:
        with (tmp_path / "tries").open("a") as tries:
            tries.write(student[0])
        if (tmp_path / "tries").read_text().count("b") == 1 and student == "bea":
            kill_this_process("killed")

    graded = grade_with(grade_student, "ada", "bea", "cleo", jobs=jobs)

    assert graded == [(student, Status.GRADED) for student in ("ada", "bea", "cleo")]
    assert sorted((tmp_path / "tries").read_text()) == [*"abbc"]
    assert (tmp_path / "tries").read_text().endswith("b")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_lost_fork_server_costs_no_grade(grade_with, tmp_path: Path, jobs: int):
    """A lost fork server is replaced, and the submission that it lost is graded again."""

    def grade_student(student: str) -> None:
        with (tmp_path / "tries").open("a") as tries:
            tries.write(student[0])
        if (tmp_path / "tries").read_text().count("b") == 1 and student == "bea":
            raise LostProcessError(student)

    graded = grade_with(grade_student, "ada", "bea", "cleo", jobs=jobs)

    assert graded == [(student, Status.GRADED) for student in ("ada", "bea", "cleo")]
    assert sorted((tmp_path / "tries").read_text()) == [*"abbc"]


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """Collects the sessions that are opened."""
    opened: list[Session] = []

    def session(*arguments: object, **options: object) -> Session:
        opened.append(Session(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(grading, "Session", session)
    return opened


def test_a_worker_that_was_killed_from_outside_costs_no_points(
    tiny: Course, solved: Submission, fork_server: ForkServer, sessions: list[Session], monkeypatch
):
    """A worker that the system kills when memory is short loses no points."""
    real = Session.open

    def kill_first(session: Session) -> None:
        real(session)
        if len(sessions) == 1:
            os.kill(session._worker.pid, signal.SIGKILL)

    monkeypatch.setattr(Session, "open", kill_first)
    with open_suites(tiny, tiny.stages) as runner:
        result = grade_one(runner, fork_server, solved)

    assert (result.score, len(sessions)) == (10.0, 2)


def test_a_fork_server_that_is_lost_during_a_check_fails_no_check(
    tiny: Course, solved: Submission, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
):
    """A fork server that is lost during a check gives no result, and no failed check."""
    real = Session._send

    def lose(session: Session, worker, seconds: float, batch: bytes, verbs: tuple) -> object:
        if "call" in verbs:
            raise LostProcessError(*verbs)
        return real(session, worker, seconds, batch, verbs)

    monkeypatch.setattr(Session, "_send", lose)

    with open_suites(tiny, tiny.stages) as runner, pytest.raises(LostProcessError, match="call"):
        grade_one(runner, fork_server, solved)


@pytest.mark.slow
def test_a_submission_that_kills_itself_is_tried_twice(
    tiny: Course, submit, sessions: list[Session]
):
    """A submission that kills its worker twice is recorded as such."""
    code = "import os\nos.kill(os.getpid(), 9)\n"
    with (
        open_suites(tiny, tiny.stages) as runner,
        ForkServer("process", tiny.limits) as fork_server,  # in a PID namespace it can't
    ):
        fork_server.wait_ready()
        result = grade_one(runner, fork_server, submit(code))

    assert (result.status, result.score, len(sessions)) == (Status.CRASHED, 0.0, 2)


@needs_limit_of_memory
def test_a_grading_process_has_a_limit_of_memory(grade_with):
    """A grading process has a memory limit, so that it leaves memory for others."""

    def grade_student(_student: str) -> None:
        with pytest.raises(MemoryError):
            bytearray(3 << 30)

    assert grade_with(grade_student, "ada", jobs=1) == [("ada", Status.GRADED)]


HUNGRY = """
import torch
from autograder.suite.checks import check

kept = []

@check("double", points=10, layer="probe")
def test_a(student):
    student.uses("double")  # so it runs for each submission
    mib = student.call("double", 50)
    kept.append({allocated})
"""


@pytest.fixture(
    params=[
        pytest.param("torch.ones(mib << 18)", id="torch"),
        pytest.param("bytearray(mib << 20)", id="python"),
    ]
)
def hungry(request: pytest.FixtureRequest, write_course: WriteCourse) -> Course:
    """A course whose check keeps 100 MiB for each right submission; three of them are too many."""
    suite = HUNGRY.format(allocated=request.param)
    course = write_course({"tests/hidden/01_tiny/test_tiny.py": suite})
    return Course(course.root, replace(course.file, limits=Limits(grader_mib=300)))


@needs_limit_of_memory
@pytest.mark.usefixtures("lent_fork_server")  # which has one client
def test_a_process_without_memory_costs_no_points(hungry: Course, submit):
    """A submission that does not fit into the memory of a used process is graded in a new one."""
    class_ = [submit(HALF, student=f"student{number}") for number in range(6)]
    results = grade(hungry, class_, isolation="process", jobs=1)

    assert {score for _, _, score in summary(results)} == {10.0}, results


@needs_limit_of_memory
@pytest.mark.usefixtures("lent_fork_server")
def test_a_submission_that_needs_too_much_memory_alone_has_no_grade(hungry: Course, submit):
    """A submission that needs too much memory has no grade, and others keep theirs."""
    greedy = submit("def double(x):\n    return 5_000\n", student="greedy")
    class_ = [submit(HALF, student="ada"), greedy, submit(HALF, student="bea")]
    results = grade(hungry, class_, isolation="process", jobs=1)
    message = results.submissions[1].message

    assert summary(results) == [
        ("ada", "graded", 10.0),
        ("greedy", "grader-error", None),
        ("bea", "graded", 10.0),
    ]
    assert "more memory (grader_mib in course.toml)" in message


@pytest.mark.parametrize("error", [CourseError, SandboxError, UsageError, KeyboardInterrupt])
def test_an_error_in_a_process_reaches_the_caller(grade_with, error: type[BaseException]):
    """An error in one process reaches the caller, even while a different process is busy."""

    def grade_student(student: str) -> None:
        if student == "ada":
            raise error(student)
        signal.pause()

    with pytest.raises(error, match="ada"):
        grade_with(grade_student, "ada", "busy", "bea")


def test_ctrl_c_ends_every_grading_process(grade_with):
    """Ctrl-C ends every grading process, each with time to end its worker."""
    ended, in_fork = os.pipe()

    def grade_student(student: str) -> None:
        try:
            if student == "ada":
                os.kill(os.getppid(), signal.SIGINT)
            signal.pause()
        finally:
            os.write(in_fork, student[:1].encode())

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    with pytest.raises(KeyboardInterrupt):
        grade_with(grade_student, "ada", "bea")
    signal.signal(signal.SIGINT, before)
    os.close(in_fork)

    assert b"a" in os.read(ended, 9)  # bea's process may not have started its work
    os.close(ended)
