"""Solution markers: what stands between them is the instructor's, the rest is the stub.

A marker is a comment alone on its line. Whatever merely looks like one is refused by file and
line, since a marker that is passed over hands the solution to the class.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from itertools import takewhile

import msgspec

from autograder.errors import CourseError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"

_TRACE = re.compile(r"#\W*(begin|end)[\W_]*(solution|hidden)", re.IGNORECASE)
_MISSPELT = re.compile(r"##+\W*(begin|end)(?![a-z])", re.IGNORECASE)  # `### BEGIN SOLUTOIN`

_SHORTEST_SECRET = 12  # characters: `return None` and `self.x = x` tell nothing
_COMMON = ("from ", "import ", "super().__init__(")  # openings of lines that tell nothing either

_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}


class Region(msgspec.Struct, frozen=True):
    """What stands between two markers."""

    first: int  # the BEGIN marker's line, counted from 1
    last: int  # the END marker's line
    indent: str  # of both markers and of the region's first statement
    text: str
    in_function: bool


class _Marker(msgspec.Struct, frozen=True):
    line: int
    indent: str
    text: str


def strip(text: str, name: str) -> str:
    """Turn the solution *text* into the stub; raises ``CourseError`` on any marker out of order.

    A region in a function becomes ``raise NotImplementedError``. One in a module's or a class's
    body, such as a private helper or an import that only the solution needs, leaves no trace.
    """
    found = regions(text, name)
    if not found:
        msg = f"{name} has no solution to take out; set {BEGIN} and {END} around it."
        raise CourseError(msg)
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


def regions(text: str, name: str) -> tuple[Region, ...]:
    """Find every region of the module *text*; raises ``CourseError`` on any marker out of order."""
    tree = _parse(text, name)
    tokens = tuple(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    statements = dict(_statements(tokens))
    lines = text.split("\n")
    found = []
    for begin, end in _pairs(_markers(lines, comments, name), name):
        within = range(begin.line + 1, end.line)
        inside = {line: column for line, column in statements.items() if line in within}
        _check_block(begin, inside, name)
        found.append(
            Region(
                first=begin.line,
                last=end.line,
                indent=begin.indent,
                text="\n".join(lines[begin.line : end.line - 1]),
                in_function=_in_function(tree, min(inside)),
            )
        )
    return tuple(found)


def secrets(text: str, name: str) -> frozenset[str]:
    """Name the lines of a solution, as ``bare`` gives them, that no student may be handed.

    A line that is short, common, or given in the stub as well is no secret.
    """
    given = {bare(line) for line in strip(text, name).split("\n")}
    solved = {bare(line) for region in regions(text, name) for line in region.text.split("\n")}
    return frozenset(
        line
        for line in solved - given
        if len(line) >= _SHORTEST_SECRET and not line.startswith(_COMMON)
    )


def bare(line: str) -> str:
    """Return *line* without indentation and without the comment at its end."""
    return line.strip().partition("  #")[0].rstrip()


def traces(text: str) -> Iterator[int]:
    """Yield each line, counted from 1, that holds a solution or hidden-test marker of any kind."""
    for number, line in enumerate(text.split("\n"), start=1):
        if _TRACE.search(line):
            yield number


def _markers(lines: list[str], comments: set[int], name: str) -> Iterator[_Marker]:
    for number, line in enumerate(lines, start=1):
        marker = line.strip()
        if marker in {BEGIN, END}:
            if number not in comments:
                raise _fault(name, number, f"{marker!r} stands in a string; write it otherwise")
            yield _Marker(number, line[: line.index("#")], marker)
        elif _TRACE.search(line) or _MISSPELT.search(line):
            what = f"{marker!r} looks like a solution marker but is none"
            raise _fault(name, number, f"{what}; write {BEGIN} or {END}, alone on its line")


def _pairs(markers: Iterator[_Marker], name: str) -> Iterator[tuple[_Marker, _Marker]]:
    opened: _Marker | None = None
    for marker in markers:
        if marker.text == BEGIN:
            if opened:
                what = f"{BEGIN} inside the region that begins in line {opened.line}"
                raise _fault(name, marker.line, f"{what}; end that one first")
            opened = marker
            continue
        if opened is None:
            raise _fault(name, marker.line, f"{END} without a BEGIN; add one, or take this away")
        if marker.indent != opened.indent:
            what = f"{END} is not indented as its BEGIN in line {opened.line}"
            raise _fault(name, marker.line, f"{what}; indent both as what they enclose")
        yield opened, marker
        opened = None
    if opened:
        raise _fault(name, opened.line, f"{BEGIN} without an END; add {END} after the solution")


def _check_block(begin: _Marker, inside: dict[int, int], name: str) -> None:
    if not inside:
        raise _fault(name, begin.line, "no statement in this region; write one, or take it away")
    if inside[min(inside)] != len(begin.indent):
        what = f"{BEGIN} is not indented as the statement in line {min(inside)}"
        raise _fault(name, begin.line, f"{what}; indent both markers as what they enclose")
    for line, column in inside.items():
        if column < len(begin.indent):
            what = f"this line leaves the block in which line {begin.line} begins a solution"
            raise _fault(name, line, f"{what}; end the region before it")


def _statements(tokens: tuple[tokenize.TokenInfo, ...]) -> Iterator[tuple[int, int]]:
    """Yield line and column of each logical line, `else:` too; strings can't fool it."""
    fresh = True
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            fresh = True
        elif fresh and token.type not in _LAYOUT:
            yield token.start
            fresh = False


def _in_function(tree: ast.Module, line: int) -> bool:
    scopes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.lineno < line <= (node.end_lineno or node.lineno)
    ]
    innermost = max(scopes, key=lambda scope: scope.lineno, default=None)
    return isinstance(innermost, ast.FunctionDef | ast.AsyncFunctionDef)


def _close_gap(kept: list[str], following: list[str]) -> int:
    """Keep the wider of the gaps around a vanished region; return how many lines to pass over."""
    before = sum(1 for _ in takewhile(_is_blank, reversed(kept)))
    after = sum(1 for _ in takewhile(_is_blank, following))
    opens_block = len(kept) > before and kept[-1 - before].endswith(":")
    gap = 0 if opens_block else min(max(before, after), 2)  # as many as the formatter grants
    kept[len(kept) - before :] = [""] * gap
    return after


def _is_blank(line: str) -> bool:
    return not line.strip()


def _parse(text: str, name: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise _fault(name, error.lineno or 1, f"{error.msg}; it must be valid Python") from error
    except ValueError as error:  # a NUL byte, before Python 3.12
        msg = f"{name}: {error}; it must be valid Python."
        raise CourseError(msg) from error


def _fault(name: str, line: int, message: str) -> CourseError:
    return CourseError(f"{name}:{line}: {message}.")
