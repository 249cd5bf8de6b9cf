"""Finds a slip: a mistake that is the only fault of an exercise."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autograder.diagnosis.answers import more_than_a_constant
from autograder.diagnosis.live import LiveSource
from autograder.diagnosis.observation import Failure, does_not_end
from autograder.diagnosis.ranking import Candidate, Explanation
from autograder.results import Status
from autograder.suite.checks import Layer, WrongAnswer, layer_of


class Slip(NamedTuple):
    """A mistake that is the only fault of an exercise, because it explains every answer.

    *ids* and *sentences* belong to the mistake, or to several mistakes with the same answers.
    *checks* are the checks that it fails. In those that are *unproved*, there may be other
    mistakes, too.
    """

    ids: frozenset[str]
    sentences: frozenset[str]
    checks: frozenset[str]
    unproved: frozenset[str] = frozenset()


def find_slip(
    source: LiveSource, exercise: str, found: Explanation, failures: Sequence[Failure]
) -> Slip | None:
    """Return the slip that explains all *failures*, or None.

    The solution with this mistake passes the checks that the code passed, and ends the others as
    the code did, so nothing else is wrong. Forbidden functions, endless code, and constants such as
    zeros, which show no computation, are not slips.
    """
    layers = {failure.item.name: layer_of(failure.item) for failure in failures}
    if len(found.programs) != 1 or any(map(_breaks_a_rule, failures)) or _tells_nothing(failures):
        return None
    [programs] = found.programs
    if not all(len(one.key) == 1 and _explains_all(one, layers) for one in programs):
        return None
    mistakes = [source.programs(exercise).mistake(one.key[0]) for one in programs]
    ids = frozenset(mistake.id for mistake in mistakes)
    sentences = frozenset(mistake.explanation for mistake in mistakes)
    unproved = frozenset(one.item.name for one in failures if _may_break_a_rule(source, one))
    return Slip(ids, sentences, frozenset(layers), unproved)


def _breaks_a_rule(failure: Failure) -> bool:
    error = failure.observation.error
    return isinstance(error, WrongAnswer) and error.status is Status.FORBIDDEN


def _tells_nothing(failures: Sequence[Failure]) -> bool:
    """Whether the code did not end, or every last answer is a constant."""
    seen = [failure.observation for failure in failures]
    last = [one.answers[-1][1] for one in seen if one.answers]
    only_constants = bool(last) and not any(map(more_than_a_constant, last))
    return only_constants or any(does_not_end(one.error) for one in seen)


def _may_break_a_rule(source: LiveSource, failure: Failure) -> bool:
    """Whether a check ended before it had tested everything that it grades."""
    all_looked_at = (
        failure.observation.methods >= source.solved_check(failure.item).observation.methods
    )
    return layer_of(failure.item) is Layer.FORBIDDEN and not all_looked_at


def _explains_all(found: Candidate, failed: Mapping[str, Layer | None]) -> bool:
    """Whether *found* explains all answers; with exceptions, it must also explain a probe's.

    An exception hides the code after it.
    """
    probed = any(failed.get(name) is Layer.PROBE for name in found.explained)
    return failed.keys() <= (found.named if probed else found.explained)
