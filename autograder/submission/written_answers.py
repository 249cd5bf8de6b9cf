"""Reads the guesses and the written answers in a lab, and finds answers that are certainly blank.

An answer is blank if its cell is there and unchanged, and nothing else in the lab is the student's;
all others wait for a person. A guess is in the output of its cell, so it travels with the notebook,
and its text is the student's. The right answers are in ``predictions.toml`` of the stage.
"""

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from autograder.course import LAB, Stage
from autograder.errors import CourseError
from autograder.results import Flag, FlagKind
from autograder.sanitize import MAX_SENTENCE, line, lines
from autograder.submission.files import SubmittedFile, UnusableFile, read_regular
from autograder.submission.names import is_lab
from autograder.submission.notebook import (
    MAX_NOTEBOOK,
    cell_name,
    is_for_browser,
    saved_cells,
    student_cells,
)

ANSWERS = "predictions.toml"
PREDICT = "lab.predict("  # in each cell that asks
HOW = "Choose below, or write your guess into this cell and run it again, for example:"
GUESSED = re.compile(r"Your guess: (\d{1,3}), (\d{1,3}) % sure\.")
MOST = 50  # guesses of one lab
MOST_TEXT = 1_500  # characters of a question with its choices
SURE = 100  # percent; nobody can be surer


class Prediction(NamedTuple):
    """A question with its choices; *guess* counts from 1, and is 0 without one."""

    question: str
    choices: tuple[str, ...]
    guess: int = 0
    sure: int = 0  # percent

    def __repr__(self) -> str:
        listed = (f"  {number}  {choice}" for number, choice in enumerate(self.choices, start=1))
        return "\n".join((self.question, *listed, self.last_line))

    def _repr_html_(self) -> str:
        listed = "".join(f"<li>{escape(choice)}</li>" for choice in self.choices)
        return f"<b>{escape(self.question)}</b><ol>{listed}</ol>{escape(self.last_line)}"

    @property
    def last_line(self) -> str:
        """The guess, or how to make one."""
        if self.guess:
            return f"Your guess: {self.guess}, {self.sure} % sure."
        return f"{HOW} guess={len(self.choices)}, sure=70"


class RightChoice(NamedTuple):
    """The number of the right choice, from 1, and a *text* in Markdown about the reason."""

    right: int
    text: str


def answers(stage: Path) -> dict[str, RightChoice]:
    """Return the answers by name, none without the file; raise ``CourseError`` if it is broken."""
    file = stage / ANSWERS
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
        return {
            name: RightChoice(int(table["right"]), str(table["text"]))
            for name, table in tables.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{file} can't be read: {error}. `autograder start` restores it."
        raise CourseError(msg) from error


def guesses_in(lab: bytes) -> list[Prediction]:
    """List the guesses in the outputs of the notebook *lab*; empty if it can't be read."""
    try:
        return list(_guesses(student_cells(lab, "")))[:MOST]
    except (UnusableFile, TypeError, AttributeError):  # outputs may hold anything
        return []


def _guesses(cells: list[dict[str, Any]]) -> Iterator[Prediction]:
    for cell in cells:
        if PREDICT in cell["source"]:
            for output in cell["outputs"] or []:
                text = "".join((output.get("data") or {}).get("text/plain") or "")
                yield from _guess(text)


def _guess(text: str) -> Iterator[Prediction]:
    """Yield the prediction that *text*, the output of a cell, shows with a guess."""
    shown = lines(text, MOST_TEXT).splitlines()
    question, listed, last = "".join(shown[:1]), shown[1:-1], "".join(shown[-1:])
    choices = tuple(line(one.strip().partition("  ")[2], MAX_SENTENCE) for one in listed)
    found = GUESSED.fullmatch(last)
    if found and 1 <= int(found[1]) <= len(choices) and int(found[2]) <= SURE:
        yield Prediction(question, choices, int(found[1]), int(found[2]))


def questions_in(lab: bytes) -> dict[str, Prediction]:
    """Map answers to the questions of *lab*, with the texts as ``guesses_in`` reads them."""
    try:
        sources = [cell["source"] for cell in student_cells(lab, "")]
    except UnusableFile:
        return {}
    return {
        name: read._replace(guess=0)
        for source in sources
        if PREDICT in source
        for name, asked in _asked(source)
        for read in _guess(repr(asked._replace(guess=1)))
    }


def _asked(source: str) -> Iterator[tuple[str, Prediction]]:
    """Yield the name of the answer and the question of each call of ``predict`` in *source*."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "predict":
                question, choices = map(ast.literal_eval, call.args)
                names = [one.value for one in call.keywords if one.arg == "name"]
                yield str(ast.literal_eval(names[0])), asked(question, choices)
    except (SyntaxError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return  # an edited cell, or one whose texts are computed


def asked(question: str, choices: Iterable[str]) -> Prediction:
    """Return the *question* with its *choices*, each on one line, without a guess."""
    return Prediction(" ".join(question.split()), tuple(" ".join(one.split()) for one in choices))


class AnsweredQuestion(NamedTuple):
    """A question of a lab, with the number of its right choice, from 1."""

    asked: Prediction
    right: int

    def latest(self, guesses: Sequence[Prediction]) -> Prediction | None:
        """Return the last of *guesses* that is about this question."""
        return next((one for one in reversed(guesses) if one[:2] == self.asked[:2]), None)


def answered_questions(stage: Stage) -> list[AnsweredQuestion]:
    """List the lab's questions with an answer; raise ``CourseError`` for broken answers."""
    known = answers(stage.source)
    try:
        questions = questions_in(read_regular(stage.lab, MAX_NOTEBOOK)) if known else {}
    except UnusableFile:
        return []
    return [
        AnsweredQuestion(question, known[name].right)
        for name, question in questions.items()
        if name in known and 1 <= known[name].right <= len(question.choices)
    ]


NO_LAB = f"No {LAB} was submitted"  # begins a notice
WAITS = "for your instructor, who reads the file."  # ends a notice
_ADDRESS: Final = re.compile(r"\]\([^()\s]*\)")
_GUESS: Final = re.compile(
    r"""\b(?:guess|sure)\s*=\s*(?:(?P<quote>["']?)[\d.]+\s*%?(?P=quote)|(?P<text>"[^"\n]*"|'[^'\n]*'))"""
    r"(?=\s*[,)])"
)
_MAX_NAMED = 5  # answers in a sentence


class WrittenAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The *blank* answers, the points of those that wait, and a *flag*, also a notice."""

    blank: frozenset[str] = frozenset()
    waiting: float = 0.0
    flag: Flag | None = None


def written_answers(stage: Stage, lab: SubmittedFile | None) -> WrittenAnswers:
    """Return what is known about the answers in *lab*, which a student submitted for *stage*."""
    points = stage.written_answers
    if not points:
        return WrittenAnswers()
    total = sum(points.values())
    if lab is None:
        notice = f"{NO_LAB}, so the written answers ({total:g} points) count as missing."
        return WrittenAnswers(blank=frozenset(points), flag=Flag(FlagKind.NO_LAB, notice))
    try:
        found = student_cells(lab.read(MAX_NOTEBOOK), lab.label)
        cells = [cell for cell in found if not is_for_browser(cell["source"].encode())]
    except UnusableFile as error:
        notice = f"{error} Your written answers ({total:g} points) wait {WAITS}"
        return WrittenAnswers(waiting=total, flag=Flag(FlagKind.UNCLEAR_ANSWERS, notice))
    released = saved_cells(stage.assignment / LAB)
    if _is_only_code(lab, cells, released):
        return written_answers(stage, None)
    unchanged = _unchanged(points, released, cells)
    known = {"", *map(_comparable, released)}
    others = (cell for cell in cells if cell_name(cell) not in points)
    blank = unchanged if known.issuperset(map(_comparable, others)) else frozenset()
    unclear = sorted((unchanged | (points.keys() - {*map(cell_name, cells)})) - blank)
    waiting = sum(points[name] for name in points.keys() - blank)
    notice = f"{lab.label}: {_listed(unclear)} {WAITS}"
    flag = Flag(FlagKind.UNCLEAR_ANSWERS, notice) if unclear else None
    return WrittenAnswers(blank=blank, waiting=waiting, flag=flag)


def _listed(names: Sequence[str]) -> str:
    """Return the beginning of a sentence about the answers *names*, which may be elsewhere."""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    shown = f"{', '.join(names[:_MAX_NAMED])}{more}"
    return (
        f"the cell of an answer is missing or unchanged ({shown}), but other cells are not as they "
        "were released. The answer may be there, so it waits"
    )


def _is_only_code(
    lab: SubmittedFile, cells: Sequence[dict[str, Any]], released: Sequence[dict[str, Any]]
) -> bool:
    """Whether *lab* is a notebook for the module's code, and not a lab under a different name."""
    known = {cell["source"].strip() for cell in released} - {""}
    return not is_lab(lab.path) and not any(
        cell_name(cell)
        or cell["source"].strip() in known
        or (cell["cell_type"] != "code" and cell["source"].strip())
        for cell in cells
    )


def _unchanged(
    names: Collection[str], released: Sequence[dict[str, Any]], cells: Sequence[dict[str, Any]]
) -> frozenset[str]:
    given = {cell_name(cell): cell["source"].strip() for cell in released}
    texts: dict[str, set[str]] = {}
    for cell in cells:
        texts.setdefault(cell_name(cell), set()).add(cell["source"].strip())
    return frozenset(
        name for name in names if name in texts and texts[name] <= {"", given.get(name, "")}
    )


def _comparable(cell: Mapping[str, Any]) -> str:
    """Return the text of *cell* without a guess, and without addresses.

    Addresses differ in a lab for a browser.
    """
    source = cell["source"].strip()
    if PREDICT in source:
        return _without_guess(source)
    return _ADDRESS.sub("]()", source)


def _without_guess(source: str) -> str:
    """Return *source* without a guess that is a number or a choice, commas and spaces."""
    rest = _GUESS.sub("", source)
    texts = [found["text"] or "" for found in _GUESS.finditer(source)]
    kept = rest if all(text[1:-1] in rest for text in texts) else source
    return "".join(kept.replace(",", "").split())
