"""Counts the torch functions and operators that a student's code calls."""

from collections import Counter
from collections.abc import Callable, Iterator

from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

MAX_COUNTED = 4_000  # different names in one call; an honest call has some dozens
_Function = Callable[..., object]
_Args = tuple[object, ...]
_Kwargs = dict[str, object]


class FunctionCounter(TorchFunctionMode):
    """Counts torch functions by name."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_function__(
        self, func: _Function, types: object, args: _Args = (), kwargs: _Kwargs | None = None
    ) -> object:
        if len(self.counts) < MAX_COUNTED:
            self.counts[getattr(func, "__name__", str(func))[:80]] += 1
        return func(*args, **(kwargs or {}))


class OperatorCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's base is untyped
    """Counts operators by name and by the size of their largest input."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.counts: Counter[str] = Counter()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Tell torch not to import its compiler, which takes longer than torch itself."""
        return False

    def __torch_dispatch__(
        self, func: _Function, types: object, args: _Args = (), kwargs: _Kwargs | None = None
    ) -> object:
        if len(self.counts) < MAX_COUNTED:
            size = max((tensor.numel() for tensor in _tensors(args)), default=0)
            self.counts[f"{func} {size}"] += 1
        return func(*args, **(kwargs or {}))


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
