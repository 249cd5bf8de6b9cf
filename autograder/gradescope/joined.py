"""Several stages in one assignment: one submission, the stages' points added up."""

from collections.abc import Iterator, Sequence

import msgspec

from autograder.course import Stage
from autograder.results import ExerciseResult, Results, Status, SubmissionResult, add


def joined(results: Results, stages: Sequence[Stage]) -> Results:
    """Return *results* as one submission to all *stages*; what was not handed in earns nothing.

    A stage without a grade leaves the whole without one.
    """
    if len(stages) == 1:
        return results
    found = results.submissions
    given = {result.stage for result in found}
    absent = [stage.name for stage in stages if stage.name not in given]
    message = [f"{result.stage or 'All'}: {result.message}" for result in found if result.message]
    message += [f"Not handed in: {', '.join(absent)}."] if absent else []
    whole = SubmissionResult(
        student=found[0].student,
        stage="",
        status=_status(found),
        score=_score(found),
        max_score=None,
        message="\n".join(message),
        notices=tuple(notice for result in found for notice in result.notices),
        ignored=tuple(dict.fromkeys(name for result in found for name in result.ignored)),
        exercises=tuple(exercise for result in found for exercise in _named(result)),
    )
    return msgspec.structs.replace(results, submissions=(whole,))


def _status(found: Sequence[SubmissionResult]) -> Status:
    statuses = [result.status for result in found]
    worst = (Status.GRADER_ERROR, Status.GRADED)  # one fault of ours, or one graded stage, decides
    return next((status for status in worst if status in statuses), statuses[0])


def _score(found: Sequence[SubmissionResult]) -> float | None:
    scores = [result.score for result in found]
    return None if None in scores else add(score for score in scores if score is not None)


def _named(result: SubmissionResult) -> Iterator[ExerciseResult]:
    """Tell two stages' exercises of one name apart."""
    for exercise in result.exercises:
        yield msgspec.structs.replace(exercise, name=f"{result.stage} {exercise.name}")
