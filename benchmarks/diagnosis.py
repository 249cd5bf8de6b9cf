"""Measures diagnoses: python -m benchmarks.diagnosis WHAT.

*WHAT* is ``cost [SUBMISSIONS] [STAGE]``, ``named [FILE]`` or ``hits``.

``cost`` grades four classes of the same size in one run: one with right submissions, one in
which every submission has one of the stage's misconceptions, and two in which every submission is
wrong in a unique way that no kind of mistake explains, in one function or in every function. Random
numbers decide which function it is and how its results change.

``named`` counts the wrong programs that get a name from the kinds of mistake, which are built from
the solutions. These programs are the misconceptions of authors and the mutants of `autograder
mutate`, with no misconception known, and those of `tests/corpora/fresh_mistakes`, with all of
them known. It prints a table and writes *FILE*. Each program of the first two groups counts in one
column: a *kind* is named, its *exception* is explained, its wrong answers are *described* by a
pattern, the failed checks report something *forbidden*, or there is *nothing*.

``hits`` counts how often each kind is named in these programs, with no misconception known, alone
or with others; a kind that is never named may not be worth its rule.
"""

import ast
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from random import Random

import pytest

from autograder.authoring.mutation import mutants
from autograder.course import Course, Stage, find_root, load
from autograder.diagnosis.diagnostician import diagnose
from autograder.diagnosis.live import LiveSource
from autograder.diagnosis.misconceptions import read
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.diagnosis.observation import Failure
from autograder.diagnosis.programs import channel_of
from autograder.errors import CourseError
from autograder.grading.grade import grade, grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Diagnosis, SubmissionResult
from autograder.sandbox.faults import Fault
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite.checks import Layer, layer_of
from autograder.suite.in_process import LocalChannel, solution_channel
from tools.fresh_mistakes import Mistake, programs, submit
from tools.wrong_programs import changed_exercise, submitted

DISTORT = """
def _distort(value):
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    places = torch.arange(value.numel()).view_as(value)
    return value + {share} * ({mistake})
"""
MISTAKES = (  # of a result and the places of its entries
    "torch.sin(3 * value) + 0.1 * places",
    "value.pow(3) + torch.cos(places)",
    "torch.cos(value) * (1 + places % 3)",
    "torch.sin(places * value)",
    "value.abs().sqrt() * (places % 2) + 0.1 * places",
    "value * torch.sin(7.0 * places)",
)
SHARES = (0.02, 1.0)  # the smallest and the largest share of the mistake in a result


class KindsOnly(LiveSource):
    """Names mistakes by their kinds only; other descriptions are counted separately."""

    def __init__(self, runner: SuiteRunner, stage: Stage) -> None:
        super().__init__(stage, runner.run, solution_channel(stage.solution), bank=())

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe nothing."""

    def describe_otherwise(self, failure: Failure) -> Diagnosis | None:
        """Describe a failure that no kind explains."""
        return super().describe(failure)


def main(what: str = "cost", *arguments: str) -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    if what == "named":
        named(course, Path(arguments[0]) if arguments else None)
    elif what == "hits":
        hits(course)
    else:
        cost(course, int(arguments[0]) if arguments else 200, *arguments[1:2])


def cost(course: Course, count: int = 200, wanted: str = "04") -> None:
    """Compare a class of right submissions with two of wrong ones."""
    stage = course.stage(wanted)
    solution = stage.solution.read_text("utf-8")
    misconceptions = read(stage.misconceptions)
    wrong = islice(cycle(item.module(solution) for item in misconceptions), count)
    strange = (distorted(solution, number, only_one=True) for number in range(count))
    worst = (distorted(solution, number) for number in range(count))
    start, _ = _spent(course, stage, [solution])

    print(f"stage {stage.name}, {count} submissions each, seconds of the processor")
    base = 0.0
    classes = {"right": [solution] * count, "known": wrong, "unknown": strange, "broken": worst}
    for name, texts in classes.items():
        spent, results = _spent(course, stage, list(texts))
        base = base or spent - start
        ratio = f"ratio {(spent - start) / base:5.2f}"
        diagnosed = sum(map(_is_diagnosed, results))
        print(f"  all {name:8} {spent - start:7.1f} s, {ratio}, {diagnosed} with a diagnosis")


def distorted(solution: str, number: int, *, only_one: bool = False) -> str:
    """Return *solution* with distorted results; each *number* distorts them differently."""
    lot = Random(number)  # noqa: S311  # no secret depends on it
    least, largest = SHARES
    share, mistake = least * (largest / least) ** lot.random(), lot.choice(MISTAKES)
    tree = ast.parse(solution)
    functions = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and _returns(one)
    ]
    for one in [lot.choice(functions)] if only_one else functions:
        _Distorted().visit(one)
    return f"{ast.unparse(tree)}\n{DISTORT.format(share=share, mistake=mistake)}"


def _returns(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(function))


class _Distorted(ast.NodeTransformer):
    """Passes every result to a function that distorts it."""

    def visit_Return(self, node: ast.Return) -> ast.Return:  # the name that ast calls
        call = ast.Call(ast.Name("_distort", ast.Load()), [node.value or ast.Constant(None)], [])
        return ast.fix_missing_locations(ast.Return(call))


def named(course: Course, path: Path | None = None) -> None:
    """Count the names, print each stage when it is counted, and write all counts to *path*."""
    with open_suites(course, course.stages) as runner:
        tables = {
            "fresh programs": partial(_fresh, course, runner),
            "misconceptions, none known": partial(_bank, runner),
            "mutants, no misconception known": partial(_mutants, runner),
        }
        counted = {title: _counted(title, course.stages, count) for title, count in tables.items()}
    if path:
        path.write_text(json.dumps(counted, indent=1) + "\n", "utf-8")


def _counted(
    title: str, stages: Sequence[Stage], count: Callable[[Stage], Counter[str]]
) -> dict[str, Counter[str]]:
    """Count stage by stage, and print."""
    print(title)
    table = {}
    for stage in stages:
        table[stage.name] = count(stage)
        _print_counts(stage.name, table[stage.name])
    table["all"] = sum(table.values(), Counter())
    _print_counts("all", table["all"])
    return table


def _print_counts(name: str, counts: Counter[str]) -> None:
    print(f"  {name:26}", *(f"{what} {number:4}" for what, number in counts.items()), flush=True)


def hits(course: Course) -> None:
    """Print how often each kind is named, by the source of the programs; the rarest come last."""
    sources = {"fresh": _fresh_programs, "misconceptions": _misconceptions, "mutants": _mutated}
    counts: dict[str, Counter[str]] = {name: Counter() for name in sources}
    with open_suites(course, course.stages) as runner:
        for stage in course.stages:
            source = KindsOnly(runner, stage)
            for name, wrong_programs in sources.items():
                for exercise, channel in wrong_programs(stage):
                    counts[name].update(_kinds(runner, stage, source, exercise, channel))
    totals = sum(counts.values(), Counter())
    print(f"{'':24}", *(f"{name:>14}" for name in sources))
    for kind in sorted(KINDS, key=lambda one: -totals[one]):
        print(f"{kind:24}", *(f"{counts[name][kind]:14}" for name in sources))


def _kinds(
    runner: SuiteRunner, stage: Stage, source: KindsOnly, exercise: str, channel: LocalChannel
) -> set[str]:
    """Return the kinds that are named in a program."""
    failures, passed = _outcomes(runner, stage, exercise, channel)
    outcome = submitted(stage, exercise, failures, passed, channel)
    named = diagnose(source, outcome).diagnoses if failures else {}
    return {kind for diagnosis in named.values() for kind in diagnosis.misconceptions}


def _fresh_programs(stage: Stage) -> Iterator[tuple[str, LocalChannel]]:
    solution = stage.solution.read_text("utf-8")
    for one in (program for program in programs() if program.stage == stage.name):
        for exercise in dict.fromkeys(mistake.exercise for mistake in one.mistakes):
            yield exercise, LocalChannel(one.id, f"{solution}\n\n{one.code}".encode())


def _misconceptions(stage: Stage) -> Iterator[tuple[str, LocalChannel]]:
    solution, text = solution_channel(stage.solution), stage.solution.read_text("utf-8")
    for item in read(stage.misconceptions):
        yield item.exercise, channel_of(item, text, solution)


def _mutated(stage: Stage) -> Iterator[tuple[str, LocalChannel]]:
    solution = stage.solution.read_text("utf-8")
    for mutant in mutants(solution, stage.solution.name):
        try:
            channel = LocalChannel("mutant", mutant.text.encode())
        except CourseError:  # it can't be imported
            continue
        yield changed_exercise(stage, solution, mutant.text), channel


def _bank(runner: SuiteRunner, stage: Stage) -> Counter[str]:
    """Count the misconceptions of *stage* that are named by kinds of mistake."""
    counts: Counter[str] = Counter()
    source = KindsOnly(runner, stage)
    for exercise, channel in _misconceptions(stage):
        said = _said(runner, stage, source, exercise, channel)
        counts["misconceptions"] += 1
        counts[said or "passed"] += 1
    return counts


def _mutants(runner: SuiteRunner, stage: Stage) -> Counter[str]:
    """Count the mutants of *stage* that fail a check, and those of them that are named."""
    counts: Counter[str] = Counter()
    solution = stage.solution.read_text("utf-8")
    source = KindsOnly(runner, stage)
    for mutant in mutants(solution, stage.solution.name):
        exercise = changed_exercise(stage, solution, mutant.text)
        try:
            channel = LocalChannel("mutant", mutant.text.encode())
        except CourseError:  # it can't be imported
            continue
        if said := _said(runner, stage, source, exercise, channel):
            known = said == "kind" and _is_known(source, stage, exercise, mutant.text)
            counts["killed"] += 1
            counts[said] += 1
            counts["kind of just this program"] += known
    return counts


def _is_known(source: KindsOnly, stage: Stage, exercise: str, text: str) -> bool:
    """Return whether a kind of mistake makes exactly this program."""
    names = [one.name for one in stage.exercises]
    return ExerciseCode(text, exercise, names).text([]) in source.programs(exercise).texts


def _said(
    runner: SuiteRunner, stage: Stage, source: KindsOnly, exercise: str, channel: LocalChannel
) -> str:
    """Return the kind of diagnosis of a program, in one word; nothing if it passes every check."""
    failures, passed = _outcomes(runner, stage, exercise, channel)
    if not failures:
        return ""
    if diagnose(source, submitted(stage, exercise, failures, passed, channel)).diagnoses:
        return "kind"
    described = [one for one in failures if source.describe_otherwise(one)]
    if any(isinstance(one.observation.error, Fault) for one in described):
        return "exception"
    if described:
        return "described"
    forbidden = all(layer_of(one.item) is Layer.FORBIDDEN for one in failures)
    return "forbidden" if forbidden else "nothing"


def _outcomes(
    runner: SuiteRunner, stage: Stage, exercise: str, channel: LocalChannel
) -> tuple[list[Failure], list[pytest.Item]]:
    """Run the checks of an exercise; return those that fail, and those that pass."""
    checks = [one for one in runner.checks(stage.name) if one.spec.exercise == exercise]
    seen = [(one, runner.run(one.item, channel)) for one in checks]
    failures = [Failure(one.item, shown) for one, shown in seen if shown.error is not None]
    return failures, [one.item for one, shown in seen if shown.error is None]


def _fresh(course: Course, runner: SuiteRunner, stage: Stage) -> Counter[str]:
    """Count the mistakes of the fresh programs that have any name, and those of the right kind."""
    counts: Counter[str] = Counter()
    level = choose_isolation(None, course.root)
    with ForkServer(level, course.limits) as fork_server:
        fork_server.wait_ready()
        for one in (program for program in programs() if program.stage == stage.name):
            submission = submit(course, one)
            exercises = dict.fromkeys(mistake.exercise for mistake in one.mistakes)
            hits: list[dict[str, bool]] = []
            for exercise in exercises or [""]:
                result = grade_one(runner, fork_server, submission, exercise=exercise)
                wanted = [mistake for mistake in one.mistakes if mistake.exercise == exercise]
                hits += _hits(result, wanted)
            for key in ("named", "of the kind") if one.mistakes else ():
                number = {1: "singles", 2: "doubles"}[len(one.mistakes)]
                counts[number] += key == "named"
                counts[f"{number} {key}"] += all(hit[key] for hit in hits)
            counts["right ones"] += not one.mistakes
            counts["accused"] += not one.mistakes and _is_diagnosed(result)
    return counts


def _hits(result: SubmissionResult, wanted: list[Mistake]) -> Iterator[dict[str, bool]]:
    """Return for each mistake whether it has a name, and whether that is of the right kind.

    The name of a misconception counts, because misconceptions have no kind.
    """
    checks = [check for exercise in result.exercises for check in exercise.checks]
    found = [check.diagnosis for check in checks if check.diagnosis]
    names = {name for one in found for name in one.misconceptions}
    for number, mistake in enumerate(wanted):
        yield {
            "named": len(names) > number,
            "of the kind": bool(names.intersection(mistake.kinds)),
        }


def _spent(course: Course, stage: Stage, texts: list[str]) -> tuple[float, list[SubmissionResult]]:
    """Grade *texts*; return the time of the processor, with that of processes that have ended."""
    before = _processor_time()
    submissions = [
        Submission(
            student=f"student{number:03}",
            stage=stage.name,
            code=Code(kind="module", cells=(text.encode(),), label=stage.solution.name),
        )
        for number, text in enumerate(texts)
    ]
    results = grade(course, submissions, jobs=1)
    return _processor_time() - before, list(results.submissions)


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _is_diagnosed(result: SubmissionResult) -> bool:
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return any(check.diagnosis is not None for check in checks)


if __name__ == "__main__":
    main(*sys.argv[1:])
