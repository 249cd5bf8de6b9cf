"""Grading a class: in order, whatever was handed in."""

import pytest

from autograder.course import Course
from autograder.errors import SandboxError
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
    """Five hand-ins: right, half, unreadable, crashing, wrong."""
    unreadable = Submission(student="carl", stage="01_tiny", code=None, problem="No code here.")
    return [
        solved,
        submit(HALF, student="bert"),
        unreadable,
        submit("import os; os._exit(1)", student="dora"),
        submit(WRONG, student="emil"),
    ]


def summary(results: Results) -> list[tuple[str, str, float | None]]:
    """Who ended how, with how many points."""
    return [(item.student, str(item.status), item.score) for item in results.submissions]


EXPECTED = [
    ("alice", "graded", 10.0),
    ("bert", "graded", 5.0),
    ("carl", "unreadable", 0.0),
    ("dora", "crashed", 0.0),
    ("emil", "graded", 0.0),
]


@pytest.mark.usefixtures("lent_fork_server")
def test_results_stand_in_the_order_of_submissions(tiny: Course, class_: list[Submission]):
    """One record for each, the unreadable ones among them, told as they come."""
    told: list[SubmissionResult] = []
    results = grade(
        tiny, class_, isolation=detect_capabilities().level, jobs=1, on_result=told.append
    )

    assert summary(results) == EXPECTED
    assert tuple(told) == results.submissions
    assert (results.course, results.isolation) == ("tiny", detect_capabilities().level)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # torch keeps idle threads
def test_two_jobs_grade_as_one_does(
    tiny: Course, class_: list[Submission], request: pytest.FixtureRequest
):
    """A class shared among processes gets the very same record."""
    level = detect_capabilities().level
    two = grade(tiny, class_, isolation=level, jobs=2)
    request.getfixturevalue("lent_fork_server")  # for the other run: one start of torch is enough
    one = grade(tiny, class_, isolation=level, jobs=1)

    assert summary(two) == EXPECTED
    assert two == one


def test_nothing_readable_needs_no_sandbox(tiny: Course, class_: list[Submission]):
    """A class without any code is recorded all the same."""
    results = grade(tiny, [class_[2]], isolation="process")

    assert summary(results) == [EXPECTED[2]]
    assert results.submissions[0].message == "No code here."


def test_an_empty_class_is_an_empty_record(tiny: Course):
    """No submissions, no results, no error."""
    assert grade(tiny, [], isolation="process").submissions == ()


@pytest.mark.usefixtures("lent_fork_server")
def test_a_bug_of_ours_costs_one_grade(
    tiny: Course, class_: list[Submission], monkeypatch: pytest.MonkeyPatch
):
    """Whatever breaks in the grader at one submission, the others are graded."""
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
def test_a_secret_is_told_in_the_record(
    tiny: Course, class_: list[Submission], monkeypatch: pytest.MonkeyPatch
):
    """Whether hidden inputs were secret stands beside the grades."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    public = grade(tiny, class_[:1], isolation=detect_capabilities().level, jobs=1)
    (tiny.root / ".course-secret").write_text("hush")
    secret = grade(tiny, class_[:1], isolation=detect_capabilities().level, jobs=1)

    assert (public.hidden_inputs, secret.hidden_inputs) == ("public", "secret")
    assert summary(secret) == EXPECTED[:1]


def test_isolation_is_never_lowered_silently(tiny: Course, monkeypatch: pytest.MonkeyPatch):
    """Where full isolation can't be had, grading refuses and names the flag."""
    weaker = type(detect_capabilities())
    found = detect_capabilities()
    facts = {name: getattr(found, name) for name in found.__struct_fields__}
    weak = weaker(**(facts | {"level": "process", "reason": "No Landlock here."}))
    monkeypatch.setattr("autograder.sandbox.supervisor.detect_capabilities", lambda: weak)

    with pytest.raises(SandboxError, match="--isolation process"):
        grade(tiny, [])
