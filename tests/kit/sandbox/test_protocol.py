"""Tests that messages are decoded strictly: invalid bytes are refused and never executed."""

import msgspec
import pytest

from autograder.sandbox.confinement import SandboxPolicy
from autograder.sandbox.protocol import (
    BATCHES,
    CONTROL_REPLIES,
    CONTROL_REQUESTS,
    HEADER,
    REPLIES,
    BadMessageError,
    Batch,
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
    Statement,
    TensorValue,
    TupleValue,
    WorkerEnded,
    WorkerStarted,
    count_parts,
    framed,
    pack,
    read_reply,
    unpack,
)

NESTED_LIST = b"\x82\xa4type\xa4list\xa5items\x91"


def reply_of(value: bytes) -> bytes:
    """The msgpack bytes of a reply whose value is *value*, msgpack already."""
    return b"\x81\xa5value" + value


def test_a_batch_arrives_as_it_was_sent():
    """Verb, name, arguments, seed and cells of a request arrive unchanged."""
    request = Request(
        verb="call",
        name="attend",
        args=(TensorValue("float32", (1,), b"abcd"), ListValue((1, 2.5, "x", None, True))),
        kwargs={"mask": TupleValue((DictValue({"a": ObjectValue(3)}),))},
        seed=123,
        cells=(b"x = 1",),
    )

    batch = Batch((Request(verb="new", name="Attention"), request), ("module",))

    assert unpack(BATCHES, pack(batch)) == batch


def test_a_reply_arrives_as_it_was_sent():
    """Value, changed arguments and problem arrive unchanged."""
    problem = Problem(kind="raised", type="ValueError", text="no", place="tiny.py", line=3)
    reply = Reply(value=OpaqueValue("a set"), changed=(0, 2), problem=problem)

    assert unpack(REPLIES, pack(reply)) == reply


def test_a_message_starts_with_its_header():
    """The first bytes state how many bytes follow, and to which message they reply."""
    sent = framed(b"the body", 7, last=2)

    assert HEADER.unpack(sent[: HEADER.size]) == (8, 7, 2)
    assert sent[HEADER.size :] == b"the body"


@pytest.mark.parametrize(
    ("reply", "silent"),
    [
        pytest.param(Reply(), "none", id="nothing"),
        pytest.param(Reply(value=ObjectValue(0)), "module", id="a-module"),
        pytest.param(Reply(value=0), None, id="a-value"),
        pytest.param(Reply(changed=(0,)), None, id="changed-its-argument"),
        pytest.param(Reply(problem=Problem(kind="raised")), None, id="a-problem"),
    ],
)
def test_a_reply_is_silent_if_it_holds_no_value(reply: Reply, silent: str | None):
    """A reply that a worker need not send holds no value."""
    assert reply.silent == silent


def test_a_reply_of_another_type_than_its_request_has_is_refused():
    """A reply to ``has`` that is not true or false is refused."""
    with pytest.raises(BadMessageError, match="without a request"):
        read_reply(pack(Reply(value=1.5)), "has")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({"output", "gradients", "ballast"}, id="one-more"),
        pytest.param({"output"}, id="one-less"),
        pytest.param(set(), id="none"),
    ],
)
def test_a_dictionary_of_the_kits_own_has_its_names_alone(names: set[str]):
    """A dictionary of the kit's own with an unexpected key is refused."""
    right = Reply(value=DictValue({"output": None, "gradients": DictValue({"any": None})}))
    other = Reply(value=DictValue(dict.fromkeys(names)))

    assert read_reply(pack(right), "gradients") == right
    assert read_reply(pack(other), "call") == other  # an exercise may return any dictionary
    with pytest.raises(BadMessageError, match="a dictionary with names"):
        read_reply(pack(other), "gradients")


def with_ballast(message: Reply, *path: str) -> bytes:
    """Return the bytes of *message* with an unknown key in the map at *path*."""
    encoded = msgspec.msgpack.decode(pack(message))
    place = encoded
    for key in path:
        place = place[key]
    place["ballast"] = b"more"
    return msgspec.msgpack.encode(encoded)


TENSOR = TensorValue("uint8", (1,), b"1")


@pytest.mark.parametrize(
    ("message", "path"),
    [
        pytest.param(Reply(), (), id="reply"),
        pytest.param(Reply(value=TENSOR), ("value",), id="tensor"),
        pytest.param(Reply(value=ObjectValue(0)), ("value",), id="module"),
        pytest.param(Reply(value=ListValue(())), ("value",), id="list"),
        pytest.param(Reply(value=TupleValue(())), ("value",), id="tuple"),
        pytest.param(Reply(value=DictValue({})), ("value",), id="dictionary"),
        pytest.param(Reply(value=OpaqueValue("a set")), ("value",), id="opaque"),
        pytest.param(Reply(problem=Problem(kind="raised")), ("problem",), id="problem"),
        pytest.param(
            Reply(problem=Problem(kind="raised", statement=Statement("", 1))),
            ("problem", "statement"),
            id="statement",
        ),
    ],
)
def test_a_reply_with_an_unknown_key_is_refused(message: Reply, path: tuple[str, ...]):
    """A reply with an unknown key could hold any amount of data, so it is refused."""
    assert unpack(REPLIES, pack(message)) == message
    with pytest.raises(BadMessageError, match="not a message"):
        unpack(REPLIES, with_ballast(message, *path))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xc1garbage", id="garbage"),
        pytest.param(b"\x80\x04\x95\x10\x00", id="a-pickle"),
        pytest.param(b"\xc0", id="nil"),
        pytest.param(pack(Reply())[:-1], id="cut-short"),
        pytest.param(pack(Reply()) + b"\xc0", id="too-long"),
        pytest.param(b"\x81\xa7changed\xa11", id="changed-is-text"),
        pytest.param(b"\x81\xa7changed\xc3", id="changed-is-true"),
        pytest.param(reply_of(b"\x81\xa4type\xa6module"), id="unknown-type"),
        pytest.param(reply_of(b"\x81\xa5shape\x90"), id="no-type"),
        pytest.param(reply_of(b"\xa2\xff\xfe"), id="text-is-not-utf8"),
        pytest.param(reply_of(b"\xd4\x01x"), id="extension-type"),
        pytest.param(reply_of(NESTED_LIST * 100_000 + b"\xc0"), id="deep-nesting"),
    ],
)
def test_an_invalid_reply_is_refused(body: bytes):
    """Decoding the bytes of a worker raises only ``BadMessageError``."""
    with pytest.raises(BadMessageError):
        unpack(REPLIES, body)


def test_an_unknown_verb_is_refused():
    """The worker executes only the verbs of the protocol."""
    known, unknown = ([[{"verb": verb}], []] for verb in ("has", "eval"))

    assert unpack(BATCHES, msgspec.msgpack.encode(known)) == Batch((Request(verb="has"),))
    with pytest.raises(BadMessageError):
        unpack(BATCHES, msgspec.msgpack.encode(unknown))


def test_an_unknown_kind_of_problem_is_refused_without_a_word_of_it():
    """A worker can't invent a status, and no text of a message gets into the error."""
    body = msgspec.msgpack.encode({"problem": {"kind": "passed" * 1000}})

    with pytest.raises(BadMessageError, match=r"^bytes that are not a message$"):
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
    """Each number, text and collection counts as a part before decoding."""
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
    """A message with more parts than an honest one is refused before it is decoded."""
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
    """Each reply of the fork server has a separate type."""
    assert unpack(CONTROL_REPLIES, msgspec.msgpack.encode(message)) == message


def test_a_control_reply_is_not_a_control_request():
    """Each side refuses a message of its own direction, and an empty one."""
    with pytest.raises(BadMessageError):
        unpack(CONTROL_REQUESTS, msgspec.msgpack.encode(WorkerStarted(4711)))
    with pytest.raises(BadMessageError):
        unpack(CONTROL_REPLIES, msgspec.msgpack.encode(EndWorker(4711)))
    with pytest.raises(BadMessageError):
        unpack(CONTROL_REPLIES, b"")


def test_a_problem_names_no_folder_of_the_server():
    """The text of an exception does not reveal the folder of the course."""
    text = "[Errno 13] Permission denied: '/srv/course/autograder/student/__init__.py'"
    problem = Problem(kind="raised", text=text)

    assert problem.text == "[Errno 13] Permission denied: '…/__init__.py'"
    assert unpack(REPLIES, pack(Reply(problem=problem))).problem == problem
