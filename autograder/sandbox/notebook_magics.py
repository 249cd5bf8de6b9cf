"""Makes Python of a cell for IPython: removes magics, shell commands and help lines.

The rules are those of IPython's input transformer, which a grader may lack and which changes the
numbers of lines. The tests compare both.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

# The tokens that decide where a statement ends. An open string ends with its line or its cell.
_TOKEN: Final = re.compile(
    r"""
    (?P<text> \"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z) | '{3}(?:\\.|[^\\])*?(?:'{3}|\Z)
      | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? | \#[^\n]* )
    | (?P<join> \\\n ) | (?P<open> [(\[{] ) | (?P<close> [)\]}] ) | (?P<end> \n|\Z )
    | (?P<operator> [!%&*+\-/:<=>@^|]= ) | (?P<assign> = )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMAND: Final = re.compile(r"[ \t]*[%!?,;/](?:[^\n]*\\\n)*[^\n]*")  # to the end of its last line
_ASSIGNED: Final = re.compile(r"=[ \t]*(?:!|%[ \t]*(?P<name>[A-Za-z_]\w*))(?P<rest>.*)", re.DOTALL)
_HELP: Final = re.compile(r"%{0,2}(?!\d)[\w*]+(?:\.\w+|\[[0-9]+\])*\?\??$")
_TIMED: Final = re.compile(r"%(?:time|prun)\b[ \t]*(?=[^-\s])")  # magics that run their line
_PROMPT: Final = re.compile(r"(?:>>>|In \[\d+\]:)(?: |$)", re.MULTILINE)
_PROMPTS: Final = re.compile(r"^(?:>>>|\.\.\.|In \[\d+\]:| *\.{3,}:)(?: |$)", re.MULTILINE)
# The magic of a cell; Colab allows comments before it.
_CELL: Final = re.compile(
    r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*%%(?P<name>[^\s?]+)[ \t]*(?P<words>[^\n?]*)(?=\n|\Z)"
)
# Magics whose cells are not Python; any other magic runs its cell, more or less.
_FOREIGN: Final = re.compile(
    r"!|HTML|R|SVG|ai|bash|bigquery|cmd|cpp|css|cython|fortran|html|javascript|js|julia|latex"
    r"|markdown|mermaid|perl|powershell|pwsh|pypy|python2|ruby|script|sh|shell|skip|sql|svg|sx"
    r"|system"
)
_WRITES: Final = frozenset({"file", "writefile"})


class _Line(NamedTuple):
    """A statement's lines in a text, up to *end*; *assign* is its first assignment, or -1.

    *is_open* is true if the last characters belong to a string or a comment.
    """

    end: int
    assign: int
    is_open: bool


def plain_python(text: str) -> str:
    """Return *text*, which is not valid Python, without what only IPython understands.

    Each line keeps its number. The files ``*.py`` that a cell writes count as code.
    """
    if magic := _CELL.match(text):
        lines = "\n" * magic[0].count("\n")
        body = text[magic.end() :]
        if magic["name"] in _WRITES:
            return lines + body if magic["words"].strip(" \t\r'\"").endswith(".py") else ""
        return "" if _FOREIGN.fullmatch(magic["name"]) else lines + plain_python(body)
    if _PROMPT.match(text.lstrip()):
        text = _PROMPTS.sub("", text)
    return "".join(_statements(text))


def _statements(text: str) -> Iterator[str]:
    """Yield the statements of *text*, each with the end of its line."""
    position = 0
    while position < len(text):
        if command := _COMMAND.match(text, position):
            end = command.end()
            yield _replaced(command[0], _TIMED.sub("", command[0].lstrip(), count=1))
        else:
            end, assign, is_open = _line(text, position)
            statement = text[position:end].rstrip()
            value = _ASSIGNED.match(text, assign, end) if assign >= 0 else None
            if value:
                yield text[position:assign] + _replaced(value[0], _assigned(value))
            elif not is_open and statement.endswith("?") and _HELP.search(statement):
                yield _replaced(statement, "")
            else:
                yield text[position:end]
        yield text[end : end + 1]
        position = end + 1


def _line(text: str, position: int) -> _Line:
    """Find the end of the statement that begins at *position*."""
    depth, assign, last = 0, -1, position
    for token in _TOKEN.finditer(text, position):
        kind = token.lastgroup
        if kind == "end" and (not depth or token.end() == len(text)):
            return _Line(token.start(), assign, not text[last : token.start()].strip())
        if kind == "text":
            last = token.end()
        elif kind == "assign" and assign < 0 and not depth:
            assign = token.start()
        depth = max(0, depth + (kind == "open") - (kind == "close"))
    return _Line(len(text), assign, is_open=True)


def _assigned(value: re.Match[str]) -> str:
    """Return an assignment of what IPython would assign, as far as it is known here."""
    if value["name"] is None:
        return "= []"  # the lines that a shell command prints
    return f"= {value['rest'].strip() or None}" if value["name"] == "time" else "= None"


def _replaced(old: str, new: str) -> str:
    """Replace *old*, with as many lines; without a *new* statement, a block needs ``pass``."""
    indent = old[: len(old) - len(old.lstrip(" \t"))]
    if not new or new[0] in "%!?,;/":
        new = "pass" if indent else ""
    return indent + new + "\n" * (old.count("\n") - new.count("\n"))


def with_cells(tree: ast.Module) -> ast.Module:
    """Replace calls of IPython that run a cell, as exported notebooks have, by its code."""
    body: list[ast.stmt] = []
    for statement in tree.body:
        body += _called(statement) or [statement]
    return ast.Module(body, tree.type_ignores)


def _called(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements that *statement* lets IPython run; nothing for any other statement."""
    match statement:
        case ast.Expr(
            ast.Call(
                ast.Attribute(
                    ast.Call(ast.Name("get_ipython")), "run_cell_magic" | "run_line_magic"
                ),
                [ast.Constant(str(name)), ast.Constant(str(words)), *rest],
            )
        ):
            text = f"%{name} {words}"
            for one in rest:
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    text = f"%%{name} {words}\n{one.value}"
            try:
                found = ast.parse(plain_python(text)).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return []
            for node in (one for part in found for one in ast.walk(part)):
                if hasattr(node, "lineno"):
                    ast.copy_location(node, statement)
            return found
    return []


class _Shell:
    """Replaces IPython's shell for code that asks for it: its methods do nothing."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: [] if name == "getoutput" else None


def _display(*values: object, **_: object) -> None:
    print(*values, sep="\n")  # noqa: T201  # what a notebook shows; here it is printed output


# The names that IPython gives to all code of a notebook.
NAMES: Final = {"display": _display, "get_ipython": _Shell, "In": [""], "Out": {}, "_": ""}
