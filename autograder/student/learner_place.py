"""Finds the exercise that a learner means, by a word or by the folder in which they are."""

from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from autograder.course import Handout, Stage
from autograder.errors import UsageError
from autograder.student import learner_folder
from autograder.student.exercise_cell import NEAR
from autograder.student.progress import (
    AmbiguousNameError,
    Progress,
    Task,
    first_open,
    tasks,
    tasks_of,
)

SUGGESTED = 3  # names


class Place(NamedTuple):
    """A learner's folder, its progress, the exercise meant, and the *stage* if one was named."""

    own: Handout
    progress: Progress
    task: Task
    stage: Stage | None


def find_place(word: str, here: Path) -> Place:
    """Find what *word* names: a folder, a stage, or an exercise with or without its stage.

    Without a word it is the stage in whose folder *here* is, otherwise the first exercise that is
    to do. Raises ``UsageError`` with near names, and ``AmbiguousNameError`` if several stages have
    the exercise.
    """
    is_folder = bool(word) and _is_learners(here / word)
    folder = here / word if is_folder else here
    own = learner_folder.find(folder)
    progress = Progress.read(own.root)
    inside = stage_around(own, folder)
    if is_folder or not word:
        return Place(own, progress, _first_in(own, progress, inside), inside)
    if (named := stage_named(own, word)) is not None:
        return Place(own, progress, _first_in(own, progress, named), named)
    return Place(own, progress, find_exercise(own, word, inside), inside)


def stage_around(own: Handout, folder: Path) -> Stage | None:
    """Return the stage in whose folder *folder* is; None outside the stages."""
    inside = {folder.resolve(), *folder.resolve().parents}
    return next((stage for stage in own.stages if stage.source in inside), None)


def find_exercise(own: Handout, name: str, here: Stage | None = None) -> Task:
    """Find *name* or ``STAGE/NAME``, *here* first; raise ``UsageError`` if none or several fit."""
    word, _, exercise = name.rpartition("/")
    stages = [stage for stage in own.stages if not word or stage == stage_named(own, word)]
    found = [Task(one, item) for one in stages for item in one.exercises if item.name == exercise]
    near = [task for task in found if here is not None and task.stage.name == here.name]
    if len(found) > 1 and not near:
        raise AmbiguousNameError(exercise, found)
    if not found and word and stages:
        known = ", ".join(item.name for one in stages for item in one.exercises)
        msg = f"There is no exercise {exercise!r} here. Exercises of {stages[0].name}: {known}."
        raise UsageError(msg)
    if not found:
        raise UsageError(unknown(own, name))
    return (near or found)[0]


def _is_learners(folder: Path) -> bool:
    try:
        return folder.is_dir() and learner_folder.find_stages(folder) is not None
    except (OSError, ValueError):  # the word can't be a path
        return False


def stage_named(own: Handout, word: str) -> Stage | None:
    """Return the stage that *word*, a name or a number, means; None if it means none."""
    try:
        return own.stage(word)
    except UsageError:
        return None


def _first_in(own: Handout, progress: Progress, stage: Stage | None) -> Task:
    """Return the first exercise to do in *stage*, or its first one; without it, in all stages."""
    if stage is None:
        return first_open(own, progress) or tasks(own)[-1]
    mine = tasks_of(stage)
    return next((task for task in mine if task.key not in progress.passed), mine[0])


def unknown(own: Handout, name: str, kinds: str = "no stage and no exercise") -> str:
    """Return the message for a *name* that is nothing of *kinds*, with near names."""
    known = [task.key if "/" in name else task.exercise.name for task in tasks(own)]
    folded = {each.casefold(): each for each in (*known, *own.file.stages)}
    close = get_close_matches(name.casefold(), folded, n=SUGGESTED, cutoff=NEAR)
    near = [folded[each] for each in close]
    msg = f"There is {kinds} {name!r} here."
    if near:
        return f"{msg} Did you mean {' or '.join(near)}?"
    return f"{msg} `autograder progress` lists the stages; l in `autograder watch`, the exercises."
