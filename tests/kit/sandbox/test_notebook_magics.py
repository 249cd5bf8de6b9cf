"""Tests making Python of a cell for IPython, by IPython's own rules."""

import ast

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from autograder.sandbox.notebook_magics import NAMES, plain_python, read_parts


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        pytest.param("%matplotlib inline\nx = 1\n", "\nx = 1\n", id="line-magic"),
        pytest.param("!ls\nx = 1\n", "\nx = 1\n", id="shell"),
        pytest.param("!pip install torch", "", id="shell-alone"),
        pytest.param("!pip install a \\\n    b\nx = 1\n", "\n\nx = 1\n", id="continued-shell"),
        pytest.param("help?\nx = 1\n", "\nx = 1\n", id="help-after"),
        pytest.param("?help\nx = 1\n", "\nx = 1\n", id="help-before"),
        pytest.param("x = !ls *.py\n", "x = []\n", id="shell-assignment"),
        pytest.param("x = %pwd\n", "x = None\n", id="magic-assignment"),
        pytest.param("x = %time f(1)\n", "x = f(1)\n", id="timed-value"),
        pytest.param("%time x = f(1)\n", "x = f(1)\n", id="timed-statement"),
        pytest.param("%%time\nx = 1\n", "\nx = 1\n", id="timed-cell"),
        pytest.param("\n%%capture out\nx = 1\n", "\n\nx = 1\n", id="captured-cell"),
        pytest.param("%%capture\n%%time\n!ls\nx = 1\n", "\n\n\nx = 1\n", id="magics-in-a-cell"),
        pytest.param("#@title Code\n%%time\nx = 1\n", "\n\nx = 1\n", id="title-of-colab"),
        pytest.param("%%exercise f\ndef f(): ...\n", "\ndef f(): ...\n", id="unknown-cell-magic"),
        pytest.param("%%bash\nrm -r x\n", "", id="bash-cell"),
        pytest.param("%%writefile notes.txt\nText\n", "", id="text-file"),
        pytest.param("%%writefile a.py\ndef f(): ...\n", "\ndef f(): ...\n", id="module"),
        pytest.param("%%file 'x/a.py'\nx = 10 % 3\n", "\nx = 10 % 3\n", id="module-in-a-folder"),
        pytest.param(
            "if True:\n    %time f()\n", "if True:\n    f()\n", id="magic-in-an-indented-block"
        ),
        pytest.param("if True:\n    !ls\n", "if True:\n    pass\n", id="shell-in-a-block"),
        pytest.param(">>> x = (\n...   1)\n", "x = (\n  1)\n", id="prompts"),
        pytest.param("In [2]: x = 1\n   ...: !ls\n", "x = 1\n\n", id="prompts-of-ipython"),
    ],
)
def test_what_only_ipython_understands_is_removed(cell: str, python: str):
    """Magics and shell commands become empty lines; the other lines keep their numbers."""
    assert plain_python(cell) == python


@pytest.mark.parametrize(
    "python",
    [
        pytest.param("x = (a\n% b)", id="percent-continues-an-expression"),
        pytest.param('"""\n%matplotlib inline\n!ls\nWhy?\n"""', id="magic-in-a-string"),
        pytest.param("def f():\n    '''What is it?\n\n    !\n    '''", id="docstring"),
        pytest.param("x = 'a\\\n!b?'", id="string-of-two-lines"),
        pytest.param("x = 1  # really?", id="question-in-a-comment"),
        pytest.param("x = [\n  # %time\n  '?',\n]", id="comment-in-brackets"),
        pytest.param("x = f'{y!r}' != 'a%s' % z", id="operators"),
        pytest.param("f(x='!', y={'%': 1})", id="keyword-arguments"),
    ],
)
def test_python_next_to_a_magic_stays_as_it_is(python: str):
    """Inside strings, brackets and comments, nothing is a magic."""
    assert plain_python(f"%time\n{python}\n!ls\n") == f"\n{python}\n\n"


CELLS = (
    "%matplotlib inline\nimport os\n!echo 'it' \"is\nx = 1\n",
    "files = !ls\nwhere = %pwd\nprint(files)\n",
    "def f(x):\n    !ls {x}\n    return x\nf?\nf??\n?f\n!!ls\n",
    "a = (1\n  % 2)\n%cd /tmp\nb = 'x?'\n",
    "if True:\n    %cd x\nelse:\n    !ls \\\n      y\n    c = 2\n",
    'def f():\n    """Is it?\n    %no magic\n    """\n!ls\n',
    "x = [1,\n  2]\nx[0]?\nobj.attr?\ny = 3\n",
    "x == 2 != 3\nx.y = !ls\nz: list = !ls\n",
    "/print 1\n,print a b\n;print a b\nw = 5\n",
    ">>> x = 1\n>>> y = 2\n",
    "lambda x=1: x\nd = {'a': 1}\nd['b'] = %pwd\n",
    "x = 3 # ?\n# what?\n%pwd\n",
)


class _WithoutShell(ast.NodeTransformer):
    """Replaces calls of IPython's shell by what the kit writes in their places."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | ast.Pass:
        return ast.Pass() if ast.unparse(node).startswith("get_ipython()") else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        text = ast.unparse(node)
        if text.startswith("get_ipython().getoutput"):
            return ast.List([], ast.Load())
        is_magic = text.startswith("get_ipython().run_line_magic")
        return ast.Constant(None) if is_magic else self.generic_visit(node)


def statements(tree: ast.Module) -> str:
    """Return the code of *tree* without statements that do nothing at module level."""
    body = [node for node in tree.body if not isinstance(node, ast.Pass)]
    return ast.unparse(ast.Module(body, []))


@pytest.mark.parametrize("cell", CELLS)
def test_the_rules_are_those_of_ipython(cell: str):
    """IPython's own transformer finds the same magics in the same places."""
    theirs = _WithoutShell().visit(ast.parse(TransformerManager().transform_cell(cell)))
    calls = ("print('1')", "print(1)", "print('a', 'b')", "print('a b')")  # automatic calls
    kept = [node for node in theirs.body if ast.unparse(node) not in calls]

    assert statements(ast.parse(plain_python(cell))) == statements(ast.Module(kept, []))


def names(text: str) -> list[tuple[str, int]]:
    """Return the names and lines of the definitions that are read in *text*."""
    found = read_parts(text.encode()).tree.body
    return [(node.name, node.lineno) for node in found if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import os\nget_ipython().run_cell_magic('time', '', 'def f():\\n    return 1\\n')\n",
            id="timed-cell",
        ),
        pytest.param(
            "\nget_ipython().run_cell_magic('writefile', 'a.py', '\\ndef f(): ...\\n')\n",
            id="written-module",
        ),
        pytest.param("!pip install torch\ndef f(): ...\n", id="shell-of-colab"),
        pytest.param("%cd /content\ndef f(): ...\n", id="magic-of-colab"),
    ],
)
def test_an_exported_notebook_is_read_like_a_notebook(text: str):
    """A cell in a string has its definitions, and lines of Colab cost nothing."""
    assert names(text) == [("f", 2)]
    assert not read_parts(text.encode()).broken


def test_a_call_of_ipython_without_code_stays():
    """A cell of another language defines nothing."""
    tree = read_parts(b"get_ipython().run_cell_magic('bash', '', 'def f(): ...')\nx = 1\n").tree

    assert len(tree.body) == 2


def test_a_cell_that_is_neither_keeps_its_own_error():
    """A syntax error is reported on its line."""
    (broken,) = read_parts(b"%time\ndef f(:\n    pass\n").broken

    assert (broken.line, broken.names) == (2, ("f",))


@pytest.mark.parametrize(
    "text", ['"""' * 200_000, "x = 1\n" * 40_000, "(" * 300_000, "x?\\\n" * 100_000, "'" * 300_000]
)
def test_a_long_cell_takes_linear_time(text: str):
    """Open strings and brackets are read once."""
    assert plain_python(text).count("\n") == text.count("\n")


def test_ipythons_names_answer(capsys: pytest.CaptureFixture[str]):
    """Displayed values are printed, and calls of the shell do nothing."""
    shell = NAMES["get_ipython"]()
    NAMES["display"](1, "two")

    assert capsys.readouterr().out == "1\ntwo\n"
    assert (shell.run_line_magic("cd", "x"), shell.getoutput("ls")) == (None, [])
