"""Single changes: what the right computation gives with one change, and what is said of it."""

import math

import pytest
import torch
from torch import Tensor

from autograder.diagnosis.changed_calls import UNCHANGED, Change, find_call
from autograder.diagnosis.single_changes import (
    RESULT,
    VARIATIONS,
    Answers,
    Knob,
    RightCall,
    Table,
    Variation,
)
from autograder.suite.in_process import LocalChannel, RecordingChannel
from autograder.suite.student_proxy import Student

HEADER = "import torch\nfrom torch import nn\n"
ROWS = torch.tensor([[1.0, -2.0], [0.0, 3.0], [4.0, -4.0]])
LAYER = """
class Layer(nn.Module):
    def __init__(self, d_in, d_out, bias=False):
        super().__init__()
        self.W = nn.Linear(d_in, d_out, bias=bias)

    def forward(self, x):
        return {}
"""


def right_call(code: str, *arguments: object) -> RightCall:
    """Return the call of ``f`` in *code*, or of ``Layer`` with a batch of 4 rows of 3 numbers."""
    solution = LocalChannel("right", f"{HEADER}{code}".encode())
    recording = RecordingChannel(solution)
    student = Student(recording)
    if "class Layer" in code:
        student.new("Layer", 3, 5, *arguments)(torch.rand(2, 4, 3))
    else:
        student.call("f", *arguments)
    handles = [getattr(answer, "handle", -1) for _, answer in student.observed]
    call = find_call(solution, [one.request for one in recording.exchanges], handles)
    assert call is not None
    return RightCall(solution, call)


def function(expression: str, *arguments: object) -> RightCall:
    """Return a call of a function of ``x`` (4, 3), or of other *arguments*."""
    names = "xyz"[: len(arguments) or 1]
    code = f"def f({', '.join(names)}):\n    return {expression}\n"
    return right_call(code, *(arguments or (torch.rand(4, 3),)))


def layer(expression: str, *arguments: object) -> RightCall:
    """Return a call of a module with a linear layer ``W``."""
    return right_call(LAYER.format(expression), *arguments)


def result(right: RightCall) -> Tensor:
    """Return what the solution gives as it is."""
    found = right.subject.answer(UNCHANGED)
    assert found is not None
    return found


def varied(right: RightCall, phrase: str) -> Tensor:
    """Return what the variation gives of which *phrase* is said."""
    (answers,) = [one for one, said in right.variations if said == phrase]
    found = answers.answer(UNCHANGED)
    assert found is not None
    return found


def knob(right: RightCall, kind: str, name: str = "") -> Knob:
    """Return the one knob of that *kind* and *name*."""
    (found,) = [one for one, _ in right.knobs if (one.kind, one.name) == (kind, name)]
    return found


def names(right: RightCall, kind: str) -> list[str]:
    """List what the knobs of *kind* change."""
    return [one.name for one, _ in right.knobs if one.kind == kind]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("all numbers in {} lose their sign", [[1, 2], [0, 3], [4, 4]]),
        ("zeros take the place of the negative numbers in {}", [[1, 0], [0, 3], [4, 0]]),
        ("all numbers in {} are squared", [[1, 4], [0, 9], [16, 16]]),
        (
            "the mean over the last axis of {} is subtracted from it",
            [[1.5, -1.5], [-1.5, 1.5], [4, -4]],
        ),
        ("the last axis of {} holds running sums", [[1, -1], [0, 3], [4, 0]]),
        ("each row of {} is added to all rows below it", [[1, -2], [1, 1], [5, -3]]),
        ("the last axis of {} is in reverse order", [[-2, 1], [3, 0], [-4, 4]]),
        ("the rows of {} are in reverse order", [[4, -4], [0, 3], [1, -2]]),
        (
            "the rows of {} are moved down by one, the last one to the top",
            [[4, -4], [1, -2], [0, 3]],
        ),
        (
            "the rows of {} are moved up by one, the first one to the bottom",
            [[0, 3], [4, -4], [1, -2]],
        ),
        ("{} is transposed", [[1, 0, 4], [-2, 3, -4]]),
    ],
)
def test_a_variation_does_what_is_said_of_it(phrase: str, expected: list[list[float]]):
    """Here with three rows of two numbers."""
    (one,) = [one for one in VARIATIONS if one.phrase == phrase]

    assert one.apply(ROWS).tolist() == expected


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("the exponential is taken of all numbers in {}", ROWS.exp()),
        ("the hyperbolic tangent is taken of all numbers in {}", ROWS.tanh()),
        ("the sigmoid is taken of all numbers in {}", 1 / (1 + (-ROWS).exp())),
        ("the mean of all rows of {} is subtracted from each", ROWS - torch.tensor([5 / 3, -1])),
        (
            "each row of {} is divided by its Euclidean length",
            ROWS / torch.tensor([[5**0.5], [3.0], [32**0.5]]),
        ),
    ],
)
def test_a_variation_computes_what_is_said_of_it(phrase: str, expected: Tensor):
    """To rounding."""
    (one,) = [one for one in VARIATIONS if one.phrase == phrase]

    assert torch.allclose(one.apply(ROWS), expected)


def test_the_items_are_those_of_the_first_axis():
    """Each stays as it is."""
    (one,) = [one for one in VARIATIONS if one.phrase.startswith("the items")]
    items = torch.rand(3, 2, 4)

    assert torch.equal(one.apply(items), torch.stack([items[2], items[1], items[0]]))


@pytest.mark.parametrize(("words", "axis"), [("last axis", -1), ("columns", -2)])
def test_a_softmax_runs_over_the_axis_that_is_said(words: str, axis: int):
    """What stands along it sums to one."""
    (one,) = [one for one in VARIATIONS if one.phrase == f"a softmax runs over the {words} of {{}}"]
    sums = one.apply(ROWS).sum(axis)

    assert torch.allclose(sums, torch.ones_like(sums))


def test_a_variation_needs_as_many_axes_as_it_names():
    """A vector has no rows, and a matrix no items."""
    fitting = [
        {one.phrase for one in VARIATIONS if one.fits(torch.ones((2,) * axes))} for axes in range(4)
    ]

    assert "{} is transposed" in fitting[2] - fitting[1]
    assert "the last axis of {} is in reverse order" in fitting[1] - fitting[0]
    assert fitting[3] - fitting[2] == {"the items of {} are in reverse order"}
    assert fitting[3] == {one.phrase for one in VARIATIONS}
    assert Variation(torch.abs, "").fits(torch.tensor(1.0))


def test_variations_change_the_result_and_each_tensor():
    """The phrase names which."""
    right = function("x.exp() @ y", torch.rand(4, 3), torch.rand(3, 2))
    x, y = right.call.tensors["x"], right.call.tensors["y"]

    assert torch.allclose(
        varied(right, "all numbers in x lose their sign").float(), x.abs().exp() @ y
    )
    assert torch.allclose(varied(right, "all numbers in y are squared").float(), x.exp() @ y**2)
    assert torch.allclose(
        varied(right, f"the rows of {RESULT} are in reverse order"), result(right).flip(0)
    )


def test_nothing_is_said_of_the_rows_of_a_vector():
    """It has none."""
    phrases = [said for _, said in function("x.exp()", torch.rand(4)).variations]

    assert "the last axis of x is in reverse order" in phrases
    assert not any("row" in said.removeprefix("each row") for said in phrases)


def test_variations_change_what_a_softmax_gets_and_gives():
    """Only where the solution has one."""
    right = function("torch.softmax(2 * x, -1) + 1")
    x = right.call.tensors["x"]
    phrases = [said for _, said in function("x + 1").variations]
    into = varied(right, "all numbers in what goes into its softmax lose their sign").float()
    out = varied(right, "all numbers in what comes out of its softmax are squared").float()

    assert torch.allclose(into, torch.softmax((2 * x).abs(), -1) + 1)
    assert torch.allclose(out, torch.softmax(2 * x, -1) ** 2 + 1)
    assert not any("softmax" in said.removeprefix("a softmax") for said in phrases)


def test_variations_change_the_product_with_a_parameter():
    """That with each parameter by its name."""
    right = layer("self.W(x) + 1")
    x, w = right.call.tensors["x"], right.call.tensors["W.weight"]
    said = "all numbers in its product with W.weight are squared"

    assert torch.allclose(varied(right, said).float(), (x @ w.T) ** 2 + 1)


def test_a_linear_layer_with_a_bias_is_called_so():
    """Its result is more than a product."""
    right = layer("self.W(x)", True)  # noqa: FBT003  # the bias, by position
    x, w, b = (right.call.tensors[name] for name in ("x", "W.weight", "W.bias"))
    said = "zeros take the place of the negative numbers in its product with W.weight plus W.bias"

    assert torch.allclose(varied(right, said).float(), (x @ w.T + b).relu())


def test_a_change_of_numbers_comes_before_the_variation():
    """So a variation can be confirmed with other numbers."""
    right = function("x + 1")
    (answers,) = [one for one, said in right.variations if said == "all numbers in x are squared"]
    found = answers.answer(Change("times", "x", 6))

    assert found is not None
    assert torch.allclose(found.float(), (6 * right.call.tensors["x"]) ** 2 + 1)


def test_the_results_of_variations_stand_in_their_order():
    """One that is infinite, not a number, of another shape or raises is not a number here."""
    right = function("x.sqrt() if bool((x >= 0).all()) else x")
    found = dict(zip([said for _, said in right.variations], right.varied_results, strict=True))

    assert found[f"{RESULT} is transposed"].isnan().all()
    assert found["x is transposed"].isnan().all()
    assert torch.equal(found[f"all numbers in {RESULT} are squared"], result(right).square())
    assert torch.allclose(found["all numbers in x lose their sign"], result(right).abs().sqrt())


def test_there_is_no_variation_of_a_result_that_is_unusable():
    """Nor a number that could be another one."""
    right = function("x / 0")

    assert right.varied_results.numel() == 0
    assert right.variations == []
    assert right.knobs == []


def test_an_answer_is_changed_afterwards_and_finite():
    """An infinite one is none."""
    subject = function("x").subject
    before = subject.answer(UNCHANGED)
    doubled = Answers(subject, lambda one: 2 * one).answer(UNCHANGED)

    assert before is not None
    assert doubled is not None
    assert torch.equal(doubled, 2 * before)
    assert Answers(subject, lambda one: one / 0).answer(UNCHANGED) is None


def test_a_table_holds_results_and_the_way_from_each_to_the_next():
    """Two equal ones are not zero apart, as one divides by it."""
    vectors = [torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([[3.0, 4.0]])]
    table = Table.of(list(zip((1.0, 2.0, 4.0), vectors, strict=True)))

    assert table.numbers == [1.0, 2.0, 4.0]
    assert table.points.tolist() == [[0, 0], [3, 4], [3, 4]]
    assert table.sides.tolist() == [[3, 4], [0, 0]]
    assert table.lengths[0] == 5
    assert 0 < table.lengths[1] < 1e-9


@pytest.mark.parametrize(
    ("expression", "scaling"),
    [
        pytest.param("x.exp() / 4", 0.25, id="quotient"),
        pytest.param("-3 * x.exp()", -3.0, id="product"),
        pytest.param("x / 4 + y / 4", 0.25, id="the-same-twice"),
        pytest.param("x / 4 + 2 * y", None, id="two-of-them"),
        pytest.param("x + y", None, id="none"),
        pytest.param("x * 1 + y", None, id="by-one"),
    ],
)
def test_the_scaling_is_the_one_factor_of_the_solution(expression: str, scaling: float | None):
    """There is none if there are several, or if it is one."""
    right = function(expression, torch.rand(4, 3), torch.rand(4, 3))

    assert right.scaling == scaling
    assert ("" in names(right, "scaling")) == (scaling is not None)


def test_the_scaling_can_be_any_other_number():
    """A factor takes the place of the right one."""
    right = function("(x / 4).exp()")
    found = knob(right, "scaling").at(8.0).answer(UNCHANGED)

    assert knob(right, "scaling").right == 0.25
    assert found is not None
    assert torch.allclose(found.float(), (2 * right.call.tensors["x"]).exp())


def test_exact_numbers_of_the_scaling_make_it_a_size_or_none():
    """They are factors in place of the right one, 1 / 4; zero is one of them."""
    exact = knob(function("(x / 4).exp()", torch.rand(5, 3)), "scaling").exact
    expected = [4 * one for size in (3, 3**0.5, 5, 5**0.5) for one in (1, size, 1 / size)]

    assert {round(one, 6) for one in exact} == {0, *(round(one, 6) for one in expected)}


def test_a_tensor_can_have_another_factor_or_a_summand():
    """A straight line is enough for the result."""
    right = function("x.exp() * y", torch.rand(4, 3), torch.rand(4, 3))
    x, y = right.call.tensors["x"], right.call.tensors["y"]
    times, plus = (
        knob(right, kind, "x").at(3.0).answer(UNCHANGED) for kind in ("factor", "summand")
    )

    assert times is not None
    assert plus is not None
    assert torch.allclose(times.float(), (3 * x).exp() * y)
    assert torch.allclose(plus.float(), (x + 3).exp() * y)
    assert len(knob(right, "factor", RESULT).grid) == 2
    assert len(knob(right, "factor", "x").grid) > 2


def test_factors_that_do_the_same_are_tried_once():
    """A product with y is doubled as the result is; the one with x is not."""
    right = function("x.exp() * y", torch.rand(4, 3), torch.rand(4, 3))

    assert names(right, "factor") == [RESULT, "x"]
    assert names(right, "summand") == [RESULT, "x", "y"]


def test_the_factor_that_does_what_the_scaling_does_is_left_out():
    """It is said of the scaling."""
    right = function("(x / 4).exp()")

    assert names(right, "factor") == [RESULT]


def test_a_parameter_has_no_summand():
    """No program adds to all numbers of a matrix."""
    right = layer("self.W(x).exp() * x.sum()")

    assert "W.weight" in names(right, "factor")
    assert "W.weight" not in names(right, "summand")


@pytest.mark.parametrize("other", ["x / 0", "x.sum()", "None"])
def test_a_number_whose_results_are_unusable_is_left_out(other: str):
    """The others stay."""
    right = function(f"x.exp() if bool(x.max() < 3) else {other}")
    (table,) = [table for one, table in right.knobs if (one.kind, one.name) == ("summand", "x")]

    assert 2.0 in table.numbers
    assert 4.0 not in table.numbers


def test_one_result_is_not_enough_to_come_close_to_another():
    """Here only the right factor and summand of x give a result."""
    most = float(function("x").call.tensors["x"].max())
    right = function(f"x.exp() if bool((x.max() - {most}).abs() < 0.01) else None")

    assert names(right, "factor") == names(right, "summand") == [RESULT]


def test_a_tensor_without_effect_has_no_factor():
    """That it has none is another reading."""
    right = function("x.exp() + y * 0", torch.rand(4, 3), torch.rand(4, 3))

    assert names(right, "factor") == [RESULT, "x"]


def test_a_factor_may_be_exactly_a_size_or_one_by_a_size():
    """Or a root of one, or zero."""
    exact = knob(function("x.exp()", torch.rand(5, 3)), "factor", "x").exact

    assert set(exact) == {0, *(one for n in (3, 3**0.5, 5, 5**0.5) for one in (n, 1 / n))}


def test_sizes_are_called_by_the_argument_and_its_axis():
    """With their roots; the arguments come before the result."""
    sizes = function("x[..., 0]", torch.rand(2, 4, 3)).sizes

    assert list(sizes.items())[::2] == [
        ("the size of the last axis of x", 3),
        ("the number of rows of x", 4),
        ("the size of the third last axis of x", 2),
        (f"the size of the last axis of {RESULT}", 4),
        (f"the number of rows of {RESULT}", 2),
    ]
    assert all(
        sizes[f"the root of {words}"] == math.sqrt(size) for words, size in list(sizes.items())[::2]
    )


def test_an_axis_of_size_one_has_no_name():
    """Everything could be called so."""
    sizes = function("x.exp()", torch.rand(4, 1)).sizes

    assert "the number of rows of x" in sizes
    assert "the size of the last axis of x" not in sizes


def test_numbers_that_are_passed_come_first():
    """Those of the constructor too; then arguments, the result and parameters."""
    sizes = [one for one in layer("self.W(x)").sizes if not one.startswith("the root")]
    owners = [one.split(" of ")[-1] for one in sizes[2:]]

    assert sizes[:2] == ["d_in", "d_out"]
    assert layer("self.W(x)").sizes["the root of d_out"] == math.sqrt(5)
    assert owners == ["x"] * 3 + [RESULT] * 3 + ["W.weight"] * 2


def test_the_right_result_is_asked_once():
    """All is kept for a class."""
    right = function("x.exp()")

    assert right.subject is right.subject
    assert right.variations is right.variations
    assert right.knobs is right.knobs
