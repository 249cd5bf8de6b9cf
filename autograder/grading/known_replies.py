"""Caches the replies with which a check passed, so that equal replies need no second run.

The inputs of a check are the same for a whole class, so its next request and its outcome depend
only on the replies that it gets. Submissions of one formula give the same replies to the last bit.
The requests that lead to them are sent together, as far as none of them depends on a value:
creating a module, loading its parameters and calling it take one message in place of three.
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

KNOWN_BYTES: Final = 1 << 20  # of what is known of one check; right programs take up to 170,000
STATE_BYTES: Final = 1_000  # that a state takes, in addition to its requests
DIGEST_BYTES: Final = 16  # enough that no two replies of a class have the same digest


class KnownReplies:
    """The replies with which one check has passed so far: requests, and digests of replies.

    No reply is kept, and what is kept is bounded in bytes: replies are as large as a student's code
    makes them.
    """

    def __init__(self) -> None:
        self._first = _State()
        self._free_bytes = KNOWN_BYTES

    def follow(self, session: Session) -> Observation | Transcript:
        """Send the known requests of the check; return its result if all replies are known.

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
        if transcript.fault is not None and state is not None:  # the last request led to it
            transcript.exchanges += state.silent_exchanges()
        return transcript

    def add(self, transcript: Transcript, observation: Observation) -> None:
        """Add the replies of a run in which the check passed, if it depended on nothing else."""
        if transcript.used_source or not transcript.exchanges:
            return
        state = self._first
        for asked in _batches(transcript.exchanges):
            batch = pack(Batch(tuple(one.request for one in asked), _silent(asked)))
            if not state.batch and state.passed is None and self._takes(len(batch)):
                state.ask(batch, asked)
            if state.batch != batch:
                return
            reply = asked[-1].body or pack(asked[-1].reply)  # the solution's was not sent
            key = _key(Sent(len(asked) - 1, reply))
            if key not in state.after:
                if not self._takes(STATE_BYTES):
                    return
                state.after[key] = _State()
            state = state.after[key]
        if not state.batch:
            state.passed = observation._replace(answers=())

    def _takes(self, size: int) -> bool:
        """Whether so many bytes are free, which are then taken."""
        if size > self._free_bytes:
            return False
        self._free_bytes -= size
        return True


class _State:
    """The state of a check: its next requests, or its result if there are no more requests."""

    def __init__(self) -> None:
        self.passed: Observation | None = None
        self.batch = b""  # the requests that come next, as they are sent
        self.verbs: tuple[Verb, ...] = ()
        self.after: dict[tuple[int, bytes], _State] = {}  # by the reply to the last request
        self._silent: tuple[Reply, ...] = ()  # the replies to all but the last, without a value

    def ask(self, batch: bytes, asked: Sequence[Exchange]) -> None:
        """Let the requests of *asked*, as one *batch*, be those that come next."""
        self.batch = batch
        self.verbs = tuple(exchange.request.verb for exchange in asked)
        self._silent = tuple(exchange.reply for exchange in asked[:-1])

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests that come next."""
        return unpack(BATCHES, self.batch).requests if self.batch else ()

    def silent_exchanges(self) -> list[Exchange]:
        """List all but the last of the requests that come next, with their replies."""
        pairs = zip(self.requests, self._silent, strict=False)
        return [Exchange(request, reply) for request, reply in pairs]


def _batches(exchanges: Sequence[Exchange]) -> Iterator[Sequence[Exchange]]:
    """Divide *exchanges* after each reply that holds a value."""
    start = 0
    for end, exchange in enumerate(exchanges, 1):
        if exchange.reply.silent is None or end == len(exchanges):
            yield exchanges[start:end]
            start = end


def _silent(asked: Sequence[Exchange]) -> tuple[Silent, ...]:
    """Return the contents of all replies but the last; these replies hold no value."""
    return tuple(one.reply.silent for one in asked[:-1] if one.reply.silent is not None)


def _key(sent: Sent) -> tuple[int, bytes]:
    return sent.last, hashlib.blake2b(sent.body, digest_size=DIGEST_BYTES).digest()
