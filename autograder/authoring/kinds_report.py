"""Says how well the kinds of mistake fit a stage: which programs fail, and how they are named.

The names are those of a student's machine, by fingerprints, so no program runs for them. The hidden
suite runs only those programs that pass every public check.
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto
from itertools import chain
from typing import Any, NamedTuple

import torch

from autograder.authoring.fingerprinting import Kind, kinds_of
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints
from autograder.diagnosis.fingerprint_matcher import (
    FailedCheck,
    explain,
    explain_rest,
)
from autograder.diagnosis.fingerprints import PASSES, Fingerprints, Shown
from autograder.diagnosis.observation import Match
from autograder.diagnosis.operators.answers import tells
from autograder.diagnosis.operators.comparison import ALL
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Status
from autograder.suite.checks import CollectedCheck, Layer
from autograder.suite.in_process import solution_channel

WRONG = {  # how a check ends after a wrong answer, as opposed to an exception
    Status.WRONG_VALUE,
    Status.WRONG_SHAPE,
    Status.WRONG_TYPE,
    Status.NOT_FINITE,
    Status.NOT_REFUSED,
    Status.FORBIDDEN,
}
OWN, TIED, BANK = "their kind", "several kinds", "a misconception"
OTHER, UNNAMED = "another kind", "none"


class HiddenEnd(Enum):
    """How a program that passes every public check ends in the hidden suite."""

    FAILS = auto()
    DIFFERS = auto()  # it passes, but an answer is not the solution's
    PASSES = auto()


class KindsReport(NamedTuple):
    """What the programs with one kind of mistake do in one stage.

    *names* counts how those that fail a public check are named. Of the others, *only_hidden* fail a
    hidden check, and *unnoticed* pass every check though an answer differs from the solution's.
    """

    kinds: int
    programs: int
    names: Counter[str]
    only_hidden: int
    unnoticed: tuple[Kind, ...]

    @property
    def line(self) -> str:
        """The part of the stage's line in the report."""
        ways = (OWN, TIED, BANK, OTHER, UNNAMED)
        names = ", ".join(f"{self.names[how]} by {how}" for how in ways)
        return (
            f"{self.kinds} kinds of mistake in {self.programs} programs: "
            f"{self.names.total()} fail public checks (named {names}), "
            f"{self.only_hidden} fail only hidden checks, "
            f"{len(self.unnoticed)} pass although an answer differs"
        )


def report(runner: SuiteRunner, stage: Stage, known: Fingerprints) -> KindsReport:
    """Count the programs of *stage*, whose hidden suite *runner* has."""
    kinds = kinds_of(stage, solution_channel(stage.solution))
    naming = _Naming(known, runner.checks(stage.name))
    pairs = list(zip(kinds, known.programs, strict=True))
    names = Counter(
        naming.name(number)
        for number, (_, wording) in enumerate(pairs, start=len(known.mistakes))
        if wording != PASSES
    )
    ends = [(kind, _end(runner, stage, kind)) for kind, wording in pairs if wording == PASSES]
    return KindsReport(
        len({kind.rewrite.kind for kind in kinds}),
        len(kinds),
        names,
        sum(end is HiddenEnd.FAILS for _, end in ends),
        tuple(kind for kind, end in ends if end is HiddenEnd.DIFFERS),
    )


def unnoticed(course: Course, stage: Stage) -> tuple[Kind, ...]:
    """List the programs that pass every check of *stage* though an answer differs."""
    known = fingerprints.from_json(stage.fingerprints.read_bytes())
    with open_suites(course, [stage]) as runner:
        return report(runner, stage, known).unnoticed


def _end(runner: SuiteRunner, stage: Stage, kind: Kind) -> HiddenEnd:
    """Ask *kind* what each hidden check asks, and run the check where an answer differs."""
    operators = runner.wrong_programs(stage).operators
    key, end = (kind.number,), HiddenEnd.PASSES
    if kind.channel is None:
        return end
    for check in runner.checks(stage.name):
        if check.spec.exercise != kind.exercise:
            continue
        script = operators.script(check.item)
        same = kind.programs.solves(key, script, len(script.solved.answers), ALL)
        if same and check.spec.layer is not Layer.FORBIDDEN:  # that looks at the code, too
            continue
        if kind.programs.run(key, check.item, runner.run).fails:
            return HiddenEnd.FAILS
        end = end if same else HiddenEnd.DIFFERS
    return end


class _Naming:
    """Names the programs of one stage by their fingerprints."""

    def __init__(self, known: Fingerprints, checks: Sequence[CollectedCheck]) -> None:
        self._known = known
        layers = {check.name: check.spec.layer for check in checks}
        self._exercises = {check.name: check.spec.exercise for check in checks}
        self._failed: dict[int, list[FailedCheck]] = {}
        for check, prints in known.prints.items():
            for one in prints:
                failed = _failed_check(known, check, layers[check], known.shown(one))
                for number in one.of:
                    self._failed.setdefault(number, []).append(failed)

    def name(self, number: int) -> str:
        """Say how the program *number* is named."""
        failed = sorted(self._failed[number], key=lambda one: not one.tells)
        same = frozenset.intersection(*(one.numbers for one in failed))
        if any(other < len(self._known.mistakes) for other in same):
            return BANK
        exercise = self._exercises[failed[0].name]
        names = {one.name for one in failed}
        passed = [
            check
            for check, owner in self._exercises.items()
            if owner == exercise and check not in names
        ]
        found = explain(self._known, failed, passed) or explain_rest(self._known, failed, passed)
        kinds = set(chain.from_iterable(one.misconceptions for one in found.values()))
        if not kinds:
            return UNNAMED
        own = self._known.rewrite(number).kind in kinds
        return OTHER if not own else OWN if len(kinds) == 1 else TIED


def _failed_check(known: Fingerprints, check: str, layer: Layer, shown: Shown) -> FailedCheck:
    matches = known.matching(check, shown)
    wrong = shown.end.status in WRONG and bool(shown.answers)
    about_code = layer is Layer.FORBIDDEN and known.is_right(check, shown)
    return FailedCheck(
        check,
        layer,
        frozenset(number for number, match in matches.items() if match is Match.YES),
        wrong=wrong and not about_code,
        tells=bool(shown.answers) and tells(_with_tensors(shown.answers[-1])),
        fault=shown.end.status not in WRONG,
        stopped=frozenset(number for number, match in matches.items() if match is Match.TEXT_ONLY),
        undecided=frozenset(
            number for number, match in matches.items() if match is Match.UNDECIDED
        ),
        end=shown.end,
    )


def _with_tensors(value: Any) -> Any:
    """Put tensors in the place of lists of numbers."""
    match value:
        case dict():
            return {name: _with_tensors(item) for name, item in value.items()}
        case list() if all(isinstance(item, int | float) for item in value):
            return torch.tensor(value)
        case list():
            return list(map(_with_tensors, value))
    return value
