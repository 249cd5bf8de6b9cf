"""Defines the contents of ``course.toml`` and ``stage.toml``."""

from typing import Annotated, Final, Literal, get_args

import msgspec

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Hints = tuple[str, str, str]
HARDEST = 3  # marks of difficulty
Group = Literal["attention", "torch", "python"]  # of kinds of mistake
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+$")]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The resources of a submission; limits are far above ordinary use."""

    import_seconds: Positive = 10.0
    call_seconds: Positive = 3.0
    submission_seconds: Positive = 60.0
    restarts_per_exercise: Count = 2
    memory_mib: Count = 1024  # beyond what the interpreter and torch have mapped already
    disk_mib: Count = 16
    files: Count = 200
    answer_mib: Count = 16  # of all answers in one check
    grader_mib: Count = 2048  # of a grading process, beyond what it has mapped already
    grader_seconds: Positive = 300.0  # of its processor time for one submission


class Reveal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of feedback on hidden checks and on documented values."""

    hidden_checks: Literal["property", "nothing"] = "property"
    documented_values: bool = True


class Grading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How submissions are graded.

    *carry_forward*: a mistake costs no points in the exercises that use the wrong one; see
    ``carry_forward``. *same_mistake_once*: a mistake in several exercises costs points in one of
    them. *slip_credit*: the share of the points that a check keeps if one named mistake is the only
    fault of its exercise. ``slip_prices`` describes these two. *rule_share*: the share of the
    points of a computation that code keeps if it breaks a rule that is the point of its stage.
    *isolation* is the weakest level for student code, unless a command sets a different level. Labs
    are built without questions to answer in words if *written* is false.
    """

    carry_forward: bool = True
    same_mistake_once: bool = True
    slip_credit: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.5
    rule_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.25
    written: bool = True
    isolation: Literal["full", "process"] = "full"


class Exercise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function or class that students write in the stage's module.

    Its hints are in ``hints.toml``, so that nobody reads all three by accident.
    """

    name: str
    hints: Hints = ("", "", "")


class Effort(msgspec.Struct, frozen=True):
    """The estimated minutes of an exercise and its difficulty from one to three; 0 is unknown."""

    minutes: int = 0
    difficulty: int = 0

    def __str__(self) -> str:
        """Show both in a few characters; empty if they are unknown."""
        if not self.minutes:
            return ""
        return f"{'●' * self.difficulty}{'○' * (HARDEST - self.difficulty)} {self.minutes} min"


class StageEffort(msgspec.Struct, frozen=True):
    """The estimated minutes of a stage, those for reading, and the figures of each exercise."""

    minutes: int = 0
    reading: int = 0
    exercises: dict[str, Effort] = {}


CAPTION: Final = "Rows: queries. Columns: keys. Fuller cells: larger weights."


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Attention weights that the code of a finished stage computes.

    *code* defines ``attention_picture()`` in the module that a learner has written: it returns a
    tensor with a row for each of the *tokens* and a column for each of the *keys*, by default the
    same tokens. *meaning* says in a sentence what it shows, and *caption* what its cells are.
    """

    tokens: tuple[str, ...]
    meaning: str
    code: str
    keys: tuple[str, ...] = ()
    caption: str = CAPTION

    @property
    def columns(self) -> tuple[str, ...]:
        """The tokens that the columns represent."""
        return self.keys or self.tokens


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text on the web, which the page about a learner's course names."""

    title: str
    url: Annotated[str, msgspec.Meta(pattern="^https://")]


class StageFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of ``stage.toml``; a stage that is not *graded* is only for practice."""

    format_version: Literal[1]
    title: str
    goal: str
    graded: bool = True
    module: Name
    prerequisites: tuple[str, ...] = ()
    picture: Picture | None = None
    read_on: tuple[Link, ...] = ()
    exercise: tuple[Exercise, ...]


class CourseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of ``course.toml``."""

    format_version: Literal[1]
    id: Name
    title: str
    stages: tuple[Name, ...]
    kinds: tuple[Group, ...] = GROUPS
    limits: Limits = Limits()
    reveal: Reveal = Reveal()
    grading: Grading = Grading()
    points: dict[str, Positive] = {}  # by stage: what its ten points, and others, count in exports
