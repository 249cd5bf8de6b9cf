"""Tests the checks before a grading run, and the files that it writes."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.grading.run import Run, RunOptions, Saved, Written, forget
from autograder.reports.html import GENERATOR
from autograder.reports.term_report import ClassList
from autograder.results import Results, Status, SubmissionResult, to_json
from autograder.stored_results import read_record
from autograder.submission.collect import LazySubmissions, find
from tests.kit.factories import SOLUTION

NO_FILES = RunOptions()
Save = Callable[..., Saved]


class Book:
    """A gradebook that takes every result."""

    def write(self, submissions, results):
        """Count the results; one of them has a fault."""
        return Written(len(list(zip(submissions, results, strict=True))), ("ada: no row",))


class LostBook:
    """A gradebook that can't be written."""

    def write(self, _submissions: object, _results: object) -> NoReturn:
        """Fail as a locked database does."""
        msg = "The gradebook is locked."
        raise UsageError(msg)


@pytest.fixture
def save(tiny: Course, tmp_path: Path) -> Save:
    """Give ada some points, and save the results; without a sandbox."""
    file = tmp_path / "tiny.py"
    file.write_text(SOLUTION)

    def grade_and_save(points: float = 5.0, options: RunOptions = NO_FILES, **settings) -> Saved:
        ada = SubmissionResult(
            student="ada", stage="01_tiny", status=Status.GRADED, score=points, max_score=10.0
        )

        def grade_each(_course, _submissions, on_result, **_options) -> Results:
            on_result(0, ada)
            return Results(course="tiny", isolation="full", submissions=())

        submissions = LazySubmissions.of([find(file, tiny.stages)])
        given = {"grade_each": grade_each} | settings
        run = Run(course=tiny, submissions=submissions, options=options, **given)
        with run.open_journal() as journal:
            return run.save(run.grade(journal))

    return grade_and_save


def test_a_run_without_a_file_writes_none(save: Save, tmp_path: Path):
    """A run without a file has a temporary journal."""
    before = sorted(tmp_path.iterdir())
    saved = save()

    assert saved[:5] == ([], [], None, ClassList(), [])
    assert sorted(tmp_path.iterdir()) == before


def test_the_record_has_a_journal_next_to_it(save: Save, tmp_path: Path):
    """The record and the journal next to it hold the same result."""
    record = tmp_path / "results.json"
    saved = save(options=RunOptions(record=record))

    assert saved[:5] == ([], [], None, ClassList(), [])
    assert [result.score for result in read_record(record).submissions] == [5.0]
    assert (tmp_path / "results.json.journal").exists()


def test_changed_scores_are_a_message(save: Save, tmp_path: Path):
    """Changed scores are those that differ from the record that is overwritten."""
    record = tmp_path / "results.json"
    save(options=RunOptions(record=record))
    saved = save(7.5, RunOptions(record=record, fresh=True))

    earlier = tmp_path / "results.earlier.json"
    assert saved.changes == [
        "1 of 1 earlier scores changed: ada, 01_tiny: 5 → 7.5 (+2.5).",
        f"The earlier record is {earlier}. `autograder diff {earlier} {record}` lists all changes.",
    ]
    assert [result.score for result in read_record(earlier).submissions] == [5.0]


def test_equal_scores_keep_no_earlier_record(save: Save, tmp_path: Path):
    """If no score changed, only the record and its journal are written."""
    record = tmp_path / "results.json"
    save(options=RunOptions(record=record))
    saved = save(options=RunOptions(record=record, fresh=True))

    assert saved.changes == ["0 of 1 earlier scores changed."]
    assert {path.name for path in tmp_path.glob("results*")} == {
        record.name,
        "results.json.journal",
    }


def test_an_earlier_record_that_cannot_be_kept_prevents_no_grade(save: Save, tmp_path: Path):
    """If the earlier record can't be copied, a line says so, and the new one is written."""
    record = tmp_path / "results.json"
    save(options=RunOptions(record=record))
    earlier = tmp_path / "results.earlier.json"
    earlier.mkdir()
    saved = save(7.5, RunOptions(record=record, fresh=True))

    assert saved.changes[1:] == [
        f"The earlier record was replaced; {earlier} can't be written: Is a directory."
    ]
    assert saved.faults == []
    assert [result.score for result in read_record(record).submissions] == [7.5]


def test_the_report_has_names(save: Save, tmp_path: Path):
    """The report has the names of students, and the message contains its first page."""
    pages = tmp_path / "pages"
    people = ClassList(names={"ada": "Ada Lovelace"})
    saved = save(options=RunOptions(report=pages), people=lambda: people)

    assert saved.messages == [f"report: {pages / 'index.html'}"]
    assert "Ada Lovelace" in (pages / "index.html").read_text("utf-8")


def test_a_fault_of_the_gradebook_is_reported(save: Save):
    """An error of the gradebook is reported, and all other results are in it."""
    saved = save(writer=Book())

    assert saved.faults == ["not in the gradebook: ada: no row"]
    assert saved.written == (1, ("ada: no row",), ())


def test_a_lost_gradebook_loses_no_grades(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """If the gradebook fails and no record was requested, one is written to a new folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    saved = save(writer=LostBook())
    locked, kept = saved.faults
    record = Path(kept.removesuffix(".").partition("The record of this run is ")[2])

    assert locked == "The gradebook is locked."
    assert kept.startswith("These grades are not in the gradebook.")
    assert [result.score for result in read_record(record).submissions] == [5.0]


def test_a_lost_gradebook_needs_no_second_record(save: Save, tmp_path: Path):
    """If the gradebook fails, the requested record holds the grades."""
    saved = save(options=RunOptions(record=tmp_path / "results.json"), writer=LostBook())

    assert saved.faults == ["The gradebook is locked."]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param({"record": "."}, ". is a folder; choose a file", id="record-is-a-folder"),
        pytest.param({"record": "no/r.json"}, "The folder no for r.json does not", id="no-folder"),
        pytest.param({"report": "tiny.py"}, "is a file; choose a folder", id="report-is-a-file"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(
    options: dict[str, str],
    sentence: str,
    tiny: Course,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """A path that cannot be written is refused before the grading."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.py").touch()
    with pytest.raises(UsageError, match=sentence):
        RunOptions(**{name: Path(path) for name, path in options.items()}).require_writable(tiny)


def result(student: str, stage: str = "01_tiny") -> SubmissionResult:
    """Return a result with full marks."""
    return SubmissionResult(
        student=student, stage=stage, status=Status.GRADED, score=10.0, max_score=10.0
    )


def test_the_report_follows_the_record(save: Save, tiny: Course, tmp_path: Path):
    """After a run of one student, the report has all results, and no page of results that left."""
    record, pages = tmp_path / "results.json", tmp_path / "pages"
    others = (result("bob"), result("ada", "02_gone"))
    record.write_bytes(to_json(Results(course=tiny.id, isolation="full", submissions=others)))
    pages.mkdir()
    (pages / "cy--01-tiny.html").write_text(f"<!doctype html>{GENERATOR}")
    (pages / "notes.html").write_text("mine")
    saved = save(options=RunOptions(record=record, report=pages))

    assert saved.faults == []
    assert {path.name for path in pages.glob("*.html")} == {
        "index.html", "term.html", "bob--01-tiny.html", "ada--01-tiny.html",
        "ada--02-gone.html", "notes.html",
    }  # fmt: skip
    assert len(read_record(record).submissions) == len(saved.whole.submissions) == 3
    assert f"{record}: 2 other results were kept." in saved.changes


def test_a_run_without_a_record_hides_no_pages_of_others(tiny: Course, tmp_path: Path):
    """A report of fewer results than the folder has is refused before the grading."""
    file, pages = tmp_path / "tiny.py", tmp_path / "pages"
    file.write_text(SOLUTION)
    pages.mkdir()
    (pages / "cy--01-tiny.html").write_text(f"<!doctype html>{GENERATOR}")
    run = Run(
        course=tiny,
        submissions=LazySubmissions.of([find(file, tiny.stages)]),
        options=RunOptions(report=pages),
    )
    with pytest.raises(UsageError, match="1 page of other results, such as cy--01-tiny"):
        run.require_whole_report()


def test_forgetting_removes_a_result_from_the_record_and_the_journal(
    save: Save, tiny: Course, tmp_path: Path
):
    """A forgotten student is in neither file, and a later run grades the submission again."""
    record = tmp_path / "results.json"
    save(options=RunOptions(record=record))
    left = forget(tiny, record, {("tiny", "01_tiny"), ("ada", "01_tiny")})

    assert len(left.submissions) == 0
    assert "ada" not in record.with_name("results.json.journal").read_text()
    assert [one.score for one in save(7.5, RunOptions(record=record)).whole.submissions] == [7.5]
