"""Names from unknown sources, made safe to print, to compare and to use as an id."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

import msgspec

MAX_SHOWN = 120  # characters of one name in a message; file systems allow 255, a line does not
MAX_LISTED = 50  # names in one list; a student's virtual environment has thousands
MAX_STUDENT = 80  # characters of an id: it becomes a file name with a suffix in reports

# No system allows all of these in a file name, and reports may be named after the student.
_UNSAFE = re.compile(r'[<>:"/\\|?*]')
_CANVAS = re.compile(r"(?is)(?P<name>[^_]+)_(?:(?P<late>late)_)?(?P<id>\d+)_\d+_(?P<file>.+)")
_MOODLE = re.compile(
    r"(?s)(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_(?P<file>.*)"
)
# "x (1)", "x-2", "x 2", "x copy", "x - Copy (3)", "x-Copy1", "Copy of x". Three marks at most,
# because an open repetition would let a hostile name match in exponentially many ways.
_COPY = re.compile(
    r"(?:copy of )?(?P<name>.+?)(?P<marks>(?: ?\(\d{1,3}\)| ?-? ?copy ?\d{0,3}|[ -]\d{1,2}){0,3})",
    re.IGNORECASE | re.DOTALL,
)


class ParsedName(msgspec.Struct, frozen=True, kw_only=True):
    """What the name of a download says."""

    student: str
    file: str  # the name that the student gave, "" for Moodle's folders
    is_late: bool = False  # by Canvas's mark
    by_lms: bool = False


def visible(name: str) -> str:
    """Return *name* on one line, with control, bidi and undecodable characters written out."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in name[: MAX_SHOWN + 1]
    )
    return shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 1] + "…"


def abbreviated_list(names: Sequence[str], limit: int = MAX_LISTED) -> tuple[str, ...]:
    """Return the first *limit* names, visible, and how many more there are."""
    shown = tuple(visible(name) for name in names[:limit])
    return shown if len(names) <= limit else (*shown, f"... and {len(names) - limit} more")


def student_id(raw: str) -> str:
    """Return *raw* as an id that is safe to print and to use as a file name.

    A name that had to be changed ends in a few digits of its hash, so that two names never become
    one.
    """
    wanted = unicodedata.normalize("NFC", raw)
    clean = "".join(c if c.isprintable() else "_" for c in wanted)
    clean = _UNSAFE.sub("_", clean).strip(". ")
    if clean and clean == wanted and len(clean) <= MAX_STUDENT:
        return clean
    digest = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{clean[: MAX_STUDENT - 9] or 'unnamed'}~{digest}"


def parse_download_name(name: str) -> ParsedName:
    """Read student and file from the name of a folder or a file that an LMS may have made.

    Canvas: ``lastnamefirst_<user>_<submission>_<file>``, ``_LATE_`` after the name if so.
    Moodle: ``Full Name_<participant>_assignsubmission_file_<file>``.
    Both become ``<name>_<number>``: two students of one name stay two, and the number is the one
    that the LMS's gradebook knows. Any other name is the student's whole.
    """
    match = _MOODLE.fullmatch(name) or _CANVAS.fullmatch(name)
    if match is None:
        return ParsedName(student=student_id(name), file=name)
    return ParsedName(
        student=student_id(f"{match['name']}_{match['id']}"),
        file=match["file"],
        is_late=bool(match.groupdict().get("late")),
        by_lms=True,
    )


def comparison_key(name: str) -> str:
    """Return *name* as file systems compare names that ignore case and spelling of accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def original_stem(stem: str) -> tuple[str, int]:
    """Return a copy's original stem and the copy's number: ``lab (2)`` is ``("lab", 2)``."""
    match = _COPY.fullmatch(stem)
    if match is None:
        return comparison_key(stem), 0
    numbers = re.findall(r"\d+", match["marks"])
    return comparison_key(match["name"]), int(numbers[-1]) if numbers else 0
