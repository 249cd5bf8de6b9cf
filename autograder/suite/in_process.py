"""Runs the course's own code in this process, solutions and wrong programs, and records requests.

Student code never runs here.
"""

import contextlib
import copy
import functools
import hashlib
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.errors import CourseError
from autograder.sandbox.executor import RequestExecutor
from autograder.sandbox.protocol import (
    DictValue,
    ListValue,
    Problem,
    Reply,
    Request,
    Verb,
    pack,
    request_of,
)
from autograder.sandbox.static_names import Definition, definitions, parse
from autograder.sandbox.transcript import Exchange, Transcript
from autograder.suite.limits import OutOfTimeError, limit_request, room_for_memory
from autograder.suite.student_proxy import Channel

MAX_BYTES = 1 << 26  # of an answer; more than any solution needs
MAX_REPLIES = 10_000  # kept for one solution; the checks of a stage send some hundreds of requests
# Limits of requests. A wrong program gets a multiple of the solution's longest time.
SOLUTION_SECONDS, WRONG_SECONDS, AGAIN_SECONDS, PACE = 60.0, 1.0, 0.3, 10.0
IMPORT_SECONDS = 10.0  # for a wrong program; only a statement outside its exercise can take long
MEMORY_MIB = 512  # in addition to the memory before the request


# A wrong program may read `None[1:]`, which is not a mistake of its author.
warnings.filterwarnings("ignore", category=SyntaxWarning, module="_course_")
# Verbs that run the exercise:
COMPUTED: Final[frozenset[Verb]] = frozenset({"call", "forward", "method"})
OUT_OF_TIME = Reply(problem=Problem(kind="out-of-time"))


class LocalChannel:
    """Answers requests by running the course's own code in this process, within limits.

    The limits of a wrong program depend on *right*, the solution. The reply to a request that takes
    too long has the problem "out-of-time".
    """

    def __init__(self, name: str, code: bytes, right: "LocalChannel | None" = None) -> None:
        self._right = right
        self._slowest = 0.0  # processor time, in seconds, of the slowest request so far
        self.overruns = 0  # requests that took too long
        self._executor = RequestExecutor(f"_course_{name}", notebook=False, max_bytes=MAX_BYTES)
        self.file = f"_course_{name}.py"  # the file name in tracebacks
        self._source: Callable[[], str] = code.decode
        problems = self.ask("run", cells=(code,)).value
        if isinstance(problems, ListValue) and problems.items:
            if isinstance(first := problems.items[0], DictValue):
                self._require_memory(first.items.get("kind"))
            msg = f"The course's own module {name} can't be imported: {problems.items[0]}"
            raise CourseError(msg)

    def replacing(self, code: CodeType, source: Callable[[], str]) -> "LocalChannel":
        """Return a channel to a copy in which *code* replaces definitions; *source* is its text."""
        executor = RequestExecutor("_course_changed", notebook=False, max_bytes=MAX_BYTES)
        executor.quote_from(self.file)
        executor.quote_from(code.co_filename)
        namespace = vars(executor.module)
        namespace.update(vars(self._executor.module))
        exec(code, namespace)  # noqa: S102  # the course's own code
        changed = copy.copy(self)
        vars(changed).pop("definitions", None)
        right = self._right or self
        vars(changed).update(_executor=executor, _source=source, _right=right, overruns=0)
        return changed

    @property
    def text(self) -> str:
        """The source of the module."""
        return self._source()

    def forget(self) -> None:
        """Drop the modules that the last check created: many programs wait for their next check."""
        self._executor.forget()

    @functools.cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the source, and the names that they use."""
        return _definitions_in(self.text.encode())

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Execute one request; output and warnings of the code are dropped."""
        return self.answer(request_of(verb, fields))

    def answer(self, request: Request) -> Reply:
        """Execute *request*."""
        return self.ask_every([request])[0]

    def ask_every(self, requests: Sequence[Request]) -> list[Reply]:
        """Execute *requests* in turn, and return all replies, even those with problems."""
        replies: list[Reply] = []
        with contextlib.redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while len(replies) < len(requests):
                replies += self._answers_in_time(requests[len(replies) :])
        interrupt = KeyboardInterrupt.__name__
        if any(one.problem is not None and one.problem.type == interrupt for one in replies):
            raise KeyboardInterrupt  # the instructor pressed Ctrl-C; the code did not raise it
        return replies

    def _answers_in_time(self, requests: Sequence[Request]) -> list[Reply]:
        replies: list[Reply] = []
        try:
            # Together, because setting a limit is slow.
            with limit_request(self._seconds_for(requests), MEMORY_MIB):
                for request in requests:
                    replies.append(self._answer(request))
                    if replies[-1] is OUT_OF_TIME:
                        break
        except OutOfTimeError:  # before or after the code ran
            replies = [*replies, OUT_OF_TIME][: len(requests)]
        for reply in replies:  # outside the limits, under which less memory seems free
            if reply.problem is not None:
                self._require_memory(reply.problem.kind)
        return replies

    def _answer(self, request: Request) -> Reply:
        start = time.process_time()
        with torch.enable_grad():  # restores the mode if the code is stopped in ``no_grad``
            reply = self._executor.answer(request)
        if reply.problem is not None and reply.problem.type == OutOfTimeError.__name__:
            self.overruns += 1
            return OUT_OF_TIME
        self._slowest = max(self._slowest, time.process_time() - start)
        return reply

    def _require_memory(self, kind: object) -> None:
        """Raise ``MemoryError`` if memory ran out, unless the code alone used too much of it."""
        if kind == "out-of-memory" and (self._right is None or room_for_memory() < MEMORY_MIB):
            raise MemoryError

    def _seconds_for(self, requests: Sequence[Request]) -> float:
        if self._right is None:
            return SOLUTION_SECONDS
        if any(request.verb == "run" for request in requests):
            return IMPORT_SECONDS
        pace = PACE * self._right._slowest * len(requests)  # noqa: SLF001  # of the same class
        return pace + (AGAIN_SECONDS if self.overruns else WRONG_SECONDS)


class ReferenceChannel:
    """Answers requests about the solution; a repeated sequence of requests is executed once.

    A reply depends on all requests since the last fresh one, so these are its key in the cache.
    """

    def __init__(self, channel: LocalChannel) -> None:
        self.definitions = channel.definitions
        self._channel = channel
        self._replies: dict[bytes, Reply] = {}
        self._key = b""
        self._skipped: list[Request] = []  # answered from the cache since the last fresh one

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Return the cached reply, or execute the skipped requests and this one."""
        request = request_of(verb, fields)
        if request.fresh:
            self._key = b""
            self._skipped.clear()
        self._key = hashlib.blake2b(self._key + pack(request), digest_size=16).digest()
        reply = self._replies.get(self._key)
        if reply is not None:
            self._skipped.append(request)
            return reply
        for skipped in self._skipped:
            self._channel.answer(skipped)
        self._skipped.clear()
        reply = self._channel.answer(request)
        if len(self._replies) < MAX_REPLIES:
            self._replies[self._key] = reply
        return reply


@functools.lru_cache(maxsize=2_000)  # about 900 wrong programs, which `verify` runs twice
def _definitions_in(code: bytes) -> tuple[Definition, ...]:
    return definitions(parse((code,)))


def solution_channel(path: Path) -> LocalChannel:
    """Import the solution at *path*; raise ``CourseError`` if it is missing."""
    try:
        return LocalChannel(path.stem, path.read_bytes())
    except FileNotFoundError:
        raise CourseError(f"{path} is missing: every stage needs a solution.") from None


MAX_TENSORS = 200  # kept for one request; a solution computes about ten


class TranscribingChannel:
    """A channel that keeps each request with its reply."""

    def __init__(self, channel: Channel) -> None:
        self.transcript = Transcript()
        self._channel = channel

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests so far, with their replies."""
        return self.transcript.exchanges

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the source, and the names that they use."""
        self.transcript.used_source = True
        return self._channel.definitions

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Send one request, and store it with its reply."""
        reply = self._channel.ask(verb, **fields)
        self.transcript.add(Exchange(request_of(verb, fields), reply))
        return reply


class RecordingChannel(TranscribingChannel):
    """A channel that also keeps the tensors that the course's own code computes meanwhile."""

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Send one request, and store it with its reply and tensors."""
        with _TensorRecorder() as recorder:
            reply = self._channel.ask(verb, **fields)
        # Detached only now, because the code's operators may be counted meanwhile.
        tensors = [(name, result.detach()) for name, result in recorder.tensors]
        self.transcript.add(Exchange(request_of(verb, fields), reply, tensors=tensors))
        return reply


class _TensorRecorder(TorchFunctionMode):
    """Keeps the tensors that torch functions return, with the names of the functions."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: list[tuple[str, Tensor]] = []

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and len(self.tensors) < MAX_TENSORS:
            self.tensors.append((getattr(func, "__name__", ""), result))
        return result
