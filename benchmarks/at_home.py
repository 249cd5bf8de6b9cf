"""Compares names at home with those of grading: python -m benchmarks.at_home [WHAT] [STAGE] [FILE].

*WHAT* are the programs: ``kinds``, each with one kind of mistake; ``fresh``, those of
`tests/submissions/fresh_mistakes`; ``mutants``, those of `autograder mutate`; or ``all``. Each is
diagnosed twice in this process: as a student's machine does it, by the public suite of
``assignments/`` and its fingerprints, and as grading does it, by the hidden suite and the solution.
Only programs that fail a public check count. Columns are: the same names; some of them; others;
none at home; names at home alone; none in both. Each program is written to *FILE*, with what is
said of it.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from autograder.authoring.fingerprinting import kinds_of
from autograder.authoring.mutation import mutants
from autograder.course import Stage, find_root, handouts, load
from autograder.diagnosis.fingerprint_matcher import fingerprint_matcher
from autograder.diagnosis.matcher import Matcher, explain
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.diagnosis.observation import Failure, status_of
from autograder.errors import CourseError
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Status
from autograder.suite.in_process import LocalChannel, solution_channel
from benchmarks.diagnosis import changed_exercise
from tests.e2e.fresh_mistakes import programs

Named = frozenset[str]  # the mistakes that are named


class Wrong(NamedTuple):
    """A program with a mistake in *exercise*."""

    label: str
    exercise: str
    text: str


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


def _at_home(runner: SuiteRunner, stage: Stage, wrong: list[Wrong]) -> list[Named | None]:
    """Return what a student's machine names in each program."""
    matcher = fingerprint_matcher(stage)
    assert matcher is not None  # noqa: S101  # `release` made them
    return [_named(runner, stage, matcher, one) for one in wrong]


def _compare(
    runner: SuiteRunner,
    stage: Stage,
    wrong: list[Wrong],
    at_home: list[Named | None],
    lines: list[str],
) -> Iterator[str]:
    """Yield for each program that fails a public check how the names compare."""
    by_code = runner.wrong_programs(stage)
    for one, home in zip(wrong, at_home, strict=True):
        if home is not None:
            graded = _named(runner, stage, by_code, one) or frozenset()
            how = _how(home, graded)
            names = (" ".join(sorted(named)) for named in (home, graded))
            lines.append(" | ".join((how, stage.name, one.label, *names)))
            yield how


def _named(runner: SuiteRunner, stage: Stage, matcher: Matcher, wrong: Wrong) -> Named | None:
    """Return the mistakes that are named in a program; ``None`` if it passes."""
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
    return frozenset(name for one in found.values() for name in one.misconceptions if name in known)


def _how(home: Named, graded: Named) -> str:
    """Compare the mistakes that are named."""
    if home == graded:
        return "1 same" if home else "6 none"
    if not home:
        return "4 none at home"
    if not graded:
        return "5 at home alone"
    return "2 some" if home & graded else "3 others"


if __name__ == "__main__":
    main(*sys.argv[1:])
