"""Tests the choice of the mistake that best explains the failed checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import Failure, Match
from autograder.diagnosis.ranking import (
    Candidate,
    CheckEnd,
    Evidence,
    Explanation,
    FailedCheck,
    Key,
    Ranking,
)
from autograder.suite.checks import Layer

WRITTEN = 9  # the number of a misconception
KINDS = ["scale_missing", "scale_missing", "softmax_axis", "mask_missing", "transposed"]


def mistake(number: int, kinds: Sequence[str]) -> Mistake:
    """The mistake of a program."""
    written = number >= WRITTEN
    name = f"bank_{number}" if written else kinds[number]
    when = () if written else ("takes a softmax",)
    said = f"In the checks, {name} has no effect." if written else f"{name}."
    made = Mistake(
        name, said, "Why?", said.removesuffix("."), group=name, written=written, when=when
    )
    return made._replace(in_all=name == "scale_wrong_size")


class Consenting:
    """A source that admits every mistake but those in *refused*."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused

    def refusal(self, mistake: Mistake, *, strict: bool = False) -> str:  # noqa: ARG002  # an argument of ``Consent``
        """Return the name of a refused mistake."""
        return mistake.id if mistake.id in self._refused else ""

    def is_elsewhere(self, mistake: Mistake) -> bool:  # noqa: ARG002  # an argument of ``Consent``
        """No mistake is known from another exercise."""
        return False

    def worded(self, mistake: Mistake) -> Mistake:
        """Return the mistake as it is."""
        return mistake


@dataclass
class Table(Evidence):
    """Evidence as a table: the result of each program in each failed check."""

    failed: Sequence[FailedCheck]
    shown: Mapping[str, Mapping[int, Match]]
    fails: Mapping[str, Sequence[int]] = field(default_factory=dict)  # checks that the code passed
    kinds: Sequence[str] = tuple(KINDS)
    two: Sequence[Candidate] = ()

    def __post_init__(self) -> None:
        self.passed = list(self.fails)

    def mistake(self, number: int) -> Mistake:
        """Return the mistake of a program."""
        return mistake(number, self.kinds)

    def written_keys(self) -> Sequence[Key]:
        """Return the misconceptions in the table."""
        found = {number for row in self.shown.values() for number in row if number >= WRITTEN}
        return [(number,) for number in sorted(found)]

    def kind_keys(self) -> Sequence[Key]:
        """Return the kinds of mistake."""
        return [(number,) for number in range(len(self.kinds))]

    def is_right(self, failure: Failure) -> bool:  # noqa: ARG002  # an argument of ``Evidence``
        """No failure is compared with a solution."""
        return False

    def like(self, keys: Sequence[Key], check: FailedCheck) -> Mapping[Key, Match]:
        """Return the entries of the table."""
        found = self.shown.get(check.name, {})
        return {key: found[key[0]] for key in keys if key[0] in found}

    def match(self, key: Key, check: FailedCheck) -> Match:
        """Return the entries of the table."""
        return self.shown.get(check.name, {}).get(key[0], Match.NO)

    def end(self, key: Key, check: str) -> CheckEnd:
        """A program with a result in a failed check fails it; all others pass."""
        fails = key[0] in self.fails.get(check, ()) or key[0] in self.shown.get(check, {})
        return CheckEnd.FAILS if fails else CheckEnd.PASSES

    def pairs(self, _ranking: Ranking) -> list[Candidate]:
        """Return the entries of the table."""
        return list(self.two)


def wrong(name: str, *, layer: Layer = Layer.PROBE, tells: bool = True) -> FailedCheck:
    """A check with a wrong answer."""
    return FailedCheck(name, layer, wrong=True, tells=tells)


def raised(name: str, *, specific: bool = True, refuses: bool = False) -> FailedCheck:
    """A check that ended in an exception."""
    return FailedCheck(
        name,
        Layer.PROBE,
        wrong=False,
        tells=False,
        fault=True,
        raised=True,
        specific=specific,
        refuses=refuses,
    )


def same(*numbers: int, match: Match = Match.YES) -> dict[int, Match]:
    """These programs show the same as the code."""
    return dict.fromkeys(numbers, match)


def names(table: Table, *refused: str) -> dict[str, str]:
    """Return the name of each check's mistake."""
    found: Explanation = Ranking(table, Consenting(*refused)).explanation()
    return {check: one.misconception for check, one in found.diagnoses.items()}


def test_one_mistake_explains_every_wrong_answer():
    """Among programs that show the same, those of one group are named once."""
    table = Table([wrong("a"), wrong("b")], {"a": same(0, 1, 2, 3), "b": same(0, 1)})

    assert names(table) == {"a": "scale_missing", "b": "scale_missing"}


def test_a_mistake_that_the_source_refuses_is_not_named():
    """Only that one of two programs with the same results is named which the source admits."""
    table = Table([wrong("a")], {"a": same(0, 2)})

    assert names(table, "scale_missing") == {"a": "softmax_axis"}
    assert names(table, "scale_missing", "softmax_axis") == {}


def test_a_mistake_must_pass_what_the_code_passed():
    """A program that fails a check that the code passed is never named."""
    shown = {"a": same(2, 9)}

    assert names(Table([wrong("a")], shown)) == {"a": "bank_9"}
    assert names(Table([wrong("a")], shown, {"c": [9]})) == {"a": "softmax_axis"}
    assert names(Table([wrong("a")], shown, {"c": [2, 9]})) == {}


def test_three_kinds_are_named_together_and_four_are_not():
    """Up to three kinds with the same answers are named together, but not four."""
    three, four = (Table([wrong("a")], {"a": same(*some)}) for some in ((1, 2, 3), (1, 2, 3, 4)))

    assert names(three) == {"a": "scale_missing / softmax_axis / mask_missing"}
    assert names(four) == {}


def test_what_an_author_wrote_comes_first():
    """A misconception comes before a kind that explains as many wrong answers."""
    both = Table([wrong("a")], {"a": same(0, 9)})
    more = Table([wrong("a"), wrong("b")], {"a": same(0, 9), "b": same(0)})

    assert names(both) == {"a": "bank_9"}
    assert names(more) == {"a": "scale_missing", "b": "scale_missing"}


def test_a_broken_rule_is_named_beside_a_mistake_in_the_answers():
    """A misconception that only breaks a rule is named in that check, and no kind is."""
    rule = FailedCheck("rule", Layer.FORBIDDEN, wrong=False, tells=False)
    shown = {"a": same(0), "rule": same(1, 9)}

    assert names(Table([wrong("a"), rule], shown)) == {"a": "scale_missing", "rule": "bank_9"}


def test_two_mistakes_together_come_before_one_that_explains_less():
    """A mistake is named where it alone explains the answer; elsewhere both are named."""
    pair = Candidate((0, 2), frozenset("ab"))
    table = Table([wrong("a"), wrong("b")], {"a": same(2)}, two=[pair])

    assert names(table) == {"a": "softmax_axis", "b": "scale_missing + softmax_axis"}


def test_the_mistake_that_explains_most_is_named_and_then_the_next_one():
    """Each of two mistakes is named for the checks that it explains."""
    failed = [wrong(name) for name in "abcd"]
    table = Table(failed, {"a": same(0, 3), "b": same(0), "c": same(2)})

    assert names(table) == {"a": "scale_missing", "b": "scale_missing", "c": "softmax_axis"}


def test_documented_values_alone_name_nothing():
    """An agreement of answers is a coincidence if answers for other sizes differ."""
    documented = wrong("a", layer=Layer.DOCUMENTED)
    explained = Table([documented, wrong("c")], {"a": same(0), "c": same(0)})

    assert names(explained) == {"a": "scale_missing", "c": "scale_missing"}
    assert names(Table([documented, wrong("c")], {"a": same(0)})) == {}


def test_what_special_inputs_show_must_explain_every_answer():
    """In some checks two sizes are equal, or an iteration does all that a later step does."""
    kinds = ["scale_wrong_size"]
    some = Table([wrong("a"), wrong("b")], {"a": same(0)}, kinds=kinds)
    every = Table([wrong("a")], {"a": same(0)}, kinds=kinds)

    assert names(some) == {}
    assert names(every) == {"a": "scale_wrong_size"}


def test_a_missing_refusal_is_set_aside():
    """One mistake explains the other checks, even if their answers are little evidence."""
    accepts = wrong("c", tells=False)._replace(accepts=True)
    failed = [wrong("a", tells=False), wrong("b", tells=False), accepts]
    table = Table(failed, {"a": same(0), "b": same(0), "c": same(WRITTEN)})

    assert names(table) == {"a": "scale_missing", "b": "scale_missing", "c": f"bank_{WRITTEN}"}


def test_a_wrong_answer_that_is_left_refutes_what_a_few_plain_values_say():
    """Next to it, only numbers or the source name the mistake behind some of the answers."""
    for tells, named in ((False, {}), (True, {"a": "bank_9"})):
        failed = [wrong("a", tells=tells), wrong("b")]

        assert names(Table(failed, {"a": same(9)})) == named
    assert names(Table([wrong("a", tells=False), wrong("b")], {"a": same(0)})) == {}


def test_a_kind_that_ends_in_the_same_exceptions_is_named():
    """A kind is named if it raises each of the exceptions and passes what the code passed."""
    shown = {"a": same(0, 1, 2, match=Match.TEXT_ONLY), "b": same(0, match=Match.TEXT_ONLY)}
    failed = [raised("a"), raised("b")]
    found = Ranking(Table(failed, shown), Consenting()).explanation().diagnoses

    assert {one.misconception for one in found.values()} == {"scale_missing"}
    assert list(found) == ["a", "b"]
    assert names(Table(failed, shown, {"c": [0]})) == {}


def test_what_an_author_wrote_is_named_where_the_answers_before_agree():
    """The text of an exception alone names no mistake, because many mistakes raise the same."""
    failed = [raised("a"), raised("b")]
    text = {"a": same(9, match=Match.TEXT_ONLY), "b": same(9, match=Match.TEXT_ONLY)}

    assert names(Table(failed, text | {"a": same(9)})) == {"a": "bank_9", "b": "bank_9"}
    assert names(Table(failed, text)) == {}


def test_an_exception_without_a_size_or_a_name_names_nothing():
    """An exception without a size or a name, which many programs raise, names nothing."""
    assert names(Table([raised("a", specific=False)], {"a": same(0)})) == {}


@pytest.mark.parametrize("tells", [True, False])
def test_where_numbers_are_few_the_exceptions_must_agree(tells: object):
    """A program that raises something else is named if its numbers are certain enough."""
    failed = [wrong("a", tells=bool(tells)), raised("b")]
    table = Table(failed, {"a": same(0), "b": same(0, match=Match.NO)})

    assert names(table) == ({"a": "scale_missing"} if tells else {})


def test_exceptions_that_a_named_mistake_leaves_are_compared():
    """Exceptions that a named mistake leaves are named as if no answer were wrong."""
    shown = {"a": same(9), "b": same(0, match=Match.TEXT_ONLY)}
    table = Table([wrong("a"), raised("b")], shown)

    assert names(table) == {"a": "bank_9", "b": "scale_missing"}


def test_an_exception_of_code_that_only_reshapes_names_no_kind():
    """Many mistakes with axes raise the same exception, and most code reshapes tensors."""
    table = Table([raised("a")], {"a": same(0, match=Match.TEXT_ONLY)})
    common = mistake(0, KINDS)._replace(when=("reshapes", "loops"))
    table.mistake = lambda _: common  # type: ignore[method-assign]

    assert names(table) == {}


@pytest.mark.parametrize(("left", "said"), [([], "In the checks"), (["b"], "In some of the")])
def test_a_missing_effect_that_other_answers_contradict_is_limited(left: list[str], said: str):
    """If a wrong answer stays unexplained, the sentence speaks of some of the checks."""
    shown = {name: same(9) for name in ("a", "c")}
    table = Table([wrong(name) for name in ("a", "c", *left)], shown)
    found = Ranking(table, Consenting()).explanation().diagnoses

    assert [one.explanation.startswith(said) for one in found.values()] == [True, True]


def test_what_is_undecided_neither_proves_nor_refutes():
    """An answer that rounding could decide neither names nor excludes a mistake."""
    shown = {"a": same(0), "b": same(0, match=Match.UNDECIDED)}

    assert names(Table([wrong("a"), wrong("b")], shown)) == {"a": "scale_missing"}
    assert names(Table([wrong("b")], shown)) == {}
