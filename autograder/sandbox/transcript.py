"""Records the requests of one run of a check, each with its reply."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from autograder.sandbox.protocol import Reply, Request, pack

if TYPE_CHECKING:
    from autograder.sandbox.faults import Fault


class OtherRequestError(Exception):
    """A check that got the same replies as before sends a different request."""


class Exchange(NamedTuple):
    """A request and its reply.

    *body* is the reply as a worker sent it, ``b""`` for one that was not sent. *tensors* are what
    torch functions returned on the way to it, by their names; of the course's own code only.
    """

    request: Request
    reply: Reply
    body: bytes = b""
    tensors: Sequence[tuple[str, Tensor]] = ()


class Transcript:
    """Answers the requests of a check that are done already, then keeps what is asked beyond them.

    *fault* is the fault that the last of these requests caused. *used_source* is true if the check
    also read the source.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.fault: Fault | None = None
        self.used_source = False
        self._answered = 0

    def find(self, request: Request) -> Reply | None:
        """Return the reply to *request* if it is known; else the next one must be added.

        Raises the ``Fault`` that it led to, and ``OtherRequestError`` if it is not the next one.
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
        """Keep the requests beyond the known ones."""
        self.exchanges.append(exchange)
        self._answered += 1
