"""Decides whether the source of a student admits what the sentence about a mistake says."""

import re
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from autograder.diagnosis.conditions import NO, broken_in
from autograder.diagnosis.contract import Contract, has_words
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import Submitted
from autograder.diagnosis.student_code import StudentCode, WrittenCode
from autograder.results import WRITTEN_OUT, title_of

NAME: Final = re.compile(r"`(\w+)`")
# Words about the exercise that is written out, and not about its steps.
RESULT: Final = re.compile(r"\b[Tt]he results?\b(?! of `)|returned|this exercise|docstring")
PRODUCT: Final = ("multiplies matrices",)  # where only names are swapped


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

    @property
    def written(self) -> WrittenCode:
        """The source of the exercise."""
        return self.code.written(self.exercise)

    def refusal(self, mistake: Mistake, *, strict: bool = False) -> str:
        """Return what the source or the stub lacks for the sentence about *mistake*, or "".

        If not *strict*, its other sentence is enough.
        """
        code = self.written
        if not (mistake.written or self._sentence(mistake)):
            return "the quantity in the sentence"
        if not self.is_elsewhere(mistake):
            return "" if mistake.otherwise and not strict else broken_in(code, mistake.when)
        conditions = mistake.when or mistake.steps or PRODUCT
        if not {*NAME.findall(mistake.explanation)} <= code.mentions.keys():
            return "a name in the sentence"
        if RESULT.search(mistake.explanation):
            return f"the result of {mistake.exercise}"
        return broken_in(code, conditions) if self._is_copied(mistake) else "written-out steps"

    def is_elsewhere(self, mistake: Mistake) -> bool:
        """Whether *mistake* is known from an exercise that this one uses."""
        return mistake.exercise not in {"", self.exercise}

    def _is_copied(self, mistake: Mistake) -> bool:
        """Whether the source may contain the steps of the exercise from which *mistake* is known.

        What is called has the mistake itself, unless it is right: then the source may take the
        same steps besides, of which a missing one shows nothing. A function that gets a module has
        no copy of its steps.
        """
        if mistake.exercise in self.written.calls:
            shown = any(not one.startswith(NO) for one in mistake.when or mistake.steps)
            return mistake.exercise in self.right and (shown or self._is_class(mistake.exercise))
        return self._is_class(self.exercise) or not self._is_class(mistake.exercise)

    def _is_class(self, exercise: str) -> bool:
        return "" not in self.contract(exercise).signatures

    def _sentence(self, mistake: Mistake) -> str:
        """Return the sentence without quantities that the exercise does not have, or ""."""
        known = self.contract(mistake.exercise or self.exercise).quantities
        return mistake.explanation if has_words(mistake.explanation, known) else mistake.plain

    def worded(self, mistake: Mistake) -> Mistake:
        """Return *mistake* in the words of the exercise, and with its place if it is a copy."""
        said = mistake.explanation if mistake.written else self._sentence(mistake)
        if mistake.otherwise and broken_in(self.written, mistake.when):
            said, mistake = mistake.otherwise, mistake._replace(when=())
        if said != mistake.explanation:
            usual = mistake.group.endswith(mistake.explanation)
            group = f"{mistake.id} {said}" if usual else mistake.group
            mistake = mistake._replace(explanation=said, title=title_of(said), group=group)
        mistake = mistake.within_checks()
        if not self.is_elsewhere(mistake):
            return mistake
        if mistake.exercise in self.written.calls and not self._is_class(mistake.exercise):
            return mistake  # its steps are taken besides
        where = f"{WRITTEN_OUT}`{mistake.exercise}` are written out in `{self.exercise}`.)"
        return mistake._replace(explanation=f"{mistake.explanation}{where}")
