"""Names the mistakes in a submission."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from autograder.course import Stage
from autograder.diagnosis.contract import Contract
from autograder.diagnosis.live import LiveSource, Record
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Failure, Submitted, status_of
from autograder.diagnosis.programs import Run
from autograder.diagnosis.ranking import Explanation
from autograder.diagnosis.source_signs import signs
from autograder.diagnosis.student_code import StudentCode
from autograder.results import Diagnosis, Status
from autograder.sandbox.faults import Raised
from autograder.suite.checks import CollectedCheck
from autograder.suite.in_process import LocalChannel
from autograder.suite.limits import rarely_collected, ticking

# Patterns of the right values, which wrong ones may show by chance in a check with equal sizes.
BY_CHANCE = {"block_repeated", "constant_factor", "intermediate_step", "rows_equal", "rows_shifted"}


class Source(Protocol):
    """Provides the results of the wrong programs of one stage."""

    def explain(self, submission: Submitted, *, complete: bool = False) -> Explanation:
        """Find what best explains the failures; with *complete*, only what explains all of them."""

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe a failure that no mistake explains, if the evidence is certain."""

    def contract(self, exercise: str) -> Contract:
        """Return what the stub prescribes for *exercise*."""


class Diagnosed(NamedTuple):
    """The diagnosis of each failed check that has one, and the programs behind them."""

    diagnoses: Mapping[str, Diagnosis]
    explanation: Explanation


class Diagnostician:
    """Diagnoses the submissions of one stage with programs that run in this process.

    *run* runs a check on a program, and *record* runs it on *solution*, once.
    """

    def __init__(self, stage: Stage, run: Run, record: Record, solution: LocalChannel) -> None:
        self.source = LiveSource(stage, run, solution, record=record)
        self._stage = stage

    @rarely_collected()
    @ticking()
    def examine(self, submission: Submitted) -> Mapping[str, Diagnosis]:
        """Return the diagnosis of each failed check that has one."""
        return diagnose(self.source, submission).diagnoses

    @ticking()
    def names(
        self, checks: Sequence[CollectedCheck], mistake: Misconception
    ) -> dict[CollectedCheck, list[str]]:
        """Return the names that a diagnosis gives to *mistake*, by the check that it fails.

        The mistake runs in this process, as in a comparison with a student's code.
        """
        seen = {check: self.source.replay(mistake, check.item) for check in checks}
        failed = {check: shown for check, shown in seen.items() if shown.error is not None}
        failures = [Failure(check.item, shown) for check, shown in failed.items()]
        passed = [check.item for check in checks if check not in failed]
        module = mistake.module(self._stage.solution.read_text("utf-8")).encode()
        code = StudentCode((module,), [one.name for one in self._stage.exercises])
        found = self.examine(Submitted(mistake.exercise, failures, passed, code))
        return {
            check: found[check.name].misconceptions if check.name in found else []
            for check in failed
        }


def diagnose(source: Source, submission: Submitted) -> Diagnosed:
    """Name the mistake behind the failures of one exercise, or describe the wrong answers.

    A mistake that the source alone shows comes before those that results show, if it explains every
    failure; otherwise it is named if no known mistakes explain every wrong answer.
    """
    exercise, failures = submission.exercise, submission.failures
    texts = {  # of exceptions; a check that forbids something states itself which rule is broken
        one.item.name: str(getattr(one.observation.error, "text", ""))
        for one in failures
        if status_of(one.observation.error) != Status.FORBIDDEN
    }
    shown = signs(submission.code, exercise, source.contract(exercise), texts.values())
    said = {
        name: sign.diagnosis for sign in shown[:1] for name in texts if sign.needs in texts[name]
    }
    if said and shown[0].sure:
        return Diagnosed(said, Explanation({}))
    found = source.explain(submission, complete=bool(said))
    if said and not found.diagnoses:
        return Diagnosed(said, found)
    diagnoses: dict[str, Diagnosis] = {}
    for failure in failures:
        name = failure.item.name
        named = found.diagnoses.get(name)
        # An exception may have many causes, so its text adds to the name of a kind.
        is_open = isinstance(failure.observation.error, Raised) and name not in found.written
        described = source.describe(failure) if named is None or is_open else None
        if named and described:
            both = f"{named.explanation} {described.explanation}"
            diagnoses[name] = replace(named, explanation=both)
        elif one := named or described:
            diagnoses[name] = one
    return Diagnosed(_without_chance(diagnoses, len(failures)), found)


def _without_chance(diagnoses: Mapping[str, Diagnosis], failed: int) -> Mapping[str, Diagnosis]:
    """Drop a pattern that few of the failed checks show, because the others refute it."""
    counts = Counter(one.misconception for one in diagnoses.values())
    return {
        name: one
        for name, one in diagnoses.items()
        if one.misconception not in BY_CHANCE or 2 * counts[one.misconception] >= failed
    }
