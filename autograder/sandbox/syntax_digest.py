"""The digest of what is left of a source without names of its own, comments and formatting.

Two sources of one digest are the same code but for names, comments and docstrings; of nothing else
is the digest a sign. The worker takes it before student code runs, so nothing could have changed
it. No function here calls itself, because a long sum is a deep tree.
"""

import ast
import hashlib
from collections.abc import Iterator, Sequence

_END = object()
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FOREIGN = (ast.alias, ast.ImportFrom, ast.keyword)  # names of modules, arguments of others
# What does not run, and the name that an import gets, which stands for the imported one.
_LAYOUT = frozenset(("asname", "ctx", "kind", "type_comment", "type_ignores"))


def syntax_digest(trees: Sequence[ast.Module | None]) -> str:
    """Return the SHA-256 of *trees*, the cells of one source; "" if one is not valid Python.

    It is "" for a source without any statement, too.
    """
    known = [tree for tree in trees if tree is not None]
    if len(known) < len(trees) or not any(_statements(tree.body) for tree in known):
        return ""
    names = _Names(known)
    statements = (item for tree in known for item in tree.body)
    words = (word for statement in statements for word in _words([statement], names))
    text = "".join(f"{word}\0" for word in words)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Names:
    """Replaces each name that the source gives by the number in which it first occurs.

    Names from elsewhere stay, such as `softmax`, and what is imported has the name it has there.
    """

    def __init__(self, trees: Sequence[ast.Module]) -> None:
        self._numbers: dict[str, str] = {}
        self._imported: dict[str, str] = {}
        self._bound: set[str] = set()
        self._attributes: set[str] = set()
        for node in (node for tree in trees for node in ast.walk(tree)):
            self._collect(node)

    def _collect(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
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
        """Return what stands for *name* in *node*."""
        if isinstance(node, _FOREIGN):
            return name
        if isinstance(node, ast.Attribute):
            return self._number(name) if name in self._attributes else name
        if isinstance(node, ast.Name) and name not in self._bound:
            return self._imported.get(name, name)
        return self._number(name)

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"#{len(self._numbers)}")


def _words(waiting: list[object], names: _Names) -> Iterator[str]:
    """Yield the trees in *waiting* word by word, each node with an end, so that none is another."""
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.Constant):
            yield f"{type(item.value).__name__} {item.value!r}"
        elif isinstance(item, ast.AST):
            if _is_text(item):
                continue
            yield type(item).__name__
            waiting.append(_END)
            waiting.extend(reversed(list(_children(item, names))))
        elif isinstance(item, list):
            yield "["
            waiting.append(_END)
            waiting.extend(reversed(item))
        else:
            yield ")" if item is _END else f"= {item}"


def _children(node: ast.AST, names: _Names) -> Iterator[object]:
    """Yield each field's name and value; not the empty ones, which each Python adds to."""
    for field in node._fields:
        value = getattr(node, field, None)
        if value is None or field in _LAYOUT or value == []:
            continue
        yield field
        if isinstance(value, str):
            yield names.replaced(node, value)
        elif isinstance(value, list):
            yield [names.replaced(node, item) if isinstance(item, str) else item for item in value]
        else:
            yield value


def _statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [statement for statement in body if not _is_text(statement)]


def _is_text(node: ast.AST) -> bool:
    """Whether *node* is a string alone: a docstring, or a comment in quotes."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
