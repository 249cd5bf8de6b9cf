"""Reads wrong and correct programs that were written before the code that names mistakes.

``tests/corpora/fresh_mistakes/README.md`` describes their format.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from autograder.course import Course
from autograder.submission import Code, Submission

FOLDER = Path(__file__).parents[1] / "tests/corpora/fresh_mistakes"
MARK = "#% "


class Mistake(NamedTuple):
    """The mistake in one exercise, in the words of a teacher."""

    exercise: str
    kinds: tuple[str, ...]  # those that name it correctly, the best first
    sentence: str


class Program(NamedTuple):
    """The definitions that a student wrote in place of the solution's."""

    id: str
    stage: str
    mistakes: tuple[Mistake, ...]  # none, one or two
    code: str


def kinds() -> dict[str, str]:
    """Return the kinds of mistake, each with its meaning."""
    return tomllib.loads((FOLDER / "kinds.toml").read_text("utf-8"))


def programs() -> list[Program]:
    """Read all programs, stage by stage."""
    return [one for path in sorted(FOLDER.glob("*.py")) for one in _programs(path)]


def submit(course: Course, program: Program) -> Submission:
    """Append *program* to the solution, so that its definitions replace the solution's."""
    solution = course.stage(program.stage).solution.read_text("utf-8")
    text = f"{solution}\n\n{program.code}".encode()
    code = Code(kind="module", cells=(text,), label=f"{program.id}.py")
    return Submission(student=program.id, stage=program.stage, code=code)


def _programs(path: Path) -> Iterator[Program]:
    """Read the programs of one stage: each has lines with the mark, then code."""
    marked: list[str] = []
    code: list[str] = []
    for line in path.read_text("utf-8").splitlines(keepends=True):
        if line.startswith(MARK) and code:
            yield _program(path.stem, marked, code)
            marked, code = [], []
        (marked if line.startswith(MARK) else code).append(line)
    yield _program(path.stem, marked, code)


def _program(stage: str, marked: list[str], code: list[str]) -> Program:
    """Build a program from its lines."""
    name, *mistakes = [line.removeprefix(MARK).strip() for line in marked]
    return Program(name, stage, tuple(map(_mistake, mistakes)), "".join(code).strip() + "\n")


def _mistake(line: str) -> Mistake:
    """Read "exercise | kinds | sentence"."""
    exercise, kinds_, sentence = line.split(" | ")
    return Mistake(exercise, tuple(kinds_.split(", ")), sentence)
