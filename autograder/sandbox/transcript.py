"""Records the requests of one run of a check, each with its reply."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from autograder.sandbox.protocol import Reply, Request, pack

if TYPE_CHECKING:
    from autograder.sandbox.faults import Fault


class OtherRequestError(Exception):
    """Raised when a check sends a different request although it got the same replies."""


class Exchange(NamedTuple):
    """A request and its reply.

    *body* contains the reply as the worker sent it, ``b""`` if it was not sent. *tensors* are the
    results of torch functions with the functions' names, only for the course's own code.
    """

    request: Request
    reply: Reply
    body: bytes = b""
    tensors: Sequence[tuple[str, Tensor]] = ()


class Transcript:
    """Answers the known requests of a check from memory, and stores further ones.

    *fault* is the fault that followed the last known request. *used_source* is true if the check
    also read the source.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.fault: Fault | None = None
        self.used_source = False
        self._answered = 0

    def find(self, request: Request) -> Reply | None:
        """Return the known reply to *request*; None if the exchange must be added.

        Raises the ``Fault`` that *request* caused, and ``OtherRequestError`` if a different request
        is known.
        """
        if self._answered == len(self.exchanges):
            if self.fault is not None:
                raise self.fault
            return None
        exchange = self.exchanges[self._answered]
        if pack(exchange.request) != pack(request):
            raise OtherRequestError
        self._answered += 1
        return exchange.reply

    def add(self, exchange: Exchange) -> None:
        """Store the next request and its reply."""
        self.exchanges.append(exchange)
        self._answered += 1
