"""Tests that torch's compiler and SymPy are imported only for code that needs them."""

import subprocess
import sys

import pytest

# In a new process: another test may have imported the compiler.
SCRIPT = """
import sys
import torch
from autograder.sandbox.executor import postpone_compiler

postpone_compiler()
postpone_compiler()
weight = torch.ones(2, requires_grad=True)
{code}
print(type(sys.modules["torch._dynamo"]).__name__, "sympy" in sys.modules)
"""
POSTPONED, IMPORTED = "_Postponed", "module"


def imported_after(code: str) -> list[str]:
    """Return the type of the module that torch imports as its compiler, and if SymPy is there."""
    command = (sys.executable, "-c", SCRIPT.format(code=code))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603  # the code of this file


def module_after(code: str) -> str:
    """Return the type of the module that torch imports as its compiler after *code*."""
    return imported_after(code)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "optimizer = torch.optim.SGD([weight], lr=0.5)\n"
            "(weight**2).sum().backward()\n"
            "optimizer.step()\n"
            "assert weight.tolist() == [0.0, 0.0]",
            id="optimizer",
        ),
        pytest.param(
            "assert torch.func.grad(lambda x: x**3)(torch.tensor(2.0)) == 12",
            id="gradient-of-a-function",
        ),
        pytest.param(
            "import inspect\n[inspect.getmodule(one) for one in (len, torch.optim.SGD)]",
            id="look-at-every-module",
        ),
    ],
)
def test_code_that_is_not_compiled_leaves_the_compiler_alone(code: str):
    """An optimizer step and a gradient are right, and do not import the compiler."""
    assert module_after(code) == POSTPONED


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("assert torch._dynamo.config.cache_size_limit", id="attribute"),
        pytest.param(
            "import torch._dynamo.config as first\n"
            "assert torch._dynamo.config is first is sys.modules['torch._dynamo.config']",
            id="module-that-it-imports",
        ),
        pytest.param(
            "import torch._dynamo.debug_utils as first\nassert torch._dynamo.debug_utils is first",
            id="other-module",
        ),
    ],
)
@pytest.mark.nightly  # each imports the compiler, which takes seconds; no check needs it
def test_code_that_needs_the_compiler_gets_it(code: str):
    """Names that the stand-in lacks come from the compiler, and each module exists once."""
    assert module_after(code) == IMPORTED


def test_compiled_code_runs_uncompiled():
    """`torch.compile` changes nothing in any of its forms, and the compiler is not imported."""
    forms = (
        "@torch.compile\ndef double(x):\n    return 2 * x",
        "@torch.compile(fullgraph=True, dynamic=False)\ndef double(x):\n    return 2 * x",
        "double = torch.compile(lambda x: 2 * x, mode='max-autotune')",
        "double = torch.nn.Linear(1, 1, bias=False)\ndouble.compile()\ndouble.weight.data.fill_(2)",
    )
    code = (f"{form}\nassert double(torch.ones(1)).tolist() == [2.0]" for form in forms)

    assert module_after("\n".join(code)) == POSTPONED


def test_a_gradient_from_a_given_one_does_not_import_sympy():
    """Both calls are right, and a gradient of the wrong shape still raises torch's exception."""
    code = (
        "(weight * 3).backward(torch.ones(2))\n"
        "assert weight.grad.tolist() == [3.0, 3.0]\n"
        "(found,) = torch.autograd.grad(weight * 2, weight, torch.ones(2))\n"
        "assert found.tolist() == [2.0, 2.0]\n"
        "try:\n"
        "    (weight * 3).backward(torch.ones(3))\n"
        "except RuntimeError as error:\n"
        "    assert 'Mismatch in shape' in str(error)\n"
        "else:\n"
        "    raise AssertionError"
    )
    assert imported_after(code) == [POSTPONED, "False"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("assert torch.ones(2, 3).dim_order() == (0, 1)", id="other-function"),
        pytest.param(
            "from torch.fx.experimental.symbolic_shapes import expect_true, sym_eq\n"
            "assert sym_eq([1, (2,)], [1, (2,)])\n"
            "assert not expect_true(sym_eq(1, 2))",
            id="other-values",
        ),
        pytest.param(
            "import torch.fx.experimental.symbolic_shapes as shapes\n"
            "assert shapes.ShapeEnv is sys.modules[shapes.__name__].ShapeEnv",
            id="class",
        ),
    ],
)
def test_code_that_needs_symbolic_shapes_gets_them(code: str):
    """Names and values that the stand-in does not know are those of torch."""
    assert imported_after(code) == [POSTPONED, "True"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("@torch.compile\ndef f(x): return x + 1\n", id="decorator"),
        pytest.param("@torch.compile(dynamic=True)\ndef f(x): return x + 1\n", id="with-options"),
        pytest.param(
            "layer = torch.nn.Identity()\nlayer.compile()\ndef f(x): return layer(x) + 1\n",
            id="module",
        ),
    ],
)
def test_a_worker_compiles_nothing(open_session, text: str):
    """``torch.compile`` changes no result, and takes no time in the sandbox."""
    session = open_session(f"import torch\n{text}")

    assert session.ask("call", name="f", args=(2,)).value == 3
    assert session.problems == ()
