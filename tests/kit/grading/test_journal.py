"""Tests that the journal resumes a run with the record of an uninterrupted run."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import UsageError
from autograder.grading.journal import Journal, grade_with_journal, journal_of
from autograder.grading.provenance import Provenance
from autograder.results import Results, Status, SubmissionResult, to_json
from autograder.submission.collect import LazySubmissions, find
from tests.kit.factories import SOLUTION
from tools.records import without_times

STUDENTS = ("ada", "bea", "cleo", "dora")


@pytest.fixture
def class_(tmp_path: Path) -> Path:
    """A folder with the submissions of a class."""
    folder = tmp_path / "class"
    for student in STUDENTS:
        (folder / student).mkdir(parents=True)
        (folder / student / "tiny.py").write_text(f"{SOLUTION}\n# {student}\n")
    return folder


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """The path of the record."""
    return tmp_path / "results.json"


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the grading, which takes long; collects the students that it is asked to grade."""
    students: list[str] = []

    def grade_each(
        course: Course,
        submissions: LazySubmissions,
        on_result: Callable[[int, SubmissionResult], None],
        *,
        isolation: str,
        jobs: int | None,
    ) -> Results:
        del jobs
        provenance = Provenance(course, isolation)
        for index, submission in enumerate(submissions):
            if (course.root / f"stop-{submission.student}").exists():
                raise KeyboardInterrupt
            students.append(submission.student)
            broken = (course.root / f"break-{submission.student}").exists()
            result = SubmissionResult(
                student=submission.student,
                stage=submission.stage,
                status=Status.GRADER_ERROR if broken else Status.GRADED,
                score=None if broken else 10.0,
                max_score=10.0,
                sha256=submission.sha256,
            )
            on_result(index, provenance.begin(submission)(result))
        return provenance.record(())

    monkeypatch.setattr("autograder.grading.grade.grade_each", grade_each)
    return students


@pytest.fixture
def run(tiny: Course, class_: Path, record: Path) -> Callable[..., Results]:
    """Grade the class as a new process would."""

    def grade(*, fresh: bool = False) -> Results:
        submissions = LazySubmissions.of([find(class_, tiny.stages)])
        with Journal(record, fresh=fresh) as journal:
            results = grade_with_journal(tiny, submissions, journal, isolation="process")
            return replace(results, submissions=tuple(results.submissions))

    return grade


def test_a_regrade_with_nothing_changed_grades_nobody(run, graded: list[str]):
    """A regrade without a change grades nobody and writes the same record."""
    first = run()
    again = run()

    assert graded == [*STUDENTS]
    assert to_json(again) == to_json(first)


def test_a_regrade_grades_only_what_changed(run, graded: list[str], class_: Path):
    """A new submission of one student makes a regrade of one submission."""
    run()
    del graded[:]
    (class_ / "bea" / "tiny.py").write_text("x = 1\n")
    results = run()

    assert graded == ["bea"]
    assert [result.student for result in results.submissions] == [*STUDENTS]


def test_an_interrupted_run_goes_on_where_it_stopped(run, graded: list[str], tiny: Course):
    """The record of a resumed run equals that of an undisturbed one, apart from the times."""
    (tiny.root / "stop-cleo").touch()
    with pytest.raises(KeyboardInterrupt):
        run()
    (tiny.root / "stop-cleo").unlink()
    resumed = run()

    assert graded == [*STUDENTS]
    assert to_json(without_times(resumed)) == to_json(without_times(run(fresh=True)))


def test_joined_journals_of_two_machines_are_the_journal_of_the_class(
    run, graded: list[str], tiny: Course, class_: Path, tmp_path: Path, record: Path
):
    """After two machines have graded half of a class each, nobody is graded for its record."""
    journals = []
    for name, students in (("a", STUDENTS[:2]), ("b", STUDENTS[2:])):
        for student in students:
            shutil.copytree(class_ / student, tmp_path / name / student)
        half = LazySubmissions.of([find(tmp_path / name, tiny.stages)])
        with Journal(tmp_path / f"{name}.json") as journal:
            grade_with_journal(tiny, half, journal, isolation="process")
        journals.append(journal_of(tmp_path / f"{name}.json").read_bytes())
    journal_of(record).write_bytes(b"".join(journals))
    results = run()

    assert graded == [*STUDENTS]
    assert [result.student for result in results.submissions] == [*STUDENTS]


def test_fresh_grades_all_again(run, graded: list[str]):
    """With --fresh, all are graded again, and the journal holds the new results only."""
    run()
    run(fresh=True)

    assert graded == [*STUDENTS, *STUDENTS]


def test_no_grade_is_never_used_again(run, graded: list[str], tiny: Course):
    """A submission on which the grader failed is graded again."""
    (tiny.root / "break-bea").touch()
    first = run()
    (tiny.root / "break-bea").unlink()
    second = run()

    assert [first.submissions[1].score, second.submissions[1].score] == [None, 10.0]
    assert graded == [*STUDENTS, "bea"]


@pytest.mark.parametrize(
    ("damage", "again"),
    [
        pytest.param(lambda text: text[:-40], ["dora"], id="half-written"),
        pytest.param(lambda text: text + b'{"stu', [], id="torn-behind"),
        pytest.param(lambda text: text[:-1], [], id="without-its-end"),
        pytest.param(lambda text: text + b"\0" * 4096, [], id="zeros-after-a-power-cut"),
        pytest.param(lambda text: text + b"\xff\xfe{}\n", [], id="no-text"),
        pytest.param(lambda text: text.replace(b'"ada"', b'"ada', 1), ["ada"], id="damaged"),
        pytest.param(
            lambda text: text.replace(b'"journal":1', b'"journal":0', 1), [*STUDENTS], id="version"
        ),
        pytest.param(lambda _text: b"notes of mine\n", [*STUDENTS], id="no-journal"),
    ],
)
def test_what_cannot_be_read_is_graded_again(
    run, graded: list[str], record: Path, damage: Callable[[bytes], bytes], again: list[str]
):
    """Submissions of unreadable lines are graded again, and all other results are used."""
    run()
    del graded[:]
    journal_of(record).write_bytes(damage(journal_of(record).read_bytes()))
    run()
    run()

    assert graded == again


def test_outdated_lines_are_dropped_in_the_end(run, graded: list[str], class_: Path, record: Path):
    """The journal does not grow with each regrade, and keeps students who are not graded now."""
    run()
    for number in range(7):
        (class_ / "bea" / "tiny.py").write_text(f"x = {number}\n")
        run()
    lines = journal_of(record).read_bytes().splitlines()

    assert len(lines) <= 1 + 2 * len(STUDENTS)
    (class_ / "bea" / "tiny.py").unlink()
    (class_ / "bea").rmdir()
    del graded[:]
    run()
    assert not graded


def test_a_line_without_its_end_stays_a_line(run, graded: list[str], class_: Path, record: Path):
    """An incomplete line does not merge with a new line, even if outdated lines are dropped."""
    run()
    journal_of(record).write_bytes(journal_of(record).read_bytes()[:-1])
    for number in range(7):
        (class_ / "bea" / "tiny.py").write_text(f"x = {number}\n")
        run()
    del graded[:]
    run()

    assert not graded


HOLD = """
import sys
from pathlib import Path
from autograder.grading.journal import Journal
with Journal(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other_run(record: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that writes the same journal."""
    with subprocess.Popen(  # noqa: S603  # this Python, on the lines above
        [sys.executable, "-c", HOLD, str(record)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_two_runs_into_one_record_are_refused(
    run, graded: list[str], other_run: "subprocess.Popen[str]"
):
    """A second run into one record is refused, and a killed run leaves no lock."""
    with pytest.raises(UsageError, match="Another run is writing its results to"):
        run()
    other_run.kill()
    other_run.wait()
    run()

    assert graded == [*STUDENTS]


def test_a_disk_that_fills_up_costs_no_result(
    run, tiny: Course, class_: Path, record: Path, graded: list[str]
):
    """On a full disk the record is complete, and the next run grades what the journal lacks."""
    with Journal(record) as journal:
        journal._stream = FullAfter(journal._stream, most=1)
        submissions = LazySubmissions.of([find(class_, tiny.stages)])
        results = grade_with_journal(tiny, submissions, journal, isolation="process")
        students = [result.student for result in results.submissions]
    run()

    assert students == [*STUDENTS]
    assert journal.fault == "No space left on device"
    assert graded == [*STUDENTS, "bea", "cleo", "dora"]


class FullAfter:
    """A file on a disk with space for some more lines, and for half of the next one."""

    def __init__(self, stream, most: int) -> None:
        self._stream = stream
        self._left = most

    def write(self, data: bytes) -> int:
        """Write all, then half, then nothing."""
        self._left -= 1
        if self._left >= 0:
            return self._stream.write(data)
        if self._left == -1:
            return self._stream.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    def __getattr__(self, name: str) -> object:
        """Return all other attributes of the file."""
        return getattr(self._stream, name)


def test_the_journal_may_be_read_by_those_who_may_read_the_record(run, graded, record: Path):
    """The journal, with the same personal data, has the same readers as the record."""
    run()
    record.touch()

    assert graded
    assert journal_of(record).stat().st_mode == record.stat().st_mode


def test_a_result_of_another_code_is_not_used(
    tiny: Course, class_: Path, record: Path, graded: list[str]
):
    """A file that changes between listing and grading is stored by its graded contents."""
    with Journal(record) as journal:
        submissions = LazySubmissions.of([find(class_, tiny.stages)])
        original = (class_ / "ada" / "tiny.py").read_text()
        (class_ / "ada" / "tiny.py").write_text("x = 1\n")
        grade_with_journal(tiny, submissions, journal, isolation="process")
    (class_ / "ada" / "tiny.py").write_text(original)
    with Journal(record) as journal:
        submissions = LazySubmissions.of([find(class_, tiny.stages)])
        grade_with_journal(tiny, submissions, journal, isolation="process")

    assert graded == [*STUDENTS, "ada"]


def test_a_result_without_an_audit_is_not_used_again(record: Path, submission):
    """A result without an audit is graded again."""
    with Journal(record) as journal:
        journal.add(submission())
        journal.add(replace(submission(), status=Status.GRADER_ERROR))

        assert list(journal.results()) == []


def test_without_a_record_the_journal_has_no_file(tiny: Course, class_: Path, graded: list[str]):
    """Without a record the journal is a temporary file, which is removed."""
    before = sorted(class_.parent.iterdir())
    with Journal() as journal:
        submissions = LazySubmissions.of([find(class_, tiny.stages)])
        results = grade_with_journal(tiny, submissions, journal, isolation="process")
        students = [result.student for result in results.submissions]

    assert students == graded == [*STUDENTS]
    assert sorted(class_.parent.iterdir()) == before
