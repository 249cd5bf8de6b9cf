"""Reads ``course.toml`` and ``source/*/stage.toml``, and derives the path of every other file.

An unknown key raises ``CourseError`` with its name and place, so that a typing error can't switch
a limit off unnoticed.
"""

import tomllib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from autograder.errors import CourseError, UsageError

COURSE_FILE = "course.toml"
STAGE_FILE = "stage.toml"
PUBLIC_SUITE = "test_public.py"
PUBLIC_RECORD = "public.json"
LAB = "lab.ipynb"

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+$")]
_Record = TypeVar("_Record")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a submission may use. A limit that is hit costs points: each is far above honest use."""

    import_seconds: Positive = 10.0
    call_seconds: Positive = 3.0
    submission_seconds: Positive = 60.0
    restarts_per_exercise: Count = 2
    memory_mib: Count = 1024  # beyond what the interpreter and torch have mapped already
    disk_mib: Count = 16
    files: Count = 200
    answer_mib: Count = 16


class Reveal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What feedback shows of hidden checks and of documented values."""

    hidden_checks: Literal["property", "nothing"] = "property"
    documented_values: bool = True


class Grading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How points are given; *carry_forward*: one mistake costs once, see ``carry_forward``."""

    carry_forward: bool = True


class Exercise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function or class that students write in the stage's module."""

    name: str
    hints: tuple[str, str, str]


class StageFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of ``stage.toml``."""

    format_version: Literal[1]
    title: str
    goal: str
    minutes: Count
    module: Name
    prerequisites: tuple[str, ...] = ()
    exercise: tuple[Exercise, ...]


class CourseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of ``course.toml``."""

    format_version: Literal[1]
    id: Name
    title: str
    stages: tuple[Name, ...]
    limits: Limits = Limits()
    reveal: Reveal = Reveal()
    grading: Grading = Grading()


class Stage(msgspec.Struct, frozen=True, dict=True):
    """A stage and its file paths."""

    root: Path
    name: str
    file: StageFile

    @property
    def title(self) -> str:
        """Title for tables and headings."""
        return self.file.title

    @property
    def module(self) -> str:
        """Name of the module that students complete, without ``.py``."""
        return self.file.module

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """The exercises in the order in which they are to be solved."""
        return self.file.exercise

    @property
    def solution(self) -> Path:
        """The instructor's module."""
        return self.root / "solutions" / self.name / f"{self.module}.py"

    @property
    def source(self) -> Path:
        """The folder that nbgrader releases."""
        return self.root / "source" / self.name

    @property
    def stub(self) -> Path:
        """The module as students receive it."""
        return self.source / f"{self.module}.py"

    @property
    def public_suite(self) -> Path:
        """The suite that students run on their own machine, built by ``release``."""
        return self.source / PUBLIC_SUITE

    @property
    def public_record(self) -> Path:
        """What the solution answers to the public suite, built by ``release``."""
        return self.source / PUBLIC_RECORD

    @property
    def fingerprints(self) -> Path:
        """The public suite's observations of each misconception, built by ``release``."""
        return self.source / "fingerprints.json"

    @property
    def lab(self) -> Path:
        """The guided notebook of the stage; a stage may have none."""
        return self.source / LAB

    @property
    def assignment(self) -> Path:
        """The folder that students receive."""
        return self.root / "assignments" / self.name

    @property
    def hidden(self) -> Path:
        """The folder of the hidden suite."""
        return self.root / "tests" / "hidden" / self.name

    @property
    def hidden_suite(self) -> Path:
        """The suite that grades."""
        return self.hidden / f"test_{self.module}.py"

    @property
    def rules(self) -> Path:
        """The rules that checks of all stages grade; a course may have none."""
        return self.root / "tests" / "hidden" / "rules.toml"

    @property
    def shared_fixtures(self) -> Path:
        """The fixtures that the hidden suites of all stages share; a course may have none."""
        return self.root / "tests" / "hidden" / "conftest.py"

    @property
    def documented(self) -> Path:
        """The documented tensors of the course."""
        return self.root / "tests" / "hidden" / "documented.toml"

    @property
    def variants(self) -> tuple[Path, ...]:
        """Correct modules in other idioms."""
        return tuple(sorted((self.hidden / "variants").glob("*.py")))

    @property
    def misconceptions(self) -> Path:
        """The wrong solutions that the hidden suite must distinguish."""
        return self.hidden / "misconceptions.py"


class Course(msgspec.Struct, frozen=True, dict=True):
    """A course on disk."""

    root: Path
    file: CourseFile

    @property
    def id(self) -> str:
        """Identifier of the course in ``results.json``."""
        return self.file.id

    @property
    def limits(self) -> Limits:
        """What a submission may use."""
        return self.file.limits

    @property
    def reveal(self) -> Reveal:
        """What feedback may show."""
        return self.file.reveal

    @property
    def grading(self) -> Grading:
        """How points are given."""
        return self.file.grading

    @property
    def documented(self) -> Path:
        """The documented tensors."""
        return self.root / "tests" / "hidden" / "documented.toml"

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Every stage in the order of ``course.toml``; each ``stage.toml`` is read on first use."""
        return tuple(self._read_stage(name) for name in self.file.stages)

    def stage(self, wanted: str) -> Stage:
        """Find a stage by name, number (``04`` or ``4``) or module; raises ``UsageError``.

        Of two stages of one module the first is returned.
        """
        for stage in self.stages:
            if wanted in {stage.name, stage.module, *_numbers(stage.name)}:
                return stage
        known = ", ".join(self.file.stages)
        msg = f"There is no stage {wanted!r} in {self.root / COURSE_FILE}. Stages: {known}."
        raise UsageError(msg)

    def _read_stage(self, name: str) -> Stage:
        path = self.root / "source" / name / STAGE_FILE
        file = read_toml(path, StageFile)
        if not file.exercise:
            msg = f"{path}: a stage needs at least one [[exercise]]."
            raise CourseError(msg)
        for duplicate in duplicates([exercise.name for exercise in file.exercise]):
            msg = f"{path}: two exercises are named {duplicate!r}."
            raise CourseError(msg)
        for prerequisite in file.prerequisites:
            if prerequisite not in self.file.stages:
                msg = f"{path}: prerequisite {prerequisite!r} is not a stage of {COURSE_FILE}."
                raise CourseError(msg)
        return Stage(self.root, name, file)


class _HandoutStage(Stage, frozen=True, dict=True):
    """A stage without a course around it: its source is the student's own folder."""

    @property
    def source(self) -> Path:
        """The student's folder."""
        return self.root


class Handout(Course, frozen=True, dict=True):
    """The one stage in a folder that students received; *root* is that folder."""

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The one stage, named after the folder."""
        file = read_toml(self.root / STAGE_FILE, StageFile)
        return (_HandoutStage(self.root, self.root.name, file),)


def is_handout(folder: Path) -> bool:
    """Whether *folder* holds the files with which students check their work."""
    return (folder / STAGE_FILE).is_file() and (folder / PUBLIC_SUITE).is_file()


def handout(folder: Path) -> Handout:
    """Read the stage in *folder*, which needs no ``course.toml``."""
    root = folder.resolve()
    file = CourseFile(format_version=1, id="handout", title="Handout", stages=(root.name,))
    return Handout(root, file)


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above *start* that holds ``course.toml``."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / COURSE_FILE).is_file():
            return folder
    msg = (
        f"No {COURSE_FILE} in {start} or any folder above it. "
        "Go to the course's folder, or name it with --course."
    )
    raise CourseError(msg)


def load(root: Path) -> Course:
    """Read the course at *root*."""
    path = root / COURSE_FILE
    file = read_toml(path, CourseFile)
    if not file.stages:
        msg = f"{path}: `stages` is empty."
        raise CourseError(msg)
    for duplicate in duplicates(file.stages):
        msg = f"{path}: stage {duplicate!r} is listed twice."
        raise CourseError(msg)
    return Course(root, file)


def read_toml(path: Path, kind: type[_Record]) -> _Record:
    """Decode *path* strictly as *kind*; ``CourseError`` names the file and the place in it."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), kind)
    except FileNotFoundError:
        msg = f"{path} is missing."
    except tomllib.TOMLDecodeError as error:
        msg = f"{path} is not valid TOML: {error}."
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8: {error}."
    except msgspec.ValidationError as error:
        msg = f"{path}: {error}."
    raise CourseError(msg)


def _numbers(name: str) -> Iterator[str]:
    number, _, rest = name.partition("_")
    if rest and number.isdigit():
        yield number
        yield str(int(number))


def duplicates(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once, sorted."""
    return sorted({name for name in names if names.count(name) > 1})
