"""Observes a student's code: counts its calls of torch, and notes what the sandbox refuses.

In torch, the hooks that watch calls belong to a thread. Therefore each thread that starts later
first installs its own hooks. A refused operation is noted even if the code catches the exception,
and reported at the end. A worker can forge this, so an instructor gets a hint and no proof.
"""

import _thread
import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final, Literal, get_args

import torch
from torch import Tensor
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

MAX_COUNTED = 4_000  # different names in one call; an honest call has some dozens
# The version of Python decides which of them exist; `threading` has its own references to them.
STARTS = ("start_new_thread", "start_new", "start_joinable_thread")
PRODUCTS = frozenset({"mm", "bmm", "mv", "dot", "linear", "addmm", "baddbmm", "addmv"})
_Function = Callable[..., object]
_Args = tuple[object, ...]
_Kwargs = dict[str, object]


class CallCounters:
    """Counts the calls in this thread, and in those that start after ``watch_threads``."""

    def __init__(self) -> None:
        self.functions: Counter[str] = Counter()
        self.operators: Counter[str] = Counter()
        self.products: Counter[str] = Counter()  # keys such as "rows inner columns"
        self.largest = 0  # elements of the largest result; views of the inputs do not count
        self.is_counting = False

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count the calls inside the context, from zero."""
        self.functions, self.operators, self.products = Counter(), Counter(), Counter()
        self.largest = 0
        self.is_counting = True
        try:
            with self._watching():
                yield
        finally:
            self.is_counting = False

    def watch_threads(self) -> None:
        """Make every thread that starts from now on count its own calls."""
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
            counts[_name(func)] += 1
        return func(*args, **(kwargs or {}))


class OperatorCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's base is untyped
    """Counts operators by name and by the size of their largest input, and measures results."""

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
        result = func(*args, **(kwargs or {}))
        if self._counters.is_counting:
            self._count(str(func), [*_tensors(args), *_tensors(kwargs)], result)
        return result

    def _count(self, name: str, given: list[Tensor], result: object) -> None:
        counters = self._counters
        if len(counters.operators) < MAX_COUNTED:
            size = max((tensor.numel() for tensor in given), default=0)
            counters.operators[f"{name} {size}"] += 1
        kind = name.split(".")[1] if "." in name else ""
        if kind in PRODUCTS and len(given) > 1 and len(counters.products) < MAX_COUNTED:
            counters.products[_product(kind, given)] += 1
        known = {_storage(tensor) for tensor in given}
        new = (one.numel() for one in _tensors(result) if _storage(one) not in known)
        counters.largest = max([counters.largest, *new])


def _name(function: _Function) -> str:
    """Return the name of *function*; one of `torch.ops` that is not torch's own has two parts."""
    if isinstance(function, OpOverload | OpOverloadPacket):
        space, name = str(function).split(".")[:2]
        return (name if space == "aten" else f"{space}.{name}")[:80]
    return getattr(function, "__name__", str(function))[:80]


def _product(kind: str, given: list[Tensor]) -> str:
    """Return the rows (of all matrices), the inner width and the columns of a product."""
    left, right = given[:2] if kind == "linear" else given[-2:]
    inner = left.shape[-1]
    rows = left.numel() // inner if inner else 0
    columns = right.shape[0 if kind == "linear" else -1] if right.ndim > 1 else 1
    return f"{rows} {inner} {columns}"


def _storage(tensor: Tensor) -> int:
    """Return the address of the memory that *tensor* shares with its views."""
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided else 0  # noqa: SLF001  # also for empty storages


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors([*value.values()])


Attempt = Literal["files outside its folder", "the network", "other programs"]
ATTEMPTS: Final[tuple[Attempt, ...]] = get_args(Attempt)
_FILES, _NETWORK, _PROGRAMS = ATTEMPTS
_EVENTS: Final[dict[str, Attempt]] = {
    **dict.fromkeys(("open", "os.listdir", "os.scandir"), _FILES),
    **dict.fromkeys(("socket.__new__", "socket.connect", "socket.getaddrinfo"), _NETWORK),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"), _PROGRAMS),
    "os.fork": _PROGRAMS,
}


class Attempts:
    """Collects the kinds of attempts since ``watch``."""

    def __init__(self) -> None:
        self.found: set[Attempt] = set()
        self._allowed: tuple[str, ...] = ()

    def watch(self, *allowed: str) -> None:
        """Note what student code tries from now on, except with files below *allowed* folders."""
        self._allowed = tuple(f"{folder.rstrip('/')}/" for folder in allowed)
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        attempt = _EVENTS.get(event)
        if attempt is None or attempt in self.found:
            return
        path = arguments[0] if attempt == _FILES and arguments else ""
        if not isinstance(path, str | bytes):
            return  # a descriptor
        whole = f"{os.path.abspath(os.fsdecode(path))}/"  # noqa: PTH100  # a Path would follow links
        if (attempt != _FILES or not whole.startswith(self._allowed)) and _is_students(
            sys._getframe(1)  # noqa: SLF001  # the documented way to the caller
        ):
            self.found.add(attempt)


def _is_students(frame: FrameType | None) -> bool:
    """Whether student code, perhaps through Python's own library, runs *frame*.

    Packages read their own files, and an import looks into folders. Neither counts.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or "site-packages" in file:
            return False
        if not file.startswith(("<", "/")):  # a module or a cell of the submission has no folder
            return True
        frame = frame.f_back
    return False
