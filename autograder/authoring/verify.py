"""Checks a course for consistency.

A finding is one sentence about an error, such as a stale file, a suite that takes points from a
correct solution, a misconception without a name, or a documented tensor that no check uses.
"""

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice, starmap
from typing import NamedTuple

from autograder import companion
from autograder.authoring import release, stubs
from autograder.authoring.fingerprinting import kinds_of
from autograder.authoring.price_table import TABLE_HEAD, PriceTable
from autograder.authoring.recording import Recorder, in_processes, open_recorder
from autograder.authoring.stage_verifier import (
    Margin,
    StageVerifier,
    narrow_margins,
    rules_without_loss,
)
from autograder.companion import CompanionFile, Slot
from autograder.course import COMPANION_FILE, Course, Stage
from autograder.course_file import STAGE_POINTS
from autograder.diagnosis import fingerprints, misconceptions
from autograder.errors import AutograderError, CourseError, UsageError
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.reports.feedback import counted
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.spawned_workers import Workers, own_workers
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code
from autograder.suite import documented, public_record
from autograder.suite.checks import CollectedCheck, Layer, read_rules
from autograder.suite.in_process import solution_channel

GAP_SHARE = 0.02  # share of a stage's misconceptions that may pass the public suite with a reason


class VerifyReport(NamedTuple):
    """A line for each stage, the findings, and in the full proof the distances from bounds."""

    lines: tuple[str, ...]
    findings: tuple[str, ...]
    details: tuple[str, ...] = ()


def verify(
    course: Course,
    only: Sequence[Stage] = (),
    report: release.Report = release.no_report,
    *,
    full: bool = False,
    prices: bool = True,
) -> VerifyReport:
    """Check *course*, or only the stages *only*; the course is correct if there are no findings.

    *report* gets a line when a part of a stage begins. The *full* proof takes several times as
    long: it grades more code (see ``StageVerifier.problems``), measures the distance of correct
    code from each bound, examines the programs of the fingerprints, and makes the tables of
    *prices*.
    """
    stages = list(only) or list(course.every_stage)
    findings = [*stale_files(course, only), *unknown_folders(course)]
    findings += [finding for stage in stages for finding in undocumented_exercises(stage)]
    work = partial(_verify_stages, course, report, full=full, prices=full and prices)
    shares = in_processes(work, stages)
    findings += [finding for share in shares for finding in share.findings]
    summaries = {name: line for share in shares for name, line in share.summaries.items()}
    lines = [summaries[stage.name] for stage in stages]
    names = {stage.name for stage in stages}
    tensors = documented.read(course.documented).values()
    wanted = [tensor for tensor in tensors if names.intersection(tensor.stage)]
    findings += companion_problems(course, stages)
    used = {name for share in shares for name in share.used}
    unused = [tensor.name for tensor in wanted if tensor.name not in used]
    findings += [f"documented.toml: no check uses {name}." for name in unused]
    if not unused:
        proved = documented.proof(wanted)
        lines.append(f"{counted(len(wanted), 'documented tensor')} used and reproduced {proved}")
    tables = {table.stage: table for share in shares for table in share.prices}
    lines += [TABLE_HEAD] if tables else []
    lines += [tables[stage.name].row for stage in stages if stage.name in tables]
    margins = {name: rows for share in shares for name, rows in share.margins.items()}
    details = [f"{stage.name}, {margin}" for stage in stages for margin in margins[stage.name]]
    return VerifyReport(tuple(lines), tuple(findings), tuple(details))


class _Share(NamedTuple):
    summaries: dict[str, str]  # the line of each stage, by its name
    findings: list[str]
    used: frozenset[str]  # names of documented tensors
    margins: dict[str, list[Margin]]  # by the name of the stage
    prices: list[PriceTable]


def _verify_stages(
    course: Course,
    report: release.Report,
    stages: Sequence[Stage],
    *,
    full: bool,
    prices: bool,
) -> _Share:
    level = detect_capabilities().level  # the strictest that this machine supports
    findings: list[str] = []
    summaries: dict[str, str] = {}
    margins: dict[str, list[Margin]] = {}
    with ForkServer(level, course.limits) as fork_server:
        with open_suites(course, stages) as runner:  # the fork server imports torch meanwhile
            fork_server.wait_ready()
            for stage in stages:
                report(f"{stage.name}: verifying the hidden suite")
                verifier = StageVerifier(runner, fork_server, stage, full=full)
                problems = chain(malformed_checks(stage, runner), verifier.problems())
                findings += runner.wrong_documented_values(stage)
                findings += unstated_rules(stage, runner)
                findings += rules_without_loss(stage, runner)
                findings += [f"{stage.name}: {problem}" for problem in problems]
                summaries[stage.name] = verifier.summary()
                margins[stage.name] = list(verifier.smallest_margins())
            used = runner.used_documented_tensors
        with open_suites(course, stages, public=True, diagnose=False) as runner:
            for stage in stages:
                verifier = StageVerifier(runner, fork_server, stage, full=full)
                findings += verifier.public_findings()
                margins[stage.name] += verifier.smallest_margins()
        tables = []
        if prices:
            graded = [stage for stage in stages if stage.file.graded]
            with open_suites(course, graded, diagnose=False) as runner:
                for stage in graded:
                    report(f"{stage.name}: grading the modules of the table of prices")
                    tables.append(StageVerifier(runner, fork_server, stage).prices())
        findings += [f"{one.stage}: {problem}" for one in tables for problem in one.problems()]
        findings += chain.from_iterable(starmap(narrow_margins, margins.items()))
        with open_recorder(course, stages) as recorder:
            for stage in stages:
                report(f"{stage.name}: verifying the records")
                findings += wrong_records(stage, recorder, full=full)
                findings += public_gaps(stage)
    return _Share(summaries, findings, used, margins, tables)


def stale_files(course: Course, stages: Sequence[Stage] = ()) -> Iterator[str]:
    """Report stale files, lines of solutions in files for students, and edited modules."""
    for path in release.stale(course, stages):
        yield f"{path.relative_to(course.root)} is stale: run `autograder release`."
    yield from release.leaks(course)
    yield from release.kept(course)


def unknown_folders(course: Course) -> Iterator[str]:
    """Report folders whose stage ``course.toml`` does not list."""
    for parent in ("solutions", "source", "assignments", "tests/hidden"):
        for folder in sorted((course.root / parent).glob("[0-9]*")):
            if folder.is_dir() and folder.name not in course.file.stages:
                what = f"{parent}/{folder.name} is not a stage of course.toml"
                yield f"{what}: add it there or delete it."


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
            yield f"{stage.solution}: {exercise.name} or its `forward` has no docstring."
        if not all(hint.strip() for hint in exercise.hints):
            yield f"{stage.name}: {exercise.name} has an empty hint."


def _public_methods(node: ast.FunctionDef | ast.ClassDef) -> list[ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef):  # functions in it are its own steps
        return []
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    return [method for method in methods if not method.name.startswith("_")]


def malformed_checks(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Report checks with wrong points, exercise or layer, or without a docstring."""
    checks = runner.checks(stage.name)
    names = [exercise.name for exercise in stage.exercises]
    total = sum(check.spec.points for check in checks)
    if abs(total - STAGE_POINTS) > 1e-9:  # noqa: PLR2004  # sums of floats are not exact
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
    yield from misplaced_hints(stage, checks)
    yield from misplaced_points(stage, checks)


def misplaced_hints(stage: Stage, checks: Sequence[CollectedCheck]) -> Iterator[str]:
    """Report hints for checks that students do not have, and empty ones."""
    for exercise in stage.exercises:
        mine = {one.name for one in checks if one.spec.exercise == exercise.name}
        shown = mine - {one.name for one in checks if one.spec.hidden}
        for name, ladder in exercise.ladders.items():
            place = f"the hints when.{exercise.name}.{name}"
            for check in ladder.checks:
                if check not in shown:
                    yield f"{place} name {check}, which is not a public check of the exercise."
            if not ladder.checks or not all(hint.strip() for hint in ladder.hints):
                yield f"{place} are empty or name no check."


def misplaced_points(stage: Stage, checks: Sequence[CollectedCheck]) -> Iterator[str]:
    """Report copies that give points, and other exercises that give none."""
    for exercise in stage.exercises:
        points = sum(one.spec.points for one in checks if one.spec.exercise == exercise.name)
        if exercise.copied_from and points:
            yield f"{exercise.name} is a copy, so its checks give no points, not {points:g}."
        if not exercise.copied_from and not points:
            yield f"the checks of {exercise.name} give no points."


def unstated_rules(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Report checks that grade a rule without naming it, and rules that the stub does not state."""
    known = read_rules(stage.rules)
    for check in runner.checks(stage.name):
        for method in sorted(runner.methods(check.item)):
            fitting = [rule.name for rule in known.values() if method in rule.methods]
            if fitting and not {*fitting} & {*check.spec.rules}:
                what = f"{stage.name}: {check.name} grades by `{method}`"
                yield f"{what} but names none of the rules {', '.join(fitting)}."
    suite = stage.hidden_suite.read_text("utf-8")
    stub = stage.stub.read_text("utf-8") if stage.stub.is_file() else ""
    for name in stubs.unstated(stub, suite, known):
        yield f"{stage.name}: checks grade the rule {name!r}, which the stub does not state."


def wrong_records(stage: Stage, recorder: Recorder, *, full: bool = False) -> Iterator[str]:
    """Compute the records of *stage* again, and report differences.

    The *full* proof also runs some of the wrong programs again, and looks for lines of all.
    """
    name = f"{stage.name}: {stage.records.name}"
    if not stage.records.is_file():
        return  # `stale_files` reports it
    try:
        if differing := public_record.differs(
            public_record.read(stage.records), recorder.record(stage)
        ):
            yield f"{name} has different numbers for {differing}."
        if full:
            known = fingerprints.read(stage.records)
            for wrong in islice(fingerprints.changes(known, *recorder.sample(stage)), 1):
                what = f"{name} does not match the wrong programs"
                yield f"{what}: {wrong}. Delete it and run `autograder release`."
            yield from fingerprint_leaks(stage)
    except (UsageError, CourseError) as error:
        yield f"{stage.name}: {error}"


def public_gaps(stage: Stage) -> Iterator[str]:
    """Report misconceptions that pass the public suite without a reason, or too many with one."""
    known = fingerprints.find(stage.records)
    if known is None:
        return  # `wrong_records` or `stale_files` reports it
    bank = misconceptions.read(stage.misconceptions)
    shown = {*known.mistakes}
    passing = [item for item in bank if item.id not in shown]
    for item in passing:
        if not item.only_hidden:
            what = f"{stage.name}: misconception {item.id} passes the public suite"
            yield f"{what}: add a public check, or give the reason in `only_hidden`."
    for item in bank:
        if item.only_hidden and item.id in shown:
            yield f"{stage.name}: {item.id} fails the public suite, so `only_hidden` is false."
    if len(passing) > GAP_SHARE * len(bank):
        yield f"{stage.name}: {len(passing)} of {len(bank)} misconceptions pass the public suite."


def fingerprint_leaks(stage: Stage) -> Iterator[str]:
    """Report lines of wrong programs in the built files, which could reveal the solution."""
    solution = stage.solution.read_text("utf-8")
    given = stubs.bare_lines(stubs.strip_solutions(solution, stage.solution.name))
    built = {path: set(release.built_lines(path)) for path in (stage.records, stage.mistakes)}
    texts = [(item.id, item.module(solution)) for item in misconceptions.read(stage.misconceptions)]
    programs = {
        kind.exercise: kind.programs for kind in kinds_of(stage, solution_channel(stage.solution))
    }
    texts += [
        (f"a mistake in {name}", text) for name, found in programs.items() for text in found.texts
    ]
    for name, text in texts:
        for path, lines in built.items():
            for line in sorted((stubs.bare_lines(text) - given - {""}) & lines):
                yield f"{stage.name}: {path.name} contains a line of {name}, {line!r}."


def companion_problems(course: Course, stages: Sequence[Stage]) -> Iterator[str]:
    """Report slots of unknown exercises, and what the companion shows wrongly for *stages*."""
    if not (course.shared_source / COMPANION_FILE).is_file():
        return
    file = companion.read(course.shared_source)
    known = {f"{one.name}/{item.name}" for one in course.every_stage for item in one.exercises}
    names = [stage.name for stage in stages]
    for key in sorted({key for slot in file.slot for key in slot.keys} - known):
        if key.partition("/")[0] in names:
            yield f"{COMPANION_FILE} needs {key}, which is not an exercise."
    mine = [one for one in file.slot if one.stage in names and one.shown]
    if not mine:
        return
    with own_workers(course.limits) as server:
        server.wait_ready()
        for one in mine:
            yield from _differences(course, file, one, server)


def _differences(course: Course, file: CompanionFile, slot: Slot, server: Workers) -> Iterator[str]:
    order = [stage.name for stage in course.every_stage]
    solved = course.every_stage[: order.index(slot.stage) + 1]
    passed = {f"{stage.name}/{item.name}" for stage in solved for item in stage.exercises}
    modules = {
        stage.name: Code(kind="module", cells=(stage.solution.read_bytes(),), label=stage.stub.name)
        for stage in solved
    }
    slots = file.filled(passed)
    request = companion.request_of(slots)
    try:
        found = companion.show(server, course.shared_source, slots, modules, request)
    except AutograderError as error:
        yield f"{slot.stage}: {COMPANION_FILE}: {error}"
        return
    if not found.is_own:
        why = [*found.notes, *(says for says, _ in found.parts)][0 if found.notes else -1]
        yield f"{slot.stage}: with the solution, the {file.name} does not do what it should. {why}"
    if found.margin is None or found.margin < file.least_margin:
        yield (
            f"{slot.stage}: a text of the {file.name} is too close to another: its smallest "
            f"margin is {found.margin}, below {file.least_margin}. Choose a different start in "
            f"{COMPANION_FILE}."
        )
