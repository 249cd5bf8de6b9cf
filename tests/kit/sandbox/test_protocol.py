"""Messages across the wire: what is no message is refused, and nothing of it runs."""

import msgspec
import pytest

from autograder.sandbox.protocol import (
    LENGTH,
    BadMessageError,
    DictValue,
    ListValue,
    ObjectValue,
    OpaqueValue,
    Problem,
    Reply,
    Request,
    TensorValue,
    TupleValue,
    pack,
    unpack_reply,
    unpack_request,
)

NESTED_LIST = b"\x82\xa4type\xa4list\xa5items\x91"


def reply_of(value: bytes) -> bytes:
    """The msgpack bytes of a reply number 1 whose value is *value*, msgpack already."""
    return b"\x82\xa6number\x01\xa5value" + value


def test_a_request_arrives_as_it_was_sent():
    """Verb, name, arguments, seed and cells cross unchanged."""
    request = Request(
        number=7,
        verb="call",
        name="attend",
        args=(TensorValue("float32", (1,), b"abcd"), ListValue((1, 2.5, "x", None, True))),
        kwargs={"mask": TupleValue((DictValue({"a": ObjectValue(3)}),))},
        seed=123,
        cells=(b"x = 1",),
    )

    assert unpack_request(pack(request)[LENGTH.size :]) == request


def test_a_reply_arrives_as_it_was_sent():
    """Value, changed arguments and problem cross unchanged."""
    problem = Problem(kind="raised", type="ValueError", text="no", place="tiny.py", line=3)
    reply = Reply(number=7, value=OpaqueValue("a set"), changed=(0, 2), problem=problem)

    assert unpack_reply(pack(reply)[LENGTH.size :]) == reply


def test_the_length_stands_in_front():
    """A reader knows from the first bytes how many follow."""
    packed = pack(Reply(number=1))
    (size,) = LENGTH.unpack(packed[: LENGTH.size])

    assert size == len(packed) - LENGTH.size


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xc1garbage", id="garbage"),
        pytest.param(b"\x80\x04\x95\x10\x00", id="a-pickle"),
        pytest.param(b"\xc0", id="nil"),
        pytest.param(pack(Reply(number=1))[LENGTH.size : -1], id="cut-short"),
        pytest.param(pack(Reply(number=1))[LENGTH.size :] + b"\xc0", id="too-long"),
        pytest.param(b"\x81\xa6number\xa11", id="number-is-text"),
        pytest.param(b"\x81\xa6number\xc3", id="number-is-true"),
        pytest.param(reply_of(b"\x81\xa4type\xa6module"), id="unknown-type"),
        pytest.param(reply_of(b"\x81\xa5shape\x90"), id="no-type"),
        pytest.param(reply_of(b"\xa2\xff\xfe"), id="text-is-no-utf8"),
        pytest.param(reply_of(b"\xd4\x01x"), id="extension-type"),
        pytest.param(reply_of(NESTED_LIST * 100_000 + b"\xc0"), id="deep-nesting"),
    ],
)
def test_what_is_no_reply_is_refused(body: bytes):
    """Whatever a worker writes, the worst is a ``BadMessageError``."""
    with pytest.raises(BadMessageError):
        unpack_reply(body)


def test_an_unknown_verb_is_refused():
    """The worker does only what it knows."""
    body = msgspec.msgpack.encode({"number": 1, "verb": "eval"})

    with pytest.raises(BadMessageError, match="eval"):
        unpack_request(body)


def test_an_unknown_kind_of_problem_is_refused():
    """A worker can't invent a status."""
    body = msgspec.msgpack.encode({"number": 1, "problem": {"kind": "passed"}})

    with pytest.raises(BadMessageError, match="kind"):
        unpack_reply(body)
