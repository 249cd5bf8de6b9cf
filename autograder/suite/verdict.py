"""From what a check raised to what a student reads: outcome, status, points, sentence."""

from msgspec.structs import replace

from autograder.results import CheckResult, Outcome, Status
from autograder.sandbox.faults import Fault
from autograder.suite.checks import Card, WrongAnswer


class Verdict:
    """Turns the end of one check into its record."""

    def __init__(self, name: str, title: str, card: Card) -> None:
        self._name = name
        self._title = title
        self._card = card

    def passed(self) -> CheckResult:
        """Full points."""
        return self._result(Outcome.PASSED, Status.OK, "", self._card.points)

    def skipped(self, fault: Fault) -> CheckResult:
        """No points: what the check stands on did not pass."""
        message = self._say(fault.message, fault.public)
        return self._result(Outcome.SKIPPED, fault.status, message)

    def unusable(self) -> CheckResult:
        """No points: the check broke on an answer so odd, while the solution passes."""
        message = (
            f"The answer can't be used: it is not of the kind that {self._card.exercise} gives."
        )
        return self._result(Outcome.FAILED, Status.BAD_OUTPUT, message)

    def of(self, error: BaseException) -> CheckResult | None:
        """No points, and why; ``None`` if *error* is not the student's doing for certain."""
        if isinstance(error, WrongAnswer):
            message = self._say(error.message, error.public)
            result = self._result(Outcome.FAILED, error.status, message)
            return result if self._card.layer.hidden else replace(result, grid=error.grid)
        if isinstance(error, Fault):
            message = self._say(error.message, error.public)
            return self._result(Outcome.ERRORED, error.status, message)
        return None

    def _say(self, message: str, public: str) -> str:
        return public if self._card.layer.hidden else message

    def _result(
        self, outcome: Outcome, status: Status, message: str, points: float = 0.0
    ) -> CheckResult:
        return CheckResult(
            name=self._name,
            title=self._title,
            outcome=outcome,
            status=status,
            points=points,
            max_points=self._card.points,
            message=message,
        )
