"""Counts the torch functions and operators that a student's code calls, in every thread.

torch keeps what watches its calls for each thread. So each thread that starts later watches for
itself, from its first step, and counts while somebody asks for it.
"""

import _thread
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

MAX_COUNTED = 4_000  # different names in one call; an honest call has some dozens
# Which of them exist depends on the version of Python; `threading` has its own references.
STARTS = ("start_new_thread", "start_new", "start_joinable_thread")
_Function = Callable[..., object]
_Args = tuple[object, ...]
_Kwargs = dict[str, object]


class CallCounters:
    """Counts what runs in this thread, and in those that start after ``watch_threads``."""

    def __init__(self) -> None:
        self.functions: Counter[str] = Counter()
        self.operators: Counter[str] = Counter()
        self.is_counting = False

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count the calls inside the context, from zero."""
        self.functions, self.operators = Counter(), Counter()
        self.is_counting = True
        try:
            with self._watching():
                yield
        finally:
            self.is_counting = False

    def watch_threads(self) -> None:
        """Let every thread that starts from now on watch its own calls."""
        for module in (_thread, threading):
            for name in STARTS:
                for known in (name, f"_{name}"):
                    if start := getattr(module, known, None):
                        setattr(module, known, self._watched(start))

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        with FunctionCounter(self), OperatorCounter(self):
            yield

    def _watched(self, start: _Function) -> _Function:
        """Return *start*, which starts a thread, for functions that watch their own calls."""

        def start_watched(function: _Function, *args: object, **kwargs: object) -> object:
            def run(*inner_args: object, **inner_kwargs: object) -> object:
                with self._watching():
                    return function(*inner_args, **inner_kwargs)

            return start(run, *args, **kwargs)

        return start_watched


class FunctionCounter(TorchFunctionMode):
    """Counts torch functions by name."""

    def __init__(self, counters: CallCounters) -> None:
        super().__init__()
        self._counters = counters

    def __torch_function__(
        self, func: _Function, types: object, args: _Args = (), kwargs: _Kwargs | None = None
    ) -> object:
        counts = self._counters.functions
        if self._counters.is_counting and len(counts) < MAX_COUNTED:
            counts[getattr(func, "__name__", str(func))[:80]] += 1
        return func(*args, **(kwargs or {}))


class OperatorCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's base is untyped
    """Counts operators by name and by the size of their largest input."""

    def __init__(self, counters: CallCounters) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's base is untyped
        self._counters = counters

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Tell torch not to import its compiler, which takes longer than torch itself."""
        return False

    def __torch_dispatch__(
        self, func: _Function, types: object, args: _Args = (), kwargs: _Kwargs | None = None
    ) -> object:
        counts = self._counters.operators
        if self._counters.is_counting and len(counts) < MAX_COUNTED:
            size = max((tensor.numel() for tensor in _tensors(args)), default=0)
            counts[f"{func} {size}"] += 1
        return func(*args, **(kwargs or {}))


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
