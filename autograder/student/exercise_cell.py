"""Writes definitions into a module in place of the old ones: a cell's, or those of a newer stub.

All other lines of the module stay as they are. Comments of the cell outside its definitions are not
written.
"""

import ast
import difflib
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from autograder.errors import UsageError
from autograder.sandbox.notebook_magics import bound_names
from autograder.submission.notebook import DEFINITION, MAGIC, lines_of, lines_of_node

_SETTING: Final = (ast.Assign, ast.AnnAssign, *filter(None, [getattr(ast, "TypeAlias", None)]))
_IMPORT: Final = (ast.Import, ast.ImportFrom)
NEAR: Final = 0.6  # the least similarity of a name that is suggested to a learner


class CellStatement(NamedTuple):
    """A statement of a cell: the *names* that it defines, its *text* and its *line* in the cell."""

    node: ast.stmt
    names: frozenset[str]
    text: str
    line: int

    @property
    def is_import(self) -> bool:
        """Whether the statement imports its names."""
        return isinstance(self.node, _IMPORT)

    @property
    def can_move(self) -> bool:
        """Whether the statement imports or defines names and does nothing else."""
        return isinstance(self.node, (*_SETTING, *_IMPORT, DEFINITION))

    @property
    def is_docstring(self) -> bool:
        """Whether the statement is a text alone, as at the top of a module."""
        value = self.node.value if isinstance(self.node, ast.Expr) else None
        return isinstance(value, ast.Constant) and isinstance(value.value, str)


def parts_of(cell: str, exercise: str, others: Collection[str]) -> list[CellStatement]:
    """Return the statements of *cell*; raise ``UsageError`` unless it defines *exercise* alone."""
    try:
        found = statements_of(cell)
    except SyntaxError as error:
        raise UsageError(
            f"This cell is not valid Python (line {(error.lineno or 1) + 1}: {error.msg}). "
            "Nothing was written."
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise UsageError("This cell can't be read as Python. Nothing was written.") from None
    for problem in _problems(found, exercise, others):
        raise UsageError(problem)
    return found


def statements_of(text: str) -> list[CellStatement]:
    """Return the statements of a module; raise ``SyntaxError`` if it is not valid Python."""
    lines, found = lines_of(text), []
    for node in _quietly_parsed(text).body:
        first, last = lines_of_node(node)
        own = "".join(lines[first - 1 : last]).rstrip("\r\n")
        found.append(CellStatement(node, frozenset(bound_names(node)), own, first + 1))
    return found


def written(module: str, cell: Sequence[CellStatement], label: str) -> str:
    """Return the text *module* with the statements of *cell* in place of the old ones.

    A new statement goes before the next statement of the cell that the module has. A new import
    goes after the other imports. Raises ``UsageError`` if the module named *label* can't be parsed,
    or sets a name of the cell again in a later line.
    """
    old = _module(module, label)
    lines = lines_of(module)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    places = _places(old)
    imported = {one for node in old.body if isinstance(node, _IMPORT) for one in _aliases(node)}
    changes: list[tuple[int, int, str]] = []  # lines from, up to, and the new text
    last = len(lines)  # new statements go before this line
    for part in reversed(cell):
        text = end.join(part.text.splitlines() if "\r" in part.text else part.text.split("\n"))
        if part.is_import:
            if not imported.issuperset(_aliases(part.node)):
                changes.append((line := _after_imports(old, part.node), line, text + end))
        elif place := places.get(part.names):
            changes.append((place[0] - 1, place[1], text + _line_break(lines[place[1] - 1])))
            last = _above_comments(lines, place[0] - 1)
        else:
            gap = f"{end * 2}{text}{end}" if last == len(lines) else f"{text}{end * 3}"
            changes.append((last, last, gap))
    new = _applied(lines, changes[::-1], end)
    _require_in_effect(new, cell, label)
    return new


def replaced_names(module: str, cell: Sequence[CellStatement]) -> list[str]:
    """List the names that *module* defines, and that the statements of *cell* define again."""
    places = _places(_quietly_parsed(module))
    return [name for part in cell if part.names in places for name in sorted(part.names)]


def is_same(text: str, other: str, exercise: str) -> bool:
    """Whether both texts define *exercise* by the same code, apart from layout and comments."""
    pair = [_last_definition(one, exercise) for one in (text, other)]
    return all(pair) and len({ast.dump(one) for one in pair if one}) == 1


def _last_definition(text: str, name: str) -> ast.stmt | None:
    try:
        body = _quietly_parsed(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [one for one in body if isinstance(one, DEFINITION) and one.name == name]
    return found[-1] if found else None


def _quietly_parsed(text: str) -> ast.Module:
    with warnings.catch_warnings(action="ignore"):  # the check reports the module's warnings
        return ast.parse(text)


def _problems(
    parts: Sequence[CellStatement], exercise: str, others: Collection[str]
) -> Iterator[str]:
    """Yield the reasons why a cell can't be written, each as a whole message."""
    for part in parts:
        if names := sorted(part.names & set(others)):
            yield (
                f"This cell also defines `{names[0]}` (line {part.line}), which is another "
                f"exercise. Give each exercise its own cell, with %%{MAGIC} {names[0]} on top. "
                "Nothing was written."
            )
        if not part.can_move:
            yield (
                f"Line {part.line} of this cell defines nothing. Move it to a cell without "
                f"%%{MAGIC}, because this cell becomes a part of your module. Nothing was written."
            )
    defined: dict[str, CellStatement] = {}
    for part in parts:
        for name in part.names if not part.is_import else ():
            if name in defined:
                yield (
                    f"This cell defines `{name}` twice, in lines {defined[name].line} and "
                    f"{part.line}. Delete one of them. Nothing was written."
                )
            defined[name] = part
    lines = [part.line for part in parts]
    ends = [part.line + part.text.count("\n") for part in parts]
    for start, end in zip(lines[1:], ends, strict=False):
        if start <= end:
            yield f"Line {start} of this cell holds two statements. Write each on its own line."
    if exercise not in defined:
        near = difflib.get_close_matches(exercise, defined, 1, NEAR)
        hint = f" It defines `{near[0]}`: is the name right?" if near else ""
        yield f"This cell does not define `{exercise}`.{hint} Nothing was written."


def _module(text: str, label: str) -> ast.Module:
    try:
        return _quietly_parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        raise UsageError(
            f"{label} is not valid Python{where}, so the place for this cell can't be found. "
            'Fix that line, or start again with lab.reset("NAME"), which keeps a copy of your '
            "file. Nothing was written."
        ) from None


def _places(module: ast.Module) -> dict[frozenset[str], tuple[int, int]]:
    """Map the names of each statement that has whole lines to these lines."""
    spans = [lines_of_node(node) for node in module.body]
    places = {}
    for index, (node, (first, last)) in enumerate(zip(module.body, spans, strict=True)):
        before = spans[index - 1][1] if index else 0
        after = spans[index + 1][0] if index + 1 < len(spans) else last + 1
        if isinstance(node, (*_SETTING, DEFINITION)) and before < first and last < after:
            places[frozenset(bound_names(node))] = first, last
    return places


def _aliases(node: ast.stmt) -> set[tuple[str, str, str]]:
    """Return the origin, name and local name of each import in *node*."""
    if isinstance(node, ast.Import):
        return {("", one.name, one.asname or "") for one in node.names}
    if isinstance(node, ast.ImportFrom):
        origin = f"{'.' * node.level}{node.module or ''}"
        return {(origin, one.name, one.asname or one.name) for one in node.names}
    return set()


def _after_imports(module: ast.Module, new: ast.stmt) -> int:
    """Return the number of lines before which the import *new* is inserted."""
    is_docstring = ast.get_docstring(module) is not None
    top = lines_of_node(module.body[0])[1] if is_docstring else 0
    for node in module.body[is_docstring:]:
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        wants_top = isinstance(new, ast.ImportFrom) and new.module == "__future__"
        if not isinstance(node, _IMPORT) or (wants_top and not is_future):
            return top or lines_of_node(node)[0] - 1
        top = lines_of_node(node)[1]
    return top


def _above_comments(lines: Sequence[str], at: int) -> int:
    """Return the line *at* or, if comments are right above it, the first of these."""
    while at and lines[at - 1].startswith("#"):
        at -= 1
    return at


def _line_break(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _applied(lines: list[str], changes: Sequence[tuple[int, int, str]], end: str) -> str:
    """Replace lines by the *changes*, of which those at the same line are in order."""
    if lines and not _line_break(lines[-1]) and any(start == len(lines) for start, *_ in changes):
        lines = [*lines[:-1], lines[-1] + end]
    new: list[str] = []
    at = 0
    for start, stop, text in sorted(changes, key=lambda change: change[:2]):
        new += [*lines[at:start], text]
        at = stop
    return "".join([*new, *lines[at:]])


def _require_in_effect(new: str, cell: Sequence[CellStatement], label: str) -> None:
    """Raise ``UsageError`` unless the module *new* defines each name as *cell* does."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(new, label, "exec", dont_inherit=True)
        body = ast.parse(new).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        msg = f"{label} would not be valid Python with this cell ({error}). Nothing was written."
        raise UsageError(msg) from None
    binding = {name: node for node in body for name in bound_names(node)}
    for part in cell:
        for name in part.names if not part.is_import else ():
            if ast.dump(binding[name]) != ast.dump(part.node):
                raise UsageError(
                    f"{label} sets `{name}` again, in the statement of line "
                    f"{binding[name].lineno}. Change it there, or use a different name. "
                    "Nothing was written."
                )


MOST_LINES: Final = 12  # of a change on the screen
DOCSTRING: Final = frozenset({"the docstring of the module"})


class Update(NamedTuple):
    """The *text* of the module now, and the *sentences* about it, with changed lines below."""

    text: str
    sentences: tuple[str, ...]


def updated(old: str, new: str, mine: str, label: str) -> Update:
    """Merge the changes from the stub *old* to *new* into *mine*, the module at *label*."""
    try:
        before, after, own = (_by_names(text) for text in (old, new, mine))
    except (SyntaxError, ValueError, RecursionError):
        return Update(mine, (_not_merged(label, "it is not valid Python"),))
    taken: list[CellStatement] = []
    kept: list[frozenset[str]] = []
    for names, statement in after.items():
        if names in before and _same(before[names], statement):
            continue
        is_untouched = names not in own or (names in before and _same(own[names], before[names]))
        if is_untouched and (names in own or names not in before):
            taken.append(statement)
        elif names not in own or not _same(own[names], statement):
            kept.append(names)
    try:
        text = _with_docstring(written(mine, [one for one in taken if one.names], label), taken)
    except UsageError as error:
        return Update(mine, (_not_merged(label, str(error)),))
    return Update(text, (*_taken(taken, label), *_kept(kept, before, after, label)))


def _by_names(text: str) -> dict[frozenset[str], CellStatement]:
    found = {}
    for one in statements_of(text):
        if one.is_docstring:
            found[DOCSTRING] = one
        elif one.can_move:
            found[one.names] = one
    return found


def _same(one: CellStatement, other: CellStatement) -> bool:
    return one.text.split() == other.text.split()


def _with_docstring(text: str, taken: list[CellStatement]) -> str:
    """Return *text* with the docstring in *taken*, if any, in place of the old one."""
    new = next((one for one in taken if one.is_docstring), None)
    old = next((one for one in statements_of(text) if one.is_docstring), None)
    if new is None or old is None:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    return text.replace(old.text, end.join(new.text.splitlines()), 1)


def _taken(taken: list[CellStatement], label: str) -> Iterator[str]:
    listed = (DOCSTRING if one.is_docstring else one.names for one in taken)
    names = [name for each in listed for name in sorted(each)]
    if names:
        yield f"updated {label} where you have not begun: {', '.join(names)}"


def _kept(
    kept: list[frozenset[str]],
    before: Mapping[frozenset[str], CellStatement],
    after: Mapping[frozenset[str], CellStatement],
    label: str,
) -> Iterator[str]:
    """Yield a sentence for each changed stub that is not taken over, and the changed lines."""
    for names in kept:
        yield f"{label}: the stub of {', '.join(sorted(names))} has changed; your code stays."
        old = before[names].text.splitlines() if names in before else []
        lines = list(difflib.unified_diff(old, after[names].text.splitlines(), n=0, lineterm=""))
        shown = [line for line in lines[2:] if not line.startswith("@@")]
        yield from (f"    {line}" for line in shown[:MOST_LINES])
        if len(shown) > MOST_LINES:
            yield f"    … and {len(shown) - MOST_LINES} more lines"


def _not_merged(label: str, reason: str) -> str:
    return f"{label} stays as it is, although its stub has changed ({reason.rstrip('.')})"
