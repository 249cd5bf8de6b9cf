"""Parses sources that are not valid Python: cells for IPython, and broken statements one by one.

Magics, shell commands and help lines are removed by the rules of IPython's input transformer, which
a grader may lack and which changes the numbers of lines. The tests compare both.
"""

import ast
import io
import re
import textwrap
import tokenize
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

# The tokens that decide where a statement ends. An open string ends with its line or its cell.
_TOKEN: Final = re.compile(
    r"""
    (?P<text> \"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z) | '{3}(?:\\.|[^\\])*?(?:'{3}|\Z)
      | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? | \#[^\n]* )
    | (?P<join> \\\n ) | (?P<open> [(\[{] ) | (?P<close> [)\]}] ) | (?P<end> \n|\Z )
    | (?P<operator> [!%&*+\-/:<=>@^|]= ) | (?P<assign> = )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMAND: Final = re.compile(r"[ \t]*[%!?,;/](?:[^\n]*\\\n)*[^\n]*")  # to the end of its last line
_ASSIGNED: Final = re.compile(r"=[ \t]*(?:!|%[ \t]*(?P<name>[A-Za-z_]\w*))(?P<rest>.*)", re.DOTALL)
_HELP: Final = re.compile(r"%{0,2}(?!\d)[\w*]+(?:\.\w+|\[[0-9]+\])*\?\??$")
_TIMED: Final = re.compile(r"%(?:time|prun)\b[ \t]*(?=[^-\s])")  # magics that run their line
_PROMPT: Final = re.compile(r"(?:>>>|In \[\d+\]:)(?: |$)", re.MULTILINE)
_PROMPTS: Final = re.compile(r"^(?:>>>|\.\.\.|In \[\d+\]:| *\.{3,}:)(?: |$)", re.MULTILINE)
# The magic of a cell; Colab allows comments before it.
_CELL: Final = re.compile(
    r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*%%(?P<name>[^\s?]+)[ \t]*(?P<words>[^\n?]*)(?=\n|\Z)"
)
# Magics whose cells are not Python; any other magic runs its cell, more or less.
_FOREIGN: Final = re.compile(
    r"!|HTML|R|SVG|ai|bash|bigquery|cmd|cpp|css|cython|fortran|html|javascript|js|julia|latex"
    r"|markdown|mermaid|perl|powershell|pwsh|pypy|python2|ruby|script|sh|shell|skip|sql|svg|sx"
    r"|system"
)
_WRITES: Final = frozenset({"file", "writefile"})


class _Line(NamedTuple):
    """A statement up to *end*, its first assignment or -1, and whether its end is a text."""

    end: int
    assign: int
    is_open: bool


def plain_python(text: str) -> str:
    """Return *text* without what only IPython understands; each line keeps its number."""
    if magic := _CELL.match(text):
        lines = "\n" * magic[0].count("\n")
        body = text[magic.end() :]
        if magic["name"] in _WRITES:
            return lines + body if magic["words"].strip(" \t\r'\"").endswith(".py") else ""
        return "" if _FOREIGN.fullmatch(magic["name"]) else lines + plain_python(body)
    if _PROMPT.match(text.lstrip()):
        text = _PROMPTS.sub("", text)
    return "".join(_statements(text))


def _statements(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        if command := _COMMAND.match(text, position):
            end = command.end()
            yield _replaced(command[0], _TIMED.sub("", command[0].lstrip(), count=1))
        else:
            end, assign, is_open = _line(text, position)
            statement = text[position:end].rstrip()
            value = _ASSIGNED.match(text, assign, end) if assign >= 0 else None
            if value:
                yield text[position:assign] + _replaced(value[0], _assigned(value))
            elif not is_open and statement.endswith("?") and _HELP.search(statement):
                yield _replaced(statement, "")
            else:
                yield text[position:end]
        yield text[end : end + 1]
        position = end + 1


def _line(text: str, position: int) -> _Line:
    depth, assign, last = 0, -1, position
    for token in _TOKEN.finditer(text, position):
        kind = token.lastgroup
        if kind == "end" and (not depth or token.end() == len(text)):
            return _Line(token.start(), assign, not text[last : token.start()].strip())
        if kind == "text":
            last = token.end()
        elif kind == "assign" and assign < 0 and not depth:
            assign = token.start()
        depth = max(0, depth + (kind == "open") - (kind == "close"))
    return _Line(len(text), assign, is_open=True)


def _assigned(value: re.Match[str]) -> str:
    """Return an assignment of what IPython would assign, as far as it is known here."""
    if value["name"] is None:
        return "= []"  # the lines that a shell command prints
    return f"= {value['rest'].strip() or None}" if value["name"] == "time" else "= None"


def _replaced(old: str, new: str) -> str:
    """Replace *old*, with as many lines; without a *new* statement, a block needs ``pass``."""
    indent = old[: len(old) - len(old.lstrip(" \t"))]
    if not new or new[0] in "%!?,;/":
        new = "pass" if indent else ""
    return indent + new + "\n" * (old.count("\n") - new.count("\n"))


def with_cells(tree: ast.Module) -> ast.Module:
    """Replace calls of IPython that run a cell, as exported notebooks have, by its code."""
    body: list[ast.stmt] = []
    for statement in tree.body:
        body += _called(statement) or [statement]
    return ast.Module(body, tree.type_ignores)


def _called(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements that *statement* lets IPython run; nothing for any other statement."""
    match statement:
        case ast.Expr(
            ast.Call(
                ast.Attribute(
                    ast.Call(ast.Name("get_ipython")), "run_cell_magic" | "run_line_magic"
                ),
                [ast.Constant(str(name)), ast.Constant(str(words)), *rest],
            )
        ):
            text = f"%{name} {words}"
            for one in rest:
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    text = f"%%{name} {words}\n{one.value}"
            try:
                found = ast.parse(plain_python(text)).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return []
            for node in (one for part in found for one in ast.walk(part)):
                if hasattr(node, "lineno"):
                    ast.copy_location(node, statement)
            return found
    return []


class _Shell:
    """Replaces IPython's shell for code that asks for it: its methods do nothing."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: [] if name == "getoutput" else None


def _display(*values: object, **_: object) -> None:
    print(*values, sep="\n")  # noqa: T201  # what a notebook shows; here it is printed output


# The names that IPython gives to all code of a notebook.
NAMES: Final = {"display": _display, "get_ipython": _Shell, "In": [""], "Out": {}, "_": ""}


# The parser's attempts for one source, and those with more than one statement. A stage's module has
# some dozens of statements.
MAX_ATTEMPTS, MAX_LONG_ATTEMPTS = 3000, 500
_SCOPE = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_TOO_DEEP = "it is nested too deeply, or too long, to be read"
_HEADING = re.compile(r"^(?:async +)?(?:class|def) +([A-Za-z_]\w*)", re.MULTILINE)
# Lines that are not indented, but belong to the statement before them.
_CONTINUED = re.compile(r"(?:else|elif|except|finally)\b|[)\]}#]")
_BLOCK = re.compile(r"(?:async|class|def|for|if|match|try|while|with)\b|.*:\s*$")
_IMPORT = re.compile(r"\s*(?:from|import)\b")
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
    """Parse *text*; if that fails, parse it as IPython does, or its statements one by one."""
    parts = _read_parts(text, source)
    return replace(parts, tree=with_cells(parts.tree))


def _read_parts(text: bytes, source: str) -> SourceParts:
    try:
        return SourceParts(ast.parse(text, source))
    except (RecursionError, MemoryError):
        error: BaseException = SyntaxError(_TOO_DEEP)
    except (SyntaxError, ValueError) as problem:  # ValueError: NUL bytes
        error = problem
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
        python = plain_python(io.StringIO(text.decode(encoding), newline=None).read())
    except (SyntaxError, UnicodeDecodeError):  # an unknown or a wrong encoding
        return SourceParts(ast.Module([], []), (_broken([text.decode("utf-8", "replace")], error),))
    try:
        return SourceParts(ast.parse(python, source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Statements(python.split("\n"), source).read()


def bound_names(statement: ast.stmt) -> dict[str, int]:
    """Map the module-level names that *statement* binds to their lines."""
    found: dict[str, int] = {}
    waiting: deque[ast.AST] = deque([statement])
    while waiting:  # a recursive function would fail on a long sum
        node = waiting.popleft()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node.lineno
        elif isinstance(node, ast.alias):
            found[node.asname or node.name.partition(".")[0]] = node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = node.lineno
        elif not isinstance(node, _SCOPE):
            waiting.extend(ast.iter_child_nodes(node))
    return found


class _Statements:
    """The lines of a source, cut before each line that begins a top-level statement."""

    def __init__(self, lines: Sequence[str], source: str) -> None:
        self._lines = lines
        self._source = source
        self._starts = [*_starts(lines), len(lines)]
        self._attempts = self._long_attempts = 0

    def read(self) -> SourceParts:
        """Parse one statement after another."""
        body: list[ast.stmt] = []
        broken: list[BrokenPart] = []
        at = 0
        while at < len(self._starts) - 1:
            tree, error, at = self._parse(at)
            if error is None:
                body += tree.body
                continue
            start, end = self._starts[at - 1 : at + 1]
            part = _broken([] if tree.body else self._lines[start:end], error, start)
            if body and not tree.body and self._is_inside(start, end, body[-1]):
                part = replace(part, names=(_name(body.pop()), *part.names))
            elif stray := self._stray(start, end, part.line - 1):
                self._starts.insert(at, stray)
                at -= 1
                continue
            body += tree.body
            broken.append(part)
        return SourceParts(ast.Module(body, []), tuple(broken))

    def _parse(self, at: int) -> tuple[ast.Module, BaseException | None, int]:
        """Parse the statement that begins at cut *at*; return its tree, error, and the next cut.

        Further lines are added while the statement is unfinished, such as an open string. A wrong
        indentation at the beginning of the file or of an import has a tree and an error, because
        everything depends on these lines.
        """
        start, first = self._starts[at], None
        for end in range(at + 1, len(self._starts)):
            tree, error = self._tree(start, self._starts[end], is_long=end > at + 1)
            if error is None:
                return tree, None, end
            first = first or error
            if not _UNFINISHED.search(str(error)):
                break
        tree = ast.Module([], [])
        if self._lines[start][0].isspace() and (at == 0 or _IMPORT.match(self._lines[start])):
            tree, _ = self._tree(start, self._starts[at + 1], dedent=True)
        return tree, first, at + 1

    def _stray(self, start: int, end: int, line: int) -> int:
        """Return *line* if it can't belong to the valid statement before it, otherwise 0."""
        if not start < line < end:
            return 0
        indents = map(_indent, filter(str.strip, self._lines[start + 1 : end]))
        body = next(filter(None, indents), 1)
        if _BLOCK.match(self._lines[start]) and _indent(self._lines[line]) >= body:
            return 0
        _, error = self._tree(start, line)
        return 0 if error else line

    def _tree(
        self, start: int, stop: int, *, is_long: bool = False, dedent: bool = False
    ) -> tuple[ast.Module, BaseException | None]:
        """Parse the lines from *start* up to *stop*; return the tree or the error."""
        self._attempts += 1
        self._long_attempts += is_long
        if self._attempts > MAX_ATTEMPTS or (is_long and self._long_attempts > MAX_LONG_ATTEMPTS):
            return ast.Module([], []), SyntaxError(_TOO_DEEP)
        text = "\n".join(self._lines[start:stop])
        text = "\n" * start + (textwrap.dedent(text) if dedent else text)  # keeps the line numbers
        try:
            return ast.parse(text, self._source), None
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return ast.Module([], []), error

    def _is_inside(self, start: int, end: int, before: ast.stmt) -> bool:
        """Whether the broken line *start* is inside the definition *before* it.

        The lines up to *end*, such as those after a conflict marker, then continue the definition.
        """
        after = self._lines[start + 1 : end]
        if not _name(before) or not any(map(str.strip, after)):
            return False
        if not self._lines[start - 1].strip() or _BLOCK.match(self._lines[start]):
            return False
        self._attempts += 1
        try:
            tree = ast.parse("\n".join([*self._lines[before.lineno - 1 : start], *after]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return len(tree.body) == 1


def _starts(lines: Sequence[str]) -> Iterator[int]:
    """Yield the index of each line that begins a top-level statement; decorators belong to it."""
    decorated = False
    is_first = True
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        if not is_first and (line[0].isspace() or _CONTINUED.match(line)):
            continue
        if not decorated:
            yield index
        decorated = line.startswith("@")
        is_first = False


def _indent(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def _name(node: ast.stmt) -> str:
    return str(getattr(node, "name", ""))


def _broken(lines: Sequence[str], error: BaseException, before: int = 0) -> BrokenPart:
    """Describe a statement after *before* lines; its names are those of its headings."""
    if isinstance(error, RecursionError | MemoryError):
        error = SyntaxError(_TOO_DEEP)
    line = error.lineno if isinstance(error, SyntaxError) else None
    first, *others = textwrap.dedent("\n".join(lines)).split("\n")
    names = tuple(_HEADING.findall("\n".join([first.lstrip(), *others])))
    return BrokenPart(error, line or before + 1, names)
