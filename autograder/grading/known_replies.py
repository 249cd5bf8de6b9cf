"""Caches the replies with which a check passed, so that equal replies need no new run.

The inputs of a check are the same for a whole class, so its next request and its outcome depend
only on the replies that it gets. Submissions with the same formula give exactly the same replies.
Known requests are sent together if none of them depends on a value: creating a module, loading its
parameters and calling it take one message instead of three.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from autograder.diagnosis.observation import Observation
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import BATCHES, Batch, Reply, Request, Silent, Verb, pack, unpack
from autograder.sandbox.session import Session
from autograder.sandbox.transcript import Exchange, Transcript
from autograder.sandbox.worker_process import Sent

KNOWN_BYTES: Final = 1 << 20  # stored for one check; right programs take up to 170,000
STATE_BYTES: Final = 1_000  # of a state, in addition to its requests
DIGEST_BYTES: Final = 16  # enough to make equal digests of different replies practically impossible


class KnownReplies:
    """The requests of one check, and digests of the replies with which it has passed.

    Replies themselves are not stored, because a student's code decides how large they are. The
    stored bytes are limited.
    """

    def __init__(self) -> None:
        self._first = _State()
        self._free_bytes = KNOWN_BYTES

    def follow(self, session: Session) -> Observation | Transcript:
        """Send the known requests of the check; return its observation if all replies are known.

        Otherwise return a transcript of the requests, from which the check continues.
        """
        state: _State | None = self._first
        asked: list[tuple[_State, Sent]] = []
        transcript = Transcript()
        while state is not None and state.batch:
            try:
                sent = session.send(state.batch, state.verbs)
            except Fault as fault:
                transcript.fault = fault
                break
            asked.append((state, sent))
            state = state.after.get(_key(sent))
        if state is not None and state.passed is not None:
            return state.passed
        for known, sent in asked:
            transcript.exchanges += known.silent_exchanges()[: sent.last]
            try:
                reply = session.read(sent.body, known.verbs[sent.last])
            except Fault as fault:
                transcript.fault = fault
                return transcript
            request = known.requests[sent.last]
            transcript.exchanges.append(Exchange(request, reply, sent.body))
        if transcript.fault is not None and state is not None:  # the last requests caused it
            transcript.exchanges += state.silent_exchanges()
        return transcript

    def add(self, transcript: Transcript, observation: Observation) -> None:
        """Add the replies of a run in which the check passed, if it did not read the source."""
        if transcript.used_source or not transcript.exchanges:
            return
        state = self._first
        for asked in _batches(transcript.exchanges):
            batch = pack(Batch(tuple(one.request for one in asked), _silent(asked)))
            if not state.batch and state.passed is None and self._takes(len(batch)):
                state.ask(batch, asked)
            if state.batch != batch:
                return
            reply = asked[-1].body or pack(asked[-1].reply)  # a reply of the solution was not sent
            key = _key(Sent(len(asked) - 1, reply))
            if key not in state.after:
                if not self._takes(STATE_BYTES):
                    return
                state.after[key] = _State()
            state = state.after[key]
        if not state.batch:
            state.passed = observation._replace(answers=())

    def _takes(self, size: int) -> bool:
        """Reserve *size* bytes if that many are free; return whether they were."""
        if size > self._free_bytes:
            return False
        self._free_bytes -= size
        return True


class _State:
    """The state of a check: its next requests, or its observation if there are no more."""

    def __init__(self) -> None:
        self.passed: Observation | None = None
        self.batch = b""  # the next requests, encoded
        self.verbs: tuple[Verb, ...] = ()
        self.after: dict[tuple[int, bytes], _State] = {}  # by the reply to the last request
        self._silent: tuple[Reply, ...] = ()  # replies without values, to all but the last request

    def ask(self, batch: bytes, asked: Sequence[Exchange]) -> None:
        """Store the requests of *asked*, encoded as *batch*, as the next ones."""
        self.batch = batch
        self.verbs = tuple(exchange.request.verb for exchange in asked)
        self._silent = tuple(exchange.reply for exchange in asked[:-1])

    @property
    def requests(self) -> tuple[Request, ...]:
        """The next requests."""
        return unpack(BATCHES, self.batch).requests if self.batch else ()

    def silent_exchanges(self) -> list[Exchange]:
        """List all but the last of the next requests, with their replies."""
        pairs = zip(self.requests, self._silent, strict=False)
        return [Exchange(request, reply) for request, reply in pairs]


def _batches(exchanges: Sequence[Exchange]) -> Iterator[Sequence[Exchange]]:
    """Divide *exchanges* after each reply that contains a value."""
    start = 0
    for end, exchange in enumerate(exchanges, 1):
        if exchange.reply.silent is None or end == len(exchanges):
            yield exchanges[start:end]
            start = end


def _silent(asked: Sequence[Exchange]) -> tuple[Silent, ...]:
    """Return the expected results of all requests but the last, whose replies have no value."""
    return tuple(one.reply.silent for one in asked[:-1] if one.reply.silent is not None)


def _key(sent: Sent) -> tuple[int, bytes]:
    return sent.last, hashlib.blake2b(sent.body, digest_size=DIGEST_BYTES).digest()
