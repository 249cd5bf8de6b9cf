"""Tests the choice of wrong modules for a bug hunt."""

from collections.abc import Iterator

import pytest

from autograder.student.learner_code import UNNAMED, WrongModule, first_named


def wrong_modules(*names: str) -> Iterator[WrongModule]:
    """Yield a wrong module for each of *names*."""
    for number, name in enumerate(names):
        yield WrongModule(f"change {number}", "mix", name, "", ())


@pytest.mark.parametrize(
    ("names", "change"),
    [
        pytest.param(("", "known", "other"), "change 1", id="first-with-a-name"),
        pytest.param(("", ""), "change 1", id="none-has-a-name"),
        pytest.param(("",) * UNNAMED + ("known",), f"change {UNNAMED - 1}", id="name-comes-late"),
    ],
)
def test_a_mistake_with_a_name_is_preferred(names, change):
    """A named mistake is preferred among the first few modules, which keeps the wait short."""
    chosen = first_named(wrong_modules(*names))

    assert chosen is not None
    assert chosen.change == change


def test_without_wrong_modules_there_is_none():
    """If no small change shows in the picture, there is no wrong module."""
    assert first_named(wrong_modules()) is None
