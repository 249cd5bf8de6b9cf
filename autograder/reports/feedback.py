"""Defines the values of feedback that pages, cards and terminals show.

A block has words and no layout. Each renderer (``terminal``, ``exercise_screen``, plain text in
``feedback_builder``, and the templates) has one case for each type of block.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from autograder.reports.tensor_tables import TensorTable
from autograder.results import add

LEAD: Final = "It looks like this: "
HOLDS: Final = "This must hold: "  # before the sentence of a check that does not pass


class Title(msgspec.Struct, frozen=True):
    """The sentence of a check."""

    text: str


class Message(msgspec.Struct, frozen=True):
    """The observation of a check, in one or more lines."""

    text: str


class NamedMistake(msgspec.Struct, frozen=True):
    """The *name* of a mistake, the rest of its explanation, and a guiding *question*."""

    name: str
    more: str
    question: str


class Aside(msgspec.Struct, frozen=True):
    """A sentence that matters less, such as where a mistake is described already."""

    text: str


class Dependency(Aside, frozen=True):
    """The sentence that an exercise uses another one which is not right."""


class Tables(msgspec.Struct, frozen=True):
    """The numbers of a check: Expected, Yours and Difference."""

    tables: tuple[TensorTable, ...]


class Printed(msgspec.Struct, frozen=True):
    """The output of the student's code, below a *title*."""

    text: str
    title: str = "Printed by your code:"


Block = Title | Message | NamedMistake | Aside | Tables | Printed


def mistake_first(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return *blocks* with the mistake in front, for learners who are working on it."""
    return tuple(sorted(blocks, key=lambda block: not isinstance(block, NamedMistake | Aside)))


PASSED: Final = "✓"
ALMOST: Final = 99.0  # the highest percentage of a bar where something is wrong
GIVEN: Final = "~"  # passes with the solution's code for another exercise
WRONG: Final = "✗"  # runs, and its result is wrong
UNWRITTEN: Final = "not written yet"
NO_POINTS: Final = "no points"  # of an exercise that repeats one of an earlier stage


@dataclass(frozen=True)
class CheckFeedback:
    """Feedback on one check, without sentences that an earlier check already has."""

    title: str
    mark: str
    word: str
    points: float
    max_points: float
    blocks: tuple[Block, ...] = ()
    name: str = ""  # of its function

    @property
    def titled(self) -> tuple[Block, ...]:
        """The blocks below the title."""
        return (Title(self.title), *self.blocks)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The observations, without the mistake and the numbers."""
        return tuple(block for block in self.blocks if isinstance(block, Message))


@dataclass(frozen=True)
class ExerciseFeedback:
    """Feedback on one exercise: the first problem, later problems, and the passed checks.

    *given* names the exercises that the solution replaced when some checks passed. *kept* is the
    phrase about the points of these checks and of failed checks. *uses* names the exercises that
    are not right and that the student's code uses here. *needs* names those that checks pass to it.
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
    given: str = ""
    kept: str = ""
    uses: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """The mark of the first problem, or that of an exercise that passes."""
        if self.first:
            return self.first.mark
        return GIVEN if self.given else PASSED

    @property
    def complete(self) -> bool:
        """Whether the exercise has all points with the submitted code alone."""
        return self.score == self.max_score and not (self.first or self.given)

    @property
    def percent(self) -> float:
        """The percentage of the points that were earned, below 100 unless all checks pass."""
        share = percent(self.score, self.max_score) if self.max_score else 100.0  # a copy
        return share if self.complete else min(share, ALMOST)

    @property
    def points(self) -> str:
        """The points as a phrase."""
        if not self.max_score:
            return NO_POINTS
        points = f"{self.score:g} of {self.max_score:g} points"
        return f"{points}, {self.kept}" if self.kept else points

    @property
    def problem(self) -> tuple[Block, ...]:
        """The first problem; empty if its mark and word are enough."""
        if self.first is None or self.unwritten or not self.first.blocks:
            return ()
        return (*self.dependency, *self.first.titled)

    @property
    def dependency(self) -> tuple[Dependency, ...]:
        """The sentence about the wrong exercises that it uses, if there are any."""
        names = " and ".join(self.uses)
        verb = "fail" if len(self.uses) > 1 else "fails"
        uses = f"It uses {names}, which {verb} checks, so look there first."
        return (Dependency(uses),) if names else ()

    @property
    def line(self) -> int:
        """The line of the module where the first problem arose; 0 if none is known."""
        if self.first is None or self.first.mark == WRONG or self.unwritten:
            return 0
        return next((n for one in self.first.messages if (n := line_in(one.text))), 0)

    @property
    def printed(self) -> tuple[Printed, ...]:
        """The output of the first check that printed something, if no check failed."""
        blocks = (block for check in self.passed for block in check.blocks)
        printed = [block for block in blocks if isinstance(block, Printed)]
        return () if self.first else tuple(printed[:1])

    @property
    def notes(self) -> tuple[Message, ...]:
        """The messages of checks that pass, once each: that of the public suite comes first."""
        said: dict[str, str] = {}
        for check in self.passed:
            for message in check.messages:
                if check.points == check.max_points and check.mark == PASSED:
                    said.setdefault(check.title, message.text)
        return tuple(Message(f"Note: {text}") for text in said.values())

    @property
    def unwritten(self) -> bool:
        """Whether the exercise is not written yet, so that its state is enough."""
        return self.state == UNWRITTEN


class GradePart(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the total about the cell *name*: what was done by *source*, and its *points*.

    *points* is ``None`` if a person must still grade the cell, which counts 0 until then.
    *max_points* is ``None`` if the points are added to those of another row.
    """

    name: str
    source: str
    points: float | None
    max_points: float | None = None
    is_by_hand: bool = False  # a person gave the points, and no check


class InstructorNote(msgspec.Struct, frozen=True, kw_only=True):
    """The student's *answer* in the cell *name*, and the instructor's *comment* on it."""

    name: str
    comment: str = ""
    answer: str = ""


class FinalGrade(msgspec.Struct, frozen=True, kw_only=True):
    """The gradebook's data about a submission.

    *score* is the sum of *checks* and *parts* minus *penalty*, and at least 0. *changed* maps the
    exercises whose points the instructor set to these points. *submitted* and *late* are phrases,
    empty if unknown; *late* is also empty if the submission was in time.
    """

    score: float | None
    max_score: float | None
    penalty: float
    checks: float
    max_checks: float
    parts: tuple[GradePart, ...] = ()
    notes: tuple[InstructorNote, ...] = ()
    changed: Mapping[str, float] = {}
    submitted: str = ""
    late: str = ""
    is_late: bool = False
    extended: bool = False

    @property
    def waits(self) -> bool:
        """Whether a person must still grade a part."""
        return any(part.points is None for part in self.parts)

    @property
    def is_changed(self) -> bool:
        """Whether the instructor changed or added points of exercises."""
        changes = (part for part in self.parts if part.max_points is None)
        return bool(self.changed) or any(changes)

    @property
    def raised(self) -> float:
        """The points by which the total is raised to 0, because a penalty exceeds the points."""
        earned = add((self.checks, *(part.points or 0.0 for part in self.parts), -self.penalty))
        return 0.0 if self.score is None else max(0.0, -earned)


@dataclass(frozen=True)
class Feedback:
    """The complete feedback on one graded submission.

    With a *grade*, *score* and *max_score* are those of the gradebook. *kept* is as in
    ``ExerciseFeedback``.
    """

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
    kept: str = ""
    grade: FinalGrade | None = None
    key: str = ""  # of the submission, with which a student asks for a second look
    second_look: str = ""  # the address for that

    @property
    def open(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises that lack points, or have them with our code for others only."""
        return tuple(exercise for exercise in self.exercises if not exercise.complete)

    @property
    def done(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises that have all points with the submitted code alone."""
        return tuple(exercise for exercise in self.exercises if exercise.complete)

    @property
    def full(self) -> bool:
        """Whether the submission has full points."""
        return bool(self.max_score) and self.score == self.max_score

    @property
    def message_title(self) -> str:
        """The heading of the message about the whole submission."""
        return "No points lost, but worth knowing" if self.full else "What happened"

    @property
    def percent(self) -> float:
        """The percentage of the points that were earned."""
        share = percent(self.score or 0.0, self.max_score or 0.0)
        return min(share, ALMOST) if self.open else share


@dataclass(frozen=True)
class SelfCheckFeedback:
    """The feedback on a student's own run of the public suite, and on request the *hidden* suite.

    *suites* is the sentence on what ran and what decides the grade. *only* is the exercise that was
    checked, if it was only one.
    """

    stage: str
    file: Path
    hidden: bool
    message: str
    printed: str
    exercises: tuple[ExerciseFeedback, ...]
    notices: tuple[str, ...]
    suites: str
    only: str = ""

    @property
    def open(self) -> tuple[ExerciseFeedback, ...]:
        """The exercises with a check that did not pass."""
        return tuple(exercise for exercise in self.exercises if exercise.first)

    @property
    def complete(self) -> bool:
        """Whether checks ran and all of them passed."""
        return any(exercise.passed for exercise in self.exercises) and not self.open


PRACTICE = "This stage is for practice and gives no points."


def grading_note(*, points: float = 0.0, hidden_points: float = 0.0, is_here: bool = False) -> str:
    """Return a note on what decides the grade; with *is_here*, also on how to run the hidden suite.

    *hidden_points* is the part of the stage's *points* that comes from checks which students do not
    have.
    """
    text = "Your grade comes from the same checks on other inputs"
    if hidden_points:
        others = f"{hidden_points:g} of {points:g} points"
        text += f", and {others} from checks that only your instructor has"
    here = " The hidden suite is here: run `autograder check --hidden`." if is_here else ""
    return f"{text}.{here}"


def line_in(message: str) -> int:
    """Return the line of a module that the kit's *message* names; 0 if it names none."""
    first = message.partition("\n")[0]  # the text of an exception is below it
    found = None if "cell " in first else re.search(r"\bline (\d{1,6})\b", first)
    return int(found[1]) if found else 0


def counted(count: int, word: str) -> str:
    """Return *count* and *word*, with an ``s`` unless *count* is 1."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def kept_points(given: float, credited: float = 0.0) -> str:
    """Return a phrase about points *given* with the solution's code, and *credited* for laws."""
    parts = [f"{given:g} with our code in place of other exercises"] if given else []
    parts += [f"{credited:g} for properties that hold"] if credited else []
    return f"of which {' and '.join(parts)}" if parts else ""


def percent(score: float, max_score: float) -> float:
    """Return the percentage of *max_score* that was earned; 100 only if nothing is missing."""
    if not max_score or score >= max_score:
        return 100.0 if max_score else 0.0
    return min(99.9, round(100 * max(0.0, score / max_score), 1))
