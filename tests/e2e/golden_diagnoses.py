"""Writes the golden diagnoses of many programs, by both sources of evidence.

The programs are the misconceptions, the fresh programs (some of them right), the right variants,
rewrites of mistakes in many idioms (``tests/corpora/rewrites/<stage>/<mistake>__<idiom>.py``),
programs that no mistake explains (``tests/corpora/unknown_mistakes``), and every tenth mutant.
``python -m tests.e2e.golden_diagnoses`` writes them; their diff shows the effect of a change in the
diagnosis. Each program has a block with its stage, its origin, its name and its exercise, the
diagnosis in grading, by the hidden suite and the solution, and the diagnosis on a student's
machine, by the public suite and the fingerprints, if it differs. Each diagnosis is on a line: its
number of failed checks, the mistakes that it names, and its sentence.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from autograder.authoring.mutation import mutants
from autograder.course import Course, Stage, handouts, load
from autograder.diagnosis import misconceptions
from autograder.diagnosis.diagnostician import Source, diagnose
from autograder.diagnosis.observation import Failure, status_of
from autograder.diagnosis.recorded import recorded_source
from autograder.errors import CourseError, OutOfMemoryError
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Diagnosis, Status
from autograder.suite.in_process import LocalChannel, solution_channel
from tools.fresh_mistakes import programs
from tools.wrong_programs import changed_exercise, submitted

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "tests/corpora"
FOLDER = Path(__file__).with_name("golden_diagnoses")
EACH = 10  # every tenth mutant


class Program(NamedTuple):
    """A module, where it comes from, and the exercise that is diagnosed."""

    origin: str
    name: str
    exercise: str
    text: str

    @property
    def title(self) -> str:
        """The first line of its block."""
        return f"## {self.origin}: {self.name} ({self.exercise})"


def programs_of(stage: Stage) -> Iterator[Program]:
    """Yield the programs whose diagnoses are golden."""
    solution = stage.solution.read_text("utf-8")
    for item in misconceptions.read(stage.misconceptions):
        yield Program("misconception", item.id, item.exercise, item.module(solution))
    for one in (one for one in programs() if one.stage == stage.name):
        names = [each.name for each in stage.exercises]
        wrong = [name for name in names if name in {each.exercise for each in one.mistakes}]
        for exercise in wrong or names:
            origin = "fresh" if one.mistakes else "right"
            yield Program(origin, one.id, exercise, f"{solution}\n\n{one.code}")
    for path in sorted((CORPORA / "rewrites" / stage.name).glob("*.py")):
        yield _instead(stage, "rewrite", path.stem, path.read_text("utf-8"))
    for path in sorted((CORPORA / "unknown_mistakes").glob(f"{stage.name[:2]}_*.py")):
        yield _instead(stage, "unknown", path.stem[3:], path.read_text("utf-8"))
    for path in stage.variants:
        for each in stage.exercises:
            yield Program("variant", path.stem, each.name, path.read_text("utf-8"))
    for one in list(mutants(solution, stage.solution.name))[::EACH]:
        exercise = changed_exercise(stage, solution, one.text)
        yield Program("mutant", f"{one.label}, line {one.line}", exercise, one.text)


def _instead(stage: Stage, origin: str, name: str, code: str) -> Program:
    """Replace the exercise that *code* defines with *code*."""
    defined = {getattr(node, "name", "") for node in ast.parse(code).body}
    exercise = next(each.name for each in stage.exercises if each.name in defined)
    return Program(origin, name, exercise, f"{stage.solution.read_text('utf-8')}\n\n{code}")


def blocks(course: Course, stage: Stage) -> dict[str, str]:
    """Return the block of each program that fails a check, by its title."""
    found = list(programs_of(stage))
    own = handouts(course.root / "assignments")
    handed_out = own.stage(stage.name)
    source = recorded_source(handed_out)
    with open_suites(own, [handed_out], public=True) as runner:
        recorded = [said(runner, handed_out, source, one) for one in found]
    with open_suites(course, [stage]) as runner:
        live = [said(runner, stage, runner.diagnostician(stage).source, one) for one in found]
    return {
        program.title: _block(program, graded, own)
        for program, graded, own in zip(found, live, recorded, strict=True)
        if graded is not None or own is not None
    }


def said(runner: SuiteRunner, stage: Stage, source: Source, program: Program) -> list[str] | None:
    """Return the diagnoses of a program, one per line; ``None`` if it passes every check."""
    checks = [one for one in runner.checks(stage.name) if one.spec.exercise == program.exercise]
    try:
        solution = solution_channel(stage.solution) if stage.solution.is_file() else None
        channel = LocalChannel("program", program.text.encode(), solution)
    except CourseError:
        return ["it can't be imported"]
    try:
        seen = [(one, runner.run(one.item, channel)) for one in checks]
    except OutOfMemoryError:  # a list that grows without end; grading ends such a worker
        return ["it uses all memory"]
    failures = [
        Failure(one.item, shown, shows_values=True)
        for one, shown in seen
        if shown.error is not None and status_of(shown.error) != Status.NOT_IMPLEMENTED
    ]
    if not failures:
        return None
    passed = [one.item for one, shown in seen if shown.error is None]
    outcome = submitted(stage, program.exercise, failures, passed, channel)
    found = diagnose(source, outcome).diagnoses
    return list(_lines(found.values(), len(failures)))


def _lines(found: Iterable[Diagnosis], failed: int) -> Iterator[str]:
    counts = Counter((one.misconception, one.explanation) for one in found)
    for (name, explanation), number in counts.items():
        yield f"{number} of {failed}: {name}: {' '.join(explanation.split())}"
    if left := failed - counts.total():
        yield f"{left} of {failed}: nothing"


def _block(program: Program, graded: list[str] | None, recorded: list[str] | None) -> str:
    right = ["passes"]
    lines = [program.title, *(graded or right)]
    if recorded != graded:
        lines += ["recorded:", *(recorded or right)]
    return "\n".join(lines) + "\n"


def golden(stage: str) -> str:
    """Return the golden diagnoses of a stage."""
    return (FOLDER / f"{stage}.txt").read_text("utf-8")


def text_of(found: dict[str, str]) -> str:
    """Return all blocks as one text."""
    return "\n".join(found.values())


def main() -> None:
    """Write the golden diagnoses of every stage."""
    course = load(ROOT)
    FOLDER.mkdir(exist_ok=True)
    for stage in course.stages:
        (FOLDER / f"{stage.name}.txt").write_text(text_of(blocks(course, stage)), "utf-8")


if __name__ == "__main__":
    main()
