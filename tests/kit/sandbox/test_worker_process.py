"""Tests the supervisor's side of a worker: the limits on replies."""

import msgspec
import pytest

from autograder.sandbox.protocol import BadMessageError
from autograder.sandbox.worker_process import Allowance


def test_short_replies_with_too_many_parts_together_are_refused():
    """Short replies that have too many parts in total are refused."""
    eleven = msgspec.msgpack.encode([0] * 10)
    allowance = Allowance(10_000, parts=40)
    for _ in range(3):
        allowance.take(eleven)

    with pytest.raises(BadMessageError, match="parts"):
        allowance.take(eleven)


def test_a_long_text_is_refused_before_it_is_decoded():
    """A text that is too long is refused, regardless of the number of parts."""
    with pytest.raises(BadMessageError, match="a text of 9000 bytes"):
        Allowance(10_000).take(msgspec.msgpack.encode("x" * 9000))
