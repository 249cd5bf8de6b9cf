"""Tests mistakes in heads, new shapes and batches."""

import pytest

from autograder.diagnosis.mistakes import heads
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

TURNED = """
def wanted(x: Tensor):
    queries = x.view(1, 2, 3, 4).transpose(1, 2)
    keys = queries
    return keys.reshape(1, 2, 3 * 4)
"""
REVERSED = """
def wanted(x: Tensor):
    queries = x.reshape(2, 3).T
    return queries @ x
"""
CONCATENATED = """
def wanted(x: Tensor):
    return torch.cat([x, x], dim=-1)
"""
SPLIT = """
def wanted(x: Tensor):
    H, d = 3, 4
    scores = x.view(1, 2, H, d)
    return scores.transpose(1, 2).reshape(1, 2, H * d)
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        REVERSED,
        """
The queries are not split into heads.
    queries = x
""",
        id="reversed",
    ),
    pytest.param(
        TURNED,
        """
The second and the third axis are not swapped, but they must be.
    queries = x.view(1, 2, 3, 4)
The queries are not split into heads.
    queries = x
Some neighboring features go to different heads; each head must get one block.
    queries = x.view(1, 2, 4, 3).transpose(-1, -2).transpose(1, 2)
The keys of the first item in the batch are used for all items.
    keys = (lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(queries)
Two sizes in the shape of `x` are swapped.
    queries = x.view(2, 1, 3, 4).transpose(1, 2)
The features of `x` are not split into heads.
    queries = x.transpose(1, 2)
""",
        id="turned",
    ),
    pytest.param(
        CONCATENATED,
        """
The heads are concatenated along the first axis; it must be the last axis.
    return torch.cat([x, x], dim=0)
The heads are added up, so no later step can tell them apart.
    return sum([x, x])
The results of all heads are equal to that of the first one.
    return torch.cat([[x, x][0]] * len([x, x]), dim=-1)
""",
        id="concatenated",
    ),
    pytest.param(
        SPLIT,
        """
The scores of the first item in the batch are used for all items.
    scores = (lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(x.view(1, 2, H, d))
""",
        id="split",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(heads, code).items()


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(heads, "def wanted(n: int):\n    pass\n") == {}


def test_sizes_are_said_by_what_they_count():
    """A size without a known name is described as one of two sizes."""
    made = made_by(heads, SPLIT)

    assert made["Two sizes in the shape of `x` are swapped."] == "scores = x.view(2, 1, H, d)"


def test_axes_are_said_by_their_places():
    """The solution shows which two axes must be swapped."""
    made = made_by(heads, TURNED)

    assert made["The queries are not split into heads."] == "queries = x"
    assert "The second and the third axis are not swapped, but they must be." in made
