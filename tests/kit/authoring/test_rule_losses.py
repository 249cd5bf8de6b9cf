"""Tests that a rule in a stub is a finding unless a wrong program breaks it."""

from collections.abc import Callable

import pytest

from autograder.authoring import release
from autograder.authoring.stage_verifier import rules_without_loss
from autograder.course import Course
from autograder.grading.suite_runner import open_suites
from tests.kit.commands import forget_suites
from tests.kit.factories import HIDDEN

RULES = """
format_version = 1

[[rule]]
name = "kept"
sentence = "Arguments are left as they were."
methods = ["keeps_inputs"]
"""
ZEROES = """
for tensor in tensors:
    tensor.data.zero_()
return result
"""
BREAKS = f'breaks = """\nresult = exercise(*args, **kwargs){ZEROES}"""\n'
WRONG = 'breaks = """\nresult = exercise(*args, **kwargs) + 1' + f'{ZEROES}"""\n'
SYNTAX = 'breaks = "return ("\n'
KEPT = '''

@check("{name}", points=2, layer="laws", rules=("kept",){more})
def test_keeps(student, probe):
    """The argument is unchanged."""
    {asked}
'''
OF_FUNCTION = 'assert student.keeps_inputs("double", probe.normal(3, 2))'
OF_MODULE = 'assert student.new("Scale", 2).keeps_inputs(probe.normal(3, 2))'
NOTHING = 'student.keeps_inputs("double", probe.normal(3, 2))'
SUITE, HIDES = "tests/hidden/01_tiny/test_tiny.py", ', hidden="a reason"'
IN_PLACE = """    Misconception(
        id="in_place", exercise="double", explanation="It overwrites x.", question="Whose is x?",
        swaps=(("2 * x", "x.mul_(2)"),),
    ),
"""


def found(write_course: Callable[..., Course], suite: str, rules: str, bank: str = "") -> list[str]:
    """Build the tiny course with one rule; report the rules that no program breaks."""
    points = "points=3" if '"double"' in suite else "points=5"
    files = {
        "tests/hidden/rules.toml": rules,
        SUITE: HIDDEN.replace(points, f"points={int(points[-1]) - 2}") + suite,
    }
    course = write_course(files)
    stage = course.stages[0]
    if bank:
        text = stage.misconceptions.read_text("utf-8").rstrip().removesuffix(")")
        stage.misconceptions.write_text(text + bank + ")\n", "utf-8")
    with forget_suites():
        release.build(course)
        with open_suites(course, [stage], diagnose=False) as runner:
            return list(rules_without_loss(stage, runner))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "asked", "more", "breaks", "lost"),
    [
        pytest.param("double", OF_FUNCTION, "", BREAKS, True, id="function"),
        pytest.param("Scale", OF_MODULE, "", BREAKS, True, id="module"),
        pytest.param("double", NOTHING, "", BREAKS, False, id="a-check-that-can-not-fail"),
        pytest.param("double", OF_FUNCTION, HIDES, BREAKS, False, id="only-hidden-is-not-stated"),
        pytest.param("double", OF_FUNCTION, "", WRONG, False, id="wrong-in-other-ways-too"),
        pytest.param("double", OF_FUNCTION, "", SYNTAX, False, id="no-code"),
        pytest.param("double", OF_FUNCTION, "", "", False, id="nothing-breaks-it"),
    ],
)
def test_code_that_breaks_the_rule_must_lose_it(
    write_course: Callable[..., Course],
    name: str,
    asked: str,
    more: str,
    breaks: str,
    *,
    lost: bool,
):
    """Code that breaks the rule must fail a public check of the rule, and pass other probes."""
    suite = KEPT.format(name=name, asked=asked, more=more)
    findings = found(write_course, suite, RULES + breaks)

    start = f"01_tiny: no wrong program breaks the rule 'kept' of {name}. "
    assert [line.startswith(start) for line in findings] == ([] if lost else [True])


def test_a_misconception_that_fails_no_other_check_is_enough(write_course: Callable[..., Course]):
    """A rule with a misconception that fails no other check needs no code that breaks it."""
    suite = KEPT.format(name="double", asked=OF_FUNCTION, more="")

    assert found(write_course, suite, RULES, IN_PLACE) == []
