"""Tests that garbage earns hardly any points if correct code uses it."""

from pathlib import Path

import pytest

from autograder import course as courses
from autograder.authoring.garbage import Composition, blanks, composition, garbage
from autograder.diagnosis.misconceptions import Misconception
from autograder.suite.in_process import LocalChannel, solution_channel

COURSE = courses.load(Path(__file__).parents[3])
HEADS = COURSE.stage("09")


@pytest.fixture(scope="module")
def base() -> Composition:
    """The correct program of stage 09 in which exercises use each other."""
    found = composition(HEADS)
    assert found is not None
    return found


def test_the_exercises_that_others_use_are_found(base: Composition):
    """The class that joins the heads is found to use the class of a head."""
    assert base.used == ("Attention", "CausalAttention")
    assert composition(COURSE.stage("08")) is None


def test_blanks_keep_the_constructors_only(base: Composition):
    """A blank keeps its constructor, so its parameters are right."""
    text = blanks(base)

    assert text.count("return None") == 2
    assert "self.W_query" in text


def test_each_module_of_garbage_can_be_imported(base: Composition):
    """Garbage returns arguments, early steps, or nonsense in the exercises that others use."""
    shares = {"arguments": 0.0, "early steps": 0.4}
    found = garbage(HEADS, base, solution_channel(HEADS.solution), lambda _one: shares["arguments"])

    modules = {one.name: one.module for one in found}
    assert set(modules) == {*shares, "nonsense"}
    for module in modules.values():
        assert LocalChannel("garbage", module.encode()).definitions


def test_an_exercise_without_early_steps_is_nonsense_in_each_module(base: Composition):
    """An exercise without early steps becomes nonsense, because a correct one would earn points."""

    def whole(one: Misconception) -> float:
        return float(one.exercise == "Attention")

    found = garbage(HEADS, base, solution_channel(HEADS.solution), whole)

    modules = {one.name: one.module for one in found}
    assert modules["arguments"].count("Attention.forward = _changed(Attention.forward)") == 1
