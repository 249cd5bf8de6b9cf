"""From one student's hand-in to one submission for each stage."""

from collections.abc import Iterable, Iterator

import msgspec

from autograder.course import Stage
from autograder.submission.code import SelectedCode, digest, select_code
from autograder.submission.discovery import HandIn
from autograder.submission.files import HandInFile, HandInFiles, UnusableFile
from autograder.submission.model import Submission
from autograder.submission.names import listed
from autograder.submission.place import CODE, parse_name
from autograder.submission.stage_matching import StageResolver, notebook_of

STAMP = "timestamp.txt"  # nbgrader's own, in every folder that it collects
_QUIET = frozenset({STAMP})
_MAX_NAMED = 10  # names in a sentence; the whole list is in `ignored`


class _Sorted(msgspec.Struct, frozen=True, kw_only=True):
    """A hand-in's files by the stage that they tell."""

    hand_in: HandIn
    bundle: HandInFiles
    told: dict[str, tuple[HandInFile, ...]]  # by stage name
    default_stage: tuple[HandInFile, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said whatever is graded."""
        late = ("Canvas marks this hand-in as late.",) if self.hand_in.late else ()
        return (*late, *self.bundle.faults)


def submissions(hand_in: HandIn, resolver: StageResolver) -> Iterator[Submission]:
    """Yield one submission for each wanted stage that *hand_in* has files of.

    Where it has files of no stage at all, one submission says so.
    """
    files = _sort(hand_in, resolver)
    records = [_beside(stage, files, resolver) for stage in resolver.wanted]
    made = [record for record in records if record is not None]
    if not made and not files.told:
        made = [_of_nothing(files, resolver)]
    yield from made


def _sort(hand_in: HandIn, resolver: StageResolver) -> _Sorted:
    bundle = hand_in.open()
    shelves: dict[str, list[HandInFile]] = {}
    for found in bundle.files:
        stage = resolver.stage_of(found.path)
        shelves.setdefault(stage.name if stage else "", []).append(found)
    default_stage = tuple(shelves.pop("", ()))
    told = {name: tuple(shelf) for name, shelf in shelves.items()}
    return _Sorted(hand_in=hand_in, bundle=bundle, told=told, default_stage=default_stage)


def _beside(stage: Stage, files: _Sorted, resolver: StageResolver) -> Submission | None:
    """Add to the code what the gradebook needs: the notebook, and when it was handed in."""
    own = files.told.get(stage.name, ())
    candidates = own + files.default_stage if stage == resolver.default_stage else own
    record = _of_stage(stage, files, candidates, own)
    if record is None:
        return None
    return msgspec.structs.replace(
        record,
        lab=notebook_of(stage, msgspec.structs.replace(files.bundle, files=candidates)),
        stamp=_stamp(stage, files.hand_in, own, resolver),
    )


def _stamp(
    stage: Stage, hand_in: HandIn, own: tuple[HandInFile, ...], resolver: StageResolver
) -> HandInFile | None:
    """Return nbgrader's ``timestamp.txt``; one that a student packed or an LMS kept is none."""
    if any(parse_name(place).by_lms for place in hand_in.places):
        return None
    for found in own:
        *folders, name = found.path.parts
        at_home = not folders or (len(folders) == 1 and resolver.named(folders[0]) == stage)
        if name == STAMP and at_home and not found.packed:
            return found
    return None


def _of_stage(
    stage: Stage, files: _Sorted, candidates: tuple[HandInFile, ...], own: tuple[HandInFile, ...]
) -> Submission | None:
    try:
        taken = select_code(stage, msgspec.structs.replace(files.bundle, files=candidates))
    except UnusableFile as error:
        return _failed(files, stage.name, str(error), own)
    if taken is not None:
        return _graded(files, stage.name, taken, own)
    if own:
        return _failed(files, stage.name, _missing(stage, own), own)
    return None


def _of_nothing(files: _Sorted, resolver: StageResolver) -> Submission:
    stage = resolver.only.name if resolver.only else ""
    if files.bundle.faults:
        return _failed(files, stage, files.bundle.faults[0], ())
    if resolver.default_stage:
        return _failed(files, stage, _missing(resolver.default_stage, files.default_stage), ())
    is_code = any(found.suffix in CODE for found in files.default_stage)
    happened = "The stage can't be told from the names" if is_code else "Nothing to grade"
    problem = (
        f"{happened}: {_contents(files.default_stage)}. Name the module as its stage does, such as "
        f"{resolver.stages[0].module}.py, or choose a stage with --stage."
    )
    return _failed(files, stage, problem, ())


def _graded(
    files: _Sorted, stage: str, taken: SelectedCode, own: tuple[HandInFile, ...]
) -> Submission:
    return Submission(
        student=files.hand_in.student,
        stage=stage,
        code=taken.code,
        ignored=_ignored(found for found in own + files.default_stage if found is not taken.found),
        notices=_once((*taken.notices, *files.remarks)),
        sha256=digest(taken.code),
    )


def _failed(files: _Sorted, stage: str, problem: str, own: tuple[HandInFile, ...]) -> Submission:
    return Submission(
        student=files.hand_in.student,
        stage=stage,
        code=None,
        problem=problem,
        ignored=_ignored(own + files.default_stage),
        notices=tuple(remark for remark in _once(files.remarks) if remark != problem),
    )


def _missing(stage: Stage, files: tuple[HandInFile, ...]) -> str:
    return (
        f"No {stage.module}.py was handed in: {_contents(files)}. "
        f"Hand in {stage.module}.py, or a notebook named {stage.module}.ipynb."
    )


def _contents(files: tuple[HandInFile, ...]) -> str:
    names = [found.label for found in files if found.path.name not in _QUIET]
    return f"there is only {', '.join(listed(names, _MAX_NAMED))}" if names else "it is empty"


def _ignored(files: Iterable[HandInFile]) -> tuple[str, ...]:
    return listed(sorted(str(found.path) for found in files if found.path.name not in _QUIET))


def _once(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
