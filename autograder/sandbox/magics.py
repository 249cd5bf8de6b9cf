"""Notebook cells as plain Python: what only IPython understands is taken out, line by line."""

MAGIC = (b"%", b"!", b"?")
TRANSPARENT = (b"%%time", b"%%timeit", b"%%capture", b"%%prun")  # they run their cell as it stands


def compile_cells(cells: tuple[bytes, ...], *, notebook: bool) -> tuple[bytes, ...]:
    """Return *cells* as Python; a module is left untouched."""
    return tuple(_plain(cell) for cell in cells) if notebook else cells


def _plain(cell: bytes) -> bytes:
    """Blank out magics and shell lines, but only in a cell that is no Python as it stands.

    ``% b`` may continue an expression, so a cell that compiles is never touched. Lines are
    emptied rather than removed: a traceback still names the student's own line.
    """
    if _compiles(cell):
        return cell
    lines = cell.splitlines(keepends=True)
    first = next((line.strip() for line in lines if line.strip()), b"")
    if first.startswith(b"%%") and not first.startswith(TRANSPARENT):
        return b""  # another language: %%bash, %%html, %%writefile
    return b"".join(_blank(line) if _is_magic(line) else line for line in lines)


def _compiles(cell: bytes) -> bool:
    try:
        compile(cell, "cell", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_magic(line: bytes) -> bool:
    text = line.strip()
    return text.startswith(MAGIC) or (text.endswith(b"?") and b"#" not in text)


def _blank(line: bytes) -> bytes:
    """Keep the indentation and say nothing, so that a block of one magic still compiles."""
    body = line.strip()
    start = line.index(body) if body else 0
    return line[:start] + b"pass\n" if start else b"\n"
