"""Tests that the record of a term keeps what a run did not grade."""

from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.grading.term_record import merge, not_submitted, read_earlier, without
from autograder.reports.explanation import explanation_lines
from autograder.results import Results, Settings, Status, SubmissionResult, from_json, to_json
from autograder.stored_results import scores_of


def run(*results: tuple[str, str, float], kit: str = "1", **fields: object) -> Results:
    """Return the record of a run of version *kit*; a result is a student, a stage and points."""
    settings = Settings(
        kit=kit,
        kit_sha256="",
        course_sha256="",
        python="3",
        torch="2",
        machine="x",
        packages_sha256="",
        limits={},
    )
    made = [
        SubmissionResult(
            student=student, stage=stage, status=Status.GRADED, score=points, max_score=10.0
        )
        for student, stage, points in results
    ]
    return Results(course="tiny", isolation="full", submissions=made, settings=settings, **fields)


def scores(results: Results) -> list[tuple[str, str, float]]:
    """Return the results as pairs of keys and points."""
    return [(one.student, one.stage, one.score) for one in scores_of(results)]


CLASS = run(("ada", "01", 5.0), ("bob", "01", 6.0), ("ada", "02", 7.0))


def test_a_run_of_one_student_keeps_the_others():
    """A new result takes the place of the earlier one; all others stay."""
    merged = merge(CLASS, run(("ada", "01", 9.0)))

    assert scores(merged.results) == [("ada", "01", 9.0), ("bob", "01", 6.0), ("ada", "02", 7.0)]
    assert merged.kept == (("bob", "01"), ("ada", "02"))


def test_a_run_of_another_stage_is_added_at_the_end():
    """A stage that is graded for the first time drops no other stage."""
    merged = merge(CLASS, run(("ada", "03", 1.0), ("bob", "03", 2.0)))

    assert scores(merged.results) == [*scores(CLASS), ("ada", "03", 1.0), ("bob", "03", 2.0)]


def test_several_results_of_one_key_replace_all_earlier_ones():
    """Two submissions of one student for one stage stay two, and the earlier ones go."""
    twice = run(("ada", "01", 1.0), ("ada", "01", 2.0))

    assert scores(merge(twice, twice).results) == scores(twice)
    assert scores(merge(twice, run(("ada", "01", 3.0))).results) == [("ada", "01", 3.0)]


def test_a_result_without_a_stage_goes_when_its_student_is_graded():
    """A submission that could not be recognized is replaced by the one that can."""
    unknown = run(("ada", "", 0.0), ("bob", "", 0.0))

    assert scores(merge(unknown, run(("ada", "01", 3.0))).results) == [
        ("bob", "", 0.0),
        ("ada", "01", 3.0),
    ]


def test_a_forgotten_result_is_removed():
    """A forgotten result is in the record no more, and the others are as they were."""
    assert scores(without(CLASS, {("ada", "01")})) == [("bob", "01", 6.0), ("ada", "02", 7.0)]
    assert without(CLASS, set()).settings == CLASS.settings


def test_kept_results_keep_the_settings_with_which_they_were_graded():
    """After a run of a newer kit, `explain` prints the older version for an older result."""
    once = merge(CLASS, run(("ada", "01", 9.0), kit="2")).results
    twice = from_json(to_json(merge(once, run(("bob", "01", 8.0), kit="3")).results))
    kits = {one: twice.run_of(*one).settings.kit for one in [("ada", "01"), ("bob", "01"),
            ("ada", "02")]}  # fmt: skip

    assert kits == {("ada", "01"): "2", ("bob", "01"): "3", ("ada", "02"): "1"}
    kept = next(one for one in twice.submissions if one.stage == "02")
    assert any("kit           1," in text for text in explanation_lines(twice, kept))


def test_equal_settings_are_written_once():
    """A run with the settings of the earlier one adds nothing to the head of the record."""
    assert merge(CLASS, run(("ada", "01", 9.0))).results.earlier == {}


def test_the_order_of_the_runs_of_two_stages_loses_nothing():
    """Two runs in either order give the same results."""
    first, second = run(("ada", "01", 1.0)), run(("ada", "02", 2.0))

    assert sorted(scores(merge(first, second).results)) == sorted(
        scores(merge(second, first).results)
    )


def test_results_without_a_submission_are_named_for_the_graded_stages():
    """A class run names who is in the record only, for the stages that it graded."""
    kept = (("cy", "01"), ("bob", "01"), ("dan", "02"))
    [line] = not_submitted(kept, {"01"}, Path("r.json"))

    assert "bob, cy" in line
    assert "dan" not in line
    assert "autograder grade --json r.json --forget bob" in line


def test_a_file_that_is_not_a_record_of_this_course_is_refused(tiny: Course, tmp_path: Path):
    """A run never writes over notes, or over the record of a different course."""
    file = tmp_path / "results.json"

    assert read_earlier(file, tiny) is None
    file.write_text("my notes")
    with pytest.raises(UsageError, match="It was not changed"):
        read_earlier(file, tiny)
    file.write_bytes(to_json(Results(course="other", isolation="full", submissions=())))
    with pytest.raises(UsageError, match="the record of the course 'other'"):
        read_earlier(file, tiny)
