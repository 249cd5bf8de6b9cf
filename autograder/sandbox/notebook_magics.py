"""Removes IPython magics and shell lines from notebook cells, so that they are plain Python."""

MAGIC = (b"%", b"!", b"?")
TRANSPARENT = (b"%%time", b"%%timeit", b"%%capture", b"%%prun")  # they run their cell as Python


def strip_magics(cells: tuple[bytes, ...], *, notebook: bool) -> tuple[bytes, ...]:
    """Return the cells of a notebook without magics; the source of a module stays as it is."""
    return tuple(_strip(cell) for cell in cells) if notebook else cells


def _strip(cell: bytes) -> bytes:
    """Replace magics and shell lines in a cell that does not compile as it is.

    ``% b`` may continue an expression, so a cell that compiles stays as it is. Lines are replaced
    and not removed, so that a traceback names the student's own line.
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
    """Replace an indented line with ``pass``, so that a block with only a magic still compiles."""
    body = line.strip()
    start = line.index(body) if body else 0
    return line[:start] + b"pass\n" if start else b"\n"
