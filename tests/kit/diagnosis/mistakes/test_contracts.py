"""Tests mistakes in arguments and results."""

import pytest

from autograder.diagnosis.mistakes import contracts
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

F = "def wanted(x: Tensor, n: int):\n"
CASE = """
def wanted(x: Tensor, kind: str = 'rand'):
    return head(x, kind) if kind else x
"""
HEADS = """
class wanted:
    def __init__(self, d: int, dropout: float, heads: int = 1):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, dropout) for _ in range(heads)])
"""
LOOP = """
def wanted(x: Tensor, n: int):
    for i in range(n):
        x[1 : i + 1]
    return x / n
"""
CHECKS = """
def wanted(x: Tensor, n: int):
    if n < 0 or n > 3:
        raise ValueError
    return x < n
"""
COPIES = """
def wanted(x: Tensor, n: int):
    x.W_query.copy_(n.W_query)
    x.W_key.copy_(n.W_key)
"""
RESULT = """
def wanted(x: Tensor, mask: Tensor = None):
    queries = x * 2
    if mask is not None:
        queries = queries + mask
    return queries + x
"""
HANDED_ON = """
def wanted(x: Tensor, mask: Tensor = None):
    visible = None if mask is None else mask[None]
    return head(x, torch.arange(0, len(x), 2), visible)
"""
PAIR = """
def wanted(x: Tensor):
    return x, x + 1
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        CASE,
        """
The result is `x` itself, unchanged.
    return x
The result has the wrong dtype, float64.
    return (head(x, kind) if kind else x).to(torch.float64)
The result is cut from the graph: no gradient flows back from it.
    return (head(x, kind) if kind else x).detach()
`kind` has no effect, because your code never reads it.
    return head(x, 'rand') if 'rand' else x
The two cases of `kind` are swapped.
    return x if kind else head(x, kind)
The function returns None, so its result is lost.
    return None
The result is transposed: its last two axes are swapped.
    return (head(x, kind) if kind else x).transpose(-2, -1)
""",
        id="case",
    ),
    pytest.param(
        HEADS,
        """
The first iteration is left out.
    self.heads = nn.ModuleList([Head(d, dropout) for _ in range(1, heads)])
""",
        id="heads",
    ),
    pytest.param(
        LOOP,
        """
Your code overwrites the caller's `x`.
    return x.div_(n)
""",
        id="loop",
    ),
    pytest.param(
        CHECKS,
        """
True and False are swapped in the result.
    return ~(x < n)
The limit itself is on the wrong side.
    if n <= 0 or n > 3:
A wrong value of `n` does not raise a ValueError.
    pass
Valid values of `n` raise an error.
    if True:
""",
        id="checks",
    ),
    pytest.param(
        COPIES,
        """
`W_query` is not changed, but it must be.
    pass
`W_key` is used where `W_query` must be used.
    x.W_query.copy_(n.W_key)
""",
        id="copies",
    ),
    pytest.param(
        RESULT,
        """
No gradient flows back through the queries.
    queries = (x * 2).detach()
`mask` is used even if the caller does not pass it.
    if True:
""",
        id="result",
    ),
    pytest.param(
        HANDED_ON,
        """
One call does not pass `mask` on, so it has no effect there.
    return head(x, torch.arange(0, len(x), 2))
`mask` has no effect, because your code never reads it.
    visible = None
In one place, the numbers are 0, 1, 2, …; they must be 0, 2, 4, ….
    return head(x, torch.arange(len(x) // 2), visible)
""",
        id="handed-on",
    ),
    pytest.param(
        PAIR,
        """
The first and second results are swapped.
    return ((x, x + 1)[1], (x, x + 1)[0])
""",
        id="pair",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(contracts, code).items()


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(contracts, "def wanted(n: int):\n    pass\n") == {}


def test_a_loop_repeats_and_a_range_of_numbers_has_positions():
    """The sentence about a mistake in a loop mentions repetitions, not positions."""
    loop = made_by(contracts, LOOP)
    mask = made_by(contracts, F + "    return torch.arange(n) < x\n")

    assert "The first iteration is left out." in loop
    assert not any("osition is left out" in one for one in loop)
    assert "The first position is left out." in mask


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        pytest.param(
            "if n < 0:", "A wrong value of `n` does not raise a ValueError.", id="argument"
        ),
        pytest.param(
            "T = x.shape[0]\n    if self.n < T:",
            "A wrong size of `x` does not raise a ValueError.",
            id="size",
        ),
        pytest.param("if self.n:", "Some wrong arguments do not raise a ValueError.", id="neither"),
    ],
)
def test_a_check_is_said_by_what_it_is_about(code: str, sentence: str):
    """The sentence about a missing check names its argument, if one is certain."""
    code = F + f"    {code}\n        raise ValueError\n"

    assert sentence in made_by(contracts, code)


@pytest.mark.parametrize(
    ("code", "said", "line"),
    [
        pytest.param(
            "x[:, -1]",
            "The entry before the last one is taken; it must be the last one.",
            "x[:, -2]",
            id="last",
        ),
        pytest.param(
            "x[0]", "The second entry is taken; it must be the first one.", "x[1]", id="first"
        ),
        pytest.param(
            "torch.arange(1, n)",
            "The first position is left out.",
            "torch.arange(1 + 1, n)",
            id="two-limits",
        ),
        pytest.param(
            "list(range(0, n, size))",
            "The last iteration is left out.",
            "list(range(0, n - size, size))",
            id="steps",
        ),
    ],
)
def test_an_entry_and_a_range_are_off_by_one(code: str, said: str, line: str):
    """The entry next to an end is taken, and a range with a start begins late or ends early."""
    made = made_by(contracts, f"def wanted(x: Tensor, n: int, size: int):\n    return {code}\n")

    assert made[said] == f"return {line}"


def test_the_sizes_of_a_shape_are_no_entries():
    """A part of a shape holds sizes, so nothing is said about positions."""
    made = made_by(contracts, F + "    rows = x.shape[:-1]\n    return rows[-1]\n")

    assert [said for said in made if "entry" in said or "position" in said] == []
