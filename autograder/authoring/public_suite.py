"""Builds the public suite of a stage from the checks of its hidden suite that are not hidden.

The public suite contains everything that these checks use: imports, constants, helpers and
fixtures, including those of ``conftest.py``, and lists of ready-made functions, written out:
students receive neither ``conftest.py`` nor ``ready_made.toml``.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from autograder.errors import CourseError
from autograder.suite.forbidden import ready_made

DOCSTRING = '''"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""'''
WIDTH = 100  # columns; a longer import is written with one name per line
_LIST = re.compile(rf'\b{ready_made.__name__}\(__file__, "(\w+)"\)')  # one of ready_made.toml
GROUPS = ("standard library", "installed", "autograder")  # of imports, as the formatter sorts


class SuiteStatement(NamedTuple):
    """A statement at module level: the names that it binds and uses, and its text."""

    binds: frozenset[str]
    uses: frozenset[str]
    text: str
    exercise: str = ""  # the exercise of a check that students receive
    is_check: bool = False

    @property
    def is_block(self) -> bool:
        """Whether it is a function or a class, which needs empty lines around it."""
        return self.text.startswith(("def ", "class ", "@"))


def build(suite: str, conftest: str, name: str) -> str:
    """Return the public suite; raise ``CourseError`` if no check of *suite* is public."""
    own = [*_definitions(suite, name)]
    shared = [*_definitions(conftest, "conftest.py")]
    checks = [item for item in own if item.is_check and item.exercise]
    if not checks:
        raise CourseError(f"{name} has no check that students receive: all are hidden.")
    helpers = [item for item in (*shared, *own) if not item.is_check]
    used = _reachable(checks, helpers)
    names = {name for item in used for name in item.uses}
    if ready_made.__name__ in names:
        msg = f'{name}: name a list with a constant: `SOFTMAX = ready_made(__file__, "softmax")`.'
        raise CourseError(msg)
    text = DOCSTRING + _imports([suite, conftest], names)
    gap, exercise = "\n", ""
    for item in (item for item in (*shared, *own) if item in used):
        if item.exercise not in {"", exercise}:
            exercise = item.exercise
            text += f"\n\n# {exercise}\n"
        text += ("\n\n" if item.is_block else gap) + item.text + "\n"
        gap = "\n\n" if item.is_block else ""
    return text


def write_out_lists(text: str, suite: Path) -> str:
    """Replace each call of ``ready_made`` in *text*, the text of *suite*, by the list's names."""

    def names_of(call: re.Match[str]) -> str:
        rows = (f'        "{name}",\n' for name in sorted(ready_made(str(suite), call[1])))
        return "frozenset(\n    {\n" + "".join(rows) + "    }\n)"

    return _LIST.sub(names_of, text)


def rules_of(suite: str) -> dict[str, list[str]]:
    """Map each rule that checks of *suite* name to its exercises, in order."""
    found: dict[str, list[str]] = {}
    constants: dict[str, str] = {}
    for node in ast.parse(suite).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            constants |= dict.fromkeys(_bound(node), str(node.value.value))
        mark = _check_mark(node) if isinstance(node, ast.FunctionDef) else None
        if mark is None:
            continue
        for word in mark.keywords:
            for rule in ast.literal_eval(word.value) if word.arg == "rules" else ():
                exercises = found.setdefault(rule, [])
                exercise = _exercise(mark, constants)
                exercises += [exercise] if exercise not in exercises else []
    return found


def _definitions(text: str, name: str) -> Iterator[SuiteStatement]:
    lines = text.splitlines()
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise CourseError(f"{name}:{error.lineno}: {error.msg}.") from None
    constants: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            mark = _check_mark(node)
            hidden = mark is not None and any(word.arg == "hidden" for word in mark.keywords)
            exercise = _exercise(mark, constants) if mark and not hidden else ""
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            extent = "\n".join(lines[first - 1 : node.end_lineno])
            names = frozenset({node.name})
            yield SuiteStatement(names, _uses(node), extent, exercise, mark is not None)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            extent = "\n".join([*lines[node.lineno - 1 : node.end_lineno], *_comment(lines, node)])
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                constants |= dict.fromkeys(_bound(node), node.value.value)
            yield SuiteStatement(_bound(node), _uses(node), extent)


def _exercise(mark: ast.Call, constants: dict[str, str]) -> str:
    named = mark.args[0]
    if isinstance(named, ast.Name):
        return constants.get(named.id, named.id)
    return str(ast.literal_eval(named))


def _comment(lines: Sequence[str], node: ast.stmt) -> Iterator[str]:
    """Yield the lines below *node* that continue a comment at its end."""
    end = node.end_lineno or node.lineno
    if "#" in lines[end - 1][node.end_col_offset or 0 :]:
        for line in lines[end:]:
            if not line.startswith("# "):
                return
            yield line


def _check_mark(node: ast.FunctionDef | ast.ClassDef) -> ast.Call | None:
    calls = (mark for mark in node.decorator_list if isinstance(mark, ast.Call))
    return next((call for call in calls if getattr(call.func, "id", "") == "check"), None)


def _bound(node: ast.Assign | ast.AnnAssign) -> frozenset[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    inner = (part for target in targets for part in ast.walk(target))
    return frozenset(part.id for part in inner if isinstance(part, ast.Name))


def _uses(node: ast.AST) -> frozenset[str]:
    """Return the names that *node* uses, including parameters, which may name fixtures."""
    return frozenset(
        part.id if isinstance(part, ast.Name) else part.arg
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.arg)
    )


def _reachable(
    checks: Sequence[SuiteStatement], helpers: Sequence[SuiteStatement]
) -> list[SuiteStatement]:
    found = list(checks)
    for item in found:  # the loop extends the list
        found += [other for other in helpers if other.binds & item.uses and other not in found]
    return found


def _imports(texts: Sequence[str], used: set[str]) -> str:
    """Return the imports of *texts* that bind a *used* name, in the order of the formatter."""
    plain: dict[str, None] = {}
    named: dict[str, set[str]] = {}
    for node in (node for text in texts for node in ast.parse(text).body):
        if isinstance(node, ast.Import):
            plain |= dict.fromkeys(_source_of(item) for item in node.names if _binds(item) in used)
        elif isinstance(node, ast.ImportFrom) and node.module:
            kept = {_source_of(item) for item in node.names if _binds(item) in used}
            if kept:
                named.setdefault(node.module, set()).update(kept)
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for module in sorted(plain):
        groups[_group(module)].append(f"import {module}")
    for module in sorted(named):
        # The formatter sorts constants first, then classes, then functions.
        names = sorted(named[module], key=lambda name: (_case(name.partition(" ")[0]), name))
        groups[_group(module)].append(_from(module, names))
    blocks = ["\n".join(lines) for lines in groups.values() if lines]
    return "\n\n" + "\n\n".join(blocks) + "\n"


def _binds(imported: ast.alias) -> str:
    """Return the name that an import binds: ``import torch.nn`` binds ``torch``."""
    return imported.asname or imported.name.partition(".")[0]


def _source_of(imported: ast.alias) -> str:
    return f"{imported.name} as {imported.asname}" if imported.asname else imported.name


def _group(module: str) -> str:
    root = re.split(r"[. ]", module, maxsplit=1)[0]
    if root == "autograder":
        return "autograder"
    return "standard library" if root in sys.stdlib_module_names else "installed"


def _case(name: str) -> int:
    return 0 if name.isupper() else 1 if name[:1].isupper() else 2


def _from(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])
