"""The course proves itself: everything that would embarrass us in front of a class is a finding."""

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
from autograder.sandbox.isolation import probe
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite import documented
from autograder.suite.checks import CheckSpec

STAGE_POINTS = 10.0
HOLLOW_SHARE = 0.2  # what zeros of the right shapes may earn at most
ROOFS = ("solutions", "source", "assignments", "tests/hidden")


class Report(NamedTuple):
    """What was proven, and what was not."""

    lines: tuple[str, ...]
    findings: tuple[str, ...]


def verify(course: Course, only: Stage | None = None) -> Report:
    """Prove *course*, or stage *only* of it; no findings means that everything holds."""
    stages = [only] if only else list(course.stages)
    findings = [*_built(course), *_strangers(course)]
    findings += [finding for stage in stages for finding in _described(stage)]
    proofs = _prove_all(course, stages)
    used = frozenset().union(*(proof.used for proof in proofs))
    findings += [finding for proof in proofs for finding in proof.findings]
    unused = _unused(course, stages, used)
    told = {name: line for proof in proofs for name, line in proof.lines}
    lines = [told[stage.name] for stage in stages]
    if not unused:
        lines.append(f"ledger: {len(_wanted(course, stages))} documented tensors, used and true")
    return Report(tuple(lines), (*findings, *unused))


class _Proof(NamedTuple):
    lines: tuple[tuple[str, str], ...]  # a stage's name and what was proven of it
    findings: tuple[str, ...]
    used: frozenset[str]


def _prove_all(course: Course, stages: Sequence[Stage]) -> list[_Proof]:
    """Prove the stages on all cores; they have nothing to do with each other."""
    many = min(cores(), len(stages)) if hasattr(os, "fork") else 1
    shares = [stages[first::many] for first in range(many)]
    if many == 1:
        return [_prove(course, stages)]
    with ProcessPoolExecutor(many, mp_context=get_context("fork")) as pool:
        return list(pool.map(partial(_prove, course), shares))


def _prove(course: Course, stages: Sequence[Stage]) -> _Proof:
    with open_suites(course, stages) as runner:
        hidden = _hidden(course, stages, runner)
    with open_suites(course, stages, public=True) as runner:
        public = _public(course, stages, runner)
    return hidden._replace(findings=(*hidden.findings, *public))


def _built(course: Course) -> Iterator[str]:
    for path in release.stale(course):
        yield f"{path.relative_to(course.root)} is stale: run `autograder release`."
    yield from release.leaks(course)


def _strangers(course: Course) -> Iterator[str]:
    """Find folders that no line of ``course.toml`` knows."""
    known = set(course.file.stages)
    for roof in ROOFS:
        for folder in sorted((course.root / roof).glob("[0-9]*")):
            if folder.is_dir() and folder.name not in known:
                yield f"{roof}/{folder.name} is no stage of course.toml: list it or delete it."


def _described(stage: Stage) -> Iterator[str]:
    """Ask of every exercise a docstring, of every hint a word."""
    tree = ast.parse(stage.solution.read_text("utf-8"))
    found = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for exercise in stage.exercises:
        node = found.get(exercise.name)
        if node is None:
            yield f"{stage.solution} defines no {exercise.name}, which stage.toml lists."
        elif not all(map(ast.get_docstring, _public_parts(node))):
            yield f"{stage.solution}: {exercise.name} or its forward has no docstring."
        if not all(hint.strip() for hint in exercise.hints):
            yield f"{stage.name}: {exercise.name} has an empty hint."


def _public_parts(node: ast.FunctionDef | ast.ClassDef) -> list[ast.FunctionDef | ast.ClassDef]:
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    return [node, *(part for part in methods if not part.name.startswith("_"))]


def _hidden(course: Course, stages: Sequence[Stage], runner: SuiteRunner) -> _Proof:
    lines: list[tuple[str, str]] = []
    findings: list[str] = []
    entries = documented.shared(course.documented)
    entries.used.clear()
    untrue = [line for stage in stages for line in runner.wrong_documented_values(stage)]
    level = probe().level  # the course's own code: as strict as can be
    with ForkServer(level, course.limits) as fork_server:
        fork_server.wait_ready()
        for stage in stages:
            trial = _Trial(runner, fork_server, stage)
            findings += [*_specs(stage, runner), *trial.findings()]
            lines.append((stage.name, trial.line()))
    return _Proof(tuple(lines), (*untrue, *findings), frozenset(entries.used))


def _specs(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Look at what stands beside the checks: points, docstrings, order of layers."""
    specs = runner.specs(stage.name)
    names = [exercise.name for exercise in stage.exercises]
    total = sum(spec.points for _, _, spec in specs)
    if abs(total - STAGE_POINTS) > 1e-9:  # noqa: PLR2004  # quarters and tenths add up but for float noise
        yield f"{stage.name}: the checks are worth {total:g} points, not {STAGE_POINTS:g}."
    for name, title, spec in specs:
        if spec.exercise not in names:
            yield f"{stage.name}: {name} judges {spec.exercise}, which stage.toml does not list."
        if title == name:
            yield f"{stage.name}: {name} has no docstring, the sentence that students read."
    for name in names:
        own = [spec for _, _, spec in specs if spec.exercise == name]
        if not own:
            yield f"{stage.name}: no check judges {name}."
        if not _in_order(own):
            yield f"{stage.name}: the checks of {name} do not stand in the order of their layers."


def _in_order(specs: Sequence[CheckSpec]) -> bool:
    order = [list(type(spec.layer)).index(spec.layer) for spec in specs]
    return order == sorted(order)


class _Trial:
    """One stage's suite on trial: what must earn nothing, everything, and less than everything."""

    def __init__(self, runner: SuiteRunner, fork_server: ForkServer, stage: Stage) -> None:
        self._runner = runner
        self._fork_server = fork_server
        self._stage = stage
        self._solution = stage.solution.read_text("utf-8")
        self._bank = misconceptions.read(stage.misconceptions)
        self._variants = sorted((stage.hidden / "variants").glob("*.py"))

    def line(self) -> str:
        """Sum up what was tried."""
        return (
            f"{self._stage.name}: stub 0, solution {STAGE_POINTS:g}, "
            f"{len(self._bank)} misconceptions caught and named, "
            f"{len(self._variants)} correct variants right"
        )

    def findings(self) -> Iterator[str]:
        """Try everything; yield what went otherwise than it must."""
        stub = self._try(
            "the stub", markers.strip_solutions(self._solution, self._stage.solution.name)
        )
        if stub.score != 0 or stub.message:
            must = "it must import and earn 0."
            yield f"{self._stage.name}: the stub scores {stub.score}; {must} {stub.message}"
        yield from self._full("the solution", self._solution)
        for variant in self._variants:
            yield from self._full(f"variant {variant.name}", variant.read_text("utf-8"))
        yield from self._hollow()
        for item in self._bank:
            yield from self._caught(item)

    def _caught(self, item: Misconception) -> Iterator[str]:
        """Submit one misconception: it must lose points, and be named as itself."""
        result = self._try(item.id, item.module(self._solution), item.exercise)
        checks = [check for exercise in result.exercises for check in exercise.checks]
        if result.score is None or result.score == result.max_score:
            yield f"{self._stage.name}: misconception {item.id} loses nothing. {result.message}"
            return
        names = {check.diagnosis.misconception for check in checks if check.diagnosis}
        if item.id not in {part for name in names for part in name.split(" / ")}:
            told = ", ".join(sorted(names)) or "nothing"
            yield f"{self._stage.name}: misconception {item.id} is named {told}."

    def _full(self, what: str, text: str) -> Iterator[str]:
        result = self._try(what, text)
        if result.score != result.max_score or result.score is None:
            score = f"{what} scores {result.score} of {result.max_score}"
            yield f"{self._stage.name}: {score}. {_first(result)}"

    def _hollow(self) -> Iterator[str]:
        path = self._stage.hidden / "hollow.py"
        if not path.is_file():
            what = "zeros of the right shapes, to be refused"
            yield f"{self._stage.name}: {path.name} is missing: {what}."
            return
        result = self._try("hollow", path.read_text("utf-8"))
        if result.score is None or result.score > HOLLOW_SHARE * STAGE_POINTS:
            yield f"{self._stage.name}: zeros of the right shapes earn {result.score}."

    def _try(self, what: str, text: str, exercise: str = "") -> SubmissionResult:
        code = Code(kind="module", cells=(text.encode(),), label=self._stage.solution.name)
        submission = Submission(student=what, stage=self._stage.name, code=code)
        return grade_one(self._runner, self._fork_server, submission, exercise=exercise)


def _public(course: Course, stages: Sequence[Stage], runner: SuiteRunner) -> tuple[str, ...]:
    """Judge solutions and stubs by the suites that students run themselves."""
    findings: list[str] = []
    with ForkServer(probe().level, course.limits) as fork_server:
        fork_server.wait_ready()
        for stage in stages:
            for path, passes in ((stage.solution, True), (stage.stub, False)):
                wrong = _public_mistakes(runner, fork_server, stage, path, passes=passes)
                findings += [
                    f"{stage.name}, public suite on {path.parent.parent.name}: {w}" for w in wrong
                ]
            findings += _printed(stage, runner)
    return tuple(findings)


def _public_mistakes(
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


def _printed(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Make the fingerprints of *stage* again: those that are there tell the same, and no code."""
    path = stage.fingerprints
    if not path.is_file():
        return  # stale, as `_built` says
    try:
        known = fingerprints.from_json(path.read_bytes())
        again = fingerprints.make(stage, runner.checks(stage.name), runner.run, known.made_from)
        wrong = list(fingerprints.changes(known, again))
    except (msgspec.MsgspecError, IndexError) as error:
        wrong = [f"it can't be read, {error}"]
    if wrong:
        what = f"{stage.name}: {path.name} does not tell what the misconceptions show"
        yield f"{what}: {wrong[0]}. Delete it and run `autograder release`."
    yield from _printed_code(stage, path)


def _printed_code(stage: Stage, path: Path) -> Iterator[str]:
    """Find lines of wrong answers, which are nearly the solution, where numbers should be."""
    solution = stage.solution.read_text("utf-8")
    given = set(
        map(markers.bare_line, markers.strip_solutions(solution, stage.solution.name).split("\n"))
    )
    told = set(release.json_lines(path))
    for item in misconceptions.read(stage.misconceptions):
        wrong = set(map(markers.bare_line, item.module(solution).split("\n"))) - given - {""}
        for line in sorted(wrong & told):
            yield f"{stage.name}: {path.name} holds a line of {item.id}, {line!r}."


def _wanted(course: Course, stages: Sequence[Stage]) -> list[documented.DocumentedTensor]:
    """List the documented tensors that *stages* are to use."""
    names = {stage.name for stage in stages}
    return [
        entry for entry in documented.shared(course.documented).values() if set(entry.stage) & names
    ]


def _unused(course: Course, stages: Sequence[Stage], used: frozenset[str]) -> tuple[str, ...]:
    return tuple(
        f"documented.toml: no check uses {entry.name}."
        for entry in _wanted(course, stages)
        if entry.name not in used
    )


def _first(result: SubmissionResult) -> str:
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                return f"{check.name}: {check.message}"
    return result.message
