"""Tests mistakes in norms, positions, activations and caches."""

import pytest

from autograder.diagnosis.mistakes import decoders
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

UNBIASED = "The variance divides by one less than the number of entries."
OUTSIDE = "The small number is added to the root; it must be added to what is under the root."
IN_TURN = (
    "The parts are repeated as a whole, as in 0, 1, 0, 1; "
    "each part must be followed by its copies, as in 0, 0, 1, 1."
)
FACTOR = "A constant factor of the formula is missing."
ORDER = "Two parts are joined in the wrong order."

TORCH_VARIANCE = """
class wanted(nn.Module):
    def forward(self, x: Tensor):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.scale * (x - mean) / torch.sqrt(variance + self.eps)
"""
OWN_VARIANCE = """
class wanted(nn.Module):
    def forward(self, x: Tensor):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = (centred ** 2).mean(dim=-1, keepdim=True)
        return centred * torch.rsqrt(variance + self.eps)
"""
RMS = """
class wanted(nn.Module):
    def forward(self, x: Tensor):
        rms = ((x ** 2).mean(dim=-1) + self.eps) ** 0.5
        return x / rms
"""
GROUPS = """
def wanted(x: Tensor, num_heads: int):
    return x.repeat_interleave(num_heads // x.shape[1], dim=1)
"""
ANGLES = """
def wanted(d: int, base: float):
    return base ** (-2 * torch.arange(d // 2) / d)
"""
EVEN = """
def wanted(d: int, base: float):
    return 1 / base ** (torch.arange(0, d, 2) / d)
"""
BYTES = """
def wanted(context_length: int, head_size: int):
    return 2 * context_length * head_size
"""
ROTATED = """
def wanted(x: Tensor, cos: Tensor, sin: Tensor):
    one, other = x[..., 0::2], x[..., 1::2]
    return torch.stack((one * cos - other * sin, one * sin + other * cos), dim=-1).flatten(-2)
"""
MADE = (
    pytest.param(
        TORCH_VARIANCE,
        f"""
{UNBIASED}
variance = x.var(dim=-1, keepdim=True)
{OUTSIDE}
return self.scale * (x - mean) / (torch.sqrt(variance) + self.eps)
""",
        id="variance-of-torch",
    ),
    pytest.param(
        OWN_VARIANCE,
        f"""
{UNBIASED}
variance = (centred ** 2).sum(dim=-1, keepdim=True) / ((centred ** 2).shape[-1] - 1)
{OUTSIDE}
return centred * (1 / (torch.sqrt(variance) + self.eps))
""",
        id="variance-by-hand",
    ),
    pytest.param(
        RMS,
        f"""
{OUTSIDE}
rms = (x ** 2).mean(dim=-1) ** 0.5 + self.eps
The mean is subtracted, but this exercise does not ask for it.
if True:; x = x - x.mean(dim=-1, keepdim=True); rms = ((x ** 2).mean(dim=-1) + self.eps) ** 0.5
""",
        id="root-mean-square",
    ),
    pytest.param(
        GROUPS,
        f"{IN_TURN}\nreturn torch.cat([x] * (num_heads // x.shape[1]), dim=1)",
        id="repeat-interleave",
    ),
    pytest.param(ANGLES, f"{FACTOR}\nreturn base ** (-torch.arange(d // 2) / d)", id="angles"),
    pytest.param(EVEN, f"{FACTOR}\nreturn 1 / base ** (torch.arange(d // 2) / d)", id="even"),
    pytest.param(BYTES, f"{FACTOR}\nreturn context_length * head_size", id="bytes"),
    pytest.param(
        ROTATED,
        f"""
{ORDER}
return torch.stack((one * sin + other * cos, one * cos - other * sin), dim=-1).flatten(-2)
""",
        id="rotated",
    ),
)

NUMBER = "A formula uses {} where it needs another number."
POWER = "A power of the formula is missing."


@pytest.mark.parametrize(
    ("code", "made"),
    [
        pytest.param(
            "return 0.5 * x * (1 + x**3)",
            {
                NUMBER.format("0.5"): "return 0.5 * x * (0.5 + x ** 3)",
                NUMBER.format(4): "return 0.5 * x * (1 + x ** 4)",
                NUMBER.format(6): "return 0.5 * x * (1 + x ** 6)",
                POWER: "return 0.5 * x * (1 + x)",
            },
            id="a-polynomial",
        ),
        pytest.param(
            "return x / math.log(2)",
            {NUMBER.format(10): "return x / math.log(10)"},
            id="a-logarithm",
        ),
        pytest.param("return x[..., : n - 1] // 2", {}, id="a-slice"),
    ],
)
def test_the_numbers_of_a_formula_are_wrong_one_by_one(code: str, made: dict[str, str]):
    """Half of a number, twice it and its neighbors are mistakes; in a slice, other rules speak."""
    found = made_by(decoders, f"def wanted(x: Tensor, n: int):\n    {code}\n")

    numbers = {said: line for said, line in found.items() if "umber" in said or said == POWER}
    assert made.items() <= numbers.items()
    assert bool(numbers) is bool(made)


def test_a_number_that_occurs_twice_is_wrong_in_both_places():
    """Equal numbers are wrong one by one and together."""
    code = "def wanted(x: Tensor):\n    return (x * 8, x / 8)\n"
    rewrites = [
        one
        for scope in ExerciseCode(code, "wanted", ["wanted"]).scopes
        for one in decoders.constants(scope)
        if one.words["size"] == "4"
    ]

    assert [len(one.edits) for one in rewrites] == [1, 1, 2]


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(decoders, code).items()


def test_a_mean_of_squares_is_no_variance_without_a_difference():
    """RMSNorm subtracts nothing, so it has no variance that could be unbiased."""
    assert UNBIASED not in made_by(decoders, RMS)


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(decoders, "def wanted(n: int):\n    return n % 2\n") == {}
