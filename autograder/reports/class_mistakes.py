"""Counts the mistakes of a class, with the students and exercises of each mistake."""

from collections import Counter, defaultdict
from typing import Final

import msgspec
from msgspec.structs import replace

from autograder.results import WRITTEN_OUT, Diagnosis, SubmissionResult

MAX_LINKED: Final = 30  # students linked for one mistake; the page's search finds the others


class StudentLink(msgspec.Struct, frozen=True):
    """A link to an exercise on a student's page: the row of the student, the exercise's number."""

    row: int
    exercise: int


class MistakeCount(msgspec.Struct, frozen=True):
    """Counts the students and checks with one mistake, and has a question about it for the class.

    *exercises* maps the names of the exercises in which it was found to their numbers.
    """

    title: str
    beyond_title: str
    question: str
    students: int
    checks: int
    exercises: dict[str, int]
    links: tuple[StudentLink, ...] = ()


class MistakeTally:
    """Counts mistakes by explanation, so that one in `v1` and `v2` of a module is the same mistake.

    If a diagnosis names two mistakes, each of them is counted.
    """

    def __init__(self) -> None:
        self._named: dict[str, Diagnosis] = {}
        self._checks: Counter[str] = Counter()
        self._exercises: dict[str, dict[str, int]] = defaultdict(dict)
        self._links: dict[str, list[StudentLink]] = defaultdict(list)  # one for each student

    def add(self, row: int, result: SubmissionResult) -> None:
        """Count the mistakes of *result*, which is in *row*."""
        for number, exercise in enumerate(result.exercises, 1):
            for check in exercise.checks:
                for mistake in check.diagnosis.parts if check.diagnosis else ():
                    self._add(row, number, exercise.name, mistake)

    def _add(self, row: int, number: int, exercise: str, mistake: Diagnosis) -> None:
        explanation = mistake.explanation.partition(WRITTEN_OUT)[0]
        known = self._named.get(explanation)
        if known is None or not known.hint:
            self._named[explanation] = replace(mistake, explanation=explanation)
        self._checks[explanation] += 1
        self._exercises[explanation].setdefault(exercise, number)
        links = self._links[explanation]
        if not links or links[-1].row != row:
            links.append(StudentLink(row, number))

    def most_common(self) -> list[MistakeCount]:
        """Return all mistakes, those of most students first."""
        mistakes = [
            MistakeCount(
                title=named.headline,
                beyond_title=named.beyond_headline,
                question=named.hint,
                students=len(self._links[key]),
                checks=self._checks[key],
                exercises=self._exercises[key],
                links=tuple(self._links[key][:MAX_LINKED]),
            )
            for key, named in self._named.items()
        ]
        return sorted(mistakes, key=lambda item: (-item.students, -item.checks, item.title))
