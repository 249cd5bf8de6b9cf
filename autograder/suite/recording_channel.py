"""Records the requests of a check, with their replies."""

from collections.abc import Callable

from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.sandbox.protocol import Reply, Verb, request_of
from autograder.sandbox.static_names import Definition
from autograder.sandbox.transcript import Exchange, Transcript
from autograder.suite.student_proxy import Channel

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
