"""What others wrote, made harmless to look at: bounded, and nothing in it acts.

A student chooses names, exceptions and file names. Every view of a submission goes through
``harmless`` first, so that no view can forget a field; what is left is text, and autoescape or
``rich.text.Text`` keeps it text.
"""

import re
import unicodedata

from msgspec.structs import replace

from autograder.results import CheckResult, Diagnosis, ExerciseResult, Grid, SubmissionResult

MAX_WORD = 80  # a name on one line of a desktop
MAX_SENTENCE = 400
MAX_MESSAGE = 2000  # a screenful: enough for an exception with its text
MAX_LINES = 30  # likewise
MAX_NOTICES = 20
MAX_IGNORED = 50
MAX_SIDE = 8  # rows and columns of a grid
MAX_DIGITS = 12  # "-1234.567890": what fits under a word of a sentence
MAX_MARKS = 3  # accents on one letter; more of them climb over the lines above

_ESCAPE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,2000}(?:\x07|\x1b\\|\x9c)"  # titles
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[ -/]*[0-~]"  # resets, character sets
)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINERS = frozenset("\u200c\u200d")  # Persian, Indic scripts and emoji are wrong without them


def sanitize(result: SubmissionResult) -> SubmissionResult:
    """Return *result* with every text in it bounded and without effect."""
    return replace(
        result,
        student=line(result.student, MAX_WORD) or "(no name)",
        stage=line(result.stage, MAX_WORD),
        message=lines(result.message),
        notices=tuple(line(item, MAX_SENTENCE) for item in result.notices[:MAX_NOTICES]),
        ignored=tuple(line(item, MAX_WORD) for item in result.ignored[:MAX_IGNORED]),
        exercises=tuple(_exercise(item) for item in result.exercises),
        sha256=line(result.sha256, MAX_WORD),
    )


def line(text: str, limit: int) -> str:
    """Put *text* on one line of at most *limit* characters and a word about the rest."""
    return _cut(" ".join(_visible(text, limit).split()), limit, len(text))


def lines(text: str, limit: int = MAX_MESSAGE) -> str:
    """Keep the lines of *text*, at most *limit* characters and ``MAX_LINES`` lines."""
    kept = [item.rstrip() for item in _visible(text, limit).strip().split("\n")]
    if len(kept) > MAX_LINES:
        kept = [*kept[:MAX_LINES], "… (more lines)"]
    return _cut("\n".join(kept), limit, len(text))


def _exercise(result: ExerciseResult) -> ExerciseResult:
    return replace(
        result,
        name=line(result.name, MAX_WORD),
        checks=tuple(_check(check) for check in result.checks),
    )


def _check(check: CheckResult) -> CheckResult:
    return replace(
        check,
        title=line(check.title, MAX_SENTENCE),
        message=lines(check.message),
        diagnosis=check.diagnosis and _diagnosis(check.diagnosis),
        grid=check.grid and _grid(check.grid),
    )


def _diagnosis(diagnosis: Diagnosis) -> Diagnosis:
    return Diagnosis(
        misconception=line(diagnosis.misconception, MAX_SENTENCE),
        explanation=lines(diagnosis.explanation),
        hint=lines(diagnosis.hint),
    )


def _grid(grid: Grid) -> Grid:
    return Grid(
        expected=_entries(grid.expected),
        yours=_entries(grid.yours),
        difference=_entries(grid.difference),
        wrong=tuple(row[:MAX_SIDE] for row in grid.wrong[:MAX_SIDE]),
        rows=tuple(line(word, MAX_DIGITS) for word in grid.rows[:MAX_SIDE]),
        columns=tuple(line(word, MAX_DIGITS) for word in grid.columns[:MAX_SIDE]),
    )


def _entries(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_digits(entry) for entry in row[:MAX_SIDE]) for row in rows[:MAX_SIDE])


def _digits(entry: str) -> str:
    """Keep a number as printed; one with hundreds of digits before the point gets an exponent."""
    if len(entry) <= MAX_DIGITS:
        return line(entry, MAX_DIGITS)
    try:
        return f"{float(entry[:400]):.3e}"  # the largest double has 309 digits before the point
    except ValueError:
        return "?"


def _visible(text: str, limit: int) -> str:
    """Drop what acts instead of showing; of bidirectional controls show the code."""
    text = text[: 8 * limit]  # enough to fill the limit even between many escapes
    if text.isascii() and text.isprintable():
        return text
    kept: list[str] = []
    marks = 0
    for character in _ESCAPE.sub("", text):
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks <= MAX_MARKS:
            kept.append(_shown(character, category))
    return "".join(kept)


def _shown(character: str, category: str) -> str:
    if character in _BIDI:
        return f"<U+{ord(character):04X}>"
    if character == "\n" or category in {"Zl", "Zp"}:
        return "\n"
    if category == "Zs" or character == "\t":
        return " "
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"  # half a character, which UTF-8 can't write
    if category in {"Cc", "Cf"} and character not in _JOINERS:
        return ""
    return character


def _cut(text: str, limit: int, length: int) -> str:
    """Shorten *text*, of which there were *length* characters, and say how much is left out."""
    if len(text) <= limit:
        return text if length <= 8 * limit else f"{text} … (of {length:,} characters)"
    return f"{text[:limit].rstrip()} … (of {length:,} characters)"
