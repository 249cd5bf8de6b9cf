"""Mistakes in results, graphs and batches."""

import pytest

from autograder.diagnosis.mistakes import on_results
from tests.kit.diagnosis.mistakes.conftest import kinds_of

F = "def wanted(x: Tensor):\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            F + "    queries = x * 2\n    return queries + x\n",
            {"wrong_return", "dtype", "detached", "batch_mixed"},
            id="results",
        ),
        pytest.param(F + "    return x < 3\n", {"mask_inverted"}, id="booleans"),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_results, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_results, "def wanted(n: int):\n    pass\n") == set()
