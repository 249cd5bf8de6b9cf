"""Makes the fingerprints of a stage: runs wrong programs in its public checks, and keeps numbers.

The programs are the misconceptions, and the solution with one kind of mistake each. Pairs of kinds
are left out: there are thousands of them.
"""

from collections.abc import Callable, Collection, Sequence
from difflib import unified_diff
from functools import partial
from typing import Any, NamedTuple, TypeVar

import pytest

from autograder.authoring.effect_levels import EffectsMaker
from autograder.course import Stage
from autograder.diagnosis import misconceptions
from autograder.diagnosis.fingerprints import (
    MAX_BYTES,
    PARTS,
    PASSES,
    Fingerprints,
    Mistake,
    Print,
    Shown,
    Wording,
    compact,
    sealed,
    shown_by,
    to_json,
)
from autograder.diagnosis.known_effects import AskedChannel, KnownEffects
from autograder.diagnosis.matcher import Run, channel_of
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.operators.programs import Programs
from autograder.diagnosis.operators.rewrites import Rewrite
from autograder.errors import CourseError
from autograder.suite.checks import CollectedCheck, Layer
from autograder.suite.in_process import LocalChannel

SAMPLE = 10  # of each sort; digests show whether the others are stale or edited
Item = TypeVar("Item")


class PublicChecks(NamedTuple):
    """The public checks of a stage, how to run one, and the stage's solution."""

    stage: Stage
    solution: LocalChannel
    checks: Sequence[CollectedCheck]
    run: Run

    def of(self, exercise: str) -> list[CollectedCheck]:
        """List the checks of *exercise*."""
        return [check for check in self.checks if check.spec.exercise == exercise]

    def about_code(self) -> list[CollectedCheck]:
        """List the checks that look at the code, and not only at its answers."""
        return [check for check in self.checks if check.spec.layer is Layer.FORBIDDEN]


class Kind(NamedTuple):
    """A program with one kind of mistake: the programs of its exercise, and its number there."""

    programs: Programs
    exercise: str
    number: int

    @property
    def rewrite(self) -> Rewrite:
        """What is wrong in it."""
        return self.programs.rewrites[self.number]

    @property
    def change(self) -> str:
        """The kind of mistake, and the lines that it changes."""
        before, after = (self.programs.text(key).splitlines() for key in ((), (self.number,)))
        diff = [*unified_diff(before, after, n=0, lineterm="")][2:]  # after two headings
        lines = [row[0] + row[1:].strip() for row in diff if row[0] in "+-"]
        return f"{self.rewrite.kind} ({' '.join(lines)})"

    @property
    def channel(self) -> LocalChannel | None:
        """The program, which can be asked; ``None`` if it can't be imported."""
        return self.programs.channel((self.number,))


class Made(NamedTuple):
    """Fingerprints, and the labels of the programs that were run."""

    fingerprints: Fingerprints
    compared: Collection[str]


class _Numbers:
    """Gives each value a number, equal values the same one."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def of(self, value: Any) -> int:
        """Return the number of *value*, which must have a JSON form."""
        text = compact(value)
        if text not in self._numbers:
            self._numbers[text] = len(self._values)
            self._values.append(value)
        return self._numbers[text]

    def all(self) -> tuple[Any, ...]:
        """Return the values in the order of their numbers."""
        return tuple(self._values)


def kinds_of(stage: Stage, solution: LocalChannel) -> list[Kind]:
    """List the programs with one kind of mistake, in the order of their numbers."""
    words = misconceptions.read_operators(stage.misconceptions)
    names = [one.name for one in stage.exercises]
    made = [(name, Programs(stage, name, solution, words)) for name in names]
    return [Kind(found, name, number) for name, found in made for number in range(len(found.keys))]


def _sample(items: Sequence[Item]) -> list[Item]:
    """Choose some *items*, at equal distances."""
    return list(items[:: max(1, len(items) // SAMPLE)])


class FingerprintMaker:
    """Makes the fingerprints of one stage."""

    def __init__(self, public: PublicChecks) -> None:
        self._public = public
        self._ends, self._answers = _Numbers(), _Numbers()
        self._prints: dict[str, dict[tuple[int, tuple[int, ...]], list[int]]] = {}

    def make(self, made_from: str, *, only_sample: bool = False) -> Made:
        """Run every misconception and every program with a kind of mistake, or a sample of both."""
        stage, choose = self._public.stage, _sample if only_sample else list
        bank = choose(misconceptions.read(stage.misconceptions))
        mistakes = self._run_misconceptions(bank)
        kinds = kinds_of(stage, self._public.solution)
        wanted = choose(range(len(kinds)))
        failing = {one for one in wanted if self._fails(len(mistakes) + one, kinds[one])}
        wordings, questions, groups = _Numbers(), _Numbers(), _Numbers()
        programs = [
            wordings.of(_wording(one.rewrite, questions, groups)) if number in failing else PASSES
            for number, one in enumerate(kinds)
        ]
        known = Fingerprints(
            made_from=made_from,
            mistakes=tuple(mistakes),
            programs=tuple(programs),
            wordings=wordings.all(),
            questions=questions.all(),
            solved={check.name: self._solve(check) for check in self._public.about_code()},
            effects=self._effects(),
            ends=self._ends.all(),
            answers=self._answers.all(),
            prints={
                check: tuple(Print(*shown, tuple(of)) for shown, of in prints.items())
                for check, prints in self._prints.items()
            },
        )
        labels = {item.id for item in bank} | {known.label(len(mistakes) + one) for one in wanted}
        return Made(sealed(known), labels)

    def _run_misconceptions(self, bank: Sequence[Misconception]) -> list[Mistake]:
        """Keep what each misconception shows; return those that fail a check."""
        stage, run = self._public.stage, self._public.run
        found: list[Mistake] = []
        for item in bank:
            ask = partial(_run, run, channel_of(stage, item))
            if self._keep(len(found), item.exercise, ask):
                words = item.explanation, item.question, item.title
                found.append(Mistake(item.id, item.exercise, *words))
        return found

    def _fails(self, number: int, kind: Kind) -> bool:
        """Keep what a program with one kind of mistake shows; say whether it fails a check."""
        key, run = (kind.number,), self._public.run
        return self._keep(number, kind.exercise, lambda item: kind.programs.run(key, item, run))

    def _keep(self, number: int, exercise: str, ask: Callable[[pytest.Item], Observation]) -> bool:
        """Run the checks of *exercise*, and keep what failures show; say whether there are any."""
        failed = False
        for check in self._public.of(exercise):
            seen = ask(check.item)
            if seen.error is not None:
                failed = True
                shown = shown_by(seen)
                key = self._ends.of(shown.end), self.keep_answers(shown)
                self._prints.setdefault(check.name, {}).setdefault(key, []).append(number)
        return failed

    def _solve(self, check: CollectedCheck) -> tuple[int, ...]:
        """Return the numbers of the solution's answers."""
        return self.keep_answers(shown_by(self._public.run(check.item, self._public.solution)))

    def _effects(self) -> KnownEffects:
        """Return what the results of the solution depend on."""
        maker = EffectsMaker(self._public.solution)
        for check in self._public.checks:
            asked = AskedChannel(self._public.solution)
            solved = self._public.run(check.item, asked)
            maker.add(check.name, asked.requests, solved)
        return maker.made()

    def keep_answers(self, shown: Shown) -> tuple[int, ...]:
        """Return the numbers of the answers."""
        return tuple(map(self._number, shown.answers))

    def _number(self, answer: Any) -> int:
        """Return the number of *answer*, whose parts have their own numbers."""
        if isinstance(answer, dict) and len(answer) > 1:
            answer = {PARTS: [self._answers.of([*answer]), *map(self._number, answer.values())]}
        return self._answers.of(answer)


def _run(run: Run, channel: LocalChannel, check: pytest.Item) -> Observation:
    return run(check, channel)


def _wording(rewrite: Rewrite, questions: _Numbers, groups: _Numbers) -> Wording:
    question, group = questions.of(rewrite.question), groups.of(rewrite.group)
    return Wording(rewrite.kind, rewrite.explanation, question, group)


def encode(stage: Stage, known: Fingerprints) -> bytes:
    """Encode *known*; raises ``CourseError`` if students would have to download too much."""
    content = to_json(known)
    if len(content) > MAX_BYTES:
        msg = (
            f"The fingerprints of {stage.name} have {len(content)} bytes, more than {MAX_BYTES}: "
            "use smaller tensors, mark checks as hidden, or silence kinds of mistake (OPERATORS)."
        )
        raise CourseError(msg)
    return content
