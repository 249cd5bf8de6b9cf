"""Course consistency checks.

A finding is one sentence about something wrong: a stale file, a suite that takes points from a
correct solution, a misconception that is not named, a documented tensor that no check uses.
"""

import ast
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec

from autograder.authoring import markers, release
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.misconceptions import Misconception
from autograder.grading.grade import cores, grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Outcome, SubmissionResult
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite import documented
from autograder.suite.checks import CheckSpec

STAGE_POINTS = 10.0
PLACEHOLDER_SHARE = 0.2  # of the points: tensors of zeros have the right shapes, and nothing else
STAGE_FOLDERS = ("solutions", "source", "assignments", "tests/hidden")


class VerifyReport(NamedTuple):
    """A line for each stage that says what was tried, and the findings."""

    lines: tuple[str, ...]
    findings: tuple[str, ...]


def verify(course: Course, only: Stage | None = None) -> VerifyReport:
    """Check *course*, or the stage *only*; without findings everything holds."""
    stages = [only] if only else list(course.stages)
    findings = [*stale_files(course), *unknown_folders(course)]
    findings += [finding for stage in stages for finding in undocumented_exercises(stage)]
    shares = _verify_in_processes(course, stages)
    used = frozenset().union(*(share.used for share in shares))
    findings += [finding for share in shares for finding in share.findings]
    unused = _unused(course, stages, used)
    line_of = {name: line for share in shares for name, line in share.lines}
    lines = [line_of[stage.name] for stage in stages]
    if not unused:
        lines.append(f"{len(_wanted(course, stages))} documented tensors used and reproduced")
    return VerifyReport(tuple(lines), (*findings, *unused))


class _Share(NamedTuple):
    """The part of the report that one process contributes."""

    lines: tuple[tuple[str, str], ...]  # a stage's name and its line
    findings: tuple[str, ...]
    used: frozenset[str]


def _verify_in_processes(course: Course, stages: Sequence[Stage]) -> list[_Share]:
    """Divide the stages, which are independent of each other, among the cores."""
    count = min(cores(), len(stages)) if hasattr(os, "fork") else 1
    if count == 1:
        return [_verify_stages(course, stages)]
    with ProcessPoolExecutor(count, mp_context=get_context("fork")) as pool:
        parts = [stages[first::count] for first in range(count)]
        return list(pool.map(partial(_verify_stages, course), parts))


def _verify_stages(course: Course, stages: Sequence[Stage]) -> _Share:
    level = detect_capabilities().level  # as strict as this machine can be
    with ForkServer(level, course.limits) as fork_server:
        with open_suites(course, stages) as runner:  # meanwhile the fork server imports torch
            fork_server.wait_ready()
            hidden = _verify_hidden_suites(stages, runner, fork_server)
        with open_suites(course, stages, public=True, diagnose=False) as runner:
            public = tuple(_verify_public_suites(stages, runner, fork_server))
    return hidden._replace(findings=(*hidden.findings, *public))


def stale_files(course: Course) -> Iterator[str]:
    """Report built files that are not up to date, and lines of solutions in files for students."""
    for path in release.stale(course):
        yield f"{path.relative_to(course.root)} is stale: run `autograder release`."
    yield from release.leaks(course)


def unknown_folders(course: Course) -> Iterator[str]:
    """Report the folders of stages that ``course.toml`` does not list."""
    known = set(course.file.stages)
    for parent in STAGE_FOLDERS:
        for folder in sorted((course.root / parent).glob("[0-9]*")):
            if folder.is_dir() and folder.name not in known:
                what = f"{parent}/{folder.name} is not a stage of course.toml"
                yield f"{what}: list it there or delete it."


def undocumented_exercises(stage: Stage) -> Iterator[str]:
    """Report exercises without a definition, a docstring or a hint."""
    tree = ast.parse(stage.solution.read_text("utf-8"))
    definitions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for exercise in stage.exercises:
        node = definitions.get(exercise.name)
        if node is None:
            yield f"{stage.solution} defines no {exercise.name}, which stage.toml lists."
        elif not all(map(ast.get_docstring, _public_definitions(node))):
            yield f"{stage.solution}: {exercise.name} or its forward has no docstring."
        if not all(hint.strip() for hint in exercise.hints):
            yield f"{stage.name}: {exercise.name} has an empty hint."


def _public_definitions(
    node: ast.FunctionDef | ast.ClassDef,
) -> list[ast.FunctionDef | ast.ClassDef]:
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    return [node, *(part for part in methods if not part.name.startswith("_"))]


def _verify_hidden_suites(
    stages: Sequence[Stage], runner: SuiteRunner, fork_server: ForkServer
) -> _Share:
    lines: list[tuple[str, str]] = []
    findings: list[str] = []
    untrue = [line for stage in stages for line in runner.wrong_documented_values(stage)]
    for stage in stages:
        verifier = StageVerifier(runner, fork_server, stage)
        findings += [*malformed_checks(stage, runner), *verifier.findings()]
        lines.append((stage.name, verifier.summary()))
    return _Share(tuple(lines), (*untrue, *findings), runner.used_documented_tensors)


def malformed_checks(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Report checks with wrong points, exercise or layer, or without a docstring."""
    checks = runner.checks(stage.name)
    names = [exercise.name for exercise in stage.exercises]
    total = sum(check.spec.points for check in checks)
    if abs(total - STAGE_POINTS) > 1e-9:  # noqa: PLR2004  # a sum of tenths has float noise
        yield f"{stage.name}: the checks are worth {total:g} points, not {STAGE_POINTS:g}."
    for check in checks:
        if check.spec.exercise not in names:
            what = f"{check.name} grades {check.spec.exercise}"
            yield f"{stage.name}: {what}, which stage.toml does not list."
        if check.title == check.name:
            yield f"{stage.name}: {check.name} has no docstring, the sentence that students read."
    for name in names:
        own = [check.spec for check in checks if check.spec.exercise == name]
        if not own:
            yield f"{stage.name}: no check grades {name}."
        if not _in_order(own):
            yield f"{stage.name}: the checks of {name} are not in the order of their layers."


def _in_order(specs: Sequence[CheckSpec]) -> bool:
    order = [list(type(spec.layer)).index(spec.layer) for spec in specs]
    return order == sorted(order)


class StageVerifier:
    """Grades code whose points are known beforehand with one stage's hidden suite."""

    def __init__(self, runner: SuiteRunner, fork_server: ForkServer, stage: Stage) -> None:
        self._runner = runner
        self._fork_server = fork_server
        self._stage = stage
        self._solution = stage.solution.read_text("utf-8")
        self._bank = misconceptions.read(stage.misconceptions)
        self._variants = sorted((stage.hidden / "variants").glob("*.py"))

    def summary(self) -> str:
        """Return the stage's line of the report."""
        return (
            f"{self._stage.name}: stub 0, solution {STAGE_POINTS:g}, "
            f"{len(self._bank)} misconceptions caught and named, "
            f"{len(self._variants)} correct variants right"
        )

    def findings(self) -> Iterator[str]:
        """Report what earns other points than it must, and misconceptions with a wrong name."""
        yield from self.check_stub()
        yield from self.check_full_marks("the solution", self._solution)
        for variant in self._variants:
            text = variant.read_text("utf-8")
            yield from self.check_full_marks(f"variant {variant.name}", text)
        yield from self.check_placeholder()
        for item in self._bank:
            yield from self.check_misconception(item)

    def check_stub(self) -> Iterator[str]:
        """The stub imports and earns nothing."""
        text = markers.strip_solutions(self._solution, self._stage.solution.name)
        result = self._grade("the stub", text)
        if result.score != 0 or result.message:
            must = "it must import and earn 0."
            yield f"{self._stage.name}: the stub scores {result.score}; {must} {result.message}"

    def check_full_marks(self, name: str, text: str) -> Iterator[str]:
        """The module *text* loses no point, and passes every check."""
        result = self._grade(name, text)
        problem = _first_problem(result)
        if result.score is None or result.score != result.max_score or problem:
            score = f"{name} scores {result.score} of {result.max_score}"
            yield f"{self._stage.name}: {score}. {problem}"

    def check_placeholder(self) -> Iterator[str]:
        """Tensors of zeros in the right shapes earn next to nothing."""
        path = self._stage.hidden / "hollow.py"
        if not path.is_file():
            what = "write it to answer with zeros of the right shapes"
            yield f"{self._stage.name}: {path.name} is missing; {what}."
            return
        result = self._grade("hollow", path.read_text("utf-8"))
        if result.score is None or result.score > PLACEHOLDER_SHARE * STAGE_POINTS:
            yield f"{self._stage.name}: zeros of the right shapes earn {result.score}."

    def check_misconception(self, item: Misconception) -> Iterator[str]:
        """The misconception *item* loses points, and its diagnosis names it."""
        result = self._grade(item.id, item.module(self._solution), item.exercise)
        checks = [check for exercise in result.exercises for check in exercise.checks]
        if result.score is None or result.score == result.max_score:
            yield f"{self._stage.name}: misconception {item.id} loses nothing. {result.message}"
            return
        names = {check.diagnosis.misconception for check in checks if check.diagnosis}
        if item.id not in {part for name in names for part in name.split(" / ")}:
            diagnosed = ", ".join(sorted(names)) or "nothing"
            yield f"{self._stage.name}: misconception {item.id} is named {diagnosed}."

    def _grade(self, name: str, text: str, exercise: str = "") -> SubmissionResult:
        code = Code(kind="module", cells=(text.encode(),), label=self._stage.solution.name)
        submission = Submission(student=name, stage=self._stage.name, code=code)
        return grade_one(self._runner, self._fork_server, submission, exercise=exercise)


def _verify_public_suites(
    stages: Sequence[Stage], runner: SuiteRunner, fork_server: ForkServer
) -> Iterator[str]:
    """Run the public suites on solutions and stubs, and on what fingerprints were computed from."""
    for stage in stages:
        for path, passes in ((stage.solution, True), (stage.stub, False)):
            for problem in _unexpected_outcomes(runner, fork_server, stage, path, passes=passes):
                yield f"{stage.name}, public suite on {path.parent.parent.name}: {problem}"
        yield from wrong_fingerprints(stage, runner)


def _unexpected_outcomes(
    runner: SuiteRunner, fork_server: ForkServer, stage: Stage, path: Path, *, passes: bool
) -> list[str]:
    code = Code(kind="module", cells=(path.read_bytes(),), label=path.name)
    submission = Submission(student=path.parent.parent.name, stage=stage.name, code=code)
    result = grade_one(runner, fork_server, submission)
    checks = [check for exercise in result.exercises for check in exercise.checks]
    if not checks:
        return [f"no check ran. {result.message}"]
    return [
        f"{check.name} {check.outcome}: {check.message}"
        for check in checks
        if (check.outcome is Outcome.PASSED) != passes
    ]


def wrong_fingerprints(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Compute the fingerprints of *stage* again; report other numbers, and lines of code."""
    path = stage.fingerprints
    if not path.is_file():
        return  # `stale_files` reports it
    try:
        known = fingerprints.from_json(path.read_bytes())
        again = fingerprints.make(stage, runner.checks(stage.name), runner.run, known.made_from)
        wrong = list(fingerprints.changes(known, again))
    except (msgspec.MsgspecError, IndexError) as error:
        wrong = [f"it can't be read, {error}"]
    if wrong:
        what = f"{stage.name}: {path.name} does not match the misconceptions"
        yield f"{what}: {wrong[0]}. Delete it and run `autograder release`."
    yield from fingerprint_leaks(stage)


def fingerprint_leaks(stage: Stage) -> Iterator[str]:
    """Report lines of misconceptions, which are nearly the solution, in the fingerprints."""
    solution = stage.solution.read_text("utf-8")
    stub = markers.strip_solutions(solution, stage.solution.name)
    given = set(map(markers.bare_line, stub.split("\n")))
    lines = set(release.json_lines(stage.fingerprints))
    for item in misconceptions.read(stage.misconceptions):
        secret = set(map(markers.bare_line, item.module(solution).split("\n"))) - given - {""}
        for line in sorted(secret & lines):
            yield f"{stage.name}: {stage.fingerprints.name} holds a line of {item.id}, {line!r}."


def _wanted(course: Course, stages: Sequence[Stage]) -> list[documented.DocumentedTensor]:
    """List the documented tensors that *stages* are to use."""
    names = {stage.name for stage in stages}
    return [
        entry for entry in documented.read(course.documented).values() if set(entry.stage) & names
    ]


def _unused(course: Course, stages: Sequence[Stage], used: frozenset[str]) -> tuple[str, ...]:
    return tuple(
        f"documented.toml: no check uses {entry.name}."
        for entry in _wanted(course, stages)
        if entry.name not in used
    )


def _first_problem(result: SubmissionResult) -> str:
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                return f"{check.name}: {check.message}"
    return result.message
