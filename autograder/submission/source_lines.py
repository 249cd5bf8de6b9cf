"""Finds definitions in the text of a module, by the lines that Python counts."""

import ast
import re
from typing import Final

DEFINITION: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Not `splitlines`, which also ends a line at a form feed or inside a string at U+2028.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """Split *text* into lines as Python counts them; each keeps its line break."""
    return _LINE.findall(text)


def lines_of_node(node: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, decorators included."""
    decorators = node.decorator_list if isinstance(node, DEFINITION) else []
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return first, node.end_lineno or node.lineno


def definition_in(text: str, name: str) -> str:
    """Return the last definition of *name* in *text*, decorators included; "" without one."""
    span = span_of(text, name)
    return "".join(lines_of(text)[span[0] - 1 : span[1]]) if span else ""


def span_of(text: str, name: str) -> tuple[int, int] | None:
    """Return the first and last line of the last definition of *name*, decorators included."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in reversed(body):  # Python uses the last definition
        if isinstance(node, DEFINITION) and node.name == name:
            return lines_of_node(node)
    return None
