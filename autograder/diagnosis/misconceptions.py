"""Reads misconceptions: changes to the solution, each with sentences about the mistake.

``verify`` submits the changed solution like a student's module, to prove that the suite detects the
mistake. The supervisor runs it to recognize the mistake in an answer.
"""

import __future__

import ast
import functools
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any

import msgspec
from msgspec.structs import force_setattr, replace

from autograder.course import Stage
from autograder.diagnosis import own_sentences
from autograder.diagnosis.conditions import require_conditions
from autograder.diagnosis.mistakes.kinds import silenced
from autograder.diagnosis.own_sentences import OwnSentence
from autograder.diagnosis.student_code import operations
from autograder.errors import CourseError
from autograder.results import title_of


class Misconception(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake in one exercise.

    *swaps* are pairs (old, new) that replace text in the exercise's definition in the solution;
    each old text must occur exactly once. Instead, *code* may replace the whole definition.
    *explanation* describes the mistake in one sentence. *question* helps without showing the line.
    *title* names the mistake if the explanation's first clause does not. The sentence is said only
    about a source that fulfills the conditions in *when* (see ``conditions``). If a source fulfills
    those in *seen*, the mistake is named before any other, without a comparison. *ties* lists
    misconceptions that no answer can distinguish from this one, and *why_tied* is the reason. If
    the misconception passes the public suite, *only_hidden* is the reason why only hidden inputs
    can show it.
    """

    id: str
    exercise: str
    explanation: str
    question: str
    title: str = ""
    when: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    code: str = ""
    ties: tuple[str, ...] = ()
    why_tied: str = ""
    only_hidden: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "title", self.title or title_of(self.explanation))

    def module(self, solution: str) -> str:
        """Return *solution* with this mistake; raise ``CourseError`` if that is not possible."""
        start, end = _extent(solution, self.exercise)
        lines = solution.splitlines(keepends=True)
        text = self._definition(lines[start:end])
        self._parse(text)
        return "".join([*lines[:start], text, *lines[end:]])

    def fits(self, solution: str) -> bool:
        """Whether *solution* can have this mistake."""
        try:
            self.module(solution)
        except CourseError:
            return False
        return True

    def steps(self, solution: str) -> tuple[str, ...]:
        """The operations in the statements that it changes (see ``student_code``)."""
        right, wrong = (
            {ast.unparse(node): node for node in _statements(text, self.exercise)}
            for text in (solution, self.module(solution))
        )
        changed = [node for text, node in wrong.items() if text not in right]
        return tuple(sorted(operations(each for node in changed for each in ast.walk(node))))

    def compile(self, solution: str, file: str) -> CodeType:
        """Compile only the wrong definition, with the lines that it has in *file*."""
        start, end = _extent(solution, self.exercise)
        tree = self._parse(self._definition(solution.splitlines(keepends=True)[start:end]))
        code: CodeType = compile(
            ast.increment_lineno(tree, start),
            file,
            "exec",
            __future__.annotations.compiler_flag,  # to evaluate annotations would take time
            dont_inherit=True,
        )
        return code

    def _definition(self, lines: Sequence[str]) -> str:
        """Return the wrong definition, which replaces *lines* of the solution."""
        return dedent(self.code) if self.code else self._swapped("".join(lines))

    def _parse(self, text: str) -> ast.Module:
        try:
            return ast.parse(text)
        except SyntaxError as error:
            msg = f"misconception {self.id} is not valid Python: {error}"
            raise CourseError(msg) from None

    def _swapped(self, body: str) -> str:
        for old, new in self.swaps:
            if (times := body.count(old)) != 1:
                msg = f"misconception {self.id}: {old!r} occurs {times} times in {self.exercise}"
                raise CourseError(msg)
            body = body.replace(old, new)
        return body


def read(path: Path) -> tuple[Misconception, ...]:
    """Read ``MISCONCEPTIONS`` from *path*; empty if there is no file.

    Raises ``CourseError`` if they are malformed.
    """
    found = tuple(_read(path, "MISCONCEPTIONS", ()))
    ids = [item.id for item in found]
    for item in found:
        if ids.count(item.id) > 1:
            msg = f"{path}: two misconceptions are named {item.id!r}."
            raise CourseError(msg)
        if bool(item.swaps) == bool(item.code) or not item.explanation or not item.question:
            msg = f"{path}: {item.id} needs an explanation, a question, and either swaps or code."
            raise CourseError(msg)
        try:
            require_conditions((*item.when, *item.seen))
        except ValueError as error:
            msg = f"{path}: {item.id}: {error}."
            raise CourseError(msg) from None
        if unknown := set(item.ties) - set(ids):
            msg = f"{path}: {item.id} is tied to unknown {sorted(unknown)}."
            raise CourseError(msg)
    own = own_sentences.of_misconceptions(path.parent, ids)
    return tuple(_reworded(item, own[item.id]) if item.id in own else item for item in found)


def _reworded(item: Misconception, own: OwnSentence) -> Misconception:
    explanation = own.explanation or item.explanation
    title = own.title or (title_of(explanation) if own.explanation else item.title)
    question = own.question or item.question
    return replace(item, explanation=explanation, question=question, title=title)


def known_in(stage: Stage) -> tuple[Misconception, ...]:
    """Return the misconceptions of *stage*, and those of the stages from which it has copies.

    A misconception whose text does not occur in the copy is left out.
    """
    own = read(stage.misconceptions)
    ids, text = {item.id for item in own}, stage.solution.read_text("utf-8")
    hidden = stage.hidden.parent
    copied = [
        item
        for one in stage.exercises
        if one.copied_from
        for item in read(hidden / one.copied_from / stage.misconceptions.name)
        if item.exercise == one.name and item.id not in ids and item.fits(text)
    ]
    return (*own, *copied)


def read_operators(stage: Stage) -> dict[str, tuple[str, str] | None]:
    """Read the explanation and question of reworded kinds of mistake of *stage*.

    They are in ``sentences.toml`` and in ``OPERATORS``. ``None`` turns a kind off; the course turns
    off whole groups.
    """
    own = own_sentences.of_kinds(stage)
    return {**silenced(stage.kinds), **own, **_read(stage.misconceptions, "OPERATORS", {})}


def _read(path: Path, name: str, default: Any) -> Any:
    """Return the value of *name* in the file at *path*, else *default*."""
    if not path.is_file():
        return default
    spec = importlib.util.spec_from_file_location(f"_misconceptions_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        msg = f"{path} can't be read as Python."
        raise CourseError(msg)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        msg = f"{path} can't be imported: {type(error).__name__}: {error}."
        raise CourseError(msg) from error
    return getattr(module, name, default)


def _statements(text: str, name: str) -> Iterator[ast.stmt]:
    """Yield the statements in definition *name* that contain no others."""
    for node in ast.parse(text).body:
        if getattr(node, "name", "") == name:
            for each in ast.walk(node):
                if isinstance(each, ast.stmt) and not hasattr(each, "body"):
                    yield each


@functools.lru_cache(maxsize=100)  # an exercise has about twenty misconceptions
def _extent(solution: str, name: str) -> tuple[int, int]:
    """Return the first line and the end of definition *name*, including the markers in it."""
    for node in ast.parse(solution).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            end = node.end_lineno or node.lineno
            lines = solution.splitlines()
            while end < len(lines) and lines[end].startswith(" "):
                end += 1  # a marker after the last statement
            return min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1, end
    msg = f"the solution defines no {name}"
    raise CourseError(msg)
