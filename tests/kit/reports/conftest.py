"""Provides the record of a graded class."""

import random

import pytest
from msgspec.structs import replace

from autograder.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Grid,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from tests.kit.factories import HOSTILE_TEXTS, TOKENS, MakeCheck, MakeResults, MakeSubmission


@pytest.fixture(scope="session")
def weights() -> Grid:
    """Attention weights of six tokens, wrong in the row of the second one."""
    expected = tuple(tuple(f"{0.1 + 0.01 * (i + j):.4f}" for j in range(6)) for i in range(6))
    yours = (expected[0], ("0.9000",) * 6, *expected[2:])
    wrong = tuple((i == 1,) * 6 for i in range(6))
    difference = tuple(("0.7000" if i == 1 else "0.0000",) * 6 for i in range(6))
    return Grid(expected, yours, difference, wrong, TOKENS, TOKENS)


@pytest.fixture
def diagnosis() -> Diagnosis:
    """A mistake by name."""
    return Diagnosis("forgets_to_scale", "The scores are not scaled.", "How long are the vectors?")


@pytest.fixture
def failed_check(check: MakeCheck, weights: Grid, diagnosis: Diagnosis) -> CheckResult:
    """A failed check with message, diagnosis and grid."""
    return check(
        Outcome.FAILED,
        title="The weights are the documented ones.",
        message="double(inputs) differs in 6 of 36 entries, by up to 0.7000.",
        diagnosis=diagnosis,
        grid=weights,
    )


@pytest.fixture
def given_check(check: MakeCheck) -> CheckResult:
    """A check worth two points that passed with the solution's code for another exercise."""
    message = "Right, with our half in place of yours. Fix half first."
    return check(given="half", message=message)


@pytest.fixture
def graded_class(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults, failed_check: CheckResult
) -> Results:
    """A small class: one complete, two with the same mistake, one unreadable, one grader error."""
    return results(
        submission(check(), student="ada"),
        submission(
            check(), failed_check, student="alan", notices=("cell 7 raised",), ignored=("a.txt",)
        ),
        submission(failed_check, student="emmy"),
        submission(student="ruth", status=Status.UNREADABLE, message="Nothing was submitted."),
        submission(student="zoe", status=Status.GRADER_ERROR, score=None, message="Ours."),
    )


@pytest.fixture(scope="session")
def hostile(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults, weights: Grid
) -> Results:
    """A class in which every text holds markup, escapes or far too much."""
    checks = (
        check(
            Outcome.FAILED,
            title=f"{text} title",
            message=f"{text} message",
            diagnosis=Diagnosis(text, f"{text} explanation", f"{text} hint"),
            grid=replace(weights, rows=(text,) * 6, yours=((text,) * 6,) * 6),
        )
        for text in HOSTILE_TEXTS
    )
    return results(
        *(
            submission(
                item, student=text, message=text, notices=(text,) * 500, ignored=(text,) * 500
            )
            for text, item in zip(HOSTILE_TEXTS, checks, strict=True)
        )
    )


@pytest.fixture(scope="session")
def large_class(check: MakeCheck, submission: MakeSubmission, results: MakeResults) -> Results:
    """Three hundred students, 24 checks each: good, weak, pairs, stubs, and no submissions."""
    draw = random.Random(300)  # noqa: S311  # the same class in every run

    def made(number: int) -> SubmissionResult:
        student, skill = f"s{number:03}", draw.random()
        if number % 50 == 0:
            text = "No tiny.py was submitted: there is only README.md."
            return submission(student=student, status=Status.UNREADABLE, message=text)
        exercises = tuple(
            ExerciseResult.of(
                name, tuple(one(name, step, passed=draw.random() < skill) for step in range(6))
            )
            for name in ("double", "Scale", "quadruple", "octuple_with_a_longer_name")
        )
        earned = sum(item.score for item in exercises)
        facts = {"exercises": exercises, "score": earned, "max_score": 48.0}
        return submission(student=student, sha256=f"{number % 280}", **facts)

    def one(exercise: str, step: int, *, passed: bool) -> CheckResult:
        name, title = f"test_{step}", f"{exercise} keeps its promise number {step} on new inputs."
        if passed:
            return check(name=name, title=title)
        mistake = Diagnosis(f"m{step}", f"Mistake {step} of {exercise}, in a sentence.", "Why?")
        message = f"{exercise}(inputs) differs in {step} of 36 entries, by up to 0.7000."
        return check(Outcome.FAILED, name=name, title=title, message=message, diagnosis=mistake)

    return results(*map(made, range(300)))
