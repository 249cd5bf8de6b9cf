"""Parses file names: the student, the stage, the module and the notebook."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from autograder.course import LAB, PUBLIC_SUITE, Stage
from autograder.submission.files import CODE, MODULE, NOTEBOOK, SubmittedFile

MAX_STUDENT = 80  # characters of an id, which reports use in file names

# Some systems do not allow these characters in file names, and reports are named after students.
_UNSAFE = re.compile(r'[<>:"/\\|?*]')
# The first marker ends the part that the LMS wrote; the student chose the rest.
_LMS = {
    "Canvas": re.compile(
        r"(?is)(?P<name>[^_]+)_(?:(?P<late>late)_)?(?P<id>\d+)_(?P<upload>\d+)_(?P<file>.+)"
    ),
    "Moodle": re.compile(
        r"(?s)(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?"
    ),
}
# "x (1)", "x-2", "x 2", "x copy", "x - Copy (3)", "x-Copy1", "Copy of x". At most three marks,
# because with unlimited repetition a hostile name could take exponential time.
_COPY = re.compile(
    r"(?:copy of )?(?P<name>.+?)(?P<marks>(?: ?\(\d{1,3}\)| ?-? ?copy ?\d{0,3}|[ -]\d{1,2}){0,3})",
    re.IGNORECASE | re.DOTALL,
)
_LAB = LAB.removesuffix(NOTEBOOK)
EARLIER = "earlier_uploads"  # the folder of collected files of which there is a newer upload
_MAX_DIGITS = 18  # of a number in a name; Python refuses to convert thousands of digits


class ParsedName(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the name of a file or folder in a download."""

    student: str
    file: str  # the name that the student chose; "" for a folder of Moodle
    lms: str = ""  # which LMS made the name: "Canvas", "Moodle" or ""
    number: str = ""  # the student's number in the LMS
    name: str = ""  # the student's name, as the LMS writes it
    is_late: bool = False  # as marked by Canvas
    upload: int = 0  # the number of the upload in Canvas; later uploads have higher numbers

    @property
    def by_lms(self) -> bool:
        """Whether an LMS made the name."""
        return bool(self.lms)


def student_id(raw: str) -> str:
    """Return *raw* as an id that is safe to print and to use as a file name.

    A changed name ends in a few digits of its hash, so that different names stay different.
    """
    wanted = unicodedata.normalize("NFC", raw)
    clean = "".join(c if c.isprintable() else "_" for c in wanted)
    clean = _UNSAFE.sub("_", clean).strip(". ")
    if clean and clean == wanted and len(clean) <= MAX_STUDENT:
        return clean
    digest = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{clean[: MAX_STUDENT - 9] or 'unnamed'}~{digest}"


def find_lms(names: Iterable[str]) -> str:
    """Return the LMS that made a download with *names* in it; "" if there is none.

    The LMS with the most matching names is returned: all names of a download match their own LMS,
    and only a name that a student chose can also match the other one.
    """
    names = list(names)
    fits = {lms: sum(map(bool, map(pattern.fullmatch, names))) for lms, pattern in _LMS.items()}
    best = max(fits, key=lambda lms: fits[lms])  # Canvas if equal: its marker comes first
    return best if fits[best] else ""


def parse_download_name(name: str, lms: str | None = None) -> ParsedName:
    """Parse the name of a folder or file in a download from *lms*.

    With ``None`` the name itself decides the LMS; ``""`` means that there is none.

    Canvas: ``lastnamefirst_<user>_<submission>_<file>``, with ``_LATE`` after the name if late.
    Moodle: ``Full Name_<participant>_assignsubmission_file_<file>``; from Moodle 4.1 on, the name
    of a folder does not end in ``_``. In both cases the student is ``<name>_<number>``, with the
    number of the LMS's gradebook, so that two students of the same name stay apart. Any other name
    is used as the student as it is.
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
    """Return a key that is equal for names which differ only in case or Unicode normalization."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def original_stem(stem: str) -> tuple[str, int]:
    """Return the original stem of a copy and the copy's number: ``("lab", 2)`` for ``lab (2)``."""
    match = _COPY.fullmatch(stem)
    if match is None:
        return comparison_key(stem), 0
    numbers = re.findall(r"\d+", match["marks"])
    return comparison_key(match["name"]), int(numbers[-1]) if numbers else 0


class StageResolver(msgspec.Struct, frozen=True, kw_only=True):
    """Decides to which stage a file belongs."""

    stages: tuple[Stage, ...]
    only: Stage | None = None  # the only stage to grade
    enclosing: Stage | None = None  # the stage of the folder around the submission

    @property
    def wanted(self) -> tuple[Stage, ...]:
        """The stages to grade."""
        return (self.only,) if self.only else self.stages

    @property
    def default_stage(self) -> Stage | None:
        """The stage of files whose names match no stage."""
        return self.wanted[0] if len(self.wanted) == 1 else None

    def stage_of(self, path: PurePosixPath) -> Stage | None:
        """Return the stage by the nearest folder with a stage's name, else by the file's name."""
        for part in reversed(path.parts):  # also the last part: a link may replace the folder
            if stage := self.stage_named(part):
                return stage
        return self.enclosing or self._stage_of_file(path)

    def stage_named(self, name: str) -> Stage | None:
        """Return the stage with the name *name*, compared as file names."""
        key = comparison_key(name)
        return next((stage for stage in self.stages if comparison_key(stage.name) == key), None)

    def matches(self, name: str) -> bool:
        """Return whether *name* is that of a stage, or of a file of a stage or a copy of it."""
        path = PurePosixPath(name)
        is_lab = path.suffix.lower() == NOTEBOOK and _is_copy(path, _LAB)
        return is_lab or (self.stage_named(name) or self._stage_of_file(path)) is not None

    def is_released(self, path: PurePosixPath) -> bool:
        """Return whether students receive a file with the name of *path* in some stage."""
        return path.name == PUBLIC_SUITE or self._stage_of_file(path) is not None

    def _stage_of_file(self, path: PurePosixPath) -> Stage | None:
        # All exact names first: a module may be called `mask-2`.
        for is_match in (_is_exact, _is_copy):
            for stage in self.stages:
                if any(is_match(path, stem) for stem in _stems(stage, path)):
                    return stage
        return None


def find_module(stage: Stage, files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the file with the name of the stage's module, or a copy of it, or None."""
    return _find_named(_latest(files, MODULE), (stage.module,))


def find_only_module(files: Sequence[SubmittedFile], others: StageResolver) -> SubmittedFile | None:
    """Return the only module of any name, apart from modules of stages and public suites."""
    modules = _latest(files, MODULE)
    return _only_one([file for file in modules if not others.is_released(file.path)])


def find_notebook(stage: Stage, files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the notebook with a name of *stage*, else a copy of it, else the only notebook."""
    notebooks = _latest(files, NOTEBOOK)
    return _find_named(notebooks, (stage.module, stage.name, _LAB)) or _only_one(notebooks)


def _latest(files: Iterable[SubmittedFile], suffix: str) -> list[SubmittedFile]:
    """Return the *files* with *suffix*, without those that have a newer upload."""
    return [file for file in files if file.suffix == suffix and not is_earlier(file)]


def _find_named(files: Sequence[SubmittedFile], stems: Iterable[str]) -> SubmittedFile | None:
    loose = [file for file in files if not file.packed]
    for batch in (loose, files):  # a packed file is assumed to be an older copy
        for is_match in (_is_exact, _is_copy):
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
    """Return the *originals* whose modules and notebooks were all uploaded again later.

    *files* are the originals and the files in their archives.
    """
    found = []
    for original in originals:
        own = [file for file in files if file.upload == original.upload and file.suffix in CODE]
        newer = [any(other.upload > file.upload for other in attempts(file, files)) for file in own]
        if original.upload and own and all(newer):
            found.append(original)
    return found


def attempts(chosen: SubmittedFile, files: Iterable[SubmittedFile]) -> list[SubmittedFile]:
    """Return the other attempts at the file *chosen*, by their names.

    They are in the same folder, or belong to a different upload.
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
    """Return a key that sorts by depth, and puts the copy with the highest number first."""
    return len(file.path.parts), -original_stem(file.path.stem)[1], str(file.path)


def _only_one(files: Sequence[SubmittedFile]) -> SubmittedFile | None:
    """Return the only file, or the newest upload if all are attempts at the same file."""
    if not files or len(attempts(files[0], files)) < len(files) - 1:
        return None
    newest = _newest(files[0], files)
    return newest if len(files) == 1 or newest.upload else None
