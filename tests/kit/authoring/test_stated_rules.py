"""Writing the rules that a stage's checks grade into its stub."""

import ast

import pytest

from autograder.authoring import stated_rules
from autograder.course import Stage
from autograder.errors import CourseError
from autograder.suite import rules
from tests.factories import WriteCourse

RULES = '''
format_version = 1

[[rule]]
name = "dtype"
sentence = "Results have the dtype of what goes in."
methods = []

[[rule]]
name = "refuses"
sentence = """A `ValueError` that the docstring promises is checked for, \\
and this sentence is so long that it takes two lines."""
methods = ["refuses"]
'''
STUB = '''"""Two tiny things."""


def double(x):
    """Twice x."""
    raise NotImplementedError


class Scale:
    """A factor for each feature,

    learned.
    """
'''
LAST = (
    "- Documented values and general properties count as soon as the results are right for other "
    "inputs\n  too."
)
BOTH = '@check("double", points=1, rules=("dtype",))\ndef test_a(): ...\n'
BOTH += '@check("Scale", points=1, rules=("dtype",))\ndef test_b(): ...\n'


@pytest.fixture
def stage(write_course: WriteCourse) -> Stage:
    """The tiny stage, in a course with two rules."""
    return write_course({"tests/hidden/rules.toml": RULES}).stages[0]


def docstring(text: str, name: str = "") -> str:
    """The docstring of the module, or of a definition in it."""
    tree = ast.parse(text)
    found = [node for node in tree.body if getattr(node, "name", None) == name]
    return ast.get_docstring(found[0] if name else tree) or ""


def test_a_rule_of_several_exercises_stands_in_the_modules_docstring(stage: Stage):
    """It follows a title, and no other docstring has it."""
    stub = stated_rules.add_rules(STUB, stage, BOTH)

    assert docstring(stub) == (
        "Two tiny things.\n\nRules, which are graded like the results:\n\n"
        f"- Results have the dtype of what goes in.\n{LAST}"
    )
    assert stub.count("Results have") == 1


@pytest.mark.parametrize("name", ["double", "Scale"])
def test_a_rule_of_one_exercise_stands_in_its_docstring(stage: Stage, name: str):
    """A docstring of one line grows, and a long sentence takes several lines."""
    suite = f'@check("{name}", points=1, rules=("refuses",))\ndef test_a(): ...\n'
    stub = stated_rules.add_rules(STUB, stage, suite)

    assert "so long" not in docstring(stub)
    assert docstring(stub, name).endswith("so long that it\ntakes two lines.")
    assert max(map(len, stub.splitlines())) <= stated_rules.WIDTH


def test_a_suite_without_rules_has_the_rule_of_the_grader(stage: Stage):
    """Known values count only with other inputs, whatever the checks name."""
    stub = stated_rules.add_rules(STUB, stage, BOTH.replace('"dtype",', ""))

    assert docstring(stub) == f"Two tiny things.\n\n{stated_rules.TITLE}\n\n{LAST}"


def test_an_unknown_rule_is_refused(stage: Stage):
    """There is no sentence that students could read."""
    with pytest.raises(CourseError, match=r"names the rule 'dtyp', which .*rules\.toml lacks"):
        stated_rules.add_rules(STUB, stage, BOTH.replace('"dtype"', '"dtyp"'))


def test_a_rule_that_the_stub_does_not_state_is_found(stage: Stage):
    """Line breaks in the stub make no difference."""
    known = rules.read(stage.rules)
    suite = BOTH.replace('"dtype"', '"refuses"')
    stub = stated_rules.add_rules(STUB, stage, suite)

    assert list(stated_rules.unstated(stub, suite, known)) == []
    assert list(stated_rules.unstated(stub, BOTH, known)) == ["dtype"]
