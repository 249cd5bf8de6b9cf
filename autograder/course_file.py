"""Defines the contents of ``course.toml`` and ``stage.toml``, and reads files of this form."""

import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar, get_args

import msgspec

from autograder.errors import CourseError

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
REPLACED: Final = {  # keys of earlier versions
    "carry_forward": "`right_neighbours` has replaced it (docs/course.md).",
    "same_mistake_once": "It is gone: the same mistake costs points in each exercise.",
    "slip_credit": "`law_credit` has replaced it (docs/course.md).",
}
STAGE_POINTS: Final = 10.0  # of all checks of a stage
HINT_LABELS: Final = ("A first nudge", "A stronger hint", "Nearly the answer")
Hints = tuple[str, str, str]  # one for each label
Minutes = Annotated[int, msgspec.Meta(ge=0)]  # 0 means unknown
HARDEST = 3  # the highest difficulty of an exercise
MINUTES_BY_DIFFICULTY: Final = (5, 12)  # the most minutes of an exercise with one and two dots
Isolation = Literal["full", "process"]  # how strictly student code is confined, the strictest first
Group = Literal["attention", "torch", "python", "plain", "counterpart"]  # of kinds of mistake
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
USUAL_GROUPS: Final[tuple[Group, ...]] = ("attention", "torch", "python")
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+$")]
_Record = TypeVar("_Record")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits the resources of a submission and its grading, far above ordinary use."""

    import_seconds: Positive = 10.0
    call_seconds: Positive = 3.0
    submission_seconds: Positive = 60.0
    restarts_per_exercise: Count = 2
    memory_mib: Count = 1024  # in addition to the memory of the interpreter and torch
    disk_mib: Count = 16
    files: Count = 200
    answer_mib: Count = 16  # for all answers in one check
    grader_mib: Count = 2048  # for a grading process, in addition to what it already uses
    grader_seconds: Positive = 300.0  # of a grading process's processor time, for one submission


class Reveal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sets what feedback shows of hidden checks and of documented values."""

    hidden_checks: Literal["property", "nothing"] = "property"
    documented_values: bool = True


class Grading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sets how submissions are graded.

    ``grading/prices.py`` describes the first three keys. If *right_neighbours* is true, failed
    checks run once more with the solution's definitions of the wrong exercises that they use.
    *law_credit* is the share of its points that a failed check of values keeps if all laws of its
    exercise hold. *rule_share* is the share of its points that an exercise keeps if it does by a
    ready-made function what its stage teaches. *isolation* is the weakest level for student code,
    unless a command sets a different one. If *written* is false, labs are built without written
    questions.
    """

    right_neighbours: bool = True
    law_credit: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.6
    rule_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.25
    written: bool = True
    isolation: Isolation = "full"


class Ladder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Three hints for a learner whose first failing check is one of *checks*."""

    checks: tuple[str, ...]
    hints: Hints


class Exercise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a function or class that students write in the stage's module.

    Its three hints are in a separate file, ``hints.toml``, so that nobody reads all of them by
    accident. *minutes* estimates the time for reading and writing. *difficulty*, 1 to 3, follows
    from the minutes if it is not given. *copied_from* is the stage that asked for it first.
    *ladders* are hints for particular checks, by a name for what is wrong.
    """

    name: str
    hints: Hints = ("", "", "")
    minutes: Minutes = 0
    difficulty: Annotated[int, msgspec.Meta(ge=0, le=HARDEST)] = 0
    copied_from: str = ""
    ladders: dict[str, Ladder] = {}

    def ladder_at(self, check: str) -> tuple[str, Hints]:
        """Return the name and the hints of the ladder for *check*; else "" and the other hints."""
        found = ((name, one.hints) for name, one in self.ladders.items() if check in one.checks)
        return next(found, ("", self.hints))

    @property
    def effort(self) -> str:
        """The difficulty as dots, and the minutes; empty if they are unknown."""
        if not self.minutes:
            return ""
        dots = self.difficulty or 1 + sum(self.minutes > most for most in MINUTES_BY_DIFFICULTY)
        return f"{'●' * dots}{'○' * (HARDEST - dots)} {self.minutes} min"


CAPTION: Final = "Rows: queries. Columns: keys. Fuller cells: larger weights."


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a picture of numbers that the code of a finished stage computes.

    *code* runs in the learner's module and defines ``stage_picture()``. This function returns a
    tensor with a row for each of *tokens* and a column for each of *keys*, by default the same
    tokens. *meaning* states in one sentence what the picture shows. *caption* explains its cells.
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
    """Names a text on the web, to which the learner's course page links."""

    title: str
    url: Annotated[str, msgspec.Meta(pattern="^https://")]


class StageFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Holds the content of ``stage.toml``; a stage that is not *graded* is only for practice.

    *minutes* estimates the time for the stage with the rest of its lab; by default it is the sum of
    its exercises. *road* names the path through the course to which the stage belongs.
    *kinds* are the groups of kinds of mistake, by default those of the course.
    """

    format_version: Literal[1]
    title: str
    goal: str
    kinds: tuple[Group, ...] = ()
    graded: bool = True
    module: Name
    prerequisites: tuple[str, ...] = ()
    road: str = ""
    picture: Picture | None = None
    read_on: tuple[Link, ...] = ()
    minutes: Minutes = 0
    exercise: tuple[Exercise, ...]


class CourseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Holds the content of ``course.toml``."""

    format_version: Literal[1]
    id: Name
    title: str
    stages: tuple[Name, ...]
    kinds: tuple[Group, ...] = USUAL_GROUPS
    limits: Limits = Limits()
    reveal: Reveal = Reveal()
    grading: Grading = Grading()
    points: dict[str, Positive] = {}  # the points of a stage in exports, by stage
    timezone: str = "UTC"  # of times that are printed, and of times without a zone
    second_looks: str = ""  # the address where students ask for one, with `{key}`


def read_toml(path: Path, kind: type[_Record]) -> _Record:
    """Decode the TOML file *path* as *kind*; raise ``CourseError`` with the place of a mistake."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), kind)
    except FileNotFoundError:
        msg = f"{path} is missing."
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8: {error}."
    except (ValueError, RecursionError) as error:  # or a number has over 4300 digits
        msg = f"{path} is not valid TOML: {error}."
    except msgspec.ValidationError as error:
        replaced = [text for key, text in REPLACED.items() if f"`{key}`" in str(error)]
        msg = " ".join([f"{path}: {error}.", *replaced])
    raise CourseError(msg)
