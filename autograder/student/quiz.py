"""Asks which statement about two pictures is true: the first question of a bug hunt.

A course lists its statements as ``CLAIMS`` in ``quiz.py`` of its own modules.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from autograder.student.course_modules import course_module, module_names
from autograder.student.stage_picture import PictureRows

CHOICES: Final = 4
MODULE: Final = "quiz"


class Claim(NamedTuple):
    """A *sentence* about a picture, whether it *holds*, and what the picture *shows* if not.

    Both functions get the wrong picture and the right one.
    """

    sentence: str
    holds: Callable[[PictureRows, PictureRows], bool]
    shows: Callable[[PictureRows, PictureRows], str]


def claims_of(folder: Path) -> Sequence[Claim]:
    """Return the claims of the course of the stage in *folder*; it may have none."""
    if MODULE not in module_names(folder):
        return ()
    claims: Sequence[Claim] = course_module(folder, MODULE).CLAIMS
    return claims


def true_claims(claims: Sequence[Claim], wrong: PictureRows, right: PictureRows) -> list[int]:
    """List the indices of the *claims* that hold for the *wrong* picture but not for *right*."""
    return [
        index
        for index, claim in enumerate(claims)
        if claim.holds(wrong, right) and not claim.holds(right, right)
    ]


def choose(
    claims: Sequence[Claim], wrong: PictureRows, right: PictureRows, random: Random
) -> list[int]:
    """Choose the claims to offer, in random order: the first true one and some false ones.

    Without a true claim, there is no question, and the list is empty.
    """
    true = true_claims(claims, wrong, right)[:1]
    if not true:
        return []
    false = [index for index, claim in enumerate(claims) if not claim.holds(wrong, right)]
    chosen = [*true, *random.sample(false, min(CHOICES - 1, len(false)))]
    random.shuffle(chosen)
    return chosen
