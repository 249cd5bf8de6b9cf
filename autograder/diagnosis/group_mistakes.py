"""Adds the mistakes of those groups that only some stages have to the usual ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from autograder.course import Stage
from autograder.course_file import Group
from autograder.diagnosis import counterpart_mistakes, plain_mistakes
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.kinds import wording
from autograder.diagnosis.mistakes.rewriting import Rewrite, Scope
from autograder.diagnosis.stage_mistakes import ExerciseMistakes, StageMistakes, Words

Rules = Sequence[Callable[[Scope], Iterator[Rewrite]]]
RULES: Final[Mapping[Group, Rules]] = {
    "plain": plain_mistakes.RULES,
    "counterpart": counterpart_mistakes.RULES,
}


class GroupMistakes(StageMistakes):
    """The known mistakes in the exercises of a stage that has more than the usual groups."""

    def __init__(self, stage: Stage, words: Words, bank: Sequence[Misconception] = ()) -> None:
        super().__init__(stage, words, bank)
        self._rules = [rule for group in RULES if group in stage.kinds for rule in RULES[group]]

    def of(self, exercise: str) -> ExerciseMistakes:
        """Return the mistakes in *exercise*, which are found once."""
        if exercise not in self._known:
            found = super().of(exercise)
            more = self._rewrites(found.code)
            self._known[exercise] = found._replace(rewrites=(*found.rewrites, *more))
        return self._known[exercise]

    def _rewrites(self, code: ExerciseCode) -> Iterator[Rewrite]:
        every = (one for scope in code.scopes for rule in self._rules for one in rule(scope))
        for rewrite in every:
            if said := wording(rewrite.kind, self._words):
                yield rewrite._replace(said=said) if rewrite.kind in self._words else rewrite


def mistakes_of(stage: Stage, words: Words, bank: Sequence[Misconception] = ()) -> StageMistakes:
    """Return the known mistakes of *stage*, with those of the groups that only some stages have."""
    has_more = not RULES.keys().isdisjoint(stage.kinds)
    return (GroupMistakes if has_more else StageMistakes)(stage, words, bank)
