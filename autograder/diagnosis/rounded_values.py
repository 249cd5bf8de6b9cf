"""Converts answers to rounded JSON values, which are comparable between machines."""

import hashlib
from typing import Any

import torch
from torch import Tensor

from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.noise import EVIDENCE_DIGITS, rounded, scale_of
from autograder.suite.student_proxy import RemoteModule

MAX_LISTED = 40  # entries of a list without floats; a longer one becomes a digest
MAX_ENTRIES = 4  # of a tensor that is kept as it is; more become one entry, a sum and the scale
GOLDEN = (5**0.5 - 1) / 2  # the place of the kept entry, which is in the middle of no axis
NOT_FINITE = {"nan": 3.0, "posinf": 5.0, "neginf": -7.0}  # numbers, so that places count
NO_NOISE = {int, str, bytes}
USUAL = "float32"  # the dtype of nearly all tensors, which is left out
LARGEST = 1 << 63  # integers that records can't hold
DIGEST = 8  # hexadecimal digits; enough to distinguish all messages of one stage


def to_json_value(answer: Any) -> Any:  # noqa: PLR0911  # each line handles one kind of answer
    """Convert an answer to numbers and digests; answers of different types stay different."""
    match answer:
        case Tensor():
            return _tensor(answer.detach())
        case dict():
            return {_key(key): to_json_value(value) for key, value in answer.items()}
        case list() | tuple() if len(answer) > MAX_LISTED and {*map(type, answer)} <= NO_NOISE:
            return digest(canonical(answer))
        case list() | tuple():  # equal for checks
            return [to_json_value(item) for item in answer]
        case int() if abs(answer) >= LARGEST:
            return digest(repr(answer))
        case bool() | int() | float() | None:
            return _number(answer)
        case RemoteModule():
            return "module"
        case OpaqueValue():
            return digest(f"opaque {answer.kind}")
        case _:
            return digest(canonical(answer))


def _key(key: Any) -> str:
    """Return *key* as a key of JSON; only a text stays as it is."""
    return key if isinstance(key, str) else f"{type(key).__name__} {canonical(key)}"


def canonical(value: Any) -> str:
    """Return a text that is the same for equal values, although sets have no order.

    A list and a tuple are equal for checks.
    """
    match value:
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(canonical, value)))}}}"
        case list() | tuple():
            return f"({', '.join(map(canonical, value))})"
    return repr(value)


def _tensor(answer: Tensor) -> dict[str, Any]:
    flat = answer.flatten()
    is_whole = not (flat.is_floating_point() or flat.is_complex())
    scale = 1.0 if is_whole else scale_of(flat)
    if flat.numel() > MAX_ENTRIES:
        kept = flat[int(GOLDEN * flat.numel())].item()
        sums = [_weighted_sum(flat), *([] if is_whole else [scale])]
        entries = [float(kept) if is_whole else kept, *sums]
    else:
        entries = flat.tolist()
    dtype = str(answer.dtype).removeprefix("torch.")
    sizes = [*([] if dtype == USUAL else [dtype]), *map(str, answer.shape)]
    return {" ".join(sizes): [_number(value, scale) for value in entries]}


def _weighted_sum(flat: Tensor) -> float:
    """Return a weighted sum of all entries, scaled so that its noise is that of one entry."""
    parts = torch.view_as_real(flat).flatten() if flat.is_complex() else flat
    numbers = parts.double().nan_to_num(**NOT_FINITE)
    places = torch.arange(len(numbers), dtype=torch.float64)
    weights = places * places * GOLDEN % 1 + 0.5  # like random ones, equal on all machines
    return float((numbers * weights).sum() / len(numbers) ** 0.5)


def _number(value: Any, scale: float = 1.0) -> Any:
    """Round a number in a tensor of this *scale* to the digits that hold on every machine."""
    if isinstance(value, complex):
        return [_number(value.real, scale), _number(value.imag, scale)]
    return rounded(value, scale, EVIDENCE_DIGITS) if isinstance(value, float) else value


def digest(text: str) -> str:
    """Return a short digest of *text*."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
