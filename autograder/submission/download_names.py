"""Parses the names of files and folders in downloads from Canvas, Moodle and GitHub Classroom.

Canvas (``lib/content_zipper.rb``) writes ``<name>[_LATE]_<user>_<upload>_<file>``, for a typed
answer ``<name>[_LATE]_<user>_text.html``, for a link ``…_link.html``, and under anonymous grading
``[LATE_]anon_<letters>`` in place of the name and the user. Moodle (``mod/assign``) writes
``<full name>_<participant>_assignsubmission_<plugin>``, then ``_<file>`` or, for a folder, nothing
or ``_``; the submission of students without a group has no number. GitHub Classroom calls a
repository ``<assignment>-<login>``.

The first marker ends the part that the platform wrote; the student chose the rest.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal

import msgspec

from autograder.submission.names import comparison_key, student_id

Source = Literal["canvas", "moodle", "nbgrader", "github", "folder"]
TITLES: Final[dict[str, str]] = {
    "canvas": "Canvas",
    "moodle": "Moodle",
    "nbgrader": "nbgrader",
    "github": "GitHub Classroom",
    "gradescope": "Gradescope",
}
LMS: Final = ("canvas", "moodle")  # each name shows that the LMS made it; Canvas's marker is first
# The part after the name. A search for it takes linear time for every name.
_CANVAS = re.compile(r"(?i)_(late_)?(\d+)_(?:(\d+)_(?=.)|(?=(?:text|link)\.html\Z))", re.DOTALL)
_ANONYMOUS = re.compile(
    r"(?i)(late_)?anon_([a-z0-9]+)_(?:(\d+)_(?=.)|(?=(?:text|link)\.html\Z))", re.DOTALL
)
_MOODLE_MARKER = "_assignsubmission_"
_MOODLE = re.compile(rf"(?:_(\d+))?{_MOODLE_MARKER}([a-z][a-z0-9]*)(?:_|\Z)")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # Classroom's slugs of teams look the same
_MAX_DIGITS = 18  # of a number in a name; Python refuses to convert thousands of digits


class ParsedName(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the name of a file or folder in a download."""

    student: str
    file: str  # the name that the student chose; "" for a folder
    platform: str = ""  # a key of ``TITLES`` if this platform made the name, else ""
    number: str = ""  # the student's number or id on the platform
    name: str = ""  # the student's name, as the platform writes it
    email: str = ""
    is_late: bool = False  # as marked by Canvas
    is_typed: bool = False  # a text or a link that was entered in a form, and no file
    upload: int = 0  # the number of the upload in Canvas; later uploads have higher numbers


def parse_name(name: str, lms: str) -> ParsedName | None:
    """Parse *name* as *lms*, one of ``LMS``, writes it; return None if it does not fit."""
    return _of_canvas(name) if lms == "canvas" else _of_moodle(name)


def parse_download_name(name: str) -> ParsedName:
    """Parse *name* as the first LMS whose form it has; any other name is the student's."""
    found = filter(None, (parse_name(name, lms) for lms in LMS))
    return next(found, None) or ParsedName(student=student_id(name), file=name)


def _of_canvas(name: str) -> ParsedName | None:
    anonymous = _ANONYMOUS.match(name)
    match = anonymous or _CANVAS.search(name, 1)
    if match is None:
        return None
    late, number, upload = match.groups()
    owner = "anon" if anonymous else name[: match.start()]
    return ParsedName(
        student=student_id(f"{owner}_{number}"),
        file=name[match.end() :],
        platform="canvas",
        number=number,
        name=owner,
        is_late=bool(late),
        is_typed=upload is None,
        upload=int((upload or "0")[-_MAX_DIGITS:]),
    )


def _of_moodle(name: str) -> ParsedName | None:
    match = _MOODLE.search(name, 1) if _MOODLE_MARKER in name else None
    if match is None:
        return None
    owner, number, plugin = name[: match.start()], match[1] or "", match[2]
    return ParsedName(
        student=student_id(f"{owner}_{number}" if number else owner),
        file=name[match.end() :],
        platform="moodle",
        number=number,
        name=owner,
        is_typed=plugin == "onlinetext",
    )


def parse_repository(name: str, prefix: str) -> ParsedName | None:
    """Parse the *name* of a repository of GitHub Classroom; None if it lacks *prefix*."""
    login = name[len(prefix) :]
    if comparison_key(name[: len(prefix)]) != comparison_key(prefix) or not _LOGIN.fullmatch(login):
        return None
    return ParsedName(student=student_id(login), file="", platform="github", number=login)


def shared_prefix(names: Sequence[str]) -> str:
    """Return the longest prefix that ends in a hyphen and that all *names* share.

    If there is none, return the longest that more than half of them share. In sorted order, these
    names are neighbours, and one of them is in the middle.
    """
    if len(names) < 2:  # noqa: PLR2004  # a single name does not show where the login begins
        return ""
    middle = sorted(names)[len(names) // 2]
    lengths = sorted((_shared_length(name, middle) for name in names), reverse=True)
    ends = [middle.rfind("-", 0, most) + 1 for most in (lengths[-1], lengths[len(names) // 2])]
    return middle[: ends[0] or ends[1]]


def known_prefix(names: Iterable[str], logins: Collection[str], longest: int) -> str | None:
    """Return the prefix after which most *names* are one of *logins*; None if there is none.

    No login has more than *longest* characters.
    """
    prefixes: Counter[str] = Counter()
    for name in names:
        key = comparison_key(name)
        starts = [at for at in range(max(1, len(key) - longest), len(key)) if key[at - 1] == "-"]
        prefixes.update(key[:start] for start in (0, *starts) if key[start:] in logins)
    return min(prefixes, key=lambda prefix: (-prefixes[prefix], len(prefix)), default=None)


def _shared_length(first: str, second: str) -> int:
    differ = (at for at, (one, two) in enumerate(zip(first, second, strict=False)) if one != two)
    return next(differ, min(len(first), len(second)))
