"""Runs a bug hunt: the learner sees a small mistake in a finished stage, fixes it and tests for it.

Each wrong module is the learner's own code with one place changed, and the right module is that
code itself. So a hunt needs only files that students have, and does not reveal a solution.
"""

import ast
import json
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from rich.console import RenderableType
from rich.text import Text

from autograder.course import Handout, Stage
from autograder.course_file import CAPTION
from autograder.disk import replace_file
from autograder.errors import UsageError
from autograder.reports.exercise_screen import Rank, exercise_screen, fit, kept, optional, whole
from autograder.reports.feedback import counted
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.reports.terminal import pictures_parts
from autograder.results import FIRST, Outcome, SubmissionResult
from autograder.sanitize import line
from autograder.student import learner_folder
from autograder.student.learner_code import (
    LONGEST,
    LearnerCode,
    SmallChanges,
    WrongModule,
    first_named,
    is_right,
)
from autograder.student.learner_folder import source_text
from autograder.student.quiz import Claim, choose, claims_of, true_claims
from autograder.student.stage_picture import PictureRows

FOLDER: Final = "hunt"  # in the learner's folder; holds a folder for each stage
STATE: Final = ".hunt.json"
TEST: Final = "test_hunt.py"
PICTURE: Final = "picture.png"
BANK: Final = 12  # wrong modules in a hunt; a good test catches all of them
SEARCH_SECONDS: Final = 30.0  # the learner waits, and fewer wrong modules are also enough
EITHER: Final = "Either: "  # begins a title that lists several mistakes
MISSED: Final = 3  # the most missed mistakes that are listed
TEMPLATE: Final = '''"""A test for this hunt: it fails on the wrong module, and passes on yours.

`autograder hunt` runs it on both, and on other wrong modules, to see how many it catches.
"""

import torch

import {module}


def test_result():
    raise NotImplementedError("write your test here, and end it with an assert")
'''
UNWRITTEN: Final = "NotImplementedError: write your test here"  # torch raises this type, too


class HuntState(msgspec.Struct):
    """The saved state of a hunt; the learner works on the first of *mistakes*.

    The search for the others begins when the learner has written a test. *has_bank* is true after
    it.
    """

    right: str
    rows: PictureRows
    mistakes: list[WrongModule]
    choices: list[int]  # indices of the course's claims; empty if nothing is asked
    is_seen: bool = False
    is_fixed: bool = False
    has_bank: bool = False

    @property
    def wrong(self) -> WrongModule:
        """The mistake to hunt."""
        return self.mistakes[0]


class Report(NamedTuple):
    """The *parts* to print; *asks* is true if a number is expected, *done* if the hunt is over."""

    parts: list[RenderableType]
    asks: bool = False
    done: bool = False


class Hunt:
    """A hunt in one stage of a learner's folder; *small_changes* makes the wrong modules."""

    def __init__(self, own: Handout, stage: Stage, small_changes: SmallChanges) -> None:
        self._stage = stage
        self.folder = own.root / FOLDER / stage.name
        self.module = self.folder / stage.stub.name
        self._claims = claims_of(stage.source)
        self._state = _read(self.folder / STATE, self._claims)
        self._code = LearnerCode(own, stage, small_changes)
        self.fault = ""  # a sentence if something could not be saved

    @property
    def is_new(self) -> bool:
        """Whether the learner has no wrong module yet."""
        return self._state is None or not self.module.is_file()

    @property
    def is_slow(self) -> bool:
        """Whether the next step takes seconds because it runs code."""
        return self._state is not None and self._state.is_seen

    def close(self) -> None:
        """End the fork server."""
        self._code.close()

    def begin(self) -> None:
        """Write a wrong module for the learner; raise ``UsageError`` if the stage is not done."""
        text = source_text(self._stage.stub)
        rows = self._right_picture(text)
        chosen = first_named(self._code.wrong_modules(text, rows))
        if chosen is None:
            msg = "No small change to your code would show in the picture. Try another stage."
            raise UsageError(msg)
        choices = choose(self._claims, chosen.rows, rows, random.Random())  # noqa: S311  # a hunt is a game
        self._state = HuntState(text, rows, [chosen], choices)
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.module, chosen.text.encode())
        template = TEMPLATE.format(module=self._stage.module)
        replace_file(self.folder / TEST, template.encode())
        self._draw(chosen.rows)
        self._save()

    def go_on(self, answer: int | None, width: int, rows: int | None = None) -> Report:
        """Run the next step: answer, fix or catch; a report on a fix has at most *rows* rows."""
        state = self._known
        if not state.is_seen:
            return self._see(state, answer, width)
        if not state.is_fixed:
            if _is_same_code(source_text(self.module), state.wrong.text):
                unchanged = Text("You have not changed anything yet.", style="bold")
                return Report([unchanged, "", *self._task()])
            result = self._code.check(source_text(self.module))
            if not is_right(result):
                return self._report_failure(result, width, rows)
            state.is_fixed = True
            self._save()
        return self._catch(state)

    @property
    def _known(self) -> HuntState:
        if self._state is None:
            self.begin()
        assert self._state is not None  # noqa: S101  # `begin` has created it
        return self._state

    def _see(self, state: HuntState, answer: int | None, width: int) -> Report:
        parts: list[RenderableType] = []
        if answer is not None:
            wrong = self._objection(state, answer)
            if not wrong:
                state.is_seen = True
                self._save()
                what = self._claims[state.choices[answer - 1]].sentence
                return Report([Text(f"✓ Right. {what}", style="green"), *self._task()])
            parts += [Text(f"Not quite. {wrong} Look again."), ""]
        else:
            parts += [*self._pictures(state, width), ""]
        if not state.choices:
            state.is_seen = True
            self._save()
            return Report([*parts, *self._task()])
        parts.append(Text("How does the picture of this module differ from yours?", style="bold"))
        for number, index in enumerate(state.choices, start=1):
            parts.append(Text(f"  {number}  {self._claims[index].sentence}"))
        return Report(parts, asks=True)

    def _objection(self, state: HuntState, answer: int) -> str:
        """Return the reason why *answer* is wrong; empty if it is right."""
        if not 1 <= answer <= len(state.choices):
            return f"Answer with a number from 1 to {len(state.choices)}."
        index = state.choices[answer - 1]
        if index in true_claims(self._claims, state.wrong.rows, state.rows):
            return ""
        return self._claims[index].shows(state.wrong.rows, state.rows)

    def _pictures(self, state: HuntState, width: int) -> Iterator[RenderableType]:
        picture = self._stage.file.picture
        assert picture is not None  # noqa: S101  # `begin` requires a picture
        module = f"{FOLDER}/{self._stage.name}/{self.module.name}"
        yield Text(f"One place in a copy of your code has been changed: {module}")
        yield ""
        pictures = {"The wrong result:": state.wrong.rows, "Your result:": state.rows}
        yield from pictures_parts(pictures, picture, width)
        if (self.folder / PICTURE).is_file():
            yield Text(f"In colour: {FOLDER}/{self._stage.name}/{PICTURE}", style="dim")

    def _task(self) -> Iterator[RenderableType]:
        yield Text(
            f"Now find the bug in {self.module} and fix it without looking at your own code."
        )
        yield Text(f"Then: autograder hunt {self._stage.name}", style="bold")

    def _report_failure(self, result: SubmissionResult, width: int, rows: int | None) -> Report:
        parts = [kept(Text("Not fixed yet.", style="bold")), optional(Rank.GAPS, "")]
        for exercise in self._stage.exercises:
            feedback = build_exercise_feedback(self._stage, result, exercise.name)
            if feedback is not None and feedback.first is not None:
                parts += exercise_screen(feedback, width)
                break
        parts += [optional(Rank.GAPS, ""), kept(*self._task())]
        return Report(whole(parts) if rows is None else fit(parts, width, rows))

    def _catch(self, state: HuntState) -> Report:
        text = source_text(self.folder / TEST)
        test = f"{FOLDER}/{self._stage.name}/{TEST}"
        fixed: list[RenderableType] = [Text("✓ Fixed.", style="green"), *_solved(state)]
        again = Text(f"Then: autograder hunt {self._stage.name}", style="bold")
        right = self._code.run_tests(text, state.right)
        if UNWRITTEN in right.why:
            todo = Text(f"Now write a test that would have caught it: {test}")
            return Report([*fixed, "", todo, again])
        if not right.ran or right.caught:
            said = Text(f"Your test fails on your own module, which is correct: {right.why}")
            return Report([*fixed, "", said, Text(f"Fix the test: {test}"), again])
        self._fill_bank(state)
        caught = [self._code.run_tests(text, one.text).caught for one in state.mistakes]
        missed = [one for one, seen in zip(state.mistakes, caught, strict=True) if not seen]
        return Report([*fixed, "", *_score(state, missed, test)], done=not missed)

    def _right_picture(self, text: str) -> PictureRows:
        """Return the picture of the learner's code; raise ``UsageError`` if the code is wrong."""
        name = self._stage.name
        if self._stage.file.picture is None:
            raise UsageError(f"{name} has no picture for a bug hunt. Try another stage.")
        if not text:
            msg = f"A bug hunt needs your module: {self._stage.stub} is missing or can't be read."
            raise UsageError(msg)
        result = self._code.check(text)
        outcomes = {
            one.name: all(check.outcome is Outcome.PASSED for check in one.checks)
            for one in result.exercises
        }
        self.fault = learner_folder.remember(self._stage.stub, self._stage, outcomes)
        if not is_right(result):
            msg = f"A bug hunt needs a finished stage. See what is missing: autograder check {name}"
            raise UsageError(msg)
        rows = self._code.picture(text)
        if rows is None:
            raise UsageError(
                f"Your module of {name} passes, but its picture can't be drawn. Try another stage."
            )
        return rows

    def _fill_bank(self, state: HuntState) -> None:
        if state.has_bank:
            return
        end = time.monotonic() + SEARCH_SECONDS
        with closing(self._code.wrong_modules(state.right, state.rows)) as found:
            for one in found:
                if one.text != state.wrong.text:
                    state.mistakes.append(one)
                if len(state.mistakes) >= BANK or time.monotonic() > end:
                    break
        state.has_bank = True
        self._save()

    def _draw(self, rows: PictureRows) -> None:
        picture = self._stage.file.picture
        if picture is None:
            return
        from autograder.student.pictures import LABELS, heatmap_panels  # noqa: PLC0415  # it is seldom needed

        labels = LABELS if picture.caption == CAPTION else ("", "")
        with suppress(ModuleNotFoundError, OSError):  # the picture in the terminal shows the same
            drawn = {"the wrong module": rows}
            panels = heatmap_panels(drawn, picture.tokens, picture.columns, labels=labels)
            panels.figures[0].savefig(self.folder / PICTURE)

    def _save(self) -> None:
        text = json.dumps(msgspec.to_builtins(self._state))  # json keeps nan, msgspec does not
        try:
            replace_file(self.folder / STATE, text.encode())
        except OSError as error:
            file = self.folder / STATE
            self.fault = f"This step is not remembered: {file} can't be written ({error.strerror})."


def _read(file: Path, claims: Sequence[Claim]) -> HuntState | None:
    """Read the state of a hunt; None if it is missing or damaged, or *claims* have changed."""
    try:
        found = msgspec.convert(json.loads(file.read_bytes()), HuntState)
    except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None
    if not found.mistakes:
        return None
    true = true_claims(claims, found.wrong.rows, found.rows)
    known = all(0 <= index < len(claims) for index in found.choices)
    return found if known and bool(true) == bool({*true} & {*found.choices}) else None


def _is_same_code(text: str, other: str) -> bool:
    """Whether two texts differ only in comments and layout."""
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError, RecursionError):
        return text == other


def _solved(state: HuntState) -> Iterator[RenderableType]:
    if state.wrong.name:
        yield Text(_known_mistake(state.wrong.name))
    yield Text(f"The change in {state.wrong.exercise}: {line(state.wrong.change, LONGEST)}", "dim")


def _known_mistake(name: str) -> str:
    """Return a sentence on the known mistake: one, several alternatives, or two at once."""
    if name.startswith(EITHER):
        return f"Several known mistakes have this result. {name}."
    if name.startswith(FIRST):
        return f"Two known mistakes together have this result. First: {name.removeprefix(FIRST)}."
    return f"It was a known mistake: {name}."


def _score(state: HuntState, missed: Sequence[WrongModule], test: str) -> Iterator[RenderableType]:
    total = len(state.mistakes)
    caught = total - len(missed)
    yield Text(f"Your test catches {caught} of {counted(total, 'mistake')}.", style="bold")
    if state.wrong in missed:
        yield Text(
            "It also passes on the wrong module of this hunt. Which result is different there?"
        )
    for one in missed[:MISSED]:
        yield Text(f"Not caught, in {one.exercise}: {line(one.change, LONGEST)}", style="dim")
    if missed:
        yield Text(f"Improve it and run this command again: {test}")
    else:
        yield Text("It catches every mistake. Well done!", style="green")
        yield Text("Another hunt: the same command with --new.", style="dim")
