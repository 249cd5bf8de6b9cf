"""Lists the definitions of a student's source and the names that they use, before it runs.

The worker does this before student code runs, so its output is trusted. It compiles each statement
and reads its bytecode. It finds forbidden functions like a linter and is not a defence. The
functions and operators that a call runs are counted separately (``call_counters``).

A definition is certain if its name cannot have a different value. Other definitions, and names that
are passed to other code, are possible uses: they cost no points, and the instructor gets a notice.
"""

import ast
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.machinery import PathFinder
from itertools import islice
from types import CodeType, ModuleType
from typing import Final

import msgspec

from autograder.sandbox.bytecode_names import (
    ACTS,
    COMPUTED,
    DEFINITION,
    STAR,
    Binding,
    Mention,
    ModuleNames,
    all_code,
    bindings,
    certain,
    compiled,
    flat,
    mentions,
    operations,
    short,
)

# What honest modules reach is a list, because the ways to hide a call have no end: a package that
# runs texts, a new operator, native code, a module of the kit.
_USUAL: Final = frozenset(
    {"__future__", "abc", "bisect", "collections", "contextlib", "copy", "dataclasses", "decimal"}
    | {"enum", "fractions", "functools", "heapq", "itertools", "logging", "math", "matplotlib"}
    | {"numbers", "numpy", "operator", "pprint", "random", "re", "statistics", "textwrap", "time"}
    | {"torch", "tqdm", "typing", "typing_extensions", "warnings"}
)
_USUAL_MODULES: Final = frozenset(  # of the packages in _LISTED
    {"numpy", "numpy.fft", "numpy.lib.stride_tricks", "numpy.linalg", "numpy.random"}
    | {"numpy.testing", "numpy.typing"}
    | {"torch", "torch.backends.cudnn", "torch.backends.mps", "torch.cuda", "torch.distributions"}
    | {"torch.functional", "torch.linalg", "torch.mps", "torch.nn", "torch.nn.functional"}
    | {"torch.nn.init", "torch.nn.modules", "torch.nn.parameter", "torch.nn.utils"}
    | {"torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler", "torch.random"}
    | {"torch.testing", "torch.types", "torch.utils", "torch.utils.data"}
)
_LISTED: Final = frozenset({"numpy", "torch"})
# These run a text, so nothing that they define has a definition in the source.
_RUNNING: Final = frozenset({"exec", "eval", "__import__"})
_MAX_PATH: Final = 200  # characters; longer texts are prose
_PATH: Final = re.compile(
    r"\.\./|/\w|~/|\w:\\|\\\\|.*(?:course-secret|AUTOGRADER_|gradebook\.db|tests/hidden|solutions?/)"
)


def words_of_statements(
    statements: Iterable[ast.stmt], own: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Yield the unusual words of *statements* with their lines.

    *own* are the names that the module defines itself. Docstrings and other texts that no code uses
    are left out.
    """
    unused: set[int] = set()
    for node in (inner for statement in statements for inner in ast.walk(statement)):
        if isinstance(node, ast.Expr):
            unused.add(id(node.value))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, word) for name in _imported(node) if (word := unusual(name)))
        elif isinstance(node, ast.Name) and node.id in _RUNNING and node.id not in own:
            yield node.lineno, node.id
        elif isinstance(node, ast.Constant) and id(node) not in unused:
            text = node.value if isinstance(node.value, str) else ""
            if len(text) <= _MAX_PATH and _PATH.match(text):
                yield node.lineno, repr(text)


def unusual(name: str) -> str:
    """Return the first module on the way to a dotted *name* that honest modules do not need.

    Return "" if there is none. A module may be an attribute of another one, as in
    ``torch.nn.functional.torch.jit``.
    """
    module, *parts = name.split(".")
    if module == "autograder":
        return ".".join([module, *parts[:1]])
    if module == "torch" and (found := next((one for one in parts if re.match("_[^_]", one)), "")):
        return f"torch.….{found}"
    while _is_usual(module) and parts:
        if module in sys.modules:
            module, *parts = _below(module, parts)
        else:
            hidden = (one for one in parts if one.lstrip("_") in sys.stdlib_module_names - _USUAL)
            return next(hidden, "")
    return "" if _is_usual(module) else module


def _is_usual(module: str) -> bool:
    """Whether honest modules use *module*, or a module of the package *module*."""
    package = module.partition(".")[0]
    if package not in _LISTED:
        return package in _USUAL
    return module in _USUAL_MODULES or any(one.startswith(f"{module}.") for one in _USUAL_MODULES)


def _below(module: str, parts: Sequence[str]) -> list[str]:
    """Return the module that the first of *parts* is in *module*, and the parts after it.

    For a name that is not a module, return *module* alone.
    """
    names = vars(sys.modules[module])
    if isinstance(found := names.get(parts[0]), ModuleType):
        return [found.__name__, *parts[1:]]
    inner = f"{module}.{parts[0]}"
    if parts[0] not in names and PathFinder.find_spec(inner, names.get("__path__", [])):
        return [inner, *parts[1:]]  # torch imports some of its modules on first use
    return [module]


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level or not node.module:
        return []
    return [f"{node.module}.{alias.name}" for alias in node.names]


__all__ = ["COMPUTED", "Definition", "Use", "definitions", "parse", "reached_uses"]

MAX_NAMES = 4_000  # definitions, their uses and methods; a hand-written file has hundreds
MAX_ODD = 40  # words that honest modules do not need; a notice names the first ones
MAX_STATEMENTS = 3_000  # of the module itself; a hand-written file has dozens
MODULE = ""  # stands for objects without a name, and for objects that are passed to other code
TOO_MANY = "(more names than are read)"
ODD = "(odd)"  # stands for the words that honest modules do not need
# These reach a function without its name, or call it where calls are not counted.
_ODD_TABLES = frozenset({"vars", "globals", "locals"})
_ODD_PARTS = frozenset(
    {"__builtins__", "__loader__", "__spec__", "next_functions", "settrace", "setprofile"}
    | {"_getframe", "get_objects", "get_referents", "get_referrers"}
)
# Attributes by which a value that may be a module leads to other modules.
_ODD_ATTRIBUTES = frozenset(
    {"_C", "_VF", "builtins", "ctypes", "importlib", "jit", "ops", "os", "sys", "torch"}
)
# Other special names lead from a value to the code and the modules behind it.
_USUAL_SPECIAL = frozenset(
    {"__annotations__", "__class__", "__doc__", "__file__", "__main__", "__module__", "__name__"}
    | {"__qualname__", "__version__", "__call__", "__enter__", "__exit__", "__init__", "__new__"}
    | {"__post_init__"}
    | {"__iter__", "__next__", "__len__", "__getitem__", "__setitem__", "__contains__", "__repr__"}
    | {"__str__", "__eq__", "__hash__", "__setattr__", "__array__"}
    | {"__matmul__", "__rmatmul__", *vars(float)} - {"__getattribute__"}
)


class Use(msgspec.Struct, frozen=True, array_like=True):
    """A dotted name and its first line; ``?.softmax`` is an attribute of a computed value."""

    line: int
    name: str


class Definition(msgspec.Struct, frozen=True):
    """A definition of a name of the module, with every name that it uses and its *methods*.

    *methods* include classes inside it, and the attributes that methods set, as ``self.name``.
    *assigned* is true if it is not a function or class of the source but a lambda, a different name
    or any value.
    *certain* is true if the name can't be bound to anything else.
    """

    name: str
    line: int
    uses: tuple[Use, ...]
    assigned: bool = False
    methods: tuple[str, ...] = ()
    certain: bool = True


def parse(cells: tuple[bytes, ...]) -> list[ast.Module | None]:
    """Parse each cell; the result of a cell that is not valid Python is ``None``."""
    return [_parse(cell) for cell in cells]


def _parse(cell: bytes) -> ast.Module | None:
    try:
        return ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # NUL bytes; deep nesting
        return None


def definitions(trees: Sequence[ast.Module | None]) -> tuple[Definition, ...]:
    """List the definitions of all cells; the last ones may be those of ``MODULE`` and ``ODD``."""
    statements = [node for tree in trees if tree is not None for node in tree.body]
    with warnings.catch_warnings():  # running the source shows them to the student
        warnings.simplefilter("ignore")
        return _Source(statements).definitions() if statements else ()


def reached_uses(
    known: Sequence[Definition], name: str, *, possible: bool = False
) -> tuple[Use, ...]:
    """List the dotted names in the source of *name* and of the *known* definitions that it uses.

    With *possible*, also list names that it may use, as far as the source shows.
    """
    by_name: dict[str, list[Definition]] = {}
    for definition in known:
        if definition.certain or possible:
            by_name.setdefault(definition.name, []).append(definition)
    reached = dict.fromkeys([name, MODULE] if possible else [name])
    waiting, uses = list(reached), list[Use]()
    for one in waiting:  # the loop extends the list
        for definition in by_name.get(one, ()):
            uses += definition.uses
            new = dict.fromkeys(use.name for use in definition.uses if use.name not in reached)
            reached |= new
            waiting += new
    return tuple(uses)


def odd_words(known: Sequence[Definition]) -> tuple[Use, ...]:
    """List the words of a source that may hide which functions it calls; also ``TOO_MANY``."""
    return next((definition.uses for definition in known if definition.name == ODD), ())


def defines_nothing(known: Sequence[Definition]) -> bool:
    """Whether no statement of a source defines a name."""
    return {definition.name for definition in known} <= {MODULE, ODD}


class _Source:
    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        self._left = MAX_NAMES
        self._statements = statements[:MAX_STATEMENTS]
        self._is_complete = True  # whether every statement was read
        self._code: list[tuple[ast.stmt, CodeType]] = []
        every: list[Binding] = []
        for node, is_nested in flat(statements):
            if len(self._code) == MAX_STATEMENTS:
                self._left = 0
                break
            try:
                self._code.append((node, compiled(node)))
                every += bindings(*self._code[-1], is_nested=is_nested)
            except (SyntaxError, ValueError):  # such as `return` outside of a function
                continue
            except (RecursionError, MemoryError, OverflowError):
                self._is_complete = False
        self._bindings: dict[str, list[Binding]] = {}
        for one in every:
            self._bindings.setdefault(one.name, []).append(one)
        self._certain = {name: certain(found) for name, found in self._bindings.items()}
        self._own = {one.name for one in every if not one.imported}
        self._names = ModuleNames(frozenset(self._bindings))
        self._libraries: set[str] = set()
        for one in every:  # in this order, because an alias may be an attribute of another
            if one in self._certain[one.name] and (dotted := self._dotted(one)):
                self._names.aliases[one.name] = dotted
                self._libraries.add(dotted.partition(".")[0])
        self._read: dict[int, dict[str, Mention]] = {}  # by the id of the code

    def definitions(self) -> tuple[Definition, ...]:
        """List the certain and possible definitions, then ``MODULE`` and ``ODD`` if in use."""
        found: list[Definition] = []
        for name, bound in self._bindings.items():
            sure = self._certain[name]
            if any(not one.imported for one in sure):
                found.append(self._definition(name, sure))
            possible = [one for one in bound if one not in sure]
            if possible and name != STAR:
                found.append(self._definition(name, possible, certain=False))
            if self._left <= 0:
                break
        passed = {use.name: use for node, code in self._code for use in self._passed(node, code)}
        passed_on = tuple(islice(passed.values(), self._left))
        rest = (Definition(MODULE, 1, passed_on, assigned=True), self._odd_words(len(passed_on)))
        return (*found, *(one for one in rest if one.uses))

    def _dotted(self, binding: Binding) -> str:
        """Return the dotted name of the imported object that *binding* gives a name, or ""."""
        if binding.imported or not isinstance(binding.node, ast.Name | ast.Attribute):
            return short(binding.imported)
        names = [name for name in self._mentions(binding.code) if "." in name]
        return next((name for name in names if name.partition(".")[0] in self._libraries), "")

    def _mentions_in(self, code: CodeType) -> dict[str, Mention]:
        if id(code) not in self._read:
            self._read[id(code)] = self._mentions(code)
        return self._read[id(code)]

    def _mentions(self, code: CodeType) -> dict[str, Mention]:
        found: dict[str, Mention] = {}
        for one in mentions(code, self._names):
            line, name, is_called, is_set = found.setdefault(one.name, one)
            found[name] = Mention(line, name, is_called and one.is_called, is_set or one.is_set)
        return found

    def _definition(
        self, name: str, bound: Sequence[Binding], *, certain: bool = True
    ) -> Definition:
        uses: dict[str, Use] = {}
        methods: dict[str, None] = {}
        is_assigned = True
        for one in bound:
            read = self._mentions_in(one.code)
            for mention in read.values():
                uses.setdefault(mention.name, Use(mention.line, mention.name))
            if isinstance(one.node, DEFINITION):
                is_assigned = False
                inner = (code.co_name for code in all_code(one.code))
                named = (short(other) for other in inner if other != name and other[0] != "<")
                methods |= dict.fromkeys(named)
                methods |= {mention.name: None for mention in read.values() if mention.is_set}
        kept = tuple(islice(uses.values(), self._left))
        inside = tuple(islice(methods, self._left))
        self._left = max(0, self._left - len(kept) - len(inside) - 1)
        return Definition(short(name), bound[0].line, kept, is_assigned, inside, certain)

    def _odd_words(self, passed_on: int) -> Definition:
        """Return the definition of ``ODD``, after *passed_on* names that were kept before."""
        odd = {word: line for line, word in words_of_statements(self._statements, self._own)}
        for _, code in self._code:
            for line, name, *_ in self._mentions_in(code).values():
                if word := _odd_word(name, self._own):
                    odd.setdefault(word, line)
        uses = [Use(line, short(word)) for word, line in odd.items()][:MAX_ODD]
        if not self._is_complete or self._left <= passed_on:
            uses.append(Use(1, TOO_MANY))
        return Definition(ODD, 1, tuple(uses), assigned=True)

    def _passed(self, node: ast.stmt, code: CodeType) -> Iterator[Use]:
        """Yield the names of objects that a statement of the module may keep for other code."""
        if isinstance(node, DEFINITION):
            parts = [part for one in node.decorator_list for part in ast.walk(one)]
            if any(isinstance(part, ast.Name) and part.id in self._own for part in parts):
                yield Use(node.lineno, short(node.name))
        elif any(one.kind in ACTS for one in operations(code)):
            for line, name, is_called, _ in self._mentions_in(code).values():
                may_run = "." in name or any(
                    one.is_callable for one in self._bindings.get(name, ())
                )
                if may_run and not is_called and not name.endswith(COMPUTED):
                    yield Use(line, name)


def _odd_word(name: str, own: Collection[str] = ()) -> str:
    """Return the part of *name*, not one's *own*, that may hide which functions are called."""
    parts = name.split(".")
    if parts[0] in _ODD_TABLES and parts[0] not in own:
        return parts[0]
    if parts[:2] == ["sys", "modules"]:
        return "sys.modules"
    found = (part for part in parts if part in _ODD_PARTS)
    dunder = (part for part in parts[1:] if part.startswith("__") and part.endswith("__"))
    special = (part for part in dunder if part not in _USUAL_SPECIAL)
    if odd := next(found, "") or next(special, ""):
        return odd
    if parts[0] in _USUAL and parts[0] not in own:
        return unusual(name.partition(f".{COMPUTED}")[0])
    odd = next((part for part in parts[1:] if part in _ODD_ATTRIBUTES), "")
    return "" if parts[0] == "self" else odd
