"""Tests the handling of workers' answers, with stand-ins for the workers."""

from collections.abc import Callable, Sequence

import msgspec
import pytest
from distributed.scheduler import KilledWorker

from autograder.course import Course
from autograder.errors import ClusterError
from autograder.grading import cluster, cluster_workers
from autograder.grading.cluster_grader import Died, Graded
from autograder.grading.grade import Class
from autograder.grading.provenance import Facts, Provenance
from autograder.results import Results, Status, SubmissionResult
from autograder.submission import Submission
from tests.kit.factories import SOLUTION, Submit

Answers = Callable[[Submission], object]


@pytest.fixture
def facts(tiny: Course) -> Facts:
    """The versions and digests of this machine."""
    return Provenance(tiny, "full").facts(["01_tiny"])


class Workers:
    """Workers that answer at once."""

    run = b""
    threads = 2

    def __init__(self, facts: Facts, answers: Answers) -> None:
        self.facts = facts
        self.client = self
        self.sent: list[list[str]] = []  # the workers that were present at each task
        self.tasks: list[list[str]] = []
        self._answers = answers
        self._there: dict[Task, list[Submission]] = {}

    def look(self) -> None:
        """Find nothing new."""

    def cancel(self, _tasks: object) -> None:
        """Give up."""

    def submit(self, submissions: Sequence[Submission]) -> "Task":
        """Take submissions, as their bytes."""
        content = msgspec.msgpack.encode(submissions)
        task = Task()
        self._there[task] = msgspec.msgpack.decode(content, type=list[Submission])
        self.tasks.append([one.student for one in submissions])
        self.sent.append([one.student for each in self._there.values() for one in each])
        return task

    def answers(self, tasks: Sequence["Task"]) -> dict["Task", object]:
        """Answer a task; without an answer for one submission, the task has no answer."""
        return {task: self._answer(self._there.pop(task)) for task in tasks}

    def _answer(self, together: Sequence[Submission]) -> object:
        found = [self._answers(one) for one in together]
        strange = [one for one in found if not isinstance(one, Graded | Died)]
        return strange[0] if strange else msgspec.msgpack.encode(found)


class Task:
    """A task that has ended when it begins."""

    def add_done_callback(self, call: Callable[["Task"], None]) -> None:
        """Call the callback at once."""
        call(self)


@pytest.fixture
def run(tiny: Course, facts: Facts, submit: Submit) -> Callable[..., tuple[Results, Workers]]:
    """Grade ada, bea, a student without a submission, and more, by workers with given answers."""

    def grade(answers: Answers, *more: str) -> tuple[Results, Workers]:
        nothing = Submission(student="cleo", stage="01_tiny", code=None, problem="No code here.")
        class_ = [submit(SOLUTION, student="ada"), submit(SOLUTION, student="bea"), nothing]
        class_ += [submit(SOLUTION, student=student) for student in more]
        provenance = Provenance(tiny, "full")
        workers = Workers(facts, answers)
        found: dict[int, SubmissionResult] = {}
        collected = Class(class_, provenance, found.__setitem__)
        tasks = cluster._Tasks(workers, collected, provenance)
        cluster._grade_all(workers, tasks, len(class_), None)
        return provenance.record(found[index] for index in range(len(class_))), workers

    return grade


@pytest.fixture
def graded(tiny: Course) -> Callable[[Submission], Graded]:
    """Answer as a worker does that gives full marks."""
    provenance = Provenance(tiny, "full")

    def answer(submission: Submission) -> Graded:
        result = SubmissionResult(
            student=submission.student,
            stage=submission.stage,
            status=Status.GRADED,
            score=10.0,
            max_score=10.0,
        )
        return Graded(provenance.begin(submission)(result))

    return answer


def statuses(results: Results) -> list[tuple[str, Status]]:
    """Return each student with the status."""
    return [(one.student, one.status) for one in results.submissions]


def test_results_are_in_the_order_of_submissions(run, graded):
    """Results are in the order of the submissions; a submission without code needs no worker."""
    results, workers = run(graded)

    assert statuses(results) == [
        ("ada", Status.GRADED),
        ("bea", Status.GRADED),
        ("cleo", Status.UNREADABLE),
    ]
    assert workers.sent == [["ada"], ["ada", "bea"]]


def test_a_submission_whose_workers_died_is_tried_alone_and_then_recorded(run, graded):
    """A submission whose workers died has no grade; others on those workers keep theirs."""
    tried: list[str] = []

    def answers(submission: Submission) -> object:
        tried.append(submission.student)
        if submission.student == "ada" or tried == ["ada", "bea"]:
            return KilledWorker("task", None, 3)
        return graded(submission)

    results, workers = run(answers)

    assert statuses(results)[:2] == [("ada", Status.GRADER_ERROR), ("bea", Status.GRADED)]
    assert workers.sent[2:] == [["bea"], ["ada"]]
    assert tried == ["ada", "bea", "bea", "ada"]


def test_many_submissions_travel_together(run, graded):
    """Submissions are sent in groups while enough are left to keep every worker busy."""
    students = [f"s{number}" for number in range(60)]
    results, workers = run(graded, *students)

    assert [one.student for one in results.submissions] == ["ada", "bea", "cleo", *students]
    assert workers.sent[0] == ["ada", "bea", "s0"]
    assert sorted({len(task) for task in workers.tasks}) == [1, 2, 3]
    assert workers.tasks[-1] == ["s59"]


def test_those_that_travelled_with_a_fatal_one_are_tried_alone(run, graded):
    """Submissions of a task that ends its worker are graded again one by one."""
    students = [f"s{number}" for number in range(60)]
    results, workers = run(
        lambda one: KilledWorker("task", None, 3) if one.student == "bea" else graded(one),
        *students,
    )
    others = [one for one in results.submissions if one.student not in {"bea", "cleo"}]

    assert dict(statuses(results))["bea"] is Status.GRADER_ERROR
    assert {one.status for one in others} == {Status.GRADED}
    assert workers.sent[-3:] == [["s0"], ["bea"], ["ada"]]


def test_a_submission_whose_processes_died_has_no_grade(run, graded):
    """A submission whose processes died has no grade, after the worker tried it twice."""
    results, _ = run(lambda one: Died() if one.student == "ada" else graded(one))

    assert statuses(results)[:2] == [("ada", Status.GRADER_ERROR), ("bea", Status.GRADED)]


@pytest.mark.parametrize(
    "answer",
    [b"", b"\x80", "text", b"\xc1" * 3, msgspec.msgpack.encode([{"type": "Graded"}]), b"\x90"],
)
def test_an_answer_of_no_worker_of_ours_ends_the_run(run, answer: object):
    """An answer that is not from a worker of the kit ends the run unrecorded."""
    with pytest.raises(
        ClusterError, match="sent an invalid answer, which no worker of this kit sends"
    ):
        run(lambda _submission: answer)


def test_the_record_of_another_submission_is_refused(run, graded, submit: Submit):
    """A worker's result is refused if its key is not that of the submission that was sent."""
    other = submit("x = 1", student="ada")
    with pytest.raises(
        ClusterError, match="sent an invalid answer, which no worker of this kit sends"
    ):
        run(lambda _submission: graded(other))


def test_a_large_answer_is_not_decoded(run, monkeypatch: pytest.MonkeyPatch, graded):
    """The supervisor refuses a large answer of a worker before it decodes it."""
    monkeypatch.setattr(cluster_workers, "MAX_ANSWER", 10)
    with pytest.raises(
        ClusterError, match="sent an invalid answer, which no worker of this kit sends"
    ):
        run(graded)


def test_an_exception_of_a_task_ends_the_run(run):
    """An exception of a task, for example if the kit is missing, is not the submission's fault."""
    with pytest.raises(ClusterError, match="failed on the cluster: ModuleNotFoundError: no kit"):
        run(lambda _submission: ModuleNotFoundError("no kit"))
