"""Replaces a wrong exercise, so that another one that uses it can be graded.

A stand-in answers with numbers that depend on everything that it gets, in the shape of a right
answer. It computes nothing of the exercise, so a worker may hold it.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

Shapes = dict[str, tuple[int, ...]]  # of the right answers, by a key for the arguments
MAX_SIZE = 1 << 22  # numbers in an answer; the inputs of checks are far smaller


class StandIn:
    """Answers for the function or class *name* in *namespace* until ``remove`` is called.

    Without *shapes* it lets the code itself answer, and learns the shapes.
    """

    def __init__(self, namespace: dict[str, object], name: str, shapes: Shapes) -> None:
        self.name = name
        self.learned: Shapes = {}
        self._shapes = shapes
        self._namespace = namespace
        self._found = namespace.get(name)
        self._methods: dict[str, Callable[..., object]] = {}
        if isinstance(self._found, type) and issubclass(self._found, nn.Module):
            self._methods = {name: getattr(self._found, name) for name in ("__init__", "forward")}
            self._replace_methods(self._found)
        elif callable(self._found):
            namespace[name] = self._function(self._found)

    def remove(self) -> None:
        """Let the code itself answer again."""
        if callable(self._found):
            self._namespace[self.name] = self._found
        for name, method in self._methods.items():
            setattr(self._found, name, method)

    def _function(self, run: Callable[..., object]) -> Callable[..., object]:
        def stand_in(*args: object, **kwargs: object) -> object:
            given = _arguments(run, args, kwargs)
            return self._answer(given, (), lambda: run(*args, **kwargs))

        return stand_in

    def _replace_methods(self, found: type[nn.Module]) -> None:
        create, run = self._methods["__init__"], self._methods["forward"]
        sizes: dict[int, Sequence[object]] = {}  # by module; those of a check live as long as it

        def __init__(module: nn.Module, *args: object, **kwargs: object) -> None:  # noqa: N807  # takes its place
            create(module, *args, **kwargs)
            sizes[id(module)] = _arguments(create, (module, *args), kwargs)[1:]

        def forward(module: nn.Module, *args: object, **kwargs: object) -> object:
            given = _arguments(run, (module, *args), kwargs)[1:]
            own = [parameter for _, parameter in sorted(module.named_parameters())]
            known = [*given, module.training, *sizes.get(id(module), ())]
            return self._answer(known, own, lambda: run(module, *args, **kwargs))

        for method in (__init__, forward):
            setattr(found, method.__name__, method)

    def _answer(
        self, given: Sequence[object], own: Sequence[Tensor], run: Callable[[], object]
    ) -> object:
        key = " ".join(map(_describe, given))
        if self._shapes:
            return mix([*given, *own], self._shapes[key])
        result = run()
        if isinstance(result, Tensor) and result.is_floating_point():
            self.learned[key] = tuple(result.shape)
        return result


def mix(arguments: Sequence[object], shape: tuple[int, ...]) -> Tensor:
    """Return numbers of *shape* that change with each number in *arguments*, in their dtype."""
    parts = [part for argument in arguments for part in _numbers(argument)]
    flat, count = torch.cat(parts), math.prod(shape)
    if not 0 < count <= MAX_SIZE:
        msg = f"a stand-in has {count} numbers"
        raise ValueError(msg)
    flat = flat.repeat(-(-count // len(flat))) if len(flat) < count else flat
    rows = nn.functional.pad(flat, (0, -len(flat) % count)).view(-1, count)
    weights = torch.arange(rows.numel()).cos().view_as(rows)  # no cosine of an integer is 0
    floats = (arg for arg in arguments if isinstance(arg, Tensor) and arg.is_floating_point())
    dtype = next((arg.dtype for arg in floats), flat.dtype)
    return (rows * weights).sum(0).view(shape).to(dtype)


def shapes_of(table: Mapping[str, object]) -> Shapes:
    """Read the shapes from a request."""
    return {
        key: tuple(size for size in shape if isinstance(size, int))
        for key, shape in table.items()
        if isinstance(shape, list | tuple)
    }


def _numbers(argument: object) -> list[Tensor]:
    """Return the numbers of one argument: infinite scores of masks as small numbers."""
    if isinstance(argument, Tensor):
        return [argument.flatten().float().nan_to_num(0.0, 2.0, -2.0)]
    return [torch.tensor([float(argument)])] if isinstance(argument, int | float) else []


def _describe(argument: object) -> str:
    """Return the shape of a tensor, or the value of a number; raises ``TypeError``."""
    if isinstance(argument, Tensor):
        return "x".join(map(str, argument.shape)) or "scalar"
    if argument is None or isinstance(argument, int | float):
        return str(argument)
    msg = f"a stand-in takes no {type(argument).__name__}"
    raise TypeError(msg)


def _arguments(
    run: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
) -> list[object]:
    """List the arguments of a call in the order of the definition, defaults included."""
    bound = inspect.signature(run).bind(*args, **kwargs)
    bound.apply_defaults()
    return [*bound.args, *bound.kwargs.values()]
