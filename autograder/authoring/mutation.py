"""Mutation testing: finds small mistakes in a solution that its hidden suite does not catch."""

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
    """A mutant that still does what the exercise asks, and the reason."""

    was: str
    becomes: str
    reason: str


class EquivalentsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of ``equivalents.toml``."""

    format_version: Literal[1]
    equivalent: tuple[Equivalent, ...] = ()


class MutationReport(NamedTuple):
    """Which mutants of a stage's solution its hidden suite killed."""

    stage: str
    killed: int
    equivalent: tuple[Mutant, ...]  # survived, as equivalents.toml says
    survived: tuple[Mutant, ...]
    unneeded: tuple[Equivalent, ...]  # listed, but killed or no longer generated

    @property
    def share(self) -> float:
        """Killed share of the mutants that are not equivalent."""
        real = self.killed + len(self.survived)
        return self.killed / real if real else 1.0


def mutate_stage(course: Course, stage: Stage) -> MutationReport:
    """Grade every mutant of the stage's solution."""
    generated = list(mutants(stage.solution.read_text("utf-8"), str(stage.solution)))
    survivors = _survivors(course, stage, generated)
    path = stage.hidden / EQUIVALENTS
    listed = read_toml(path, EquivalentsFile).equivalent if path.is_file() else ()
    known = {(item.was, item.becomes) for item in listed}  # the first two fields of a mutant
    equivalent = tuple(mutant for mutant in survivors if mutant[:2] in known)
    survived = tuple(mutant for mutant in survivors if mutant[:2] not in known)
    needed = {mutant[:2] for mutant in equivalent}
    unneeded = tuple(item for item in listed if (item.was, item.becomes) not in needed)
    killed = len(generated) - len(survivors)
    return MutationReport(stage.name, killed, equivalent, survived, unneeded)


def _survivors(course: Course, stage: Stage, generated: Sequence[Mutant]) -> list[Mutant]:
    submissions = []
    for number, mutant in enumerate(generated):
        code = Code(kind="module", cells=(mutant.text.encode(),), label=stage.solution.name)
        submissions.append(Submission(student=f"mutant {number}", stage=stage.name, code=code))
    results = grade(course, submissions, diagnose=False).submissions
    for result in results:
        if result.score is None:
            msg = f"{stage.name}, {result.student}: {result.message}"
            raise GraderError(msg)
    pairs = zip(generated, results, strict=True)
    return [mutant for mutant, result in pairs if result.score == result.max_score]
