"""A channel within the supervisor's own process: for the reference solution and known mistakes.

Only the course's own code comes here. A student's never does.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable
from pathlib import Path

from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.errors import CourseError
from autograder.sandbox.executor import RequestExecutor
from autograder.sandbox.protocol import ListValue, Reply, Request, Verb
from autograder.sandbox.static_names import Definition, definitions, parse

MAX_BYTES = 1 << 26  # the course's own answers; ample
MAX_STEPS = 200  # of one answer; a solution takes some ten


class LocalChannel:
    """Answers from code of the course, run right here."""

    def __init__(self, name: str, code: bytes) -> None:
        self._executor = RequestExecutor(f"_course_{name}", notebook=False, max_bytes=MAX_BYTES)
        self._code = code
        problems = self.ask("run", cells=(code,)).value
        if isinstance(problems, ListValue) and problems.items:
            msg = f"The course's own module {name} can't be imported: {problems.items[0]}"
            raise CourseError(msg)

    @functools.cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """What the source defines and names."""
        return definitions(parse((self._code,)))

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Do one request; what a known mistake prints or warns of is nobody's to read."""
        with contextlib.redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reply = self._executor.answer(Request(number=0, verb=verb, **fields))  # type: ignore[arg-type]  # the caller names fields of Request
        if reply.problem is not None and reply.problem.type == KeyboardInterrupt.__name__:
            raise KeyboardInterrupt  # the instructor's, not the code's
        return reply


class Recording:
    """A channel that notes the tensors on the way to each answer, by their functions' names."""

    def __init__(self, channel: LocalChannel) -> None:
        self._channel = channel
        self.steps: list[list[tuple[str, Tensor]]] = []

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What the source defines and names."""
        return self._channel.definitions

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Do one request, and note its steps."""
        with _Steps() as watched:
            reply = self._channel.ask(verb, **fields)
        self.steps.append(watched.seen)
        return reply


class _Steps(TorchFunctionMode):
    """Keeps what torch functions return, as the code calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, Tensor]] = []

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and len(self.seen) < MAX_STEPS:
            self.seen.append((getattr(func, "__name__", ""), result.detach()))
        return result


@functools.lru_cache(maxsize=64)  # the solutions of one course
def solution_channel(path: Path) -> LocalChannel:
    """Return the channel of the solution at *path*, imported once."""
    try:
        return LocalChannel(path.stem, path.read_bytes())
    except FileNotFoundError:
        msg = f"{path} is missing: every stage needs a solution."
        raise CourseError(msg) from None
