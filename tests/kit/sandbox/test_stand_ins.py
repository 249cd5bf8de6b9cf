"""Tests stand-ins, whose numbers depend on everything that they receive."""

import inspect
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from autograder.sandbox.stand_ins import StandIn, mix

A, B = torch.tensor([[0.5, -1.5], [3.0, 7.0]]), torch.tensor([1.0, 2.0, -4.0])
MATRIX = '["floats", [2, 2]]'  # the form of an answer


class Scale(nn.Module):
    """Multiplies by a weight."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(factor))

    def forward(self, x: Tensor, power: int = 1) -> Tensor:
        """Scale *x*."""
        return self.weight * x**power


def outer(a: Tensor, b: Tensor) -> Tensor:
    """Return every product of a number in *a* and a number in *b*."""
    return a.flatten()[:, None] * b


@pytest.mark.parametrize("shape", [(2,), (4, 3), (7,), (1,), (5, 5)])
def test_every_number_counts(shape: tuple[int, ...]):
    """A change of any number in any argument changes the answer, for any shape."""
    right = mix([A, B, 3], shape)
    changed = [A.clone() for _ in range(4)]
    for index, other in enumerate(changed):
        other.view(-1)[index] += 0.1

    assert right.shape == shape
    assert not any(torch.allclose(mix([other, B, 3], shape), right) for other in changed)
    assert not torch.allclose(mix([A, B.flip(0), 3], shape), right)
    assert not torch.allclose(mix([A, B, 4], shape), right)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_have_the_dtype_of_the_tensors(dtype: torch.dtype):
    """The answer has the dtype of the tensors, so it can be multiplied by parameters."""
    assert mix([3, torch.tensor([1]), A.to(dtype)], (2,)).dtype is dtype


def test_gradients_flow_through_a_stand_in():
    """Code that uses the answer of a stand-in can be trained as with the right answer."""
    x = A.clone().requires_grad_()
    mix([x, B], (3,)).sum().backward()

    assert x.grad is not None
    assert (x.grad != 0).all()


def test_a_stand_in_answers_in_the_shape_of_a_right_answer():
    """A stand-in learns the shape from correct code, and takes arguments by position or name."""
    namespace: dict[str, object] = {"outer": outer}
    learning = StandIn(namespace, "outer", {})
    namespace["outer"](A, B)
    learning.remove()
    stand_in = StandIn(namespace, "outer", learning.learned)
    by_name = namespace["outer"](b=B, a=A)

    assert by_name.shape == (4, 3)
    assert not torch.equal(by_name, outer(A, B))
    assert torch.equal(by_name, namespace["outer"](A, B))

    stand_in.remove()
    assert namespace["outer"] is outer


def test_a_stand_in_for_a_class_keeps_its_signature():
    """The arguments of a class can still be read, so that it can be built by their names."""
    before = inspect.signature(Scale)
    stand_in = StandIn({"Scale": Scale}, "Scale", {})
    replaced = inspect.signature(Scale)
    stand_in.remove()

    assert replaced == before


def test_a_stand_in_for_a_class_shows_its_sizes_and_weights():
    """Modules with other arguments or other weights give other numbers, until it is removed."""
    stand_in = StandIn(
        {"Scale": Scale}, "Scale", {"2x2 1 True 2.0": MATRIX, "2x2 1 True 3.0": MATRIX}
    )
    two, three = Scale(2.0), Scale(3.0)
    loaded = Scale(3.0)
    loaded.weight.data.fill_(2.0)
    answers = [module(A) for module in (two, three, loaded)]
    stand_in.remove()

    assert not torch.allclose(answers[0], answers[1])
    assert not torch.allclose(answers[0], answers[2])
    assert torch.equal(Scale(2.0)(A), 2 * A)


def test_what_no_right_code_does_is_not_answered():
    """A stand-in refuses arguments of a different shape or kind."""
    namespace: dict[str, object] = {"outer": outer}
    stand_in = StandIn(namespace, "outer", {"2x2 3": '["floats", [4, 3]]'})

    with pytest.raises(KeyError):
        namespace["outer"](B, B)
    with pytest.raises(TypeError):
        namespace["outer"](A, {1.0})
    stand_in.remove()


def stood_in(right: Callable, wrong: Callable, *args: object) -> object:
    """Return the answer of a stand-in for *wrong*, in the form of the answer of *right*."""
    namespace: dict[str, object] = {"step": right}
    learning = StandIn(namespace, "step", {})
    namespace["step"](*args)
    learning.remove()
    namespace["step"] = wrong
    StandIn(namespace, "step", learning.learned)
    return namespace["step"](*args)


def attend(x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple:
    """Return a context, and the keys and values of all tokens."""
    keys, values = (torch.cat((old, x)) for old in cache) if cache else (x, x)
    return x @ keys.T @ values, (keys, values), {"seen": len(keys), "mean": 0.5}


def test_a_stand_in_gives_and_takes_a_cache():
    """A stand-in's nested result has right shapes and different numbers."""
    cache = (torch.ones(3, 2), torch.ones(3, 2))
    context, (keys, values), sizes = stood_in(attend, attend, A, cache)
    _, (others, _), _ = stood_in(attend, attend, A, (cache[0] + 1, cache[1]))

    assert (context.shape, keys.shape, values.shape) == ((2, 2), (5, 2), (5, 2))
    assert not torch.allclose(keys, values)
    assert not torch.allclose(keys, others)
    assert sizes["seen"] in {0, 1}
    assert isinstance(sizes["mean"], float)


def test_a_module_is_known_by_its_parameters():
    """A stand-in for a training step accepts the student's module, regardless of its class name."""

    def step(model: nn.Module, ids: Tensor) -> float:
        return float(model(ids).detach().sum())

    one, other = (stood_in(step, step, Scale(factor), A) for factor in (2.0, 3.0))

    assert isinstance(one, float)
    assert one != other


def test_a_mask_has_the_dtype_of_the_code_itself():
    """A stand-in mask has the student's own zeros and ones, and hides no whole row."""
    right = lambda x: x > 0  # noqa: E731  # it must be a step
    mask = stood_in(right, lambda x: (x < 0).float(), torch.randn(40, 5))

    assert mask.dtype is torch.float32
    assert set(mask.flatten().tolist()) == {0.0, 1.0}
    assert bool(mask.any(dim=-1).all())


def test_a_mask_shows_the_scale_of_what_it_is_made_of():
    """A stand-in mask changes if the scores that it is made of lack their scale."""
    right = lambda x: x > 0  # noqa: E731  # it must be a step
    scores = torch.randn(40, 5)

    assert not torch.equal(stood_in(right, right, scores), stood_in(right, right, scores / 2))


def test_a_whole_number_alone_has_no_stand_in():
    """A whole number has no stand-in, because it hardly depends on the arguments."""
    namespace: dict[str, object] = {"count": len}
    learning = StandIn(namespace, "count", {})
    namespace["count"]([1.0])

    assert learning.learned == {}


def test_code_that_raises_has_a_stand_in_too():
    """A stand-in for code that raises asks that code only for its dtype."""

    def wrong(_x: Tensor) -> Tensor:
        raise ValueError

    assert stood_in(lambda x: x > 0, wrong, A).dtype is torch.bool
