"""Tests the diagnoses that are made from programs that explain failed checks."""

from autograder.diagnosis.naming import (
    Mistake,
    name_alike,
    name_both,
    name_same_error,
    one_of_each_group,
)
from autograder.results import title_of


def mistake(kind: str, explanation: str, question: str = "Why?") -> Mistake:
    """A mistake of a kind."""
    return Mistake(kind, explanation, question, title_of(explanation), group=explanation)


SCALE = mistake("scale_missing", "Not scaled.", "By what?")
AXIS = mistake("softmax_axis", "The wrong axis.", "Which axis?")


def several(count: int, kind: str = "scale_missing") -> list[Mistake]:
    """Mistakes of one kind with different sentences."""
    return [mistake(kind, f"Sentence {number}.") for number in range(count)]


def test_of_each_group_the_first_is_named():
    """Programs of one group give the same answers and are named as one mistake."""
    assert one_of_each_group([SCALE, SCALE, AXIS]) == [SCALE, AXIS]


def test_two_mistakes_that_fit_are_both_named_once():
    """The title of two alternatives is the whole explanation, so no sentence is printed twice."""
    named = name_alike([SCALE, AXIS])

    assert named is not None
    assert named.misconception == "scale_missing / softmax_axis"
    assert named.explanation == "Either: Not scaled. Or: The wrong axis."
    assert named.headline + named.beyond_headline == named.explanation


def test_of_many_only_a_common_kind_is_said():
    """Four mistakes with one effect are named only if they are of one kind."""
    named = name_alike(several(4))

    assert named is not None
    assert "square root of the key size" in named.explanation
    assert name_alike([*several(3), AXIS]) is None


def test_an_unlikely_kind_is_not_said_next_to_a_likely_one():
    """An unlikely kind is named by its exception only if no other kind fits."""
    longer = SCALE._replace(
        id="softmax_extra", explanation="Longer.", title="Longer", group="length"
    )
    both, alone = (name_same_error(one, refused=False) for one in ([longer, SCALE], [longer]))

    assert both is not None
    assert both.misconception == "scale_missing"
    assert alone is not None
    assert alone.misconception == "softmax_extra"


def test_an_exception_names_no_two_kinds():
    """An exception names a single mistake, because many steps may raise the same one."""
    one, two = (name_same_error(found, refused=False) for found in ([SCALE], [SCALE, AXIS]))

    assert one is not None
    assert two is None


def test_of_code_that_refuses_a_wrong_refusal_is_said():
    """For code that refuses valid arguments, only the refusal is named, and no cause."""
    refusal = SCALE._replace(
        id="check_wrong", explanation="Refused.", title="Refused", group="refused"
    )
    named = name_same_error([SCALE, refusal], refused=True)

    assert named is not None
    assert named.misconception == "check_wrong"


def test_two_mistakes_are_said_one_after_the_other():
    """The mistake to fix first is listed first, and its question is asked."""
    scale, axis = name_alike([SCALE]), name_alike([AXIS])
    assert scale is not None
    assert axis is not None
    named = name_both(scale, axis)

    assert named.misconception == "scale_missing + softmax_axis"
    assert named.explanation.endswith("First: Not scaled. Second: The wrong axis.")
    assert named.headline + named.beyond_headline == named.explanation
    assert named.hint == "By what?"
