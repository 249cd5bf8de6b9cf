"""Counts what is said of strange programs: python -m benchmarks.readings [PROGRAMS] [FILE].

Each program is the solution of a stage with one tensor in it changed, drawn with a public seed:
most are no mistake that an author thinks of. Programs whose checks only raise are left out. It
counts the exercises that fail: a mistake is *named*; each failed check is *described*, by its
numbers or its exception; a causal *reading* says what the result depends on, or of which other
computation it is the result; or *nothing* is said of some check. *FILE* gets every program and
every sentence.
"""

import ast
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from autograder.course import Stage, find_root, load
from autograder.diagnosis.causal_readings import CausalReader
from autograder.diagnosis.matcher import MisconceptionMatcher, explain
from autograder.diagnosis.observation import Failure
from autograder.diagnosis.operators.kinds import KINDS
from autograder.errors import CourseError
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel

CHANGES = (
    "({0}) * 0.7",
    "({0}) * 3",
    "({0}) + 0.3",
    "2 * ({0}) + 0.1",
    "({0}) ** 2",
    "({0}) / ({0}).shape[-1]",
    "({0}) / ({0}).shape[-1] ** 0.5",
    "({0}) / ({0}).shape[-2]",
    "({0}) - ({0}).mean(-1, keepdim=True)",
    "({0}) / ({0}).norm(dim=-1, keepdim=True)",
    "({0}).flip(-1)",
    "({0}).flip(-2)",
    "({0}).roll(1, -2)",
    "({0}).cumsum(-2)",
    "({0}).sort(-1).values",
    "({0}).mT",
    "({0}).abs()",
    "torch.relu({0})",
    "torch.tanh({0})",
)
TRIES = 20  # for each program; most changes are of no tensor


class Strange(NamedTuple):
    """The solution with one change."""

    change: str
    text: str


def main(count: str = "30", path: str = "") -> None:
    """Count stage by stage, and print."""
    course = load(find_root(Path(__file__).parent))
    total: Counter[str] = Counter()
    written = []
    with open_suites(course, course.stages) as runner:
        for stage in course.stages:
            said = list(_said_of_all(runner, stage, int(count)))
            counts = Counter(str(one["said"]) for one in said)
            total += counts
            written += said
            _print(stage.name, counts)
    _print("all", total)
    if path:
        Path(path).write_text(json.dumps(written, indent=1) + "\n", "utf-8")


def strange_programs(solution: str, seed: str) -> Iterator[Strange]:
    """Yield changed programs, endlessly, most of which can't run."""
    draw = random.Random(seed)  # noqa: S311  # reproducible, no secret
    while True:
        tree = ast.parse(solution)
        functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
        function = draw.choice([one for one in functions if "__init__" not in one.name])
        places = [
            node
            for statement in function.body
            for node in ast.walk(statement)
            if isinstance(node, ast.BinOp | ast.Call)
            or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        ]
        if places:
            place, change = draw.choice(places), draw.choice(CHANGES)
            text = ast.unparse(place)
            _replace(place, ast.parse(change.format(text), mode="eval").body)
            yield Strange(f"{function.name}: {text} -> {change}", ast.unparse(tree))


def _replace(place: ast.expr, new: ast.expr) -> None:
    """Let *place* be *new*, whatever refers to it."""
    place.__class__ = new.__class__
    vars(place).clear()
    vars(place).update(vars(new))


def _said_of_all(runner: SuiteRunner, stage: Stage, count: int) -> Iterator[dict[str, object]]:
    """Say what is said of *count* programs with wrong numbers."""
    matcher = runner.wrong_programs(stage)
    reader = CausalReader(stage, matcher.solve)
    programs = strange_programs(stage.solution.read_text("utf-8"), stage.name)
    wrong = 0
    for program, _ in zip(programs, range(TRIES * count), strict=False):
        said = [
            {"stage": stage.name, "change": program.change, "exercise": exercise.name, **found}
            for exercise in stage.exercises
            if (found := _said(runner, matcher, reader, stage, exercise.name, program))
        ]
        yield from said
        wrong += bool(said)
        if wrong == count:
            return


def _said(
    runner: SuiteRunner,
    matcher: MisconceptionMatcher,
    reader: CausalReader,
    stage: Stage,
    exercise: str,
    program: Strange,
) -> dict[str, object]:
    """Return what is said of one exercise; nothing if none of its answers is wrong."""
    try:
        channel = LocalChannel("strange", program.text.encode())
    except CourseError:  # it can't be imported
        return {}
    checks = [one.item for one in runner.checks(stage.name) if one.spec.exercise == exercise]
    seen = [(one, runner.run(one, channel)) for one in checks]
    failures = [Failure(one, shown) for one, shown in seen if shown.error is not None]
    if not any(isinstance(one.observation.error, WrongAnswer) for one in failures):
        return {}
    passed = [one for one, shown in seen if shown.error is None]
    found = explain(matcher, exercise, failures, passed)
    known = {item.id for item in matcher.misconceptions} | KINDS.keys()
    named = any(not known.isdisjoint(one.misconceptions) for one in found.values())
    left = [one for one in failures if one.item.name not in found]
    read = reader.read(channel, left, checks) if left and not named else {}
    silent = len(found) + len(read) < len(failures)
    said = "named" if named else "reading" if read else "nothing" if silent else "described"
    sentences = sorted({one.explanation for one in (*found.values(), *read.values())})
    return {"said": said, "sentences": sentences}


def _print(name: str, counts: Counter[str]) -> None:
    kinds = ("named", "described", "reading", "nothing")
    print(f"  {name:26}", *(f"{kind} {counts[kind]:4}" for kind in kinds), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
