"""The right computation with one change, such as another scaling or an argument in reverse order.

A student's wrong result may be what one of these gives. The solution answers for all of them, and
what it answers is kept for a class; ``matching_change`` compares.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

import torch
from torch import Tensor

from autograder.diagnosis.changed_calls import UNCHANGED, BatchChannel, Call, Change
from autograder.diagnosis.changed_solution import (
    ChangedSolution,
    ProductChange,
    Scaling,
    SoftmaxChange,
    Step,
)
from autograder.diagnosis.subjects import Pair, Subject
from autograder.suite.in_process import LocalChannel

EQUAL = 1e-6  # of the largest number of a result: two changes do the same
FACTORS = (-8.0, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SUMMANDS = (-4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0)
SHORTEST = 1e-12  # a length by which one can divide
LINE = (-8.0, 8.0)  # enough where the result is a linear function of the number
RESULT: Final = "its result"  # in place of the name of a tensor

AXES: Final = {  # counted from the last one, what their sizes are called
    -1: "the size of the last axis of {}",
    -2: "the number of rows of {}",
    -3: "the size of the third last axis of {}",
    -4: "the size of the fourth last axis of {}",
}


class Variation(NamedTuple):
    """A change of all numbers of a tensor, and how it is said of the tensor ``{}``."""

    apply: Callable[[Tensor], Tensor]
    phrase: str
    axes: int = 0  # that the tensor must have

    def fits(self, tensor: Tensor) -> bool:
        """Whether it can be applied to *tensor*."""
        return tensor.ndim >= self.axes


VARIATIONS: Final = (
    Variation(torch.abs, "all numbers in {} lose their sign"),
    Variation(torch.relu, "zeros take the place of the negative numbers in {}"),
    Variation(torch.square, "all numbers in {} are squared"),
    Variation(torch.exp, "the exponential is taken of all numbers in {}"),
    Variation(torch.tanh, "the hyperbolic tangent is taken of all numbers in {}"),
    Variation(torch.sigmoid, "the sigmoid is taken of all numbers in {}"),
    Variation(lambda one: one.softmax(-1), "a softmax runs over the last axis of {}", 1),
    Variation(lambda one: one.softmax(-2), "a softmax runs over the columns of {}", 2),
    Variation(
        lambda one: one - one.mean(-1, keepdim=True),
        "the mean over the last axis of {} is subtracted from it",
        1,
    ),
    Variation(
        lambda one: one - one.mean(-2, keepdim=True),
        "the mean of all rows of {} is subtracted from each",
        2,
    ),
    Variation(
        lambda one: one / one.norm(dim=-1, keepdim=True),
        "each row of {} is divided by its Euclidean length",
        1,
    ),
    Variation(lambda one: one.cumsum(-1), "the last axis of {} holds running sums", 1),
    Variation(lambda one: one.cumsum(-2), "each row of {} is added to all rows below it", 2),
    Variation(lambda one: one.flip(-1), "the last axis of {} is in reverse order", 1),
    Variation(lambda one: one.flip(-2), "the rows of {} are in reverse order", 2),
    Variation(lambda one: one.flip(0), "the items of {} are in reverse order", 3),
    Variation(
        lambda one: one.roll(1, -2),
        "the rows of {} are moved down by one, the last one to the top",
        2,
    ),
    Variation(
        lambda one: one.roll(-1, -2),
        "the rows of {} are moved up by one, the first one to the bottom",
        2,
    ),
    Variation(lambda one: one.mT, "{} is transposed", 2),
)


class Answers(NamedTuple):
    """Results of the changed right computation: those of *subject*, changed by *then*."""

    subject: Subject
    then: Callable[[Tensor], Tensor] = lambda answer: answer

    def answer(self, change: Change) -> Tensor | None:
        """Return the result after *change*, ``None`` unless it is a tensor of finite numbers."""
        self.subject.ask([change])
        found = self.subject.answer(change)
        changed = None if found is None else self.then(found)
        return changed if changed is not None and bool(changed.isfinite().all()) else None


class Knob(NamedTuple):
    """A number in the right computation; *at* returns the computation with another one.

    *grid* are numbers to start from, *exact* are those that it may be exactly. *kind* and *name*
    say what it is; a factor of the scaling takes the place of *right*.
    """

    kind: str  # "scaling", "factor" or "summand"
    name: str
    at: Callable[[float], Answers]
    grid: Sequence[float]
    exact: Sequence[float] = ()
    right: float = 1.0


class Table(NamedTuple):
    """Results for some numbers, and how far each is from the next."""

    numbers: Sequence[float]
    points: Tensor
    sides: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, results: Sequence[tuple[float, Tensor]]) -> "Table":
        """Return the table of *results*, at least two of one shape."""
        points = torch.stack([result.flatten() for _, result in results])
        sides = points[1:] - points[:-1]
        lengths = sides.norm(dim=1).clamp(min=SHORTEST)
        return cls([number for number, _ in results], points, sides, lengths)


@dataclass(frozen=True)
class RightCall:
    """A call of the solution, and what it gives with one change; all is kept for a class."""

    solution: LocalChannel
    call: Call

    @functools.cached_property
    def subject(self) -> Subject:
        """The solution as it is."""
        subject = Subject(self.solution, self.call)
        subject.ask([UNCHANGED])
        return subject

    @functools.cached_property
    def variations(self) -> list[tuple[Answers, str]]:
        """The variations of tensors, of steps and of the result, and what is said of each."""
        found = [
            (self._varied(name, one.apply), one.phrase.format(name))
            for name, tensor in self._tensors().items()
            for one in VARIATIONS
            if one.fits(tensor)
        ]
        for one in VARIATIONS:
            for words, step in self._steps(one.apply):
                found.append((self._stepping(step), one.phrase.format(words)))
        return found

    def _steps(self, apply: Callable[[Tensor], Tensor]) -> Iterator[tuple[str, Step]]:
        """Yield the steps that *apply* can change, and what their results are called."""
        if self._has_softmax:
            yield "what goes into its softmax", SoftmaxChange(apply, incoming=True)
            yield "what comes out of its softmax", SoftmaxChange(apply, incoming=False)
        for name in self.call.parameters:
            bias = f"{name.removesuffix('weight')}bias"  # as ``nn.Linear`` calls and adds it
            plus = f" plus {bias}" if bias in self.call.parameters else ""
            yield f"its product with {name}{plus}", ProductChange(apply, name)

    @functools.cached_property
    def _has_softmax(self) -> bool:
        step = SoftmaxChange(lambda one: one, incoming=True)
        self._stepping(step).answer(UNCHANGED)
        return step.count > 0

    @functools.cached_property
    def varied_results(self) -> Tensor:
        """The results of the variations, one after the other; NaN where one has none like it."""
        right = self.subject.answer(UNCHANGED)
        if right is None:
            return torch.empty(0)
        found = [answers.answer(UNCHANGED) for answers, _ in self.variations]
        none = torch.full_like(right, torch.nan)
        return torch.stack(
            [none if one is None or one.shape != right.shape else one for one in found]
        )

    @functools.cached_property
    def knobs(self) -> list[tuple[Knob, Table]]:
        """The numbers that may be others, each with the results for the numbers of its grid."""
        right = self.subject.answer(UNCHANGED)
        found = []
        for knob in self._knobs() if right is not None else ():
            results = [(number, knob.at(number).answer(UNCHANGED)) for number in knob.grid]
            usable = [
                (number, result)
                for number, result in results
                if result is not None and right is not None and result.shape == right.shape
            ]
            if len(usable) > 1:
                found.append((knob, Table.of(usable)))
        return found

    def _knobs(self) -> Iterator[Knob]:
        """Yield the scaling, the factors that do something else, and summands."""
        sizes = [number for size in self.sizes.values() for number in (size, 1 / size)]
        exact = [0.0, *sizes]
        doubled = [self.subject.answer(UNCHANGED)]
        if self.scaling is not None:
            doubled.append(self._scaled(2.0).answer(UNCHANGED))
            numbers = [number / self.scaling for number in (0.0, 1.0, *sizes)]
            yield Knob("scaling", "", self._scaled, FACTORS, numbers, self.scaling)
        for name in self._tensors():
            result = self._times(name, 2.0).answer(UNCHANGED)
            factors, summands = (LINE, LINE) if name == RESULT else (FACTORS, SUMMANDS)
            if not any(_equal(result, other) for other in doubled):
                doubled.append(result)
                yield Knob("factor", name, partial(self._times, name), factors, exact)
            if name not in self.call.parameters:
                yield Knob("summand", name, partial(self._plus, name), summands)

    def _tensors(self) -> dict[str, Tensor]:
        """Return the result, the arguments and the parameters, by name."""
        right = self.subject.answer(UNCHANGED)
        return {} if right is None else {RESULT: right, **self.call.tensors}

    @functools.cached_property
    def scaling(self) -> float | None:
        """The factor by which the solution scales; ``None`` if it is one, or there are several."""
        step = Scaling()
        self._stepping(step).answer(UNCHANGED)
        factor = step.found.pop() if len(step.found) == 1 else 1.0
        return None if abs(factor - 1) <= EQUAL else factor

    @functools.cached_property
    def sizes(self) -> dict[str, float]:
        """The sizes that are passed, those of axes, and their roots, by what they are called."""
        found: dict[str, float] = {}
        for name, number in self.call.numbers.items():
            found |= {name: number, f"the root of {name}": number**0.5}
        own = self.call.parameters
        tensors = sorted(self._tensors().items(), key=lambda one: (one[0] in own, one[0] == RESULT))
        for name, tensor in tensors:
            for axis in reversed(range(tensor.ndim)[-len(AXES) :]):
                words, size = AXES[axis - tensor.ndim].format(name), tensor.shape[axis]
                found |= {words: size, f"the root of {words}": size**0.5} if size > 1 else {}
        return found

    def _scaled(self, factor: float) -> Answers:
        return self._stepping(Scaling(factor))

    def _stepping(self, step: Step) -> Answers:
        return Answers(Subject(ChangedSolution(self.solution, step), self.call))

    def _times(self, name: str, factor: float) -> Answers:
        return self._varied(name, lambda one: factor * one)

    def _plus(self, name: str, summand: float) -> Answers:
        return self._varied(name, lambda one: one + summand)

    def _varied(self, name: str, apply: Callable[[Tensor], Tensor]) -> Answers:
        """Return what the solution gives if *apply* changes a tensor, or the result."""
        if name == RESULT:
            return Answers(self.subject, apply)
        return Answers(Subject(self.solution, replace(self.call, then={name: apply})))


@dataclass(frozen=True)
class SolutionPair(Pair):
    """The solution and a student's code, with the same call; *right* has the solution's changes."""

    right: RightCall

    @classmethod
    def of(cls, right: RightCall, channel: BatchChannel) -> "SolutionPair":
        """Return the pair of *right* and the code behind *channel*."""
        return cls(right.call, right.subject, Subject(channel, right.call), right)


def _equal(left: Tensor | None, right: Tensor | None) -> bool:
    if left is None or right is None or left.shape != right.shape:
        return left is right
    return float((left - right).abs().max()) <= EQUAL * float(right.abs().max())
