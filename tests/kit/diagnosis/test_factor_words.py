"""The words for a factor: which size it is, and whether the code multiplies or divides."""

import pytest

from autograder.diagnosis.changed_calls import Call
from autograder.diagnosis.factor_words import QUESTIONS, SENTENCES, Fit, pattern, say_fit
from autograder.diagnosis.single_changes import Answers, Knob, RightCall
from autograder.sandbox.protocol import Request
from autograder.suite.in_process import LocalChannel

START = "Your result is what the right computation gives if "
SOLUTION = LocalChannel("words", b"def f(x): return x\n")


def right_call(scaling: float | None = None, **sizes: float) -> RightCall:
    """Return a call whose solution has that *scaling*, and in which these are the *sizes*."""
    found = RightCall(SOLUTION, Call(Request(verb="call", name="f"), None, ("x",)))
    vars(found).update(scaling=scaling, sizes=sizes)
    return found


def knob(kind: str, name: str = "", right: float = 1.0) -> Knob:
    """Return what was changed; how it is done does not matter here."""

    def never(number: float) -> Answers:
        raise AssertionError(number)

    return Knob(kind, name, never, (), (), right)


def scaled(*calls: tuple[RightCall, float]) -> str:
    """Say that the student's code scales by these numbers in *calls*."""
    fits = [
        Fit(right, knob("scaling", right=right.scaling), number / right.scaling)
        for right, number in calls
        if right.scaling
    ]
    found = say_fit(fits, [right for right, _ in calls])
    assert found.sentence.startswith(START)
    return found.sentence.removeprefix(START)


def factor(*calls: tuple[RightCall, float]) -> str:
    """Say that the student's result is that of a right computation with a factor in x."""
    fits = [Fit(right, knob("factor", "x"), number) for right, number in calls]
    return say_fit(fits, [right for right, _ in calls]).sentence.removeprefix(START)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        pytest.param(3.0, "multiplied by 3.", id="factor"),
        pytest.param(1 / 3, "divided by 3.", id="divisor-is-shorter"),
        pytest.param(0.5, "divided by 2.", id="half"),
        pytest.param(0.7, "multiplied by 0.7.", id="factor-is-shorter"),
        pytest.param(-3.0, "multiplied by -3.", id="negative"),
        pytest.param(-1.0, "multiplied by -1.", id="sign"),
        pytest.param(-0.25, "divided by -4.", id="negative-divisor"),
        pytest.param(1.23444, "multiplied by 1.234.", id="four-digits"),
        pytest.param(0.0, "multiplied by 0.", id="zero"),
    ],
)
def test_a_number_is_said_in_the_shorter_way(number: float, words: str):
    """With four digits at most."""
    assert factor((right_call(), number)) == f"all numbers in x are {words}"


def test_a_summand_is_said_with_its_sign():
    """It is never called a size."""
    right = right_call(rows=2)
    fits = [Fit(right, knob("summand", "x"), number) for number in (-2.0, 2.0)]
    found = say_fit(fits, [right])

    assert found.sentence == f"{START}-2 in one call and 2 in another is added to all numbers in x."
    assert found.question == QUESTIONS["summand"]


def test_a_number_that_is_a_size_in_several_calls_is_called_so():
    """The first call gives the number."""
    small, large = right_call(rows=5), right_call(rows=7)

    assert factor((small, 5), (large, 7)) == "all numbers in x are multiplied by 5 (rows)."
    assert factor((small, 1 / 5), (large, 1 / 7)) == "all numbers in x are divided by 5 (rows)."


@pytest.mark.parametrize(
    ("second", "words"),
    [
        pytest.param(5, "5", id="the-same-number"),
        pytest.param(5.02, "5", id="the-same-to-rounding"),
        pytest.param(6, "5 in one call and 6 in another", id="another-number"),
        pytest.param(7.01, "5 in one call and 7.01 in another", id="almost"),
    ],
)
def test_a_number_that_is_no_size_in_another_call_is_only_a_number(second: float, words: str):
    """It may be that size by chance; that it varies is said."""
    fits = ((right_call(rows=5), 5), (right_call(rows=7), second))

    assert factor(*fits) == f"all numbers in x are multiplied by {words}."


def test_a_large_number_is_as_close_to_a_size_as_a_small_one():
    """What counts is the share."""
    fits = ((right_call(rows=1000), 1000.1), (right_call(rows=2000), 2000.1))

    assert factor(*fits) == "all numbers in x are multiplied by 1000 (rows)."


def test_a_number_is_a_size_of_one_call_alone_by_chance():
    """So it is a number."""
    assert factor((right_call(rows=5), 5)) == "all numbers in x are multiplied by 5."


def test_a_size_that_is_equal_in_all_calls_is_no_size():
    """The number could be any constant."""
    one, other = right_call(rows=5, columns=2), right_call(rows=5, columns=3)

    assert factor((one, 5), (other, 5)) == "all numbers in x are multiplied by 5."


def test_a_size_that_another_call_does_not_have_is_not_it():
    """An axis of size one has no name there."""
    one, other = right_call(rows=5), right_call(columns=3)

    assert factor((one, 5), (other, 7)) == (
        "all numbers in x are multiplied by 5 in one call and 7 in another."
    )


def test_another_size_is_named_beside_the_right_one():
    """Each with its number in the first call."""
    calls = [(right_call(0.5, root=2, rows=5), 1 / 5), (right_call(1 / 3, root=3, rows=7), 1 / 7)]

    assert scaled(*calls) == "it divides by 5 (rows) where it should divide by 2 (root)."
    assert scaled(calls[0]) == "it divides by 5 where it should divide by 2."


def test_a_product_in_place_of_a_quotient_is_named():
    """With the same size."""
    calls = [(right_call(1 / 2, root=2), 2.0), (right_call(1 / 3, root=3), 3.0)]

    assert scaled(*calls) == "it multiplies by 2 (root) where it should divide by 2 (root)."


def test_a_scaling_that_is_left_out_is_named():
    """In all calls that are known."""
    calls = [(right_call(1 / 2, root=2), 1.0), (right_call(1 / 3, root=3), 1.0005)]

    assert scaled(*calls) == "it does not divide by 2 (root)."
    assert scaled((calls[0][0], 1.01)) == (
        "the numbers that it divides by 2 are first multiplied by 2.02."
    )


def test_a_scaling_that_is_one_in_some_calls_only_is_not_left_out():
    """Such as a division by the number of tokens less four."""
    calls = [(right_call(1 / 2, root=2), 1.0), (right_call(1 / 3, root=3), 1 / 3.5)]

    assert scaled(*calls) == (
        "it divides by 1 in one call and 3.5 in another where it should divide by 2 (root)."
    )


def test_a_factor_that_is_zero_in_one_call_is_no_divisor():
    """Nothing is divided by zero."""
    one, other = right_call(rows=5), right_call(rows=7)

    assert factor((one, 0.0), (other, 0.5)) == (
        "all numbers in x are multiplied by 0 in one call and 0.5 in another."
    )
    assert factor((one, 0.5), (other, 0.0)) == (
        "all numbers in x are multiplied by 0.5 in one call and 0 in another."
    )


def test_a_second_factor_is_named_where_that_is_simpler():
    """A size is simpler than a number, and a short number than a long one."""
    one, other = right_call(1 / 1.7320508, rows=5), right_call(1 / 1.4142136, rows=7)

    assert scaled((one, 0.7 / 1.7320508)) == (
        "the numbers that it divides by 1.732 are first multiplied by 0.7."
    )
    assert scaled((one, 5 / 1.7320508), (other, 7 / 1.4142136)) == (
        "the numbers that it divides by 1.732 in one call and 1.414 in another are first "
        "multiplied by 5 (rows)."
    )
    assert scaled((one, 1 / 3)) == "it divides by 3 where it should divide by 1.732."


def test_the_right_scaling_is_a_size_of_all_calls():
    """Also of those in which the student's code was not tried."""
    one, other = right_call(1 / 2, root=2), right_call(1 / 3, root=3)
    fits = [Fit(one, knob("scaling", right=1 / 2), 2.0)]

    assert "does not divide by 2 (root)." in say_fit(fits, [one, other]).sentence
    assert "does not divide by 2 (root)." in say_fit(fits, [one, other, right_call()]).sentence
    assert "does not divide by 2." in say_fit(fits, [one]).sentence


def test_a_call_in_which_the_solution_does_not_scale_says_nothing_about_the_size():
    """With other sizes the factor may be one."""
    one, other = right_call(2.0, root=2), right_call(3.0, root=3)
    fits = [Fit(one, knob("scaling", right=2.0), 0.5)]

    assert "does not multiply by 2 (root)." in say_fit(fits, [one, other, right_call()]).sentence


def test_each_sentence_has_its_question():
    """The places of a sentence take the words in their order."""
    found = pattern("factor", "x", "multiplied", 3)

    assert set(SENTENCES) == set(QUESTIONS)
    assert found == ("factor", f"{START}all numbers in x are multiplied by 3.", QUESTIONS["factor"])
    assert all(one.endswith("?") for one in QUESTIONS.values())
