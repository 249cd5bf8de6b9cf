"""Tests answering requests from a transcript, and keeping new ones."""

import pytest

from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import Reply, Request
from autograder.sandbox.transcript import Exchange, OtherRequestError, Transcript

ASKED = Exchange(Request(verb="has", name="double"), Reply(value=True))


@pytest.fixture
def transcript() -> Transcript:
    """A transcript with one exchange."""
    made = Transcript()
    made.exchanges.append(ASKED)
    return made


def test_what_was_asked_already_has_the_same_reply(transcript: Transcript):
    """A repeated request has the same reply, and a new one is kept when it is added."""
    assert transcript.find(ASKED.request) is ASKED.reply
    assert transcript.find(ASKED.request) is None

    transcript.add(ASKED)

    assert transcript.exchanges == [ASKED, ASKED]
    assert transcript.find(ASKED.request) is None


def test_the_request_after_the_last_reply_raises_the_fault(transcript: Transcript):
    """The request that the worker did not survive raises the fault."""
    transcript.fault = Fault(Status.CRASHED, "It ended.")
    transcript.find(ASKED.request)

    with pytest.raises(Fault, match="It ended"):
        transcript.find(Request(verb="draw"))


def test_another_request_than_before_is_an_error(transcript: Transcript):
    """A check that sends a different request than before is an error."""
    with pytest.raises(OtherRequestError):
        transcript.find(Request(verb="has", name="triple"))
