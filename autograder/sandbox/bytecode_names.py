"""Lists the dotted names that code uses, and the names that a module binds, without running it.

Python's compiler has already decided which names are variables, globals and attributes. The
differences between versions of Python are in ``operations``.
"""

import ast
import builtins
import copy
import dis
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from types import CodeType
from typing import Any, NamedTuple

COMPUTED = "(computed)"  # replaces a name that is found while the program runs
STAR = "*"  # the name that `from ... import *` binds
MAX_NAME = 200  # characters of a dotted name; those in hand-written code have at most eighty
# These find an object by a text: one that is run, an argument, or one in brackets.
_EVALUATING = frozenset({"eval", "exec", "compile", "__import__", "globals", "import_module"})
_EVALUATORS = frozenset({"", "builtins", "importlib"})
_BY_TEXT = frozenset({"getattr", "attrgetter", "methodcaller"})
_TABLES = frozenset({"vars", "globals", "locals", "__dict__"})

BIND, _CALL = "bind a name of the module", "call"
_BIND_LOCAL, _GLOBAL, _LOCAL, _ATTRIBUTE = "bind a variable", "global", "variable", "attribute"
_SET_ATTRIBUTE, _ITEM, _VARIABLES = "set an attribute", "item", "variables"
ACTS = frozenset({_CALL, _SET_ATTRIBUTE, "STORE_SUBSCR"})  # these may keep an object that they get
_KINDS = {
    **dict.fromkeys(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"), _GLOBAL),
    **dict.fromkeys(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"), _LOCAL),
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"), _ATTRIBUTE),
    **dict.fromkeys(("STORE_NAME", "STORE_GLOBAL"), BIND),
    **dict.fromkeys(("CALL", "CALL_KW", "CALL_FUNCTION_EX"), _CALL),
    "STORE_DEREF": _BIND_LOCAL,
    "STORE_ATTR": _SET_ATTRIBUTE,
    "BINARY_SUBSCR": _ITEM,
    **{name: name for name in ("IMPORT_NAME", "IMPORT_FROM", "LOAD_CONST", "LOAD_SMALL_INT")},
    **{name: name for name in ("MATCH_CLASS", "POP_TOP", "STORE_SUBSCR", "SWAP")},
    **{name: _VARIABLES for name in dis.opmap if name.startswith(("LOAD_FAST", "STORE_FAST"))},
}
# These stand between the operations of one expression and change no name.
_SKIPPED = frozenset({"PUSH_NULL", "PRECALL", "KW_NAMES", "COPY", "EXTENDED_ARG", "NOP"})
_NAMED = frozenset({_GLOBAL, _LOCAL, _ATTRIBUTE})
_VERBS = {"LOAD": _LOCAL, "STORE": _BIND_LOCAL}
_Start = tuple[int, int | None]  # the line and the column at which an expression starts


class Mention(NamedTuple):
    """A dotted name and its line; ``?.softmax`` is an attribute of a computed value.

    *is_called* is true if the object is called at once, and not stored or passed on. *is_set* is
    true for an attribute that gets a value.
    """

    line: int
    name: str
    is_called: bool = False
    is_set: bool = False


class Operation(NamedTuple):
    """A step of the bytecode, and the name, constant or number that it has."""

    kind: str
    value: object = None
    start: _Start = (0, None)

    @property
    def line(self) -> int:
        """The line at which the expression starts."""
        return self.start[0]


_OTHER = Operation("other")


@dataclass(frozen=True)
class ModuleNames:
    """The names that a module binds; *aliases* maps those of imported objects to dotted names."""

    bound: frozenset[str]
    aliases: dict[str, str] = field(default_factory=dict)

    def is_own(self, name: str) -> bool:
        """Whether the module itself defines *name*, and does not import it."""
        return name in self.bound and name not in self.aliases

    def resolved(self, name: str) -> str:
        """Return the dotted name of the global *name*."""
        if STAR in self.aliases and name not in self.bound and not hasattr(builtins, name):
            return joined(self.aliases[STAR], [name])
        return self.aliases.get(name) or short(name)


def mentions(root: CodeType, names: ModuleNames) -> list[Mention]:
    """List each name in *root*, a statement in a module of these *names*, by line."""
    found: list[Mention] = []
    waiting: list[tuple[CodeType, Mapping[str, str]]] = [(root, {})]
    while waiting:
        code, outer = waiting.pop()
        imported = {name: outer[name] for name in code.co_freevars if name in outer}
        for line, name, is_called, is_set in _Reader(code, names, imported).mentions():
            found.append(Mention(line, name, is_called and code is root, is_set))
        waiting += [(inner, imported) for inner in code.co_consts if isinstance(inner, CodeType)]
    return sorted(found, key=lambda one: one.line)


class _Reader:
    """Reads the names in one code object; *imported* gets the names that a function imports."""

    def __init__(self, code: CodeType, names: ModuleNames, imported: dict[str, str]) -> None:
        self._names = names
        self._imported = imported
        self._is_function = is_function(code)
        self._all = operations(code)
        self._called = {one.start for one in self._all if one.kind == _CALL}

    def mentions(self) -> Iterator[Mention]:
        """Yield each name that the code uses."""
        for name, dotted, line in imports(self._all):
            if self._is_function:  # its code uses the name
                self._imported[name] = dotted
            yield Mention(line, dotted.partition(".")[0] if self._is_function else short(dotted))
        index, is_table = 0, False
        while index < len(self._all):
            one = self._all[index]
            if one.kind in _NAMED and one.value != "__name__":  # the compiler's, in a class
                names, end = self._chain(index)
                last = self._all[end - 1]
                is_called, is_set = last.start in self._called, last.kind == _SET_ATTRIBUTE
                yield from (Mention(one.line, name, is_called, is_set) for name in names)
                if names and (found := self._looked_up(names[-1], index, end)):
                    yield Mention(one.line, found)
                is_table |= last.value in _TABLES
                index = end
                continue
            items = self._all[index - 1].value  # a constant: the attributes in a pattern
            if one.kind == "MATCH_CLASS" and isinstance(items, tuple):
                yield from (Mention(one.line, f"?.{short(name)}") for name in items)
            elif one.kind == _ITEM and is_table and (text := self._text(index - 1)):
                yield Mention(one.line, f"?.{short(text)}", one.start in self._called)
            index += 1

    def _chain(self, index: int) -> tuple[list[str], int]:
        """Return the dotted name that starts at *index*, and the index of the operation after it.

        The module's own object at its start is a further name. A mere variable has none.
        """
        kind, base = self._all[index].kind, str(self._all[index].value)
        end = index + (kind != _ATTRIBUTE)
        attributes: list[str] = []
        while self._all[end].kind in {_ATTRIBUTE, _SET_ATTRIBUTE}:  # the last operation is a return
            attributes.append(str(self._all[end].value))
            end += 1
        if kind == _ATTRIBUTE:
            return [joined("?", attributes)], end
        name = self._names.resolved(base) if kind == _GLOBAL else self._imported.get(base, "")
        if not attributes:
            return [name] if name else [], end
        whole = joined(name or short(base), attributes)
        is_own = kind == _GLOBAL and self._names.is_own(base)
        return [name, whole] if is_own else [whole], end

    def _looked_up(self, name: str, index: int, end: int) -> str:
        """Return the name that the function *name* finds by a text; "" for other functions."""
        owner, _, function = name.rpartition(".")
        if self._names.is_own(str(self._all[index].value)):
            return ""
        if function in _EVALUATING and owner in _EVALUATORS:
            return f"?.{COMPUTED}"
        if function not in _BY_TEXT:
            return ""
        start = self._all[end - 1].start
        if start not in self._called:  # it is stored or passed on
            return f"?.{COMPUTED}"
        if function != "getattr":
            return joined("?", [self._text(end) or COMPUTED])
        call = end
        while (self._all[call].kind, self._all[call].start) != (_CALL, start):
            call += 1
        return self._of_owner(end, call)

    def _of_owner(self, first: int, call: int) -> str:
        """Return the name that a call of ``getattr`` finds; "" for a computed part of ``self``."""
        owner, after = "?", first
        if self._all[first].kind in {_GLOBAL, _LOCAL}:
            names, after = self._chain(first)
            owner = names[-1] if names else short(str(self._all[first].value))
        at = call - 1
        if self._all[call].value == 3:  # noqa: PLR2004  # with a default, which follows the text
            while self._all[at].kind == _ATTRIBUTE:
                at -= 1
            at -= 1
        if text := self._text(at):
            return joined(owner if after == at else "?", [text])
        return "" if owner == "self" else joined(owner, [COMPUTED])

    def _text(self, index: int) -> str:
        one = self._all[index]
        return one.value if one.kind == "LOAD_CONST" and isinstance(one.value, str) else ""


def is_function(code: CodeType) -> bool:
    """Whether *code* is a function or a comprehension, and not a class or a module."""
    return bool(code.co_flags & CO_OPTIMIZED)


def all_code(root: CodeType) -> Iterator[CodeType]:
    """Yield *root* and the code of all functions and classes inside it."""
    waiting = [root]
    while waiting:
        yield (code := waiting.pop())
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]


def operations(code: CodeType) -> list[Operation]:
    """List the operations of *code* that concern names, each other one as ``_OTHER``."""
    found: list[Operation] = []
    for one in dis.get_instructions(code):
        if one.opname in _SKIPPED:
            continue
        if one.is_jump_target or one.opname == "LOAD_SUPER_ATTR":
            found.append(_OTHER)  # an attribute that follows is not only of the name before
        kind = _ITEM if one.argrepr == "[]" else _KINDS.get(one.opname, "")
        if not kind:
            found.append(_OTHER)
            continue
        line, _, column, _ = one.positions or (None, None, None, None)
        start = (line or code.co_firstlineno, column)
        if kind != _VARIABLES:
            found.append(Operation(kind, one.argval, start))
            continue
        # Python 3.13 joins two operations on variables, such as STORE_FAST_LOAD_FAST.
        names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        verbs = [verb for verb in one.opname.split("_") if verb in _VERBS]
        for verb, name in zip(verbs, names, strict=True):
            found.append(Operation(_VERBS[verb], name, start))
    return found


def imports(found: Sequence[Operation]) -> Iterator[tuple[str, str, int]]:
    """Yield each name that an import in *found* binds, with its dotted name and its line."""
    module, dotted, items = "", "", None
    for index, one in enumerate(found):
        if one.kind == "IMPORT_NAME":
            level, items = found[index - 2].value, found[index - 1].value
            module = "." * (level if isinstance(level, int) else 0) + str(one.value)
            dotted = module.partition(".")[0] if items is None else ""
            if items == (STAR,):
                yield STAR, module, one.line
        elif one.kind == "IMPORT_FROM":
            dotted = module if items is None else f"{module}.{one.value}"
        elif one.kind in {BIND, _BIND_LOCAL} and dotted:
            yield str(one.value), dotted, one.line
            dotted = ""
        elif one.kind not in {"SWAP", "POP_TOP"}:  # the steps of `import a.b as c`
            dotted = ""


def short(name: str) -> str:
    """Return the start of *name*, which is longer than any name that matters."""
    return name[:MAX_NAME]


def joined(start: str, attributes: Sequence[str]) -> str:
    """Join the parts of a dotted name; a very long name counts as computed."""
    if len(attributes) <= MAX_NAME and len(name := ".".join([start, *attributes])) <= MAX_NAME:
        return name
    return f"?.{COMPUTED}"


DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CALLABLE = (*DEFINITION, ast.Name, ast.Attribute, ast.Lambda)  # may be a function or a class
_DISPLAY = (ast.Tuple, ast.List)
_STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]


class Binding(NamedTuple):
    """A name of the module, and the *code* of the statement or expression *node* that binds it.

    For an import, *imported* is the dotted name. *is_nested* is true if the statement may not run,
    or may run later.
    """

    name: str
    line: int
    node: ast.stmt | ast.expr
    code: CodeType
    imported: str = ""
    is_nested: bool = False

    @property
    def is_callable(self) -> bool:
        """Whether the name may refer to a function or class and not to a value."""
        return bool(self.imported) or isinstance(self.node, _CALLABLE)


def compiled(node: ast.stmt | ast.expr) -> CodeType:
    """Compile a statement or an expression."""
    tree = ast.Expression(node) if isinstance(node, ast.expr) else ast.Module([node], [])
    mode = "eval" if isinstance(node, ast.expr) else "exec"
    code: CodeType = compile(tree, "", mode, dont_inherit=True)
    return _with_short_constants(code)


def _with_short_constants(code: CodeType) -> CodeType:
    """Replace constants that ``dis`` can't show, such as a number of 5,000 digits, by ``None``."""
    return code.replace(co_consts=tuple(map(_short_constant, code.co_consts)))


def _short_constant(value: object) -> object:
    if isinstance(value, CodeType):
        return _with_short_constants(value)
    try:
        repr(value)
    except ValueError:
        return None
    return value


def flat(statements: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield simple statements, definitions and headings, and whether each may not run.

    A heading is a compound statement, such as an ``if``, without the statements inside it.
    """
    waiting = [(statement, False) for statement in reversed(statements)]
    while waiting:
        statement, is_nested = waiting.pop()
        heading, inner = _split(statement)
        yield heading, is_nested
        is_nested |= not isinstance(statement, ast.With)
        waiting += [(one, is_nested) for one in reversed(inner)]


def _split(statement: Any) -> tuple[Any, list[ast.stmt]]:
    """Return *statement* without the statements inside it, and these, as in both parts of an if."""
    inner: list[ast.stmt] = []
    if isinstance(statement, DEFINITION):
        return statement, inner
    heading = copy.copy(statement)
    for part in ("body", "orelse", "finalbody"):
        if statements := getattr(statement, part, None):
            inner += statements
            setattr(heading, part, [ast.Pass(lineno=1, col_offset=0)])
    for name in ("handlers", "cases"):
        if parts := [_split(part) for part in getattr(statement, name, ())]:
            inner += [one for _, found in parts for one in found]
            setattr(heading, name, [part for part, _ in parts])
    return heading, inner


def bindings(statement: ast.stmt, code: CodeType, *, is_nested: bool) -> Iterator[Binding]:
    """Yield the bindings of names of the module in *statement*, whose *code* is given."""
    if isinstance(statement, DEFINITION):
        yield Binding(statement.name, statement.lineno, statement, code, "", is_nested)
        for inner in all_code(code):
            if is_function(inner) and _STORE_GLOBAL in inner.co_code[::2]:
                for name, dotted in _bound_in(inner).items():
                    yield Binding(
                        name, inner.co_firstlineno, ast.Pass(), inner, dotted, is_nested=True
                    )
        return
    values = dict(_values(statement))
    codes = {id(getattr(statement, "value", None)): code}
    for name, dotted in _bound_in(code).items():
        value = values.get(name)
        if value is not None and id(value) not in codes:  # a part of a pair
            codes[id(value)] = compiled(value)
        found = code if value is None else codes[id(value)]
        yield Binding(name, statement.lineno, value or statement, found, dotted, is_nested)


def _bound_in(code: CodeType) -> dict[str, str]:
    parts = operations(code)
    names = {str(one.value): "" for one in parts if one.kind == BIND and one.value != "__doc__"}
    return names | {name: dotted for name, dotted, _ in imports(parts) if name in {*names, STAR}}


def _values(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    waiting = [(target, statement.value) for target in targets]
    for target, value in waiting:  # the loop extends the list
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, _DISPLAY) and isinstance(value, _DISPLAY):
            starred = any(isinstance(one, ast.Starred) for one in (*target.elts, *value.elts))
            if not starred and len(target.elts) == len(value.elts):
                waiting += zip(target.elts, value.elts, strict=True)


def certain(found: Sequence[Binding]) -> list[Binding]:
    """Return those of the bindings *found* of one name to which its uses certainly refer.

    These are the last ones. A class and an instance with the same name both count, because the
    class is graded.
    """
    if found[0].imported and len({one.imported for one in found}) == 1:
        return [found[-1]]
    if len(found) > 1 and any(one.is_nested and one.is_callable for one in found):
        return []
    kept: list[Binding] = []
    for one in found if len(found) == 1 else [one for one in found if not one.is_nested]:
        classes = (
            [] if one.is_callable else [old for old in kept if isinstance(old.node, DEFINITION)]
        )
        kept = [*classes, one]
    return kept
