"""Lists statements about attention weights, the multiple-choice answers of a bug hunt."""

from collections.abc import Sequence
from math import isnan

from autograder.student.quiz import Claim
from autograder.student.stage_picture import CLEAR, differs
from autograder.student.stage_picture import PictureRows as Weights


def _sums(weights: Weights) -> list[float]:
    return [sum(row) for row in weights]


def _columns(weights: Weights) -> Weights:
    return tuple(zip(*weights, strict=True))


def _pairs(weights: Weights) -> list[tuple[int, int, float]]:
    return [(i, j, entry) for i, row in enumerate(weights) for j, entry in enumerate(row)]


def _numbers(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


def _row_sums(weights: Weights, _right: Weights) -> bool:
    return not all(abs(total - 1) <= CLEAR for total in _sums(weights))  # a sum may be nan


def _column_sums(weights: Weights, _right: Weights) -> bool:
    return all(abs(total - 1) <= CLEAR for total in _sums(_columns(weights)))


def _future(weights: Weights, right: Weights) -> bool:
    hidden = {(i, j) for i, j, entry in _pairs(right) if not entry}
    return any((i, j) in hidden and abs(entry) > CLEAR for i, j, entry in _pairs(weights))


def _negative(weights: Weights, _right: Weights) -> bool:
    return any(entry < -CLEAR for _, _, entry in _pairs(weights))


def _no_number(weights: Weights, _right: Weights) -> bool:
    return any(isnan(entry) for _, _, entry in _pairs(weights))


def _even(weights: Weights, _right: Weights) -> bool:
    return all(max(row) - min(row) < CLEAR for row in weights)


def _moved(weights: Weights, right: Weights) -> bool:
    """Whether the largest weight of some row is clearly at a different token than in *right*.

    In a row of *right* several weights may be the largest, as far as printed digits show.
    """
    return any(
        max(row) - max(one for one, other in pairs if max(wanted) - other <= CLEAR) > CLEAR
        for row, wanted in zip(weights, right, strict=True)
        for pairs in [[*zip(row, wanted, strict=True)]]
    )


def _changes(weights: Weights, right: Weights) -> list[float]:
    """Return how much the largest weight of each row has grown; 0 if the change is not clear."""
    grown = (max(row) - max(wanted) for row, wanted in zip(weights, right, strict=True))
    return [change if abs(change) > CLEAR else 0.0 for change in grown]


def _sharper(weights: Weights, right: Weights) -> bool:
    changes = _changes(weights, right)
    return max(changes) > 0 and min(changes) >= 0


def _flatter(weights: Weights, right: Weights) -> bool:
    changes = _changes(weights, right)
    return min(changes) < 0 and max(changes) <= 0


def _mixed(weights: Weights, right: Weights) -> bool:
    changes = _changes(weights, right)
    return min(changes) < 0 < max(changes)


def _smaller_ones(weights: Weights, right: Weights) -> bool:
    """Whether clear differences exist, but none in the largest weight of a row."""
    is_same = not any(_changes(weights, right)) and not _moved(weights, right)
    return is_same and differs(weights, right)


def _largest(weights: Weights, right: Weights) -> str:
    wrong, yours = (_numbers([max(row) for row in rows]) for rows in (weights, right))
    return f"The largest weights of its rows are {wrong}; those of yours are {yours}."


CLAIMS = (
    Claim(  # first, because a row with nan does not sum to one either
        "Some weights are nan.",
        _no_number,
        lambda _, __: "Every cell holds a number.",
    ),
    Claim(
        "At least one row does not sum to one.",
        _row_sums,
        lambda weights, _: f"The rows sum to {_numbers(_sums(weights))}.",
    ),
    Claim(
        "Each column sums to one.",
        _column_sums,
        lambda weights, _: f"The columns sum to {_numbers(_sums(_columns(weights)))}.",
    ),
    Claim(
        "A token attends to a token that should be hidden from it.",
        _future,
        lambda _, __: "No token attends to a token that is hidden from it.",
    ),
    Claim(
        "At least one weight is negative.",
        _negative,
        lambda weights, _: f"The smallest weight is {min(map(min, weights)):.2f}.",
    ),
    Claim(
        "In each row, all weights are equal.",
        _even,
        lambda weights, _: f"The first row is {_numbers(weights[0])}.",
    ),
    Claim(
        "In at least one row, the largest weight is in a different column than in yours.",
        _moved,
        lambda _, __: "In each row, the largest weight is in the same column as in yours.",
    ),
    Claim("Rows are sharper: their largest weights are larger than in yours.", _sharper, _largest),
    Claim("Rows are flatter: their largest weights are smaller than in yours.", _flatter, _largest),
    Claim("Some rows are sharper than in yours, and others are flatter.", _mixed, _largest),
    Claim(
        "Only weights that are not the largest of their row differ from yours.",
        _smaller_ones,
        lambda _, __: "The largest weight of at least one row also differs from yours.",
    ),
)
