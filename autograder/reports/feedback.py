"""What a student is told about one submission; pages and terminals set it."""

from dataclasses import dataclass

from autograder.reports.tensor_table import Panel
from autograder.results import Diagnosis


@dataclass(frozen=True)
class Finding:
    """A check as it is told; what the finding before it said already is not said again."""

    title: str
    mark: str
    word: str
    points: float
    max_points: float
    message: str = ""
    mistake: str = ""
    diagnosis: Diagnosis | None = None
    same_mistake: bool = False
    panels: tuple[Panel, ...] = ()

    @property
    def silent(self) -> bool:
        """Whether it adds nothing to what was said before it."""
        return not (self.message or self.mistake or self.panels)


@dataclass(frozen=True)
class ExerciseFeedback:
    """One exercise: the first thing to put right, what comes after it, and what holds."""

    number: int
    name: str
    score: float
    max_score: float
    state: str
    first: Finding | None
    later: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    hints: tuple[tuple[str, str], ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.score == self.max_score

    @property
    def percent(self) -> float:
        """How much of the points was earned, 0 to 100."""
        return percent(self.score, self.max_score)


@dataclass(frozen=True)
class Feedback:
    """Everything about one submission."""

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

    @property
    def open(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises in which something is left to do."""
        return tuple(exercise for exercise in self.exercises if not exercise.complete)

    @property
    def done(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises at full points."""
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


def mistake_name(misconception: str) -> str:
    """Turn an id, ``forgets_to_scale``, or several with `` / `` between, into words."""
    return misconception.replace("_", " ").replace(" / ", " or ")


def percent(score: float, max_score: float) -> float:
    """How much of *max_score* was earned, 0 to 100."""
    return round(100 * min(1.0, max(0.0, score / max_score)), 1) if max_score else 0.0
