"""Proof by mutation: the small mistakes in a solution that its hidden suite does not notice."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from autograder.authoring.mutants import Mutant, mutants
from autograder.course import Course, Stage, read_toml
from autograder.errors import GraderError
from autograder.grading.grade import grade
from autograder.submission import Code, Submission

EQUIVALENTS = "equivalents.toml"


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change that changes nothing that an exercise promises, and why."""

    was: str
    becomes: str
    reason: str


class EquivalentsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``equivalents.toml`` as written."""

    format_version: Literal[1]
    equivalent: tuple[Equivalent, ...] = ()


class Trial(NamedTuple):
    """How one stage's suite fared."""

    stage: str
    killed: int
    explained: tuple[Mutant, ...]
    survived: tuple[Mutant, ...]
    unneeded: tuple[Equivalent, ...]  # listed, but killed or gone

    @property
    def share(self) -> float:
        """Killed share of the mutants that are not equivalent."""
        real = self.killed + len(self.survived)
        return self.killed / real if real else 1.0


def try_stage(course: Course, stage: Stage) -> Trial:
    """Judge every mutant of the stage's solution."""
    made = list(mutants(stage.solution.read_text("utf-8"), str(stage.solution)))
    alive = _survivors(course, stage, made)
    listed = _equivalents(stage)
    known = {(item.was, item.becomes) for item in listed}
    explained = tuple(mutant for mutant in alive if (mutant.was, mutant.becomes) in known)
    survived = tuple(mutant for mutant in alive if (mutant.was, mutant.becomes) not in known)
    needed = {(mutant.was, mutant.becomes) for mutant in explained}
    unneeded = tuple(item for item in listed if (item.was, item.becomes) not in needed)
    return Trial(stage.name, len(made) - len(alive), explained, survived, unneeded)


def _survivors(course: Course, stage: Stage, made: Sequence[Mutant]) -> list[Mutant]:
    submissions = [
        Submission(
            student=f"mutant {number}",
            stage=stage.name,
            code=Code(kind="module", cells=(mutant.text.encode(),), label=stage.solution.name),
        )
        for number, mutant in enumerate(made)
    ]
    results = grade(course, submissions, diagnose=False).submissions
    for result in results:
        if result.score is None:
            msg = f"{stage.name}, {result.student}: {result.message}"
            raise GraderError(msg)
    return [
        mutant
        for mutant, result in zip(made, results, strict=True)
        if result.score == result.max_score
    ]


def _equivalents(stage: Stage) -> tuple[Equivalent, ...]:
    path = stage.hidden / EQUIVALENTS
    return read_toml(path, EquivalentsFile).equivalent if path.is_file() else ()
