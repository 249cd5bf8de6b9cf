"""Tests mistakes in parameters, layers, buffers and dropout of constructors."""

import pytest

from autograder.diagnosis.mistakes import modules
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

LAYERS = """
class wanted:
    def __init__(self, d: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d, d, bias=qkv_bias)
        self.W_key = nn.Linear(d, d, bias=qkv_bias)
        self.out_proj = nn.Linear(d, d)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(d))

    def forward(self, x: Tensor):
        keys = self.W_key(x)
        return self.dropout(torch.softmax(keys, dim=-1))
"""
DRAWN = """
class wanted:
    def __init__(self, a: int, b: int):
        super().__init__()
        self.q = nn.Parameter(torch.rand(a, b))
        self.k = nn.Parameter(torch.rand(a, b))
"""
HEADS = """
class wanted:
    def __init__(self, d: int, dropout: float, heads: int = 1):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, dropout) for _ in range(heads)])
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        LAYERS,
        """
Your code sets a seed, so the caller's seed has no effect.
    if True:; torch.default_generator.manual_seed(0); self.W_query = nn.Linear(d, d, bias=qkv_bias)
`mask` is not registered as a buffer; buffers move with their module.
    self.mask = torch.ones(d)
`qkv_bias` has no effect: the layers that it governs always have a bias.
    self.W_query = torch.nn.Linear(d, d, bias=True); self.W_key = torch.nn.Linear(d, d, bias=True)
`out_proj` has a bias where the docstring asks for the opposite.
    self.out_proj = torch.nn.Linear(d, d, bias=True)
`W_query` is not created.
    pass
Nothing is dropped in training.
    return torch.softmax(keys, dim=-1)
Dropout is also applied in eval mode.
    return torch.nn.functional.dropout(torch.softmax(keys, dim=-1), self.dropout.p, training=True)
""",
        id="layers",
    ),
    pytest.param(
        DRAWN,
        """
The parameters are drawn from the wrong distribution, the normal one.
    self.q = nn.Parameter(torch.randn(a, b)); self.k = nn.Parameter(torch.randn(a, b))
The two sizes of `q` are swapped.
    self.q = nn.Parameter(torch.rand(b, a))
All parameters come from one draw, so they get the wrong numbers.
    self.q = nn.Parameter((_drawn := torch.rand(2, a, b))[0]); self.k = nn.Parameter(_drawn[1])
""",
        id="drawn",
    ),
    pytest.param(
        HEADS,
        """
All heads have the same weights, for example because they are the same module.
    self.heads = nn.ModuleList([Head(d, dropout)] * len(range(heads)))
""",
        id="heads",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(modules, code).items()


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(modules, "def wanted(n: int):\n    pass\n") == {}


def test_parameters_are_created_in_the_wrong_order():
    """If parameters are created in the wrong order, a seed gives them wrong numbers."""
    sentence = "The numbers of the parameters are drawn in the wrong order (`k`, `q`), so with the "

    assert f"{sentence}same seed some get the wrong ones." in made_by(modules, DRAWN)


def test_a_parameter_starts_with_other_values():
    """Ones for zeros are a separate mistake, whose sentence has the name of the parameter."""
    code = """
class wanted:
    def __init__(self, d: int):
        self.shift = nn.Parameter(torch.zeros(d))
"""
    said = "`shift` starts with ones, which differs from the docstring."

    assert made_by(modules, code)[said] == "self.shift = nn.Parameter(torch.ones(d))"
