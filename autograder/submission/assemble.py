"""Builds the submissions of one student, one per stage, or states why there is none."""

import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from autograder.course import Stage
from autograder.results import LATE, Flag, FlagKind
from autograder.submission.files import (
    CODE,
    MAX_LISTED,
    NOTEBOOK,
    PlacedFault,
    StudentWork,
    SubmittedFile,
    UnusableFile,
    abbreviated_list,
    in_sentence,
    module_text,
    visible,
)
from autograder.submission.names import (
    StageResolver,
    attempts,
    find_lab,
    find_module,
    find_notebook,
    find_only_module,
    is_earlier,
)
from autograder.submission.notebook import (
    MAGIC,
    MAX_NOTEBOOK,
    as_module,
    code_cells,
    defines,
    exercise_of,
    is_opening,
    released_cells,
)
from autograder.submission.written_answers import written_answers

MAX_MODULE = 2**20  # bytes; the longest honest module has about 20 KiB
STAMP = "timestamp.txt"  # nbgrader writes it into every folder that it collects
FEEDBACK_KEY = "submission_secret.txt"  # nbgrader's key to the feedback page of a submission
LAB_ALONE = Flag(FlagKind.NO_MODULE, "a lab was submitted without its module")
_TYPED = "A text or a link was entered in the LMS. Only files are graded: upload the module."


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The student's code as bytes, neither parsed nor executed."""

    kind: Literal["module", "notebook"]
    cells: tuple[bytes, ...]  # the module as one cell, or the notebook's code cells in UTF-8
    label: str  # file name as submitted, safe to print
    given: tuple[int, ...] = ()  # the cells, counted from 1, that the released lab has, too


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one student for one stage, or the reason why there is nothing to grade."""

    student: str
    stage: str  # Stage.name; "" if it is unknown
    code: Code | None  # None if nothing can be graded; `problem` is the reason
    problem: str = ""
    ignored: tuple[str, ...] = ()  # names of files that were not used, at most MAX_LISTED
    notices: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()  # for the instructor
    lab: SubmittedFile | None = None  # the notebook next to the module or in its place
    stamp: SubmittedFile | None = None  # nbgrader's timestamp.txt
    is_late: bool = False  # as marked by the LMS
    waiting: float = 0.0  # the points of written answers that a person must grade
    secret: SubmittedFile | None = None  # nbgrader's submission_secret.txt

    @property
    def module(self) -> bytes | None:
        """The bytes of the module; None if there is no code or only a notebook."""
        return self.code.cells[0] if self.code and self.code.kind == "module" else None

    @property
    def sha256(self) -> str:
        """SHA-256 of the module, or of the notebook's cells and their sizes; empty without code."""
        if self.code is None:
            return ""
        if self.module is not None:
            return hashlib.sha256(self.module).hexdigest()
        sized = (b"%d:" % len(cell) + cell for cell in self.code.cells)
        return hashlib.sha256(b"".join(sized)).hexdigest()

    @property
    def digest(self) -> str:
        """SHA-256 of everything that the result depends on: student, stage, code and notices."""
        decides = (
            *(self.student, self.stage, self.code, self.problem, self.ignored, self.notices),
            self.waiting,
        )
        return hashlib.sha256(repr(decides).encode("utf-8", "backslashreplace")).hexdigest()


class SelectedCode(msgspec.Struct, frozen=True):
    """The code to grade, the file that contains it, and notices about the choice."""

    file: SubmittedFile
    code: Code
    notices: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()


def submissions(work: StudentWork, resolver: StageResolver) -> Iterator[Submission]:
    """Yield one submission for each wanted stage of *work*, or one that reports that none is."""
    by_stage: dict[str, list[SubmittedFile]] = {}
    for file in work.files:
        stage = resolver.stage_of(file.path)
        by_stage.setdefault(stage.name if stage else "", []).append(file)
    unmatched = by_stage.pop("", [])
    made = [
        _for_stage(stage, work, by_stage.get(stage.name, []), unmatched, resolver)
        for stage in resolver.wanted
    ]
    if not any(made) and not by_stage:
        made = [_for_no_stage(work, unmatched, resolver)]
    yield from filter(None, made)


def without_files_of(stage: Stage, work: StudentWork) -> Submission:
    """Return a submission that reports that *work* has no file of *stage*."""
    problem = next(iter(work.faults), "") or _missing(stage, work.files)
    return _submission(work, stage.name, work.files, problem)


def select_code(
    stage: Stage, files: Sequence[SubmittedFile], resolver: StageResolver
) -> SelectedCode | None:
    """Choose and read the code of *stage*; return None if there is none.

    Raises ``UnusableFile`` if the chosen file can't be used.

    The module comes before the notebook, unless it is the unchanged stub and another file defines
    an exercise. If no module has the stage's name, the only other module is used, but next to a
    notebook only if it defines an exercise.
    """
    module, notebook = find_module(stage, files), find_notebook(stage, files)
    name = f"{stage.module}.py"
    only = find_only_module(files, resolver) if module is None else None
    if only and (notebook is None or _may_hold(only, stage)):
        module = only
    if module is None:
        return _read_notebook(stage, notebook, files) if notebook else None
    is_renamed = module.path.name != name
    selected = _read(module, files, *[f"{module.label} was graded as {name}."] * is_renamed)
    return _instead_of_stub(selected, stage, files) if _is_stub(selected.code, stage) else selected


def _instead_of_stub(
    stub: SelectedCode, stage: Stage, files: Sequence[SubmittedFile]
) -> SelectedCode:
    """Return the only other file that defines an exercise, else *stub*, the unchanged module."""
    start = f"{stub.file.label} is the released stub, unchanged"
    faults, found = [], []
    others = [one for one in files if one is not stub.file and one.suffix in CODE]
    for file in sorted(others, key=lambda one: len(one.path.parts))[:MAX_LISTED]:
        what = "the code cells of " * (file.suffix == NOTEBOOK) + file.label
        were = "were" if file.suffix == NOTEBOOK else "was"
        try:
            other = _read(file, files, f"{start}, so {what} {were} graded instead.")
        except UnusableFile as error:
            faults += [str(error)] * (file is find_notebook(stage, files))
            continue
        if _defines_exercise(other.code, stage) and not _is_stub(other.code, stage):
            found.append(other)
    if len(found) == 1 and not is_earlier(found[0].file):
        given = _given_cells(stage, found[0].code)
        module = as_module(stage, found[0].code.cells, given)
        code = msgspec.structs.replace(
            found[0].code,
            cells=module or found[0].code.cells,
            given=(1,) if module else given,
        )
        flag = Flag(FlagKind.SEVERAL_FILES, found[0].notices[0])
        return msgspec.structs.replace(found[0], code=code, flags=(flag, *found[0].flags))
    if found:
        names = in_sentence([one.file.label for one in found])
        faults.append(f"{start}, and was graded. Other files define the exercises: {names}.")
        flag = Flag(FlagKind.SEVERAL_FILES, faults[-1])
        stub = msgspec.structs.replace(stub, flags=(*stub.flags, flag))
    return msgspec.structs.replace(stub, notices=(*stub.notices, *faults))


def _read_notebook(
    stage: Stage, notebook: SubmittedFile, files: Sequence[SubmittedFile]
) -> SelectedCode:
    """Read a notebook in place of the module; a lab without own code for an exercise is refused."""
    name = f"{stage.module}.py"
    selected = _read(notebook, files)
    given = _given_cells(stage, selected.code)
    if module := as_module(stage, selected.code.cells, given):
        what = f"There is no {name}, so the cells %%{MAGIC} of {notebook.label} were graded."
        code = msgspec.structs.replace(selected.code, cells=module, given=(1,))
        return SelectedCode(notebook, code, (what, *selected.notices), selected.flags)
    own = [cell for number, cell in enumerate(selected.code.cells, 1) if number not in given]
    start = f"There is no {name}, so the code cells of {notebook.label} were graded."
    if given:
        start = f"You submitted the lab, not `{name}`."
        names = "|".join(re.escape(exercise.name) for exercise in stage.exercises)
        if not any(re.search(rf"\b(?:{names})\b".encode(), cell) for cell in own):
            msg = f"{start} Submit {name}: your code belongs there."
            if any(map(exercise_of, selected.code.cells)):
                msg = f"No exercise is written in {notebook.label}, and there is no {name}."
                msg += " Submit the one that holds your code."
            error = UnusableFile(msg)
            error.flags = (LAB_ALONE,)
            raise error
        start += f" The code cells of {notebook.label} were graded in its place."
    code = msgspec.structs.replace(selected.code, given=given)
    flags = [LAB_ALONE] if given or notebook.path.name.startswith("lab") else []
    return SelectedCode(notebook, code, (start, *selected.notices), (*flags, *selected.flags))


def _given_cells(stage: Stage, code: Code) -> tuple[int, ...]:
    """Return the numbers of the cells that the student received, for one's computer or a browser.

    These are the cells of the released lab, unchanged stubs, and the cell that installs the course.
    """
    try:
        released = code_cells(stage.lab.read_bytes(), stage.lab.name)
        known = {cell.strip() for cell in (*released, *released_cells(stage))} - {b""}
    except (OSError, UnicodeDecodeError, UnusableFile):  # a stage may have no lab
        return ()
    return tuple(
        number
        for number, cell in enumerate(code.cells, 1)
        if cell.strip() in known or is_opening(cell)
    )


def _may_hold(module: SubmittedFile, stage: Stage) -> bool:
    """Return whether *module*, which has a different name, defines an exercise of *stage*."""
    try:
        return _defines_exercise(_read(module, ()).code, stage)
    except UnusableFile:
        return False


def _for_stage(
    stage: Stage,
    work: StudentWork,
    own: list[SubmittedFile],
    unmatched: list[SubmittedFile],
    resolver: StageResolver,
) -> Submission | None:
    """Return the submission for *stage*; None if it has no file."""
    candidates = own + unmatched if stage == resolver.default_stage else own
    selected, problem, flags = None, "", tuple[Flag, ...]()
    faults = [fault for fault in work.faults if _may_concern(fault, stage, resolver)]
    try:
        selected = select_code(stage, candidates, resolver)
    except UnusableFile as error:
        problem, flags = str(error), error.flags
    if selected is None and not problem:
        if not own:
            return None
        closed = [fault for fault in faults if fault not in work.missing]
        problem = closed[0] if closed else _missing(stage, own)  # the archive may hold it
    lab = find_lab(stage, candidates)
    rest = [file for file in (*own, *unmatched) if file is not lab]
    known = msgspec.structs.replace(work, faults=tuple(faults))
    submission = _submission(known, stage.name, rest, problem, selected)
    return msgspec.structs.replace(
        submission,
        flags=(*submission.flags, *flags),
        lab=lab,
        stamp=_by_nbgrader(STAMP, stage, work, own, resolver),
        secret=_by_nbgrader(FEEDBACK_KEY, stage, work, own, resolver),
    )


def _may_concern(fault: str, stage: Stage, resolver: StageResolver) -> bool:
    """Whether the file of *fault* is not in the folder of another stage."""
    parts = fault.path.parts if isinstance(fault, PlacedFault) else ()
    named = [found for part in parts if (found := resolver.stage_named(part))]
    return not named or stage in named


def _for_no_stage(
    work: StudentWork, unmatched: list[SubmittedFile], resolver: StageResolver
) -> Submission:
    if work.faults:
        problem = work.faults[0]
    elif resolver.default_stage:
        problem = _missing(resolver.default_stage, unmatched)
    else:
        is_code = any(file.suffix in CODE for file in unmatched)
        what = "The file names don't show the stage" if is_code else "Nothing to grade"
        problem = (
            f"{what}: {_contents(unmatched)}. Name the module as its stage does, such as "
            f"{resolver.stages[0].module}.py, or choose a stage with --stage."
        )
    return _submission(work, resolver.only.name if resolver.only else "", unmatched, problem)


def _submission(
    work: StudentWork,
    stage: str,
    files: Sequence[SubmittedFile],
    problem: str,
    selected: SelectedCode | None = None,
) -> Submission:
    used = selected.file if selected else None
    ignored = sorted(
        str(file.path) for file in files if file is not used and not _is_nbgraders(file)
    )
    late = (LATE,) if work.is_late else ()
    typed = (_TYPED,) if work.is_typed and selected is None else ()
    notices = (*(selected.notices if selected else ()), *late, *typed, *work.faults)
    return Submission(
        student=work.student,
        stage=stage,
        code=selected.code if selected else None,
        problem=problem,
        ignored=abbreviated_list(ignored),
        notices=tuple(dict.fromkeys(notice for notice in notices if notice != problem)),
        flags=selected.flags if selected else (),
        is_late=work.is_late,
    )


def note_answers(submission: Submission, stages: Sequence[Stage]) -> Submission:
    """Add to *submission* what is known about the written answers in its lab."""
    stage = next((one for one in stages if one.name == submission.stage), None)
    if stage is None or (submission.code is None and submission.lab is None):
        return submission
    found = written_answers(stage, submission.lab)
    flags = tuple(filter(None, [found.flag]))
    return msgspec.structs.replace(
        submission,
        notices=(*submission.notices, *(flag.text for flag in flags)),
        flags=(*submission.flags, *flags),
        waiting=found.waiting,
    )


def _by_nbgrader(
    name: str, stage: Stage, work: StudentWork, own: list[SubmittedFile], resolver: StageResolver
) -> SubmittedFile | None:
    """Return nbgrader's file *name*, but not one that a student packed or uploaded."""
    for file in own if not work.is_download else ():
        folders = file.path.parts[:-1]
        is_on_top = not folders or (len(folders) == 1 and resolver.stage_named(folders[0]) == stage)
        if file.path.name == name and is_on_top and not file.packed:
            return file
    return None


def _is_nbgraders(file: SubmittedFile) -> bool:
    return file.path.name in {STAMP, FEEDBACK_KEY}


def _read(file: SubmittedFile, files: Sequence[SubmittedFile], *notices: str) -> SelectedCode:
    if file.suffix == NOTEBOOK:
        cells = code_cells(file.read(MAX_NOTEBOOK), file.label)
        code = Code(kind="notebook", cells=cells, label=file.label)
    else:
        text, changes = module_text(file.read(MAX_MODULE), file.label)
        code = Code(kind="module", cells=(text,), label=file.label)
        notices = (*notices, *changes)
    others = _same_name(file, files)
    flags = tuple(Flag(FlagKind.SEVERAL_FILES, other) for other in others)
    return SelectedCode(file, code, (*notices, *others), flags)


def _is_stub(code: Code, stage: Stage) -> bool:
    try:
        stub = stage.stub.read_bytes()
    except OSError:  # not built yet; `verify` reports it
        return False
    # By lines, because editors and LMSs change line endings.
    own = code.cells[0].removeprefix(BOM_UTF8)
    return code.kind == "module" and own.splitlines() == stub.splitlines()


def _defines_exercise(code: Code, stage: Stage) -> bool:
    return defines(code.cells, [exercise.name for exercise in stage.exercises])


def _same_name(selected: SubmittedFile, files: Sequence[SubmittedFile]) -> tuple[str, ...]:
    """Return a notice if other files could have been graded, as in a zip of a whole class."""
    if others := attempts(selected, files):
        is_newest = all(file.upload < selected.upload or is_earlier(file) for file in others)
        newest = " was uploaded last and" if is_newest else ""
        shown = in_sentence([file.label for file in others])
        found = f"{len(others) + 1} attempts were submitted"
        return (f"{found}: {selected.label}{newest} was graded, not {shown}.",)
    depth, name = len(selected.path.parts), selected.path.name
    number = sum(len(file.path.parts) == depth and file.path.name == name for file in files)
    if number == 1:
        return ()
    chosen = visible(str(selected.path))
    return (f"{number} files are named {selected.label}; {chosen} was graded. Submit one.",)


def _missing(stage: Stage, files: Sequence[SubmittedFile]) -> str:
    return (
        f"No {stage.module}.py was submitted: {_contents(files)}. "
        f"Submit {stage.module}.py, or a notebook named {stage.module}.ipynb."
    )


def _contents(files: Sequence[SubmittedFile]) -> str:
    names = [file.label for file in files if not _is_nbgraders(file)]
    if not names:
        return "it is empty"
    return f"there is only {in_sentence(names)}"
