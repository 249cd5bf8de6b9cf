"""Tests the two connections to a worker."""

import subprocess
import sys

import pytest

from autograder.sandbox.wires import PipeWire

ECHO = r"""
import os
while data := os.read(0, 100):
    os.write(2, b"printed\n\0")
    os.write(1, data.upper())
"""


@pytest.fixture
def wire():
    """A wire to a process that prints before it answers in capitals."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603  # runs this Python on lines of this test
        [sys.executable, "-c", ECHO], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
    )
    yield PipeWire(process)
    process.stdin.close()
    process.wait()


def test_a_reply_arrives_and_its_output_is_there(wire: PipeWire):
    """The end mark after the output of a worker is not part of the output."""
    wire.send(memoryview(b"question"))
    while not wire.wait(1.0, to_send=False)[0]:
        wire.read_printed()
    answer = wire.receive(100)
    wire.settle()

    assert answer == b"QUESTION"
    assert wire._marks == 1
    assert b"\0" not in wire._streams["printed"]


def test_nothing_is_there_before_it_is_sent(wire: PipeWire):
    """A reader of an empty wire has to wait, as with a socket that does not block."""
    with pytest.raises(BlockingIOError):
        wire.receive(1)
    assert not wire.wait_printed(0)


def test_the_end_of_the_process_is_the_end_of_the_messages(wire: PipeWire):
    """After the end of a process its wire returns an empty reply."""
    wire.close()

    assert wire.wait(10.0, to_send=False) == (True, False)
    assert wire.receive(1) == b""
