"""Mistakes in comparisons, slices, checks and effects."""

import pytest

from autograder.diagnosis.mistakes import contracts
from tests.kit.diagnosis.mistakes.conftest import kinds_of, sentences_of

F = "def wanted(x: Tensor, n: int):\n"
LOOP = """
def wanted(x: Tensor, n: int):
    total = 0.0
    for i in range(n):
        total += x[: i + 1]
    return total * x
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            F + "    return x / x.sum(dim=-1, keepdim=True)\n",
            {"in_place"},
            id="division",
        ),
        pytest.param(
            LOOP,
            {"boundary"},
            id="loop",
        ),
        pytest.param(
            F + "    if n < 0 or n > 3:\n        raise ValueError\n    return x\n",
            {"check_missing", "check_wrong", "boundary"},
            id="checks",
        ),
        pytest.param(
            F + "    x.W_query.copy_(n.W_query)\n    x.W_key.copy_(n.W_key)\n",
            {"step_missing", "projection_exchanged"},
            id="copies",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(contracts, code)


def test_a_loop_repeats_and_a_range_of_numbers_has_positions():
    """What a loop leaves out need not be a position: it may be a head."""
    loop = sentences_of(contracts, LOOP)
    mask = sentences_of(contracts, F + "    return torch.arange(n) < x\n")

    assert "The first repetition is left out." in loop
    assert not any("osition is left out" in one for one in loop)
    assert "The first position is left out." in mask


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        pytest.param("if n < 0:", "A wrong value of `n` is not refused.", id="argument"),
        pytest.param(
            "T = x.shape[0]\n    if self.n < T:", "A wrong size of `x` is not refused.", id="size"
        ),
        pytest.param("if self.n:", "A case that must be refused is not refused.", id="neither"),
    ],
)
def test_a_check_is_said_by_what_it_is_about(code: str, sentence: str):
    """What a name comes from says which argument is checked."""
    code = F + f"    {code}\n        raise ValueError\n"

    assert sentence in sentences_of(contracts, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(contracts, "def wanted(n: int):\n    pass\n") == set()
