"""Removes control sequences from untrusted text, and bounds its length.

``results`` passes every text of a record through this module, so no view can forget a field.
Autoescape and ``rich.text.Text`` then keep the text from being read as markup. Each function leaves
its own output unchanged, so a record stays equal if it is written and read again.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

MAX_WORD = 80  # a name must fit on one line of a wide terminal
MAX_FILE_NAME = 120  # the same as in `submission.files`
MAX_SENTENCE = 400
MAX_MESSAGE = 2000  # about a screenful, enough for an exception with its message
MAX_LINES = 30  # a screenful
MAX_BYTES = 9  # of a text beyond ASCII in a table, whose cells are many
MAX_DIGITS = 12  # "-1234.567890" fits below a token of a sentence
MAX_MARKS = 3  # accents on one letter; more of them would cover the lines above

_ESCAPE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,2000}(?:\x07|\x1b\\|\x9c)"  # titles
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colors, cursor
    r"|\x1b[ -/]*[0-~]"  # resets, character sets
)
_PATH = re.compile(r"(?<![\w/.:])/(?:[\w.+@~-]+/)+")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINERS = frozenset("\u200c\u200d")  # needed by Persian, Indic scripts and emoji


def line(text: str, limit: int) -> str:
    """Return *text* on one line of at most *limit* characters."""
    if not text:  # most texts of a record are empty
        return ""
    return _cut(" ".join(_visible(text, limit).split()), limit, len(text))


def lines(text: str, limit: int = MAX_MESSAGE, most: int = MAX_LINES) -> str:
    """Return *text*, shortened to at most *limit* characters and *most* lines."""
    if not text:
        return ""
    kept = [item.rstrip() for item in _visible(text, limit).strip().split("\n")]
    if len(kept) > most:
        kept = [*kept[: most - 1], "… (more lines)"]
    return _cut("\n".join(kept), limit, len(text))


def last_lines(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return the end of *text*, with at most *limit* characters and ``MAX_LINES`` lines."""
    if not text:
        return ""
    shown = _visible(text[-8 * limit :], limit).split("\n")
    kept = "\n".join(item.rstrip() for item in shown).strip("\n").split("\n")
    whole = "\n".join(kept)
    if len(kept) <= MAX_LINES and len(whole) <= limit:
        return whole
    note = "… (more above)\n"
    return note + "\n".join(kept[1 - MAX_LINES :])[len(note) - limit :].lstrip("\n")


def listed(items: Iterable[str], most: int, limit: int) -> tuple[str, ...]:
    """Return at most *most* of *items*, each on one line, and the number of items left out."""
    known = list(items)
    if len(known) > most:
        known[most - 1 :] = [f"… ({len(known) - most + 1} more)"]
    return tuple(line(item, limit) for item in known)


def name_and_id(name: str, student: str) -> str:
    """Return the *name* followed by the id *student*, or the id alone if the name is empty."""
    name = line(name, MAX_WORD)
    return f"{name} ({student})" if name else student


def without_folders(text: str) -> str:
    """Shorten absolute paths in *text* to the file's name, to hide the folders of a server."""
    return _PATH.sub("…/", text)


def identifier(text: str, limit: int = MAX_WORD) -> str:
    """Return *text* as a printable identifier of at most *limit* characters.

    A text that is already printable and short enough is not changed. Any other text gets a digest
    at its end, so that different ids stay different.
    """
    if text.isprintable() and len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    shown = line(text, limit - len(digest) - 1)
    return f"{''.join(filter(str.isprintable, shown))}~{digest}"


def digits(entry: str) -> str:
    """Return a printed number, with an exponent if it is longer than ``MAX_DIGITS``, or a value."""
    if len(entry) <= MAX_DIGITS:
        return line(entry, MAX_DIGITS)
    try:
        return f"{float(entry[:400]):.3e}"  # the largest double has 309 digits before the point
    except ValueError:
        text = line(entry, MAX_DIGITS)
        short = text.encode()[:MAX_BYTES].decode(errors="ignore")
        return text if entry.isascii() else line(short, MAX_DIGITS)


def _visible(text: str, limit: int) -> str:
    """Return *text* without control characters, and with codes for bidirectional controls."""
    text = text[: 8 * limit]  # enough for *limit* visible characters among many escapes
    if text.isascii() and text.isprintable():
        return text
    kept: list[str] = []
    marks = 0
    for character in _ESCAPE.sub("", text):
        category = unicodedata.category(character)
        shown = _shown(character, category)
        if category in {"Mn", "Me"}:
            marks += 1
        elif shown and character not in _JOINERS:  # an invisible character starts no new letter
            marks = 0
        if marks <= MAX_MARKS:
            kept.append(shown)
    return "".join(kept)


def _shown(character: str, category: str) -> str:
    if character in _BIDI:
        return f"<U+{ord(character):04X}>"
    if character == "\n" or category in {"Zl", "Zp"}:
        return "\n"
    if category == "Zs" or character == "\t":
        return " "
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"  # a surrogate, which UTF-8 can't encode
    if category in {"Cc", "Cf"} and character not in _JOINERS:
        return ""
    return character


def _cut(text: str, limit: int, length: int) -> str:
    """Shorten *text* to *limit*, including a note on its original *length*."""
    if len(text) <= limit and length <= 8 * limit:
        return text
    note = f" … (of {length:,} characters)"
    if 2 * len(note) > limit:  # no room, as for a token above a column of numbers
        note = "…"
    return f"{text[: limit - len(note)].rstrip()}{note}".strip()
