"""Runs the solution with another factor in its scaling."""

from collections.abc import Callable, Sequence
from typing import Final

from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.sandbox.protocol import Reply, Request
from autograder.suite.in_process import LocalChannel

QUOTIENTS: Final = ("div", "true_divide", "divide", "__truediv__")
PRODUCTS: Final = ("mul", "multiply", "__mul__", "__rmul__")


class ScaledChannel:
    """The solution, in whose calls the results of all scalings are multiplied by *factor*."""

    def __init__(self, solution: LocalChannel, factor: float = 1.0) -> None:
        self.found: set[float] = set()  # the factors by which the calls scale
        self._solution = solution
        self._factor = factor

    def ask_every(self, requests: Sequence[Request]) -> tuple[Reply, ...]:
        """Do *requests*."""
        return tuple(map(self._answer, requests))

    def _answer(self, request: Request) -> Reply:
        if request.verb not in {"call", "forward"}:
            return self._solution.answer(request)
        with _Scaler(self.found, self._factor):
            return self._solution.answer(request)


class _Scaler(TorchFunctionMode):
    """Multiplies what a product or quotient of a tensor and a number gives."""

    def __init__(self, found: set[float], factor: float) -> None:
        super().__init__()
        self._found = found
        self._factor = factor

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        result = func(*args, **(kwargs or {}))
        factor = _factor_of(getattr(func, "__name__", ""), args)
        if factor is None or not isinstance(result, Tensor):
            return result
        self._found.add(round(factor, 9))
        return result * self._factor


def _factor_of(function: str, args: Sequence[object]) -> float | None:
    """Return the number by which a torch function multiplies a tensor, if it does."""
    numbers = [one for one in args if isinstance(one, int | float)]
    if len(args) != 2 or len(numbers) != 1 or not numbers[0]:  # noqa: PLR2004  # a tensor and a number
        return None
    if function in PRODUCTS:
        return float(numbers[0])
    return 1 / numbers[0] if function in QUOTIENTS else None
