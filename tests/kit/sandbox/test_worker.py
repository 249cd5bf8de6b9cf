"""Tests reading messages in a worker, and its answer if a reply can't be sent."""

import socket
import threading
import time

import pytest

from autograder.sandbox.protocol import HEADER, REPLIES, Reply, framed, pack, unpack
from autograder.sandbox.worker import CONFINED, FIRST_READ, _receive, pack_reply


def test_a_reply_is_sent_as_it_is():
    """A reply within the limit stays unchanged."""
    reply = Reply(value="short")

    assert pack_reply(reply, max_bytes=1000) == pack(reply)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param("x" * 2000, "bytes", id="too-long"),
        pytest.param("\ud800", "not valid Unicode", id="lone-surrogate"),
    ],
)
def test_a_reply_that_cannot_be_sent_becomes_a_problem(value: str, words: str):
    """The supervisor gets the reason why a reply could not be sent."""
    sent = unpack(REPLIES, pack_reply(Reply(value=value), max_bytes=1000))

    assert sent.problem is not None
    assert sent.problem.kind == "bad-output"
    assert words in sent.problem.text


def test_the_first_message_is_number_0():
    """The worker's first message has number 0; later ones answer requests from number 1."""
    size, number, last = HEADER.unpack(CONFINED[: HEADER.size])

    assert (number, last) == (0, 0)
    assert unpack(REPLIES, CONFINED[HEADER.size :]) == Reply()
    assert size == len(CONFINED) - HEADER.size


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        pytest.param(b"short", 0, id="at-once"),
        pytest.param(b"short", 3, id="header-in-parts"),
        pytest.param(b"short", HEADER.size + 1, id="body-in-parts"),
        pytest.param(b"x" * 3 * FIRST_READ, FIRST_READ, id="longer-than-one-read"),
    ],
)
def test_a_message_is_read_whole(body: bytes, cut: int):
    """A message is read as a whole, even if the system divides it."""
    local, remote = socket.socketpair()
    message = framed(body, 7)

    def send() -> None:
        for part in filter(None, (message[:cut], message[cut:])):
            local.sendall(part)
            time.sleep(0.02)
        local.close()

    thread = threading.Thread(target=send)
    thread.start()
    with remote:
        received = _receive(remote.fileno()), _receive(remote.fileno())
    thread.join()

    assert received == ((7, body), None)
