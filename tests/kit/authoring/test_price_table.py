"""Tests the modules that compute nothing, whose points `verify --full` bounds."""

from collections import namedtuple

import pytest
import torch

from autograder.authoring.price_table import FILLED, NOTHING_RETURNED

Pair = namedtuple("Pair", "text count")  # noqa: PYI024  # as students may write it
RESULTS = [
    pytest.param("tea", ["", "111", "qqq", "in"], id="text"),
    pytest.param(b"tea", [b"", b"111", b"qqq", b""], id="bytes"),
    pytest.param(None, [0, 1, 3, 0], id="none"),
    pytest.param(False, [False, True, True, False], id="truth"),
    pytest.param(["a", [2]], [["", [0]], ["1", [1]], ["q", [3]], ["in", 5]], id="nested-list"),
    pytest.param(
        {(1, "a"): 2}, [{(0, ""): 0}, {(1, "1"): 1}, {(3, "q"): 3}, {"in": 5}], id="pairs"
    ),
    pytest.param({"a", "b"}, [{""}, {"1"}, {"q"}, {"in"}], id="set"),
    pytest.param(
        Pair("a", 2), [Pair("", 0), Pair("1", 1), Pair("q", 3), Pair("in", 0)], id="named"
    ),
]


def filled(what: str, result: object) -> object:
    """Return what a right exercise with *result* returns if its results are replaced."""
    module = {"exercise": lambda *_args: result}
    exec(NOTHING_RETURNED.format(name="exercise", **FILLED[what]._asdict()), module)  # noqa: S102
    return module["exercise"]("in", ["in", 5], {"in": 5}, torch.ones(1))


@pytest.mark.parametrize(("result", "expected"), RESULTS)
def test_no_part_of_a_right_result_stays(result: object, expected: list[object]):
    """Texts, bytes, None, keys and entries are replaced at any depth."""
    assert [filled(what, result) for what in FILLED] == expected


def test_the_names_of_tensors_stay():
    """A dictionary of tensors has names that the stub prescribes, so only numbers are replaced."""
    result = filled("zeros", {"context": torch.ones(2), "steps": 3})

    assert result["steps"] == 0
    assert not result["context"].any()


def test_an_argument_stays_as_it_is():
    """The right code runs on copies, so that garbage does not also change its arguments."""
    given = ["tea"]
    module = {"exercise": lambda words: words.clear() or ["milk"]}
    exec(NOTHING_RETURNED.format(name="exercise", **FILLED["inputs"]._asdict()), module)  # noqa: S102

    assert module["exercise"](given) == ["tea"]
    assert given == ["tea"]
