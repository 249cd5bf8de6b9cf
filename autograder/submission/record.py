"""From one student's hand-in to one submission for each stage."""

from collections.abc import Iterable, Iterator

import msgspec

from autograder.course import Stage
from autograder.submission.bundle import Bundle, Found, Unusable
from autograder.submission.choose import Guide, notebook_of
from autograder.submission.code import Taken, digest, take
from autograder.submission.handin import HandIn
from autograder.submission.model import Submission
from autograder.submission.names import listed
from autograder.submission.place import CODE, told_by_name

STAMP = "timestamp.txt"  # nbgrader's own, in every folder that it collects
_QUIET = frozenset({STAMP})
_MAX_NAMED = 10  # names in a sentence; the whole list is in `ignored`


class _Sorted(msgspec.Struct, frozen=True, kw_only=True):
    """A hand-in's files by the stage that they tell."""

    hand_in: HandIn
    bundle: Bundle
    told: dict[str, tuple[Found, ...]]  # by stage name
    untold: tuple[Found, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said whatever is graded."""
        late = ("Canvas marks this hand-in as late.",) if self.hand_in.late else ()
        return (*late, *self.bundle.faults)


def submissions(hand_in: HandIn, guide: Guide) -> Iterator[Submission]:
    """Yield one submission for each wanted stage that *hand_in* has files of.

    Where it has files of no stage at all, one submission says so.
    """
    files = _sort(hand_in, guide)
    records = [_beside(stage, files, guide) for stage in guide.wanted]
    made = [record for record in records if record is not None]
    if not made and not files.told:
        made = [_of_nothing(files, guide)]
    yield from made


def _sort(hand_in: HandIn, guide: Guide) -> _Sorted:
    bundle = hand_in.open()
    shelves: dict[str, list[Found]] = {}
    for found in bundle.files:
        stage = guide.stage_of(found.path)
        shelves.setdefault(stage.name if stage else "", []).append(found)
    untold = tuple(shelves.pop("", ()))
    told = {name: tuple(shelf) for name, shelf in shelves.items()}
    return _Sorted(hand_in=hand_in, bundle=bundle, told=told, untold=untold)


def _beside(stage: Stage, files: _Sorted, guide: Guide) -> Submission | None:
    """Add to the code what the gradebook needs: the notebook, and when it was handed in."""
    own = files.told.get(stage.name, ())
    candidates = own + files.untold if stage == guide.untold else own
    record = _of_stage(stage, files, candidates, own)
    if record is None:
        return None
    return msgspec.structs.replace(
        record,
        lab=notebook_of(stage, msgspec.structs.replace(files.bundle, files=candidates)),
        stamp=_stamp(stage, files.hand_in, own, guide),
    )


def _stamp(stage: Stage, hand_in: HandIn, own: tuple[Found, ...], guide: Guide) -> Found | None:
    """Return nbgrader's ``timestamp.txt``; one that a student packed or an LMS kept is none."""
    if any(told_by_name(place).by_lms for place in hand_in.places):
        return None
    for found in own:
        *folders, name = found.path.parts
        at_home = not folders or (len(folders) == 1 and guide.named(folders[0]) == stage)
        if name == STAMP and at_home and not found.packed:
            return found
    return None


def _of_stage(
    stage: Stage, files: _Sorted, candidates: tuple[Found, ...], own: tuple[Found, ...]
) -> Submission | None:
    try:
        taken = take(stage, msgspec.structs.replace(files.bundle, files=candidates))
    except Unusable as error:
        return _failed(files, stage.name, str(error), own)
    if taken is not None:
        return _graded(files, stage.name, taken, own)
    if own:
        return _failed(files, stage.name, _missing(stage, own), own)
    return None


def _of_nothing(files: _Sorted, guide: Guide) -> Submission:
    stage = guide.only.name if guide.only else ""
    if files.bundle.faults:
        return _failed(files, stage, files.bundle.faults[0], ())
    if guide.untold:
        return _failed(files, stage, _missing(guide.untold, files.untold), ())
    is_code = any(found.suffix in CODE for found in files.untold)
    happened = "The stage can't be told from the names" if is_code else "Nothing to grade"
    problem = (
        f"{happened}: {_contents(files.untold)}. Name the module as its stage does, such as "
        f"{guide.stages[0].module}.py, or choose a stage with --stage."
    )
    return _failed(files, stage, problem, ())


def _graded(files: _Sorted, stage: str, taken: Taken, own: tuple[Found, ...]) -> Submission:
    return Submission(
        student=files.hand_in.student,
        stage=stage,
        code=taken.code,
        ignored=_ignored(found for found in own + files.untold if found is not taken.found),
        notices=_once((*taken.notices, *files.remarks)),
        sha256=digest(taken.code),
    )


def _failed(files: _Sorted, stage: str, problem: str, own: tuple[Found, ...]) -> Submission:
    return Submission(
        student=files.hand_in.student,
        stage=stage,
        code=None,
        problem=problem,
        ignored=_ignored(own + files.untold),
        notices=tuple(remark for remark in _once(files.remarks) if remark != problem),
    )


def _missing(stage: Stage, files: tuple[Found, ...]) -> str:
    return (
        f"No {stage.module}.py was handed in: {_contents(files)}. "
        f"Hand in {stage.module}.py, or a notebook named {stage.module}.ipynb."
    )


def _contents(files: tuple[Found, ...]) -> str:
    names = [found.label for found in files if found.path.name not in _QUIET]
    return f"there is only {', '.join(listed(names, _MAX_NAMED))}" if names else "it is empty"


def _ignored(files: Iterable[Found]) -> tuple[str, ...]:
    return listed(sorted(str(found.path) for found in files if found.path.name not in _QUIET))


def _once(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
