"""Tests the first question of a hunt: which statement is true of the wrong picture alone."""

from pathlib import Path
from random import Random

from autograder.student.quiz import Claim, choose, claims_of, true_claims

RIGHT, WRONG = ((1.0, 0.0),), ((2.0, 0.0),)
CLAIMS = tuple(
    Claim(f"The first number is {number}.", lambda wrong, _, n=number: wrong[0][0] == n, str)
    for number in range(9)
)


def test_one_true_claim_is_offered_among_false_ones():
    """Four claims are offered, and only one of them is true of the wrong picture."""
    chosen = choose(CLAIMS, WRONG, RIGHT, Random(1))  # noqa: S311  # no secret depends on it

    assert len(chosen) == 4
    assert {*chosen} & {*true_claims(CLAIMS, WRONG, RIGHT)} == {2}


def test_a_claim_that_is_also_true_of_the_right_picture_is_no_answer():
    """A claim about both pictures is not an answer; without an answer, nothing is asked."""
    assert true_claims(CLAIMS, RIGHT, RIGHT) == []
    assert choose(CLAIMS, RIGHT, RIGHT, Random(1)) == []  # noqa: S311  # no secret depends on it


def test_a_course_without_a_quiz_has_no_claims(tmp_path: Path):
    """The claims are in `quiz.py` of the course's own modules, which a course may lack."""
    assert claims_of(tmp_path / "01_words") == ()

    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "quiz.py").write_text("CLAIMS = ('a claim',)")

    assert claims_of(tmp_path / "01_words") == ("a claim",)
