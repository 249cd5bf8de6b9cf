"""Says by which number a student's code multiplies or divides, and which size that is.

A number is called a size only where it is that size in several calls, with different values.
"""

from collections.abc import Sequence
from typing import NamedTuple

from autograder.diagnosis.heuristics import WrongAnswerPattern
from autograder.diagnosis.single_changes import Knob, RightCall

EXACT = 2e-4  # of a number: how close it must be to a size to be called so
APART = 2e-2  # of a number: one of another call that is further off is another, rounding or not

SENTENCES = {
    "other_scaling": "Your result is what the right computation gives if it {} by {} where it "
    "should {} by {}.",
    "no_scaling": "Your result is what the right computation gives if it does not {} by {}.",
    "more_scaling": "Your result is what the right computation gives if the numbers that it {} by "
    "{} are first {} by {}.",
    "factor": "Your result is what the right computation gives if all numbers in {} are {} by {}.",
    "summand": "Your result is what the right computation gives if {} is added to all numbers in "
    "{}.",
    "variation": "Your result is what the right computation gives if {}.",
}
SCALING = "By which number do you divide or multiply, how often, and of which tensor is it a size?"
QUESTIONS = {
    "other_scaling": SCALING,
    "no_scaling": "Which step takes care that the numbers do not grow with the sizes of tensors?",
    "more_scaling": SCALING,
    "factor": SCALING,
    "summand": "Which step adds that number, or leaves out what should be subtracted?",
    "variation": "Which of your steps does that, or leaves out what would prevent it?",
}
DOES = {"divide": "divides", "multiply": "multiplies"}
DONE = {"divide": "divided", "multiply": "multiplied"}


class Fit(NamedTuple):
    """The number of *knob* that gives a student's results of a call."""

    right: RightCall
    knob: Knob
    number: float


class _Operation(NamedTuple):
    verb: str
    by: str
    is_size: bool


def say_fit(fits: Sequence[Fit], calls: Sequence[RightCall]) -> WrongAnswerPattern:
    """Describe the first of *fits*, which are of one knob in several of *calls*."""
    knob = fits[0].knob
    if knob.kind == "summand":
        return pattern("summand", _said([fit.number for fit in fits]), knob.name)
    change = _operation([(fit.right, fit.number) for fit in fits])
    if knob.kind == "factor":
        return pattern("factor", knob.name, DONE[change.verb], change.by)
    right = _operation([(one, one.scaling) for one in calls if one.scaling])
    scalings = [(fit.right, fit.knob.right * fit.number) for fit in fits]
    theirs = _operation(scalings)
    if _same(scalings[0][1], 1) and all(_same(one, 1, APART) for _, one in scalings):
        return pattern("no_scaling", right.verb, right.by)
    if theirs.is_size or (len(theirs.by) < len(change.by) and not change.is_size):
        return pattern("other_scaling", DOES[theirs.verb], theirs.by, right.verb, right.by)
    return pattern("more_scaling", DOES[right.verb], right.by, DONE[change.verb], change.by)


def pattern(name: str, *words: object) -> WrongAnswerPattern:
    """Return the pattern *name*, with *words* in the places that its sentence leaves."""
    return WrongAnswerPattern(name, SENTENCES[name].format(*words), QUESTIONS[name])


def _operation(factors: Sequence[tuple[RightCall, float]]) -> _Operation:
    """Return what *factors* do, each in its call: one operation, perhaps with several numbers."""
    inverse = [(right, 1 / factor) for right, factor in factors if factor]
    for verb, numbers in (("multiply", factors), ("divide", inverse)):
        if words := _size(numbers):
            return _Operation(verb, f"{numbers[0][1]:.4g} ({words})", is_size=True)
    times, by = (_said([number for _, number in numbers]) for numbers in (factors, inverse))
    if len(inverse) == len(factors) and len(by) < len(times):  # 3 is easier to read than 0.3333
        return _Operation("divide", by, is_size=False)
    return _Operation("multiply", times, is_size=False)


def _said(numbers: Sequence[float]) -> str:
    """Return the first of *numbers*, and one that is another."""
    first = "".join(f"{one:.4g}" for one in numbers[:1])
    others = (one for one in numbers if not _same(one, numbers[0], APART))
    return next((f"{first} in one call and {one:.4g} in another" for one in others), first)


def _size(numbers: Sequence[tuple[RightCall, float]]) -> str:
    """Return what all *numbers* are the size of, "" if that is not certain."""
    if not numbers or all(_same(one, numbers[0][1]) for _, one in numbers):
        return ""
    names = numbers[0][0].sizes
    known = (one for one in names if all(_same(n, right.sizes.get(one, 0)) for right, n in numbers))
    return next(known, "")


def _same(number: float, size: float, share: float = EXACT) -> bool:
    return abs(number - size) <= share * abs(size)
