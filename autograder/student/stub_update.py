"""Brings a learner's module up to date with a newer stub, exercise by exercise.

A definition that the learner has not begun is replaced. One that the learner has written stays, and
the lines that have changed in its stub are shown.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from autograder.errors import UsageError
from autograder.student.exercise_cell import CellStatement, statements_of, written

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
    """Map the names that each statement of *text* defines to the statement."""
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
    names = [name for one in taken for name in _listed(one)]
    if names:
        yield f"updated {label} where you have not begun: {', '.join(names)}"


def _listed(one: CellStatement) -> list[str]:
    return sorted(DOCSTRING if one.is_docstring else one.names)


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
