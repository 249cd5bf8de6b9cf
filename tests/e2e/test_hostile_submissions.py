"""Tests that no hostile submission gains points, reads secrets or changes other files.

The submissions whose tests run are graded in one batch, with honest submissions between them;
``make hostile`` also grades each alone, and measures what it costs.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, get_args

import msgspec
import pytest
from msgspec.structs import replace

from autograder.grading.grade import grade
from autograder.grading.suite_runner import open_suites
from autograder.results import Outcome, Status, SubmissionResult
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.namespaces import access_times, has_process_numbers
from autograder.sandbox.static_names import Use
from autograder.suite.checks import CheckSpec, Layer
from autograder.suite.student_proxy import Student
from tools.hostile_submissions import (
    HONEST_EVERY,
    STAGE,
    Group,
    Traces,
    among_honest,
    attacks,
    checks_of,
    course_with_low_limits,
    expected,
    hiding,
    honest_submission,
    hostile_submissions,
    leaving_traces,
    runnable,
    said_next_to_hidden_inputs,
    watched,
    with_neighbours,
)

MAX_RECORD = 65_536  # bytes of JSON about one submission, for any exception

pytestmark = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)


class Batch(NamedTuple):
    """The results of the class, and what grading left behind."""

    results: dict[str, SubmissionResult]
    specs: dict[str, CheckSpec]  # of each check, by its name
    traces: Traces


def cases(names: Sequence[str]):
    """Return the attacks *names* as parameters of a test."""
    return [
        pytest.param(name, marks=pytest.mark.slow if expected(name).slow else ()) for name in names
    ]


@pytest.fixture(scope="module")
def batch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Grade the attacks of the selected tests once, or all if no selected test names one."""
    asked = {
        item.callspec.params["attack"]
        for item in request.session.items
        if item.path == request.path and "attack" in getattr(item, "fixturenames", ())
    }
    course = course_with_low_limits(tmp_path_factory.mktemp("course"))
    hostile = hostile_submissions(course, tmp_path_factory.mktemp("class") / "hostile")
    with open_suites(course, [course.stage(STAGE)]) as runner:
        specs = {check.name: check.spec for check in runner.checks(STAGE)}
    hostile = [one for one in hostile if one.student in (asked or attacks())]
    class_ = among_honest(hostile, honest_submission(course))
    with watched(course) as traces:
        results = grade(course, class_, jobs=2, diagnose=False)  # most of the time would go there
    return Batch({result.student: result for result in results.submissions}, specs, traces)


@pytest.fixture(params=["quick", pytest.param("slow", marks=pytest.mark.slow)])
def whole_batch(batch: Batch) -> Batch:
    """The batch, for tests that run once with the quick attacks and once with the slow ones."""
    return batch


@pytest.mark.parametrize("attack", cases(attacks()))
def test_gains_nothing(batch, attack):
    """A hostile submission gets the expected result, and its record stays small."""
    allowed, result = expected(attack), batch.results[attack]

    assert result.status in allowed.status, result.message
    assert result.score <= allowed.at_most
    if allowed.checks is not None:
        assert {check.status for check in checks_of(result)} <= set(allowed.checks)
    assert len(msgspec.json.encode(result)) <= MAX_RECORD


@pytest.mark.parametrize("attack", cases(runnable()))
def test_says_nothing_next_to_hidden_inputs(batch, attack):
    """The message of a check with hidden inputs contains neither numbers nor text of the student.

    The only number may be the time limit of the course, which a slow machine can reach.
    """
    messages = said_next_to_hidden_inputs(batch.results[attack], batch.specs)

    assert messages
    messages = re.sub(r"all \d+ seconds are used up", "", messages)
    assert "CANARY" not in messages
    assert not re.search(r"(?<!\w)\d", messages), messages


@pytest.mark.parametrize("attack", cases(hiding()))
def test_a_hidden_shortcut_breaks_every_rule(batch, attack):
    """Each exercise that hides ready-made attention breaks the rule, and is on the review list."""
    result = batch.results[attack]
    rules = [
        check for check in checks_of(result) if batch.specs[check.name].layer is Layer.FORBIDDEN
    ]

    assert {check.status for check in rules} == {Status.FORBIDDEN}
    assert any("instructor" in notice for notice in result.notices)


@pytest.mark.parametrize("attack", cases(sorted({*runnable()} - {*hiding()})))
def test_passes_no_probe(batch, attack):
    """On hidden inputs, only a correct implementation passes."""
    probes = [
        check.outcome
        for check in checks_of(batch.results[attack])
        if batch.specs[check.name].layer is Layer.PROBE
    ]

    assert probes
    assert Outcome.PASSED not in probes


@pytest.mark.parametrize("attack", cases(with_neighbours()))
def test_nothing_of_the_second_run_is_in_the_record(batch, attack):
    """Texts that code sends when it sees a class of the solution are dropped."""
    assert b"CANARY" not in msgspec.json.encode(batch.results[attack])


@pytest.mark.skipif(
    not has_process_numbers() or access_times() != "unchanged",
    reason="here only the texts are frozen, and the first ones differ between two runs",
)
def test_no_page_depends_on_hidden_inputs(tmp_path):
    """Code that leaves traces of hidden inputs gets the same page under two secrets of a course."""
    pages = []
    for secret in ("a secret of the course", "another secret of the course"):
        course = course_with_low_limits(tmp_path / secret, secret)
        hostile = hostile_submissions(course, tmp_path / f"class of {secret}")
        class_ = [one for one in hostile if one.student in leaving_traces()]
        results = grade(course, class_, jobs=2, diagnose=False).submissions
        pages.append([replace(one, audit=None) for one in results])

    assert pages[0] == pages[1]
    assert all("CANARY" in " ".join(one.notices) for one in pages[0])


@pytest.mark.parametrize("attack", cases(attacks()))
def test_every_failure_has_a_message(batch, attack):
    """A failed check has a reason and earns no points, and the grader itself did not fail."""
    result = batch.results[attack]
    failed = [check for check in checks_of(result) if check.outcome is not Outcome.PASSED]

    assert all(check.message and check.points == 0 for check in failed)
    assert result.status is not Status.GRADER_ERROR


def test_honest_students_have_full_marks(whole_batch):
    """Honest submissions between hostile ones get full marks."""
    results = whole_batch.results
    honest = [result for name, result in results.items() if name.startswith("honest")]
    lost = [
        (result.student, check.name, check.message)
        for result in honest
        for check in checks_of(result)
        if check.outcome is not Outcome.PASSED
    ]

    assert lost == []
    assert len(honest) > (len(results) - len(honest)) // HONEST_EVERY
    assert all(result.score == result.max_score for result in honest)


def test_nothing_outside_has_changed(whole_batch):
    """Suites, solutions and files of others are unchanged after the attacks."""
    assert whole_batch.traces.changed_files == []


def test_no_private_folder_is_left(whole_batch):
    """The private folders of all workers are removed, even very deep ones."""
    assert whole_batch.traces.left_folders == []


def test_no_process_is_left(whole_batch):
    """No worker, no child of a worker and no fork server outlives the grading."""
    assert whole_batch.traces.left_processes == []


def test_every_group_of_attacks_is_represented():
    """Each group of attacks has at least one submission."""
    assert {expected(attack).group for attack in attacks()} == set(get_args(Group))


@pytest.mark.slow
def test_a_check_that_works_without_end_costs_its_submission_only(tmp_path, monkeypatch):
    """A source that keeps the suite busy uses up its own time; the next submission is graded."""
    known = Student.uses

    def uses(student: Student, name: str, **options: bool) -> tuple[Use, ...]:
        while any(use.name == "slow" for use in known(student, name)):
            pass
        return known(student, name, **options)

    monkeypatch.setattr(Student, "uses", uses)
    course = course_with_low_limits(tmp_path / "course")
    course = replace(
        course, file=replace(course.file, limits=replace(course.limits, submission_seconds=2.0))
    )
    honest = honest_submission(course)
    (source,) = honest.code.cells
    slow_source = (
        source.replace(b"super().__init__()", b"super().__init__(); slow", 1) + b"\nslow = 1\n"
    )
    hostile = replace(honest, student="slow", code=replace(honest.code, cells=(slow_source,)))

    results = grade(course, [hostile, honest], jobs=1, diagnose=False)
    slow_result, honest_result = results.submissions
    statuses = {check.name: check.status for check in checks_of(slow_result)}

    assert statuses["test_v1_frozen_is_built_by_hand"] is Status.TIMEOUT
    assert statuses["test_v2_is_built_by_hand"] is Status.TIMEOUT
    assert honest_result.score == honest_result.max_score
