"""Course consistency checks.

A finding is one sentence about something wrong: a stale file, a suite that takes points from a
correct solution, a misconception that is not named, a documented tensor that no check uses.
"""

import ast
import contextlib
import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, starmap
from pathlib import Path
from typing import NamedTuple

import msgspec

from autograder.authoring import kinds_report, release, stubs
from autograder.authoring.fingerprinting import kinds_of
from autograder.authoring.garbage import blanks, composition, garbage
from autograder.authoring.recording import Recorder, open_recorder
from autograder.authoring.rule_losses import rules_without_loss
from autograder.authoring.stage_processes import in_processes
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.misconceptions import Misconception
from autograder.errors import CourseError, UsageError
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import CheckResult, Outcome, SubmissionResult
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite import documented, public_record
from autograder.suite.checks import Layer, read_rules
from autograder.suite.in_process import LocalChannel, solution_channel
from autograder.suite.noise import MARGIN

STAGE_POINTS = 10.0
GAP_SHARE = 0.02  # of a stage's misconceptions may pass the public suite, each with its reason
GARBAGE_POINTS = 1.0  # more than blanks may be earned by what computes nothing
PLACEHOLDER_SHARE = 0.2  # of the points: tensors of zeros have the right shapes, and nothing else


class VerifyReport(NamedTuple):
    """A line for each stage that says what was tried, and the findings.

    *details* state how far right code is from the bounds of the checks.
    """

    lines: tuple[str, ...]
    findings: tuple[str, ...]
    details: tuple[str, ...] = ()


def verify(course: Course, only: Sequence[Stage] = ()) -> VerifyReport:
    """Check *course*, or the stages *only*; without findings everything holds."""
    stages = list(only) or list(course.every_stage)
    findings = [*stale_files(course), *unknown_folders(course)]
    findings += [finding for stage in stages for finding in undocumented_exercises(stage)]
    shares = in_processes(partial(_verify_stages, course), stages)
    findings += [finding for share in shares for finding in share.findings]
    summaries = {name: line for share in shares for name, line in share.summaries.items()}
    lines = [summaries[stage.name] for stage in stages]
    wanted = _wanted_tensors(course, stages)
    unused = [name for name in wanted if not any(name in share.used for share in shares)]
    findings += [f"documented.toml: no check uses {name}." for name in unused]
    if not unused:
        lines.append(f"{len(wanted)} documented tensors used and reproduced")
    rooms = {name: rows for share in shares for name, rows in share.rooms.items()}
    details = [f"{stage.name}, {room}" for stage in stages for room in rooms[stage.name]]
    return VerifyReport(tuple(lines), tuple(findings), tuple(details))


class Room(NamedTuple):
    """How far the right code that comes closest to the bound of a check is from it."""

    check: str
    times: float  # the noise
    code: str

    def __str__(self) -> str:
        """Return a line of the report."""
        return f"{self.check}: {self.code} is {self.times:.1f} times the noise from its bound"


class _Share(NamedTuple):
    """The part of the report that one process contributes."""

    summaries: dict[str, str]  # the line of each stage, by its name
    findings: list[str]
    used: frozenset[str]  # names of documented tensors
    rooms: dict[str, list[Room]]  # by the name of the stage


def _verify_stages(course: Course, stages: Sequence[Stage]) -> _Share:
    level = detect_capabilities().level  # as strict as this machine can be
    findings: list[str] = []
    summaries: dict[str, str] = {}
    rooms: dict[str, list[Room]] = {}
    with ForkServer(level, course.limits) as fork_server:
        with open_suites(course, stages) as runner:  # meanwhile the fork server imports torch
            fork_server.wait_ready()
            for stage in stages:
                verifier = StageVerifier(runner, fork_server, stage)
                problems = chain(malformed_checks(stage, runner), verifier.problems())
                findings += runner.wrong_documented_values(stage)
                findings += unstated_rules(stage, runner)
                findings += rules_without_loss(stage, runner)
                findings += [f"{stage.name}: {problem}" for problem in problems]
                summaries[stage.name] = f"{verifier.summary()}{_about_kinds(runner, stage)}"
                rooms[stage.name] = list(verifier.smallest_rooms())
            used = runner.used_documented_tensors
        with open_suites(course, stages, public=True, diagnose=False) as runner:
            for stage in stages:
                verifier = StageVerifier(runner, fork_server, stage)
                findings += verifier.public_findings()
                rooms[stage.name] += verifier.smallest_rooms()
        findings += chain.from_iterable(starmap(narrow_rooms, rooms.items()))
        with open_recorder(course, stages) as recorder:
            for stage in stages:
                findings += wrong_records(stage, recorder)
                findings += public_gaps(stage)
    return _Share(summaries, findings, used, rooms)


def _wanted_tensors(course: Course, stages: Sequence[Stage]) -> list[str]:
    """List the names of the documented tensors that *stages* are to use."""
    names = {stage.name for stage in stages}
    tensors = documented.read(course.documented).values()
    return [tensor.name for tensor in tensors if names.intersection(tensor.stage)]


def stale_files(course: Course) -> Iterator[str]:
    """Report built files that are not up to date, and lines of solutions in files for students."""
    for path in release.stale(course):
        yield f"{path.relative_to(course.root)} is stale: run `autograder release`."
    yield from release.leaks(course)
    yield from release.kept(course)


def unknown_folders(course: Course) -> Iterator[str]:
    """Report the folders of stages that ``course.toml`` does not list."""
    for parent in ("solutions", "source", "assignments", "tests/hidden"):
        for folder in sorted((course.root / parent).glob("[0-9]*")):
            if folder.is_dir() and folder.name not in course.file.stages:
                what = f"{parent}/{folder.name} is not a stage of course.toml"
                yield f"{what}: list it there or delete it."


def undocumented_exercises(stage: Stage) -> Iterator[str]:
    """Report exercises without a definition, a docstring or a hint."""
    definitions = {
        node.name: node
        for node in ast.parse(stage.solution.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for exercise in stage.exercises:
        node = definitions.get(exercise.name)
        if node is None:
            yield f"{stage.solution} defines no {exercise.name}, which stage.toml lists."
        elif not all(map(ast.get_docstring, [node, *_public_methods(node)])):
            yield f"{stage.solution}: {exercise.name} or its forward has no docstring."
        if not all(hint.strip() for hint in exercise.hints):
            yield f"{stage.name}: {exercise.name} has an empty hint."


def _public_methods(node: ast.FunctionDef | ast.ClassDef) -> list[ast.FunctionDef]:
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    return [method for method in methods if not method.name.startswith("_")]


def malformed_checks(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Report checks with wrong points, exercise or layer, or without a docstring."""
    checks = runner.checks(stage.name)
    names = [exercise.name for exercise in stage.exercises]
    total = sum(check.spec.points for check in checks)
    if abs(total - STAGE_POINTS) > 1e-9:  # noqa: PLR2004  # a sum of tenths has float noise
        yield f"the checks are worth {total:g} points, not {STAGE_POINTS:g}."
    for check in checks:
        if check.spec.exercise not in names:
            yield f"{check.name} grades {check.spec.exercise}, which stage.toml does not list."
        if check.title == check.name:
            yield f"{check.name} has no docstring, the sentence that students read."
    for name in names:
        layers = [check.spec.layer for check in checks if check.spec.exercise == name]
        if not layers:
            yield f"no check grades {name}."
        if layers != sorted(layers, key=list(Layer).index):
            yield f"the checks of {name} are not in the order of their layers."


def unstated_rules(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Report checks that grade a rule without naming it, and rules that the stub does not state."""
    known = read_rules(stage.rules)
    for check in runner.checks(stage.name):
        for method in sorted(runner.methods(check.item)):
            fitting = [rule.name for rule in known.values() if method in rule.methods]
            if fitting and not {*fitting} & {*check.spec.rules}:
                what = f"{stage.name}: {check.name} grades by `{method}`"
                yield f"{what} and names none of the rules {', '.join(fitting)}."
    suite = stage.hidden_suite.read_text("utf-8")
    stub = stage.stub.read_text("utf-8") if stage.stub.is_file() else ""
    for name in stubs.unstated(stub, suite, known):
        yield f"{stage.name}: checks grade the rule {name!r}, which the stub does not state."


class StageVerifier:
    """Grades code whose points are known beforehand with one stage's hidden or public suite."""

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

    def problems(self) -> Iterator[str]:
        """Report what earns other points than it must, and misconceptions with a wrong name."""
        yield from self.check_stub()
        yield from self.check_full_marks("the solution", self._solution.encode())
        for variant in self._variants:
            yield from self.check_full_marks(f"variant {variant.name}", variant.read_bytes())
            yield from self.check_import(variant)
        yield from self.check_placeholder()
        yield from self.check_garbage()
        for item in self._bank:
            yield from self.check_misconception(item)
        first_of_each = {item.exercise: item for item in reversed(self._bank)}
        for item in first_of_each.values():
            yield from self.check_in_sandbox(item)

    def check_stub(self) -> Iterator[str]:
        """The stub imports and earns nothing."""
        text = stubs.strip_solutions(self._solution, self._stage.solution.name)
        result = self._grade("the stub", text.encode())
        if result.score != 0 or result.message:
            yield f"the stub scores {result.score}; it must import and earn 0. {result.message}"

    def check_full_marks(self, name: str, module: bytes) -> Iterator[str]:
        """The *module* loses no point, and passes every check."""
        result = self._grade(name, module)
        failed = [check for check in _checks(result) if check.outcome is not Outcome.PASSED]
        problem = f"{failed[0].name}: {failed[0].message}" if failed else result.message
        if result.score is None or result.score != result.max_score or problem:
            yield f"{name} scores {result.score} of {result.max_score}. {problem}"

    def check_import(self, variant: Path) -> Iterator[str]:
        """Every statement of *variant* runs: a sandbox forgives those that raise."""
        try:
            self._import(variant)
        except CourseError as error:
            yield f"variant {variant.name} can't be imported. {error}"

    def check_placeholder(self) -> Iterator[str]:
        """Tensors of zeros in the right shapes earn next to nothing."""
        path = self._stage.hidden / "hollow.py"
        if not path.is_file():
            yield f"{path.name} is missing; write it to answer with zeros of the right shapes."
            return
        result = self._grade("hollow", path.read_bytes())
        if result.score is None or result.score > PLACEHOLDER_SHARE * STAGE_POINTS:
            yield f"zeros of the right shapes earn {result.score}."

    def check_garbage(self) -> Iterator[str]:
        """Garbage below right code earns hardly more than blanks there."""
        base = composition(self._stage)
        if base is None:
            return
        blank = self._grade("blanks", blanks(base).encode()).score or 0.0
        for one in garbage(self._stage, base, self._import(self._stage.solution), self._share):
            score = self._grade(one.name, one.module.encode()).score or 0.0
            if score > blank + GARBAGE_POINTS:
                what = f"{one.name} in {', '.join(base.used)} of {base.path.name}"
                yield f"{what}: garbage earns {score:g} points where blanks earn {blank:g}."

    def _share(self, item: Misconception) -> float:
        """Return how much of its exercise's work *item* does."""
        checks = self._runner.checks(self._stage.name)
        items = [check.item for check in checks if check.spec.exercise == item.exercise]
        return self._runner.wrong_programs(self._stage).share(item, items)

    def check_misconception(self, item: Misconception) -> Iterator[str]:
        """The misconception *item* loses points, and its diagnosis names it."""
        try:
            diagnoses = self._runner.diagnose(self._stage, item)
        except CourseError as error:
            yield f"misconception {item.id} can't be run. {error}"
            return
        if not sum(check.spec.points for check in diagnoses):
            yield f"misconception {item.id} loses nothing."
        else:
            yield from _wrong_names(item, set(chain.from_iterable(diagnoses.values())))

    def check_in_sandbox(self, item: Misconception) -> Iterator[str]:
        """A worker shows of *item* what this process does, so that its diagnosis names it."""
        result = self._grade(item.id, item.module(self._solution).encode(), item.exercise)
        found = [check.diagnosis for check in _checks(result) if check.diagnosis]
        yield from _wrong_names(item, {name for one in found for name in one.misconceptions})

    def smallest_rooms(self) -> Iterator[Room]:
        """Yield for each check with a bound how close right code comes to it."""
        right = dict(self._importable())
        for check in self._runner.checks(self._stage.name):
            rooms = {name: self._runner.run(check.item, one).room for name, one in right.items()}
            closest = min(rooms, key=rooms.__getitem__)
            if math.isfinite(rooms[closest]):
                yield Room(check.name, rooms[closest], closest)

    def _importable(self) -> Iterator[tuple[str, LocalChannel]]:
        """Yield right modules by name; ``check_import`` reports those that can't be imported."""
        for path in (self._stage.solution, *self._variants):
            with contextlib.suppress(CourseError):
                yield path.name, self._import(path)

    def _import(self, path: Path) -> LocalChannel:
        return LocalChannel(path.stem, path.read_bytes())

    def public_findings(self) -> Iterator[str]:
        """Run the public suite on the solution and on the stub."""
        for path, passes in ((self._stage.solution, True), (self._stage.stub, False)):
            folder = path.parent.parent.name
            result = self._grade(folder, path.read_bytes())
            checks = _checks(result)
            problems = [
                f"{check.name} {check.outcome}: {check.message}"
                for check in checks
                if (check.outcome is Outcome.PASSED) != passes
            ]
            if not checks:
                problems = [f"no check ran. {result.message}"]
            for problem in problems:
                yield f"{self._stage.name}, public suite on {folder}: {problem}"

    def _grade(self, name: str, module: bytes, exercise: str = "") -> SubmissionResult:
        code = Code(kind="module", cells=(module,), label=self._stage.solution.name)
        submission = Submission(student=name, stage=self._stage.name, code=code)
        return grade_one(self._runner, self._fork_server, submission, exercise=exercise)


def narrow_rooms(stage: str, rooms: Sequence[Room]) -> Iterator[str]:
    """Report bounds that right code may cross on another machine."""
    for room in rooms:
        if room.times < MARGIN:
            yield f"{stage}, {room}: at least {MARGIN:g} are due, so that it passes everywhere."


def _wrong_names(item: Misconception, names: set[str]) -> Iterator[str]:
    if item.id not in names:
        yield f"misconception {item.id} is named {', '.join(sorted(names)) or 'nothing'}."


def _checks(result: SubmissionResult) -> list[CheckResult]:
    return [check for exercise in result.exercises for check in exercise.checks]


def wrong_records(stage: Stage, recorder: Recorder) -> Iterator[str]:
    """Compute the record and the fingerprints of *stage* again; report what differs."""
    if not (stage.public_record.is_file() and stage.fingerprints.is_file()):
        return  # `stale_files` reports it
    digest = release.sources_digest(stage)
    try:
        record = public_record.read(stage.public_record)
        if differing := public_record.differs(record, recorder.record(stage, digest)):
            yield f"{stage.name}: {stage.public_record.name} holds other numbers for {differing}."
        known = fingerprints.from_json(stage.fingerprints.read_bytes())
        made = recorder.fingerprints(stage, digest, only_sample=True)
        wrong = list(fingerprints.changes(known, *made))
    except (msgspec.MsgspecError, IndexError, UsageError) as error:
        wrong = [f"a built file can't be read, {error}"]
    except CourseError as error:
        yield f"{stage.name}: {error}"
        return
    if wrong:
        what = f"{stage.name}: {stage.fingerprints.name} does not match the wrong programs"
        yield f"{what}: {wrong[0]}. Delete it and run `autograder release`."
    yield from fingerprint_leaks(stage)


def _about_kinds(runner: SuiteRunner, stage: Stage) -> str:
    """Say what kinds of mistake show; nothing if `wrong_records` reports the fingerprints."""
    try:
        known = fingerprints.from_json(stage.fingerprints.read_bytes())
        return f"; {kinds_report.report(runner, stage, known).line}"
    except (OSError, msgspec.MsgspecError, IndexError, ValueError, KeyError):
        return ""


def public_gaps(stage: Stage) -> Iterator[str]:
    """Report the misconceptions that pass the public suite, where green must mean right."""
    known = fingerprints.find(stage.fingerprints)
    if known is None:
        return  # `wrong_records` or `stale_files` reports it
    bank = misconceptions.read(stage.misconceptions)
    shown = {mistake.id for mistake in known.mistakes}
    passing = [item for item in bank if item.id not in shown]
    for item in passing:
        if not item.only_hidden:
            what = f"{stage.name}: misconception {item.id} passes the public suite"
            yield f"{what}: add a public check, or say in `only_hidden` why no public one can."
    for item in bank:
        if item.only_hidden and item.id in shown:
            yield f"{stage.name}: {item.id} fails the public suite, so `only_hidden` is false."
    if len(passing) > GAP_SHARE * len(bank):
        yield f"{stage.name}: {len(passing)} of {len(bank)} misconceptions pass the public suite."


def fingerprint_leaks(stage: Stage) -> Iterator[str]:
    """Report lines of wrong programs, which are nearly the solution, in the fingerprints."""
    solution = stage.solution.read_text("utf-8")
    given = stubs.bare_lines(stubs.strip_solutions(solution, stage.solution.name))
    lines = set(release.json_lines(stage.fingerprints))
    texts = [(item.id, item.module(solution)) for item in misconceptions.read(stage.misconceptions)]
    programs = {
        kind.exercise: kind.programs for kind in kinds_of(stage, solution_channel(stage.solution))
    }
    texts += [
        (f"a mistake in {name}", text) for name, found in programs.items() for text in found.texts
    ]
    for name, text in texts:
        for line in sorted((stubs.bare_lines(text) - given - {""}) & lines):
            yield f"{stage.name}: {stage.fingerprints.name} holds a line of {name}, {line!r}."
