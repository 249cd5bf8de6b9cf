"""Reads ``course.toml`` and ``source/*/stage.toml``, and derives the paths of all other files.

An unknown key raises ``CourseError`` with its name and place, so that a misspelled key cannot turn
off a limit unnoticed.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from autograder.course_file import (
    GROUPS,
    CourseFile,
    Exercise,
    Grading,
    Group,
    Hints,
    Ladder,
    Limits,
    Reveal,
    StageFile,
    read_toml,
)
from autograder.errors import CourseError, UsageError
from autograder.times import zone_named

COURSE_FILE = "course.toml"
STAGE_FILE = "stage.toml"
HINTS_FILE = "hints.toml"
LADDERS = "when"  # its table of hints for particular checks
READY_MADE_FILE = "ready_made.toml"
PUBLIC_SUITE = "test_public.py"
RECORDS = "records.bin"
MISTAKES = "mistakes.toml"
LAB = "lab.ipynb"
SECRET_VARIABLE = "AUTOGRADER_COURSE_SECRET"  # noqa: S105  # the name of the secret, not the secret
SECRET_FILE = ".course-secret"  # noqa: S105  # a file name, not the secret
SECRET_BYTES = 16
PUBLIC_INPUTS = (
    "No course secret is set, so hidden inputs are the same in every public copy "
    "(docs/security.md)."
)
ASSIGNMENTS = "assignments"  # folder for students, in a course or an installed wheel
SHARED = "course"  # folder of modules and data for the labs of all stages, next to the stages
SOLUTIONS_PACKAGE = "autograder_solutions"  # an installed wheel with the folders of a course
SECOND_LOOKS = re.compile(r"(?:https://|mailto:)[^\s{}]*\{key\}[^\s{}]*")
MADE = "made"  # in the built folder SHARED: data that the course's own tools write there
COMPANION_FILE = "companion.toml"  # in the folder SHARED; a course may have none
GUIDE = "START_HERE.md"  # a guide for students to all stages, next to the stages' folders
MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION")  # around the code that students write


class FilePath:
    """A path of a stage or a course, from a text with its other attributes."""

    def __init__(self, form: str) -> None:
        self._form = form

    def __get__(self, owner: object, _type: object = None) -> Path:
        return Path(self._form.format(owner))


class Stage(msgspec.Struct, frozen=True, dict=True):
    """Describes a stage of a course, and the paths of its files."""

    root: Path
    name: str
    file: StageFile
    written: bool = True  # whether its lab asks written questions
    kinds: tuple[Group, ...] = GROUPS  # the kinds of mistake in generated wrong programs

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
        """The exercises, in the order in which students solve them."""
        return self.file.exercise

    source = FilePath("{0.root}/source/{0.name}")  # authored: lab, stage.toml and hints
    # What students receive, built by `release`: nbgrader's release directory.
    assignment = FilePath("{0.root}/" + ASSIGNMENTS + "/{0.name}")
    hidden = FilePath("{0.root}/tests/hidden/{0.name}")  # the folder of the hidden suite
    solution = FilePath("{0.root}/solutions/{0.name}/{0.module}.py")  # the complete module
    lab = FilePath("{0.source}/" + LAB)  # the guided notebook; a stage may have none
    stub = FilePath("{0.assignment}/{0.module}.py")  # the module as students receive it
    public_suite = FilePath("{0.assignment}/" + PUBLIC_SUITE)
    records = FilePath("{0.assignment}/" + RECORDS)  # results of right and wrong programs
    mistakes = FilePath("{0.assignment}/" + MISTAKES)  # sentences about the misconceptions in them
    hidden_suite = FilePath("{0.hidden}/test_{0.module}.py")  # determines the grade
    misconceptions = FilePath("{0.hidden}/misconceptions.py")  # wrong solutions

    # Files of all stages, of which a course may have none.
    rules = FilePath("{0.root}/tests/hidden/rules.toml")  # for student code
    ready_made = FilePath("{0.root}/tests/hidden/" + READY_MADE_FILE)  # what checks forbid
    shared_fixtures = FilePath("{0.root}/tests/hidden/conftest.py")
    documented = FilePath("{0.root}/tests/hidden/documented.toml")  # the documented tensors

    @property
    def minutes(self) -> int:
        """The estimated minutes for the whole stage; 0 if they are unknown."""
        return self.file.minutes or sum(one.minutes for one in self.exercises)

    @cached_property
    def written_answers(self) -> dict[str, float]:
        """The points of the written answers in the lab by name, tasks included."""
        try:
            cells = json.loads(self.lab.read_bytes())["cells"] if self.written else []
        except (OSError, ValueError, KeyError, TypeError):  # a stage may have no lab
            return {}
        facts = [cell["metadata"].get("nbgrader", {}) for cell in cells]
        answers = [
            one for one in facts if one.get("task") or (one.get("grade") and one.get("solution"))
        ]
        return {one["grade_id"]: float(one["points"]) for one in answers}

    @property
    def variants(self) -> tuple[Path, ...]:
        """Correct modules that are written differently from the solution."""
        return tuple(sorted((self.hidden / "variants").glob("*.py")))


class Course(msgspec.Struct, frozen=True, dict=True):
    """Describes a course on disk."""

    root: Path
    file: CourseFile

    @property
    def id(self) -> str:
        """The identifier of the course in ``results.json``."""
        return self.file.id

    @property
    def limits(self) -> Limits:
        """The resources that a submission may use."""
        return self.file.limits

    @property
    def reveal(self) -> Reveal:
        """The settings for hidden checks and documented values in feedback."""
        return self.file.reveal

    @property
    def grading(self) -> Grading:
        """The settings for grading submissions."""
        return self.file.grading

    @property
    def zone(self) -> tzinfo:
        """The time zone in which times are printed and, without a zone, read."""
        return zone_named(self.file.timezone) or UTC

    documented = FilePath("{0.root}/tests/hidden/documented.toml")  # the documented tensors
    shared_source = FilePath("{0.root}/source/" + SHARED)  # what labs share; may be missing

    @property
    def shared(self) -> Path:
        """The modules and data of the course as learners receive them."""
        return self.root / ASSIGNMENTS / SHARED

    @cached_property
    def every_stage(self) -> tuple[Stage, ...]:
        """All stages in the order of ``course.toml``, whose files are read on first use."""
        return tuple(self._read_stage(name) for name in self.file.stages)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that give points; only these are graded and exported."""
        return tuple(stage for stage in self.every_stage if stage.file.graded)

    @cached_property
    def _by_name(self) -> dict[str, Stage]:
        return {
            name: stage
            for stage in reversed(self.every_stage)  # so that the first of two wins
            for name in (stage.name, stage.module, *_numbers(stage.name))
        }

    def stage(self, wanted: str) -> Stage:
        """Find a stage by name, number (``04`` or ``4``) or module.

        If two stages have the same module, the first is returned. Raises ``UsageError`` if no stage
        matches.
        """
        if found := self._by_name.get(wanted):
            return found
        known = ", ".join(self.file.stages)
        raise UsageError(f"There is no stage {wanted!r} in {self.root}. Stages: {known}.")

    def around(self, stage: str) -> "Course | None":
        """Return the course that has *stage*: this one, or None."""
        return self if stage in self.file.stages else None

    def graded_stage(self, wanted: str) -> Stage:
        """Find a stage that gives points; raise ``UsageError`` if it is only for practice."""
        stage = self.stage(wanted)
        if stage not in self.stages:
            msg = f"{stage.name} is a practice stage: it gives no points and is not graded."
            raise UsageError(msg)
        return stage

    def _read_stage(self, name: str) -> Stage:
        path = self.root / "source" / name / STAGE_FILE
        file = _read_stage_file(path.parent)
        if not file.exercise:
            raise CourseError(f"{path}: a stage needs at least one [[exercise]].")
        for duplicate in duplicates([exercise.name for exercise in file.exercise]):
            raise CourseError(f"{path}: two exercises are named {duplicate!r}.")
        for prerequisite in file.prerequisites:
            if prerequisite not in self.file.stages:
                msg = f"{path}: prerequisite {prerequisite!r} is not a stage of {COURSE_FILE}."
                raise CourseError(msg)
        kinds = file.kinds or self.file.kinds
        return Stage(self.root, name, file, self.grading.written, kinds)


class _HandoutStage(Stage, frozen=True, dict=True):
    """Describes a stage outside a course: all its files are in the student's own folder."""

    source = assignment = FilePath("{0.root}")


class Handout(Course, frozen=True, dict=True):
    """Describes stages as students received them; *root* is the folder of one or of several."""

    @property
    def shared(self) -> Path:
        """The modules and data of the course, next to the stages."""
        is_stage = (self.root / STAGE_FILE).is_file()
        return (self.root.parent if is_stage else self.root) / SHARED

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages, each named after its folder, including those for practice."""
        return self.every_stage

    def around(self, stage: str) -> Course | None:
        """Return the course that has *stage*: this one, or the folder next to a single stage."""
        near = self.root.parent / stage
        is_single = (self.root / STAGE_FILE).is_file()
        return handout(near) if is_single and is_handout(near) else super().around(stage)

    def _read_stage(self, name: str) -> Stage:
        folder = self.root if (self.root / STAGE_FILE).is_file() else self.root / name
        return _HandoutStage(folder, name, _read_stage_file(folder))


def is_handout(folder: Path) -> bool:
    """Whether *folder* holds the files with which students check their work."""
    return (folder / STAGE_FILE).is_file() and (folder / PUBLIC_SUITE).is_file()


def handout(folder: Path) -> Handout:
    """Read the stage in *folder*, which needs no ``course.toml``."""
    root = folder.resolve()
    return _handout(root, (root.name,))


def installed_handouts() -> Path:
    """Return the folder of the stages that a course's wheel has installed with the kit."""
    return Path(__file__).parent / ASSIGNMENTS


def handouts(folder: Path) -> Handout:
    """Read the stages whose folders are in *folder*, sorted by name; there may be none."""
    root = folder.resolve()
    try:
        stages = tuple(path.name for path in sorted(root.iterdir()) if is_handout(path))
    except OSError:  # *folder* may be unreadable
        stages = ()
    return _handout(root, stages)


def _handout(root: Path, stages: tuple[str, ...]) -> Handout:
    return Handout(root, CourseFile(format_version=1, id="handout", title="Handout", stages=stages))


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above *start* that contains ``course.toml``."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / COURSE_FILE).is_file():
            return folder
    raise CourseError(
        f"No {COURSE_FILE} in {start} or any folder above it. "
        "Go to the course's folder, or give its path with --course."
    )


def load(root: Path, *, may_be_empty: bool = False) -> Course:
    """Read the course at *root*; raise ``CourseError`` if it is invalid, or has no stage."""
    path = root / COURSE_FILE
    file = read_toml(path, CourseFile)
    if not (file.stages or may_be_empty):
        msg = f"{path}: `stages` is empty. `autograder new-stage 01_name` writes the first one."
        raise CourseError(msg)
    for duplicate in duplicates(file.stages):
        raise CourseError(f"{path}: stage {duplicate!r} is listed twice.")
    if SHARED in file.stages:
        msg = f"{path}: a stage can't be named {SHARED!r}, the folder that all stages share."
        raise CourseError(msg)
    if file.second_looks and not SECOND_LOOKS.fullmatch(file.second_looks):
        raise CourseError(
            f"{path}: `second_looks` is {file.second_looks!r}. It must be an address that begins "
            "with https:// or mailto: and contains {key}, without spaces."
        )
    if zone_named(file.timezone) is None:
        raise CourseError(
            f"{path}: `timezone` is {file.timezone!r}, which this machine does not know. Use a "
            'name such as "Europe/Berlin" or "UTC".'
        )
    return Course(root, file)


def course_secret(root: Path) -> bytes:
    """Return the course's secret, or nothing; raise ``CourseError`` if it can be guessed."""
    origin, secret = SECRET_VARIABLE, os.environ.get(SECRET_VARIABLE, "").strip().encode()
    if not secret:
        file = root / SECRET_FILE
        if not file.is_file():
            return b""
        origin, secret = str(file), file.read_bytes().strip()
    if len(secret) < SECRET_BYTES:
        command = 'python -c "import secrets; print(secrets.token_hex(32))"'
        raise CourseError(
            f"The course's secret in {origin} has {len(secret)} bytes; it needs at least "
            f"{SECRET_BYTES}. `{command}` prints one."
        )
    return secret


def _read_stage_file(folder: Path) -> StageFile:
    file = read_toml(folder / STAGE_FILE, StageFile)
    path = folder / HINTS_FILE
    if not path.is_file():
        return file
    found = read_toml(path, dict[str, Hints | dict[str, dict[str, Ladder]]])
    hints = {name: given for name, given in found.items() if not isinstance(given, dict)}
    ladders = {
        exercise: given
        for name, table in found.items()
        if isinstance(table, dict)
        for exercise, given in (table if name == LADDERS else {name: {}}).items()
    }
    for unknown in (hints.keys() | ladders.keys()) - {one.name for one in file.exercise}:
        raise CourseError(f"{path}: {unknown!r} is not an exercise of {STAGE_FILE}.")
    exercises = (
        replace(one, hints=hints.get(one.name, one.hints), ladders=ladders.get(one.name, {}))
        for one in file.exercise
    )
    return replace(file, exercise=tuple(exercises))


def _numbers(name: str) -> Iterator[str]:
    number, _, rest = name.partition("_")
    if rest and number.isdigit():
        yield number
        yield str(int(number))


def duplicates(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once, sorted."""
    return sorted({name for name in names if names.count(name) > 1})
