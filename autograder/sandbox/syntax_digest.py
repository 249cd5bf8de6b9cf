"""Hashes a source without its own names, comments and formatting.

Two sources with the same digest differ only in names, comments, docstrings and formatting. The
digest does not reveal the code. The worker computes it before student code runs, so it can't be
forged. No function here is recursive, because a long sum is a deep tree.
"""

import ast
import hashlib
from collections.abc import Sequence

_END = object()
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FOREIGN = (ast.alias, ast.ImportFrom, ast.keyword)  # names of modules, arguments of others
# Fields without an effect, and the new name of an import, which is replaced by the original.
_LAYOUT = frozenset(("asname", "ctx", "kind", "type_comment", "type_ignores"))


def syntax_digest(trees: Sequence[ast.Module | None]) -> str:
    """Return the SHA-256 of *trees*, the cells of one source; "" if one is not valid Python.

    It is also "" for a source without statements.
    """
    known = [tree for tree in trees if tree is not None]
    if len(known) < len(trees) or not any(_statements(tree.body) for tree in known):
        return ""
    names = _Names(known)
    statements = (item for tree in known for item in tree.body)
    words = (word for statement in statements for word in _words([statement], names))
    text = "".join([f"{word}\0" for word in words])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _walk(root: ast.AST) -> list[ast.AST]:
    """List *root* and the nodes below it.

    Nodes without fields are left out: operators and contexts, which are nearly half of a tree.
    """
    nodes = [root]
    for node in nodes:  # the loop extends the list
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                nodes.append(value)
    return nodes


class _Names:
    """Replaces each name that the source defines with a number, in the order of first use.

    Other names, such as `softmax`, stay, and imported objects keep their original names.
    """

    def __init__(self, trees: Sequence[ast.Module]) -> None:
        self._numbers: dict[str, str] = {}
        self._imported: dict[str, str] = {}
        self._bound: set[str] = set()
        self._attributes: set[str] = set()
        for tree in trees:
            for node in _walk(tree):
                self._collect(node)

    def _collect(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self._bound.add(node.id)
        elif isinstance(node, ast.arg):
            self._bound.add(node.arg)
        elif isinstance(node, _DEFINITION):
            self._bound.add(node.name)
            self._attributes.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            self._attributes.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            start = f"{'.' * node.level}{node.module or ''}."
            self._imported |= {item.asname or item.name: start + item.name for item in node.names}
        elif isinstance(node, ast.Import):
            self._imported |= {item.asname: item.name for item in node.names if item.asname}

    def replaced(self, node: ast.AST, name: str) -> str:
        """Return the replacement of *name* in *node*."""
        if isinstance(node, _FOREIGN):
            return name
        if isinstance(node, ast.Attribute):
            return self._number(name) if name in self._attributes else name
        if isinstance(node, ast.Name) and name not in self._bound:
            return self._imported.get(name, name)
        return self._number(name)

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"#{len(self._numbers)}")


def _words(waiting: list[object], names: _Names) -> list[str]:
    """Flatten the trees in *waiting* to words; an end mark after each node keeps the structure."""
    words: list[str] = []
    while waiting:
        item = waiting.pop()
        if item is _END:
            words.append(")")
        elif isinstance(item, ast.Constant):
            words.append(f"{type(item.value).__name__} {item.value!r}")
        elif isinstance(item, ast.AST):
            if not _is_text(item):
                words.append(type(item).__name__)
                waiting.append(_END)
                waiting += reversed(_children(item, names))
        elif type(item) is list:
            words.append("[")
            waiting.append(_END)
            waiting += reversed(item)
        else:
            words.append(f"= {item}")
    return words


def _children(node: ast.AST, names: _Names) -> list[object]:
    """List the fields that are not empty, because later versions of Python add empty ones."""
    found: list[object] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if value is None or field in _LAYOUT or value == []:
            continue
        if type(value) is str:
            value = names.replaced(node, value)
        elif type(value) is list:
            value = [names.replaced(node, one) if type(one) is str else one for one in value]
        found += (field, value)
    return found


def _statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [statement for statement in body if not _is_text(statement)]


def _is_text(node: ast.AST) -> bool:
    """Whether *node* is only a string: a docstring or a comment in quotes."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
