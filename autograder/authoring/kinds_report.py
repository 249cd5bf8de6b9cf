"""Reports how many programs with a kind of mistake fail in a stage, and how they are named.

The names come from fingerprints, as on a student's machine, so no program runs. Only programs that
pass every public check run in the hidden suite.
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
from autograder.diagnosis.answers import tells
from autograder.diagnosis.fingerprints import PASSES, Fingerprints, Shown
from autograder.diagnosis.programs import ALL
from autograder.diagnosis.ranking import FailedCheck, Ranking
from autograder.diagnosis.recorded import RecordedEvidence
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Status
from autograder.suite.checks import CollectedCheck, Layer
from autograder.suite.in_process import solution_channel

WRONG = {  # the statuses of checks after a wrong answer, as opposed to an exception
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
    """The hidden suite's result for a program that passes every public check."""

    FAILS = auto()
    DIFFERS = auto()  # it passes, but an answer differs from the solution's
    PASSES = auto()


class KindsReport(NamedTuple):
    """The results of the programs with one kind of mistake in one stage.

    *names* counts how the programs that fail a public check are named. Of the others, *only_hidden*
    fail a hidden check, and *unnoticed* pass every check although an answer differs from the
    solution's.
    """

    kinds: int
    programs: int
    names: Counter[str]
    only_hidden: int
    unnoticed: tuple[Kind, ...]

    @property
    def line(self) -> str:
        """The text about these programs in the stage's line of the report."""
        ways = (OWN, TIED, BANK, OTHER, UNNAMED)
        names = ", ".join(f"{self.names[how]} by {how}" for how in ways)
        return (
            f"{self.kinds} kinds of mistake in {self.programs} programs: "
            f"{self.names.total()} fail public checks (named {names}), "
            f"{self.only_hidden} fail only hidden checks, "
            f"{len(self.unnoticed)} pass although an answer differs"
        )


def report(runner: SuiteRunner, stage: Stage, known: Fingerprints) -> KindsReport:
    """Report the programs of *stage*; *runner* has its hidden suite."""
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
    """List the programs that pass every check of *stage* although an answer differs."""
    known = fingerprints.from_json(stage.fingerprints.read_bytes())
    with open_suites(course, [stage]) as runner:
        return report(runner, stage, known).unnoticed


def _end(runner: SuiteRunner, stage: Stage, kind: Kind) -> HiddenEnd:
    """Send *kind* the requests of each hidden check; run the check if an answer differs."""
    source = runner.diagnostician(stage).source
    key, end = (kind.number,), HiddenEnd.PASSES
    if kind.channel is None:
        return end
    for check in runner.checks(stage.name):
        if check.spec.exercise != kind.exercise:
            continue
        script = source.script(check.item)
        same = kind.programs.solves(key, script, len(script.solved.answers), ALL)
        if same and check.spec.layer is not Layer.FORBIDDEN:  # such a check examines the code, too
            continue
        if kind.programs.run(key, check.item, runner.run).fails:
            return HiddenEnd.FAILS
        end = end if same else HiddenEnd.DIFFERS
    return end


class _Naming:
    """Names the programs of one stage by their fingerprints."""

    def __init__(self, known: Fingerprints, checks: Sequence[CollectedCheck]) -> None:
        self._known = known
        self._specs = {check.name: check.spec for check in checks}
        self._written = {mistake.id for mistake in known.mistakes}
        self._shown: dict[int, dict[str, Shown]] = {}
        for check, prints in known.prints.items():
            for one in prints:
                for number in one.of:
                    self._shown.setdefault(number, {})[check] = known.shown(one)

    def name(self, number: int) -> str:
        """Return how the program *number* is named, such as ``OWN`` or ``UNNAMED``."""
        shown = self._shown[number]
        failed = [self._failed_check(name, one) for name, one in shown.items()]
        exercise = self._specs[failed[0].name].exercise
        passed = [
            name
            for name, spec in self._specs.items()
            if spec.exercise == exercise and name not in shown
        ]
        failed.sort(key=lambda check: not check.tells)
        evidence = RecordedEvidence(self._known, failed, shown, passed)
        found = Ranking(evidence).explanation().diagnoses
        names = set(chain.from_iterable(one.misconceptions for one in found.values()))
        if not names:
            return UNNAMED
        if names & self._written:
            return BANK
        own = self._known.mistake(number).id in names
        return OTHER if not own else OWN if len(names) == 1 else TIED

    def _failed_check(self, name: str, shown: Shown) -> FailedCheck:
        layer, end = self._specs[name].layer, shown.end
        about_code = layer is Layer.FORBIDDEN and self._known.is_right(name, shown)
        return FailedCheck(
            name,
            layer,
            wrong=end.status in WRONG and bool(shown.answers) and not about_code,
            tells=bool(shown.answers) and tells(_with_tensors(shown.answers[-1])),
            fault=end.status not in WRONG,
            raised=end.raised,
            specific=end.specific,
            refuses=end.refuses,
        )


def _with_tensors(value: Any) -> Any:
    """Replace lists of numbers with tensors."""
    match value:
        case dict():
            return {name: _with_tensors(item) for name, item in value.items()}
        case list() if all(isinstance(item, int | float) for item in value):
            return torch.tensor(value)
        case list():
            return list(map(_with_tensors, value))
    return value
