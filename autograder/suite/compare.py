"""Compares the answer of a student's code with the expected one.

Type, shape, dtype, NaN or infinity, and values are compared in this order, and the message names
the first difference. Computed values may have an absolute and a relative error. Printed digits may
have only an absolute error, because the last printed place is equally wide for all numbers.
"""

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.results import Status
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.answer_values import parts
from autograder.suite.checks import WrongAnswer
from autograder.suite.noise import NOISE, PRINTED_NOISE, note_margin, scale_of
from autograder.suite.own_results import detached, is_computed, is_own, unmark
from autograder.suite.wrong_entries import (
    entries_grid,
    first_wrong_part,
    is_long,
    it,
    key_name,
    keys_difference,
    says,
    shown,
    text_difference,
    where_wrong,
)

CLEARLY = 100  # times larger must be the largest difference of a wrong entry than of a right one
FLOAT_NOISE = 20 * PRINTED_NOISE  # in addition to half a unit of a printed place
# Tolerances for hidden inputs: far above the noise that einsum, loops or float64 cause, and far
# below the smallest effect of a wrong formula (0.36 on inputs that are not small).
PROBE_ATOL = 1e-4
PROBE_RTOL = 1e-4
INFINITIES = {"inf", "-inf"}
LAW_WITH_NAN = "A result that this check uses contains NaN."
SHOWN_DECIMALS = 4  # of a number in a message, unless the document prints more

CONTAINERS: Final = {  # the name of each expected type, and the types that are accepted
    "dict": (dict,),
    "list": (list, tuple),
    "tuple": (tuple, list),
    "set": (set, frozenset),
    "frozenset": (frozenset, set),
}


def agrees(actual: object, expected: object, what: str = "The result", other: str = "") -> None:
    """Fail the check unless *actual* agrees with *expected*, which was computed.

    Tensors must have the same shape and dtype, and the same values up to float32 noise. Lists,
    tuples and dictionaries are compared entry by entry, and the message names the first wrong
    entry. A list is accepted for a tuple, and a ``frozenset`` for a set. Whole numbers, texts,
    bytes and the entries of sets must be equal. A law that compares two results of the student
    names the *other* one, because either may be wrong; of tensors it is known that they are two
    such results.
    """
    try:
        _agrees(unmark(actual), unmark(expected), what)
    except WrongAnswer as wrong:
        if wrong.public_suite_grid is None and isinstance(expected, dict | list | tuple):
            wrong.public_suite_grid = partial(entries_grid, actual, expected, alike)
        if is_computed(actual):
            wrong.message = wrong.message.removesuffix(wrong.place)
        if (other or is_own(expected)) and not wrong.compares_own:
            name = other or f"the result that {it(what)} must equal"
            _call_neither_wrong(wrong, unmark(actual), unmark(expected), what, name)
        raise


def _call_neither_wrong(wrong: WrongAnswer, actual: Any, other: Any, what: str, name: str) -> None:
    """Put *wrong* in words about two results of the student's code, if it speaks of such."""
    if wrong.status is Status.NOT_FINITE or isinstance(actual, Tensor) != isinstance(other, Tensor):
        return
    wrong.compares_own = True
    wrong.public = wrong.message = f"{says(what, 'differs')} from {name}."
    same_form = getattr(actual, "shape", ()) == getattr(other, "shape", ())
    if getattr(actual, "ndim", 0) and same_form and actual.dtype == other.dtype:
        answer, wanted = map(_numbers, (actual, other))
        differs = _wrong_entries(answer, wanted, _bound(wanted))
        wrong.message = f"{wrong.public[:-1]}{_count(answer, wanted, differs, SHOWN_DECIMALS)}."
    elif not is_long(actual, other):
        verb = "is" if it(what) == "it" else "are"
        wrong.message = f"{what} {verb} {_form(actual)}; {name} {verb} {_form(other)}."
    if make := wrong.public_suite_grid:
        wrong.public_suite_grid = lambda: (grid := make()) and replace(grid, own=True)


def _form(value: Any) -> str:
    """Return *value* as text; of a tensor with axes, its dtype and shape."""
    if isinstance(value, Tensor) and value.ndim:
        return f"{_short(value.dtype)} of shape {tuple(value.shape)}"
    number = value.item() if isinstance(value, Tensor) else value
    return f"{number:.{SHOWN_DECIMALS}f}" if isinstance(number, float) else shown(number)


def _agrees(actual: object, expected: object, what: str) -> None:
    match expected:
        case Tensor():
            _agrees_with_tensor(actual, expected, what)
        case np.ndarray():
            _agrees_with_tensor(actual, torch.from_numpy(expected), what)
        case dict():
            _has_entries(actual, expected, what)
            for key, value in expected.items():
                _entry_agrees(actual[key], value, key_name(key), what)  # type: ignore[index]  # a dictionary
        case list() | tuple():
            _has_entries(actual, expected, what)
            for index, (one, other) in enumerate(zip(actual, expected, strict=True)):  # type: ignore[call-overload]  # a list
                _entry_agrees(one, other, str(index), what)
        case set() | frozenset():
            _has_entries(actual, expected, what)
        case float():
            number_agrees(actual, expected, what)
        case _:
            _is_equal(actual, expected, what)


def _entry_agrees(actual: object, expected: object, name: str, what: str) -> None:
    """Compare entry *name* of *what*; next to hidden inputs, only names of tensors."""
    try:
        agrees(actual, expected, f"Entry {name} of {what[:1].lower()}{what[1:]}")
    except WrongAnswer as wrong:
        if not any(isinstance(one, Tensor | np.ndarray) for one in parts(expected)):
            wrong.public = f"{says(what, 'has')} a wrong entry."
        raise


def _has_entries(actual: object, expected: Any, what: str) -> None:
    kind, kinds = next(item for item in CONTAINERS.items() if isinstance(expected, item[1][0]))
    given: Any = actual
    if not issubclass(type(actual), kinds):
        sentence = f"{says(what, 'is')} {_kind(actual)}; {it(what)} should be a {kind}."
        public = f"{says(what, 'has')} the wrong type; {it(what)} should be a {kind}."
        raise WrongAnswer(Status.WRONG_TYPE, public, message=sentence)
    sentence = ""
    if isinstance(expected, list | tuple):
        if len(given) != len(expected):
            count = f"{len(given)} {'entry' if len(given) == 1 else 'entries'}"
            sentence = f"{says(what, 'has')} {count}; {it(what)} should have {len(expected)}."
    elif {*given} != {*expected}:
        sentence = keys_difference(given, expected, what)
    if sentence:
        raise WrongAnswer(
            Status.WRONG_SHAPE, f"{says(what, 'has')} the wrong entries.", message=sentence
        )


def _is_equal(actual: object, expected: Any, what: str) -> None:
    given: Any = actual
    if type(expected) is int and isinstance(actual, Tensor) and not actual.ndim:
        given = actual.item()
    if type(given) is not type(expected):
        sentence = f"{says(what, 'is')} {_kind(given)}; {it(what)} should be {_kind(expected)}."
        public = f"{says(what, 'has')} the wrong type; {it(what)} should be {_kind(expected)}."
        raise WrongAnswer(Status.WRONG_TYPE, public, message=sentence)
    if given != expected:
        sentence = f"{says(what, 'is')} {shown(given)}; {it(what)} should be {shown(expected)}."
        if is_long(given, expected):
            sentence = text_difference(given, expected, what)
        public = f"{says(what, 'is')} wrong."
        raise WrongAnswer(Status.WRONG_VALUE, public, message=sentence)


def _agrees_with_tensor(actual: object, expected: Tensor, what: str) -> None:
    answer = tensor_like(actual, tuple(expected.shape), what)
    same_dtype(answer, expected.dtype, what)
    wanted = expected.detach()
    if torch.equal(answer, wanted):  # excludes NaN, and accepts expected infinities
        return
    finite_like(answer, wanted, what)
    answer, wanted = map(_numbers, (answer, wanted))
    _close(answer, wanted, _bound(wanted), what)


def alike(left: object, right: object) -> bool:
    """Whether two answers agree up to float32 noise, for laws that compare a module with itself."""
    if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        try:
            agrees(left, right)
        except WrongAnswer:
            return False
        return True
    answer, wanted = map(_numbers, (left, right))
    return not bool(_wrong_entries(answer, wanted, _bound(wanted)).any())


def _numbers(values: Tensor) -> Tensor:
    """Return *values* without a graph, and booleans as numbers: torch can't subtract booleans."""
    return values.int() if values.dtype is torch.bool else values.detach()


def _bound(wanted: Tensor) -> Tensor:
    return PROBE_ATOL + PROBE_RTOL * wanted.abs().nan_to_num(0, 0, 0)


def matches_printed(
    actual: object,
    value: Tensor,
    atol: Tensor | float,
    what: str,
    decimals: int,
    tokens: Sequence[str] = (),
    noise: float = PRINTED_NOISE,
) -> None:
    """Fail the check unless *actual* is within *atol* of *value*; *tokens* labels its tables."""
    answer = tensor_like(actual, tuple(value.shape), what)
    if value.is_floating_point():
        same_dtype(answer, torch.float32, what)
    elif answer.is_complex():
        same_dtype(answer, value.dtype, what)
    wide = answer.double(), value.double()
    try:
        finite_like(answer, value, what, decimals, tokens)
        _close(*wide, torch.as_tensor(atol), what, noise, decimals, tokens)
    except WrongAnswer as wrong:
        wrong.grid = wrong.public_suite_grid
        raise


def tensor_like(actual: object, shape: tuple[int, ...], what: str = "The result") -> Tensor:
    """Return *actual* if it is a tensor of *shape*; otherwise fail the check."""
    answer = tensor(actual, what)
    if tuple(answer.shape) != shape:
        sentence = (
            f"{says(what, 'has')} shape {tuple(answer.shape)}; {it(what)} should have {shape}."
        )
        which = "number of axes" if answer.ndim != len(shape) else "size in at least one axis"
        public = f"{says(what, 'has')} the wrong {which}."
        raise WrongAnswer(Status.WRONG_SHAPE, public, message=sentence)
    return answer


def tensor(actual: object, what: str = "The result") -> Tensor:
    """Return *actual* if it is a tensor; otherwise fail the check."""
    if isinstance(actual, Tensor):
        return detached(actual)
    hint = " A function that ends without `return` returns None." if actual is None else ""
    sentence = f"{says(what, 'is')} {_kind(actual)}; {it(what)} should be a torch.Tensor.{hint}"
    public = f"{says(what, 'is')} not a torch.Tensor.{hint}"
    raise WrongAnswer(Status.WRONG_TYPE, public, message=sentence)


def number(actual: object, what: str = "The result") -> float:
    """Return a Python number or a tensor without axes as a float; otherwise fail the check."""
    if type(actual) in {int, float}:
        return float(actual)  # type: ignore[arg-type]  # exact types, checked above
    if not isinstance(actual, Tensor):
        sentence = f"{says(what, 'is')} {_kind(actual)}; {it(what)} should be one number."
        public = f"{says(what, 'has')} the wrong type; {it(what)} should be one number."
        raise WrongAnswer(Status.WRONG_TYPE, public, message=sentence)
    if actual.ndim:
        shape = tuple(actual.shape)
        sentence = f"{says(what, 'has')} shape {shape}; {it(what)} should be one number."
        public = f"{says(what, 'is')} a tensor with axes; {it(what)} should be one number."
        raise WrongAnswer(Status.WRONG_SHAPE, public, message=sentence)
    return float(actual.detach())


def number_agrees(actual: object, expected: float, what: str = "The result") -> None:
    """Fail the check unless *actual* equals a computed number up to float32 noise."""
    bound = PROBE_ATOL + PROBE_RTOL * abs(expected)
    matches_printed_number(actual, expected, bound, what, noise=NOISE)


def matches_printed_number(
    actual: object,
    expected: float,
    atol: float,
    what: str,
    decimals: int = SHOWN_DECIMALS,
    noise: float = PRINTED_NOISE,
) -> None:
    """Fail the check unless *actual* is within *atol* of a printed or exact number."""
    answer = number(actual, what)
    apart = abs(answer - expected)
    note_margin(torch.tensor(apart), torch.tensor(atol), torch.tensor(expected), noise)
    if math.isnan(answer) or apart > atol:
        is_whole = answer.is_integer() and float(expected).is_integer()
        shown = 0 if is_whole else max(decimals, SHOWN_DECIMALS)
        sentence = f"{what} is {answer:.{shown}f}; it should be {expected:.{shown}f}."
        public = f"{what} is not the expected number."
        raise WrongAnswer(Status.WRONG_VALUE, public, message=sentence)


def same_dtype(answer: Tensor, dtype: torch.dtype, what: str) -> None:
    """Fail the check unless *answer* has *dtype*."""
    if answer.dtype == dtype:
        return
    sentence = (
        f"{says(what, 'has')} dtype {_short(answer.dtype)}; {it(what)} should have {_short(dtype)}."
    )
    public = f"{says(what, 'has')} the wrong dtype."
    raise WrongAnswer(Status.WRONG_TYPE, public, message=sentence)


def finite_like(
    answer: Tensor,
    expected: Tensor,
    what: str,
    places: int = SHOWN_DECIMALS,
    tokens: Sequence[str] = (),
) -> None:
    """Fail the check if *answer* is NaN or infinite where *expected* is not."""
    if not answer.is_floating_point() or not expected.is_floating_point():
        return
    wrong = ~answer.isfinite() & (answer != expected)
    if wrong.any():
        kind = "NaN" if answer.isnan().any() else "infinite values"
        text = f"{says(what, 'contains')} {kind}"
        finite = expected.isfinite()
        if finite[wrong].all() and not finite.all():  # elsewhere, infinite values are right
            text += " where finite numbers are expected"
        sentence = f"{text}, in {int(wrong.sum())} of {wrong.numel()} entries."
        error = WrongAnswer(Status.NOT_FINITE, f"{text}.", message=sentence)
        error.public_suite_grid = partial(first_wrong_part, answer, expected, wrong, places, tokens)
        raise error


def explain_nan(wrong: WrongAnswer, answers: Iterable[Any]) -> WrongAnswer:
    """Return *wrong*, or that there is NaN in *answers*: a law that fails on it shows no more."""
    is_law = wrong.status is Status.WRONG_VALUE and not (wrong.public_suite_grid or wrong.grid)
    tensors = (one for answer in answers for one in parts(answer) if isinstance(one, Tensor))
    has_nan = is_law and any(bool(one.isnan().any()) for one in tensors)
    return WrongAnswer(wrong.status, LAW_WITH_NAN) if has_nan else wrong


def _close(
    answer: Tensor,
    expected: Tensor,
    bound: Tensor,
    what: str,
    noise: float = NOISE,
    places: int | None = None,
    tokens: Sequence[str] = (),
) -> None:
    """Fail the check if an entry is too far; *places* are decimals, none by default if whole."""
    wrong = _wrong_entries(answer, expected, bound, noise)
    if not wrong.any():
        return
    if places is None:
        places = 0 if _is_whole(answer) and _is_whole(expected) else SHOWN_DECIMALS
    shown = max(places, SHOWN_DECIMALS) if places else 0
    place = where_wrong(wrong) if _is_clear(answer, expected, wrong, noise) else ""
    sentence = (
        f"{says(what, 'differs')} from the expected values"
        f"{_count(answer, expected, wrong, shown)}.{place}"
    )
    if not wrong.ndim and not answer.is_complex():  # the expected number has the same dtype
        pair = (f"{float(one):.{shown}f}" for one in (answer, expected))
        sentence = "{0} {2}; {1} should be {3}.".format(says(what, "is"), it(what), *pair)
    error = WrongAnswer(Status.WRONG_VALUE, f"{says(what, 'has')} wrong values.", message=sentence)
    error.public_suite_grid = partial(first_wrong_part, answer, expected, wrong, places, tokens)
    error.place = place
    raise error


def _is_clear(answer: Tensor, expected: Tensor, wrong: Tensor, noise: float) -> bool:
    """Whether no entry is a little wrong: it would be within the bound, and still not right.

    A printed number is rounded, unless it is a whole one.
    """
    apart = _differences(answer, expected).nan_to_num(torch.inf)
    rounded = noise == PRINTED_NOISE and not expected.is_complex()
    exact = expected == expected.round() if rounded else torch.ones_like(wrong)
    right, known = apart[~wrong], apart[~wrong & exact]
    return not len(right) or bool(
        (known <= NOISE * scale_of(expected)).all() and CLEARLY * right.max() <= apart.max()
    )


def _is_whole(values: Tensor) -> bool:
    return not values.is_complex() and torch.equal(values, values.round())


def _count(answer: Tensor, expected: Tensor, wrong: Tensor, places: int) -> str:
    """Return a phrase with the number of *wrong* entries, and how far they are off."""
    much = _at_most(answer, expected, wrong, places)
    return f" in {int(wrong.sum())} of {wrong.numel()} entries{much}"


def _at_most(answer: Tensor, expected: Tensor, wrong: Tensor, places: int) -> str:
    """Return a phrase with the largest difference, or with missing infinities, but not of ones."""
    apart = (answer - expected).abs()[wrong]
    missing = expected[wrong]
    if missing.isnan().any():  # two results of the student's code are compared
        return ", and the result for comparison contains NaN"
    if lost := int((~missing.isfinite()).sum()):
        kinds = " or ".join(sorted({f"{one:.0f}" for one in missing.tolist()} & INFINITIES))
        return f"; {lost} of them should be {kinds}"
    finite = apart[apart.isfinite()]
    is_told = len(finite) and (places or finite.max() != 1)
    return f", by up to {float(finite.max()):.{places}f}" if is_told else ""


def _wrong_entries(answer: Tensor, expected: Tensor, bound: Tensor, noise: float = NOISE) -> Tensor:
    """Return a mask of the entries that are NaN or farther from *expected* than *bound*."""
    apart = _differences(answer, expected)
    if apart.is_floating_point():  # whole numbers have no noise
        note_margin(apart, bound, expected, noise)
    return ~(apart <= bound)


def _differences(answer: Tensor, expected: Tensor) -> Tensor:
    """Return how far each entry is from the expected one; equal infinities do not differ."""
    return (answer - expected).abs().masked_fill(answer == expected, 0)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _kind(actual: object) -> str:
    if actual is None:
        return "None"
    kind = actual.kind if isinstance(actual, OpaqueValue) else type(actual).__name__
    return kind if kind.startswith(("a ", "an ")) else f"of type {kind}"
