"""Feedback as values: what pages, cards and terminals show about a submission."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from autograder.reports.tensor_table import TensorTable
from autograder.results import Diagnosis

UNWRITTEN: Final = "not written yet"


@dataclass(frozen=True)
class CheckFeedback:
    """One check; what an earlier check said already is left out."""

    title: str
    mark: str
    word: str
    points: float
    max_points: float
    message: str = ""
    mistake: str = ""
    diagnosis: Diagnosis | None = None
    same_mistake: bool = False
    tables: tuple[TensorTable, ...] = ()
    printed: str = ""

    @property
    def silent(self) -> bool:
        """Whether it adds nothing to the checks before it."""
        return not (self.message or self.mistake or self.tables or self.printed)


@dataclass(frozen=True)
class ExerciseFeedback:
    """One exercise: the first problem, the problems after it, and the checks that passed.

    *carried* says which of its points are carried forward, if any are.
    """

    number: int
    name: str
    score: float
    max_score: float
    state: str
    first: CheckFeedback | None
    later: tuple[CheckFeedback, ...]
    passed: tuple[CheckFeedback, ...]
    hints: tuple[tuple[str, str], ...]
    carried: str = ""

    @property
    def complete(self) -> bool:
        """Whether no point is missing."""
        return self.score == self.max_score

    @property
    def unwritten(self) -> bool:
        """Whether the stub is unchanged, so that its state says everything."""
        return self.state == UNWRITTEN


@dataclass(frozen=True)
class Feedback:
    """Everything about one graded submission; *carried* as in ``ExerciseFeedback``."""

    student: str
    stage: str
    course: str
    score: float | None
    max_score: float | None
    headline: str
    encouragement: str
    message: str
    next_step: str
    exercises: tuple[ExerciseFeedback, ...]
    notices: tuple[str, ...]
    ignored: tuple[str, ...]
    sha256: str
    carried: str = ""

    @property
    def open(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises in which points are missing."""
        return tuple(exercise for exercise in self.exercises if not exercise.complete)

    @property
    def done(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises with full points."""
        return tuple(exercise for exercise in self.exercises if exercise.complete)

    @property
    def full(self) -> bool:
        """Whether no point is missing."""
        return bool(self.max_score) and self.score == self.max_score

    @property
    def message_title(self) -> str:
        """What introduces the message about the whole submission."""
        return "No points lost, but worth knowing" if self.full else "What happened"

    @property
    def percent(self) -> float:
        """How much of the points was earned, 0 to 100."""
        return percent(self.score or 0.0, self.max_score or 0.0)


@dataclass(frozen=True)
class SelfCheckFeedback:
    """A student's own run of the public suite, and of the *hidden* one where that was asked for.

    An exercise is done when all its checks passed. Of the stage's *points*, *hidden_points* come
    from checks that stay with the instructor.
    """

    stage: str
    file: Path
    hidden: bool
    hidden_is_here: bool
    message: str
    printed: str
    exercises: tuple[ExerciseFeedback, ...]
    notices: tuple[str, ...]
    passed: int
    checks: int
    points: float = 0.0
    hidden_points: float = 0.0

    @property
    def open(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises with a check that did not pass."""
        return tuple(exercise for exercise in self.exercises if exercise.first)

    @property
    def complete(self) -> bool:
        """Whether checks ran and all of them passed."""
        return bool(self.checks) and not self.open


def grading_note(*, points: float = 0.0, hidden_points: float = 0.0, is_here: bool = False) -> str:
    """Say what the public suite does not prove, and how to run the hidden one if it *is_here*.

    *hidden_points* of the stage's *points* come from checks that students do not have.
    """
    text = "Your grade comes from the same checks on other inputs"
    if hidden_points:
        others = f"{hidden_points:g} of {points:g} points"
        text += f", and {others} from checks that stay with your instructor"
    return (
        f"{text}. The hidden suite is here: run `autograder check --hidden`."
        if is_here
        else f"{text}."
    )


def counted(count: int, word: str) -> str:
    """Write *count* before *word*, which gets an ``s`` unless *count* is 1."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def carried_points(carried: float) -> str:
    """Say how many of the points are *carried* forward; nothing if none are."""
    return f"of which {carried:g} by error carried forward" if carried else ""


def percent(score: float, max_score: float) -> float:
    """How much of *max_score* was earned, 0 to 100."""
    return round(100 * min(1.0, max(0.0, score / max_score)), 1) if max_score else 0.0
