"""From what a check raised to what a student reads: outcome, status, points, sentence."""

from msgspec.structs import replace

from autograder.course import Reveal
from autograder.results import CheckResult, Diagnosis, Outcome, Status
from autograder.sandbox.faults import Fault
from autograder.suite.checks import CheckSpec, WrongAnswer


class Verdict:
    """Turns the end of one check into its record."""

    def __init__(self, name: str, title: str, spec: CheckSpec, reveal: Reveal) -> None:
        self._name = name
        self._title = title
        self._spec = spec
        self._reveal = reveal

    def passed(self) -> CheckResult:
        """Full points."""
        return self._result(Outcome.PASSED, Status.OK, "", self._spec.points)

    def skipped(self, fault: Fault) -> CheckResult:
        """No points: what the check stands on did not pass."""
        message = self._say(fault.message, fault.public)
        return self._result(Outcome.SKIPPED, fault.status, message)

    def unusable(self) -> CheckResult:
        """No points: the check broke on an answer so odd, while the solution passes."""
        message = (
            f"The answer can't be used: it is not of the kind that {self._spec.exercise} gives."
        )
        return self._result(Outcome.FAILED, Status.BAD_OUTPUT, message)

    def of(self, error: BaseException) -> CheckResult | None:
        """No points, and why; ``None`` if *error* is not the student's doing for certain."""
        if isinstance(error, WrongAnswer):
            message = self._say(error.message, error.public)
            result = self._result(Outcome.FAILED, error.status, message)
            shown = self._reveal.documented_values and not self._spec.layer.hidden
            return replace(result, grid=error.grid) if shown else result
        if isinstance(error, Fault):
            message = self._say(error.message, error.public)
            return self._result(Outcome.ERRORED, error.status, message)
        return None

    def diagnosed(self, result: CheckResult, diagnosis: Diagnosis | None) -> CheckResult:
        """Add the mistake's name, unless the course keeps silent about hidden checks."""
        return result if self._silent else replace(result, diagnosis=diagnosis)

    @property
    def _silent(self) -> bool:
        return self._spec.layer.hidden and self._reveal.hidden_checks == "nothing"

    def _say(self, message: str, public: str) -> str:
        """Say as much as the course reveals: all, the property only, or nothing."""
        if self._silent:
            return ""
        shown = self._reveal.documented_values and not self._spec.layer.hidden
        return message if shown else public

    def _result(
        self, outcome: Outcome, status: Status, message: str, points: float = 0.0
    ) -> CheckResult:
        return CheckResult(
            name=self._name,
            title=self._title,
            outcome=outcome,
            status=status,
            points=points,
            max_points=self._spec.points,
            message=message,
        )
