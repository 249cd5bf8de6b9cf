"""Grades code of one stage for its author, and reports wrong points, names and rules.

Each rule of an exercise must be broken by a wrong program of the fingerprints, or by the solution
with the code in the rule's ``breaks``.
"""

import contextlib
import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from autograder.authoring import stubs
from autograder.authoring.price_table import PriceGrader, PriceTable
from autograder.authoring.release import read_template
from autograder.course import Course, Stage
from autograder.course_file import STAGE_POINTS
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.fingerprints import Fingerprints
from autograder.diagnosis.misconceptions import Misconception
from autograder.errors import CourseError
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.reports.feedback import counted
from autograder.results import CheckResult, Outcome, SubmissionResult
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite.checks import CollectedCheck, Layer, Rule, read_rules
from autograder.suite.in_process import LocalChannel
from autograder.suite.noise import LEAST_MARGIN


class Margin(NamedTuple):
    """The smallest distance of correct code from the bound of a check."""

    check: str
    times: float  # the distance, in units of the noise
    code: str

    def __str__(self) -> str:
        """Return the margin as a line of the report."""
        return f"{self.check}: {self.code} is {self.times:.1f} times the noise from its bound"


class StageVerifier:
    """Grades code with known points by the hidden or public suite of one stage."""

    def __init__(
        self, runner: SuiteRunner, fork_server: ForkServer, stage: Stage, *, full: bool = False
    ) -> None:
        self._full = full
        self._runner = runner
        self._fork_server = fork_server
        self._stage = stage
        self._solution = stage.solution.read_text("utf-8")
        self._bank = misconceptions.read(stage.misconceptions)

    def summary(self) -> str:
        """Return the stage's line of the report."""
        line = (
            f"{self._stage.name}: stub 0, solution {STAGE_POINTS:g}, "
            f"{counted(len(self._bank), 'misconception')} caught and named"
        )
        variants = f", {counted(len(self._stage.variants), 'correct variant')} right"
        return f"{line}{variants if self._full else ''}"

    def problems(self) -> Iterator[str]:
        """Report programs with wrong points or names; the full proof has ``more_problems``."""
        yield from self.check_stub()
        yield from self.check_full_marks("the solution", self._solution.encode())
        for item in self._bank:
            yield from self.check_misconception(item)
        for item in self._bank[:1]:
            yield from self.check_in_sandbox(item)
        if self._full:
            yield from self.more_problems()

    def more_problems(self) -> Iterator[str]:
        """Report wrong variants, and misconceptions of other exercises with a wrong name."""
        yield from self.check_variants()
        first = {item.exercise: item for item in reversed(self._bank)}
        for item in first.values():
            if item is not self._bank[0]:
                yield from self.check_in_sandbox(item)

    def check_stub(self) -> Iterator[str]:
        """Report the stub if it can't be imported or earns points."""
        text = stubs.strip_solutions(self._solution, self._stage.solution.name)
        result = self._grade("the stub", text.encode())
        if result.score != 0 or result.message:
            yield f"the stub scores {result.score}; it must import and earn 0. {result.message}"

    def check_full_marks(self, name: str, module: bytes) -> Iterator[str]:
        """Report *module* if it loses points or fails a check."""
        result = self._grade(name, module)
        failed = [check for check in _checks(result) if check.outcome is not Outcome.PASSED]
        problem = f"{failed[0].name}: {failed[0].message}" if failed else result.message
        if result.score is None or result.score != result.max_score or problem:
            yield f"{name} scores {result.score} of {result.max_score}. {problem}"

    def check_variants(self) -> Iterator[str]:
        """Report variants that lose points, or that can't be imported whole.

        In a worker the rest of a module runs after an exception.
        """
        for variant in self._stage.variants:
            try:
                self._import(variant)
            except CourseError as error:
                yield f"variant {variant.name} can't be imported. {error}"
            yield from self.check_full_marks(f"variant {variant.name}", variant.read_bytes())

    def prices(self) -> PriceTable:
        """Grade the modules of the table of prices."""

        def grade(name: str, text: str) -> SubmissionResult:
            return self._grade(name, text.encode())

        return PriceGrader(self._stage, grade).table()

    def check_misconception(self, item: Misconception) -> Iterator[str]:
        """Report *item* if it loses no points or is not named."""
        diagnostician = self._runner.diagnostician(self._stage)
        every = self._runner.checks(self._stage.name)
        checks = [check for check in every if check.spec.exercise == item.exercise]
        with_points = [check.item for check in checks if check.spec.points]
        with_points = with_points or [check.item for check in checks]  # of a copy
        try:
            # Results of a replay are cached, so the diagnosis does not run it again.
            if all(diagnostician.source.replay(item, one).error is None for one in with_points):
                yield f"misconception {item.id} loses nothing."
            else:
                diagnoses = diagnostician.names(checks, item)
                yield from _wrong_names(item, set(chain.from_iterable(diagnoses.values())))
        except CourseError as error:
            yield f"misconception {item.id} can't be run. {error}"

    def check_in_sandbox(self, item: Misconception) -> Iterator[str]:
        """Report *item* if it is not named when it runs in a worker.

        A wrong copy may have the name that it has in the stage that it comes from.
        """
        result = self._grade(item.id, item.module(self._solution).encode(), item.exercise)
        found = [check.diagnosis for check in _checks(result) if check.diagnosis]
        names = {name for one in found for name in one.misconceptions}
        copies = {one.id for one in misconceptions.known_in(self._stage) if one not in self._bank}
        if names.isdisjoint({item.id, *copies}):
            yield from _wrong_names(item, names)

    def smallest_margins(self) -> Iterator[Margin]:
        """Yield the smallest distance of correct code from each bound, in the full proof."""
        if not self._full:
            return
        right = {}
        for path in (self._stage.solution, *self._stage.variants):
            with contextlib.suppress(CourseError):  # `check_variants` reports it
                right[path.name] = self._import(path)
        for check in self._runner.checks(self._stage.name):
            margins = {
                name: self._runner.run(check.item, one).margin for name, one in right.items()
            }
            closest = min(margins, key=margins.__getitem__)
            if math.isfinite(margins[closest]):
                yield Margin(check.name, margins[closest], closest)

    def _import(self, path: Path) -> LocalChannel:
        return LocalChannel(path.stem, path.read_bytes())

    def public_findings(self) -> Iterator[str]:
        """Report checks of the public suite that fail on the solution or pass on the stub."""
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


def narrow_margins(stage: str, margins: Sequence[Margin]) -> Iterator[str]:
    """Report bounds that correct code may cross on a different machine."""
    for margin in margins:
        if margin.times < LEAST_MARGIN:
            yield (
                f"{stage}, {margin}: at least {LEAST_MARGIN:g} are needed, so that correct code "
                "passes on every machine."
            )


def _wrong_names(item: Misconception, names: set[str]) -> Iterator[str]:
    if item.id not in names:
        yield f"misconception {item.id} is diagnosed as {', '.join(sorted(names)) or 'nothing'}."


def _checks(result: SubmissionResult) -> list[CheckResult]:
    return [check for exercise in result.exercises for check in exercise.checks]


def rules_without_loss(stage: Stage, runner: SuiteRunner) -> Iterator[str]:
    """Report each rule of an exercise that no wrong program breaks in a public check."""
    known = fingerprints.find(stage.records)
    rules = read_rules(stage.rules)
    for exercise in stage.exercises:
        every = [
            check for check in runner.checks(stage.name) if check.spec.exercise == exercise.name
        ]
        checks = [check for check in every if not check.spec.hidden]
        for name in dict.fromkeys(rule for check in every for rule in check.spec.rules):
            lost = known is not None and _is_lost(name, checks, known)
            if name in rules and not (
                lost or _breaks(rules[name], exercise.name, checks, stage, runner)
            ):
                yield (
                    f"{stage.name}: no wrong program breaks the rule {name!r} of {exercise.name}. "
                    "Add a misconception that breaks it and fails a check of this rule, or write "
                    f"code that breaks it as `breaks` in {stage.rules.name}."
                )


def _is_lost(rule: str, checks: Sequence[CollectedCheck], known: Fingerprints) -> bool:
    """Whether a known wrong program fails checks of *rule* and no other check of the exercise."""
    naming, others = (
        {
            number
            for check in checks
            if (rule in check.spec.rules) is names
            for number in known.failing(check.name)
        }
        for names in (True, False)
    )
    return bool(naming - others)


def _breaks(
    rule: Rule, exercise: str, checks: Sequence[CollectedCheck], stage: Stage, runner: SuiteRunner
) -> bool:
    """Whether the solution with ``rule.breaks`` fails a check of *rule* and passes other probes."""
    if not rule.breaks:
        return False
    program = stage.solution.read_text("utf-8") + read_template("broken_rule.py.txt").format(
        name=exercise, breaks=textwrap.indent(rule.breaks, " " * 8)
    )
    try:
        broken = LocalChannel(stage.module, program.encode())
    except CourseError:  # the code can't be added to this solution
        return False
    naming = [check for check in checks if rule.name in check.spec.rules]
    probes = [check for check in checks if check.spec.layer is Layer.PROBE and check not in naming]
    return any(runner.run(check.item, broken).fails for check in naming) and all(
        runner.run(check.item, broken).error is None for check in probes
    )


def diagnose_file(course: Course, stage: Stage, path: Path) -> Iterator[str]:
    """Grade *path* as a submission of *stage*; describe each diagnosis and what was tried."""
    code = Code(kind="module", cells=(path.read_bytes(),), label=path.name)
    submission = Submission(student=path.stem, stage=stage.name, code=code)
    level = choose_isolation(course.grading.isolation, course.root)
    with (
        ForkServer(level, course.limits) as fork_server,
        open_suites(course, [stage]) as runner,
    ):
        fork_server.wait_ready()
        source = runner.diagnostician(stage).source
        source.lists_refusals = True
        result = grade_one(runner, fork_server, submission)
    best = sorted(source.tried, key=lambda one: (-one.explained, one.name, one.explanation))
    for exercise in result.exercises:
        named = {
            check.diagnosis.misconception: None for check in exercise.checks if check.diagnosis
        }
        lost = exercise.max_score - exercise.score
        yield f"{exercise.name}: {lost:g} points lost, named: {', '.join(named) or '-'}"
        tried = [one for one in best if one.exercise == exercise.name]
        for one in tried:
            share = f"{one.explained:2} of {one.failed:2}"
            if one.lacking:
                share = f"not said, because the source lacks {one.lacking!r}:"
            yield f"  {share}  {one.name}: {one.explanation}"
        if lost and not named and not tried:
            yield "  No known mistake has these results."
