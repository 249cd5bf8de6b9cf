"""Grades modules with known mistakes, and reports unfair points.

The modules are copies of a stage's solution with one kind of mistake, with the same kind in each
exercise where it fits, with two kinds, or with a rule broken in each exercise that it concerns.
"""

import statistics
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Final, NamedTuple

from autograder.authoring.fingerprinting import Kind, kinds_of
from autograder.authoring.garbage import used_exercises
from autograder.authoring.rule_losses import BREAKER
from autograder.course import Stage
from autograder.course_file import STAGE_POINTS
from autograder.diagnosis.changed_programs import with_mistakes
from autograder.diagnosis.misconceptions import Misconception
from autograder.grading.slip_prices import computes
from autograder.results import Outcome, SubmissionResult, add
from autograder.suite.checks import CollectedCheck, read_rules
from autograder.suite.in_process import solution_channel

LEAST: Final = 5.0  # points of a module with one slip
ONE_MEDIAN: Final = (6.5, 9.0)
TWO_MEDIAN: Final = (4.0, 7.5)
RULE_LOSS: Final = 5.0  # points lost by breaking a rule that a stage teaches
RULE_SHARE: Final = 5 / 6  # share of the points that is lost instead if the points are fewer than 6
HOLLOW: Final = 2.5
MODULES: Final = 16  # the most modules for each column of the table


class Module(NamedTuple):
    """A module to grade; *slips* are its mistakes."""

    name: str
    text: str
    slips: tuple[str, ...] = ()


class Priced(NamedTuple):
    """A graded module; *raised* is true if a check ended with an exception."""

    module: Module
    score: float
    raised: bool


class Prices(NamedTuple):
    """The graded modules of one stage."""

    stage: str
    one: tuple[Priced, ...]
    same: tuple[Priced, ...]
    two: tuple[Priced, ...]
    rules: tuple[tuple[Priced, float], ...]  # with the most points that each may earn
    hollow: float

    @property
    def row(self) -> str:
        """The row of the table in Markdown."""
        rules = ", ".join(f"{one.score:g}" for one, _ in self.rules) or "none"
        cells = (self.stage, *map(_range, (self.one, self.same, self.two)), rules)
        return f"| {' | '.join(cells)} | {self.hollow:g} |"

    def problems(self) -> Iterator[str]:
        """Report modules that earn too much or too little."""
        alone = {one.module.slips: one.score for one in self.one}
        for one in self.one:
            if one.score < LEAST:
                yield f"{one.module.name} earns {one.score:g}, less than {LEAST:g}."
        for several in self.same:
            parts = [alone[slip,] for slip in several.module.slips if (slip,) in alone]
            if parts and several.score > max(parts):
                what = f"{several.module.name} earns {several.score:g}"
                yield f"{what}, and one of these slips alone at most {max(parts):g}."
        for one, most in self.rules:
            if one.score > most:
                yield f"{one.module.name} earns {one.score:g}, more than {most:g}."
        if self.hollow > HOLLOW:
            yield f"hollow.py earns {self.hollow:g}, more than {HOLLOW:g}."

    def unusual_medians(self) -> Iterator[str]:
        """Report columns whose median is outside the range that an instructor expects."""
        for name, row, (low, high) in (
            ("one slip", self.one, ONE_MEDIAN),
            ("two different slips", self.two, TWO_MEDIAN),
        ):
            if row and not low <= _median(row) <= high:
                yield f"{name}: the median is {_median(row):g}, not {low:g} to {high:g}."


TABLE_HEAD: Final = (
    "| stage | one slip | the same slip in several exercises | two slips | ready-made | hollow |\n"
    "|---|---|---|---|---|---|"
)
Grade = Callable[[str, bytes], SubmissionResult]


def prices(stage: Stage, checks: Sequence[CollectedCheck], grade: Grade) -> Prices:
    """Grade the modules of the table for *stage*."""
    price = partial(_price, grade)
    slips = _slips(stage)
    together = _same(slips)[: MODULES // 2]
    chosen = [*(kind for some in together for kind in some), *_spread(slips, MODULES)]
    singles = {(one.exercise, one.number): one for one in chosen}.values()
    every = [price(_module(stage, [one])) for one in singles]
    return Prices(
        stage.name,
        _answering(every),
        _answering(price(_module(stage, some)) for some in together),
        _answering(price(_module(stage, two)) for two in _pairs(slips, MODULES // 2)),
        tuple((price(one), most) for one, most in _rule_breakers(stage, checks)),
        price(Module("hollow.py", (stage.hidden / "hollow.py").read_text("utf-8"))).score,
    )


def unfair_prices(stage: Stage, checks: Sequence[CollectedCheck], grade: Grade) -> Iterator[str]:
    """Grade a few modules of the table for *stage*, and report unfair points."""
    price = partial(_price, grade)
    together = [some[:2] for some in _same(_slips(stage))[:1]]
    found = Prices(
        stage.name,
        one=_answering(price(_module(stage, some[:1])) for some in together),
        same=_answering(price(_module(stage, some)) for some in together),
        two=(),
        rules=tuple((price(one), most) for one, most in _rule_breakers(stage, checks)),
        hollow=0.0,  # ``check_placeholder`` grades it
    )
    yield from found.problems()


def _price(grade: Grade, module: Module) -> Priced:
    result = grade(module.name, module.text.encode())
    found = (check for exercise in result.exercises for check in exercise.checks)
    raised = any(check.outcome is Outcome.ERRORED for check in found)
    return Priced(module, result.score or 0.0, raised)


def _answering(found: Iterable[Priced]) -> tuple[Priced, ...]:
    """Return the modules that fail a check but raise no exception."""
    return tuple(one for one in found if not one.raised and one.score < STAGE_POINTS)


def _slips(stage: Stage) -> list[Kind]:
    """List, for each exercise and kind of mistake, the first program that still computes."""
    found: dict[tuple[str, str], Kind] = {}
    for one in kinds_of(stage, solution_channel(stage.solution)):
        if computes(one.rewrite.kind, one.rewrite.explanation):
            found.setdefault((one.exercise, one.rewrite.kind), one)
    return list(found.values())


def _same(slips: Iterable[Kind]) -> list[list[Kind]]:
    """Group *slips* by kind and sentence, the largest groups first, without single ones."""
    found: dict[tuple[str, str], list[Kind]] = {}
    for one in slips:
        found.setdefault((one.rewrite.kind, one.rewrite.explanation), []).append(one)
    several = (some for some in found.values() if len(some) > 1)
    return sorted(several, key=len, reverse=True)


def _pairs(slips: Sequence[Kind], count: int) -> Iterator[tuple[Kind, Kind]]:
    """Yield *count* pairs of different slips in two exercises."""
    by_exercise: dict[str, list[Kind]] = {}
    for one in slips:
        by_exercise.setdefault(one.exercise, []).append(one)
    pairs = (
        (left[number % len(left)], right[-1 - number % len(right)])
        for number in range(count)
        for left, right in pairwise(by_exercise.values())
    )
    different = (two for two in pairs if len({one.rewrite.explanation for one in two}) > 1)
    return islice(different, count)


def _spread(slips: Sequence[Kind], count: int) -> Sequence[Kind]:
    """Choose at most *count* slips at equal intervals."""
    return slips[:: max(1, -(-len(slips) // count))]


def _module(stage: Stage, kinds: Sequence[Kind]) -> Module:
    """Return the solution with the mistakes *kinds*."""
    mistakes = [
        Misconception(
            id=kind.rewrite.kind,
            exercise=kind.exercise,
            explanation="-",
            question="-",
            code=kind.programs.text((kind.number,)),
        )
        for kind in kinds
    ]
    slips = tuple(f"{kind.rewrite.kind} in {kind.exercise}" for kind in kinds)
    text = with_mistakes(stage.solution, mistakes, stage.solution.read_text("utf-8"))
    return Module(" and ".join(slips), text, slips)


def _rule_breakers(
    stage: Stage, checks: Sequence[CollectedCheck]
) -> Iterator[tuple[Module, float]]:
    """Yield, for each rule that *stage* teaches, a module that breaks it, and its highest points.

    Exercises that others use stay correct, because the others would keep carried points.
    """
    for rule in read_rules(stage.rules).values():
        if stage.name not in rule.point_of:
            continue
        graded = dict.fromkeys(one.spec.exercise for one in checks if rule.name in one.spec.rules)
        used = set(used_exercises(stage.solution, graded))
        names = [name for name in graded if name not in used]
        worth = add(one.spec.points for one in checks if one.spec.exercise in names)
        breaks = textwrap.indent(rule.breaks, " " * 8)
        broken = "".join(BREAKER.format(name=name, breaks=breaks) for name in names)
        text = stage.solution.read_text("utf-8") + broken
        most = STAGE_POINTS - min(RULE_LOSS, RULE_SHARE * worth)
        yield Module(f"{rule.name} broken in {', '.join(names)}", text), round(most, 6)


def _median(row: Sequence[Priced]) -> float:
    return round(statistics.median(one.score for one in row), 2)


def _range(row: Sequence[Priced]) -> str:
    """Return the median, the lowest and the highest points as text."""
    if not row:
        return "none"
    scores = [one.score for one in row]
    return f"{_median(row):g} ({min(scores):g} to {max(scores):g})"
