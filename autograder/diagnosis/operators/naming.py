"""Turns programs that explain failed checks into diagnoses."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.kinds import KINDS, UNLIKELY
from autograder.diagnosis.mistakes.rewriting import Rewrite
from autograder.diagnosis.mistakes.vocabulary import alternatives
from autograder.diagnosis.operators.programs import Key
from autograder.results import SEVERAL, TOGETHER, Diagnosis, title_of

T = TypeVar("T")
MAX_NAMED = 3  # kinds in one sentence; of more the sentence would be no help


class Found(NamedTuple):
    """A program, and the names of the failed checks that it explains.

    *stopped* names those in which it raised the same exception, and nothing else could be compared;
    *undecided* those in which it is too close to tell.
    """

    key: Key
    explained: frozenset[str]
    stopped: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()

    @property
    def rank(self) -> tuple[int, int]:
        """How much it explains; of two that explain as much, the one that leaves less open."""
        return len(self.explained), -len(self.undecided)


def first_of_each_group(found: Sequence[Found], rewrites: Sequence[Rewrite]) -> list[Found]:
    """Keep the first of each group."""
    return _first_of_each(
        found, lambda one: tuple(sorted(rewrites[number].group for number in one.key))
    )


def name_one(found: Sequence[Rewrite]) -> Diagnosis | None:
    """Name one mistake, or several; of many the kind that they share."""
    kinds = list(dict.fromkeys(one.kind for one in found))
    if len(found) > MAX_NAMED:
        if len(kinds) > 1:
            return None
        found = [_common(found[0])]
    return Diagnosis(
        SEVERAL.join(kinds),
        alternatives([one.explanation for one in found], " ", more=False),
        found[0].question,
        alternatives([title_of(one.explanation) for one in found], ". ", more=False),
    )


def name_stopped(found: Sequence[Rewrite], *, refused: bool) -> Diagnosis | None:
    """Name the mistakes that raise the same exception: no other number tells them from others.

    *refused* says that the code itself raised it, as a refusal; ``None`` without a mistake.
    """
    likely = one_of_each_group(_likely(found, refused=refused))
    named = name_one(likely) if likely else None
    if named is None:
        return None
    opening = "Same error as: "
    sentence, title = f"{opening}{named.explanation}", f"{opening}{named.title}"
    return Diagnosis(named.misconception, sentence, named.hint, title)


def _likely(found: Sequence[Rewrite], *, refused: bool) -> Sequence[Rewrite]:
    """Keep the likely kinds, if there are any: an exception says less than numbers do.

    Where the code refuses what is right, just that is certain, whatever the reason is.
    """
    if refused:
        return [one for one in found if one.kind == "check_wrong"] or found
    return [one for one in found if one.kind not in UNLIKELY] or found


def one_of_each_group(found: Iterable[Rewrite]) -> list[Rewrite]:
    """Keep the first of each group."""
    return _first_of_each(found, lambda one: one.group)


def _first_of_each(found: Iterable[T], group: Callable[[T], Hashable]) -> list[T]:
    firsts: dict[Hashable, T] = {}
    for one in found:
        firsts.setdefault(group(one), one)
    return list(firsts.values())


def name_misconception(item: Misconception) -> Diagnosis:
    """Name one misconception."""
    return Diagnosis(item.id, item.explanation, item.question, item.title)


def merge(same: Sequence[Rewrite]) -> Diagnosis | None:
    """Name one mistake with the sentences of all of *same*; ``None`` if they are too many."""
    return name_one(one_of_each_group(same))


def name_each(
    names: Iterable[str], pair: Sequence[Diagnosis], alone: Sequence[Collection[str]]
) -> dict[str, Diagnosis]:
    """Name both mistakes in each of these checks, or the one that *alone* explains it."""
    both = name_both(*pair)
    named = {}
    for name in names:
        single = [one for one, explained in zip(pair, alone, strict=True) if name in explained]
        named[name] = single[0] if len(single) == 1 else both
    return named


def name_both(first: Diagnosis, second: Diagnosis) -> Diagnosis:
    """Name two mistakes, the one to mend first in front."""
    return Diagnosis(
        TOGETHER.join((first.misconception, second.misconception)),
        f"Two mistakes show here together. First: {first.explanation} Then: {second.explanation}",
        first.hint,
        f"Two mistakes: {first.title}. {second.title}",
    )


def _common(rewrite: Rewrite) -> Rewrite:
    """Return *rewrite* with the sentences of its kind."""
    words = KINDS[rewrite.kind]
    return rewrite._replace(explanation=words.explanation, question=words.question)
