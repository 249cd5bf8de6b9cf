"""Converts a submitted module that is in UTF-16 or inside a Markdown fence."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import Final

# The first and the last line of a module that was copied together with its Markdown.
_OPENING: Final = re.compile(rb"(?P<before>(?:\xef\xbb\xbf)?\s*)(?P<fence>```|~~~)[^\r\n]*")
_CLOSING: Final = re.compile(rb"[ \t]*(?:`{3,}|~{3,})")
LEAST_ASCII: Final = (
    0.1  # of the characters of a module; the wrong order of bytes gives almost none
)
# A declared encoding, in the first or the second line, no longer holds after a conversion.
_DECLARED: Final = re.compile(r"\A(?P<before>(?:[ \t\f]*(?:#.*)?\r?\n)?[ \t\f]*#.*?)coding[:=]")


def module_text(data: bytes, label: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the module *data* as Python reads it, and a notice for each change.

    UTF-16 becomes UTF-8, and the lines of a Markdown fence around the whole module become empty, so
    that all lines keep their numbers. Any other module stays as it is.
    """
    notices = []
    if (text := from_utf16(data)) is not None:
        data = text.encode()
        notices.append(f"{label} is in UTF-16 and was converted. Save it as UTF-8 next time.")
    if opening := _OPENING.match(data):
        data = _without_last_fence(opening["before"] + data[opening.end() :])
        notices.append(
            f"{label} begins with a Markdown fence ({opening['fence'].decode()}), which was "
            "removed. Submit only the code next time."
        )
    return data, tuple(notices)


def _without_last_fence(data: bytes) -> bytes:
    """Empty the last line of *data* that is not blank, if it is a fence."""
    end = len(data.rstrip())
    start = max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, end)) + 1
    return data[:start] + data[end:] if _CLOSING.fullmatch(data[start:end]) else data


def from_utf16(data: bytes) -> str | None:
    """Decode *data* if it is UTF-16, with or without a byte order mark; otherwise return None.

    Without a mark, the order of bytes is the one that gives more ASCII; code has much of it.
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        text = _decoded(data, "utf-16")
    elif b"\0" in data:
        both = (_decoded(data, encoding) or "" for encoding in ("utf-16-le", "utf-16-be"))
        text = max(both, key=_ascii_share)
        text = text if _ascii_share(text) > LEAST_ASCII else None
    else:
        return None
    return None if text is None else _DECLARED.sub(r"\g<before>", text)


def _decoded(data: bytes, encoding: str) -> str | None:
    """Return the text of *data*; None if the bytes do not fit, or the text contains NUL."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _ascii_share(text: str) -> float:
    return len(text.encode("ascii", "ignore")) / max(1, len(text))
