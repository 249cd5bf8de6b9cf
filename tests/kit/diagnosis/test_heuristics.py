"""General readings: what is said of a wrong tensor, and that nothing is said of a right one."""

import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.diagnosis import heuristics
from autograder.suite import documented

ROOT = Path(__file__).parents[3]
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.float8_e4m3fn,
)
SPECIAL = (0.0, 1.0, -1.0, 0.25, math.nan, math.inf, -math.inf, 1e30, -3e38, 1e-30)


def values(*shape: int) -> torch.Tensor:
    """Draw loud numbers that are nobody's documented ones."""
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(5))


def attention(*shape: int) -> torch.Tensor:
    """Draw weights whose rows sum to one."""
    return values(*shape).softmax(-1)


def causal(size: int) -> torch.Tensor:
    """Draw causal weights."""
    future = torch.ones(size, size).triu(1) == 1
    return values(size, size).masked_fill(future, -torch.inf).softmax(-1)


def filled(tensor: torch.Tensor, row: object, value: float = math.nan) -> torch.Tensor:
    """Return *tensor* with *value* in *row*."""
    spoiled = tensor.clone()
    spoiled[..., row, :] = value
    return spoiled


def name_of(answer: object, expected: object) -> str:
    """Return the name of what is read, or nothing."""
    found = heuristics.read(answer, expected)
    return found.name if found else ""


X, W, C = values(2, 5, 6), attention(2, 5, 5), causal(4)
LOGITS = values(2, 5, 5)


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        pytest.param("axis_missing", X.sum(1), X, id="summed-over-tokens"),
        pytest.param("axis_extra", X[:, None], X, id="unsqueezed"),
        pytest.param("axes_swapped", X.mT, X, id="other-shape-turned"),
        pytest.param("axis_size", X[:, :4], X, id="one-token-short"),
        pytest.param("other_dtype", X.double(), X, id="float64"),
        pytest.param("other_dtype", C.tril().ne(0).float(), C.ne(0), id="numbers-for-truth"),
        pytest.param("nan_first_row", filled(X, 0), X, id="first-query-sees-nothing"),
        pytest.param("nan_last_row", filled(X, -1), X, id="last-query-sees-nothing"),
        pytest.param("nan_everywhere", filled(X, slice(None)), X, id="zero-times-infinity"),
        pytest.param("nan_everywhere", filled(X[0, :1], 0), X[0, :1], id="one-row-is-every-row"),
        pytest.param("infinite", filled(W, 1, -math.inf), W, id="weights-filled-with-infinity"),
        pytest.param("transposed", W.mT, W, id="weights-turned"),
        pytest.param("constant_factor", X * 6**0.5, X, id="times-root"),
        pytest.param("columns_sum_to_one", LOGITS.softmax(-2), W, id="softmax-over-queries"),
        pytest.param("first_axis_sums_to_one", LOGITS.softmax(0), W, id="softmax-over-the-batch"),
        pytest.param(
            "matrix_sums_to_one", LOGITS.flatten(1).softmax(-1).view(2, 5, 5), W, id="per-item"
        ),
        pytest.param(
            "matrix_sums_to_one", LOGITS.flatten().softmax(-1).view(2, 5, 5), W, id="over-the-whole"
        ),
        pytest.param("negative_weights", LOGITS, W, id="scores-for-weights"),
        pytest.param("rows_not_normalised", LOGITS.exp(), W, id="no-denominator"),
        pytest.param("future_leaks", C + C.mT.triu(1), C, id="above-the-diagonal"),
        pytest.param("rows_equal", X.mean(1, keepdim=True).expand_as(X), X, id="plain-mean"),
        pytest.param("heads_repeated", X[..., :3].repeat(1, 1, 2), X, id="one-head-twice"),
        pytest.param("heads_interleaved", X.view(2, 5, 2, 3).mT.flatten(-2), X, id="stacked-last"),
        pytest.param("heads_reordered", X.roll(3, -1), X, id="last-head-first"),
        pytest.param("rows_shifted", X.roll(1, -2), X, id="one-token-later"),
        pytest.param("rows_shifted", X.roll(-1, -2), X, id="one-token-earlier"),
    ],
)
def test_what_a_wrong_tensor_looks_like_is_named(name: str, answer, expected):
    """Each reading speaks of its own kind of mistake, and none before it does."""
    assert name_of(answer, expected) == name


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(values(2, 6, 5).mT, X, id="other-numbers"),
        pytest.param(torch.ones(3, 7), X, id="nothing-in-common"),
        pytest.param(torch.ones(4, 3, 2), torch.ones(2, 4, 3), id="three-axes-moved"),
        pytest.param(X.double() + 1, X.double(), id="shifted-by-one"),
        pytest.param((3 * X).double(), 2 * X + 1, id="other-dtype-and-wrong"),
        pytest.param(torch.tensor([0.2, 0.4]), torch.tensor([0.1, 0.2]), id="two-numbers"),
        pytest.param(torch.eye(3) * 2, torch.eye(3).add(1e-3), id="few-entries-beside-zeros"),
        pytest.param(filled(X, 2), X, id="nan-in-the-middle"),
        pytest.param(filled(X[0, 0, None], 0)[0], X[0, 0], id="nan-in-a-vector"),
        pytest.param(values(3, 1), torch.ones(3, 1), id="single-columns-are-no-weights"),
        pytest.param(X.to(torch.complex64), X, id="complex"),
        pytest.param(~C.bool(), C.bool(), id="truth-values"),
        pytest.param(5, X, id="a-number"),
        pytest.param({"W_q": X}, {"W_k": X + 1}, id="other-names"),
    ],
)
def test_rather_nothing_is_said_than_a_guess(answer, expected):
    """What no reading knows stays unread."""
    assert name_of(answer, expected) == ""


def test_which_axis_is_only_said_where_one_fits():
    """Of two equal sizes either may be the one that is missing, or too many."""
    missing, extra = heuristics.read(W[:, 0], W), heuristics.read(W[:, None].expand(2, 2, 5, 5), W)

    assert missing.sentence == "One axis is missing."
    assert extra.sentence == "There is one axis too many."


def test_axes_are_told_by_the_names_that_a_check_gives():
    """Without names they are counted."""
    named = heuristics.read(X.sum(1), X, ("B", "T", "d"))

    assert named.sentence == "Axis T is missing."
    assert heuristics.read(X.sum(1), X).sentence == "The second axis is missing."
    assert heuristics.read(X.mT, X).sentence == "The second axis and the third axis are swapped."


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        pytest.param(6**0.5, "the root of the size of the third axis", id="root"),
        pytest.param(6**-0.5, "one over the root of the size of the third axis", id="over-root"),
        pytest.param(5, "the size of the second axis", id="size"),
        pytest.param(0.5, "one over the size of the first axis", id="over-size"),
        pytest.param(-1, "minus one", id="sign"),
        pytest.param(1.2345, "one constant", id="anything-else"),
    ],
)
def test_a_constant_factor_is_told_in_words(factor: float, words: str):
    """Sizes and their roots have names; any other factor is not told, for its digits would be."""
    found = heuristics.read(X * factor, X)

    assert found.sentence == f"Every entry is the right one times {words}."


def test_a_leak_says_who_looks_at_whom():
    """The first leaking entry is told by its place."""
    leaking = C.clone()
    leaking[1, 3] = 0.5

    assert "row 1 looks at the later token 3" in heuristics.read(leaking, C).sentence


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        pytest.param(
            lambda: torch.randn(3, 2), "torch.randn under seed 123, the first", id="randn"
        ),
        pytest.param(
            lambda: (torch.rand(3, 2), torch.rand(3, 2))[1],
            "torch.rand under seed 123, the second",
            id="order",
        ),
        pytest.param(
            lambda: nn.Linear(3, 2, bias=False).weight,
            "nn.Linear under seed 123, the first",
            id="linear",
        ),
    ],
)
def test_numbers_drawn_otherwise_are_recognised(drawn, words: str):
    """Another distribution or another turn under a known seed is told by its draw."""
    torch.manual_seed(123)
    answer = drawn()
    torch.manual_seed(789)
    wanted = torch.rand_like(answer)
    state = torch.get_rng_state()
    found = heuristics.read(answer, wanted)

    assert found.name == "drawn_otherwise"
    assert words in found.sentence
    assert torch.equal(torch.get_rng_state(), state)


def test_the_documents_own_draws_are_recognised():
    """Documented matrices where others are expected: under seed 42, and turned, as printed."""
    printed = documented.read(ROOT / "tests/hidden/documented.toml")
    queries, keys = (printed[f"001.w_{part}.transposed"].tensor.T for part in "qk")
    values_ = printed["000.w_v"].tensor

    assert "nn.Linear under seed 42, the second draw" in heuristics.read(keys, queries).sentence
    assert (
        "torch.randn under seed 1, the third draw"
        in heuristics.read(values_, X[0, :3, :2]).sentence
    )


def test_of_several_tensors_the_first_that_says_something_is_read():
    """Parameters by name, and answers that are tuples, are compared one by one."""
    assert name_of({"W_q": X, "W_k": X.double()}, {"W_q": X, "W_k": X}) == "other_dtype"
    assert name_of((X, [W.mT]), [X, (W,)]) == "transposed"
    assert name_of({"W_q": X}, [X]) == ""


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Draw a tensor of few entries, of any shape, dtype and oddity."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    entry = st.sampled_from(SPECIAL) | st.floats(-4, 4, width=16)
    count = math.prod(shape)
    entries = draw(st.lists(entry, min_size=count, max_size=count))
    tensor = torch.tensor(entries, dtype=torch.float64).reshape(shape)
    dtype = draw(st.sampled_from(DTYPES))
    if not (dtype.is_floating_point or dtype.is_complex):
        tensor = tensor.nan_to_num(0, 1, 0).clamp(0, 200)
    return tensor.to(dtype)


@settings(max_examples=300, deadline=None)
@given(tensors(), tensors())
def test_reading_never_fails_and_tells_no_number(answer: torch.Tensor, expected: torch.Tensor):
    """Whatever stands beside whatever: at most a sentence, without a digit of what is in it."""
    for mine in (answer, answer.flatten()[: expected.numel()], answer.expand_as(answer)):
        same_size = mine.numel() == expected.numel()
        found = heuristics.read(mine.reshape(expected.shape) if same_size else mine, expected)

        assert found is None or not re.search(r"\d\.\d|nan|inf\b", found.sentence)


@settings(max_examples=200, deadline=None)
@given(tensors())
def test_nothing_is_said_of_what_is_right(tensor: torch.Tensor):
    """Two equal tensors have nothing to tell, however odd they are."""
    assert heuristics.read(tensor, tensor.clone()) is None
