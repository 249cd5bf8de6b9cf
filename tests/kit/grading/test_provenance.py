"""Tests the digests by which a journal recognizes that a grade is still valid."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from autograder import course as courses
from autograder.course import Course
from autograder.grading import provenance
from autograder.grading.provenance import Provenance, outdated_results
from autograder.results import Audit, Results, Status, SubmissionResult

BOTH = ("01_tiny", "02_tiny")


@pytest.fixture(autouse=True)
def _without_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)


@pytest.fixture
def two(write_course) -> Course:
    """A course of two stages."""
    return write_course(stages=BOTH)


def key(course: Course, isolation: str = "full", digest: str = "code") -> str:
    """The key of a submission of the first stage, as a new run finds the course."""
    return Provenance(courses.load(course.root), isolation).key("01_tiny", digest)


def append(path: str, text: str = "\n# changed\n") -> Callable[[Path], object]:
    """Append *text* to a file of the course."""
    return lambda root: (root / path).write_text((root / path).read_text() + text)


def write(path: str, text: str = "new") -> Callable[[Path], object]:
    """Write a new file into the course."""
    return lambda root: (root / path).write_text(text)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(append("tests/hidden/01_tiny/test_tiny.py"), id="suite"),
        pytest.param(append("tests/hidden/01_tiny/misconceptions.py"), id="misconceptions"),
        pytest.param(append("solutions/01_tiny/tiny.py"), id="solution"),
        pytest.param(append("source/01_tiny/stage.toml"), id="stage"),
        pytest.param(append("tests/hidden/documented.toml"), id="documented"),
        pytest.param(write("tests/hidden/conftest.py"), id="shared-fixtures"),
        pytest.param(append("course.toml", "\n[limits]\ncall_seconds = 4.0\n"), id="limits"),
        pytest.param(append("course.toml", "\n[reveal]\ndocumented_values = false\n"), id="reveal"),
        pytest.param(write(".course-secret", "known to no submission"), id="secret"),
    ],
)
def test_what_decides_a_grade_changes_the_key(two: Course, change: Callable[[Path], object]):
    """A change to anything that affects a grade changes the key."""
    before = key(two)
    change(two.root)

    assert key(two) != before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(append("tests/hidden/02_tiny/test_tiny.py"), id="suite-of-another-stage"),
        pytest.param(append("solutions/02_tiny/tiny.py"), id="solution-of-another-stage"),
        pytest.param(write("source/01_tiny/hints.toml", 'double = ["a", "b", "c"]'), id="hints"),
        pytest.param(write("results.json"), id="record"),
    ],
)
def test_what_decides_no_grade_changes_no_key(two: Course, change: Callable[[Path], object]):
    """A change to anything else keeps the key."""
    before = key(two)
    change(two.root)

    assert key(two) == before


def test_isolation_and_submission_are_in_the_key(two: Course):
    """The key contains isolation, submission and whether mistakes are named."""
    undiagnosed = Provenance(two, "full", diagnose=False).key("01_tiny", "code")

    assert len({key(two), key(two, "process"), key(two, digest="other"), undiagnosed}) == 4


@pytest.mark.parametrize("kind", ["package", "source", "sentences"])
def test_the_kit_and_what_is_installed_are_in_the_key(
    kind: str, two: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A new version of torch, or of the kit, grades everybody again."""
    (tmp_path / "kit").mkdir()
    monkeypatch.setattr(provenance, "KIT", tmp_path / "kit")
    monkeypatch.syspath_prepend(tmp_path)
    before = key(two)
    (tmp_path / "torch-9.dist-info").mkdir() if kind == "package" else None
    (tmp_path / "kit" / "grade.py").touch() if kind == "source" else None
    (tmp_path / "kit" / "kinds.toml").touch() if kind == "sentences" else None

    assert key(two) != before


def test_the_secret_itself_is_nowhere(two: Course):
    """The settings in a record do not depend on the secret, not even by a digest."""
    public = Provenance(two, "full").settings
    (two.root / ".course-secret").write_text("known to no submission")

    assert Provenance(two, "full").settings == public


def test_the_submission_that_is_read_decides(submit):
    """The digest of a submission contains its student, stage, code, form and remarks."""
    one = submit("x = 1")
    others = [
        submit("x = 2"),
        submit("x = 1", student="bert"),
        submit("x = 1", stage="02_tiny"),
        submit("x =", " 1"),
        msgspec.structs.replace(one, notices=("renamed",)),
        msgspec.structs.replace(one, student="caf\udce9"),  # a name that is not UTF-8
    ]

    assert submit("x = 1").digest == one.digest
    assert len({one.digest, *(other.digest for other in others)}) == 7


def test_a_clock_that_is_set_back_makes_no_negative_time(
    two: Course, submit, monkeypatch: pytest.MonkeyPatch
):
    """A clock that is set back changes the date, not the measured seconds."""

    class Earlier(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
            return dt.datetime(1999, 1, 1, tzinfo=tz)

    end = Provenance(two, "full").begin(submit("x = 1"))
    monkeypatch.setattr(provenance, "datetime", Earlier)
    monkeypatch.setattr(provenance.time, "time", lambda: 0.0)
    result = SubmissionResult(
        student="alice", stage="01_tiny", status=Status.GRADED, score=1.0, max_score=1.0
    )
    audit = end(result).audit

    assert audit is not None
    assert (audit.graded, audit.isolation) == ("1999-01-01T00:00:00Z", "full")
    assert 0 <= audit.seconds < 60
    assert audit.key == Provenance(two, "full").key("01_tiny", submit("x = 1").digest)


def test_results_of_an_earlier_suite_are_named(two: Course):
    """A result is outdated if its suite is not the present one; without a digest it is unknown."""
    now = Provenance(two, "full").suite_sha256("01_tiny")
    results = [
        SubmissionResult(
            student=student,
            stage="01_tiny",
            status=Status.GRADED,
            score=5.0,
            max_score=10.0,
            audit=Audit(graded="", seconds=1.0, isolation="full", suite_sha256=suite, key="k"),
        )
        for student, suite in (("ada", now), ("bob", "an earlier one"), ("cy", ""))
    ]
    [line] = outdated_results(two, Results(course="tiny", isolation="full", submissions=results))

    assert line.startswith("01_tiny: the suite or the solution has changed")
    assert "were graded: bob. Grade" in line
