"""Tests that torch's compiler is imported only for code that is compiled."""

import subprocess
import sys

import pytest

# In a new process: another test may have imported the compiler.
SCRIPT = """
import sys
import torch
from autograder.sandbox.unused_compiler import postpone_compiler

postpone_compiler()
postpone_compiler()
weight = torch.ones(2, requires_grad=True)
{code}
print(type(sys.modules["torch._dynamo"]).__name__, len(sys.meta_path))
"""
POSTPONED, IMPORTED = "UnusedCompiler", "module"


def module_after(code: str) -> str:
    """Return the type of the module that torch imports as its compiler after *code*."""
    command = (sys.executable, "-c", SCRIPT.format(code=code))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]  # noqa: S603  # the code of this file


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
