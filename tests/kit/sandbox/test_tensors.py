"""Tests that tensors are sent exactly, and that unsupported ones are refused by name."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from autograder.sandbox.protocol import (
    BadMessageError,
    BytesValue,
    DictValue,
    IntegerValue,
    ListValue,
    MappingValue,
    ObjectValue,
    OpaqueValue,
    SetValue,
    SourceValue,
    TensorValue,
    TextValue,
    TupleValue,
)
from autograder.sandbox.tensors import (
    DTYPES,
    Encoder,
    decode,
    decode_tensor,
    differs,
    encode_array,
    encode_tensor,
    has_array,
)

MIB = 1 << 20


class Disguised(Tensor):
    """A subclass of a tensor, whose methods a student could have written."""


@pytest.fixture
def encoder() -> Encoder:
    """An encoder that keeps each module as number 7."""
    return Encoder(lambda _module: 7, MIB)


def sent(tensor: Tensor) -> Tensor:
    """Encode and decode *tensor*."""
    value = encode_tensor(tensor, MIB)
    assert isinstance(value, TensorValue)
    return decode_tensor(value)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_dtype_arrives_bit_for_bit(dtype: torch.dtype):
    """Dtype, shape and contents are the same after decoding."""
    tensor = (torch.arange(6).reshape(2, 3) - 1).to(dtype)
    arrived = sent(tensor)

    assert arrived.dtype == dtype
    assert torch.equal(arrived, tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(torch.tensor(2.5), id="no-axis"),
        pytest.param(torch.empty(0, 3), id="empty"),
        pytest.param(torch.arange(12.0).reshape(3, 4).T, id="transposed"),
        pytest.param(torch.arange(12.0)[::2], id="strided"),
        pytest.param(torch.arange(2.0)[::2], id="one-number-of-stride-2"),
        pytest.param(torch.arange(3.0).expand(4, 3), id="expanded"),
        pytest.param(torch.tensor([1 + 2j]).conj(), id="conjugated"),
        pytest.param(torch.tensor([1 + 2j]).conj().imag, id="negated"),
        pytest.param(torch.tensor([torch.inf, -torch.inf, -0.0]), id="infinities"),
    ],
)
def test_any_layout_in_memory_arrives_as_its_values(tensor: Tensor):
    """A view is sent as its values."""
    arrived = sent(tensor)

    assert arrived.shape == tensor.shape
    assert torch.equal(arrived, tensor)


@given(st.lists(st.integers(0, 4), max_size=4))
def test_any_small_shape_arrives(shape: list[int]):
    """Axes of size 0 and 1 stay, and so does a shape without axes."""
    assert sent(torch.ones(shape)).shape == tuple(shape)


def test_requires_grad_is_sent_with_the_values():
    """A tensor is sent with its flag `requires_grad` and without its graph."""
    trained = sent(nn.Parameter(torch.ones(2)) * 2)

    assert trained.requires_grad
    assert trained.is_leaf
    assert not sent(torch.ones(2)).requires_grad


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        pytest.param(torch.ones(2).as_subclass(Disguised), "subclass", id="subclass"),
        pytest.param(torch.eye(2).to_sparse(), "sparse", id="sparse"),
        pytest.param(torch.ones(2, device="meta"), "device 'meta'", id="meta"),
        pytest.param(torch.zeros(1).expand(1 << 40), "too large to send", id="stride-0"),
        pytest.param(torch.ones(2).to(torch.float8_e5m2), "dtype", id="float8"),
    ],
)
def test_an_unsupported_tensor_is_named_instead_of_sent(tensor: Tensor, words: str):
    """A plain dense tensor within the size limit is sent; any other tensor is described instead."""
    value = encode_tensor(tensor, MIB)

    assert isinstance(value, OpaqueValue)
    assert words in value.kind


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(TensorValue("float32", (3,), b"1234"), id="too-few-bytes"),
        pytest.param(TensorValue("float32", (1,), b"12345678"), id="too-many-bytes"),
        pytest.param(TensorValue("float32", (1 << 62, 1 << 62), b"1234"), id="huge-shape"),
        pytest.param(TensorValue("float32", (-1, -1), b"1234"), id="negative-shape"),
        pytest.param(TensorValue("float32", (0, -1), b""), id="negative-and-empty"),
        pytest.param(TensorValue("float32", (0, 1 << 63), b""), id="axis-over-63-bits"),
        pytest.param(TensorValue("float32", (0, 1 << 62, 1 << 62), b""), id="strides-overflow"),
        pytest.param(TensorValue("float32", (1,) * 17, b"1234"), id="17-axes"),
        pytest.param(TensorValue("bool", (3,), b"\x00\x02\x01"), id="bool-byte-2"),
        pytest.param(TensorValue("int64", (0,), b"", requires_grad=True), id="trained-int"),
        pytest.param(TensorValue("object", (1,), b"12345678"), id="unknown-dtype"),
        pytest.param(TensorValue("float8_e5m2", (1,), b"1"), id="unsupported-dtype"),
    ],
)
def test_a_tensor_that_contradicts_itself_is_refused(value: TensorValue):
    """An impossible header is a ``BadMessageError``, not an error of torch."""
    with pytest.raises(BadMessageError):
        decode_tensor(value)


@pytest.mark.parametrize(
    ("thing", "value"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(True, True, id="bool"),
        pytest.param(2**63 - 1, 2**63 - 1, id="largest-int"),
        pytest.param(2**63, IntegerValue(bytes(7) + b"\x80\0"), id="int-over-64-bits"),
        pytest.param(
            -(2**9000), OpaqueValue("an int of 9001 bits, too long to send"), id="huge-negative-int"
        ),
        pytest.param([1, (2.0, "x")], ListValue((1, TupleValue((2.0, "x")))), id="nested"),
        pytest.param({"a": None}, DictValue({"a": None}), id="dict"),
        pytest.param(np.float64(0.5), 0.5, id="numpy-float"),
        pytest.param([np.int32(7), np.True_], ListValue((7, True)), id="numpy-int"),
        pytest.param(np.complex64(1j), OpaqueValue("numpy.complex64"), id="numpy-complex"),
        pytest.param(np.ones(2), OpaqueValue("numpy.ndarray"), id="numpy-array"),
        pytest.param(b"x", BytesValue(b"x"), id="bytes"),
        pytest.param("é" * 1500, "é" * 1500, id="text"),
        pytest.param("\ud800", TextValue(b"\xed\xa0\x80"), id="lone-surrogate"),
        pytest.param("é" * 2500, TextValue(("é" * 2500).encode()), id="long-text"),
        pytest.param(np.str_("x"), "x", id="numpy-text"),
        pytest.param({(1, 2): 3}, MappingValue(((TupleValue((1, 2)), 3),)), id="dict-of-pairs"),
        pytest.param({2, "a", 1}, SetValue((1, 2, "a")), id="set"),
        pytest.param(frozenset({None}), SetValue((None,), constant=True), id="frozenset"),
        pytest.param({print: 1}, OpaqueValue("dict"), id="dict-with-a-function-as-key"),
        pytest.param({nn.ReLU()}, OpaqueValue("set"), id="set-of-modules"),
        pytest.param(range(3), OpaqueValue("range"), id="range"),
        pytest.param(print, OpaqueValue("builtin_function_or_method"), id="function"),
        pytest.param(torch.float32, OpaqueValue("torch.dtype"), id="dtype"),
        pytest.param(type("F", (float,), {})(1), OpaqueValue(f"{__name__}.F"), id="subclass"),
    ],
)
def test_what_a_call_returns_becomes_a_value(encoder: Encoder, thing: object, value: object):
    """Results of known types are sent, and all others by the name of their type."""
    assert encoder.encode(thing) == value


def test_a_module_is_sent_as_its_handle(encoder: Encoder):
    """A module stays in its process; the other side gets its number."""
    assert encoder.encode(nn.Linear(1, 1)) == ObjectValue(7)


def test_a_list_that_holds_itself_ends(encoder: Encoder):
    """An endless structure ends at the depth limit."""
    endless: list[object] = []
    endless.append(endless)
    value = encoder.encode(endless)
    while isinstance(value, ListValue):
        (value,) = value.items

    assert value == OpaqueValue("a collection nested deeper than 8")


def test_all_tensors_of_an_answer_share_one_limit():
    """If two tensors exceed the limit only together, the second one is replaced by its name."""
    encoder = Encoder(lambda _module: 0, max_bytes=10)
    first, second = encoder.encode([torch.ones(2), torch.ones(2)]).items

    assert isinstance(first, TensorValue)
    assert isinstance(second, OpaqueValue)


def test_decoding_gives_back_what_was_encoded(encoder: Encoder):
    """Lists, tuples, dicts with any keys, sets, numbers, texts, bytes and handles stay the same."""
    plain = [1, -(2**70), 2.0, "x" * 5000, "\udfff", b"\xff", {(1, frozenset({"a"})): {None, True}}]
    thing = [plain, (2.0, {"a": None, 3: {4: b""}}), Counter("tea")]

    assert decode(encoder.encode(thing), lambda handle: handle) == thing
    assert decode(ObjectValue(7), lambda handle: f"module {handle}") == "module 7"


def test_texts_and_bytes_count_towards_the_limit():
    """A text that does not fit is replaced by its length, like a tensor."""
    encoder = Encoder(lambda _module: 0, max_bytes=4000)

    assert encoder.encode(["a" * 3000, b"b" * 2000]) == ListValue(
        (TextValue(b"a" * 3000), OpaqueValue("bytes of length 2000, too long to send"))
    )


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(MappingValue(((ListValue(()), 1),)), id="list-as-key"),
        pytest.param(MappingValue(((encode_tensor(torch.ones(1), 99), 1),)), id="tensor-as-key"),
        pytest.param(MappingValue(((1, 2), (True, 3))), id="equal-keys"),
        pytest.param(SetValue((SetValue((1,)),)), id="set-in-a-set"),
        pytest.param(SetValue((TupleValue((ObjectValue(0),)),)), id="module-in-a-set"),
        pytest.param(TextValue(b"\xff"), id="no-text"),
    ],
)
def test_keys_and_texts_that_nothing_has_are_refused(value: object):
    """A forged reply has no keys that Python refuses, and its texts are UTF-8."""
    with pytest.raises(BadMessageError):
        decode(value, lambda handle: handle)


def test_a_value_that_is_nested_too_deep_is_refused():
    """A forged reply can't exhaust the supervisor's stack."""
    value: object = None
    for _ in range(300):
        value = ListValue((value,))

    with pytest.raises(BadMessageError, match="deeper"):
        decode(value, lambda handle: handle)


def test_only_a_source_that_is_read_has_definitions():
    """Definitions in the answer to any request except `read` are refused."""
    with pytest.raises(BadMessageError, match="without a request"):
        decode(ListValue((SourceValue(()),)), lambda handle: handle)


@pytest.mark.parametrize(
    ("given", "write"),
    [
        pytest.param([1, 2], lambda given: given.append(3), id="list"),
        pytest.param({"a": 1}, lambda given: given.update(a=2), id="dictionary"),
        pytest.param({"a": 1}, lambda given: given.update(b=2), id="new-name"),
        pytest.param((torch.ones(2),), lambda given: given[0].zero_(), id="tensor-in-tuple"),
        pytest.param({"a": [torch.ones(2)]}, lambda given: given["a"][0].add_(1), id="nested"),
        pytest.param([1], lambda given: given.__setitem__(0, 1.0), id="other-type"),
        pytest.param([0], lambda given: given.__setitem__(0, given), id="itself"),
    ],
)
def test_a_container_differs_after_a_call_that_writes_into_it(given, write):
    """A container differs if an entry at any depth does; before the call nothing differs."""
    sent = Encoder(lambda _module: -1, 1 << 20).encode(given)
    before = differs(given, sent)
    write(given)

    assert not before
    assert differs(given, sent)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.array(3.5),
        np.array([True, False]),
        np.zeros((0, 2), dtype=np.int64),
    ],
    ids=["transposed", "number", "booleans", "empty"],
)
def test_an_array_arrives_as_an_array(array: np.ndarray):
    """An argument that is a NumPy array keeps dtype, shape and numbers."""
    sent = encode_array(array, 1000)

    arrived = decode(sent, lambda handle: handle, arrays=True)

    assert isinstance(arrived, np.ndarray)
    assert arrived.dtype == array.dtype
    assert arrived.shape == array.shape
    assert (arrived == array).all()
    assert not differs(arrived, sent)


def test_an_array_that_is_written_into_differs():
    """An array that was written into differs from the one that was sent."""
    sent = encode_array(np.zeros(3), 1000)
    arrived = decode(sent, lambda handle: handle, arrays=True)
    arrived[1] = 2.0

    assert differs(arrived, sent)
    assert differs(torch.zeros(3, dtype=torch.float64), sent)


def test_no_reply_holds_an_array():
    """A worker sends the numbers of an array as a tensor, so any other reply is forged."""
    value = ListValue((encode_array(np.zeros(3), 1000),))

    with pytest.raises(BadMessageError, match="without a request"):
        decode(value, lambda handle: handle)


@pytest.mark.parametrize(
    "thing",
    [np.array(["a"]), np.array([object()]), np.zeros(2, dtype=">f8"), np.zeros(500), [1.0]],
    ids=["texts", "objects", "byte-order", "large", "list"],
)
def test_other_arrays_are_not_sent(thing: object):
    """An array with a dtype that no tensor has, or that is too large, is not sent."""
    assert encode_array(thing, 1000) is None


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((1, ListValue((DictValue({"a": encode_array(np.zeros(1), 99)}),))), True),
        ((1, ListValue((2,)), "a"), False),
    ],
)
def test_arrays_are_found_in_collections(values: tuple[object, ...], found):
    """Arrays are found at any depth, because a result may be an array if an argument holds one."""
    assert has_array(values) is found


def test_an_array_is_a_result_only_where_arrays_are_meant():
    """In an exercise about tensors, a NumPy array is not accepted as a tensor."""
    array = np.ones(2, dtype=np.float32)

    meant = Encoder(lambda _: 0, 1000, arrays=True).encode([array])
    other = Encoder(lambda _: 0, 1000).encode([array])

    assert meant == ListValue((encode_tensor(torch.ones(2), 1000),))
    assert other == ListValue((OpaqueValue("numpy.ndarray"),))


def test_nan_and_modules_do_not_differ_from_what_was_sent():
    """NaN is not equal to itself, and only the number of a module is sent."""
    given = [torch.nan, torch.tensor(torch.nan), torch.nn.Linear(1, 1)]
    sent = Encoder(lambda _module: 0, 1 << 20).encode(given)

    assert not differs(given, sent)
