"""Keeps the observations of a submission while its checks run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.diagnosis.observation import Failure, Observation, Submitted, status_of
from autograder.diagnosis.source_signs import has_leftover
from autograder.diagnosis.student_code import StudentCode
from autograder.grading.prices import Graded
from autograder.results import Outcome, Status
from autograder.sandbox.faults import Fault, Raised
from autograder.suite.checks import CollectedCheck


@dataclass
class Start:
    """The *code* of a submission, why its exercises can't be graded, and its first observations."""

    code: StudentCode
    missing: dict[str, Fault | None] = field(default_factory=dict)
    observed: dict[CollectedCheck, Observation] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)  # of all checks so far
    right: list[str] = field(default_factory=list)  # the exercises that passed every check so far
    faults: list[Raised] = field(default_factory=list)  # exceptions of all checks so far
    failures: dict[str, list[Failure]] = field(default_factory=dict)  # by exercise, to diagnose
    uncompared: set[CollectedCheck] = field(default_factory=set)  # whose value was not compared

    def fault(self, check: CollectedCheck) -> Fault | None:
        """Return the reason why *check* can't run, or None."""
        return next((self.missing[need] for need in needs_of(check) if self.missing[need]), None)

    def submitted(self, graded: Graded) -> Submitted:
        """Return the evidence about an exercise; a check may pass with right neighbours."""
        failed = self.failures[graded.exercise]
        used = graded.needs | self.code.uses(graded.exercise) if failed else graded.needs
        pairs = zip(graded.checks, graded.results, strict=True)
        right = [check for check, result in pairs if graded.holds(result)]
        return Submitted(
            graded.exercise,
            failures=[one for one in failed if one.item.name not in graded.given],
            passed=[check.item for check in right if check not in self.uncompared],
            code=self.code,
            right=self.right,
            wrong=[name for name in used if self.failures.get(name)],
        )

    def used(self, graded: Graded, wrong: Sequence[str]) -> tuple[str, ...]:
        """Return the *wrong* exercises that the code of a failed one uses, also through others.

        Exercises that a check passes to it count, too.
        """
        if not self.failures.get(graded.exercise):
            return ()
        found = [graded.exercise, *graded.needs]
        for name in found:  # the loop extends the list
            found += self.code.uses(name).difference(found)
        return tuple(name for name in wrong if name in found[1:])


def needs_of(check: CollectedCheck) -> tuple[str, ...]:
    """Return the exercises without which *check* can't run."""
    return check.spec.exercise, *check.spec.needs


def is_written(observation: Observation, code: StudentCode, exercise: str) -> bool:
    """Whether a student wrote more than the stub: unwritten code is not wrong."""
    unwritten = status_of(observation.error) == Status.NOT_IMPLEMENTED
    return not unwritten or has_leftover(code, exercise)


def to_run_again(graded: Graded, start: Start) -> list[CollectedCheck]:
    """List the checks that may pass with right neighbours, which excuse no broken rule."""
    return [
        check
        for check, result in zip(graded.checks, graded.results, strict=True)
        if result.outcome is not Outcome.PASSED
        and result.status is not Status.FORBIDDEN
        and start.missing[check.spec.exercise] is None
    ]
