"""Builds modules in which correct exercises use exercises that compute nothing.

Such a module may earn hardly more than one in which the used exercises are blank. Otherwise,
solving the last exercise of a stage could earn the points of the others.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from autograder.authoring.fingerprinting import Kind, kinds_of
from autograder.course import Stage
from autograder.diagnosis.changed_programs import NONSENSE, change, with_mistakes
from autograder.diagnosis.live import LEAST_SHARE
from autograder.diagnosis.misconceptions import Misconception
from autograder.errors import CourseError
from autograder.sandbox.static_names import definitions, parse, reached_uses
from autograder.suite.in_process import LocalChannel

RETURNED = "wrong_return"  # the kind of mistake that returns an argument or a step
# Nonsense that accepts all arguments, even those for which the right code raises an exception.
LENIENT = NONSENSE.replace(
    "        right = run(*args, **kwargs)\n",
    "        try:\n"
    "            right = run(*args, **kwargs)\n"
    "        except Exception:\n"
    "            return torch.ones(1)\n",
)
Share = Callable[[Misconception], float]


class Garbage(NamedTuple):
    """A module with garbage in the exercises that others use; *name* describes the garbage."""

    name: str
    module: str


class Composition(NamedTuple):
    """A correct program, and those of its exercises that other exercises use."""

    path: Path
    used: tuple[str, ...]


def composition(stage: Stage) -> Composition | None:
    """Return the correct program whose exercises use each other most, or ``None``."""
    names = [exercise.name for exercise in stage.exercises]
    found = [Composition(path, tuple(used_exercises(path, names))) for path in _right(stage)]
    best = max(found, key=lambda one: len(one.used))
    return best if best.used else None


def blanks(base: Composition) -> str:
    """Return *base* with blank used exercises: only the constructors of their classes are kept.

    Blank functions return None. If they raised NotImplementedError, checks of exercises that use
    them would not run, and the points of correct constructors would seem to come from garbage.
    """
    tree = ast.parse(base.path.read_bytes())
    for node in tree.body:
        if getattr(node, "name", "") in base.used:
            parts = [node, *(node.body if isinstance(node, ast.ClassDef) else ())]
            for part in parts:
                if isinstance(part, ast.FunctionDef) and part.name != "__init__":
                    part.body = ast.parse("return None").body
    return ast.unparse(tree)


def garbage(
    stage: Stage, base: Composition, solution: LocalChannel, share: Share
) -> Iterator[Garbage]:
    """Yield *base* with three kinds of garbage: arguments, early steps, and nonsense.

    *share* returns the share of an exercise's work that a mistake still does. An exercise without a
    step to return early becomes nonsense in each module. If it stayed correct, its points would
    seem to come from garbage.
    """
    kinds = kinds_of(stage, solution)
    hollow = {name: _hollow(kinds, name, share) for name in base.used}
    rest = "".join(change(name, LENIENT) for name in base.used if not hollow[name])
    for name, place in (("arguments", 0), ("early steps", -1)):
        mistakes = [one[place] for one in hollow.values() if one]
        if mistakes:
            yield Garbage(name, _with(stage, base, mistakes) + rest)
    nonsense = "".join(change(name, LENIENT) for name in base.used)
    yield Garbage("nonsense", base.path.read_text("utf-8") + nonsense)


def _right(stage: Stage) -> Sequence[Path]:
    return stage.solution, *stage.variants


def used_exercises(path: Path, names: Collection[str]) -> Iterator[str]:
    """Yield the exercises *names* that another of them uses in the program at *path*."""
    known = definitions(parse((path.read_bytes(),)))
    uses = {name: {use.name for use in reached_uses(known, name)} for name in names}
    yield from (one for one in names if any(one in uses[name] for name in names if name != one))


def _hollow(kinds: Sequence[Kind], exercise: str, share: Share) -> list[Misconception]:
    """List the programs of *exercise* that return too early, by their share of the work."""
    found = [
        (done, number, one)
        for number, kind in enumerate(kinds)
        if kind.exercise == exercise and kind.rewrite.kind == RETURNED and kind.channel
        if (done := share(one := _replaced(exercise, kind.programs.text((kind.number,)))))
        < LEAST_SHARE
    ]
    return [one for *_, one in sorted(found, key=lambda row: row[:2])]


def _replaced(exercise: str, code: str) -> Misconception:
    return Misconception(id="garbage", exercise=exercise, explanation="-", question="-", code=code)


def _with(stage: Stage, base: Composition, mistakes: Sequence[Misconception]) -> str:
    """Return *base* with *mistakes*; raise ``CourseError`` if that is not valid Python."""
    solution = stage.solution.read_text("utf-8")
    try:
        return with_mistakes(base.path, mistakes, solution)
    except SyntaxError as error:
        msg = f"{base.path.name} is not valid Python: {error}"
        raise CourseError(msg) from None
