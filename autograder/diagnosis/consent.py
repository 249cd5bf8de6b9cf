"""Decides whether the source of a student admits what the sentence about a mistake says."""

import re
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from autograder.diagnosis.conditions import broken_in
from autograder.diagnosis.contract import Contract, has_words
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import Submitted
from autograder.diagnosis.student_code import StudentCode
from autograder.results import WRITTEN_OUT, title_of

NAME: Final = re.compile(r"`(\w+)`")
# Words about the exercise that is written out, and not about its steps.
RESULT: Final = re.compile(r"\b[Tt]he results?\b|returned|this exercise|docstring")


class Consent(NamedTuple):
    """The source of a student and the stubs of the exercises, without which no mistake is named.

    *right* are the other exercises that passed every check.
    """

    code: StudentCode
    exercise: str
    contract: Callable[[str], Contract]
    right: Collection[str] = ()

    @classmethod
    def of(cls, submission: Submitted, contract: Callable[[str], Contract]) -> "Consent":
        """Return the consent of the source of *submission*."""
        return cls(submission.code, submission.exercise, contract, submission.right)

    def refusal(self, mistake: Mistake, *, strict: bool = False) -> str:
        """Return what the source or the stub lacks for the sentence about *mistake*, or "".

        If not *strict*, its other sentence is enough.
        """
        code = self.code.written(self.exercise)
        if not (mistake.written or self._sentence(mistake)):
            return "the quantity in the sentence"
        if not self.is_elsewhere(mistake):
            return "" if mistake.otherwise and not strict else broken_in(code, mistake.when)
        conditions = mistake.when or mistake.steps
        if not {*NAME.findall(mistake.explanation)} <= code.mentions.keys():
            return "a name in the sentence"
        if RESULT.search(mistake.explanation) or not conditions:
            return f"the result of {mistake.exercise}"
        return broken_in(code, conditions) if self._is_copied(mistake) else "written-out steps"

    def is_elsewhere(self, mistake: Mistake) -> bool:
        """Whether *mistake* is known from an exercise that this one uses."""
        return mistake.exercise not in {"", self.exercise}

    def _is_copied(self, mistake: Mistake) -> bool:
        """Whether the source may contain the steps of the exercise from which *mistake* is known.

        A function that is called has the mistake itself, or it does not. Of a right class, the
        source may use the layers only. A function that gets a module has no copy of its steps.
        """
        is_class = "" not in self.contract(mistake.exercise).signatures
        if mistake.exercise not in self.code.written(self.exercise).calls:
            return not is_class or "" not in self.contract(self.exercise).signatures
        return mistake.exercise in self.right and is_class

    def _sentence(self, mistake: Mistake) -> str:
        """Return the sentence without quantities that the exercise does not have, or ""."""
        known = self.contract(mistake.exercise or self.exercise).quantities
        return mistake.explanation if has_words(mistake.explanation, known) else mistake.plain

    def worded(self, mistake: Mistake) -> Mistake:
        """Return *mistake* in the words of the exercise, and with its place if it is a copy."""
        said = mistake.explanation if mistake.written else self._sentence(mistake)
        if mistake.otherwise and broken_in(self.code.written(self.exercise), mistake.when):
            said, mistake = mistake.otherwise, mistake._replace(when=())
        if said != mistake.explanation:
            usual = mistake.group.endswith(mistake.explanation)
            group = f"{mistake.id} {said}" if usual else mistake.group
            mistake = mistake._replace(explanation=said, title=title_of(said), group=group)
        mistake = mistake.within_checks()
        if not self.is_elsewhere(mistake):
            return mistake
        where = f"{WRITTEN_OUT}`{mistake.exercise}` are written out in `{self.exercise}`.)"
        return mistake._replace(explanation=f"{mistake.explanation}{where}")
