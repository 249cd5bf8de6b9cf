"""Reads the names that a student's source uses from its syntax tree, before any of it runs.

The worker does this before student code runs, so its output is trusted: nothing could have changed
it. It is a lint for forbidden shortcuts and not a defence; the functions and operators that a call
runs are counted as well (``call_counters``).
"""

import ast
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

_CALLABLE = ast.Name | ast.Attribute | ast.Lambda  # what another function or class is assigned as
MAX_USES = 20_000  # of names in one file; a hand-written module has some hundreds


class Use(msgspec.Struct, frozen=True):
    """A dotted name and its line; ``?.softmax`` is an attribute of a computed value."""

    line: int
    name: str


class Definition(msgspec.Struct, frozen=True):
    """A function or class at module level, and every name that it uses.

    If *assigned*, it is the left side of an assignment: a lambda, another name, or any value.
    """

    name: str
    line: int
    uses: tuple[Use, ...]
    assigned: bool = False


def parse(cells: tuple[bytes, ...]) -> list[ast.Module | None]:
    """Parse each cell; the result of a cell that is not valid Python is ``None``."""
    return [_parse(cell) for cell in cells]


def _parse(cell: bytes) -> ast.Module | None:
    try:
        return ast.parse(cell)
    except (SyntaxError, ValueError):  # ValueError: NUL bytes before Python 3.12
        return None


def definitions(trees: list[ast.Module | None]) -> tuple[Definition, ...]:
    """List the module-level definitions of all cells; of duplicates the last one."""
    bodies = [node for tree in trees if tree is not None for node in tree.body]
    aliases = _aliases(bodies)
    defined: dict[str, Definition] = {}
    assigned: dict[str, Definition] = {}
    for node in bodies:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined[node.name] = Definition(node.name, node.lineno, tuple(_uses(node, aliases)))
            assigned.pop(node.name, None)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, uses = node.targets[0].id, tuple(_uses(node.value, aliases))
            assigned[name] = Definition(name, node.lineno, uses, assigned=True)
            if isinstance(node.value, _CALLABLE):
                defined.pop(name, None)
    # An instance under the name of its class: the class is graded.
    both = {
        name: replace(defined[name], uses=defined[name].uses + assigned[name].uses)
        for name in defined.keys() & assigned.keys()
    }
    return tuple((defined | assigned | both).values())


def reached_uses(known: Sequence[Definition], name: str) -> tuple[Use, ...]:
    """List every dotted name in the source of *name*, and of what it uses among the *known*."""
    by_name = {definition.name: definition for definition in known}
    reached: dict[str, None] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in by_name and current not in reached:
            reached[current] = None
            waiting += [use.name for use in by_name[current].uses]
    return tuple(use for definition in reached for use in by_name[definition].uses)


def _aliases(bodies: list[ast.stmt]) -> dict[str, str]:
    """Map names to the dotted names that imports and plain assignments gave them."""
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
    """Yield the outside names that *node* uses: its own variables are not among them."""
    local_names = _local_names(node)
    visible = {name: dotted for name, dotted in aliases.items() if name not in local_names}
    inner_of_attribute: set[int] = set()
    for count, child in enumerate(ast.walk(node)):
        if count > MAX_USES:
            return
        if isinstance(child, ast.Attribute):
            inner_of_attribute.add(id(child.value))
        if id(child) in inner_of_attribute and not isinstance(child, ast.Call):
            continue  # ``torch.nn`` inside ``torch.nn.Linear`` is not a use of its own
        if isinstance(child, ast.Attribute) or (
            isinstance(child, ast.Name) and child.id not in local_names
        ):
            yield Use(child.lineno, _dotted(child, visible))
        elif isinstance(child, ast.BinOp) and isinstance(child.op, ast.MatMult):
            yield Use(child.lineno, "@")


def _local_names(node: ast.AST) -> set[str]:
    """Collect the names that *node* assigns: its parameters and its variables."""
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
