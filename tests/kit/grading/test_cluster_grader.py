"""Tests the answers of a cluster worker; stand-ins replace the grading processes."""

from collections.abc import Iterator
from threading import Event
from typing import NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import CourseError
from autograder.grading import cluster_grader
from autograder.grading.cluster_grader import (
    Answer,
    ClusterRun,
    Described,
    Died,
    Graded,
    Refused,
    close,
    describe,
    grade,
)
from autograder.grading.provenance import Provenance
from autograder.results import Status, SubmissionResult
from autograder.submission import Submission

END_SECONDS = 10.0  # to wait for a thread on a busy machine


class Processes(NamedTuple):
    """The plan of each grading process, and the processes that were started."""

    plans: list[list[str]]
    started: list["StandIn"]


class StandIn:
    """A grading process that does what is planned, and otherwise grades."""

    def __init__(self, plan: list[str]) -> None:
        self.plan = plan
        self.runs = True
        self.closed = Event()
        self.asked = 0

    def ask(self, submission: Submission) -> SubmissionResult | None:
        """Grade, die or raise."""
        self.asked += 1
        what = self.plan.pop(0) if self.plan else "grade"
        if what == "raise":
            raise CourseError(what)
        if what == "bug":
            raise ZeroDivisionError(what)
        if what == "die":
            return None
        return SubmissionResult(
            student=submission.student,
            stage=submission.stage,
            status=Status.GRADED,
            score=1.0,
            max_score=1.0,
        )

    def close(self) -> None:
        """End it."""
        self.runs = False
        self.closed.set()


@pytest.fixture(autouse=True)
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    """Replace grading processes with stand-ins, and forget the runs at the end."""
    found = Processes([], [])

    def start(_run: ClusterRun) -> StandIn:
        found.started.append(StandIn(found.plans.pop(0) if found.plans else []))
        return found.started[-1]

    monkeypatch.setattr(cluster_grader, "GraderProcess", start)
    monkeypatch.setattr(cluster_grader, "_POOLS", cluster_grader._Pools())
    return found


@pytest.fixture
def run(tiny: Course) -> ClusterRun:
    """A run that agrees with this machine."""
    facts = Provenance(tiny, "process").facts(["01_tiny"])
    return ClusterRun(
        id="one",
        course=str(tiny.root),
        stages=("01_tiny",),
        isolation="process",
        diagnose=True,
        facts=facts.digest,
    )


def answer(run: ClusterRun, submission: Submission) -> Answer:
    """Ask the worker as a task does."""
    encode = msgspec.msgpack.encode
    [found] = msgspec.msgpack.decode(grade(encode(run), encode([submission])), type=list[Answer])
    return found


def test_a_worker_describes_what_it_would_grade_with(run: ClusterRun, processes: Processes):
    """A worker reports its versions and digests without starting a process."""
    answers = describe(msgspec.msgpack.encode(run))
    [found] = msgspec.msgpack.decode(answers, type=list[Answer])

    assert isinstance(found, Described)
    assert found.facts.digest == run.facts
    assert processes.started == []


def test_a_record_names_what_decided_it(run: ClusterRun, tiny: Course, solved: Submission):
    """The worker adds its isolation and the key, which is that of a run on one machine."""
    found = answer(run, solved)
    key = Provenance(tiny, "process").key(solved.stage, solved.digest)

    assert isinstance(found, Graded)
    assert found.result.audit
    assert (found.result.audit.isolation, found.result.audit.key) == ("process", key)


def test_a_process_grades_one_submission_after_another(
    run: ClusterRun, solved: Submission, processes: Processes
):
    """One process grades several submissions and loads the suites once."""
    answers = [answer(run, solved), answer(run, solved)]

    assert all(isinstance(one, Graded) for one in answers)
    assert [one.asked for one in processes.started] == [2]


def test_a_worker_that_differs_grades_nothing(
    run: ClusterRun, solved: Submission, processes: Processes
):
    """A worker that joined later and differs grades nothing."""
    assert isinstance(answer(replace(run, facts="other"), solved), Described)
    assert processes.started == []


def test_a_worker_without_the_course_says_so(run: ClusterRun, solved: Submission):
    """A worker without the course returns an error, which the supervisor raises."""
    found = answer(replace(run, course="/nowhere"), solved)

    assert found == Refused("CourseError", "/nowhere/course.toml is missing.")


@pytest.mark.parametrize(
    ("plans", "expected"),
    [([["die"]], Graded), ([["die"], ["die"]], Died)],
    ids=["once", "twice"],
)
def test_a_submission_whose_process_dies_is_graded_once_more_by_a_new_one(
    run: ClusterRun,
    solved: Submission,
    processes: Processes,
    plans: list[list[str]],
    expected: type[Answer],
):
    """A submission that ends its process is graded once more, and not a third time."""
    processes.plans.extend(plans)

    assert isinstance(answer(run, solved), expected)
    assert [one.asked for one in processes.started] == [1, 1]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("raise", Refused("CourseError", "raise")),
        ("bug", Refused("GraderError", "ZeroDivisionError: bug")),
    ],
)
def test_an_error_crosses_as_a_sentence(
    run: ClusterRun, solved: Submission, processes: Processes, what: str, expected: Refused
):
    """An error is sent as a sentence, never as a pickled exception."""
    processes.plans.append([what])

    assert answer(run, solved) == expected
    assert not processes.started[0].runs


def test_the_processes_end_with_their_run(
    run: ClusterRun, solved: Submission, processes: Processes
):
    """A second task of the same run starts from the beginning."""
    answer(run, solved)
    close(msgspec.msgpack.encode(run))  # it closes in a thread, because the worker continues

    assert processes.started[0].closed.wait(END_SECONDS)


def test_a_run_that_is_over_grades_nothing_more(
    run: ClusterRun, solved: Submission, processes: Processes
):
    """A closed pool starts no grading process and reports that the submission ended early."""
    pool = cluster_grader.GraderPool(run)
    pool.close()

    assert pool.grade(solved) == Died()
    assert processes.started == []
