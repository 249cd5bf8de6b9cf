"""What an answer says: whether enough that agreement is no chance, and whether two are alike."""

import re
from typing import Any

from torch import Tensor

from autograder.diagnosis.observation import Failure, Observation, ended_alike, same_step
from autograder.diagnosis.operators.vocabulary import role_of_name
from autograder.sandbox.faults import Raised

MIN_ENTRIES = 4  # of an answer that says something; fewer numbers agree by chance


def last_answer(failure: Failure) -> Any:
    """Return the last answer of the student's code in a failed check."""
    return failure.observation.answers[-1][1]


def tells(answer: Any) -> bool:
    """Whether *answer* holds enough different finite numbers that agreement is no chance."""
    match answer:
        case Tensor():
            numbers = answer.detach().flatten()
            finite = numbers[numbers.isfinite()]
            return len(finite) >= MIN_ENTRIES and bool((finite != finite[0]).any())
        case dict():
            return any(map(tells, answer.values()))
        case list() | tuple():
            return any(map(tells, answer))
    return False


def same_answers(seen: Observation, solved: Observation) -> bool:
    """Whether all answers are the solution's: the check failed for something beside them."""
    if len(seen.answers) > len(solved.answers):
        return False
    pairs = zip(seen.answers, solved.answers, strict=False)
    return all(
        verb == right[0] and same_step(verb, answer, right[1], right)
        for (verb, answer), right in pairs
    )


def same_form(mine: Any, theirs: Any) -> bool:
    """Whether two answers have the same form: types, shapes, and NaN only where both have it."""
    match mine, theirs:
        case Tensor(), Tensor():
            return mine.shape == theirs.shape and not bool((mine.isnan() & ~theirs.isnan()).any())
        case dict(), dict():
            return all(same_form(mine[key], theirs[key]) for key in mine.keys() & theirs.keys())
    return None in (mine, theirs) or type(mine) is type(theirs)  # of no gradient there is no form


def entries(answer: Any) -> int:
    """Count the numbers of *answer*."""
    return answer.numel() if isinstance(answer, Tensor) else 1


def refuses(error: BaseException | None) -> bool:
    """Whether a ``raise ValueError`` in the code itself ended it, as its quoted line says."""
    if not isinstance(error, Raised) or error.kind != "ValueError":
        return False
    return error.refusal and ": raise " in error.message.partition("\n")[0]


def same_end(left: BaseException | None, right: BaseException | None) -> bool:
    """Whether two runs ended alike; each may refuse in its own words."""
    return ended_alike(left, right) or (refuses(left) and refuses(right))


def may_be_same_line(left: BaseException | None, right: BaseException | None) -> bool:
    """Whether the lines that two exceptions quote can be about the same step.

    Names of quantities decide: a product of weights and values is none of queries and keys. A line
    without such a name may be any.
    """
    mine, theirs = _quoted_roles(left), _quoted_roles(right)
    return not mine or not theirs or bool(mine & theirs)


def _quoted_roles(error: BaseException | None) -> set[str]:
    quoted = str(getattr(error, "message", "")).partition("\n")[0].partition(": ")[2]
    step = quoted.partition(" = ")[2] or quoted  # what is computed, not what it is called
    return {role for name in re.findall(r"\w+", step) if (role := role_of_name(name))}
