"""Checks that each rule of an exercise is graded: some wrong program must break it.

The wrong programs are those in the fingerprints, whose results in the public suite are known. If
none of them breaks the rule, the solution with the code in the rule's ``breaks`` must break it.
"""

import textwrap
from collections.abc import Iterator, Sequence

from autograder.course import Stage
from autograder.diagnosis import fingerprints
from autograder.diagnosis.fingerprints import Fingerprints
from autograder.errors import CourseError
from autograder.grading.suite_runner import SuiteRunner
from autograder.suite.checks import CollectedCheck, Layer, Rule, read_rules
from autograder.suite.in_process import LocalChannel

BREAKER = """

import functools
import torch


def _break(exercise):
    @functools.wraps(exercise)
    def broken(*args, **kwargs):
        tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
{breaks}
    return broken


def _break_constructor(constructor):
    @functools.wraps(constructor)
    def broken(*args, **kwargs):
        _break(constructor)(*args, **kwargs)
    return broken


if isinstance({name}, type):
    {name}.__init__ = _break_constructor({name}.__init__)
    {name}.forward = _break({name}.forward)
else:
    {name} = _break({name})
"""


def rules_without_loss(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Report each rule of an exercise that no wrong program breaks in a public check."""
    known = fingerprints.find(stage.records)
    rules = read_rules(stage.rules)
    for exercise in stage.exercises:
        every = [
            check for check in runner.checks(stage.name) if check.spec.exercise == exercise.name
        ]
        checks = [check for check in every if not check.spec.hidden]
        for name in dict.fromkeys(rule for check in every for rule in check.spec.rules):
            lost = known is not None and _is_lost(name, checks, known)
            if name in rules and not (
                lost or _breaks(rules[name], exercise.name, checks, stage, runner)
            ):
                yield (
                    f"{stage.name}: no wrong program breaks the rule {name!r} of {exercise.name}. "
                    "Add a misconception that breaks it and fails a check of this rule, or write "
                    f"code that breaks it as `breaks` in {stage.rules.name}."
                )


def _is_lost(rule: str, checks: Sequence[CollectedCheck], known: Fingerprints) -> bool:
    """Whether a known wrong program fails checks of *rule* and no other check of the exercise."""
    naming, others = (
        {
            number
            for check in checks
            if (rule in check.spec.rules) is names
            for number in known.failing(check.name)
        }
        for names in (True, False)
    )
    return bool(naming - others)


def _breaks(
    rule: Rule, exercise: str, checks: Sequence[CollectedCheck], stage: Stage, runner: SuiteRunner
) -> bool:
    """Whether the solution with ``rule.breaks`` fails a check of *rule* and passes other probes."""
    if not rule.breaks:
        return False
    program = stage.solution.read_text("utf-8") + BREAKER.format(
        name=exercise, breaks=textwrap.indent(rule.breaks, " " * 8)
    )
    try:
        broken = LocalChannel(stage.module, program.encode())
    except CourseError:  # the code can't be added to this solution
        return False
    naming = [check for check in checks if rule.name in check.spec.rules]
    probes = [check for check in checks if check.spec.layer is Layer.PROBE and check not in naming]
    return any(runner.run(check.item, broken).fails for check in naming) and all(
        runner.run(check.item, broken).error is None for check in probes
    )
