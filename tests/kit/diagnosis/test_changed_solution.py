"""A changed solution: one step of it gives something else, all others what they give anyway."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from autograder.diagnosis.changed_solution import (
    ChangedSolution,
    ProductChange,
    Scaling,
    SoftmaxChange,
    Step,
)
from autograder.sandbox.protocol import Reply, Request, TensorValue
from autograder.sandbox.tensors import decode_tensor, encode_tensor
from autograder.suite.in_process import LocalChannel

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
W = torch.tensor([[2.0, 1.0], [-1.0, 4.0]])
LAYER = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.ones(2, 2) / 8)
        self.b = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return {}
"""


def encoded(tensor: Tensor) -> TensorValue:
    """Encode an argument."""
    value = encode_tensor(tensor, 1000)
    assert isinstance(value, TensorValue)
    return value


def decoded(reply: Reply) -> Tensor:
    """Decode the result of a call."""
    assert isinstance(reply.value, TensorValue), reply.problem
    return decode_tensor(reply.value)


def call(expression: str, step: Step) -> Tensor:
    """Return what *expression* of ``x`` is if *step* calls the torch functions in it."""
    code = f"import torch\nfrom torch import nn\ndef f(x):\n    return {expression}\n"
    channel = ChangedSolution(LocalChannel("function", code.encode()), step)
    (reply,) = channel.ask_every([Request(verb="call", name="f", args=(encoded(X),))])
    return decoded(reply)


def forward(expression: str, step: Step, *weights: Tensor) -> list[Tensor]:
    """Return what a module answers if *step* calls its functions, once after each of *weights*."""
    code = LAYER.format(expression).encode()
    requests = [Request(verb="new", name="Layer", fresh=True)]
    for weight in weights:
        requests += [
            Request(verb="load", handle=0, kwargs={"W": encoded(weight)}),
            Request(verb="forward", handle=0, args=(encoded(X),)),
        ]
    replies = ChangedSolution(LocalChannel("layer", code), step).ask_every(requests)
    assert len(replies) == len(requests)
    return [decoded(one) for one in replies[2::2]]


def negate(tensor: Tensor) -> Tensor:
    """Return a result that nothing else gives here."""
    return -tensor


@pytest.mark.parametrize(
    ("expression", "factor"),
    [
        pytest.param("x * 3", 3.0, id="product"),
        pytest.param("3 * x", 3.0, id="number-first"),
        pytest.param("x.mul(-3)", -3.0, id="negative"),
        pytest.param("torch.multiply(x, 3)", 3.0, id="function"),
        pytest.param("x / 4", 0.25, id="quotient"),
        pytest.param("torch.div(x, 4)", 0.25, id="function-that-divides"),
        pytest.param("x.true_divide(4.0)", 0.25, id="other-name"),
        pytest.param("torch.divide(x, 4)", 0.25, id="third-name"),
        pytest.param("x * 1e-10", 1e-10, id="tiny"),
    ],
)
def test_a_product_or_quotient_with_a_number_is_a_scaling(expression: str, factor: float):
    """Its result is multiplied, and the factor that the solution has is kept."""
    step = Scaling(5.0)
    found = call(expression, step)

    assert step.found == {factor}
    assert torch.allclose(found, X * factor * 5, atol=0)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("3 / x", 3 / X, id="number-divided"),
        pytest.param("x * x", X * X, id="two-tensors"),
        pytest.param("x + 3", X + 3, id="sum"),
        pytest.param("x ** 2", X**2, id="power"),
        pytest.param("torch.softmax(x, -1)", torch.softmax(X, -1), id="axis-is-no-factor"),
        pytest.param("x * 0", X * 0, id="zero"),
        pytest.param("x @ x", X @ X, id="matrix-product"),
        pytest.param("x[torch.arange(1) * 2 - 1]", X[-1:], id="index"),
    ],
)
def test_no_other_function_is_a_scaling(expression: str, expected: Tensor):
    """Not even where a number is among its arguments."""
    step = Scaling(5.0)

    assert torch.equal(call(expression, step), expected)
    assert step.found == set()


def test_each_factor_is_found_once_however_often_it_occurs():
    """All products with a number are multiplied."""
    step = Scaling(10.0)
    found = call("x * 3 + x * 3 + x / 2", step)

    assert step.found == {3.0, 0.5}
    assert torch.equal(found, 65 * X)


@pytest.mark.parametrize(
    "expression",
    [
        "torch.softmax(x, -1)",
        "x.softmax(dim=-1)",
        "nn.functional.softmax(x, -1)",
        "nn.Softmax(-1)(x)",
    ],
)
def test_what_goes_into_a_softmax_or_comes_out_of_it_is_changed(expression: str):
    """The axis stays that of the solution, however it is written."""
    incoming, outgoing = SoftmaxChange(negate, incoming=True), SoftmaxChange(negate, incoming=False)
    before, after = call(expression, incoming), call(expression, outgoing)

    assert torch.equal(before, torch.softmax(-X, -1))
    assert torch.equal(after, -torch.softmax(X, -1))
    assert incoming.count == outgoing.count == 1


def test_each_softmax_is_changed_and_counted():
    """Nothing else is."""
    step = SoftmaxChange(negate, incoming=True)
    found = call("torch.softmax(x, 0) + torch.softmax(x, 1) + torch.exp(x)", step)

    assert step.count == 2
    assert torch.allclose(found, torch.softmax(-X, 0) + torch.softmax(-X, 1) + torch.exp(X))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("x @ self.W", -X @ W, id="matrix-product"),
        pytest.param("torch.matmul(x, self.W)", -X @ W, id="function"),
        pytest.param("nn.functional.linear(x, self.W)", -X @ W.T, id="linear"),
        pytest.param("x @ self.W + x @ x", X @ X - X @ W, id="not-the-other-product"),
        pytest.param("self.W @ x", W @ X, id="first-factor"),
        pytest.param("x * self.W", X * W, id="no-matrix-product"),
        pytest.param("x @ (2 * self.W)", 2 * X @ W, id="another-matrix"),
    ],
)
def test_the_matrix_product_with_a_parameter_is_changed(expression: str, expected: Tensor):
    """The parameter is the second factor, with the numbers that were loaded last."""
    (found,) = forward(expression, ProductChange(negate, "W"), W)

    assert torch.equal(found, expected)


def test_a_parameter_is_known_by_the_numbers_that_were_loaded_last():
    """Those of before are no longer its own."""
    found = forward("x @ self.W", ProductChange(negate, "W"), W, 2 * W, W)

    assert [torch.equal(one, -X @ own) for one, own in zip(found, (W, 2 * W, W), strict=True)] == [
        True,
        True,
        True,
    ]


def test_a_parameter_that_was_not_loaded_is_not_changed():
    """Nor is one that the module does not have."""
    (found,) = forward("torch.matmul(x, self.W)", ProductChange(negate, "other"), W)

    assert torch.equal(found, X @ W)


def test_the_construction_of_a_module_is_not_changed():
    """Only what a call does is."""
    step = Scaling(5.0)
    (found,) = forward("x + self.b", step, W)

    assert step.found == set()
    assert torch.equal(found, X + 1)


def test_a_step_that_raises_costs_one_reply():
    """It says so, as that of code that raises."""

    def refuse(
        function: Callable[..., Any],
        args: tuple[Any, ...],
        parameters: Mapping[str, Tensor],  # noqa: ARG001  # as every step
    ) -> Any:
        if function.__name__ == "exp":
            raise ValueError
        return function(*args)

    solution = LocalChannel("two", b"def f(x): return x.exp()\ndef g(x): return x.abs()\n")
    requests = [Request(verb="call", name=name, args=(encoded(X),)) for name in "fg"]
    first, second = ChangedSolution(solution, refuse).ask_every(requests)

    assert first.problem is not None
    assert torch.equal(decoded(second), X.abs())


def test_the_solution_itself_stays_as_it_is():
    """A call after a changed one gives what it gave before."""
    solution = LocalChannel("same", b"def f(x): return x * 3\n")
    request = Request(verb="call", name="f", args=(encoded(X),))
    (changed,) = ChangedSolution(solution, Scaling(2.0)).ask_every([request])

    assert torch.equal(decoded(changed), 6 * X)
    assert torch.equal(decoded(solution.answer(request)), 3 * X)
