"""Turns mistakes that explain failed checks into diagnoses.

A sentence that something has no effect is true of the checks that were run: with other sizes, a
limit that comes too late has one. So it speaks of the checks unless the source lacks the step.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from autograder.diagnosis.mistake_texts import MistakeText
from autograder.diagnosis.mistakes.kinds import (
    KINDS,
    UNLIKELY,
    Wording,
    conditions_at,
    marks_at,
    otherwise_at,
    plain_at,
)
from autograder.diagnosis.vocabulary import alternatives, capital
from autograder.results import FIRST, SECOND, SEVERAL, TOGETHER, Diagnosis, title_of

MAX_NAMED = 3  # mistakes in one sentence; more would not help
IN_CHECKS: Final = "In the checks, "
IN_SOME_CHECKS: Final = "In some of the checks, "
ABSENCE: Final = re.compile(r"[^,:;]*\b(?:no effect|nothing|never)\b", re.IGNORECASE)
CONSEQUENCE: Final = re.compile(r", so (?!that\b)(?![^;.]*\bmust\b)[^;.]*")
# That something has no effect may be so of one step only, if another mistake reads it elsewhere.
NOWHERE: Final = re.compile(r"(?:In (?:some of )?the checks, )?(`\w+`) has no effect on any result")
CASE: Final = re.compile(r"(?:If|With|Without|In|For|When|Where)\b")
# Conditions that most code with several axes fulfills.
COMMON: Final = frozenset({"joins", "loops", "multiplies matrices", "reshapes", "slices"})


class Mistake(NamedTuple):
    """A misconception, which is *written* by an author, or a kind of mistake.

    If several with the same *group* fit equally well, only the first is named. It is in the code of
    *exercise*, and is named only if a student's source fulfills the conditions *when*. If the
    source fulfills those in *seen*, the mistake needs no other evidence. In an exercise that uses
    *exercise*, the source must contain all operations in *steps*. *plain* is the sentence for
    exercises without the quantities in *explanation*, and *otherwise* that about a source that does
    not fulfill *when*. If it is *in_all*, it must explain every wrong answer. An
    *effect* of many mistakes is named alone.
    """

    id: str
    explanation: str
    question: str
    title: str
    group: str
    written: bool = False
    exercise: str = ""
    when: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    plain: str = ""
    otherwise: str = ""
    in_all: bool = False
    effect: bool = False

    @classmethod
    def written_as(cls, name: str, texts: MistakeText, exercise: str) -> "Mistake":
        """Return the misconception *name* of *exercise* with the *texts* of its author."""
        words = texts.explanation, texts.question, texts.headline
        made = cls(name, *words, group=name, written=True, exercise=exercise)
        return made._replace(when=(*texts.when, *texts.seen), seen=texts.seen)

    @classmethod
    def of_kind(
        cls, key: str, words: Mapping[str, str], wording: Wording, group: str, exercise: str
    ) -> "Mistake":
        """Return the kind of mistake at *key* in *exercise*, as *wording* describes it.

        *words* fill the placeholders of its conditions.
        """
        made = cls(key.partition(".")[0], *wording, title_of(wording.explanation), group)
        when, plain = conditions_at(key, words), plain_at(key)
        otherwise = otherwise_at(key, words)
        made = made._replace(exercise=exercise, when=when, plain=plain, otherwise=otherwise)
        in_all, effect = marks_at(key)
        return made._replace(in_all=in_all, effect=effect)

    @property
    def is_in_source(self) -> bool:
        """Whether a condition on the source speaks for the mistake, as little code fulfills it."""
        return any(one not in COMMON for one in self.when)

    @property
    def is_about_case(self) -> bool:
        """Whether it is about a part of the inputs, as "If *scale* is None, …" is."""
        return CASE.match(self.explanation) is not None

    def within_checks(self) -> "Mistake":
        """Limit a sentence about a missing effect to the checks, unless the source shows it."""
        if any(one.startswith("no ") for one in self.when):
            return self
        said, title = map(_in_checks, (self.explanation, self.title))
        return self._replace(explanation=said, title=title)


def _in_checks(text: str) -> str:
    """Begin *text* with "In the checks" if its first clause says that something has no effect."""
    if text.startswith(IN_CHECKS) or not ABSENCE.match(text):
        return text
    first = text.split(" ", 1)[0]
    is_word = first.istitle()  # and no name of the code
    return f"{IN_CHECKS}{text[0].lower() if is_word else text[0]}{text[1:]}"


def in_some_checks(diagnosis: Diagnosis) -> Diagnosis:
    """Limit a sentence about the checks to some of them, because others contradict it.

    One about what is always so needs no limit.
    """
    texts = diagnosis.explanation, diagnosis.title
    if " always " in diagnosis.explanation:
        said, title = (capital(one.removeprefix(IN_CHECKS)) for one in texts)
    else:
        said, title = (one.replace(IN_CHECKS, IN_SOME_CHECKS) for one in texts)
    return replace(diagnosis, explanation=said, title=title)


def in_brief(diagnosis: Diagnosis) -> Diagnosis:
    """Say less of the mistake: another one may end its consequences, and give an effect back."""
    texts = (CONSEQUENCE.sub("", one) for one in (diagnosis.explanation, diagnosis.title))
    said, title = (NOWHERE.sub(r"In one step, \1 has no effect", one) for one in texts)
    return replace(diagnosis, explanation=said, title=title)


def one_of_each_group(found: Iterable[Mistake]) -> list[Mistake]:
    """Return the first mistake of each group."""
    firsts: dict[str, Mistake] = {}
    for mistake in found:
        firsts.setdefault(mistake.group, mistake)
    return list(firsts.values())


def name_alike(found: Iterable[Mistake], *, sure: bool = True) -> Diagnosis | None:
    """Name one mistake, several with the same answers, or the kind that many share.

    If these are not *sure*, another mistake may give the same answers as several of them.
    """
    mistakes = one_of_each_group(found)
    mistakes = [one for one in mistakes if one.effect] or mistakes
    names = list(dict.fromkeys(mistake.id for mistake in mistakes))
    more = len(mistakes) > 1 and not sure
    if len(mistakes) > MAX_NAMED:
        more = mistakes[0].written
        if not more and len(names) > 1:
            return None
        mistakes = mistakes[:MAX_NAMED] if more else [_common(mistakes[0])]
        names = list(dict.fromkeys(mistake.id for mistake in mistakes))
    if not mistakes:
        return None
    first = mistakes[0]
    sentences = alternatives([mistake.explanation for mistake in mistakes], more=more)
    title = first.title if sentences == first.explanation else sentences.removesuffix(".")
    return Diagnosis(SEVERAL.join(names), sentences, first.question, title)


def name_same_error(found: Sequence[Mistake], *, refused: bool) -> Diagnosis | None:
    """Name the mistake that raises the same exception, which is weak evidence: only a single one.

    If *refused* is true, the student's code certainly rejected its arguments, so only a wrong test
    of the arguments is likely. Otherwise, unlikely kinds are named only if there are no others.
    """
    if refused:
        likely = [mistake for mistake in found if mistake.id == "check_wrong"]
    else:
        likely = [mistake for mistake in found if mistake.id not in UNLIKELY]
    single = one_of_each_group(likely or found)
    return name_alike(single) if len(single) == 1 else None


def sides_of(pairs: Iterable[tuple[int, ...]], written: Collection[int]) -> list[list[int]]:
    """List, for both mistakes of a pair, those that replace each other, the *written* ones if any.

    Mistakes with the same partner replace each other. None are returned if other pairs are as good.
    """

    def count(pair: Iterable[int]) -> int:
        return len({*pair} & {*written})

    best, *rest = sorted(pairs, key=count, reverse=True) or [()]
    side = dict(zip(best, (0, 1), strict=False))
    while more := [pair for pair in rest if not side.keys().isdisjoint(pair)]:
        rest = [pair for pair in rest if pair not in more]
        for one, other in (way for pair in more for way in (pair, pair[::-1]) if way[0] in side):
            if side.setdefault(other, 1 - side[one]) == side[one]:
                return []
    if not side or any(count(pair) == count(best) for pair in rest):
        return []
    found = [[number for number in side if side[number] == which] for which in (0, 1)]
    return [[one for one in some if one in written] or some for some in found]


def name_each(
    names: Iterable[str], pair: Sequence[Diagnosis], alone: Sequence[Collection[str]]
) -> dict[str, Diagnosis]:
    """Name, for each of the checks *names*, both mistakes or the one that explains it alone."""
    both = name_both(*pair)
    named = {}
    for name in names:
        single = [one for one, explained in zip(pair, alone, strict=True) if name in explained]
        named[name] = single[0] if len(single) == 1 else both
    return named


def name_both(first: Diagnosis, second: Diagnosis) -> Diagnosis:
    """Name two mistakes, first the one to fix first."""
    name = TOGETHER.join((first.misconception, second.misconception))
    sentences = f"{FIRST}{first.explanation}{SECOND}{second.explanation}"
    return Diagnosis(name, sentences, first.hint, sentences.removesuffix("."))


def _common(mistake: Mistake) -> Mistake:
    """Return *mistake* with the sentences of its kind."""
    words = KINDS[mistake.id]
    common = mistake._replace(
        explanation=words.explanation,
        question=words.question,
        title=title_of(words.explanation),
    )
    return common.within_checks()
