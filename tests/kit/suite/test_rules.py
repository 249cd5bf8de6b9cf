"""Reading the rules that checks grade beside the right numbers."""

from pathlib import Path
from typing import get_args

import pytest

from autograder.course import find_root
from autograder.errors import CourseError
from autograder.sandbox.protocol import Verb
from autograder.suite import rules
from autograder.suite.student_proxy import RemoteModule, Student

HEAD = "format_version = 1\n"
DTYPE = '[[rule]]\nname = "dtype"\nsentence = "Same dtype."\nmethods = []\n'


def test_a_course_may_have_no_rules(tmp_path: Path):
    """A missing file has none."""
    assert rules.read(tmp_path / "rules.toml") == {}


def test_rules_are_found_by_name(tmp_path: Path):
    """Each has its sentence and its methods."""
    path = tmp_path / "rules.toml"
    path.write_text(HEAD + DTYPE)

    assert rules.read(path) == {"dtype": rules.Rule("dtype", "Same dtype.", ())}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(DTYPE + DTYPE, "two rules are named 'dtype'", id="a-name-twice"),
        pytest.param(DTYPE + "points = 1\n", "unknown field `points`", id="an-unknown-key"),
        pytest.param('[[rule]]\nname = "dtype"\n', "sentence", id="no-sentence"),
    ],
)
def test_a_malformed_file_is_the_courses_fault(tmp_path: Path, text: str, words: str):
    """The message names the file and the mistake."""
    path = tmp_path / "rules.toml"
    path.write_text(HEAD + text)

    with pytest.raises(CourseError, match=words):
        rules.read(path)


def test_methods_are_those_that_a_check_can_ask(pytestconfig: pytest.Config):
    """A method of the course's own rules that no proxy has and no verb is would find no check."""
    path = find_root(pytestconfig.rootpath) / "tests" / "hidden" / "rules.toml"
    named = {method for rule in rules.read(path).values() for method in rule.methods}

    assert named - {*dir(Student), *dir(RemoteModule), *get_args(Verb)} == set()
