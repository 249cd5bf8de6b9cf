"""The names that a student's source uses, read before any of it runs."""

import pytest

from autograder.sandbox.static_names import definitions, parse


def names_in(source: str, definition: str = "f") -> set[str]:
    """The dotted names that *definition* of *source* uses."""
    found = {item.name: item for item in definitions(parse((source.encode(),)))}
    return {use.name for use in found[definition].uses}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        pytest.param(
            "import torch\ndef f(x): return torch.softmax(x)", "torch.softmax", id="plain"
        ),
        pytest.param(
            "import torch.nn.functional as F\ndef f(x): return F.softmax(x)",
            "torch.nn.functional.softmax",
            id="alias",
        ),
        pytest.param(
            "from torch import softmax as s\ndef f(x): return s(x)", "torch.softmax", id="from"
        ),
        pytest.param(
            "def f(x):\n    from torch import softmax\n    return softmax(x)",
            "torch.softmax",
            id="import-inside",
        ),
        pytest.param(
            "import torch\ndef f(x):\n    s = torch.softmax\n    return s(x)",
            "torch.softmax",
            id="local-alias",
        ),
        pytest.param(
            "import torch\nnn = torch.nn\ndef f(x): return nn.Softmax()(x)",
            "torch.nn.Softmax",
            id="alias-of-a-module",
        ),
        pytest.param("def f(x): return (x @ x).softmax(-1)", "?.softmax", id="computed"),
        pytest.param("def f(x): return x.softmax(-1)", "x.softmax", id="method"),
        pytest.param("def f(x): return x @ x", "@", id="matmul-sign"),
        pytest.param("import torch\nf = torch.softmax", "torch.softmax", id="assigned"),
        pytest.param("import torch\nf = lambda x: torch.exp(x)", "torch.exp", id="lambda"),
        pytest.param(
            "import torch\nclass f:\n    def forward(self, x): return torch.bmm(x, x)",
            "torch.bmm",
            id="method-of-a-class",
        ),
        pytest.param(
            "import torch\ndef f(x): return getattr(torch, 'soft' + 'max')(x)",
            "torch.softmax",
            id="getattr-by-text",
        ),
        pytest.param(
            "from torch import *\ndef f(x): return softmax(x)", "torch.softmax", id="star"
        ),
        pytest.param(
            "import torch\ndef f(x): return vars(torch)['softmax'](x)", "?.softmax", id="vars"
        ),
        pytest.param(
            "import torch\ndef f(x): return torch.__dict__['softmax'](x)",
            "?.softmax",
            id="table-of-a-module",
        ),
        pytest.param(
            "import torch\ndef f(x, n): return getattr(torch, n)(x)",
            "torch.(computed)",
            id="getattr-by-a-computed-text",
        ),
        pytest.param("def f(x): return eval('x')", "?.(computed)", id="eval"),
    ],
)
def test_a_name_is_followed_to_what_it_was_imported_as(source: str, name: str):
    """Aliases don't hide which function is used."""
    assert name in names_in(source)


def test_a_function_of_the_student_keeps_its_bare_name():
    """A function that a student names `softmax` is not the one of torch."""
    source = "def softmax(x): return x\ndef f(x): return softmax(x)"

    for imports in ("", "from torch import *\n"):
        assert "softmax" in names_in(imports + source)
        assert not any(name.endswith(".softmax") for name in names_in(imports + source))


def test_a_part_of_the_module_itself_is_no_lookup():
    """Honest code goes through its own layers by name."""
    source = "class f:\n    def g(self, n): return getattr(self, n)(getattr(self, 'W' + n))"

    assert not any("computed" in name for name in names_in(source))


def test_only_a_whole_dotted_name_is_a_use():
    """`torch.nn` inside of `torch.nn.Linear` is not a use of its own."""
    assert names_in("import torch\ndef f(): return torch.nn.Linear") == {"torch.nn.Linear"}


def test_a_use_has_its_line():
    """The message can point at the student's own line."""
    (found,) = definitions(parse((b"\ndef f(x):\n\n    return x.softmax(-1)\n",)))

    assert found.line == 2
    assert next(use.line for use in found.uses if use.name == "x.softmax") == 4


def test_definitions_of_all_cells_count_and_the_last_duplicate_wins():
    """A notebook's last definition is the one that runs."""
    found = definitions(parse((b"def f(): return a.b", b"def g(): ...", b"def f(): return c.d")))
    uses = {item.name: {use.name for use in item.uses} for item in found}

    assert uses == {"f": {"c.d"}, "g": set()}


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(b"def f(:", id="syntax"),
        pytest.param(b"x = 1\x00", id="nul-byte"),
        pytest.param(b"# coding: klingon\n", id="unknown-coding"),
        pytest.param(b"x = '\xff'", id="not-utf8"),
        pytest.param(b"(" * 1000, id="too-many-parentheses"),
        pytest.param(b"x = " + b"-" * 3000 + b"1", id="too-deep-a-tree"),
        pytest.param(b"x = " + b"-" * 100_000 + b"1", id="too-deep-for-the-parser"),
    ],
)
def test_a_cell_that_is_not_python_is_skipped(cell: bytes):
    """The other cells are still read."""
    trees = parse((cell, b"def g(): ..."))

    assert trees[0] is None
    assert [item.name for item in definitions(trees)] == ["g"]


def test_an_instance_under_the_name_of_its_class_adds_to_its_uses():
    """The class is what is graded, so its shortcuts count."""
    assert names_in("class f:\n    x = a.b\nf = f(3)\n") == {"a.b", "f"}


def test_another_function_under_the_name_replaces_the_first():
    """The first one can't be called any more."""
    assert names_in("def f(): return a.b\nf = c.d\n") == {"c.d"}
    assert names_in("f = c.d\ndef f(): return a.b\n") == {"a.b"}
