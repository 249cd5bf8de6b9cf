"""Tests which words of a source honest modules do not need."""

import pytest
import torch.jit  # noqa: F401  # the worker has loaded it with torch

from autograder.sandbox.static_names import definitions, odd_words, parse


def words(source: str) -> list[str]:
    """Return the unusual words of *source*."""
    return [use.name for use in odd_words(definitions(parse((source.encode(),))))]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("import pickle", ["pickle"], id="a-module"),
        pytest.param("def f():\n    from timeit import timeit", ["timeit"], id="inside"),
        pytest.param("import torch\nf = torch.jit.script(1)", ["torch.jit"], id="torchscript"),
        pytest.param("from torch.library import custom_op", ["torch.library"], id="an-operator"),
        pytest.param("import torch.onnx.ops as o", ["torch.onnx"], id="a-deep-module"),
        pytest.param("import torch\ntorch._masked_softmax", ["torch.….…"], id="a-private-name"),
        pytest.param("import torch\ntorch._C._nn.gelu", ["torch.….…"], id="a-private-module"),
        pytest.param("def f(y): return y.node.next_functions", ["next_functions"], id="a-graph"),
        pytest.param(
            "from autograder.sandbox import call_counters as c\nc.FunctionCounter.f = 1",
            ["autograder.sandbox"],
            id="the-kit",
        ),
        pytest.param("exec(text)", ["exec"], id="a-text"),
        pytest.param("m = __import__('ctypes')", ["__import__"], id="an-import-by-a-text"),
        pytest.param(
            "import torch.nn.functional as F\nF.torch.jit.CompilationUnit('')",
            ["torch.jit"],
            id="a-module-of-a-module",
        ),
        pytest.param("import torch\ntorch.ctypes.CDLL('')", ["ctypes"], id="native-code"),
        pytest.param(
            "import numpy as np\nnp.ctypeslib.load_library('m', '.')",
            ["numpy.ctypeslib"],
            id="native-code-by-numpy",
        ),
        pytest.param(
            "from torch.utils.cpp_extension import load_inline",
            ["torch.utils.cpp_extension"],
            id="a-compiler",
        ),
        pytest.param("import logging\nlogging.sys.modules", ["sys"], id="a-module-of-python"),
        pytest.param(
            "import matplotlib.pyplot as plt\nplt.sys.modules", ["sys"], id="not-yet-loaded"
        ),
        pytest.param("def f(lib): return lib.torch.ops", ["torch"], id="of-an-argument"),
        pytest.param("f = f.__wrapped__", ["__wrapped__"], id="a-special-name"),
        pytest.param("m = __loader__.load_module", ["__loader__"], id="the-loader"),
        pytest.param("def f(): return eval('1')", ["eval"], id="a-text-inside"),
        pytest.param("open('/proc/self/maps')", ["'/proc/self/maps'"], id="an-absolute-path"),
        pytest.param("p = '../../solutions'", ["'../../solutions'"], id="a-path-above"),
        pytest.param("n = 'AUTOGRADER_COURSE_SECRET'", None, id="the-secret"),
    ],
)
def test_a_word_that_honest_modules_do_not_need_is_found(source: str, found: list[str] | None):
    """Modules, operators, texts that run, and paths are found wherever they are in the file."""
    seen = ["torch.….…" if word.startswith("torch.…") else word for word in words(source)]

    assert seen == (found or ["'AUTOGRADER_COURSE_SECRET'"])


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import math, torch\nfrom torch import nn", id="imports"),
        pytest.param("import torch.nn.functional as F\nF.gelu(torch.rand(2))", id="functional"),
        pytest.param("from collections.abc import Callable\nimport numpy as np", id="libraries"),
        pytest.param('def f():\n    """See ../README and /etc."""\n    "/notes"', id="docstrings"),
        pytest.param("print('/ means division, solution: 3', 'a/b')", id="prose"),
        pytest.param("def exec(x): return x\nexec(1)\nmodel.eval()", id="own-and-method"),
        pytest.param("import torch\ntorch.save({}, 'model.pt')", id="an-own-file"),
        pytest.param("from .helpers import f", id="relative"),
        pytest.param("class A:\n    x: int = 0\n    __slots__ = ('x',)", id="special-names"),
        pytest.param("def f(x): return x.__class__.__name__, x.__rmatmul__(x)", id="usual-special"),
        pytest.param(
            "import numpy as np\nnp.select([], [])\nnp.random.rand(2)", id="names-of-modules"
        ),
        pytest.param("import torch\ntorch.backends.cudnn.benchmark = False", id="a-seed-idiom"),
    ],
)
def test_usual_code_has_no_unusual_word(source: str):
    """Imports, calls and texts of honest modules are usual."""
    assert words(source) == []
