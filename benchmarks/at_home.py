"""Compares names at home with those of grading: python -m benchmarks.at_home [WHAT] [STAGE] [FILE].

*WHAT* are the programs: ``kinds``, each with one kind of mistake; ``fresh``, those of
`tests/submissions/fresh_mistakes`; ``mutants``, those of `autograder mutate`; or ``all``. Each is
diagnosed twice in this process: as a student's machine does it, by the public suite of
``assignments/`` and its fingerprints, and as grading does it, by the hidden suite and the solution.
Only programs that fail a public check count. Columns are: the same names; some of them; others;
none at home; names at home alone; none in both. Where no mistake has a name, readings of what a
result depends on are compared. Each program is written to *FILE*, with what is said of it.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from autograder.authoring.fingerprinting import kinds_of
from autograder.authoring.mutation import mutants
from autograder.course import Stage, find_root, handouts, load
from autograder.diagnosis.causal_readings import CausalReader
from autograder.diagnosis.fingerprint_matcher import fingerprint_matcher
from autograder.diagnosis.known_effects import KnownEffectsReader
from autograder.diagnosis.matcher import Matcher, explain
from autograder.diagnosis.observation import Failure, status_of
from autograder.diagnosis.operators.kinds import KINDS
from autograder.errors import CourseError
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Diagnosis, Status
from autograder.suite.in_process import LocalChannel, solution_channel
from benchmarks.diagnosis import changed_exercise
from tests.e2e.fresh_mistakes import programs

Read = Callable[[LocalChannel, list[Failure], list[pytest.Item]], dict[str, Diagnosis]]


class Wrong(NamedTuple):
    """A program with a mistake in *exercise*."""

    label: str
    exercise: str
    text: str


class Said(NamedTuple):
    """The mistakes that are named, and the readings of what the result depends on."""

    mistakes: frozenset[str] = frozenset()
    readings: frozenset[str] = frozenset()


def main(what: str = "all", wanted: str = "", path: str = "") -> None:
    """Count and print; write each program on a line of its own to the file at *path*."""
    course = load(find_root(Path(__file__).parent))
    own = handouts(course.root / "assignments")
    names = {course.stage(wanted).name} if wanted else {stage.name for stage in course.stages}
    makers = {name: make for name, make in MAKERS.items() if what in {name, "all"}}
    wrong = [
        (stage, {name: list(make(stage)) for name, make in makers.items()})
        for stage in course.stages
        if stage.name in names
    ]
    with open_suites(own, [own.stage(stage.name) for stage, _ in wrong], public=True) as runner:
        at_home = {
            (stage.name, name): _at_home(runner, own.stage(stage.name), found)
            for stage, every in wrong
            for name, found in every.items()
        }
    lines: list[str] = []
    total: dict[str, Counter[str]] = {name: Counter() for name in makers}
    with open_suites(course, [stage for stage, _ in wrong]) as runner:
        for stage, every in wrong:
            for name, found in every.items():
                graded = _compare(runner, stage, found, at_home[stage.name, name], lines)
                counts = Counter(graded)
                total[name] += counts
                _print(f"{name} {stage.name}", counts)
    for name, counts in total.items():
        _print(f"{name}, all", counts)
    if path:
        Path(path).write_text("\n".join(lines) + "\n", "utf-8")


def _print(name: str, counts: Counter[str]) -> None:
    found = ", ".join(f"{how} {counts[how]}" for how in sorted(counts))
    print(f"  {name:32} {counts.total():5} fail: {found}", flush=True)


def _kinds(stage: Stage) -> Iterator[Wrong]:
    solution = stage.solution.read_text("utf-8")
    for kind in kinds_of(stage, solution_channel(stage.solution)):
        text = f"{solution}\n\n{kind.programs.text((kind.number,))}\n"
        yield Wrong(kind.change, kind.exercise, text)


def _fresh(stage: Stage) -> Iterator[Wrong]:
    solution = stage.solution.read_text("utf-8")
    for one in programs():
        for exercise in dict.fromkeys(mistake.exercise for mistake in one.mistakes):
            if one.stage == stage.name:
                yield Wrong(one.id, exercise, f"{solution}\n\n{one.code}")


def _mutants(stage: Stage) -> Iterator[Wrong]:
    solution = stage.solution.read_text("utf-8")
    for one in mutants(solution, stage.solution.name):
        yield Wrong(one.label, changed_exercise(stage, solution, one.text), one.text)


MAKERS = {"kinds": _kinds, "fresh": _fresh, "mutants": _mutants}


def _at_home(runner: SuiteRunner, stage: Stage, wrong: list[Wrong]) -> list[Said | None]:
    """Return what a student's machine says about each program."""
    matcher = fingerprint_matcher(stage)
    assert matcher is not None  # noqa: S101  # `release` made them
    reader = KnownEffectsReader(matcher.effects, runner.run)
    return [_said(runner, stage, matcher, one, reader.read) for one in wrong]


def _compare(
    runner: SuiteRunner,
    stage: Stage,
    wrong: list[Wrong],
    at_home: list[Said | None],
    lines: list[str],
) -> Iterator[str]:
    """Yield for each program that fails a public check how the names compare."""
    by_code = runner.wrong_programs(stage)
    reader = CausalReader(stage, by_code.solve)
    for one, home in zip(wrong, at_home, strict=True):
        if home is not None:
            graded = _said(runner, stage, by_code, one, reader.read) or Said()
            how = _how(home, graded)
            lines.append(f"{how} | {stage.name} | {one.label} | {home} | {graded}")
            yield how


def _said(
    runner: SuiteRunner, stage: Stage, matcher: Matcher, wrong: Wrong, reads: Read
) -> Said | None:
    """Return what is said about a program; ``None`` if it passes."""
    checks = [one for one in runner.checks(stage.name) if one.spec.exercise == wrong.exercise]
    try:
        channel = LocalChannel("wrong", wrong.text.encode())
    except CourseError:  # it can't be imported
        return None
    seen = [(one, runner.run(one.item, channel)) for one in checks]
    failures = [
        Failure(one.item, shown, shows_values=True)
        for one, shown in seen
        if shown.error is not None and status_of(shown.error) != Status.NOT_IMPLEMENTED
    ]
    if not failures:
        return None
    passed = [one.item for one, shown in seen if shown.error is None]
    found = explain(matcher, wrong.exercise, failures, passed)
    known = {one.id for one in matcher.misconceptions} | KINDS.keys()
    named = known.intersection(name for one in found.values() for name in one.misconceptions)
    if named:
        return Said(frozenset(named))
    left = [one for one in failures if one.item.name not in found]
    found = reads(channel, left, [one.item for one in checks])
    return Said(readings=frozenset(one.misconception for one in found.values()))


def _how(home: Said, graded: Said) -> str:
    """Compare what is named, and the readings where nothing is."""
    if not home.mistakes and not graded.mistakes:
        if home.readings == graded.readings:
            return "7 same reading" if home.readings else "6 none"
        return "8 another reading" if home.readings else "9 no reading at home"
    if not home.mistakes:
        return "4 none at home"
    if not graded.mistakes:
        return "5 at home alone"
    if home.mistakes == graded.mistakes:
        return "1 same"
    return "2 some" if home.mistakes & graded.mistakes else "3 others"


if __name__ == "__main__":
    main(*sys.argv[1:])
