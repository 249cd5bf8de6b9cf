"""Runs the solution with one step changed: its scaling, a softmax, the use of a parameter."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.diagnosis.changed_calls import CALLS
from autograder.sandbox.protocol import Reply, Request, TensorValue
from autograder.sandbox.tensors import decode_tensor
from autograder.suite.in_process import LocalChannel

Function = Callable[..., Any]
QUOTIENTS: Final = ("div", "true_divide", "divide", "__truediv__")
PRODUCTS: Final = ("mul", "multiply", "__mul__", "__rmul__")
MATRIX_PRODUCTS: Final = ("linear", "matmul", "__matmul__")
SOFTMAX: Final = "softmax"


class Step(Protocol):
    """Calls a torch function, perhaps with another result; *parameters* are those of the module."""

    def __call__(
        self, function: Function, args: tuple[Any, ...], parameters: Mapping[str, Tensor]
    ) -> Any:
        """Return the result; *function* takes *args*."""


@dataclass
class ChangedSolution:
    """A channel to the solution in which *step* calls the torch functions."""

    solution: LocalChannel
    step: Step
    _parameters: dict[str, Tensor] = field(default_factory=dict)

    def ask_every(self, requests: Sequence[Request]) -> tuple[Reply, ...]:
        """Do *requests*."""
        return tuple(map(self._answer, requests))

    def _answer(self, request: Request) -> Reply:
        if request.verb == "load":
            values = request.kwargs.items()
            loaded = {name: one for name, one in values if isinstance(one, TensorValue)}
            self._parameters |= {name: decode_tensor(one) for name, one in loaded.items()}
        if request.verb not in CALLS:
            return self.solution.answer(request)
        with _Stepping(self.step, self._parameters):
            return self.solution.answer(request)


class _Stepping(TorchFunctionMode):
    """Hands each torch function to a step."""

    def __init__(self, step: Step, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        self._step = step
        self._parameters = parameters

    def __torch_function__(
        self,
        func: Function,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        def function(*given: Any) -> Any:
            return func(*given, **(kwargs or {}))

        function.__name__ = getattr(func, "__name__", "")
        return self._step(function, args, self._parameters)


@dataclass
class Scaling:
    """Multiplies the product or quotient of a tensor and a number; keeps which factors it found."""

    factor: float = 1.0
    found: set[float] = field(default_factory=set)

    def __call__(
        self,
        function: Function,
        args: tuple[Any, ...],
        parameters: Mapping[str, Tensor],  # noqa: ARG002  # as every step
    ) -> Any:
        """Return the result, multiplied if the function scales."""
        result, factor = function(*args), _factor_of(function.__name__, args)
        if factor is None or not isinstance(result, Tensor) or not result.is_floating_point():
            return result  # whole numbers are indices or sizes
        self.found.add(float(f"{factor:.9g}"))
        return result * self.factor


@dataclass
class SoftmaxChange:
    """Changes what goes into each softmax, or what comes out; counts them."""

    apply: Callable[[Tensor], Tensor]
    incoming: bool
    count: int = 0

    def __call__(
        self,
        function: Function,
        args: tuple[Any, ...],
        parameters: Mapping[str, Tensor],  # noqa: ARG002  # as every step
    ) -> Any:
        """Return the result, changed if the function is a softmax."""
        if function.__name__ != SOFTMAX or not args:
            return function(*args)
        self.count += 1
        if self.incoming:
            return function(self.apply(args[0]), *args[1:])
        return self.apply(function(*args))


@dataclass
class ProductChange:
    """Changes the matrix products with the parameter *name*."""

    apply: Callable[[Tensor], Tensor]
    name: str

    def __call__(
        self, function: Function, args: tuple[Any, ...], parameters: Mapping[str, Tensor]
    ) -> Any:
        """Return the result, changed if the parameter is the second factor."""
        result, own = function(*args), parameters.get(self.name)
        if own is None or function.__name__ not in MATRIX_PRODUCTS or len(args) <= 1:
            return result
        return self.apply(result) if torch.equal(own, args[1]) else result


def _factor_of(function: str, args: Sequence[object]) -> float | None:
    """Return the number by which a torch function multiplies a tensor, if it does."""
    numbers = [one for one in args if isinstance(one, int | float)]
    if len(args) != 2 or len(numbers) != 1 or not numbers[0]:  # noqa: PLR2004  # a tensor and a number
        return None
    if function in PRODUCTS:
        return float(numbers[0])
    return 1 / numbers[0] if function in QUOTIENTS else None
