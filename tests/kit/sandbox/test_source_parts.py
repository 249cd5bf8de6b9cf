"""Tests that a statement which is not valid Python costs only itself."""

import ast

import pytest

from autograder.sandbox.notebook_magics import read_parts

RIGHT = "def right(x):\n    return x\n"


def names(text: str) -> tuple[list[str], list[tuple[int, tuple[str, ...]]]]:
    """Return the definitions that can be read, and the line and names of each broken part."""
    parts = read_parts(text.encode())
    defined = [node.name for node in parts.tree.body if isinstance(node, ast.FunctionDef)]
    return defined, [(part.line, part.names) for part in parts.broken]


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        pytest.param("def wrong(x)\n    return x\n", 1, id="a-missing-colon"),
        pytest.param("def wrong(x):\n    return (x\n", 2, id="an-open-bracket"),
        pytest.param("def wrong(x):\nreturn x\n", 1, id="a-missing-indentation"),
        pytest.param("def wrong(x):\n    return 'x\n", 2, id="an-open-string"),
        pytest.param("def wrong(x):\n    '''Text\n    return x\n", 2, id="an-open-docstring"),
        pytest.param("@decorated\ndef wrong(x):\n    return 2x\n", 3, id="below-a-decorator"),
        pytest.param("class wrong:\n    def forward(self:\n        pass\n", 2, id="in-a-method"),
        pytest.param("class wrong\n    def forward(self): ...\n", 1, id="a-class-without-colon"),
        pytest.param("def wrong(x):\n    y = 1\n\treturn y\n", 3, id="a-tab"),
        pytest.param("def wrong(x):\n    print 'x', x\n    return x\n", 2, id="python-2"),
        pytest.param(" def wrong(x):\n    return x\n", 1, id="a-heading-with-a-space"),
        pytest.param("def wrong(x):\n    y = 1\n>>>>>>> b\n    return y\n", 3, id="a-conflict"),
        pytest.param(
            "def wrong(x):\n    y = 1\nz = 2\n    return y\n", 4, id="a-line-not-indented"
        ),
    ],
)
def test_a_broken_definition_costs_itself(broken: str, line: int):
    """The definitions before and after a broken one are read, and its line is known."""
    before, after = RIGHT, RIGHT.replace("right", "later")
    defined, parts = names(f"{before}\n{broken}\n{after}")

    assert {"right", "later"} <= {*defined}
    assert parts[0] == (line + 3, ("wrong",))


@pytest.mark.parametrize(
    "stray",
    [
        pytest.param(">>>>>>> theirs", id="a-conflict-marker"),
        pytest.param("<<<<<<< HEAD\n=======\n>>>>>>> theirs", id="a-whole-conflict"),
        pytest.param(")", id="a-closing-bracket"),
        pytest.param("else:\n    pass", id="an-else"),
        pytest.param("  x = 1", id="an-indented-line"),
        pytest.param('"""', id="an-open-string"),
        pytest.param("In [3]: right(2)\nOut[3]: 2 2\n   ...: x", id="a-prompt-of-ipython"),
        pytest.param(">>> right(2)\n2", id="a-prompt-of-python"),
        pytest.param("print 'x'", id="python-2"),
        pytest.param("for i in range(3)\n    right(i)", id="a-loop-without-colon"),
        pytest.param("```python", id="a-fence"),
        pytest.param("Here is the code: it works.", id="prose"),
    ],
)
@pytest.mark.parametrize("space", ["\n\n", "\n"], ids=["after-blank-lines", "directly-below"])
def test_a_stray_line_costs_no_definition(stray: str, space: str):
    """The definitions before and after lines that are not Python are read."""
    defined, parts = names(f"{RIGHT.strip()}{space}{stray}\n\n{RIGHT.replace('right', 'later')}")

    assert defined == ["right", "later"]
    assert parts[0][1] == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(" import math\n", 1, id="a-first-import"),
        pytest.param("VALUE = 1\n  from math import pi\n", 2, id="a-later-import"),
        pytest.param("import math\n  VALUE = 1\n", 2, id="above-an-indented-line"),
        pytest.param("  import math\n  VALUE = 1\n", 1, id="the-first-lines"),
    ],
)
def test_a_wrong_indentation_costs_no_import(text: str, line: int):
    """Imports are read in spite of their indentation, which is still reported."""
    tree = read_parts(f"{text}{RIGHT}".encode()).tree

    assert any(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)
    assert names(f"{text}{RIGHT}") == (["right"], [(line, ())])


def test_an_indented_file_is_read():
    """A file whose lines are all indented is read, and its first line is reported."""
    text = "".join(f"    {line}\n" for line in f"import math\n{RIGHT}".splitlines())

    assert names(text) == (["right"], [(1, ())])


def test_many_open_brackets_cost_no_later_definition():
    """After all attempts with several statements, each statement is still read alone."""
    defined, _ = names("x = (\n" * 40 + RIGHT)

    assert defined == ["right"]


def test_definitions_keep_their_lines():
    """A traceback of a definition behind a broken one shows its own line."""
    tree = read_parts(f"def wrong(:\n    pass\n\n{RIGHT}".encode()).tree

    assert [node.lineno for node in tree.body] == [4]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('TEXT = """\ndef inside(x):\n    pass\n"""\n', id="a-string-of-code"),
        pytest.param("VALUES = (\n1,\n2,\n)\n", id="lines-in-brackets"),
        pytest.param("if True:\n    A = 1\nelse:\n    A = 2\n", id="an-else"),
        pytest.param("try:\n    A = 1\nfinally:\n    A = 2\n", id="a-finally"),
    ],
)
def test_a_statement_of_several_parts_stays_whole(text: str):
    """Lines that belong to a statement without being indented are not cut off."""
    parts = read_parts(f"def wrong(:\n    pass\n\n{text}".encode())

    assert (len(parts.tree.body), len(parts.broken)) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"x = '\xff'\n", id="not-utf-8"),
        pytest.param(b"# coding: nothing\nx = 1\n", id="an-unknown-encoding"),
        pytest.param(b"\0" * 10, id="nul-bytes"),
        pytest.param(b"(" * 100_000, id="too-deep"),
    ],
)
def test_a_source_that_cannot_be_read_is_one_broken_part(text: bytes):
    """Bytes that cannot be decoded are reported, and raise nothing."""
    parts = read_parts(text)

    assert (parts.tree.body, len(parts.broken)) == ([], 1)


def test_many_broken_statements_take_bounded_time():
    """After 3,000 attempts of the parser, the rest is left out."""
    parts = read_parts(b"x = (\n" * 4000)

    assert len(parts.broken) == 4000
