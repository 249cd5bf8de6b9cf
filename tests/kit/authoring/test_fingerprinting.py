"""Tests the programs that run for fingerprints, and the data that is kept."""

from collections.abc import Iterator
from itertools import pairwise
from unittest.mock import Mock

import pytest
import torch
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring import fingerprinting
from autograder.authoring.fingerprinting import (
    FingerprintMaker,
    Made,
    PublicChecks,
    Steadiness,
    kinds_of,
)
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints
from autograder.diagnosis.fingerprints import Print, agree
from autograder.diagnosis.observation import Observation
from autograder.grading.context import RecordingContext
from autograder.grading.suite_runner import open_suites
from autograder.suite.in_process import solution_channel
from autograder.suite.packed_numbers import PACKED, pack, unpack
from autograder.suite.student_proxy import Student


@pytest.fixture
def public(tiny: Course) -> Iterator[PublicChecks]:
    """The checks of the tiny stage, as if all were public."""
    (stage,) = tiny.stages
    with open_suites(tiny, tiny.stages) as runner:
        checks = runner.checks(stage.name)
        yield PublicChecks(stage, solution_channel(stage.solution), checks, runner.run)


@pytest.fixture
def made(public: PublicChecks) -> Made:
    """The fingerprints of the tiny stage."""
    return FingerprintMaker(public).make()


def test_every_program_with_one_kind_of_mistake_has_a_number(public: PublicChecks, made: Made):
    """Every program with one kind of mistake has a number in the fingerprints."""
    kinds = kinds_of(public.stage, public.solution)

    assert kinds
    assert len(made.fingerprints.programs) == len(kinds)
    assert {one.exercise for one in kinds} == {"double", "Scale"}


def test_a_program_that_passes_has_no_wording(public: PublicChecks, made: Made):
    """Fingerprints contain no text about a program that passes every public check."""
    kinds = kinds_of(public.stage, public.solution)
    first = len(made.fingerprints.mistakes)
    failing = {
        number - first
        for prints in made.fingerprints.prints.values()
        for one in prints
        for number in one.of
        if number >= first
    }
    worded = {n for n in range(len(kinds)) if made.fingerprints.programs[n] >= 0}

    assert worded == failing


def test_a_sample_has_the_same_numbers(public: PublicChecks, made: Made):
    """`verify` compares some programs, so each must have the same number as among all programs."""
    sample = FingerprintMaker(public).make(only_sample=True)

    assert set(sample.compared) < set(made.compared)
    assert len(sample.fingerprints.programs) == len(made.fingerprints.programs)


def test_a_borderline_result_is_kept_only_for_the_same_inputs(
    public: PublicChecks, made: Made, tiny: Course, monkeypatch: pytest.MonkeyPatch
):
    """After a change of the suite's inputs, a borderline result is undecided."""
    known = made.fingerprints
    before = known.by_check()
    with open_suites(tiny, tiny.stages, context=RecordingContext(tiny)) as runner:
        checks = runner.checks(public.stage.name)
        other = PublicChecks(public.stage, public.solution, checks, runner.run)
        now = FingerprintMaker(other).make().fingerprints.by_check()
        borderline = Mock(return_value=Steadiness.BORDERLINE)
        monkeypatch.setattr(fingerprinting, "steadiness", borderline)
        changed = FingerprintMaker(other, known).make().fingerprints
    drawn = {key for key in before if key[0] == "test_doubles_unseen_numbers"}
    moved = {key for key in drawn if not agree(before[key], now[key])}

    assert moved
    assert moved <= changed.undecided_by_check()
    assert FingerprintMaker(public, known).make().fingerprints.by_check() == before


def test_the_parts_of_answers_are_kept_once(public: PublicChecks):
    """The gradients of the input and of the parameter are stored next to the output."""
    student = Student(public.solution)
    student.new("Scale", 3).gradients(torch.ones(3), cotangent=torch.ones(3))
    seen = fingerprints.shown_by(Observation(student.observed, None))
    maker = FingerprintMaker(public)
    (kept,) = maker._keep_answers(seen.answers)
    known = maker.make().fingerprints

    assert set(seen.answers[0]) == {"output", "gradients"}
    assert fingerprints.PARTS in known.answers[kept]
    assert known.shown(Print(0, (kept,), ())).answers == seen.answers


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        pytest.param([{"1": [0.5]}, [{"1": [0.5]}, {"1": [0.7]}]], 3, id="tensors-in-tuples"),
        pytest.param([[0.5, 0.7], [0.5, 0.7]], 2, id="numbers-in-lists"),
        pytest.param([0.5, 0.7], 1, id="numbers"),
        pytest.param({"a": [{"1": [0.5]}], "b": 2}, 5, id="a-list-with-a-name"),
        pytest.param({fingerprints.ENTRIES: 0.5}, 3, id="a-name-that-is-a-key-of-the-format"),
        pytest.param({fingerprints.PARTS: [0.5]}, 3, id="another-such-name"),
        pytest.param({PACKED: [0.5]}, 3, id="the-name-of-packed-numbers"),
    ],
)
def test_the_entries_of_lists_are_kept_once(public: PublicChecks, answer: object, values: int):
    """A list of tensors is stored entry by entry, and a list of numbers is stored whole."""
    maker = FingerprintMaker(public)
    (kept,) = maker._keep_answers([answer])
    answers, column = pack(maker._answers.all())
    made = FingerprintMaker(public).make().fingerprints
    known = replace(made, answers=answers, column=column)

    assert len(answers) == values
    assert known.shown(Print(0, (kept,), ())).answers == [answer]


def neighbours(answers: list[object]) -> set[tuple[float, float]]:
    """Return the pairs of adjacent numbers in the tensors of *answers*."""
    found: set[tuple[float, float]] = set()
    for answer in answers:
        tensors = answer.values() if isinstance(answer, dict) else [answer]
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                rounded = [round(number, 4) for number in tensor.detach().flatten().tolist()]
                found |= {pair for pair in pairwise(rounded) if not set(pair) <= {0, 1, -1}}
    return found


def solved(course: Course, stages: list[Stage], *, public: bool) -> set[tuple[float, float]]:
    """Return the pairs of adjacent numbers in the solution's answers to a suite."""
    found: set[tuple[float, float]] = set()
    with open_suites(course, stages, public=public, diagnose=False) as runner:
        for stage in stages:
            solution = solution_channel(stage.solution)
            for check in runner.checks(stage.name):
                answers = runner.run(check.item, solution).answers
                found |= neighbours([answer for _, answer in answers])
    return found


def test_no_value_of_a_hidden_input_is_published(pytestconfig: pytest.Config):
    """No fingerprint contains an answer of the solution to inputs drawn from a secret."""
    course = courses.load(pytestconfig.rootpath)
    stages = [course.stage(number) for number in ("04", "08")]
    hidden = solved(course, stages, public=False) - solved(course, stages, public=True)
    published: set[tuple[float, float]] = set()
    for stage in stages:
        known = fingerprints.read(stage.records)
        answers = unpack(known.answers, known.column)
        published |= neighbours([torch.tensor(one) for one in number_lists(answers)])

    assert len(hidden) > 100
    assert hidden & published == set()


def number_lists(value: object) -> list[list[float]]:
    """Return every list of numbers in decoded JSON."""
    if isinstance(value, dict):
        return number_lists(list(value.values()))
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, int | float) for item in value):
            return [list(map(float, value))]
        return [found for item in value for found in number_lists(item)]
    return []
