"""Grades modules of a stage whose points an instructor wants to know, and reports unfair ones.

The modules are the solution with one misconception, with the same step wrong in several exercises,
with constants that come ever nearer to the right one, with exercises that compute nothing, and with
ready-made code.
"""

import ast
import re
import statistics
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from autograder.authoring.fingerprinting import Kind, kinds_of
from autograder.authoring.release import read_template
from autograder.course import Stage
from autograder.course_file import STAGE_POINTS
from autograder.diagnosis import misconceptions
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.results import ExerciseResult, Outcome, Status, SubmissionResult
from autograder.suite.in_process import solution_channel

LEAST: Final = 4.0  # points of a stage with one misconception
ONE_MEDIAN: Final = (0.2, 0.75)  # median share of its points that a wrong exercise keeps
FEWEST: Final = 10  # misconceptions of a stage whose median is looked at
ONE_MOST: Final = 0.95
FAMILY: Final = 1.0  # points between members of a family of constants
NOTHING: Final = 2.0  # points of a module that computes nothing
READY: Final = 0.3  # share of its points that an exercise of ready-made code keeps
SAME: Final = 4  # kinds of mistake that are made in several exercises
FILLS: Final = ("0.0", "-1.0", "-2.0", "-5.0", "-8.0", "-10.0")
SCALES: Final = ("0.5", "0.9", "1.1", "2.0")
INFINITY: Final = re.compile(r"-torch\.inf|-math\.inf|-?float\(['\"]-?inf['\"]\)")
ROOT: Final = re.compile(r"/ (?P<root>[\w.\[\]()-]+ ?\*\* ?0\.5|math\.sqrt\([^()]+\))")
# Replaces the results of an exercise. The right code runs on copies, so that only the shapes of its
# results, the lengths of its lists and its errors stay. Names of tensors stay, too; other keys are
# results like the values.
NOTHING_RETURNED: Final = read_template("nothing_returned.py.txt")


class Filled(NamedTuple):
    """Replacements of a tensor, a number and a letter; arguments may also replace results."""

    tensor: str
    number: int
    text: str
    returns_inputs: bool = False


FILLED: Final = {
    "zeros": Filled("torch.zeros_like(value)", 0, ""),
    "ones": Filled("torch.ones_like(value)", 1, "1"),
    "noise": Filled(
        "(torch.arange(value.numel()).cos() * 3).reshape(value.shape).to(value.dtype)", 3, "q"
    ),
    "inputs": Filled(
        (
            "next((one.clone() for one in given if isinstance(one, torch.Tensor)"
            " and one.shape == value.shape and one.dtype == value.dtype), torch.zeros_like(value))"
        ),
        0,
        "",
        returns_inputs=True,
    ),
}
Grade = Callable[[str, str], SubmissionResult]  # the name and the text of a module


class Price(NamedTuple):
    """The points of a graded module, and the share of them that the changed exercise keeps."""

    name: str
    score: float
    share: float = 0.0  # of the changed exercise, if only one is changed
    breaks_only_rules: bool = False


@dataclass(frozen=True)
class PriceTable:
    """The graded modules of one stage."""

    stage: str
    one: Sequence[Price]
    same: Sequence[tuple[Price, float]]  # with the lowest score of a part alone
    families: Sequence[Sequence[Price]]
    nothing: Sequence[Price]
    ready: Sequence[Price]  # each exercise of ready.py alone, then all of them

    @property
    def row(self) -> str:
        """The row of the table in Markdown."""
        spread = [max(prices) - min(prices) for prices in map(_scores, self.families)]
        cells = (
            _range([one.score for one in self.one]),
            f"{self._median:.0%}",
            _range([one.score for one, _ in self.same]),
            f"{max(spread):.3g}" if spread else "none",
            f"{max(_scores(self.nothing)):.3g}",
            ", ".join(f"{one.name} {one.score:.3g}" for one in self.ready) or "none",
        )
        return f"| {self.stage} | {' | '.join(cells)} |"

    @property
    def _median(self) -> float:
        shares = [one.share for one in self.one if not one.breaks_only_rules]
        return statistics.median(shares) if shares else 0.0

    def problems(self) -> Iterator[str]:
        """Report modules that earn too much or too little."""
        low, high = ONE_MEDIAN
        if len(self.one) >= FEWEST and not low <= self._median <= high:
            yield f"the median of the shares is {self._median:.2f}, not {low:g} to {high:g}."
        for one in self.one:
            if one.score < LEAST:
                yield f"{one.name} earns {one.score:g}, less than {LEAST:g}."
            if one.share > ONE_MOST and not one.breaks_only_rules:
                yield f"{one.name} keeps {one.share:.0%} of its exercise."
        for one, alone in self.same:
            if one.score > alone:
                yield f"{one.name} earns {one.score:g}, and one of them alone {alone:g}."
        for family in self.families:
            first, *_, last = sorted(family, key=lambda one: one.score)
            if last.score - first.score > FAMILY:
                yield f"{first.name} earns {first.score:g}, and {last.name} {last.score:g}."
        yield from (
            f"{one.name} earn {one.score:g}, more than {NOTHING:g}."
            for one in self.nothing
            if one.score > NOTHING
        )
        yield from (
            f"ready-made {one.name} keeps {one.share:.0%} of its points."
            for one in self.ready
            if one.share > READY
        )


TABLE_HEAD: Final = (
    "| stage | one misconception | the exercise keeps | the same in several | families "
    "| nothing | ready-made |\n|---|---|---|---|---|---|---|"
)


class PriceGrader:
    """Makes the modules of the table of one stage and grades them."""

    def __init__(self, stage: Stage, grade: Grade) -> None:
        self._stage = stage
        self._grade = grade
        self._solution = stage.solution.read_text("utf-8")
        self._names = [exercise.name for exercise in stage.exercises]
        self._copies = {one.name for one in stage.exercises if one.copied_from}  # without points

    def table(self) -> PriceTable:
        """Grade all modules."""
        bank = misconceptions.read(self._stage.misconceptions)
        bank = tuple(one for one in bank if one.exercise not in self._copies)
        return PriceTable(
            self._stage.name,
            one=[self._price(one.id, one.module(self._solution), one.exercise) for one in bank],
            same=list(self._same()),
            families=list(self._families()),
            nothing=list(self._nothing()),
            ready=list(self._ready()),
        )

    def _price(self, name: str, text: str, exercise: str = "") -> Price:
        result = self._grade(name, text)
        score = result.score or 0.0
        for one in result.exercises:
            if one.name == exercise and one.max_score:
                return Price(name, score, one.score / one.max_score, _breaks_only_rules(one))
        return Price(name, score)

    def _same(self) -> Iterator[tuple[Price, float]]:
        """Make the same mistake in each exercise that has the step, and in each one alone."""
        for kinds in _repeated(kinds_of(self._stage, solution_channel(self._stage.solution))):
            name = kinds[0].rewrite.kind
            alone = min(self._price(name, self._with([kind])).score for kind in kinds)
            if alone < STAGE_POINTS:  # otherwise the change has no effect
                names = ", ".join(kind.exercise for kind in kinds)
                yield self._price(f"{name} in {names}", self._with(kinds)), alone

    def _with(self, kinds: Sequence[Kind]) -> str:
        text = self._solution
        for kind in kinds:
            code = kind.programs.text((kind.number,))
            text = replaced(text, kind.exercise, code)
        return text

    def _families(self) -> Iterator[Sequence[Price]]:
        """Change hidden scores and scales a little, some more, and much, in each exercise."""
        for name in self._names:
            code = ExerciseCode(self._solution, name, self._names).text([])
            for pattern, values, form in (
                (INFINITY, FILLS, "{value}"),
                (ROOT, SCALES, r"/ (\g<root> * {value})"),
            ):
                texts = [pattern.sub(form.format(value=value), code) for value in values]
                if texts[0] != code:
                    yield [
                        self._price(f"{name} with {value}", replaced(self._solution, name, text))
                        for value, text in zip(values, texts, strict=True)
                    ]

    def _nothing(self) -> Iterator[Price]:
        """Let every exercise return zeros, ones, noise or its own input."""
        hollow = self._stage.hidden / "hollow.py"
        if hollow.is_file():
            yield self._price("hollow.py", hollow.read_text("utf-8"))
        for what, filled in FILLED.items():
            changes = [NOTHING_RETURNED.format(name=one, **filled._asdict()) for one in self._names]
            yield self._price(what, self._solution + "".join(changes))

    def _ready(self) -> Iterator[Price]:
        """Replace each exercise by the ready-made one of ``ready.py``, then all of them."""
        path = self._stage.hidden / "ready.py"
        if not path.is_file():
            return
        text = path.read_text("utf-8")
        bound = {getattr(node, "name", "") for node in ast.parse(text).body}
        defined = [name for name in self._names if name in bound]
        for name in (one for one in defined if one not in self._copies):
            yield self._price(name, replaced(self._solution, name, text), name)
        if not defined:
            return
        whole = self._solution
        for name in defined:
            whole = replaced(whole, name, text)
        yield self._price("all", whole)


def replaced(text: str, exercise: str, code: str) -> str:
    """Return *text* in which *exercise* is as *code* defines it, with the helpers of *code*."""
    scope = f"def _changed():\n{textwrap.indent(code, '    ')}\n    return {exercise}\n"
    return f"{text}\n\n{scope}\n{exercise} = _changed()\n"


def _breaks_only_rules(result: ExerciseResult) -> bool:
    """Whether only rules are broken, and none of them is the point of the stage."""
    failed = [check for check in result.checks if check.outcome is not Outcome.PASSED]
    passed = [check for check in result.checks if check.outcome is Outcome.PASSED]
    only_rules = bool(failed) and all(check.status is Status.FORBIDDEN for check in failed)
    return only_rules and all(check.points == check.max_points for check in passed)


def _repeated(kinds: Iterable[Kind]) -> list[list[Kind]]:
    found: dict[tuple[str, str], dict[str, Kind]] = {}
    for one in kinds:
        key = (one.rewrite.kind, one.rewrite.explanation)
        found.setdefault(key, {}).setdefault(one.exercise, one)
    several = [list(some.values()) for some in found.values() if len(some) > 1]
    return sorted(several, key=len, reverse=True)[:SAME]


def _scores(prices: Iterable[Price]) -> list[float]:
    return [one.score for one in prices]


def _range(scores: Sequence[float]) -> str:
    if not scores:
        return "none"
    return f"{statistics.median(scores):.3g} ({min(scores):.3g} to {max(scores):.3g})"
