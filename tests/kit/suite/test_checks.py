"""Tests the decorator, the layers and the assertion of suites."""

from pathlib import Path
from typing import get_args

import pytest

from autograder.course import find_root
from autograder.errors import CourseError
from autograder.results import Status
from autograder.sandbox.protocol import Verb
from autograder.suite.checks import (
    CheckSpec,
    CollectedCheck,
    Layer,
    Rule,
    WrongAnswer,
    check,
    collected_check,
    expect,
    layer_of,
    read_rules,
    spec_of,
)
from autograder.suite.student_proxy import RemoteModule, Student

HEAD = "format_version = 1\n"
DTYPE = '[[rule]]\nname = "dtype"\nsentence = "Same dtype."\nmethods = []\n'


@check("double", points=2, layer="probe", needs=("Scale",))
def marked():
    """Doubled unseen numbers are also right.

    This paragraph is for the instructor.
    """


def unmarked(): ...  # noqa: D103  # the case without a docstring


class Item:
    """A pytest item of one function."""

    def __init__(self, function) -> None:
        self.function = function
        self.name = self.nodeid = function.__name__

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        """Return the mark *name* of the function."""
        marks = getattr(self.function, "pytestmark", [])
        return next((mark for mark in marks if mark.name == name), None)


def test_the_spec_of_a_check_has_the_arguments_of_its_decorator():
    """The spec of a check has the decorator's arguments; a layer may be a string."""
    assert spec_of(Item(marked)) == CheckSpec("double", 2, Layer.PROBE, ("Scale",))


@pytest.mark.skip
@check("double", points=2)
def skipped():
    """A check that some machines would not run."""


def test_a_check_has_a_layer():
    """A check has the layer of its decorator."""
    assert layer_of(Item(marked)) is Layer.PROBE


def test_an_ordinary_test_has_no_spec():
    """A test without ``@check`` has no spec, no layer and no points."""
    assert spec_of(Item(unmarked)) is None
    assert layer_of(Item(unmarked)) is None


def test_a_collected_check_has_its_spec():
    """A check is collected with the arguments of its decorator."""
    item = Item(marked)

    assert collected_check(item) == CollectedCheck(
        item, CheckSpec("double", 2, "probe", ("Scale",))
    )


@pytest.mark.parametrize(
    ("function", "words"),
    [
        pytest.param(unmarked, "unmarked has no @check", id="no-decorator"),
        pytest.param(skipped, "skipped is marked skip, but every check is graded", id="skipped"),
    ],
)
def test_a_suite_contains_only_checks_that_every_machine_runs(function, words: str):
    """A function without ``@check``, or with a marker that skips it, is the course's fault."""
    with pytest.raises(CourseError, match=words):
        collected_check(Item(function))


def test_an_unknown_layer_is_refused():
    """A misspelled layer is an error when the suite is imported."""
    with pytest.raises(ValueError, match="probes"):
        check("double", points=2, layer="probes")


@pytest.mark.parametrize(
    ("function", "title"),
    [
        pytest.param(marked, "Doubled unseen numbers are also right.", id="first-paragraph"),
        pytest.param(unmarked, "unmarked", id="no-docstring"),
    ],
)
def test_the_title_is_the_docstring_in_one_line(function, title: str):
    """Without a docstring the title is the name, which ``verify`` reports."""
    assert CollectedCheck(Item(function), CheckSpec("double", 2, Layer.PROBE, ())).title == title


@pytest.mark.parametrize("layer", ["signature", "shapes", "parameters", "documented"])
def test_the_first_layers_have_no_hidden_inputs(layer: str):
    """The first layers have no hidden inputs, so their messages may contain values."""
    assert not Layer(layer).hidden


@pytest.mark.parametrize("layer", ["probe", "laws", "gradients", "forbidden"])
def test_the_last_layers_have_hidden_inputs(layer: str):
    """The last layers have hidden inputs, so their messages contain no values."""
    assert Layer(layer).hidden


def test_expect_fails_with_its_sentence():
    """`expect` fails with its sentence, which is public too."""
    expect([1], "A list with an entry is true.")
    with pytest.raises(WrongAnswer) as caught:
        expect([], "Something is missing.", Status.MISSING)

    assert caught.value.status is Status.MISSING
    assert caught.value.message == caught.value.public == "Something is missing."


def test_a_course_may_have_no_rules(tmp_path: Path):
    """A course without rules.toml has no rules."""
    assert read_rules(tmp_path / "rules.toml") == {}


def test_rules_are_found_by_name(tmp_path: Path):
    """Each rule is found by name, with its sentence and its methods."""
    path = tmp_path / "rules.toml"
    path.write_text(HEAD + DTYPE)

    assert read_rules(path) == {"dtype": Rule("dtype", "Same dtype.", ())}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(DTYPE + DTYPE, "two rules are named 'dtype'", id="a-name-twice"),
        pytest.param(DTYPE + "points = 1\n", "unknown field `points`", id="an-unknown-key"),
        pytest.param('[[rule]]\nname = "dtype"\n', "sentence", id="no-sentence"),
    ],
)
def test_a_malformed_file_is_the_courses_fault(tmp_path: Path, text: str, words: str):
    """A malformed rules.toml is a CourseError with the file and the mistake."""
    path = tmp_path / "rules.toml"
    path.write_text(HEAD + text)

    with pytest.raises(CourseError, match=words):
        read_rules(path)


def test_methods_are_those_that_a_check_can_ask(pytestconfig: pytest.Config):
    """Each method in rules.toml exists on a proxy or is a verb, so a check can call it."""
    path = find_root(pytestconfig.rootpath) / "tests" / "hidden" / "rules.toml"
    named = {method for rule in read_rules(path).values() for method in rule.methods}

    assert named - {*dir(Student), *dir(RemoteModule), *get_args(Verb)} == set()
