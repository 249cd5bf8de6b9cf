"""Tests the chunks of a class and the answers to them, with a dask scheduler in this process."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import msgspec
import pytest
from distributed import LocalCluster
from distributed.scheduler import KilledWorker
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import ClusterError, LostProcessError
from autograder.grading import cluster
from autograder.grading.chunk import Chunk
from autograder.grading.provenance import Provenance
from autograder.results import Status, SubmissionResult
from autograder.submission import Submission
from tests.kit.factories import SOLUTION, Submit, file_of

STUDENTS = ("ada", "bea", "cleo", "dora", "emil")
Answer = Callable[[Chunk], bytes]
Grade = Callable[..., dict[str, Status]]


class Worker:
    """The answer of the workers, and the students of each chunk that they got."""

    answer: Answer
    chunks: list[list[str]]


def grade_chunk(data: bytes) -> bytes:
    """Answer as the test says; dask imports this function by its name."""
    chunk = msgspec.msgpack.decode(data, type=Chunk)
    Worker.chunks.append([one.student for one in chunk.submissions])
    return Worker.answer(chunk)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a scheduler with one worker of two threads."""
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as dask:
        yield dask.scheduler_address


@pytest.fixture
def class_(submit: Submit) -> list[Submission]:
    """Five submissions, with the other files that nbgrader collects."""
    other = file_of("lab.ipynb", b"{}")
    return [
        replace(submit(SOLUTION, student=student), lab=other, stamp=other, secret=other)
        for student in STUDENTS
    ]


@pytest.fixture
def grade(
    tiny: Course, class_: list[Submission], address: str, monkeypatch: pytest.MonkeyPatch
) -> Grade:
    """Grade the class in chunks of two by workers that answer as given."""
    monkeypatch.setattr(cluster, "MAX_CHUNK", 2)
    monkeypatch.setattr(cluster, "grade_chunk", grade_chunk)

    def run(answer: Answer, address: str = address) -> dict[str, Status]:
        Worker.answer, Worker.chunks = staticmethod(answer), []
        found: dict[int, SubmissionResult] = {}
        cluster.grade_each(tiny, class_, found.__setitem__, address=address)
        for index, result in found.items():
            assert result.student == class_[index].student
        return {result.student: result.status for _, result in sorted(found.items())}

    return run


@pytest.fixture
def full_marks(tiny: Course) -> Answer:
    """The answer of a worker that gives full marks, in another order."""
    provenance = Provenance(tiny, "full")

    def answer(chunk: Chunk) -> bytes:
        results = [
            provenance.begin(one)(
                SubmissionResult(
                    student=one.student,
                    stage=one.stage,
                    status=Status.GRADED,
                    score=10.0,
                    max_score=10.0,
                )
            )
            for one in chunk.submissions
        ]
        return b"".join(msgspec.json.encode(result) + b"\n" for result in reversed(results))

    return answer


def test_each_submission_gets_its_result(grade: Grade, full_marks: Answer):
    """A class is graded in chunks, and each submission gets its own result."""
    statuses = grade(full_marks)

    assert statuses == dict.fromkeys(STUDENTS, Status.GRADED)
    assert sorted(Worker.chunks) == [["ada", "bea"], ["cleo", "dora"], ["emil"]]


def test_only_code_is_sent(grade: Grade, full_marks: Answer):
    """Notebooks, timestamps and nbgrader's secrets stay on the supervisor's machine."""
    sent: list[Submission] = []

    def answer(chunk: Chunk) -> bytes:
        sent.extend(chunk.submissions)
        return full_marks(chunk)

    grade(answer)

    assert [(one.lab, one.stamp, one.secret) for one in sent] == [(None, None, None)] * 5


@pytest.mark.parametrize(
    "error", [KilledWorker("task", SimpleNamespace(address=""), 3), LostProcessError()]
)
def test_a_submission_that_ends_its_workers_has_no_grade(
    grade: Grade, full_marks: Answer, error: Exception
):
    """A chunk whose workers die is halved and graded alone; only the cause has no grade."""

    def answer(chunk: Chunk) -> bytes:
        if "bea" in {one.student for one in chunk.submissions}:
            raise error
        return full_marks(chunk)

    statuses = grade(answer)

    assert statuses == dict.fromkeys(STUDENTS, Status.GRADED) | {"bea": Status.GRADER_ERROR}
    assert sorted(Worker.chunks[-2:]) == [["ada"], ["bea"]]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda _lines: b"", id="nothing"),
        pytest.param(lambda lines: lines * 2, id="twice"),
        pytest.param(lambda lines: lines.replace(b'"key":"', b'"key":"0'), id="other-keys"),
        pytest.param(lambda lines: b" " * 2 * cluster.MAX_RESULT + lines, id="too-long"),
    ],
)
def test_results_of_other_submissions_are_refused(
    grade: Grade, full_marks: Answer, answer: Callable[[bytes], bytes]
):
    """Results are refused if their keys are not those that this machine computes."""
    with pytest.raises(ClusterError, match="results whose keys differ from those of this machine"):
        grade(lambda chunk: answer(full_marks(chunk)))


@pytest.mark.parametrize("answer", [b"\x80", b"[]", b'{"student": "ada"}', b"\xff{}"])
def test_an_answer_that_is_not_a_result_is_refused(grade: Grade, answer: bytes):
    """An answer that can't be decoded as results ends the run unrecorded."""
    with pytest.raises(ClusterError, match=r"The cluster at inproc://.* can't be used: \w+Error"):
        grade(lambda _chunk: answer)


def test_a_worker_without_the_kit_ends_the_run(grade: Grade):
    """The error of a worker that can't import the kit becomes one message."""

    def answer(_chunk: Chunk) -> bytes:
        import no_kit  # noqa: F401, PLC0415  # fails

        return b""

    with pytest.raises(ClusterError, match="ModuleNotFoundError: No module named 'no_kit'"):
        grade(answer)


def test_a_cluster_without_workers_ends_the_run(
    grade: Grade, full_marks: Answer, monkeypatch: pytest.MonkeyPatch
):
    """A run that finds no worker ends after a while with a message."""
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 0.1)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as dask,
        pytest.raises(ClusterError, match="Only 0/1 workers arrived"),
    ):
        grade(full_marks, dask.scheduler_address)


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.1:8786", "10.0.0.1:8786", "tcp://node1:8786", "ws://127.evil.org:1"]
)
def test_an_address_that_others_could_read_is_refused(address: str):
    """Submissions are not sent unencrypted to other machines."""
    with pytest.raises(ClusterError, match=f"{address} is not encrypted"):
        cluster._require_private(address)


@pytest.mark.parametrize(
    "address",
    [
        "tls://10.0.0.1:1",
        "wss://node1:1",
        "tcp://127.0.0.1:1",
        "tcp://localhost:1",
        "tcp://[::1]:1",
    ],
)
def test_an_encrypted_or_local_address_is_accepted(address: str):
    """TLS protects other machines' addresses, and loopback stays on this machine."""
    cluster._require_private(address)
