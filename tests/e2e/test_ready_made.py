"""Tests that the course's lists of ready-made functions hold what torch offers."""

from pathlib import Path

import pytest

from autograder.course import load
from autograder.suite.checks import WrongAnswer
from autograder.suite.forbidden import avoids, ready_made
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Student

SUITE = str(load(Path(__file__).parents[2]).stage("01").hidden_suite)
HEAD = "import torch\nimport torch.nn.functional as F\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param("softmax", "x.softmax(-1)", id="softmax"),
        pytest.param("attention", "torch.nn.MultiheadAttention(2, 1)(x)", id="attention"),
        pytest.param("attention", "torch.onnx.ops.attention(x, x, x)", id="another-format"),
        pytest.param("softmax", "torch._masked_softmax(x, x > 0)", id="masked-softmax"),
        pytest.param("loss", "F.cross_entropy(x, x)", id="loss"),
        pytest.param("loss", "torch.nn.MSELoss()(x, x)", id="loss-module"),
        pytest.param("backward", "torch.autograd.grad(x.sum(), x)", id="autograd"),
        pytest.param("backward", "x.sum().backward()", id="backward"),
        pytest.param("norm", "F.layer_norm(x, x.shape)", id="norm"),
        pytest.param("gelu", "torch.nn.GELU()(x)", id="gelu"),
        pytest.param("optimizer", "torch.optim.SGD([x])", id="optimizer"),
    ],
)
def test_ready_made_code_of_torch_is_found_by_its_list(name: str, code: str):
    """Torch's functions, methods and classes count; a student's function may have any name."""
    names = ready_made(SUITE, name)
    student = Student(LocalChannel("ready", f"{HEAD}def f(x): return {code}".encode()))
    with pytest.raises(WrongAnswer):
        avoids(student, "f", names, "")

    own = "\n".join(f"def {one}(x): return x" for one in sorted(names))
    student = Student(LocalChannel("own", f"{own}\ndef f(x): return {min(names)}(x)".encode()))
    avoids(student, "f", names, "")
