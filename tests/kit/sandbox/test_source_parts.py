"""Tests that a statement which is not valid Python costs only itself."""

import ast

import pytest

from autograder.sandbox.source_parts import read_parts

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
    ],
)
def test_a_broken_definition_costs_itself(broken: str, line: int):
    """The definitions before and after a broken one are read, and its line is known."""
    before, after = RIGHT, RIGHT.replace("right", "later")
    defined, parts = names(f"{before}\n{broken}\n{after}")

    assert {"right", "later"} <= {*defined}
    assert parts[0] == (line + 3, ("wrong",))


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
    """After 500 attempts of the parser, the rest is left out."""
    parts = read_parts(b"x = (\n" * 3000)

    assert len(parts.broken) == 3000
