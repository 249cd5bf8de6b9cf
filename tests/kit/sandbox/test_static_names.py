"""Tests the names that a student's source uses, read before any of it runs."""

import pytest

from autograder.sandbox.bytecode_names import MAX_NAME
from autograder.sandbox.static_names import (
    MAX_NAMES,
    TOO_MANY,
    definitions,
    odd_words,
    parse,
    reached_uses,
)


def names_in(source: str, definition: str = "f") -> set[str]:
    """The dotted names that *definition* of *source* uses."""
    found = definitions(parse((source.encode(),)))
    certain = {item.name: item for item in found if item.name and item.certain}
    return {use.name for use in certain[definition].uses}


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
        pytest.param(
            "import torch\nclass f:\n    s = staticmethod(torch.softmax)",
            "torch.softmax",
            id="class-attribute",
        ),
        pytest.param(
            "class f:\n    from torch import softmax as s", "torch.softmax", id="import-in-a-class"
        ),
        pytest.param(
            "import torch\ndef f(x, *, s=torch.softmax): return s(x)", "torch.softmax", id="default"
        ),
        pytest.param("def f(x): return [y.softmax(0) for y in x]", "y.softmax", id="comprehension"),
        pytest.param("async def f(x): return (x @ x).softmax(0)", "?.softmax", id="async"),
        pytest.param(
            "from operator import methodcaller as m\nf = m('softmax', dim=0)",
            "?.softmax",
            id="methodcaller",
        ),
        pytest.param(
            "import torch as t\nname = __name__\nn = t.nn\nF = n.functional\n"
            "def f(x): return F.softmax(x)",
            "torch.nn.functional.softmax",
            id="alias-of-an-alias",
        ),
    ],
)
def test_a_name_is_followed_to_what_it_was_imported_as(source: str, name: str):
    """Aliases do not hide which function is used."""
    assert name in names_in(source)


def test_a_function_of_the_student_keeps_its_bare_name():
    """A function that a student names `softmax` is not the one of torch."""
    source = "def softmax(x): return x\ndef f(x): return softmax(x)"

    for imports in ("", "from torch import *\n"):
        assert "softmax" in names_in(imports + source)
        assert not any(name.endswith(".softmax") for name in names_in(imports + source))


def test_a_part_of_the_module_itself_is_not_a_lookup():
    """`getattr` on the module itself is not an unclear lookup."""
    source = "class f:\n    def g(self, n): return getattr(self, n)(getattr(self, 'W' + n))"

    assert not any("computed" in name for name in names_in(source))


def test_only_a_whole_dotted_name_is_a_use():
    """`torch.nn` inside of `torch.nn.Linear` is not a separate use."""
    assert names_in("import torch\ndef f(): return torch.nn.Linear") == {"torch.nn.Linear"}


def test_a_use_has_its_line():
    """A use has the line in the student's source, so a message can name it."""
    (found,) = definitions(parse((b"\ndef f(x):\n\n    return x.softmax(-1)\n",)))

    assert found.line == 2
    assert next(use.line for use in found.uses if use.name == "x.softmax") == 4


def test_definitions_of_all_cells_count_and_the_last_duplicate_wins():
    """A notebook's last definition is the one that runs."""
    found = definitions(parse((b"def f(): return a.b", b"def g(): ...", b"def f(): return c.d")))
    uses = {
        item.name: {use.name for use in item.uses} for item in found if item.name and item.certain
    }

    assert uses == {"f": {"c.d"}, "g": set()}


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(b"def f(:", id="syntax"),
        pytest.param(b"x = 1\x00", id="nul-byte"),
        pytest.param(b"# coding: klingon\n", id="unknown-coding"),
        pytest.param(b"x = '\xff'", id="not-utf8"),
        pytest.param(b"(" * 1000, id="too-many-parentheses"),
        pytest.param(b"x = " + b"-" * 100_000 + b"1", id="too-deep-for-the-parser"),
    ],
)
def test_a_cell_that_is_not_python_is_skipped(cell: bytes):
    """A cell that is not Python is skipped, and all others are read."""
    trees = parse((cell, b"def g(): ..."))

    assert trees[0] is None
    assert [item.name for item in definitions(trees)] == ["g"]


def test_an_instance_under_the_name_of_its_class_adds_to_its_uses():
    """If an instance has the name of its class, shortcuts in the class still count."""
    assert names_in("class f:\n    x = a.b\nf = f(3)\n") == {"a.b", "f"}


def test_another_function_under_the_name_replaces_the_first():
    """A second function with the same name replaces the first."""
    assert names_in("def f(): return a.b\nf = c.d\n") == {"c.d"}
    assert names_in("f = c.d\ndef f(): return a.b\n") == {"a.b"}


BY_EVERY_FORM = [
    pytest.param("g: object = torch.softmax", id="annotated"),
    pytest.param("g, other = torch.softmax, None", id="pair"),
    pytest.param("(other, [g]) = None, [torch.softmax]", id="pair-inside-a-pair"),
    pytest.param("other = g = torch.softmax", id="second-target"),
    pytest.param("for g in [torch.softmax]: pass", id="for"),
    pytest.param("print(g := torch.softmax)", id="walrus"),
    pytest.param("if True:\n    def g(x): return torch.softmax(x)", id="def-under-if"),
    pytest.param("try:\n    from torch import softmax as g\nfinally: pass", id="import-under-try"),
    pytest.param("def set_up():\n    global g\n    g = torch.softmax\nset_up()", id="global"),
    pytest.param("g = torch.softmax\nif False: g = None", id="with-a-decoy"),
    pytest.param("g = torch.exp\ng = torch.softmax", id="bound-twice"),
    pytest.param(
        "def set_up():\n    global g\n    from torch import softmax as g", id="global-import"
    ),
    pytest.param("ready = torch.softmax\ng = ready\ndel ready", id="renamed"),
    pytest.param("import functools\ng = functools.partial(torch.softmax, dim=0)", id="partial"),
    pytest.param("*g, last = torch.softmax, 1", id="starred"),
    pytest.param("for g in (torch.exp, torch.softmax): pass", id="one-of-several"),
    pytest.param("with context(torch.softmax) as g: pass", id="with"),
    pytest.param("g = [torch.exp]\ng += [torch.softmax]", id="augmented"),
    pytest.param("match torch:\n    case object(softmax=g): pass", id="match"),
    pytest.param("while True:\n    class g: go = torch.softmax\n    break", id="class-under-while"),
]


def certain_and_possible(source: str) -> tuple[set[str], set[str]]:
    """The dotted names that `f` surely uses, and those that it may use."""
    found = definitions(parse((f"import torch\n{source}".encode(),)))
    both = (reached_uses(found, "f", possible=possible) for possible in (False, True))
    certain, possible = ({use.name for use in uses} for uses in both)
    return certain, possible


@pytest.mark.parametrize("binding", BY_EVERY_FORM)
def test_a_name_is_followed_through_every_form_of_binding(binding: str):
    """For every form of binding a name, the function behind it is used."""
    for use in ("g(x)", "g.go(x)"):
        certain, _ = certain_and_possible(f"{binding}\ndef f(x): return {use}")

        assert any(".softmax" in name for name in certain)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("if ready:\n    g = torch.softmax\nelse:\n    g = torch.exp", id="one-of-two"),
        pytest.param("g = []\ng.append(torch.softmax)", id="appended"),
        pytest.param("g = []\ng.append(lambda x: torch.softmax(x))", id="appended-lambda"),
        pytest.param("g = []\nassert g.append(torch.softmax) is None", id="appended-in-assert"),
        pytest.param("class g: pass\nsetattr(g, 'go', torch.softmax)", id="setattr"),
        pytest.param("class g: pass\ng.go = torch.softmax", id="attribute"),
        pytest.param("torch.exp = torch.softmax\ng = torch.exp", id="function-of-torch"),
        pytest.param(
            "g = []\ndef h(x): return torch.softmax(x)\ng.append(h)", id="appended-helper"
        ),
        pytest.param(
            "g = []\ndef keep(h): g.append(h)\n@keep\ndef h(x): return torch.softmax(x)",
            id="decorated",
        ),
        pytest.param(
            "def h(x): return torch.softmax(x)\ng = h\ndef h(x): return x", id="earlier-version"
        ),
    ],
)
def test_what_a_name_may_mean_is_a_possible_use(source: str):
    """A possible use costs no points, because the name may have a different meaning."""
    certain, possible = certain_and_possible(f"{source}\ndef f(x): return g(x)")

    assert not any(name.endswith(".softmax") for name in certain)
    assert any(name.endswith(".softmax") for name in possible)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("exp, ready = torch.exp, torch.softmax\ndef f(x): return exp(x)", id="pair"),
        pytest.param(
            "def f(x): return x.exp()\nassert f(x) == torch.softmax(x, 0)\n"
            "print(torch.softmax(x, 0))",
            id="compared",
        ),
        pytest.param(
            "def f(x): return x.exp()\ndef test():\n    wanted = torch.softmax(x, 0)\n"
            "    assert f(x) == wanted\nif __name__ == '__main__':\n    test()\n"
            "    weights = torch.softmax(x, 0)\n    print(weights)",
            id="compared-in-a-test",
        ),
        pytest.param(
            "def f(x): return x.exp()\nfor g in (f, torch.softmax): print(g(x))",
            id="compared-in-a-loop",
        ),
        pytest.param(
            "def f(x): return x.exp()\nmodule = torch.nn.Softmax(0)\nprint(module(x))",
            id="compared-with-a-module",
        ),
        pytest.param(
            "def f(x): return x.exp()\n@torch.no_grad()\n"
            "def weights(x): return torch.softmax(x, 0)",
            id="another-exercise",
        ),
        pytest.param(
            "def softmax(x): return x\ndef f(x): return softmax(x)\n"
            "def test():\n    from torch import softmax\n    return softmax(f(x))",
            id="own-helper-of-the-name",
        ),
        pytest.param(
            "def softmax(x): return x\ndef f(softmax): return softmax", id="own-parameter"
        ),
        pytest.param(
            "def f(x):\n    'As torch.softmax.'\n    return x.go(softmax='torch.softmax')",
            id="only-in-text",
        ),
        pytest.param(
            "def f(x):\n    return x\n    return torch.softmax(x, 0)", id="code-that-never-runs"
        ),
    ],
)
def test_honest_code_that_compares_itself_uses_nothing(source: str):
    """A ready-made function in a comparison with the student's result does not count as used."""
    for names in certain_and_possible(source):
        assert not any(name.endswith((".softmax", ".Softmax")) for name in names)


def test_a_variable_of_one_function_hides_no_name_of_another():
    """A variable of one function does not hide a name of another function."""
    source = "g = torch.softmax\ndef f(x):\n    def inner(g): ...\n    return g(x)"

    assert "torch.softmax" in certain_and_possible(source)[0]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("import threading", "threading", id="threads"),
        pytest.param("from concurrent.futures import Executor", "concurrent", id="pool"),
        pytest.param("def f():\n    import ctypes as c", "ctypes", id="inside-and-renamed"),
        pytest.param("for name, g in vars(torch).items(): pass", "vars", id="vars"),
        pytest.param("import sys as s\ng = s.modules", "sys sys.modules", id="modules"),
        pytest.param("g = torch.__dict__", "__dict__", id="table"),
        pytest.param("def f(x): return x.__getattribute__('a')", "__getattribute__", id="dunder"),
    ],
)
def test_a_word_that_may_hide_a_call_is_odd(source: str, words: str):
    """A word that may hide a call is suspicious anywhere in the file."""
    found = definitions(parse((f"import torch\n{source}".encode(),)))

    assert [use.name for use in odd_words(found)] == words.split()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def vars(x): return x\nvars(1)", id="own-function"),
        pytest.param("model.eval()\nimport math, copy, typing\nfrom torch import nn", id="usual"),
        pytest.param("class A:\n    def f(self, n): return getattr(self, n)", id="own-layers"),
    ],
)
def test_usual_code_has_no_odd_word(source: str):
    """A word is suspicious only if it is a name of Python itself."""
    assert odd_words(definitions(parse((source.encode(),)))) == ()


def source_of_many(number: int) -> dict[str, str]:
    """Return sources with many names of one kind."""
    return {
        "definitions": "".join(f"def f{i}(): f{i + 1}\n" for i in range(number)),
        "names": "def f():\n" + "".join(f" a{i}.b\n" for i in range(number)),
        "methods": "class f:\n" + "".join(f" def m{i}(s): 0\n" for i in range(number)),
        "targets": "".join(f"a{i} = " for i in range(number)) + f"[{'x.y, ' * number}]\n",
    }


@pytest.mark.parametrize("kind", source_of_many(1))
def test_the_names_of_a_source_are_limited(kind: str):
    """The names of a source are limited to a few thousand."""
    found = definitions(parse((source_of_many(6_000)[kind].encode(),)))

    assert sum(1 + len(item.uses) + len(item.methods) for item in found) <= MAX_NAMES + 3
    assert [use.name for use in odd_words(found)] == [TOO_MANY]


def test_a_name_without_end_becomes_short_and_stays_itself():
    """A very long name is cut off in a definition and where it is used."""
    name = "g" * 100_000
    found = definitions(parse((f"def {name}(): a.b\ndef f(): {name}()".encode(),)))

    assert "a.b" in {use.name for use in reached_uses(found, "f")}
    assert all(len(item.name) <= MAX_NAME for item in found)


def test_a_long_chain_shows_no_name():
    """A very long chain of attributes counts as a name and is not shown."""
    chain = ".".join(["torch", *["softmax"], *["__call__"] * 300])
    certain, _ = certain_and_possible(f"def f(x): return {chain}(x)")

    assert certain == {"?.(computed)"}


def test_a_long_number_hides_no_name():
    """A number that Python can't show as text does not hide the names next to it."""
    number = "0x" + "f" * 5000
    source = f"import torch\ndef f(x): return torch.softmax(x, ({number}, 1))"

    assert "torch.softmax" in names_in(source)
