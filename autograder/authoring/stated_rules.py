"""Writes the rules that a stage's checks grade into its stub.

A rule for several exercises stands in the module's docstring, one for a single exercise in that
exercise's docstring.
"""

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from autograder.authoring import public_suite
from autograder.course import Stage
from autograder.errors import CourseError
from autograder.suite import rules

WIDTH = 100  # columns of a stub
_Documented = ast.Module | ast.FunctionDef | ast.ClassDef
OTHER_INPUTS = (  # `withhold_known_values` of the grader
    "Documented values and general properties count as soon as the results are right for other "
    "inputs too."
)
TITLE = "Rules, which are graded like the results:"


def add_rules(stub: str, stage: Stage, suite: str) -> str:
    """Return *stub* with the sentences of the rules that *suite* names.

    Raises ``CourseError`` for a rule that ``rules.toml`` does not have.
    """
    named = public_suite.rules_of(suite)
    known = rules.read(stage.rules)
    for name in named:
        if name not in known:
            msg = f"{stage.hidden_suite} names the rule {name!r}, which {stage.rules} lacks."
            raise CourseError(msg)
    names = [exercise.name for exercise in stage.exercises]
    lines = stub.split("\n")
    tree = ast.parse(stub)
    additions: list[tuple[_Documented, list[str]]] = [
        (tree, list(_module_rules(named, known, names)))
    ]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own = [known[name].sentence for name, where in named.items() if where == [node.name]]
            additions.append((node, [part for text in own for part in _wrapped(text, "    ")]))
    for scope, new in reversed(additions):
        if new:
            _extend_docstring(lines, scope, new)
    return "\n".join(lines)


def unstated(stub: str, suite: str, known: Mapping[str, rules.Rule]) -> Iterator[str]:
    """Yield each rule that a check of *suite* names and whose sentence *stub* does not hold."""
    text = " ".join(stub.split())
    for name in public_suite.rules_of(suite):
        if name not in known or " ".join(known[name].sentence.split()) not in text:
            yield name


def _module_rules(
    named: Mapping[str, Sequence[str]], known: Mapping[str, rules.Rule], names: Sequence[str]
) -> Iterator[str]:
    """Yield the block of rules that hold for more than one exercise, and of the grader itself."""
    shared = {rule: where for rule, where in named.items() if len(where) > 1 or len(names) == 1}
    yield from ("", TITLE, "")
    for rule in (name for name in known if name in shared):
        where = [name for name in names if name in shared[rule]]
        yield from _wrapped(f"- {known[rule].sentence}{_scope(where, names)}", "", "  ")
    yield from _wrapped(f"- {OTHER_INPUTS}", "", "  ")


def _scope(where: Sequence[str], names: Sequence[str]) -> str:
    """Say for which of the exercises *names* a rule holds, in the shorter way; empty for all."""
    others = [name for name in names if name not in where]
    if not others:
        return ""
    return (
        f" (All but {', '.join(others)}.)"
        if len(others) < len(where)
        else f" ({', '.join(where)}.)"
    )


def _wrapped(text: str, indent: str, later: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _extend_docstring(lines: list[str], scope: _Documented, new: Sequence[str]) -> None:
    """Insert the lines *new* at the end of the docstring of *scope*."""
    if ast.get_docstring(scope) is None:
        return  # `autograder verify` reports an exercise without a docstring
    node = scope.body[0]
    last = (node.end_lineno or node.lineno) - 1
    text, quotes = lines[last].rstrip()[:-3].rstrip(), lines[last].rstrip()[-3:]
    indent = "" if isinstance(scope, ast.Module) else "    "
    gap = [""] if not isinstance(scope, ast.Module) and last == node.lineno - 1 else []
    lines[last : last + 1] = [*([text] if text else []), *gap, *new, f"{indent}{quotes}"]
