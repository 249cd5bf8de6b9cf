"""Assembles one submission for each stage from the files of a hand-in."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from autograder.course import Stage
from autograder.submission.files import CODE, NOTEBOOK, HandInFile, UnusableFile
from autograder.submission.model import Code, HandIn, Submission
from autograder.submission.names import abbreviated_list, visible
from autograder.submission.notebook import code_cells
from autograder.submission.stage_matching import StageResolver, find_module, find_notebook

MAX_MODULE = 2**20  # bytes; the longest honest module has some 20 KiB
MAX_NOTEBOOK = 16 * 2**20  # bytes; saved outputs may hold pictures
STAMP = "timestamp.txt"  # nbgrader's own, in every folder that it collects
_MAX_NAMED = 10  # names in a sentence; the whole list is in `ignored`


class SelectedCode(msgspec.Struct, frozen=True):
    """The code that is graded, the file that it came from, and remarks on the choice."""

    file: HandInFile
    code: Code
    notices: tuple[str, ...] = ()


def submissions(hand_in: HandIn, resolver: StageResolver) -> Iterator[Submission]:
    """Yield one submission for each wanted stage that *hand_in* has files of.

    Where it has files of no stage at all, one submission says so.
    """
    by_stage: dict[str, list[HandInFile]] = {}
    for file in hand_in.files:
        stage = resolver.stage_of(file.path)
        by_stage.setdefault(stage.name if stage else "", []).append(file)
    unmatched = by_stage.pop("", [])
    made = [
        _for_stage(stage, hand_in, by_stage.get(stage.name, []), unmatched, resolver)
        for stage in resolver.wanted
    ]
    if not any(made) and not by_stage:
        made = [_for_no_stage(hand_in, unmatched, resolver)]
    yield from filter(None, made)


def without_files_of(stage: Stage, hand_in: HandIn) -> Submission:
    """Return a submission that says that *hand_in* has no file of *stage*."""
    return _submission(hand_in, stage.name, hand_in.files, _missing(stage, hand_in.files))


def select_code(
    stage: Stage, files: Sequence[HandInFile], *, is_bare: bool = False
) -> SelectedCode | None:
    """Choose and read the stage's code; None: there is none; raises ``UnusableFile``.

    The module wins over the notebook, unless it is the released stub and the notebook isn't.
    """
    module, notebook = find_module(stage, files, is_bare=is_bare), find_notebook(stage, files)
    name = f"{stage.module}.py"
    if module is None:
        if notebook is None:
            return None
        notice = f"There is no {name}, so the code cells of {notebook.label} were graded."
        return _read(notebook, files, notice)
    is_renamed = module.path.name != name
    selected = _read(module, files, *[f"{module.label} was graded as {name}."] * is_renamed)
    if notebook is None or not _is_stub(selected.code, stage):
        return selected
    notice = (
        f"{module.label} is the released stub, unchanged, so the code cells of {notebook.label} "
        "were graded instead."
    )
    try:
        other = _read(notebook, files, notice)
    except UnusableFile as error:
        return msgspec.structs.replace(selected, notices=(*selected.notices, str(error)))
    return other if _defines_exercise(other.code, stage) else selected


def _for_stage(
    stage: Stage,
    hand_in: HandIn,
    own: list[HandInFile],
    unmatched: list[HandInFile],
    resolver: StageResolver,
) -> Submission | None:
    """Return the submission for *stage*; None where no file of it was handed in."""
    candidates = own + unmatched if stage == resolver.default_stage else own
    selected, problem = None, ""
    try:
        selected = select_code(stage, candidates, is_bare=hand_in.is_bare)
    except UnusableFile as error:
        problem = str(error)
    if selected is None and not problem:
        if not own:
            return None
        problem = _missing(stage, own)
    submission = _submission(hand_in, stage.name, own + unmatched, problem, selected)
    lab, stamp = find_notebook(stage, candidates), _stamp(stage, hand_in, own, resolver)
    return msgspec.structs.replace(submission, lab=lab, stamp=stamp)


def _for_no_stage(
    hand_in: HandIn, unmatched: list[HandInFile], resolver: StageResolver
) -> Submission:
    """Return a submission that says why no stage can be graded."""
    if hand_in.faults:
        problem = hand_in.faults[0]
    elif resolver.default_stage:
        problem = _missing(resolver.default_stage, unmatched)
    else:
        is_code = any(file.suffix in CODE for file in unmatched)
        what = "The file names don't show the stage" if is_code else "Nothing to grade"
        problem = (
            f"{what}: {_contents(unmatched)}. Name the module as its stage does, such as "
            f"{resolver.stages[0].module}.py, or choose a stage with --stage."
        )
    return _submission(hand_in, resolver.only.name if resolver.only else "", unmatched, problem)


def _submission(
    hand_in: HandIn,
    stage: str,
    files: Sequence[HandInFile],
    problem: str,
    selected: SelectedCode | None = None,
) -> Submission:
    used = selected.file if selected else None
    ignored = sorted(str(file.path) for file in files if file is not used and not _is_stamp(file))
    late = ("Canvas marks this hand-in as late.",) if hand_in.is_late else ()
    notices = (*(selected.notices if selected else ()), *late, *hand_in.faults)
    return Submission(
        student=hand_in.student,
        stage=stage,
        code=selected.code if selected else None,
        problem=problem,
        ignored=abbreviated_list(ignored),
        notices=tuple(dict.fromkeys(notice for notice in notices if notice != problem)),
    )


def _stamp(
    stage: Stage, hand_in: HandIn, own: list[HandInFile], resolver: StageResolver
) -> HandInFile | None:
    """Return nbgrader's ``timestamp.txt``, but none that a student packed or uploaded."""
    for file in own if not hand_in.by_lms else ():
        folders = file.path.parts[:-1]
        is_on_top = not folders or (len(folders) == 1 and resolver.stage_named(folders[0]) == stage)
        if _is_stamp(file) and is_on_top and not file.packed:
            return file
    return None


def _is_stamp(file: HandInFile) -> bool:
    return file.path.name == STAMP


def _read(file: HandInFile, files: Sequence[HandInFile], *notices: str) -> SelectedCode:
    if file.suffix == NOTEBOOK:
        cells = code_cells(file.read(MAX_NOTEBOOK), file.label)
        code = Code(kind="notebook", cells=cells, label=file.label)
    else:
        code = Code(kind="module", cells=(file.read(MAX_MODULE),), label=file.label)
    return SelectedCode(file, code, (*notices, *_same_name(file, files)))


def _is_stub(code: Code, stage: Stage) -> bool:
    try:
        stub = stage.stub.read_bytes()
    except OSError:  # not built yet; `verify` says so
        return False
    # By lines: editors and LMSs change line endings.
    return code.cells[0].splitlines() == stub.splitlines()


def _defines_exercise(code: Code, stage: Stage) -> bool:
    names = "|".join(re.escape(exercise.name) for exercise in stage.exercises)
    definition = rf"^(?:async[ \t]+)?(?:def|class)[ \t]+(?:{names})\b".encode()
    return any(re.search(definition, cell, re.MULTILINE) for cell in code.cells)


def _same_name(selected: HandInFile, files: Sequence[HandInFile]) -> tuple[str, ...]:
    """Report that other files were equally good; so a zip of a whole class is noticed, too."""
    depth, name = len(selected.path.parts), selected.path.name
    number = sum(len(file.path.parts) == depth and file.path.name == name for file in files)
    if number == 1:
        return ()
    chosen = visible(str(selected.path))
    return (f"{number} files are named {selected.label}; {chosen} was graded. Hand in one.",)


def _missing(stage: Stage, files: Sequence[HandInFile]) -> str:
    return (
        f"No {stage.module}.py was handed in: {_contents(files)}. "
        f"Hand in {stage.module}.py, or a notebook named {stage.module}.ipynb."
    )


def _contents(files: Sequence[HandInFile]) -> str:
    names = [file.label for file in files if not _is_stamp(file)]
    if not names:
        return "it is empty"
    return f"there is only {', '.join(abbreviated_list(names, _MAX_NAMED))}"
