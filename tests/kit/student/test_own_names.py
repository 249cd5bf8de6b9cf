"""Tests which exercises a definition uses."""

import pytest

from autograder.student.check import used_names

MODULE = """
import torch

def helper(x):
    return scale(x)

def scale(x):
    return x

class Block:
    def __init__(self):
        self.norm = Norm()

    def forward(self, x):
        return helper(self.norm(x))

class Norm:
    pass

class Alone:
    Block = 1
"""


@pytest.mark.parametrize(
    ("name", "names"),
    [("Block", ("Norm", "scale")), ("helper", ("scale",)), ("Alone", ()), ("missing", ())],
)
def test_exercises_are_found_directly_and_through_helpers(name: str, names: tuple[str, ...]):
    """A definition uses what it names, and what its helpers name, but not itself."""
    assert used_names(MODULE, name, {"Norm", "scale", "Block"}) == names


def test_what_checks_pass_to_an_exercise_counts_as_used():
    """The source of a function that gets a module as an argument does not name its class."""
    assert used_names(MODULE, "Alone", {"Norm", "scale"}, ["Norm"]) == ("Norm",)


@pytest.mark.parametrize("text", ["def half(", "x = 1\0", "(" * 9999])
def test_a_module_that_is_not_python_uses_nothing(text: str):
    """An invalid module is not an error."""
    assert used_names(text, "half", {"x"}) == ()
