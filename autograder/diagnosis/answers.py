"""Compares answers, and decides whether they contain enough numbers to rule out chance."""

import re
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.diagnosis.observation import (
    Failure,
    Observation,
    does_not_end,
    ended_alike,
    status_of,
    step_agreement,
)
from autograder.diagnosis.rounded_values import canonical
from autograder.results import Status
from autograder.sandbox.faults import Fault, NoGradients, Raised
from autograder.suite.checks import Layer, WrongAnswer, layer_of
from autograder.suite.in_process import COMPUTED
from autograder.suite.noise import APART, Agreement, scale_of, varies

SAMPLES = 4  # entries of a tensor that are compared first; most wrong answers differ in all of them
OF_NUMPY = {torch.float16, torch.float32, torch.float64}  # for these, numpy is twice as fast
SPECIFIC = re.compile(r"\d|'|buffer|Variable|got \(")  # sizes and names in exceptions' texts
AXIS_ONLY = "Dimension out of range"  # contains the missing axis, not the step that uses it
MIN_ENTRIES = 4  # fewer numbers may agree by chance


class Sample(NamedTuple):
    """A few numbers of an answer and its scale, with which answers can be distinguished quickly."""

    shape: tuple[Any, ...]
    numbers: tuple[float, ...]
    scale: float = 1.0


class Sought(NamedTuple):
    """The result that a program must have: answers, samples of them, and the end of the check."""

    answers: tuple[tuple[str, Any], ...]
    samples: tuple[Sample | None, ...]
    error: BaseException | None


def sought(observation: Observation) -> Sought:
    """Return the result that a program must have to explain *observation*."""
    samples = tuple(sample(answer) for _, answer in observation.answers)
    return Sought(observation.answers, samples, observation.error)


def sample(answer: Any) -> Sample | None:
    """Return a few numbers of a tensor, or of a dictionary of tensors; else ``None``."""
    if isinstance(answer, dict):
        parts = {name: part for name in in_order(answer) if (part := sample(answer[name]))}
        numbers = tuple(number for part in parts.values() for number in part.numbers)
        scale = max((part.scale for part in parts.values()), default=1.0)
        return Sample(tuple((name, part.shape) for name, part in parts.items()), numbers, scale)
    if not isinstance(answer, Tensor) or not answer.is_floating_point() or not answer.numel():
        return None
    exact = answer.detach() if answer.dtype in OF_NUMPY else answer.detach().double()
    step = max(1, (answer.numel() - 1) // (SAMPLES - 1))
    numbers = tuple(exact.numpy().ravel()[::step].tolist())
    return Sample(tuple(answer.shape), numbers, scale_of(exact))


def in_order(answer: dict[Any, Any]) -> list[Any]:
    """Return the keys of *answer*, which may have several types, in a fixed order."""
    return sorted(answer, key=lambda key: (type(key).__name__, canonical(key)))


def differ(left: Sample | None, right: Sample | None) -> bool:
    """Whether the numbers alone show that two answers are different; NaN is not evidence."""
    if left is None or right is None:
        return False
    if left.shape != right.shape:
        return True
    pairs = zip(left.numbers, right.numbers, strict=False)
    certain = APART * max(left.scale, right.scale)
    return any(abs(one - other) > certain for one, other in pairs)


def tells(answer: Any) -> bool:
    """Whether the tensors of *answer* have enough different finite numbers to rule out chance."""
    match answer:
        case Tensor():
            numbers = answer.detach().flatten()
            finite = numbers[numbers.isfinite()]
            return len(finite) >= MIN_ENTRIES and varies(finite)
        case dict():
            return any(map(tells, answer.values()))
        case list() | tuple():
            return any(map(tells, answer))
    return False


def last_tells(seen: Observation) -> bool:
    """Whether the last answer is enough evidence to name a mistake.

    In a result of the code, plain values are evidence, too; a signature or a list of names is not.
    """
    if not seen.answers:
        return False
    verb, answer = seen.answers[-1]
    return tells(answer) or (verb in COMPUTED and len({*_plain_parts(answer)}) >= MIN_ENTRIES)


def _plain_parts(answer: Any) -> Iterator[Hashable]:
    """Yield the characters of texts, and the entries that are neither floats nor tensors.

    In a dictionary, an entry counts with its key.
    """
    match answer:
        case str() | bytes() | set() | frozenset():
            yield from answer
        case dict():
            for key, value in answer.items():
                yield from ((key, part) for part in _plain_parts(value))
        case list() | tuple():
            for part in answer:
                yield from _plain_parts(part)
        case int() | None:
            yield answer


def effort(seen: Observation, requests: int) -> tuple[bool, bool, int, int]:
    """Return a key that sorts checks with evidence in the last answer first, then by size.

    Gradients, which take as long as all other requests, come last. *requests* is the number of
    requests of the check, as far as it is known.
    """
    asks_gradients = any(verb == "gradients" for verb, _ in seen.answers)
    size = sum(entries(answer) for _, answer in seen.answers)
    return not last_tells(seen), asks_gradients, requests, size


def is_raised(error: BaseException | None) -> bool:
    """Whether the code raised an exception or did not end; a missing gradient does not count."""
    return does_not_end(error) or (isinstance(error, Raised) and not isinstance(error, NoGradients))


def same_answers(seen: Observation, solved: Observation) -> bool:
    """Whether all answers equal the solution's, so that the check failed for a different reason."""
    if len(seen.answers) > len(solved.answers):
        return False
    pairs = zip(seen.answers, solved.answers, strict=False)
    return all(
        verb == right[0] and step_agreement(verb, answer, right[1], right) is Agreement.SAME
        for (verb, answer), right in pairs
    )


def entries(answer: Any) -> int:
    """Count the numbers of *answer*."""
    return answer.numel() if isinstance(answer, Tensor) else 1


def refuses(error: BaseException | None) -> bool:
    """Whether *error* comes from a ``raise`` of ValueError in the code itself."""
    if not isinstance(error, Raised) or error.kind != "ValueError":
        return False
    return error.refusal and ": raise " in error.message.partition("\n")[0]


def is_specific(error: BaseException | None) -> bool:
    """Whether the end of a check is more specific than the type of an exception.

    A text with sizes or names is specific, and so are a refusal and endless code. The number of an
    axis is not specific, because every step with an axis can raise such an error.
    """
    text = str(getattr(error, "text", ""))
    tells_step = bool(SPECIFIC.search(text)) and not text.startswith(AXIS_ONLY)
    return refuses(error) or does_not_end(error) or tells_step


def same_end(left: BaseException | None, right: BaseException | None) -> bool:
    """Whether two runs ended in the same way; two refusals may have different texts."""
    return ended_alike(left, right) or (refuses(left) and refuses(right))


class FailedCheck(NamedTuple):
    """A check that the code failed, and how it failed.

    *wrong* is true if an answer was wrong, and not only the functions that the code uses. *tells*
    is true if the answer has enough numbers to name a mistake. *fault* is true if a request was not
    answered. *raised* is true if the code raised an exception or did not end. Such an end may be
    *specific* or the code's own refusal (*refuses*). *accepts* is true if the code must refuse.
    """

    name: str
    layer: Layer | None
    wrong: bool
    tells: bool
    fault: bool = False
    raised: bool = False
    specific: bool = False
    refuses: bool = False
    accepts: bool = False

    @classmethod
    def of(cls, failure: Failure, is_right: Callable[[Failure], bool]) -> "FailedCheck":
        """Describe a failure; *is_right* tells whether all its answers equal the solution's."""
        seen, layer = failure.observation, layer_of(failure.item)
        is_wrong = isinstance(seen.error, WrongAnswer) and bool(seen.answers)
        return cls(
            failure.item.name,
            layer,
            wrong=is_wrong and not (layer is Layer.FORBIDDEN and is_right(failure)),
            tells=last_tells(seen),
            fault=isinstance(seen.error, Fault),
            raised=is_raised(seen.error),
            specific=is_specific(seen.error),
            refuses=refuses(seen.error),
            accepts=status_of(seen.error) == Status.NOT_REFUSED,
        )
