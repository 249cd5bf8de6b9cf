"""Stores a learner's progress in one small file, which may be deleted, edited or damaged.

Progress is not evidence for a grade: a learner can edit this file.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from autograder.course import Course, Stage
from autograder.course_file import Exercise
from autograder.disk import replace_file
from autograder.errors import UsageError

PROGRESS_FILE = "progress.json"
MAX_BYTES = 1 << 20  # the kit writes no larger file
HOUR = 60  # minutes
DIGEST = 16  # characters; enough to find changes, since nobody gains from a collision
_Value = TypeVar("_Value")


class Task(NamedTuple):
    """One exercise of a stage; several stages may have an exercise of the same name."""

    stage: Stage
    exercise: Exercise

    @property
    def key(self) -> str:
        """The name ``STAGE/EXERCISE``, as in the file and on the command line."""
        return f"{self.stage.name}/{self.exercise.name}"


class AmbiguousNameError(UsageError):
    """Several stages have an exercise of this name; *choices* are these exercises."""

    def __init__(self, name: str, choices: Sequence[Task]) -> None:
        listed = "\n".join(f"  {task.key}" for task in choices)
        super().__init__(
            f"{len(choices)} stages have an exercise {name}. Choose one of these:\n{listed}"
        )
        self.choices = tuple(choices)


def tasks_of(stage: Stage) -> list[Task]:
    """List the exercises of *stage* in the order in which they are to be solved."""
    return [Task(stage, exercise) for exercise in stage.exercises]


def tasks(course: Course) -> list[Task]:
    """List the exercises of all stages of *course*."""
    return [task for stage in course.stages for task in tasks_of(stage)]


@dataclass
class Progress:
    """Passed exercises, hints that were shown, and exercises given up, by ``Task.key``.

    *borrowed* are copies that the course's code fills. *checked* maps each stage to the digest of
    its module when all exercises were last checked. *at* is the exercise where `watch` was left, if
    it was not the first one to do. *failing* are the first checks that failed. *unknown* keeps the
    fields that another version has written. *fault* is a sentence if the file could not be written
    last time.
    """

    file: Path
    passed: set[str] = field(default_factory=set)
    gave_up: set[str] = field(default_factory=set)
    borrowed: set[str] = field(default_factory=set)
    hints: dict[str, int] = field(default_factory=dict)
    checked: dict[str, str] = field(default_factory=dict)
    at: str = ""
    failing: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, Any] = field(default_factory=dict)
    is_on_disk: bool = field(default=False, compare=False)
    fault: str = field(default="", compare=False)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the progress of *folder*, and ignore invalid parts of the file."""
        file = folder / PROGRESS_FILE
        found = _json_object(file)
        known = found or {}
        known.pop("format_version", None)
        at = known.pop("at", "")
        hints = _values(known.pop("hints", None), int)
        return cls(
            file=file,
            passed=_texts(known.pop("passed", None)),
            gave_up=_texts(known.pop("gave_up", None)),
            borrowed=_texts(known.pop("borrowed", None)),
            hints={key: count for key, count in hints.items() if count > 0},
            checked=_values(known.pop("checked", None), str),
            at=at if isinstance(at, str) else "",
            failing=_values(known.pop("failing", None), str),
            unknown=known,
            is_on_disk=found is not None,
        )

    def is_done(self, stage: Stage) -> bool:
        """Whether all exercises of *stage* have passed."""
        return all(task.key in self.passed for task in tasks_of(stage))

    def set_passed(self, task: Task, *, passes: bool) -> bool:
        """Mark *task* as passed or not passed; return whether that is a change."""
        if passes == (task.key in self.passed):
            return False
        (self.passed.add if passes else self.passed.discard)(task.key)
        return True

    def set_checked(self, stage: Stage, digest: str) -> bool:
        """Store the digest of *stage* after a check of all exercises; return whether it is new."""
        is_news = self.checked.get(stage.name) != digest
        self.checked[stage.name] = digest
        return is_news

    def is_outdated(self, stage: Stage) -> bool:
        """Whether the module of *stage* has changed since all its exercises were checked."""
        known = self.checked.get(stage.name)
        return known is not None and known != digest_of(stage)

    def save(self) -> None:
        """Write the file atomically; if that fails, note it in *fault*."""
        fields = self.unknown | {
            "format_version": 1,
            "passed": sorted(self.passed),
            "gave_up": sorted(self.gave_up),
            "borrowed": sorted(self.borrowed),
            "hints": self.hints,
            "checked": self.checked,
            "at": self.at,
            "failing": self.failing,
        }
        try:
            replace_file(self.file, f"{json.dumps(fields, indent=2)}\n".encode())
        except OSError as error:
            why = error.strerror or type(error).__name__
            self.fault = f"This is not remembered: {self.file} can't be written ({why})."
            return
        self.is_on_disk, self.fault = True, ""

    def set_failing(self, task: Task, check: str) -> bool:
        """Store the first failing *check* of *task*; return whether the hints are others now."""
        before = self._ladder(task)
        self.failing.pop(task.key, None)
        if check:
            self.failing[task.key] = check
        return self._ladder(task) != before

    def hints_of(self, task: Task) -> tuple[str, ...]:
        """Return the three hints for what fails first in *task*."""
        return self._ladder(task)[1]

    def shown_hints(self, task: Task) -> tuple[str, ...]:
        """Return those of the hints of *task* that were shown."""
        key, hints = self._ladder(task)
        return hints[: self.hints.get(key, 0)]

    def next_hint(self, task: Task, number: int | None = None) -> int:
        """Record that the next hint of *task*, or hint *number*, is shown; return its number."""
        key, hints = self._ladder(task)
        shown = self.hints.get(key, 0)
        wanted = min(max(number or shown + 1, 1), len(hints))
        if wanted > shown:
            self.hints[key] = wanted
            self.save()
        return wanted

    def _ladder(self, task: Task) -> tuple[str, tuple[str, ...]]:
        """Return the key of the hints for what fails first in *task*, and these hints."""
        name, hints = task.exercise.ladder_at(self.failing.get(task.key, ""))
        return f"{task.key}/{name}" if name else task.key, hints


def digest_of(stage: Stage) -> str:
    """Return a digest of the saved module of *stage*; empty if it can't be read."""
    try:
        return hashlib.sha256(stage.stub.read_bytes()).hexdigest()[:DIGEST]
    except OSError:
        return ""


def first_open(course: Course, progress: Progress, after: Task | None = None) -> Task | None:
    """Return the first open exercise after *after*, or from where `watch` was left."""
    every = tasks(course)
    keys = [task.key for task in every]
    left = keys.index(progress.at) if progress.at in keys else 0
    start = keys.index(after.key) + 1 if after else left
    ordered = every[start:] + every[:start]
    return next((task for task in ordered if task.key not in progress.passed), None)


def _json_object(file: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if file.stat().st_size <= MAX_BYTES:
            found = json.loads(file.read_bytes())
            return found if isinstance(found, dict) else None
    return None


def _texts(found: object) -> set[str]:
    return {one for one in found if isinstance(one, str)} if isinstance(found, list) else set()


def _values(found: object, kind: type[_Value]) -> dict[str, _Value]:
    items = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in items if isinstance(value, kind)}


def progress_lines(course: Course, progress: Progress) -> Iterator[str]:
    """Yield one line for each stage, then the totals, then the stages to check again."""
    left = passed = 0
    for stage in course.stages:
        done = [one.exercise for one in tasks_of(stage) if one.key in progress.passed]
        is_done = len(done) == len(stage.exercises)
        # The lab's own minutes are left until all exercises pass.
        minutes = 0 if is_done else max(0, stage.minutes - sum(one.minutes for one in done))
        shown = f"  about {_time(minutes)} left" if minutes else ""
        count = f"{len(done)} of {len(stage.exercises)}{shown}"
        line = f"{'✓' if is_done else '·'} {stage.name:28} {count}"
        yield f"{line:60} {stage.file.road}".rstrip()
        left += minutes
        passed += len(done)
    yield ""
    time = f", about {_time(left)} left" if left else ""
    yield f"{passed} of {len(tasks(course))} exercises{time}."
    if progress.borrowed:
        yield f"Borrowed from the course: {', '.join(sorted(progress.borrowed))}."
    yield from outdated_lines(course, progress)


def outdated_lines(course: Course, progress: Progress) -> Iterator[str]:
    """Yield at most two lines on what is out of date, each with the command that updates it."""
    if progress.file.exists() and not progress.is_on_disk:
        yield f"{progress.file} is damaged: `autograder watch` checks again which exercises pass."
    changed = [stage.name for stage in course.stages if progress.is_outdated(stage)]
    if len(changed) == 1:
        yield f"{changed[0]} has changed since its last check: autograder check {changed[0]}"
    elif changed:
        yield f"{len(changed)} stages have changed since their last check: autograder check"


def _time(minutes: int) -> str:
    return f"{minutes} min" if minutes < 2 * HOUR else f"{round(minutes / HOUR)} hours"
