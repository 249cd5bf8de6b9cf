"""What authors of suites write: a check beside its points, sentences instead of bare asserts."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import pytest

from autograder.results import Grid, Status

MARK = "check"
_Test = TypeVar("_Test", bound=Callable[..., Any])


class Layer(StrEnum):
    """What a check looks at, in the order in which the first failure names the trouble.

    That the exercise is defined at all is the engine's to see, and worth no points.
    """

    SIGNATURE = "signature"
    SHAPES = "shapes"
    PARAMETERS = "parameters"
    DOCUMENTED = "documented"
    PROBE = "probe"
    LAWS = "laws"
    GRADIENTS = "gradients"
    FORBIDDEN = "forbidden"

    @property
    def hidden(self) -> bool:
        """Whether its inputs are secret, so that messages may not speak of values."""
        return self in {Layer.PROBE, Layer.LAWS, Layer.GRADIENTS, Layer.FORBIDDEN}


class CheckSpec(NamedTuple):
    """What stands beside a check."""

    exercise: str
    points: float
    layer: Layer
    needs: tuple[str, ...]


def check(
    exercise: str,
    *,
    points: float,
    layer: Layer | str = Layer.DOCUMENTED,
    needs: tuple[str, ...] = (),
) -> Callable[[_Test], _Test]:
    """Mark a pytest function as a check of *exercise*; its docstring is what students read.

    *needs* names other exercises without which it can't be judged: it is skipped if one is missing.
    """
    spec = CheckSpec(exercise, points, Layer(layer), needs)
    return pytest.mark.check(spec)  # a mark: pytest's own way to say it


def spec_of(item: pytest.Item) -> CheckSpec | None:
    """Return what stands beside the check *item*; ``None`` for an ordinary test."""
    mark = item.get_closest_marker(MARK)
    return mark.args[0] if mark else None


def title_of(item: pytest.Item) -> str:
    """Return the docstring's first paragraph as one line."""
    text = getattr(getattr(item, "function", None), "__doc__", None) or item.name
    return " ".join(text.strip().split("\n\n")[0].split())


class WrongAnswer(AssertionError):  # noqa: N818  # an outcome, not an error of ours
    """The student's code answered, wrongly.

    *public* is the sentence for a check with hidden inputs; it speaks of no value. *grid* shows
    small tensors side by side, for checks whose inputs are not hidden.
    """

    def __init__(
        self, status: Status, message: str, *, public: str = "", grid: Grid | None = None
    ) -> None:
        super().__init__(message)
        self.grid = grid
        self.status = status
        self.message = message
        self.public = public or message


def expect(condition: object, sentence: str, status: Status = Status.WRONG_VALUE) -> None:
    """Fail the check with *sentence* unless *condition* holds.

    The sentence must not hold inputs or expected values: it is shown beside hidden checks too.
    """
    if not condition:
        raise WrongAnswer(status, sentence)
