"""Tests grading on a cluster: a real scheduler and two workers, on this machine."""

import sys
from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from autograder import course as courses
from autograder.cli import app
from autograder.course import Course
from autograder.errors import ClusterError
from autograder.grading import cluster
from autograder.grading.grade import grade
from autograder.grading.journal import Journal, grade_with_journal
from autograder.results import Results, Status, SubmissionResult, to_json
from autograder.sandbox.isolation import detect_capabilities
from autograder.submission.collect import LazySubmissions, find
from tests.e2e.dask_cluster import DaskCluster, wait_until
from tests.kit.commands import forget_suites
from tests.kit.factories import SOLUTION, STAGE, course_files, write_files
from tools.records import without_times

STUDENTS = 12
FIRST = 3  # results before the first run is interrupted
KILL_AT = 5  # results of the second run, three of them from the first one
CHUNK = 3  # submissions, so that several chunks are needed
SLOW = "\nimport time\ntime.sleep(0.1)\n"  # slow enough to be killed while it runs
TEXTS = (SOLUTION, "def double(x):\n    return x + x\n", "import os\nos._exit(3)\n")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason),
]


class Scene(NamedTuple):
    """A course, a class, and the cluster that grades it."""

    course: Course
    home: Path
    dask: DaskCluster

    def submissions(self) -> LazySubmissions:
        """Return the submissions of the class, read again."""
        return LazySubmissions.of([find(self.home / "class", self.course.stages)])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One cluster for all tests of this file."""
    home = tmp_path_factory.mktemp("cluster")
    for folder in (home, *home.parents[:3]):  # a worker of the sandbox passes through them
        folder.chmod(folder.stat().st_mode | 0o011)
    write_files(home / "course", course_files((STAGE,)))
    works = {
        f"s{number:02}/{STAGE}/tiny.py": f"{SLOW}{TEXTS[number % len(TEXTS)]}\n# {number}\n"
        for number in range(STUDENTS - 1)
    }
    write_files(home / "class", works | {"unread/notes.txt": "no code"})
    with (
        forget_suites(),
        pytest.MonkeyPatch.context() as patch,
        DaskCluster(home, workers=2) as dask,
    ):
        patch.setattr(cluster, "MAX_CHUNK", CHUNK)
        yield Scene(courses.load(home / "course"), home, dask)


class Disturbed(NamedTuple):
    """The results of a class that was graded in two runs."""

    local: Results
    first: list[SubmissionResult]
    done: int
    results: Results
    grading: list[int]  # the process of the worker that was killed


@pytest.fixture(scope="module")
def disturbed(scene: Scene) -> Disturbed:
    """Interrupt a run on the cluster, resume it, and kill a worker during the second run."""
    local = grade(scene.course, scene.submissions())
    first = second = 0
    grading: list[int] = []

    def stop() -> None:
        nonlocal first
        first += 1
        if first == FIRST:
            raise KeyboardInterrupt

    def kill() -> None:
        nonlocal second
        second += 1
        if second >= KILL_AT and not grading:  # at this moment, no worker may have a chunk
            grading.extend(filter(None, [scene.dask.kill_a_worker()]))

    on_cluster = partial(cluster.grade_each, address=scene.dask.address)
    run = partial(grade_with_journal, scene.course, scene.submissions(), grade_each=on_cluster)
    record = scene.home / "results.json"
    with Journal(record) as journal, pytest.raises(KeyboardInterrupt):
        run(journal, jobs=1, on_done=stop)
    with Journal(record) as journal:
        before = [result for result, _ in journal.results()]
        results = run(journal, on_done=kill)
        results = replace(results, submissions=tuple(results.submissions))
    return Disturbed(local, before, second, results, grading)


def test_a_cluster_gives_the_results_of_one_machine(disturbed: Disturbed):
    """A cluster's record is that of one machine, after an interruption and a worker's death."""
    assert to_json(without_times(disturbed.results)) == to_json(without_times(disturbed.local))


def test_the_process_of_a_killed_worker_ends(disturbed: Disturbed):
    """A grading process ends when nobody reads its lines any more."""
    [pid] = disturbed.grading

    assert pid
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_run_goes_on_where_it_was_interrupted(disturbed: Disturbed):
    """A resumed run does not grade a submission in the journal again."""
    again = [result for result in disturbed.results.submissions if result in disturbed.first]

    assert len(disturbed.first) == FIRST
    assert sorted(again, key=attrgetter("student")) == sorted(
        disturbed.first, key=attrgetter("student")
    )
    assert disturbed.done == STUDENTS


def test_each_record_names_the_isolation_of_the_worker(disturbed: Disturbed):
    """The worker that graded the submission writes the audit."""
    levels = {one.audit.isolation for one in disturbed.results.submissions if one.audit}

    assert levels == {"full"}
    assert all(one.audit for one in disturbed.results.submissions)


def test_a_worker_with_another_suite_is_refused(scene: Scene):
    """A worker with a different suite is refused at the start, and the message has both digests."""
    files = course_files((STAGE,))
    files[f"tests/hidden/{STAGE}/test_tiny.py"] += "\n# changed\n"
    write_files(scene.home / "other", files)
    graded: list[SubmissionResult] = []
    expected = (
        r"tcp://127\.0\.0\.1:\d+: This worker would grade differently, so it is not used: "
        r"the suite or solution of 01_tiny is \w{12} here and \w{12} there"
    )
    with pytest.raises(ClusterError, match=expected):
        cluster.grade_each(
            scene.course,
            scene.submissions(),
            lambda _index, result: graded.append(result),
            address=scene.dask.address,
            folder=str(scene.home / "other"),
        )

    assert graded == []


def test_another_secret_is_refused(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """A worker with a different secret is refused, and the message shows neither secret."""
    monkeypatch.setenv("AUTOGRADER_COURSE_SECRET", "abcdefgh12345678")
    with pytest.raises(ClusterError, match=r"the digest of the course's secret is \w{12} here"):
        cluster.grade_each(
            scene.course, scene.submissions(), lambda *_: None, address=scene.dask.address
        )


def test_the_command_says_what_is_wrong_with_an_address(scene: Scene):
    """An address that others could read is refused before a connection."""
    words = ["grade", str(scene.home / "class"), "--course", str(scene.course.root)]
    done = CliRunner().invoke(app, [*words, "--cluster", "tcp://192.0.2.1:8786"])

    assert done.exit_code == 2
    assert "tcp://192.0.2.1:8786 is not encrypted" in done.output


def test_a_lost_scheduler_ends_the_run(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """A run that loses its scheduler ends with a sentence and keeps its journal."""
    monkeypatch.setattr(cluster, "MAX_CHUNK", 1)
    record = scene.home / "lost.json"

    def lose() -> None:
        scene.dask.kill_scheduler()

    on_cluster = partial(cluster.grade_each, address=scene.dask.address)
    files = {"a_first/notes.txt": "no code", f"b/{STAGE}/tiny.py": SOLUTION}
    write_files(scene.home / "two", files)
    two = LazySubmissions.of([find(scene.home / "two", scene.course.stages)])
    with Journal(record) as journal, pytest.raises(ClusterError, match="can't be used"):
        grade_with_journal(scene.course, two, journal, grade_each=on_cluster, jobs=1, on_done=lose)
    with Journal(record) as journal:
        kept = [one.status for one, _ in journal.results()]

    assert kept == [Status.UNREADABLE]
