"""Messages are decoded strictly: invalid bytes are refused, and nothing of them runs."""

import msgspec
import pytest

from autograder.sandbox.isolation import SandboxPolicy
from autograder.sandbox.protocol import (
    CONTROL_REPLIES,
    CONTROL_REQUESTS,
    LENGTH,
    REPLIES,
    REQUESTS,
    BadMessageError,
    DictValue,
    EndWorker,
    ForkServerReady,
    ListValue,
    ObjectValue,
    OpaqueValue,
    Problem,
    Reply,
    Request,
    StartWorker,
    TensorValue,
    TupleValue,
    WorkerEnded,
    WorkerStarted,
    count_parts,
    pack,
    unpack,
)

NESTED_LIST = b"\x82\xa4type\xa4list\xa5items\x91"


def reply_of(value: bytes) -> bytes:
    """The msgpack bytes of a reply number 1 whose value is *value*, msgpack already."""
    return b"\x82\xa6number\x01\xa5value" + value


def test_a_request_arrives_as_it_was_sent():
    """Verb, name, arguments, seed and cells arrive unchanged."""
    request = Request(
        number=7,
        verb="call",
        name="attend",
        args=(TensorValue("float32", (1,), b"abcd"), ListValue((1, 2.5, "x", None, True))),
        kwargs={"mask": TupleValue((DictValue({"a": ObjectValue(3)}),))},
        seed=123,
        cells=(b"x = 1",),
    )

    assert unpack(REQUESTS, pack(request)[LENGTH.size :]) == request


def test_a_reply_arrives_as_it_was_sent():
    """Value, changed arguments and problem arrive unchanged."""
    problem = Problem(kind="raised", type="ValueError", text="no", place="tiny.py", line=3)
    reply = Reply(number=7, value=OpaqueValue("a set"), changed=(0, 2), problem=problem)

    assert unpack(REPLIES, pack(reply)[LENGTH.size :]) == reply


def test_a_message_starts_with_its_length():
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
        pytest.param(reply_of(b"\xa2\xff\xfe"), id="text-is-not-utf8"),
        pytest.param(reply_of(b"\xd4\x01x"), id="extension-type"),
        pytest.param(reply_of(NESTED_LIST * 100_000 + b"\xc0"), id="deep-nesting"),
    ],
)
def test_an_invalid_reply_is_refused(body: bytes):
    """Whatever a worker writes, decoding it raises nothing but ``BadMessageError``."""
    with pytest.raises(BadMessageError):
        unpack(REPLIES, body)


def test_an_unknown_verb_is_refused():
    """The worker executes only the verbs of the protocol."""
    known, unknown = ({"number": 1, "verb": verb} for verb in ("has", "eval"))

    assert unpack(REQUESTS, msgspec.msgpack.encode(known)) == Request(number=1, verb="has")
    with pytest.raises(BadMessageError):
        unpack(REQUESTS, msgspec.msgpack.encode(unknown))


def test_an_unknown_kind_of_problem_is_refused_without_a_word_of_it():
    """A worker can't invent a status, and no text of a message gets into the error."""
    body = msgspec.msgpack.encode({"number": 1, "problem": {"kind": "passed" * 1000}})

    with pytest.raises(BadMessageError, match=r"^bytes that are no message$"):
        unpack(REPLIES, body)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        pytest.param(None, 1, id="nothing"),
        pytest.param([1, -1, 300, -70_000, 2**40, 1.5, True], 8, id="numbers"),
        pytest.param({"a" * 40: [None] * 20, "b" * 300: b"c" * 70_000}, 25, id="collections"),
        pytest.param([[0] * 70_000], 70_002, id="long-list"),
    ],
)
def test_the_parts_of_a_message_are_counted_without_decoding_it(value: object, parts: int):
    """Each number, text and collection is a part."""
    assert count_parts(msgspec.msgpack.encode(value), parts) == parts


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xdd\xff\xff\xff\xff", id="announces-a-long-list"),
        pytest.param(b"\xdf\xff\xff\xff\xff", id="announces-a-long-dictionary"),
        pytest.param(b"\x9f" * 200, id="lists-in-lists"),
        pytest.param(b"\xdc\x00\x03\xc0", id="less-than-it-announces"),
        pytest.param(b"\xda\xff\xff" + b"x" * 65_535, id="long-text"),
    ],
)
def test_what_would_cost_memory_is_refused_before_it_is_decoded(body: bytes):
    """No more parts are looked at than an honest message has."""
    with pytest.raises(BadMessageError):
        count_parts(body, 1000)


POLICY = SandboxPolicy(
    isolation="full",
    readable=("/usr/lib",),
    private="/private",
    memory_bytes=1,
    file_bytes=1,
    files=1,
)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(StartWorker(POLICY, "tiny", notebook=False, max_bytes=10), id="start"),
        pytest.param(EndWorker(4711), id="end"),
    ],
)
def test_a_control_request_arrives_as_it_was_sent(message: StartWorker | EndWorker):
    """The policy of a worker arrives with all its limits."""
    assert unpack(CONTROL_REQUESTS, msgspec.msgpack.encode(message)) == message


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(ForkServerReady(), id="ready"),
        pytest.param(WorkerStarted(4711), id="started"),
        pytest.param(WorkerEnded(-9), id="ended"),
    ],
)
def test_a_control_reply_arrives_as_it_was_sent(
    message: ForkServerReady | WorkerStarted | WorkerEnded,
):
    """Each reply of the fork server has a type of its own."""
    assert unpack(CONTROL_REPLIES, msgspec.msgpack.encode(message)) == message


def test_a_control_reply_is_not_a_control_request():
    """Neither side accepts a message of its own direction, or none at all."""
    with pytest.raises(BadMessageError):
        unpack(CONTROL_REQUESTS, msgspec.msgpack.encode(WorkerStarted(4711)))
    with pytest.raises(BadMessageError):
        unpack(CONTROL_REPLIES, msgspec.msgpack.encode(EndWorker(4711)))
    with pytest.raises(BadMessageError):
        unpack(CONTROL_REPLIES, b"")


def test_a_problem_names_no_folder_of_the_server():
    """Whatever an exception says: where the course lies is no student's business."""
    text = "[Errno 13] Permission denied: '/srv/course/autograder/student/__init__.py'"
    problem = Problem(kind="raised", text=text)

    assert problem.text == "[Errno 13] Permission denied: '…/__init__.py'"
    assert unpack(REPLIES, pack(Reply(number=1, problem=problem))[LENGTH.size :]).problem == problem
