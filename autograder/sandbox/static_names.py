"""Reads the names that a student's source uses from its syntax tree, before any of it runs.

The worker does this before student code runs, so its output is trusted: nothing could have changed
it. It is a lint for forbidden shortcuts and not a defence; the functions and operators that a call
runs are counted as well (``call_counters``).
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec
from msgspec.structs import replace

# Tuples: to make a union of types takes longer than to look whether a node is of one.
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CALLABLE = (ast.Name, ast.Attribute, ast.Lambda)  # what another function or class is assigned as
_LOOKUP = (ast.Call, ast.Subscript)
# What finds a name while the program runs; then the source does not show which one.
_LOOKUPS = frozenset({"eval", "exec", "compile", "__import__", "globals"})
_LOOKUPS_WITH_TEXT = frozenset({"getattr", "attrgetter", "methodcaller"})
COMPUTED = "(computed)"  # stands for a name that is found while the program runs
MAX_USES = 20_000  # of names in one file; a hand-written module has some hundreds


class Use(msgspec.Struct, frozen=True, array_like=True):
    """A dotted name and its line; ``?.softmax`` is an attribute of a computed value."""

    line: int
    name: str


class Definition(msgspec.Struct, frozen=True):
    """A function or class at module level, every name that it uses, and the *methods* inside.

    If *assigned*, it is the left side of an assignment: a lambda, another name, or any value.
    """

    name: str
    line: int
    uses: tuple[Use, ...]
    assigned: bool = False
    methods: tuple[str, ...] = ()


def parse(cells: tuple[bytes, ...]) -> list[ast.Module | None]:
    """Parse each cell; the result of a cell that is not valid Python is ``None``."""
    return [_parse(cell) for cell in cells]


def _parse(cell: bytes) -> ast.Module | None:
    try:
        return ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # NUL bytes; deep nesting
        return None


def walk(root: ast.AST) -> list[ast.AST]:
    """List *root* and the nodes below it, as ``ast.walk`` does, without those that hold nothing.

    Operators and contexts, nearly half of a tree, hold nothing.
    """
    nodes = [root]
    for node in nodes:  # the list grows meanwhile
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                nodes.append(value)
    return nodes


def definitions(trees: list[ast.Module | None]) -> tuple[Definition, ...]:
    """List the module-level definitions of all cells; of duplicates the last one."""
    bodies = [node for tree in trees if tree is not None for node in tree.body]
    nodes = [walk(body) for body in bodies]  # to walk them takes longer than all else
    aliases = _aliases(nodes)
    defined: dict[str, Definition] = {}
    assigned: dict[str, Definition] = {}
    for node, inner in zip(bodies, nodes, strict=True):
        if isinstance(node, _DEFINITION):
            uses = tuple(_uses(inner, aliases))
            methods = tuple(each.name for each in inner[1:] if isinstance(each, ast.FunctionDef))
            defined[node.name] = Definition(node.name, node.lineno, uses, methods=methods)
            assigned.pop(node.name, None)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, uses = node.targets[0].id, tuple(_uses(walk(node.value), aliases))
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


def _aliases(nodes: Sequence[Sequence[ast.AST]]) -> dict[str, str]:
    """Map names to the dotted names that imports and plain assignments gave them.

    The text "*" maps to the module from which all names were imported.
    """
    aliases: dict[str, str] = {}
    imported: set[str] = set()
    starred: list[str] = []
    for node in chain.from_iterable(nodes):
        if isinstance(node, ast.Import):
            for item in node.names:
                root = item.name.partition(".")[0]
                aliases[item.asname or root] = item.name if item.asname else root
                imported.add(root)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for item in node.names:
                if item.name == "*":
                    starred.append(node.module)
                else:
                    aliases[item.asname or item.name] = f"{node.module}.{item.name}"
            imported.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            dotted = _dotted(node.value, aliases)
            if dotted.partition(".")[0] in imported and "." in dotted:
                aliases[node.targets[0].id] = dotted
    if starred:
        own = {name for body in nodes for name in _bound(body[0])}
        aliases = {"*": starred[-1]} | {name: name for name in own} | aliases
    return aliases


def _bound(statement: ast.AST) -> Iterator[str]:
    """Yield the names that a function, class or plain assignment at module level binds."""
    if isinstance(statement, _DEFINITION):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _uses(nodes: Sequence[ast.AST], aliases: dict[str, str]) -> Iterator[Use]:
    """Yield the names that *nodes*, a whole tree, use, without its own variables."""
    local_names = _local_names(nodes)
    visible = {name: dotted for name, dotted in aliases.items() if name not in local_names}
    inner_of_attribute: set[int] = set()
    for child in nodes[: MAX_USES + 1]:
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
        elif isinstance(child, _LOOKUP) and (found := _looked_up(child, visible)):
            yield Use(child.lineno, found)


def _local_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Collect the names that *nodes* assign: parameters and variables."""
    stored = {
        child.id
        for child in nodes
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }
    return stored | {child.arg for child in nodes if isinstance(child, ast.arg)}


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):  # a recursive function would fail on a long chain
        parts.append(node.attr)
        node = node.value
    owner = "?" if parts else ""
    if isinstance(node, ast.Name):
        starred = f"{aliases['*']}.{node.id}" if "*" in aliases else node.id
        owner = aliases.get(node.id, starred)
    return ".".join([owner, *reversed(parts)])


def _looked_up(node: ast.Call | ast.Subscript, aliases: dict[str, str]) -> str:
    """Return the dotted name that *node* looks up by its text; "" if it looks nothing up."""
    if isinstance(node, ast.Subscript):
        table, name = node.value, _text(node.slice)
        is_table = isinstance(table, ast.Attribute) and table.attr == "__dict__"
        is_table |= isinstance(table, ast.Call) and _called(table) in {"vars", "globals", "locals"}
        return f"?.{name or COMPUTED}" if is_table else ""
    called = _called(node)
    if called == "import_module" or (called in _LOOKUPS and isinstance(node.func, ast.Name)):
        return f"?.{COMPUTED}"
    if called not in _LOOKUPS_WITH_TEXT or not node.args:
        return ""
    if called != "getattr":
        return f"?.{_text(node.args[0]) or COMPUTED}"
    owner = _dotted(node.args[0], aliases) or "?"
    if owner == "self" or len(node.args) == 1:  # a part of the module itself
        return ""
    return f"{owner}.{_text(node.args[1]) or COMPUTED}"


def _called(node: ast.Call) -> str:
    """Return the last part of the name of the function that is called."""
    called = node.func
    return called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")


def _text(node: ast.AST) -> str:
    """Return the text of a literal, or of literals that are added; "" for anything else."""
    parts: list[str] = []
    waiting = [node]
    while waiting:  # a recursive function would fail on a long sum
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            parts.append(part.value)
        else:
            return ""
    return "".join(parts)
