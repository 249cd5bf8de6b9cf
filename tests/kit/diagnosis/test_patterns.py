"""Tests that patterns describe wrong answers and ignore correct ones."""

import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.diagnosis import patterns
from autograder.diagnosis.description import PATTERNS
from autograder.diagnosis.patterns import DRAWS, drawn, find_error, find_tuple
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite import documented
from tests.kit.diagnosis.conftest import Grader

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
ATTEND = """
def attend(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        {}
    return {}
"""
RIGHT = "torch.softmax(queries @ keys.T / 2, dim=-1) @ values"
SPECIAL = (0.0, 1.0, -1.0, 0.25, math.nan, math.inf, -math.inf, 1e30, -3e38, 1e-30)


def values(*shape: int) -> torch.Tensor:
    """Draw large values that are in no document."""
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
    changed = tensor.clone()
    changed[..., row, :] = value
    return changed


def name_of(answer: object, expected: object, verb: str = "call") -> str:
    """Return the name of the pattern that is found, or nothing."""
    found = patterns.find_pattern(answer, expected, verb)
    return found.name if found else ""


X, W, C = values(2, 5, 6), attention(2, 5, 5), causal(4)
LOGITS = values(2, 5, 5)
TWICE = values(2, 5, 8).view(2, 5, 2, 1, 4).expand(2, 5, 2, 2, 4).flatten(2)  # each head twice
ARANGE = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        pytest.param("axes_swapped", X.mT, X, id="other-shape-transposed"),
        pytest.param("axis_size", X[:, :4], X, id="one-token-short"),
        pytest.param("axes_traded", torch.cat(X.chunk(2, -1), -2), X, id="heads-below-each-other"),
        pytest.param(
            "axes_traded", X[:, :4].reshape(len(X), 2, -1), X[:, :4], id="rows-side-by-side"
        ),
        pytest.param("nan_everywhere", filled(X, slice(None)), X, id="zero-times-infinity"),
        pytest.param("nan_everywhere", filled(X[0, :1], 0), X[0, :1], id="one-row-is-every-row"),
        pytest.param("infinite", filled(W, 1, -math.inf), W, id="weights-filled-with-infinity"),
        pytest.param("constant_factor", X * 6**0.5, X, id="times-root"),
        pytest.param("rows_not_normalized", LOGITS.exp(), W, id="no-denominator"),
        pytest.param("rows_equal", X.mean(1, keepdim=True).expand_as(X), X, id="plain-mean"),
        pytest.param("block_repeated", X[..., :3].repeat(1, 1, 2), X, id="one-head-twice"),
        pytest.param("rows_shifted", X.roll(1, -2), X, id="one-token-later"),
        pytest.param("rows_shifted", X.roll(-1, -2), X, id="one-token-earlier"),
    ],
)
def test_the_pattern_of_a_wrong_tensor_is_named(name: str, answer, expected):
    """Each heuristic recognizes its own kind of mistake, and no earlier heuristic does."""
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
        pytest.param(torch.eye(3) * 2, torch.eye(3).add(1e-3), id="few-entries-and-zeros"),
        pytest.param(filled(X, 2), X, id="nan-in-the-middle"),
        pytest.param(filled(X[0, 0, None], 0)[0], X[0, 0], id="nan-in-a-vector"),
        pytest.param(values(3, 1), torch.ones(3, 1), id="single-columns-are-no-weights"),
        pytest.param(X.to(torch.complex64), X, id="complex"),
        pytest.param(~C.bool(), C.bool(), id="booleans"),
        pytest.param(5, X, id="a-number"),
        pytest.param(torch.ones(2, 5, 6), X, id="constant"),
        pytest.param(torch.full((5, 5), 0.2), W[0], id="constant-weights"),
        pytest.param(
            torch.full((5, 5), 3.0), torch.full((5, 5), 0.5), id="constants-for-constants"
        ),
        pytest.param(X, torch.full_like(X, 1e-3), id="nearly-zero"),
        pytest.param(X[..., :1].expand_as(X), X, id="one-column-is-no-block"),
        pytest.param(TWICE.roll(1, -1)[..., :4].repeat(1, 1, 4), TWICE, id="the-right-one-repeats"),
        pytest.param(torch.eye(4) + 0.5, 2 * torch.eye(4), id="no-causal-weights-expected"),
        pytest.param(-LOGITS.softmax(-2), 2 * W - 0.2, id="no-weights-expected"),
    ],
)
def test_nothing_is_guessed(answer, expected):
    """An answer that no heuristic recognizes has no pattern."""
    assert name_of(answer, expected) == ""


def test_axes_are_named_by_their_position():
    """The first axis of a tensor is called the first axis."""
    swapped = patterns.find_pattern(X.mT, X)

    assert swapped.sentence == "The sizes of the second axis and the third axis are swapped."


@pytest.mark.parametrize(
    ("factor", "excerpt"),
    [
        pytest.param(-1, "have the wrong sign", id="sign"),
        pytest.param(1.2345, "off by the same factor", id="anything-else"),
    ],
)
def test_a_constant_factor_is_named(factor: float, excerpt: str):
    """A wrong sign has a name; the digits of any other factor are not shown."""
    found = patterns.find_pattern(X * factor, X)

    assert found.sentence.endswith(f"{excerpt}.")


@pytest.mark.parametrize(
    ("drawn", "excerpt"),
    [
        pytest.param(
            lambda: torch.randn(3, 2), "torch.randn with seed 123 in the first", id="randn"
        ),
        pytest.param(
            lambda: (torch.rand(3, 2), torch.rand(3, 2))[1],
            "torch.rand with seed 123 in the second",
            id="order",
        ),
        pytest.param(
            lambda: nn.Linear(3, 2, bias=False).weight,
            "nn.Linear with seed 123 in the first",
            id="linear",
        ),
    ],
)
def test_other_draws_are_recognized(drawn, excerpt: str):
    """The sentence names the distribution, the seed and the number of the draw."""
    torch.manual_seed(123)
    answer = drawn()
    torch.manual_seed(789)
    wanted = torch.rand_like(answer)
    state = torch.get_rng_state()
    found = patterns.find_pattern(answer, wanted)

    assert found.name == "other_draw"
    assert excerpt in found.sentence
    assert torch.equal(torch.get_rng_state(), state)


def test_the_documents_own_draws_are_recognized():
    """Documented matrices are recognized where others are expected."""
    printed = documented.read(ROOT / "tests/hidden/documented.toml")
    queries, keys = (printed[f"001.w_{part}.transposed"].tensor.T for part in "qk")
    values_ = printed["000.w_v"].tensor

    assert (
        "nn.Linear with seed 42 in the second draw" in patterns.find_pattern(keys, queries).sentence
    )
    assert (
        "torch.randn with seed 1 in the third draw"
        in patterns.find_pattern(values_, X[0, :3, :2]).sentence
    )


def test_the_first_pattern_of_several_tensors_is_returned():
    """The first pattern in a tuple of tensors is returned."""
    assert name_of((X, [2 * W]), [X, (W,)]) == "rows_not_normalized"
    assert name_of({"W_q": X.mT}, {"W_q": X}) == ""


def test_a_factor_is_named_only_if_one_tensor_of_several_is_wrong():
    """Each wrong tensor may be off by its own factor, or by none."""
    assert name_of((X, 3 * X), (X, X)) == "constant_factor"
    assert name_of((X + 1, 3 * X), (X, X)) == ""
    assert name_of((2 * X, 3 * X), (X, X)) == ""


def test_a_parameter_is_named():
    """Parameters are compared by name, and only random draws are recognized in them."""
    right = {"W_q": X, "W_k": W}
    found = patterns.find_pattern({"W_q": X, "W_k": 2 * W}, right, "parameters")

    assert found.sentence.startswith(
        "W_k: In this check, the wrong entries are all off by the same factor"
    )
    assert name_of({"W_q": X, "W_k": LOGITS.exp()}, right, "parameters") == ""


@pytest.mark.parametrize("verb", ["buffers", "state", "operators", "draw", "gradients"])
def test_numbers_that_are_free_or_follow_from_others_have_no_pattern(verb: str):
    """Gradients and buffers have no pattern."""
    answer, expected = {"gradients": {"W": W.mT}, "W": W.mT}, {"gradients": {"W": W}, "W": W}

    assert name_of(answer, expected, verb) == ""
    assert name_of(W.mT, W, verb) == ""


def test_the_result_next_to_gradients_is_compared():
    """If gradients are wrong, a wrong result next to them is described."""
    rows = X[:, :1].expand_as(X)
    answer, expected = {"output": rows, "gradients": {}}, {"output": X, "gradients": {}}

    assert name_of(answer, expected, "gradients") == "rows_equal"
    assert name_of({**answer, "output": 2 * X}, expected, "gradients") == ""  # about other entries


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(X[..., :4], X, id="axis_size"),
        pytest.param(X.mT, X, id="axes_swapped"),
        pytest.param(torch.cat(X.chunk(2, -1), -2), X, id="axes_traded"),
        pytest.param(X * 0.438, X, id="constant_factor"),
        pytest.param(X * 6**0.5, X, id="root-of-a-size"),
        pytest.param(X[..., :3].repeat(1, 1, 2), X, id="block_repeated"),
        pytest.param(X.roll(1, -2), X, id="rows_shifted"),
        pytest.param(drawn((5, 6))[40], X[0], id="other_draw"),
    ],
)
def test_what_an_answer_decides_stays_out_of_the_sentence_next_to_hidden_inputs(answer, expected):
    """The axis, row, factor or draw of an answer is not in the sentence for hidden inputs."""
    found = patterns.find_pattern(answer, expected)
    named = patterns.find_pattern({"W2": answer}, {"W2": expected}, "parameters")
    public = {one.diagnosis(shows_values=False).explanation for one in (found, named) if one}

    assert found is not None
    assert public == {PATTERNS[found.name].public}


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Draw a tensor of few entries, of any shape, dtype and values."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    entry = st.sampled_from(SPECIAL) | st.floats(-4, 4, width=16)
    count = math.prod(shape)
    entries = draw(st.lists(entry, min_size=count, max_size=count))
    tensor = torch.tensor(entries, dtype=torch.float64).reshape(shape)
    dtype = draw(st.sampled_from(DTYPES))
    if not (dtype.is_floating_point or dtype.is_complex):
        tensor = tensor.nan_to_num(0, 1, 0).clamp(0, 200)
    return tensor.to(dtype)


@settings(max_examples=100, deadline=None)
@given(tensors(), tensors())
def test_heuristics_raise_nothing_and_reveal_no_value(answer: torch.Tensor, expected: torch.Tensor):
    """For any two tensors the result is at most a sentence without values."""
    for mine in (answer, answer.flatten()[: expected.numel()], answer.expand_as(answer)):
        same_size = mine.numel() == expected.numel()
        found = patterns.find_pattern(mine.reshape(expected.shape) if same_size else mine, expected)

        assert found is None or not re.search(r"\d\.\d|nan|inf\b", found.sentence)


@settings(max_examples=50, deadline=None)
@given(tensors())
def test_equal_tensors_have_no_pattern(tensor: torch.Tensor):
    """A right answer has no pattern, for any contents."""
    assert patterns.find_pattern(tensor, tensor.clone()) is None


@pytest.mark.parametrize(
    ("answer", "expected", "found"),
    [
        pytest.param(
            {"gradients": {"a": None}}, {"gradients": {"a": ARANGE}}, True, id="no-gradient"
        ),
        pytest.param(
            {"gradients": {"a": ARANGE}}, {"gradients": {"a": ARANGE}}, False, id="a-gradient"
        ),
        pytest.param(
            {"gradients": {"a": None}}, {"gradients": {"a": None}}, False, id="none-expected"
        ),
        pytest.param({"gradients": {}}, {"gradients": {"a": ARANGE}}, False, id="no-inputs"),
        pytest.param(None, {"gradients": {"a": ARANGE}}, False, id="no-answer"),
    ],
)
def test_a_missing_gradient_is_recognized_where_one_is_expected(
    answer: object, expected: object, found
):
    """The graph is cut if gradients are expected and none arrives."""
    assert (name_of(answer, expected, "gradients") == "no_gradient_flows") is found


@pytest.mark.parametrize(
    ("answer", "expected", "found"),
    [
        pytest.param({}, {"W": ARANGE}, True, id="none"),
        pytest.param({"W": ARANGE}, {"W": ARANGE}, False, id="some"),
        pytest.param({}, {}, False, id="none-expected"),
        pytest.param(ARANGE, {"W": ARANGE}, False, id="another-answer"),
    ],
)
def test_missing_parameters_are_recognized_where_some_are_expected(
    answer: object, expected: object, found
):
    """A module without parameters is wrong if the module of the solution has some."""
    assert (name_of(answer, expected, "parameters") == "no_parameters") is found


@pytest.mark.parametrize(
    ("answer", "steps", "found"),
    [
        pytest.param(ARANGE, [("softmax", ARANGE)], True, id="intermediate-step"),
        pytest.param(ARANGE, [("clone", ARANGE)], False, id="another-function"),
        pytest.param(ARANGE, [("softmax", ARANGE + 1)], False, id="other-numbers"),
        pytest.param(torch.zeros(2, 3), [("softmax", torch.zeros(2, 3))], False, id="constant"),
        pytest.param(ARANGE[0], [("softmax", ARANGE[0])], False, id="too-few-entries"),
        pytest.param(None, [("softmax", ARANGE)], False, id="no-tensor"),
    ],
)
def test_an_intermediate_step_needs_the_same_values(answer: object, steps: list, found: bool):  # noqa: FBT001  # a parameter of the test
    """An intermediate step is recognized only by values that cannot agree by chance."""
    assert (patterns.matches_intermediate_step(answer, ARANGE - 1, steps) is not None) is found


def test_the_right_result_is_not_an_intermediate_step():
    """The right result is not called an intermediate step, because the fault is elsewhere."""
    assert patterns.matches_intermediate_step(ARANGE, ARANGE, [("matmul", ARANGE)]) is None


def test_each_draw_is_that_of_torch_with_its_seed():
    """The second draw after a seed differs from the first."""
    torch.default_generator.manual_seed(42)
    first, second = (torch.randn(2, 3).double() for _ in range(2))

    assert torch.equal(drawn((2, 3))[DRAWS.index((42, "torch.randn", 0))], first)
    assert torch.equal(drawn((2, 3))[DRAWS.index((42, "torch.randn", 1))], second)


def test_a_layer_draws_its_weight():
    """A layer's weight has as many rows as the layer has outputs."""
    torch.default_generator.manual_seed(0)
    weight = torch.nn.Linear(3, 2, bias=False).weight.detach().double()

    assert torch.equal(drawn((2, 3))[DRAWS.index((0, "nn.Linear", 0))], weight)


def test_the_callers_generator_stays_as_it_was():
    """Recognizing draws does not change the caller's generator."""
    before = torch.default_generator.get_state()
    drawn((3, 5))

    assert torch.equal(torch.default_generator.get_state(), before)


@pytest.mark.parametrize("answer", [(X,), [X]])
def test_a_tensor_alone_in_a_tuple_is_recognized(answer: object):
    """A tensor alone in a tuple or a list is recognized."""
    found = find_tuple(answer, X)

    assert found is not None
    assert found.name == "tuple_for_result"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(X, X), ((X, X), X), ((), X), ((X,), (X,)), ((2.0,), X), ("x", X)],
)
def test_other_results_are_not_in_a_tuple(answer: object, expected: object):
    """A tuple of several results is not described as one result in a tuple."""
    assert find_tuple(answer, expected) is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ValueError", "exception_as_result"),
        ("Exception", "exception_as_result"),
        ("type", None),
        ("object", None),
        ("builtins", None),
        ("torch.Size", None),
    ],
)
def test_an_exception_as_a_result_is_recognized(kind: str, name: str | None):
    """A returned exception is recognized by its type, because a worker sends only the type."""
    found = find_error(OpaqueValue(kind))

    assert (found and found.name) == name
    assert find_error(X) is None


@pytest.mark.parametrize(
    ("check", "result", "name"),
    [
        pytest.param(
            "return TypeError('sizes')", RIGHT, "exception_as_result", id="of-another-type"
        ),
        pytest.param("raise ValueError", "values.sin().cos()[:3],", "tuple_for_result", id="comma"),
    ],
)
def test_the_form_is_described(check: str, result: str, name: str, grader: Grader):
    """The form of a result is recognized even if no wrong program has the same answers."""
    assert name in grader.kinds("attend", ATTEND.format(check, result))
