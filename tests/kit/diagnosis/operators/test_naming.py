"""Programs that explain failed checks, as diagnoses."""

from autograder.diagnosis.mistakes.rewriting import Rewrite
from autograder.diagnosis.operators.naming import (
    Found,
    first_of_each_group,
    name_both,
    name_one,
    name_stopped,
)

SCALE = Rewrite("scale_missing", "Not scaled.", "By what?", (), "scale")
AXIS = Rewrite("softmax_axis", "Another axis.", "Which axis?", (), "axis")


def several(count: int, kind: str = "scale_missing") -> list[Rewrite]:
    """Make mistakes of one kind with different sentences."""
    texts = [f"Sentence {number}." for number in range(count)]
    return [Rewrite(kind, text, "Why?", (), text) for text in texts]


def test_of_each_group_the_first_is_named():
    """Programs of one group show the same, and are one mistake to a student."""
    rewrites = (SCALE, SCALE, AXIS)
    found = [Found((number,), frozenset()) for number in range(3)]

    assert [one.key for one in first_of_each_group(found, rewrites)] == [(0,), (2,)]


def test_two_that_fit_are_both_said():
    """A student reads both."""
    named = name_one([SCALE, AXIS])

    assert named is not None
    assert named.misconception == "scale_missing / softmax_axis"
    assert named.explanation == "Either: Not scaled. Or: Another axis."


def test_of_many_only_a_common_kind_is_said():
    """Many different kinds would be no help."""
    named = name_one(several(4))

    assert named is not None
    assert "square root of the key size" in named.explanation
    assert name_one([*several(3), AXIS]) is None


def test_a_mistake_known_by_its_exception_is_said_to_end_in_it():
    """Only that is certain."""
    named = name_stopped([SCALE], refused=False)

    assert named is not None
    assert named.explanation == "Same error as: Not scaled."
    assert named.title == "Same error as: Not scaled"


def test_an_unlikely_kind_is_not_said_beside_a_likely_one():
    """An exception says less than numbers do; alone it is said."""
    rounded = SCALE._replace(kind="rounded", explanation="Rounded.", group="rounded")
    both, alone = (name_stopped(one, refused=False) for one in ([rounded, SCALE], [rounded]))

    assert both is not None
    assert both.misconception == "scale_missing"
    assert alone is not None
    assert alone.misconception == "rounded"


def test_of_code_that_refuses_a_wrong_refusal_is_said():
    """Just that is certain, whatever the reason is."""
    refusal = SCALE._replace(kind="check_wrong", explanation="Refused.", group="refused")
    named = name_stopped([SCALE, refusal], refused=True)

    assert named is not None
    assert named.misconception == "check_wrong"


def test_two_mistakes_are_said_one_after_the_other():
    """The one to mend first stands in front, and its question is asked."""
    scale, axis = name_one([SCALE]), name_one([AXIS])
    assert scale is not None
    assert axis is not None
    named = name_both(scale, axis)

    assert named.misconception == "scale_missing + softmax_axis"
    assert named.explanation.endswith("First: Not scaled. Then: Another axis.")
    assert named.hint == "By what?"
