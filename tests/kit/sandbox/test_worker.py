"""What a worker does with a reply that can't be sent."""

import pytest

from autograder.sandbox.protocol import LENGTH, REPLIES, Reply, pack, unpack
from autograder.sandbox.worker import CONFINED, pack_reply


def unpacked(packed: bytes) -> Reply:
    """Decode *packed* without its length."""
    return unpack(REPLIES, packed[LENGTH.size :])


def test_a_reply_is_sent_as_it_is():
    """A reply within the limit stays unchanged."""
    reply = Reply(number=3, value="short")

    assert pack_reply(reply, max_bytes=1000) == pack(reply)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param("x" * 2000, "bytes", id="too-long"),
        pytest.param("\ud800", "not valid Unicode", id="lone-surrogate"),
    ],
)
def test_a_reply_that_can_not_be_sent_becomes_a_problem(value: str, words: str):
    """The supervisor learns the reason under the same number."""
    sent = unpacked(pack_reply(Reply(number=3, value=value), max_bytes=1000))

    assert sent.number == 3
    assert sent.problem is not None
    assert sent.problem.kind == "bad-output"
    assert words in sent.problem.text


def test_the_first_message_is_reply_number_0():
    """The supervisor sends no request before this reply; requests start at number 1."""
    assert unpacked(CONFINED) == Reply(number=0)
