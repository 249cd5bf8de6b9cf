"""Parses file names: the student, the stage, the module and the notebook."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from autograder.course import LAB, PUBLIC_SUITE, Stage
from autograder.submission.files import CODE, MODULE, NOTEBOOK, SubmittedFile

MAX_STUDENT = 80  # characters of an id: it becomes a file name with a suffix in reports

# No system allows all of these in a file name, and reports may be named after the student.
_UNSAFE = re.compile(r'[<>:"/\\|?*]')
# The first marker ends what the LMS wrote; the rest is the name that the student chose.
_LMS = {
    "Canvas": re.compile(
        r"(?is)(?P<name>[^_]+)_(?:(?P<late>late)_)?(?P<id>\d+)_(?P<upload>\d+)_(?P<file>.+)"
    ),
    "Moodle": re.compile(
        r"(?s)(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?"
    ),
}
# "x (1)", "x-2", "x 2", "x copy", "x - Copy (3)", "x-Copy1", "Copy of x". Three marks at most,
# because an open repetition would let a hostile name match in exponentially many ways.
_COPY = re.compile(
    r"(?:copy of )?(?P<name>.+?)(?P<marks>(?: ?\(\d{1,3}\)| ?-? ?copy ?\d{0,3}|[ -]\d{1,2}){0,3})",
    re.IGNORECASE | re.DOTALL,
)
_LAB = LAB.removesuffix(NOTEBOOK)
EARLIER = "earlier_uploads"  # the folder of collected files that have a newer upload
_MAX_DIGITS = 18  # of a number in a name; Python refuses to read thousands


class ParsedName(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a download's name."""

    student: str
    file: str  # the name that the student gave, "" for Moodle's folders
    lms: str = ""  # whose name it is: "Canvas", "Moodle", or nobody's
    number: str = ""  # the student's, in the LMS
    name: str = ""  # the student's, as the LMS writes it
    is_late: bool = False  # by Canvas's mark
    upload: int = 0  # Canvas's number of the file; a later upload has a higher one

    @property
    def by_lms(self) -> bool:
        """Whether an LMS made the name."""
        return bool(self.lms)


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


def find_lms(names: Iterable[str]) -> str:
    """Return the LMS that made a download with *names* in it; "" if none did.

    It is decided once for all of them, by the number of names that fit: every name of a download
    fits its own LMS, and one that fits another one as well was chosen by a student.
    """
    names = list(names)
    fits = {lms: sum(map(bool, map(pattern.fullmatch, names))) for lms, pattern in _LMS.items()}
    best = max(fits, key=lambda lms: fits[lms])  # Canvas of two: its marker comes first
    return best if fits[best] else ""


def parse_download_name(name: str, lms: str | None = None) -> ParsedName:
    """Read student and file from the name of a folder or a file in a download from *lms*.

    ``None``: the name itself decides which LMS it is, ``""``: it is none.

    Canvas: ``lastnamefirst_<user>_<submission>_<file>``, ``_LATE_`` after the name if so.
    Moodle: ``Full Name_<participant>_assignsubmission_file_<file>``; from 4.1 on, a folder's name
    has no ``_`` at its end.
    Both become ``<name>_<number>``: two students of one name stay two, and the number is the one
    that the LMS's gradebook knows. Any other name is the student's whole.
    """
    lms = find_lms([name]) if lms is None else lms
    match = _LMS[lms].fullmatch(name) if lms else None
    if match is None:
        return ParsedName(student=student_id(name), file=name)
    marks = match.groupdict()
    return ParsedName(
        student=student_id(f"{match['name']}_{match['id']}"),
        file=match["file"] or "",
        lms=lms,
        number=match["id"],
        name=match["name"],
        is_late=bool(marks.get("late")),
        upload=int((marks.get("upload") or "0")[-_MAX_DIGITS:]),
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


class StageResolver(msgspec.Struct, frozen=True, kw_only=True):
    """Decides which stage a file belongs to."""

    stages: tuple[Stage, ...]
    only: Stage | None = None  # grade no other stage
    enclosing: Stage | None = None  # the whole submission lies in a folder of this stage

    @property
    def wanted(self) -> tuple[Stage, ...]:
        """The stages to grade."""
        return (self.only,) if self.only else self.stages

    @property
    def default_stage(self) -> Stage | None:
        """The stage of files whose names match none."""
        return self.wanted[0] if len(self.wanted) == 1 else None

    def stage_of(self, path: PurePosixPath) -> Stage | None:
        """Return the stage of the nearest folder named like one, else by the file's own name."""
        for part in reversed(path.parts):  # the last one too: a link may replace the folder
            if stage := self.stage_named(part):
                return stage
        return self.enclosing or self._stage_of_file(path)

    def stage_named(self, name: str) -> Stage | None:
        """Return the stage whose folder would be named *name*."""
        key = comparison_key(name)
        return next((stage for stage in self.stages if comparison_key(stage.name) == key), None)

    def matches(self, name: str) -> bool:
        """Return whether a folder or a file of that name, or a copy of it, is part of a stage."""
        path = PurePosixPath(name)
        is_lab = path.suffix.lower() == NOTEBOOK and _is_copy(path, _LAB)
        return is_lab or (self.stage_named(name) or self._stage_of_file(path)) is not None

    def is_released(self, path: PurePosixPath) -> bool:
        """Return whether students receive a file of that name in some stage."""
        return path.name == PUBLIC_SUITE or self._stage_of_file(path) is not None

    def _stage_of_file(self, path: PurePosixPath) -> Stage | None:
        # All exact names first: a module may be called `mask-2`.
        for is_match in (_is_exact, _is_copy):
            for stage in self.stages:
                if any(is_match(path, stem) for stem in _stems(stage, path)):
                    return stage
        return None


def find_module(stage: Stage, files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the module by its name, else a copy of it."""
    return _find_named(_latest(files, MODULE), (stage.module,))


def find_only_module(files: Sequence[SubmittedFile], others: StageResolver) -> SubmittedFile | None:
    """Return the only module, under any name; those of other stages and suites do not count."""
    modules = _latest(files, MODULE)
    return _only_one([file for file in modules if not others.is_released(file.path)])


def find_notebook(stage: Stage, files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the notebook by one of its names, else a copy of it, else the only notebook."""
    notebooks = _latest(files, NOTEBOOK)
    return _find_named(notebooks, (stage.module, stage.name, _LAB)) or _only_one(notebooks)


def _latest(files: Iterable[SubmittedFile], suffix: str) -> list[SubmittedFile]:
    """Return the *files* with *suffix* that were not collected together with a newer upload."""
    return [file for file in files if file.suffix == suffix and not is_earlier(file)]


def _find_named(files: Sequence[SubmittedFile], stems: Iterable[str]) -> SubmittedFile | None:
    loose = [file for file in files if not file.packed]
    for batch in (loose, files):  # an archive next to the file itself is an older copy of it
        for is_match in (_is_exact, _is_copy):
            for stem in stems:
                if matching := [file for file in batch if is_match(file.path, stem)]:
                    return _newest(min(matching, key=_by_depth), files)
    return None


def _newest(chosen: SubmittedFile, files: Sequence[SubmittedFile]) -> SubmittedFile:
    """Return the file that was uploaded last of *chosen* and the other attempts at it."""
    later = [file for file in attempts(chosen, files) if file.upload > chosen.upload]
    return min(later, key=lambda file: (-file.upload, _by_depth(file)), default=chosen)


def is_earlier(file: SubmittedFile) -> bool:
    """Return whether *file* was collected together with a newer upload."""
    return EARLIER in file.path.parts


def superseded(
    originals: Iterable[SubmittedFile], files: Sequence[SubmittedFile]
) -> list[SubmittedFile]:
    """Return the *originals* of which every module and notebook was uploaded again later.

    *files* are the originals with the files in their archives.
    """
    found = []
    for original in originals:
        own = [file for file in files if file.upload == original.upload and file.suffix in CODE]
        newer = [any(other.upload > file.upload for other in attempts(file, files)) for file in own]
        if original.upload and own and all(newer):
            found.append(original)
    return found


def attempts(chosen: SubmittedFile, files: Iterable[SubmittedFile]) -> list[SubmittedFile]:
    """Return the files that are another attempt at *chosen*, by their names.

    They are next to it, or were uploaded to an LMS at another time.
    """
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


def _stems(stage: Stage, path: PurePosixPath) -> tuple[str, ...]:
    by_suffix = {MODULE: (stage.module,), NOTEBOOK: (stage.module, stage.name)}
    return by_suffix.get(path.suffix.lower(), ())


def _is_exact(path: PurePosixPath, stem: str) -> bool:
    return path.stem == stem


def _is_copy(path: PurePosixPath, stem: str) -> bool:
    return original_stem(path.stem)[0] == comparison_key(stem)


def _by_depth(file: SubmittedFile) -> tuple[int, int, str]:
    """Sort the file nearest to the top first, and the last of several copies, as browsers count."""
    return len(file.path.parts), -original_stem(file.path.stem)[1], str(file.path)


def _only_one(files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the only file, or the newest of several attempts at one."""
    if not files or len(attempts(files[0], files)) < len(files) - 1:
        return None
    newest = _newest(files[0], files)
    return newest if len(files) == 1 or newest.upload else None
