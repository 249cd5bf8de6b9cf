"""Provides checks that forbid ready-made functions in the source and while the code runs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from autograder.course import READY_MADE_FILE
from autograder.course_file import read_toml
from autograder.errors import CourseError
from autograder.results import Status
from autograder.sandbox.static_names import (
    COMPUTED,
    TOO_MANY,
    Definition,
    Use,
    odd_words,
    reached_uses,
)
from autograder.suite.answer_values import Operators, read_operators
from autograder.suite.checks import WrongAnswer, expect, read_rules
from autograder.suite.student_proxy import Student

# Functions that give numbers to plain Python or to another library, where nothing is counted.
CONVERSIONS = frozenset(
    {"item", "tolist", "numpy", "__array__", "__float__", "__dlpack__", "_local_scalar_dense"}
)
MAX_WORDS = 3  # in a notice
LIBRARIES = ("torch", "numpy", "scipy", "jax", "tensorflow")
# These sentences contain nothing that the code answered, because hidden checks show them.
UNSEEN = (
    "The results are right, but the grader counted no {}, which they need. Write the code with "
    "functions of torch that it can count."
)
OPAQUE = (
    "The results are right, but the code runs an operator that is not torch's own, and the grader "
    "can count nothing in it. Write the code with functions of torch that it can count."
)
Answers = Sequence[tuple[str, Any]]  # of one check, each with its verb


class Need(NamedTuple):
    """A step that right code runs under a rule: a *word*, and the *names* of its functions."""

    word: str
    names: frozenset[str]


def ready_made(suite: str, name: str) -> frozenset[str]:
    """Return the list *name* of ``ready_made.toml``, which is next to the folder of *suite*.

    A suite calls ``ready_made(__file__, "softmax")``. `autograder release` writes the list in place
    of this call into the public suite. Raises ``CourseError`` if there is no such list.
    """
    return _list_named(name, Path(suite).parents[1] / READY_MADE_FILE, suite)


def _list_named(name: str, path: Path, user: str) -> frozenset[str]:
    lists = read_toml(path, dict[str, frozenset[str]])
    if name not in lists:
        msg = f"{path} has no list {name!r}, which {user} names. Lists: {', '.join(lists)}."
        raise CourseError(msg)
    return lists[name]


def needs(rules: Path, lists: Path) -> dict[str, Need]:
    """Return what the rules in the file *rules* need, by rule.

    Raises ``CourseError`` if the file *lists* lacks the list that a rule names.
    """
    words = {name: rule.needs for name, rule in read_rules(rules).items() if rule.needs}
    return {name: Need(word, _list_named(word, lists, str(rules))) for name, word in words.items()}


def missing_evidence(rules: Iterable[str], needed: Mapping[str, Need], answers: Answers) -> str:
    """Return why no answer shows that the code keeps one of *rules*; empty if one does.

    In code that the worker can't see into, such as a custom operator, nothing is counted, and
    neither is a forbidden function. Code that converts tensors may compute in plain Python.
    """
    wanted = [needed[rule] for rule in rules if rule in needed]
    counted = [read_operators(answer, ()) for verb, answer in answers if verb == "operators"]
    if wanted and any(one.is_opaque for one in counted):
        return OPAQUE
    ran = frozenset().union(*(one.names for one in counted))
    if not counted or ran & CONVERSIONS:
        return ""
    return next((UNSEEN.format(need.word) for need in wanted if not ran & need.names), "")


def avoids(
    student: Student,
    exercise: str,
    names: Collection[str],
    why: str,
    *,
    below: Collection[str] = (),
) -> None:
    """Fail the check if *exercise*, or code that it calls, uses one of *names* in its source.

    A name counts only if it was imported or is an attribute, because the student's own helpers may
    have any name. *why* is the second sentence of the message. If the source shows only that a name
    may be used, the check does not fail, and the instructor gets a notice. If *exercise* calls
    exercises *below*, their uses are left out.
    """
    own = student.methods_in_source
    for use in _named(_uses(student, exercise, below), names):
        if not _is_own(use, own):
            shown = use.name.replace("?.", "….")
            last = use.name.rpartition(".")[2]
            sentence = f"Line {use.line} of your file uses {shown}. {why}"
            public = f"Line {use.line} of your file uses {last}. {why}"
            raise WrongAnswer(Status.FORBIDDEN, public, message=sentence)
    for use in _named(_uses(student, exercise, below, possible=True), names):
        owner, _, last = use.name.rpartition(".")
        if owner != "self" or not own.intersection((last, use.name)):
            student.doubts[exercise] = (
                f"Line {use.line} of the file contains the name {last}, which {exercise} must not "
                f"use. The source does not show whether {exercise} uses it, so an instructor "
                "should read the code."
            )
            return


def avoids_itself(
    student: Student,
    exercise: str,
    names: Collection[str],
    why: str,
    ran: Operators,
    below: Mapping[str, Operators],
) -> None:
    """Fail the check if *exercise* uses one of *names* in its source, or if one of them *ran*.

    *below* maps exercises that it calls to what they run alone; that does not count.
    """
    avoids(student, exercise, names, why, below=below)
    avoids_running(ran, {*names}.difference(*(one.names for one in below.values())), why)


def _uses(
    student: Student, exercise: str, below: Collection[str], *, possible: bool = False
) -> Iterator[Use]:
    """Yield the uses of *exercise* without those *below*, but with those of common helpers."""
    seen, waiting = {*below, exercise}, [exercise]
    for name in waiting:  # the loop extends the list
        uses = student.uses(name, possible=possible)
        called = [lower for lower in below if any(use.name == lower for use in uses)]
        lower = {use for one in called for use in student.uses(one, possible=possible)}
        own = [use for use in uses if use not in lower]
        yield from own
        new = dict.fromkeys(use.name for use in own if use.name not in seen) if lower else {}
        seen |= {*new}
        waiting += new


def _named(uses: Iterable[Use], names: Collection[str]) -> Iterator[Use]:
    """Yield the *uses* of *names* by an attribute or import, without further attributes."""
    for use in uses:
        parts = use.name.split(".")
        at = next((index for index, part in enumerate(parts) if index and part in names), 0)
        if at:
            yield Use(use.line, ".".join(parts[: at + 1]))


def _is_own(use: Use, own: Collection[str]) -> bool:
    """Whether *use* may be one of the student's *own* methods, so that the source can't decide."""
    owner, _, last = use.name.rpartition(".")
    return owner == "self" or (last in own and owner.partition(".")[0] not in LIBRARIES)


def doubts_about(
    definitions: Sequence[Definition], exercises: Sequence[str], known: Collection[str] = ()
) -> Iterator[str]:
    """Yield notices if the source hides what *exercises* call; *known* words are the course's."""
    open_ = [name for name in exercises if looks_up_names(definitions, name)]
    if open_:
        yield (
            f"The code may look up names while it runs (getattr, eval or the like), so the source "
            f"does not show which functions run in {', '.join(open_)}. An instructor should read "
            "the code."
        )
    words = [use for use in odd_words(definitions) if use.name not in known] if exercises else []
    shown = ", ".join(f"`{use.name}` in line {use.line}" for use in words[:MAX_WORDS])
    if any(use.name == TOO_MANY for use in words):
        shown = "more names than the grader reads"
    if shown:
        yield (
            f"The file contains {shown}. Modules of this stage do not need that, so an instructor "
            "should read the code."
        )


def looks_up_names(definitions: Sequence[Definition], exercise: str) -> bool:
    """Whether the source of *exercise* does not show which functions it calls."""
    uses = reached_uses(definitions, exercise, possible=True)
    return any(use.name.rpartition(".")[2] == COMPUTED for use in uses)


def avoids_running(ran: Operators, names: Collection[str], why: str) -> None:
    """Fail the check if a torch function or operator named in *names* ran."""
    for name in sorted(ran.names & set(names)):
        raise WrongAnswer(Status.FORBIDDEN, f"Your code runs torch's own {name}. {why}")


def keeps_operators(few: Operators, many: Operators, why: str) -> None:
    """Fail the check if more operators run on the longer input, or if none runs on either.

    Those of other exercises count if the code calls them.
    """
    _requires_work(few, many, why)
    here = f"in this exercise or in what it calls. {why}"
    counts = f"{few.total} tensor operations run on a short input and {many.total} on a longer one"
    public = f"More tensor operations run on a longer input than on a short one, {here}"
    expect(many.total <= few.total, public, Status.FORBIDDEN, message=f"{counts}, {here}")


def keeps_products(few: Operators, many: Operators, width: int, why: str) -> None:
    """Fail the check if products with this inner *width* give more numbers in the second call.

    This finds repeated projections if no other size equals the width of the check's inputs.
    """
    _requires_work(few, many, why)
    counts = tuple(ran.products_over(width) for ran in (few, many))
    public = f"The second call computes more products than the first. {why}"
    message = (
        f"Products with vectors of size {width} compute {counts[0]} numbers in the first call and "
        f"{counts[1]} in the second. {why}"
    )
    expect(counts[1] <= counts[0], public, Status.FORBIDDEN, message=message)


def keeps_lookups(few: Operators, many: Operators, table: tuple[int, int], why: str) -> None:
    """Fail the check if vectors are looked up more often in the second call, or never in both.

    *table* is the number of rows and columns of the table, which no other tensor of the check has.
    """
    _requires_work(few, many, why)
    counts = few.lookups(table), many.lookups(table)
    public = f"The longer call looks up the vectors of the same tokens again. {why}"
    message = (
        f"The table is read {counts[0]}x in a short call and {counts[1]}x in a longer one. {why}"
    )
    expect(counts[0] > 0, f"No vector is looked up. {why}", Status.FORBIDDEN)
    expect(counts[1] <= counts[0], public, Status.FORBIDDEN, message=message)


def keeps_results_below(ran: Operators, size: int, why: str) -> None:
    """Fail the check if an operator gives a result of *size* or more numbers, or if none runs.

    Views and slices of a tensor are not results.
    """
    _requires_work(ran, ran, why)
    message = f"An operation returns a result of {ran.largest} numbers. {why}"
    expect(ran.largest < size, f"A result is too large. {why}", Status.FORBIDDEN, message=message)


def _requires_work(few: Operators, many: Operators, why: str) -> None:
    if few.is_idle and many.is_idle:
        sentence = f"Your code ran no tensor operation. {why}"
        raise WrongAnswer(Status.FORBIDDEN, sentence)
