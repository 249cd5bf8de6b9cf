"""Reads the names that a student's source uses from its syntax tree before it runs.

The worker does this before student code runs, so its output is trusted. It finds forbidden
functions like a linter and is not a defence. The functions and operators that a call runs are
counted separately (``call_counters``).

A definition is certain if its name cannot have a different value. Other definitions, and names that
are passed to other code, are possible uses: they cost no points, and the instructor gets a notice.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from autograder.sandbox.name_bindings import DEFINITION, STAR, Binding, module_bindings, walk
from autograder.sandbox.name_uses import COMPUTED, Mention, NameReader, dotted, odd_word, short

__all__ = ["COMPUTED", "Definition", "Use", "definitions", "parse", "reached_uses"]

_CALLABLE = (ast.Name, ast.Attribute, ast.Lambda)  # values that may be a function or a class
MAX_USES = 5_000  # different names in all definitions of a file; a hand-written one has hundreds
MAX_DEFINITIONS = 2_000  # in a file; a hand-written one has dozens
MAX_METHODS = 2_000  # in a file; a hand-written one has dozens
MODULE = ""  # stands for objects without a name, and for objects that are passed to other code
TOO_MANY = "(more names than are read)"


class Use(msgspec.Struct, frozen=True, array_like=True):
    """A dotted name and its first line; ``?.softmax`` is an attribute of a computed value."""

    line: int
    name: str


class Definition(msgspec.Struct, frozen=True):
    """A definition of a name of the module, with every name that it uses and its *methods*.

    *methods* include the attributes that the methods set, as ``self.name``. *assigned* is true if
    it is not a function or class of the source but a lambda, a different name or any value.
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
    """List the definitions of all cells; the last one may be that of ``MODULE``."""
    statements = [node for tree in trees if tree is not None for node in tree.body]
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
    waiting = [name, MODULE] if possible else [name]
    reached, uses = set(waiting), list[Use]()
    while waiting:
        for definition in by_name.get(waiting.pop(), ()):
            uses += definition.uses
            new = {use.name for use in definition.uses} - reached
            reached |= new
            waiting += new
    return tuple(uses)


def odd_words(known: Sequence[Definition]) -> tuple[Use, ...]:
    """List the words of a source that may hide which functions it calls; also ``TOO_MANY``."""
    uses = (use for definition in known if definition.name == MODULE for use in definition.uses)
    return tuple(use for use in uses if use.name == TOO_MANY or odd_word(use.name) == use.name)


class _Source:
    """Reads the definitions in the statements of one source."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        self._statements = statements
        self._all = list(module_bindings(statements))
        self._bindings: dict[str, list[Binding]] = {}
        for binding in self._all:
            self._bindings.setdefault(binding.name, []).append(binding)
        self._certain = {name: _certain(found) for name, found in self._bindings.items()}
        classes = {one.name for one in self._all if isinstance(one.value, ast.ClassDef)}
        aliases = self._aliases()
        self._reader = NameReader(aliases, self._bindings.keys(), classes)
        self._libraries = {name.partition(".")[0] for name in aliases.values()}
        self._read: dict[int, dict[str, Mention]] = {}  # by the id of the node
        self._uses_left, self._methods_left = MAX_USES, MAX_METHODS

    def definitions(self) -> tuple[Definition, ...]:
        """List the certain and possible definitions, and finally ``MODULE`` if it uses names."""
        found: list[Definition] = []
        for name, bindings in self._bindings.items():
            certain = self._certain[name]
            if any(binding.value is not None for binding in certain):
                found.append(self._definition(name, certain))
            possible = [binding for binding in bindings if binding not in certain]
            if possible and name != STAR:
                found.append(self._definition(name, possible, certain=False))
            if len(found) >= MAX_DEFINITIONS or not self._uses_left:
                self._uses_left = 0
                break
        rest = self._rest()
        return (*found, rest) if rest.uses else tuple(found)

    def _aliases(self) -> dict[str, str]:
        """Map names to the dotted names that imports and assignments certainly give them."""
        aliases: dict[str, str] = {}
        for binding in self._all:
            if binding not in self._certain[binding.name]:
                continue
            value = binding.value
            name = binding.imported if value is None else dotted(value, aliases)
            if binding.imported or "." in name:
                aliases[binding.name] = short(name)
        return aliases

    def _definition(
        self, name: str, bindings: Sequence[Binding], *, certain: bool = True
    ) -> Definition:
        uses: dict[str, Use] = {}
        methods: dict[str, None] = {}
        for binding in bindings:
            if binding.value is None:
                uses.setdefault(binding.imported, Use(binding.line, short(binding.imported)))
                continue
            for one in self._mentions(binding.value).values():
                uses.setdefault(one.name, Use(one.line, one.name))
            if isinstance(binding.value, DEFINITION):
                methods |= dict.fromkeys(_methods(binding.value))
        assigned = not any(isinstance(one.value, DEFINITION) for one in bindings)
        return Definition(
            name=short(name),
            line=bindings[0].line,
            uses=self._within_limit(uses.values()),
            assigned=assigned,
            methods=self._methods_within_limit(methods),
            certain=certain,
        )

    def _rest(self) -> Definition:
        """Return the definition of ``MODULE``: odd words, and names passed to other code."""
        odd: dict[str, Use] = {}
        passed_on: dict[str, Use] = {}
        own = {one.name for one in self._all if one.value is not None}
        for statement in self._statements:
            for one in self._mentions(statement).values():
                if word := odd_word(one.name, own):
                    odd.setdefault(word, Use(one.line, word))
                if one.is_passed_on and self._may_be_called(one.name):
                    passed_on.setdefault(one.name, Use(one.line, one.name))
        for binding in self._all:  # the file's own decorator may pass it on
            decorators = getattr(binding.value, "decorator_list", ())
            if any(_root(decorator) in own for decorator in decorators):
                passed_on.setdefault(binding.name, Use(binding.line, short(binding.name)))
        uses = self._within_limit(passed_on.values())
        if not self._uses_left:
            odd[TOO_MANY] = Use(1, TOO_MANY)
        return Definition(MODULE, 1, (*odd.values(), *uses), assigned=True)

    def _may_be_called(self, name: str) -> bool:
        """Whether *name* may be a function; parts of a call count, but its result does not.

        Honest code looks up layers of its own objects by name.
        """
        owner, dot, last = name.partition(".")
        if last == COMPUTED:
            return owner == "?" or owner in self._libraries
        return bool(dot) or any(
            not isinstance(one.value, ast.Call) or self._reader.makes_object(one.value)
            for one in self._bindings.get(name, ())
        )

    def _mentions(self, node: ast.AST) -> dict[str, Mention]:
        """Return the first use of each name in *node*, and whether the name is passed on there."""
        if id(node) not in self._read:
            found: dict[str, Mention] = {}
            for one in self._reader.mentions(node):
                known = found.setdefault(one.name, one)
                if one.is_passed_on and not known.is_passed_on:
                    found[one.name] = known._replace(is_passed_on=True)
            self._read[id(node)] = found
        return self._read[id(node)]

    def _within_limit(self, uses: Iterable[Use]) -> tuple[Use, ...]:
        kept = tuple(islice(uses, self._uses_left))
        self._uses_left -= len(kept)
        return kept

    def _methods_within_limit(self, methods: Iterable[str]) -> tuple[str, ...]:
        kept = tuple(short(name) for name in islice(methods, self._methods_left))
        self._methods_left -= len(kept)
        return kept


def _certain(bindings: Sequence[Binding]) -> list[Binding]:
    """Return those *bindings* of one name to which its uses certainly refer.

    These are the last ones. A class and an instance with the same name both count, because the
    class is graded.
    """
    if len({one.imported for one in bindings}) == 1 and bindings[0].imported:
        return [bindings[-1]]
    if len(bindings) > 1 and any(one.is_nested and _is_callable(one) for one in bindings):
        return []
    definition = assignment = imported = None
    for one in bindings if len(bindings) == 1 else [one for one in bindings if not one.is_nested]:
        if isinstance(one.value, DEFINITION):
            definition, assignment, imported = one, None, None
        elif one.imported:
            definition, assignment, imported = None, None, one
        else:
            assignment, imported = (one if one.is_exact else None), None
            definition = None if one.is_exact and _is_callable(one) else definition
    return [one for one in (definition, assignment, imported) if one is not None]


def _is_callable(binding: Binding) -> bool:
    """Whether the name may refer to a function or class and not to a value."""
    return bool(binding.imported) or isinstance(binding.value, (*DEFINITION, *_CALLABLE))


def _methods(definition: ast.AST) -> Iterator[str]:
    """Yield the names of the functions in *definition* and of the attributes that it sets."""
    for node in walk(definition)[1:]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield f"{getattr(node.value, 'id', '?')}.{node.attr}"


def _root(node: ast.AST) -> str:
    """Return the name at the start of a decorator; "" if it starts with something else."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""
