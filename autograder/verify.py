"""The course proves itself: everything that would embarrass us in front of a class is a finding."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from autograder import markers, release
from autograder.course import Course, Stage
from autograder.grade import judge_one
from autograder.results import Outcome, SubmissionResult
from autograder.sandbox.confine import probe
from autograder.sandbox.supervisor import Zygote
from autograder.submission import Code, Submission
from autograder.suite import ledger, misconceptions
from autograder.suite.checks import Card
from autograder.suite.judging import Judge, with_judge
from autograder.suite.misconceptions import Misconception

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
    hidden = with_judge(course, stages, lambda judge: _hidden(course, stages, judge))
    public = with_judge(course, stages, lambda judge: _public(course, stages, judge), public=True)
    used = _unused(course, stages, hidden.used)
    lines = (*hidden.lines, f"ledger: {hidden.documented} documented tensors, each used and true")
    return Report(
        lines if not used else hidden.lines, (*findings, *hidden.findings, *public, *used)
    )


class _Hidden(NamedTuple):
    lines: tuple[str, ...]
    findings: tuple[str, ...]
    used: frozenset[str]
    documented: int


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


def _hidden(course: Course, stages: Sequence[Stage], judge: Judge) -> _Hidden:
    lines: list[str] = []
    findings: list[str] = []
    entries = ledger.shared(course.ledger)
    entries.used.clear()
    untrue = [line for stage in stages for line in judge.untrue(stage)]
    level = probe().level  # the course's own code: as strict as can be
    with Zygote(level, course.limits) as zygote:
        zygote.wait_ready()
        for stage in stages:
            trial = _Trial(judge, zygote, stage)
            findings += [*_cards(stage, judge), *trial.findings()]
            lines.append(trial.line())
    wanted = [entry for entry in entries.values() if set(entry.stage) & {s.name for s in stages}]
    return _Hidden(tuple(lines), (*untrue, *findings), frozenset(entries.used), len(wanted))


def _cards(stage: Stage, judge: Judge) -> Iterator[str]:
    """Look at what stands beside the checks: points, docstrings, order of layers."""
    cards = judge.cards(stage.name)
    names = [exercise.name for exercise in stage.exercises]
    total = sum(card.points for _, _, card in cards)
    if abs(total - STAGE_POINTS) > 1e-9:  # noqa: PLR2004  # quarters and tenths add up but for float noise
        yield f"{stage.name}: the checks are worth {total:g} points, not {STAGE_POINTS:g}."
    for name, title, card in cards:
        if card.exercise not in names:
            yield f"{stage.name}: {name} judges {card.exercise}, which stage.toml does not list."
        if title == name:
            yield f"{stage.name}: {name} has no docstring, the sentence that students read."
    for name in names:
        own = [card for _, _, card in cards if card.exercise == name]
        if not own:
            yield f"{stage.name}: no check judges {name}."
        if not _in_order(own):
            yield f"{stage.name}: the checks of {name} do not stand in the order of their layers."


def _in_order(cards: Sequence[Card]) -> bool:
    order = [list(type(card.layer)).index(card.layer) for card in cards]
    return order == sorted(order)


class _Trial:
    """One stage's suite on trial: what must earn nothing, everything, and less than everything."""

    def __init__(self, judge: Judge, zygote: Zygote, stage: Stage) -> None:
        self._judge = judge
        self._zygote = zygote
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
        stub = self._try("the stub", markers.strip(self._solution, self._stage.solution.name))
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
        return judge_one(self._judge, self._zygote, submission, exercise=exercise)


def _public(course: Course, stages: Sequence[Stage], judge: Judge) -> tuple[str, ...]:
    """Judge solutions and stubs by the suites that students run themselves."""
    findings: list[str] = []
    with Zygote(probe().level, course.limits) as zygote:
        zygote.wait_ready()
        for stage in stages:
            for path, passes in ((stage.solution, True), (stage.stub, False)):
                wrong = _public_mistakes(judge, zygote, stage, path, passes=passes)
                findings += [
                    f"{stage.name}, public suite on {path.parent.parent.name}: {w}" for w in wrong
                ]
    return tuple(findings)


def _public_mistakes(
    judge: Judge, zygote: Zygote, stage: Stage, path: Path, *, passes: bool
) -> list[str]:
    code = Code(kind="module", cells=(path.read_bytes(),), label=path.name)
    submission = Submission(student=path.parent.parent.name, stage=stage.name, code=code)
    result = judge_one(judge, zygote, submission)
    checks = [check for exercise in result.exercises for check in exercise.checks]
    if not checks:
        return [f"no check ran. {result.message}"]
    return [
        f"{check.name} {check.outcome}: {check.message}"
        for check in checks
        if (check.outcome is Outcome.PASSED) != passes
    ]


def _unused(course: Course, stages: Sequence[Stage], used: frozenset[str]) -> tuple[str, ...]:
    names = {stage.name for stage in stages}
    return tuple(
        f"documented.toml: no check uses {entry.name}."
        for entry in ledger.shared(course.ledger).values()
        if set(entry.stage) & names and entry.name not in used
    )


def _first(result: SubmissionResult) -> str:
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                return f"{check.name}: {check.message}"
    return result.message
