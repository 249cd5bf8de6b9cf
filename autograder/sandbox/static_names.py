"""What a student's source names, read from its syntax tree before any of it has run.

The worker calls this on the untouched file, so its word still counts: nothing of the student's
has executed that could change it. It is a lint for forbidden shortcuts, not a defence; the
operators that run are watched as well (``bench``).
"""

import ast
from collections.abc import Iterator

import msgspec

MAX_USES = 20_000  # of names in one file; a hand-written module has some hundreds


class Use(msgspec.Struct, frozen=True):
    """A dotted name at a line; ``?.softmax`` is an attribute of something computed."""

    line: int
    name: str


class Definition(msgspec.Struct, frozen=True):
    """A function or class at module level, and every name within it."""

    name: str
    line: int
    uses: tuple[Use, ...]


def parse(cells: tuple[bytes, ...]) -> list[ast.Module | None]:
    """Parse each cell; a cell that is no Python (yet) is ``None``."""
    return [_parse(cell) for cell in cells]


def _parse(cell: bytes) -> ast.Module | None:
    try:
        return ast.parse(cell)
    except (SyntaxError, ValueError):  # ValueError: NUL bytes before Python 3.12
        return None


def definitions(trees: list[ast.Module | None]) -> tuple[Definition, ...]:
    """List the module-level definitions of all cells; of twins the later one wins."""
    bodies = [node for tree in trees if tree is not None for node in tree.body]
    aliases = _aliases(bodies)
    found = {
        node.name: Definition(node.name, node.lineno, tuple(_uses(node, aliases)))
        for node in bodies
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    found |= {
        name: Definition(name, node.lineno, uses) for name, node, uses in _assigned(bodies, aliases)
    }
    return tuple(found.values())


def _assigned(
    bodies: list[ast.stmt], aliases: dict[str, str]
) -> Iterator[tuple[str, ast.stmt, tuple[Use, ...]]]:
    """Yield ``name = expression`` at module level: a lambda, or a function's other name."""
    for node in bodies:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node, tuple(_uses(node.value, aliases))


def _aliases(bodies: list[ast.stmt]) -> dict[str, str]:
    """Map local names to what they were imported as or assigned from, as far as plainly visible."""
    aliases: dict[str, str] = {}
    imported: set[str] = set()
    for node in (inner for body in bodies for inner in ast.walk(body)):
        if isinstance(node, ast.Import):
            for item in node.names:
                root = item.name.partition(".")[0]
                aliases[item.asname or root] = item.name if item.asname else root
                imported.add(root)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for item in node.names:
                aliases[item.asname or item.name] = f"{node.module}.{item.name}"
            imported.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            dotted = _dotted(node.value, aliases)
            if dotted.partition(".")[0] in imported and "." in dotted:
                aliases[node.targets[0].id] = dotted
    return aliases


def _uses(node: ast.AST, aliases: dict[str, str]) -> Iterator[Use]:
    """Yield what *node* names from outside: a local that shares a global's name is no use of it."""
    bound = _bound(node)
    visible = {name: dotted for name, dotted in aliases.items() if name not in bound}
    inner_of_attribute: set[int] = set()
    for count, child in enumerate(ast.walk(node)):
        if count > MAX_USES:
            return
        if isinstance(child, ast.Attribute):
            inner_of_attribute.add(id(child.value))
        if id(child) in inner_of_attribute and not isinstance(child, ast.Call):
            continue  # ``torch.nn`` inside ``torch.nn.Linear`` is no use of its own
        if isinstance(child, ast.Attribute) or (
            isinstance(child, ast.Name) and child.id not in bound
        ):
            yield Use(child.lineno, _dotted(child, visible))
        elif isinstance(child, ast.BinOp) and isinstance(child.op, ast.MatMult):
            yield Use(child.lineno, "@")


def _bound(node: ast.AST) -> set[str]:
    """Collect the names that *node* itself gives a value: its parameters and its variables."""
    stored = {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }
    return stored | {child.arg for child in ast.walk(node) if isinstance(child, ast.arg)}


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, aliases)
        return f"{owner}.{node.attr}" if owner else f"?.{node.attr}"
    return ""
