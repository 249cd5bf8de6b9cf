"""Parses names of files: students, stages, modules and notebooks, also in downloads.

Canvas (``lib/content_zipper.rb``) writes ``<name>[_LATE]_<user>_<upload>_<file>``, for a typed
answer ``<name>[_LATE]_<user>_text.html``, for a link ``…_link.html``, and under anonymous grading
``[LATE_]anon_<letters>`` in place of the name and the user. Moodle (``mod/assign``) writes
``<full name>_<participant>_assignsubmission_<plugin>``, then ``_<file>`` or, for a folder, nothing
or ``_``; the submission of students without a group has no number. GitHub Classroom calls a
repository ``<assignment>-<login>``. The first marker ends the part that the platform wrote.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from os.path import commonprefix
from pathlib import PurePosixPath
from typing import Final, Literal

import msgspec

from autograder.course import LAB, PUBLIC_SUITE, Stage
from autograder.submission.files import CODE, MODULE, NOTEBOOK, SubmittedFile

MAX_STUDENT = 80  # characters of an id, which reports use in file names

# Some systems do not allow these characters in file names, and reports are named after students.
_UNSAFE = re.compile(r'[<>:"/\\|?*]')
# "x (1)", "x-2", "x 2", "x copy", "x - Copy (3)", "x-Copy1". At most three marks, because with
# unlimited repetition a hostile name could take exponential time.
_MARKED = re.compile(
    r"(?P<name>.+?)(?P<marks>(?: ?\(\d{1,3}\)| ?-? ?copy ?\d{0,3}|[ -]\d{1,2}){0,3})",
    re.IGNORECASE | re.DOTALL,
)
_MARKS = 40  # characters at the end of a name that hold its marks; three take at most 33
_LAST_OF_MARK = frozenset(") yY")  # or a digit: the last character of a mark
_COPY_OF = "copy of "
_LAB = LAB.removesuffix(NOTEBOOK)
EARLIER = "earlier_uploads"  # the folder of collected files of which there is a newer upload


def student_id(raw: str) -> str:
    """Return *raw* as an id that is safe to print and to use as a file name.

    A changed name ends in a few digits of its hash, so that different names stay different.
    """
    wanted = unicodedata.normalize("NFC", raw)
    clean = wanted
    if not wanted.isprintable():
        clean = "".join(c if c.isprintable() else "_" for c in wanted)
    clean = _UNSAFE.sub("_", clean).strip(". ")
    if clean and clean == wanted and len(clean) <= MAX_STUDENT:
        return clean
    digest = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{clean[: MAX_STUDENT - 9] or 'unnamed'}~{digest}"


def comparison_key(name: str) -> str:
    """Return a key that is equal for names which differ only in case or Unicode normalization."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def original_stem(stem: str) -> tuple[str, int]:
    """Return the original stem of a copy and the copy's number: ``("lab", 2)`` for ``lab (2)``."""
    is_copy_of = stem[: len(_COPY_OF)].lower() == _COPY_OF and len(stem) > len(_COPY_OF)
    stem = stem[len(_COPY_OF) :] if is_copy_of else stem
    is_marked = stem[-1:].isdecimal() or stem[-1:] in _LAST_OF_MARK
    match = _MARKED.fullmatch(stem[-_MARKS:]) if is_marked else None
    if match is None:
        return comparison_key(stem), 0
    numbers = re.findall(r"\d+", match["marks"])
    return comparison_key(stem[:-_MARKS] + match["name"]), int(numbers[-1]) if numbers else 0


class StageResolver(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Decides to which stage a file belongs."""

    stages: tuple[Stage, ...]
    only: Stage | None = None  # the only stage to grade
    chosen: tuple[Stage, ...] = ()  # the stages to grade; empty for all
    enclosing: Stage | None = None  # the stage of the folder around the submission

    @property
    def wanted(self) -> tuple[Stage, ...]:
        """The stages to grade."""
        return (self.only,) if self.only else self.chosen or self.stages

    @property
    def default_stage(self) -> Stage | None:
        """The stage of files whose names match no stage."""
        return self.wanted[0] if len(self.wanted) == 1 else None

    def stage_of(self, path: PurePosixPath) -> Stage | None:
        """Return the stage by the nearest folder with a stage's name, else by the file's name."""
        for part in reversed(path.parts):  # also the last part: a link may replace the folder
            if stage := self.stage_named(part):
                return stage
        return self.enclosing or self.stage_of_file(path)

    def stage_named(self, name: str) -> Stage | None:
        """Return the stage with the name *name*, compared as file names."""
        return self._by_name.get(comparison_key(name))

    def matches(self, name: str) -> bool:
        """Return whether *name* is that of a stage, or of a file of a stage or a copy of it."""
        path = PurePosixPath(name)
        return is_lab(path) or (self.stage_named(name) or self.stage_of_file(path)) is not None

    @cached_property
    def _by_name(self) -> dict[str, Stage]:
        return {comparison_key(stage.name): stage for stage in reversed(self.stages)}

    @cached_property
    def _by_file(self) -> dict[tuple[str, str], Stage]:
        """The stage of each suffix with a stem, as it is and as ``original_stem`` returns it."""
        found: dict[tuple[str, str], Stage] = {}
        for normalized in (str, comparison_key):  # the exact name decides before a copy's
            for stage in self.stages:
                for suffix, stems in _stems(stage).items():
                    for stem in stems:
                        found.setdefault((suffix, normalized(stem)), stage)
        return found

    def stage_of_file(self, path: PurePosixPath) -> Stage | None:
        """Return the stage of which students receive a file with the name of *path*."""
        suffix = path.suffix.lower()
        # All exact names first: a module may be called `mask-2`.
        exact = self._by_file.get((suffix, path.stem))
        return exact or self._by_file.get((suffix, original_stem(path.stem)[0]))


def find_module(stage: Stage, files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the file with the name of the stage's module, or a copy of it, or None."""
    return _find_named(_latest(files, MODULE), (stage.module,))


def find_only_module(files: Sequence[SubmittedFile], others: StageResolver) -> SubmittedFile | None:
    """Return the only module of any name, apart from modules of stages and public suites."""
    unknown = [file for file in _latest(files, MODULE) if file.path.name != PUBLIC_SUITE]
    return _only_one([file for file in unknown if not others.stage_of_file(file.path)])


def find_notebook(stage: Stage, files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the notebook with a name of *stage*, else a copy of it, else the only notebook."""
    notebooks = _latest(files, NOTEBOOK)
    stems = (*_stems(stage)[NOTEBOOK], _LAB)
    return _find_named(notebooks, stems) or _only_one(notebooks)


def is_lab(path: PurePosixPath) -> bool:
    """Return whether *path* is a lab by its name, or a copy of one."""
    return path.suffix.lower() == NOTEBOOK and _is_copy(path, _LAB)


def find_lab(stage: Stage, files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the notebook that may hold the written answers: the lab before a code notebook."""
    notebooks = _latest(files, NOTEBOOK)
    stems = (_LAB, *reversed(_stems(stage)[NOTEBOOK]))
    return _find_named(notebooks, stems) or _only_one(notebooks)


def _latest(files: Iterable[SubmittedFile], suffix: str) -> list[SubmittedFile]:
    return [file for file in files if file.suffix == suffix and not is_earlier(file)]


def _find_named(files: Sequence[SubmittedFile], stems: Iterable[str]) -> SubmittedFile | None:
    loose = [file for file in files if not file.packed]
    for batch in (loose, files):  # a packed file is assumed to be an older copy
        for is_match in (lambda path, stem: path.stem == stem, _is_copy):
            for stem in stems:
                if matching := [file for file in batch if is_match(file.path, stem)]:
                    return _newest(min(matching, key=_by_depth), files)
    return None


def _newest(chosen: SubmittedFile, files: Sequence[SubmittedFile]) -> SubmittedFile:
    """Return the latest upload among *chosen* and the other attempts at the same file."""
    later = [file for file in attempts(chosen, files) if file.upload > chosen.upload]
    return min(later, key=lambda file: (-file.upload, _by_depth(file)), default=chosen)


def is_earlier(file: SubmittedFile) -> bool:
    """Return whether *file* was collected together with a newer upload."""
    return EARLIER in file.path.parts


def superseded(
    originals: Iterable[SubmittedFile], files: Sequence[SubmittedFile]
) -> list[SubmittedFile]:
    """Return the *originals* of which all code was uploaded again, also in archives (*files*)."""
    latest: dict[tuple[str, str], int] = {}
    by_upload: dict[int, list[tuple[str, str]]] = {}
    for file in files:
        if file.suffix in CODE:
            key = file.suffix, original_stem(file.path.stem)[0]
            latest[key] = max(latest.get(key, 0), file.upload)
            by_upload.setdefault(file.upload, []).append(key)
    return [
        original
        for original in originals
        if original.upload
        and (own := by_upload.get(original.upload))
        and all(latest[key] > original.upload for key in own)
    ]


def attempts(chosen: SubmittedFile, files: Iterable[SubmittedFile]) -> list[SubmittedFile]:
    """Return other files named like *chosen*, in the same folder or in a different upload."""
    stem = original_stem(chosen.path.stem)[0]
    return [
        file
        for file in files
        if file is not chosen
        and file.suffix == chosen.suffix
        and original_stem(file.path.stem)[0] == stem
        and (
            file.upload != chosen.upload
            or file.path.parent == chosen.path.parent
            or is_earlier(file)
        )
    ]


def _stems(stage: Stage) -> dict[str, tuple[str, ...]]:
    """Return the names of the stage's files without their suffixes; a browser's lab is 04.ipynb."""
    number = stage.name.partition("_")[0]
    numbers = (number,) if number.isdecimal() else ()
    return {MODULE: (stage.module,), NOTEBOOK: (stage.module, stage.name, *numbers)}


def _is_copy(path: PurePosixPath, stem: str) -> bool:
    return original_stem(path.stem)[0] == comparison_key(stem)


def _by_depth(file: SubmittedFile) -> tuple[int, int, str]:
    """Return a key that sorts by depth, and puts the copy with the highest number first."""
    return len(file.path.parts), -original_stem(file.path.stem)[1], str(file.path)


def _only_one(files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the only file, or the newest upload if all are attempts at the same file."""
    if not files or len(attempts(files[0], files)) < len(files) - 1:
        return None
    newest = _newest(files[0], files)
    return newest if len(files) == 1 or newest.upload else None


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
    lengths = sorted((len(commonprefix([name, middle])) for name in names), reverse=True)  # noqa: RUF071  # names, not paths
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
