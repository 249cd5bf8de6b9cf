"""Converts tensors and other results to messages and back, with exact dtype, shape and values."""

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import NoneType

import msgspec
import numpy as np
import torch
from torch import Tensor

from autograder.sandbox import protocol
from autograder.sandbox.protocol import (
    ArrayValue,
    BadMessageError,
    BytesValue,
    IntegerValue,
    OpaqueValue,
    TensorValue,
    TextValue,
    Value,
)

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_DTYPES = (*_FLOATS, *_INTEGERS, torch.complex64, torch.complex128)
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in _DTYPES}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
# numpy handles small arrays in a third of torch's time, but has no bfloat16.
_ARRAYS = {name: np.dtype("int16" if name == "bfloat16" else name) for name in DTYPES}
torch.from_numpy(np.zeros(0))  # if torch can't use this NumPy, the import fails, and no check
_COLLECTIONS = (
    protocol.ListValue,
    protocol.TupleValue,
    protocol.DictValue,
    protocol.MappingValue,
    protocol.SetValue,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_KEYS = (NoneType, bool, int, float, str, BytesValue, TextValue, IntegerValue, protocol.SetValue)
MAX_DIMENSIONS = 16  # torch itself works to 64; no exercise needs more than 4
MAX_DEPTH = 8  # levels of nested lists; the kit's deepest reply, the list of definitions, has 4


def encode_tensor(tensor: Tensor, max_bytes: int) -> TensorValue | OpaqueValue:
    """Encode *tensor*; one that is not a plain dense CPU tensor becomes an ``OpaqueValue``."""
    kind = _unsupported_kind(tensor, max_bytes)
    if kind:
        return OpaqueValue(kind)
    return TensorValue(
        _NAMES[tensor.dtype], tuple(tensor.shape), tensor_bytes(tensor), bool(tensor.requires_grad)
    )


def tensor_bytes(tensor: Tensor) -> bytes:
    """Return the row-major bytes of a dense CPU tensor with any strides."""
    plain = tensor.detach()
    if plain.dtype is torch.bfloat16:  # numpy has no such type
        plain = plain.view(torch.int16)
    elif plain.is_conj() or plain.is_neg():  # torch has not yet applied the sign to the memory
        plain = plain.resolve_conj().resolve_neg()
    return plain.numpy().tobytes()


def _unsupported_kind(tensor: Tensor, max_bytes: int) -> str:
    if type(tensor) not in {Tensor, torch.nn.Parameter}:
        return f"a subclass of torch.Tensor ({type(tensor).__name__[:80]})"
    if tensor.layout is not torch.strided:
        return f"a tensor of layout {tensor.layout}"
    if tensor.device.type != "cpu":
        return f"a tensor on device {tensor.device.type!r}"
    if tensor.dtype not in _NAMES:
        return f"a tensor of dtype {tensor.dtype}"
    if tensor.numel() * tensor.element_size() > max_bytes:
        return f"a tensor of shape {tuple(tensor.shape)}, too large to send"
    return ""


def decode_tensor(value: TensorValue) -> Tensor:
    """Build the tensor that *value* describes; raise ``BadMessageError`` if it can't exist."""
    dtype = DTYPES.get(value.dtype)
    if dtype is None or len(value.shape) > MAX_DIMENSIONS or min(value.shape, default=0) < 0:
        msg = f"no tensor has dtype {value.dtype[:40]!r} and shape of {len(value.shape)} dimensions"
        raise BadMessageError(msg)
    if math.prod(value.shape) * dtype.itemsize != len(value.data):
        msg = f"{len(value.data)} bytes are not a {value.dtype} tensor of shape {value.shape}"
        raise BadMessageError(msg)
    if value.requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise BadMessageError(f"no {value.dtype} tensor has gradients")
    tensor = _build(value, dtype)
    return tensor.requires_grad_() if value.requires_grad else tensor


def _build(value: TensorValue, dtype: torch.dtype) -> Tensor:
    if dtype is torch.bool and value.data.strip(b"\x00\x01"):
        raise BadMessageError("a bool tensor with bytes that are not 0 or 1")
    if value.data:
        array = np.frombuffer(value.data, _ARRAYS[value.dtype]).reshape(value.shape).copy()
        tensor = torch.from_numpy(array)
        return tensor.view(dtype) if dtype is torch.bfloat16 else tensor
    try:
        return torch.empty(value.shape, dtype=dtype)
    except (RuntimeError, TypeError):  # an axis beyond 63 bits, with another of size 0
        raise BadMessageError(f"no tensor has shape {value.shape}") from None


def encode_array(array: object, max_bytes: int) -> ArrayValue | None:
    """Encode *array* if it is a NumPy array of numbers that a tensor can hold."""
    tensor = _tensor_of(array)
    value = encode_tensor(tensor, max_bytes) if tensor is not None else None
    return ArrayValue(value) if isinstance(value, TensorValue) else None


def _tensor_of(array: object) -> Tensor | None:
    """Return a tensor with the numbers of *array*; ``None`` for other things."""
    if type(array) is not np.ndarray or str(array.dtype) not in DTYPES:
        return None
    return torch.from_numpy(np.array(array, order="C"))


def has_array(values: Iterable[Value]) -> bool:
    """Whether *values* contain a NumPy array at any depth."""
    return any(isinstance(value, ArrayValue) or has_array(_entries(value)) for value in values)


def _entries(value: Value) -> Iterable[Value]:
    match value:
        case protocol.ListValue() | protocol.TupleValue():
            return value.items
        case protocol.DictValue():
            return value.items.values()
        case protocol.MappingValue():
            return [item for _, item in value.items]
        case _:
            return ()


class Encoder:
    """Encodes a result up to a limit of bytes and depth; with *arrays*, NumPy's as tensors."""

    def __init__(
        self, keep: Callable[[torch.nn.Module], int], max_bytes: int, *, arrays: bool = False
    ) -> None:
        self._keep = keep
        self._arrays = arrays
        self._remaining_bytes = max_bytes

    def encode(self, thing: object, depth: int = 0) -> Value:
        """Encode *thing*, NumPy's numbers and texts as Python's, or as an ``OpaqueValue``."""
        if isinstance(thing, np.generic) and thing.dtype.kind in "biufUS":
            thing = thing.item()
        if self._arrays and (tensor := _tensor_of(thing)) is not None:
            thing = tensor
        if thing is None or type(thing) in {bool, float}:
            return thing  # type: ignore[return-value]  # exact types, checked above
        if type(thing) in {int, str, bytes}:
            return self._plain(thing)  # type: ignore[arg-type]  # exact types, checked above
        if isinstance(thing, Tensor):
            value = encode_tensor(thing, self._remaining_bytes)
            self._remaining_bytes -= len(value.data) if isinstance(value, TensorValue) else 0
            return value
        if isinstance(thing, torch.nn.Module):
            return protocol.ObjectValue(self._keep(thing))
        if depth < MAX_DEPTH:
            return self._collection(thing, depth + 1)
        return OpaqueValue(f"a collection nested deeper than {MAX_DEPTH}")

    def _plain(self, thing: int | str | bytes) -> Value:
        """Encode an integer, a text or bytes; one that is too long becomes an ``OpaqueValue``."""
        if isinstance(thing, int):
            return _integer(thing)
        is_short = len(thing) <= protocol.MAX_TEXT
        if isinstance(thing, str) and is_short and not _SURROGATE.search(thing):
            return thing
        data = b""
        if len(thing) <= self._remaining_bytes:  # otherwise it would take time to encode it
            data = thing.encode(*protocol.TEXT_ENCODING) if isinstance(thing, str) else thing
        if max(len(thing), len(data)) > self._remaining_bytes:
            kind = "text" if isinstance(thing, str) else "bytes"
            return OpaqueValue(f"{kind} of length {len(thing)}, too long to send")
        self._remaining_bytes -= len(data)
        return TextValue(data) if isinstance(thing, str) else BytesValue(data)

    def _collection(self, thing: object, depth: int) -> Value:
        if type(thing) is list:
            return protocol.ListValue(tuple(self.encode(item, depth) for item in thing))
        if isinstance(thing, tuple):
            return protocol.TupleValue(tuple(self.encode(item, depth) for item in thing))
        if isinstance(thing, dict):
            keys = [self.encode(key, depth) for key in thing]
            if all(map(_is_key, keys)):
                return _dictionary(keys, [self.encode(item, depth) for item in thing.values()])
        if type(thing) is set or type(thing) is frozenset:
            items = [self.encode(item, depth) for item in thing]
            if all(map(_is_key, items)):
                items.sort(key=msgspec.msgpack.encode)  # their order differs between processes
                return protocol.SetValue(tuple(items), constant=type(thing) is frozenset)
        kind = type(thing)
        return OpaqueValue(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")[:120])


def _integer(number: int) -> Value:
    if -(2**63) <= number < 2**63:
        return number
    size = number.bit_length() // 8 + 1
    if size > protocol.MAX_INTEGER_BYTES:
        return OpaqueValue(f"an int of {number.bit_length()} bits, too long to send")
    return IntegerValue(number.to_bytes(size, "little", signed=True))


def _dictionary(keys: Sequence[Value], items: Sequence[Value]) -> Value:
    if all(type(key) is str for key in keys):
        return protocol.DictValue(dict(zip(keys, items, strict=True)))  # type: ignore[arg-type]  # texts
    return protocol.MappingValue(tuple(zip(keys, items, strict=True)))


def _is_key(value: Value) -> bool:
    """Whether *value* can be a key, or an entry of a set: a plain value, or a tuple of such."""
    if isinstance(value, protocol.TupleValue):
        return all(map(_is_key, value.items))
    return isinstance(value, _KEYS) and getattr(value, "constant", True)


def decode(
    value: Value, find: Callable[[int], object], depth: int = 0, *, arrays: bool = False
) -> object:
    """Convert *value* to a Python object; *find* returns the torch module of a handle.

    Arguments may contain NumPy *arrays*, replies may not. Raises ``BadMessageError`` for an array
    in a reply, for an impossible tensor and for collections that are nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise BadMessageError(f"a collection is nested deeper than {MAX_DEPTH}")
    inner = partial(decode, find=find, depth=depth + 1, arrays=arrays)
    match value:
        case TensorValue():
            return decode_tensor(value)
        case protocol.ObjectValue():
            return find(value.handle)
        case BytesValue() | TextValue() | IntegerValue():
            return _decode_plain(value)
        case ArrayValue() if arrays:
            return decode_tensor(value.tensor).numpy()
        case protocol.SourceValue() | ArrayValue():
            raise BadMessageError(protocol.NO_REQUEST)
    return _decode_collection(value, inner) if isinstance(value, _COLLECTIONS) else value


def _decode_collection(value: protocol.Collection, inner: Callable[[Value], object]) -> object:
    match value:
        case protocol.ListValue():
            return list(map(inner, value.items))
        case protocol.TupleValue():
            return tuple(map(inner, value.items))
        case protocol.DictValue():
            return {key: inner(item) for key, item in value.items.items()}
        case protocol.MappingValue():
            keys = _decode_keys([key for key, _ in value.items], inner)
            return dict(zip(keys, (inner(item) for _, item in value.items), strict=True))
        case protocol.SetValue():
            keys = _decode_keys(value.items, inner)
            return frozenset(keys) if value.constant else set(keys)


def _decode_plain(value: BytesValue | TextValue | IntegerValue) -> bytes | str | int:
    if isinstance(value, BytesValue):
        return value.data
    if isinstance(value, IntegerValue):
        return int.from_bytes(value.data, "little", signed=True)
    try:
        return value.data.decode(*protocol.TEXT_ENCODING)
    except UnicodeDecodeError:
        raise BadMessageError("bytes that are not a text") from None


def _decode_keys(values: Sequence[Value], inner: Callable[[Value], object]) -> list[object]:
    """Decode keys; raise ``BadMessageError`` unless no two of them are equal."""
    if all(map(_is_key, values)):
        found = list(map(inner, values))
        if len({*found}) == len(values):
            return found
    raise BadMessageError("keys that no dictionary or set has")


def differs(after: object, sent: Value) -> bool:
    """Whether an argument *after* a call, or an entry of it, differs from what was *sent*."""
    if isinstance(sent, ArrayValue):
        after, sent = _tensor_of(after), sent.tensor
    match sent:
        case TensorValue():
            return not isinstance(after, Tensor) or _tensor_differs(after, sent)
        case protocol.ListValue() | protocol.TupleValue():
            kind = list if isinstance(sent, protocol.ListValue) else tuple
            return type(after) is not kind or _any_differs(after, sent.items)
        case protocol.DictValue() | protocol.MappingValue():
            return _dictionary_differs(after, sent)
        case protocol.SetValue() | BytesValue() | TextValue() | IntegerValue():
            return _packed(after) != msgspec.msgpack.encode([sent])
        case protocol.ObjectValue():
            return False
        case _:
            known = type(after) is type(sent) and (after == sent or sent != sent)  # noqa: PLR0124  # NaN
            return not known


def _dictionary_differs(after: object, sent: protocol.DictValue | protocol.MappingValue) -> bool:
    pairs = sent.items.items() if isinstance(sent, protocol.DictValue) else sent.items
    keys = msgspec.msgpack.encode([key for key, _ in pairs])
    if type(after) is not dict or _packed(*after) != keys:
        return True
    return _any_differs([*after.values()], [item for _, item in pairs])


def _packed(*things: object) -> bytes:
    """Encode plain *things*, so that True differs from 1."""
    encoder = Encoder(lambda _module: -1, sys.maxsize)
    return msgspec.msgpack.encode([encoder.encode(thing) for thing in things])


def _any_differs(after: Sequence[object], sent: Sequence[Value]) -> bool:
    return len(after) != len(sent) or any(map(differs, after, sent))


def _tensor_differs(after: Tensor, sent: TensorValue) -> bool:
    if tuple(after.shape) != sent.shape or after.dtype != DTYPES[sent.dtype]:
        return True
    if tensor_bytes(after) == sent.data:
        return False
    before = decode_tensor(sent)
    same = (after == before) | ((after != after) & (before != before))  # noqa: PLR0124  # NaN equals itself here
    return not bool(same.all())
