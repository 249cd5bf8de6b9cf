"""Tests the diagnoses that are made from programs that explain failed checks."""

import pytest
from msgspec.structs import replace

from autograder.diagnosis.naming import (
    Mistake,
    in_brief,
    in_some_checks,
    name_alike,
    name_both,
    name_same_error,
    one_of_each_group,
    sides_of,
)
from autograder.results import WRITTEN_OUT, Diagnosis, title_of


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


@pytest.mark.parametrize(
    ("pairs", "sides"),
    [
        ([(1, 2)], [[1], [2]]),
        (
            [(5, 17), (17, 25)],
            [[5, 25], [17]],
        ),  # shared: on the right, then left
        ([(11, 35), (35, 53), (11, 57)], [[53], [57]]),  # the written ones
        ([(1, 2), (3, 4)], []),
        ([(1, 2), (2, 3), (1, 3)], []),
        ([], []),
    ],
)
def test_mistakes_with_the_same_partner_replace_each_other(
    pairs: list[tuple[int, ...]], sides: list[list[int]]
):
    """A pair may be known under several names, in any order of its mistakes."""
    assert sorted(map(sorted, sides_of(pairs, {53, 57}))) == sides


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


def test_an_effect_of_many_mistakes_is_named_alone():
    """An effect is certain; which of the mistakes with this effect is there is not."""
    effect = mistake("wrong_return", "Nothing changes.")._replace(effect=True)
    named = name_alike([SCALE, effect, AXIS])

    assert named is not None
    assert named.explanation == "Nothing changes."


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


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("The window has no effect: it is long.", "In the checks, the window has no effect: it is"),
        ("`top_k` has no effect.", "In the checks, `top_k` has no effect."),
        ("Nothing is dropped in training.", "In the checks, nothing is dropped in training."),
        ("Your code sets a seed, so the other has no effect.", "Your code sets a seed, so the"),
        ("Three tokens are hidden.", "Three tokens are hidden."),
    ],
)
def test_a_missing_effect_is_said_of_the_checks(sentence: str, said: str):
    """With other sizes, a limit that comes too late has an effect, so the checks are named."""
    limited = mistake("mask_missing", sentence).within_checks()

    assert limited.explanation.startswith(said)
    assert limited.title.startswith(said.removesuffix("."))
    assert limited.within_checks() == limited


def test_a_step_that_the_source_lacks_is_missing_in_every_check():
    """If the source does not contain the step, the sentence needs no limit."""
    unread = mistake("argument_ignored", "`size` has no effect.")._replace(when=("no reads size",))

    assert unread.within_checks() == unread


def test_what_other_checks_contradict_is_said_of_some_checks():
    """A sentence about the checks becomes one about some of them, in the title as well."""
    named = name_alike([mistake("mask_missing", "The mask has no effect.").within_checks()])

    assert named is not None
    assert in_some_checks(named).headline == "In some of the checks, the mask has no effect"
    assert in_some_checks(named).explanation == "In some of the checks, the mask has no effect."

    always = replace(named, explanation="In the checks, the base has no effect; it is always 9.")
    assert in_some_checks(always).explanation == "The base has no effect; it is always 9."


def test_next_to_another_mistake_no_consequence_is_said():
    """A second mistake may end what follows from the first, but not what must be done."""
    place = f"{WRITTEN_OUT}`attend` are written out in `step`.)"
    said = f"Gradients add up, so only one step is right; clear them.{place}"
    alone = Diagnosis("adds", said, "Why?", "Gradients add up, so only one step is right")
    task = replace(alone, explanation="It is a mean, so the sum must be divided.")
    lost = replace(alone, explanation="In the checks, `size` has no effect on any result.")

    assert in_brief(alone).explanation == f"Gradients add up; clear them.{place}"
    assert in_brief(alone).title == "Gradients add up"
    assert in_brief(task).explanation == task.explanation
    assert in_brief(lost).explanation == "In one step, `size` has no effect."
