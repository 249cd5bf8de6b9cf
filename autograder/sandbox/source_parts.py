"""Parses a source in which some statements are not valid Python: each of them costs itself."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_ATTEMPTS = 500  # of the parser for one source; a stage's module has some dozens of statements
_TOO_DEEP = "it is nested too deeply, or too long, to be read"
_HEADING = re.compile(r"^(?:async +)?(?:class|def) +([A-Za-z_]\w*)", re.MULTILINE)
# Lines that are not indented, but belong to the statement before them.
_CONTINUED = re.compile(r"(?:else|elif|except|finally)\b|[)\]}#]")
_UNFINISHED = re.compile("was never closed|unterminated triple-quoted|unexpected EOF")


@dataclass(frozen=True)
class BrokenPart:
    """A statement that is not valid Python, and the *names* that it would have defined."""

    error: BaseException
    line: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class SourceParts:
    """The valid statements of a source, in one *tree* with their lines, and the broken ones."""

    tree: ast.Module
    broken: tuple[BrokenPart, ...] = ()


def read_parts(text: bytes, source: str = "<source>") -> SourceParts:
    """Parse *text*; if that fails, parse its top-level statements one by one."""
    try:
        return SourceParts(ast.parse(text, source))
    except (RecursionError, MemoryError):
        error: BaseException = SyntaxError(_TOO_DEEP)
    except (SyntaxError, ValueError) as problem:  # ValueError: NUL bytes
        error = problem
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
        lines = io.StringIO(text.decode(encoding), newline=None).read().split("\n")
    except (SyntaxError, UnicodeDecodeError):  # an unknown or a wrong encoding
        return SourceParts(ast.Module([], []), (_broken([text.decode("utf-8", "replace")], error),))
    return _Statements(lines, source).read()


class _Statements:
    """The lines of a source, cut before each line that begins a top-level statement."""

    def __init__(self, lines: Sequence[str], source: str) -> None:
        self._lines = lines
        self._source = source
        self._starts = [*_starts(lines), len(lines)]
        self._attempts = 0

    def read(self) -> SourceParts:
        """Parse one statement after another."""
        body: list[ast.stmt] = []
        broken: list[BrokenPart] = []
        at = 0
        while at < len(self._starts) - 1:
            found, at = self._parse(at)
            if isinstance(found, ast.Module):
                body += found.body
            else:
                broken.append(found)
        return SourceParts(ast.Module(body, []), tuple(broken))

    def _parse(self, at: int) -> tuple[ast.Module | BrokenPart, int]:
        """Parse the statement that begins at cut *at*; return it, and the cut behind it.

        Further lines are added while the statement is unfinished, such as an open string.
        """
        first: BaseException | None = None
        for end in range(at + 1, len(self._starts)):
            try:
                return self._tree(at, end), end
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                first = first or error
                if not _UNFINISHED.search(str(error)) or self._attempts > MAX_ATTEMPTS:
                    break
        start, end = self._starts[at], self._starts[at + 1]
        return _broken(self._lines[start:end], first or SyntaxError(_TOO_DEEP), start), at + 1

    def _tree(self, at: int, end: int) -> ast.Module:
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS:
            raise SyntaxError(_TOO_DEEP)
        start, stop = self._starts[at], self._starts[end]
        text = "\n" * start + "\n".join(self._lines[start:stop])  # keeps the numbers of the lines
        return ast.parse(text, self._source)


def _starts(lines: Sequence[str]) -> Iterator[int]:
    """Yield the index of each line that begins a top-level statement; decorators belong to it."""
    decorated = False
    for index, line in enumerate(lines):
        if not line.strip() or line[0].isspace() or _CONTINUED.match(line):
            continue
        if not decorated:
            yield index
        decorated = line.startswith("@")


def _broken(lines: Sequence[str], error: BaseException, before: int = 0) -> BrokenPart:
    """Describe a statement after *before* lines; its names are those of its headings."""
    if isinstance(error, RecursionError | MemoryError):
        error = SyntaxError(_TOO_DEEP)
    line = error.lineno if isinstance(error, SyntaxError) else None
    names = tuple(_HEADING.findall("\n".join(lines)))
    return BrokenPart(error, line or before + 1, names)
