"""Builds a stage's stub: removes the code between solution markers and inserts the graded rules.

A marker is a comment alone on its line. A line that only resembles a marker raises ``CourseError``
with file and line, because a missed marker would reveal the solution to the class. A rule that
holds for the whole stage is in the module's docstring, and any other rule is in the docstring of
each exercise that it concerns, unless that docstring already states it.
"""

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

import msgspec

from autograder.authoring import public_suite
from autograder.course import MARKERS, Stage
from autograder.errors import CourseError
from autograder.suite.checks import Rule, read_rules

BEGIN, END = MARKERS

_SIMILAR = re.compile(r"#\W*(begin|end)[\W_]*(solution|hidden)", re.IGNORECASE)
_MISSPELLED = re.compile(r"##+\W*(begin|end)(?![a-z])", re.IGNORECASE)  # `### BEGIN SOLUTOIN`

_SHORTEST = 12  # characters of a secret line; `return None` and `self.x = x` reveal nothing
_COMMON = ("from ", "import ", "super().__init__(")  # lines with these beginnings reveal nothing

_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

WIDTH = 100  # columns of a stub
INDENT = "    "  # of the body of an exercise
Definition = ast.FunctionDef | ast.ClassDef
_Documented = ast.Module | Definition
OTHER_INPUTS = (
    "count only if the results are right for other inputs too."  # `withhold_known_values`
)
TITLE = "Rules for this stage, which are graded like the results:"


class Region(msgspec.Struct, frozen=True):
    """The lines between two markers."""

    first: int  # the BEGIN marker's line, counted from 1
    last: int  # the END marker's line
    indent: str  # of both markers and of the region's first statement
    text: str
    in_function: bool


class _Marker(msgspec.Struct, frozen=True):
    line: int
    indent: str
    text: str


def strip_solutions(text: str, name: str) -> str:
    """Turn the solution *text* into the stub; raise ``CourseError`` for a misplaced marker.

    A region in a function becomes ``raise NotImplementedError``. A region in the body of a module
    or class, such as a helper or an import that only the solution needs, is removed.
    """
    found = regions(text, name)
    if not found:
        raise CourseError(
            f"{name} has no solution region; put {BEGIN} and {END} around the code that students "
            "write."
        )
    lines = text.split("\n")
    kept: list[str] = []
    position = 0
    for region in found:
        kept += lines[position : region.first - 1]
        position = region.last
        if region.in_function:
            kept.append(f"{region.indent}raise NotImplementedError")
        else:
            position += _close_gap(kept, lines[position:])
    stub = "\n".join(kept + lines[position:]).strip("\n") + "\n"
    _parse(stub, f"{name}, without its solutions")
    return stub


@lru_cache(maxsize=32)  # one release asks several times for the regions of each stage
def regions(text: str, name: str) -> tuple[Region, ...]:
    """Return all regions of the module *text*; raise ``CourseError`` for a misplaced marker."""
    tree = _parse(text, name)
    tokens = tuple(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    statements = dict(_statements(tokens))
    scopes = [node for node in ast.walk(tree) if isinstance(node, _Scope)]
    lines = text.split("\n")
    found = []
    for begin, end in _pairs(_markers(lines, comments, name), name):
        within = range(begin.line + 1, end.line)
        inside = {line: column for line, column in statements.items() if line in within}
        _check_block(begin, inside, name)
        content = "\n".join(lines[begin.line : end.line - 1])
        in_function = _in_function(scopes, min(inside))
        found.append(Region(begin.line, end.line, begin.indent, content, in_function))
    return tuple(found)


def secret_lines(text: str, name: str) -> set[str]:
    """Return the ``bare_line`` of each long, uncommon line of a solution that the stub lacks."""
    solved = set().union(*(bare_lines(region.text) for region in regions(text, name)))
    hidden = solved - bare_lines(strip_solutions(text, name))
    return {line for line in hidden if len(line) >= _SHORTEST and not line.startswith(_COMMON)}


def bare_lines(text: str) -> set[str]:
    """Return the lines of *text* without indentation and trailing comments."""
    return set(map(bare_line, text.split("\n")))


def bare_line(line: str) -> str:
    """Return *line* without its indentation and its trailing comment."""
    return line.strip().partition("  #")[0].rstrip()


def marker_lines(text: str) -> list[int]:
    """Return the numbers, from 1, of lines that resemble a solution or hidden-test marker."""
    numbered = enumerate(text.split("\n"), start=1)
    return [number for number, line in numbered if _SIMILAR.search(line)]


def _markers(lines: list[str], comments: set[int], name: str) -> Iterator[_Marker]:
    for number, line in enumerate(lines, start=1):
        marker = line.strip()
        if marker in {BEGIN, END}:
            if number not in comments:
                raise _error(name, number, f"{marker!r} is inside a string; write it differently")
            yield _Marker(number, line[: line.index("#")], marker)
        elif _SIMILAR.search(line) or _MISSPELLED.search(line):
            what = f"{marker!r} looks like a solution marker but is not one"
            raise _error(name, number, f"{what}; write {BEGIN} or {END}, alone on its line")


def _pairs(markers: Iterator[_Marker], name: str) -> Iterator[tuple[_Marker, _Marker]]:
    opened: _Marker | None = None
    for marker in markers:
        if marker.text == BEGIN:
            if opened:
                what = f"{BEGIN} inside the region that begins in line {opened.line}"
                raise _error(name, marker.line, f"{what}; end that one first")
            opened = marker
            continue
        if opened is None:
            raise _error(name, marker.line, f"{END} without a BEGIN; add one, or remove this line")
        if marker.indent != opened.indent:
            what = f"{END} is not indented like its BEGIN in line {opened.line}"
            raise _error(name, marker.line, f"{what}; indent both like the code between them")
        yield opened, marker
        opened = None
    if opened:
        raise _error(name, opened.line, f"{BEGIN} without an END; add {END} after the solution")


def _check_block(begin: _Marker, inside: dict[int, int], name: str) -> None:
    if not inside:
        what = "no statement in this region; write one, or remove the region"
        raise _error(name, begin.line, what)
    if inside[min(inside)] != len(begin.indent):
        what = f"{BEGIN} is not indented like the statement in line {min(inside)}"
        raise _error(name, begin.line, f"{what}; indent both markers like the code between them")
    for line, column in inside.items():
        if column < len(begin.indent):
            what = f"this line ends the block in which line {begin.line} begins a solution"
            raise _error(name, line, f"{what}; end the region before it")


def _statements(tokens: tuple[tokenize.TokenInfo, ...]) -> Iterator[tuple[int, int]]:
    """Yield line and column of each logical line, even of `else:`, but not of lines in strings."""
    at_start = True
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            at_start = True
        elif at_start and token.type not in _LAYOUT:
            yield token.start
            at_start = False


def _in_function(scopes: Iterable[_Scope], line: int) -> bool:
    in_function = False
    for node in scopes:
        if node.lineno < line <= (node.end_lineno or 0):
            in_function = not isinstance(node, ast.ClassDef)
    return in_function


def _close_gap(kept: list[str], following: list[str]) -> int:
    """Keep the wider gap around a removed region; return how many following lines to skip."""
    before = sum(1 for _ in takewhile(_is_blank, reversed(kept)))
    after = sum(1 for _ in takewhile(_is_blank, following))
    opens_block = len(kept) > before and kept[-1 - before].endswith(":")
    gap = 0 if opens_block else min(max(before, after), 2)  # the formatter allows no more
    kept[len(kept) - before :] = [""] * gap
    return after


def _is_blank(line: str) -> bool:
    return not line.strip()


def _parse(text: str, name: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise _error(name, error.lineno or 1, f"{error.msg}; it must be valid Python") from error
    except ValueError as error:  # a NUL byte, before Python 3.12
        raise CourseError(f"{name}: {error}; it must be valid Python.") from error


def _error(name: str, line: int, message: str) -> CourseError:
    return CourseError(f"{name}:{line}: {message}.")


def add_rules(stub: str, stage: Stage, suite: str) -> str:
    """Return *stub* with the sentences of the rules that *suite* names.

    Raises ``CourseError`` for a rule that is not in ``rules.toml`` and for an exercise that is not
    in the stage.
    """
    named = public_suite.rules_of(suite)
    known = read_rules(stage.rules)
    for name in named:
        if name not in known:
            msg = f"{stage.hidden_suite} names the rule {name!r}, which is not in {stage.rules}."
            raise CourseError(msg)
    names = [exercise.name for exercise in stage.exercises]
    for name, where in named.items():
        if unknown := [one for one in where if one not in names]:
            raise CourseError(
                f"{stage.hidden_suite}: a check of the rule {name!r} names the exercise "
                f"{unknown[0]!r}, which is not in stage.toml. Write the rule as a text, or as a "
                "constant that is assigned on a separate line."
            )
    lines = stub.split("\n")
    tree = ast.parse(stub)
    at_top, in_exercise = _needed(tree, named, known, names)
    for node in reversed(tree.body):
        if isinstance(node, Definition) and (sentences := in_exercise.get(node.name)):
            _extend_exercise(lines, node, " ".join(sentences))
    values = "Documented values and properties" if '"documented"' in suite else "Properties"
    at_top.append(f"{values} {OTHER_INPUTS}")
    block = [part for text in at_top for part in _wrapped(f"- {text}", "", "  ")]
    if ast.get_docstring(tree) is not None:
        _, last, quotes = _open_docstring(lines, tree)
        lines[last + 1 : last + 1] = ["", TITLE, "", *block, quotes]
    return "\n".join(lines)


def unstated(stub: str, suite: str, known: Mapping[str, Rule]) -> Iterator[str]:
    """Yield each rule that a check of *suite* names and that *stub* does not state.

    A rule is stated at the top of the stub, or in each exercise whose checks name it.
    """
    texts = _docstrings(ast.parse(stub))
    for name, where in public_suite.rules_of(suite).items():
        if name not in known or not (
            _states(texts[""], known[name])
            or all(_states(texts.get(exercise, ""), known[name]) for exercise in where)
        ):
            yield name


def _needed(
    tree: ast.Module,
    named: Mapping[str, Sequence[str]],
    known: Mapping[str, Rule],
    names: Sequence[str],
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the missing sentences: those for the top of the stub, and those of each exercise."""
    texts = _docstrings(tree)
    at_top: list[str] = []
    in_exercise: dict[str, list[str]] = {}
    for rule in (rule for name, rule in known.items() if name in named):
        if _states(" ".join([texts[""], *at_top]), rule):
            continue
        where = named[rule.name]
        if len(names) == 1 or (rule.whole_stage and len(where) > 1):
            at_top.append(rule.sentence)
            continue
        for exercise in where:
            if not _states(texts.get(exercise, ""), rule):
                in_exercise.setdefault(exercise, []).append(rule.sentence)
    return at_top, in_exercise


def _docstrings(tree: ast.Module) -> dict[str, str]:
    texts = {"": ast.get_docstring(tree) or ""}
    for node in tree.body:
        if isinstance(node, Definition):
            parts = [one for one in ast.walk(node) if isinstance(one, Definition)]
            texts[node.name] = " ".join(ast.get_docstring(one) or "" for one in parts)
    return texts


def _states(text: str, rule: Rule) -> bool:
    text, sentence = " ".join(text.split()), " ".join(rule.sentence.split())
    return sentence in text or bool(rule.stated_by and rule.stated_by in text)


def _wrapped(text: str, indent: str, later: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _extend_exercise(lines: list[str], node: _Documented, sentences: str) -> None:
    if ast.get_docstring(node) is None:
        return  # `autograder verify` reports an exercise without a docstring
    first, last, quotes = _open_docstring(lines, node)
    if last == first:
        new = ["", *_wrapped(sentences, INDENT)]
    else:
        new = _wrapped(f"{lines.pop(last).strip()} {sentences}", INDENT)
        last -= 1
    lines[last + 1 : last + 1] = [*new, f"{INDENT}{quotes}"]


def _open_docstring(lines: list[str], scope: _Documented) -> tuple[int, int, str]:
    """Remove the closing quotes of a docstring; return its first and last line and the quotes."""
    node = scope.body[0]
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    text, quotes = lines[last].rstrip()[:-3].rstrip(), lines[last].rstrip()[-3:]
    if text:
        lines[last] = text
        return first, last, quotes
    del lines[last]
    return first, last - 1, quotes
