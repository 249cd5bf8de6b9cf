"""Tests comparing answers: messages name the first problem, and hidden values stay hidden."""

import re

import numpy as np
import pytest
import torch

from autograder.results import Status
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.checks import WrongAnswer
from autograder.suite.compare import (
    FLOAT_NOISE,
    LAW_WITH_NAN,
    agrees,
    alike,
    explain_nan,
    matches_printed,
    number,
    number_agrees,
    tensor,
    tensor_like,
)
from autograder.suite.own_results import mark

NAN, INF = torch.nan, torch.inf
HALF_A_UNIT = 0.5e-4 + FLOAT_NOISE  # of the fourth decimal
NO_EFFECT = "A change of a token has no clear effect."
EXPECTED = torch.tensor([[0.1234, 5.0], [7.0, -3.0]])


def test_an_array_may_be_what_is_expected():
    """The expected value may be a NumPy array."""
    agrees(torch.tensor([1.0, 2.0], dtype=torch.float64), np.array([1.0, 2.0]))

    with pytest.raises(WrongAnswer, match="float32"):
        agrees(torch.tensor([1.0, 2.0]), np.array([1.0, 2.0]))


def refused(actual: object, expected: torch.Tensor = EXPECTED) -> WrongAnswer:
    """Return the error for *actual* if *expected* is the correct answer."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(actual, expected, "The context")
    return caught.value


@pytest.mark.parametrize(
    ("actual", "status", "excerpt"),
    [
        pytest.param(None, Status.WRONG_TYPE, "without `return`", id="none"),
        pytest.param([[1.0]], Status.WRONG_TYPE, "of type list", id="list"),
        pytest.param(OpaqueValue("a set"), Status.WRONG_TYPE, "is a set", id="opaque"),
        pytest.param(torch.full((3,), NAN).double(), Status.WRONG_SHAPE, "(3,)", id="axes"),
        pytest.param(torch.full((2, 3), NAN).double(), Status.WRONG_SHAPE, "(2, 3)", id="shape"),
        pytest.param(torch.full((2, 2), NAN).double(), Status.WRONG_TYPE, "float64", id="dtype"),
        pytest.param(torch.full((2, 2), NAN), Status.NOT_FINITE, "NaN", id="nan"),
        pytest.param(torch.full((2, 2), INF), Status.NOT_FINITE, "infinite", id="infinite"),
        pytest.param(EXPECTED + 1, Status.WRONG_VALUE, "4 of 4 entries", id="value"),
    ],
)
def test_the_first_thing_that_is_wrong_is_named(actual: object, status: Status, excerpt: str):
    """The first wrong property is named: type, shape, dtype, NaN, infinity, values."""
    wrong = refused(actual)

    assert wrong.status is status
    assert excerpt in wrong.message


@pytest.mark.parametrize(
    "actual",
    [
        pytest.param(None, id="type"),
        pytest.param(torch.ones(7), id="axes"),
        pytest.param(torch.ones(2, 7), id="shape"),
        pytest.param(torch.full((2, 2), NAN), id="nan"),
        pytest.param(EXPECTED + 0.777, id="value"),
    ],
)
def test_the_public_sentence_holds_no_value(actual: object):
    """A hidden check shows no number, neither the expected nor the given one."""
    public = refused(actual).public

    assert "The context" in public
    assert not re.search(r"\d", public)


def test_the_public_sentence_about_a_number_has_no_digit():
    """A hidden check does not show the value of a number."""
    with pytest.raises(WrongAnswer) as caught:
        number_agrees(3.25, 7.5)

    assert "3.2500" in caught.value.message
    assert not any(letter.isdigit() for letter in caught.value.public)


def test_entries_next_to_nan_are_not_called_right():
    """Other entries may be wrong as well, also where two results of the code agree."""
    found = refused(torch.tensor([[NAN, NAN], [7.0, -3.0]]))

    assert found.message == "The context contains NaN, in 2 of 4 entries."


def test_a_law_names_the_result_with_which_it_compares():
    """If two results of the student differ, the message calls none of them wrong."""
    with pytest.raises(WrongAnswer) as several:
        agrees(EXPECTED + 1, EXPECTED, "The result alone", "that in the batch")
    with pytest.raises(WrongAnswer) as single:
        agrees(3.25, 7.5, "The loss", "that before")

    assert several.value.public == "The result alone differs from that in the batch."
    assert several.value.message.startswith(
        "The result alone differs from that in the batch in 4 of"
    )
    assert single.value.public == "The loss differs from that before."
    assert single.value.message == "The loss is 3.2500; that before is 7.5000."


def test_tensors_that_the_student_computed_are_known_as_such():
    """A tensor that a check computes from results of the student is not called expected."""
    sums = mark(EXPECTED).sum(dim=0) * 2
    form = "The result is float32 of shape (3,); the result that it must equal is float32 of"
    for actual, text in (
        (torch.zeros(2), "The result differs from the result that it must equal in 2 of 2 entries"),
        (torch.zeros(3), form),
        (torch.full((2,), NAN), "The result contains NaN"),
    ):
        with pytest.raises(WrongAnswer) as caught:
            agrees(actual, sums)

        assert caught.value.message.startswith(text)
        grid = caught.value.public_suite_grid
        assert not text.endswith("entries") or grid().own
    with pytest.raises(WrongAnswer) as entry:
        agrees([torch.tensor(1.0)], [sums[0]], "The list")
    assert entry.value.message == (
        f"Entry 0 of the list is 1.0000; the result that it must equal is {float(sums[0]):.4f}."
    )


def test_a_result_of_the_student_that_is_compared_with_a_right_one_is_called_wrong():
    """Only what is expected decides the words."""
    with pytest.raises(WrongAnswer, match="differs from the expected values"):
        agrees(mark(EXPECTED) + 1, EXPECTED)


def test_the_message_says_where_the_wrong_entries_are():
    """A message names the place of the wrong entries, and the largest difference."""
    actual = EXPECTED.clone()
    actual[1] += 1

    sentence = "differs from the expected values in 2 of 4 entries, by up to 1.0000. "
    assert f"{sentence}Row 1 is wrong, row 0 is right." in refused(actual).message


@pytest.mark.parametrize(
    ("actual", "expected", "sentence"),
    [
        pytest.param(
            torch.tensor([1.0, 5.0, 7.0]),
            torch.tensor([-INF, -INF, 7.0]),
            "in 2 of 3 entries; 2 of them should be -inf. Entries 0 and 1 are wrong",
            id="finite-where-infinity-is-right",
        ),
        pytest.param(
            torch.tensor([-INF, INF, 7.0]),
            torch.tensor([-INF, 1.5, 7.0]),
            "contains infinite values where finite numbers are expected, in 1 of 3 entries.",
            id="infinite-where-a-number-is-right",
        ),
        pytest.param(
            torch.tensor([1.5, 2.0]),
            torch.tensor([NAN, 2.0]),
            "in 1 of 2 entries, and the result for comparison contains NaN. Only entry 0 is wrong.",
            id="nan-for-comparison",
        ),
        pytest.param(
            torch.tensor([True, True]),
            torch.tensor([True, False]),
            "in 1 of 2 entries. Only entry 1 is wrong.",
            id="booleans",
        ),
        pytest.param(
            torch.tensor([1 + 2j]), torch.tensor([1 + 4j]), "by up to 2.0000.", id="complex"
        ),
        pytest.param(
            torch.tensor(1j), torch.tensor(3j), "in 1 of 1 entries, by up to 2.0000.", id="i"
        ),
        pytest.param(
            torch.tensor([1, 5, 7]), torch.tensor([1, 2, 3]), "entries, by up to 4.", id="integers"
        ),
        pytest.param(
            torch.tensor(1), torch.tensor(2), "The context is 1; it should be 2.", id="one"
        ),
        pytest.param([1, 2], (3,), "has 2 entries; it should have 1.", id="entries"),
        pytest.param(torch.ones(1), [3], "it should be a list.", id="a-list"),
    ],
)
def test_messages_hold_for_infinities_integers_and_lists(actual, expected, sentence: str):
    """No message has a difference of infinity, decimals of integers, or a tuple for a list."""
    message = refused(actual, expected).message

    assert sentence in message
    assert "up to inf" not in message


@pytest.mark.parametrize(
    ("actual", "expected", "sentence"),
    [
        pytest.param(162963456, 163009536.0, "is 162963456; it should be 163009536.", id="whole"),
        pytest.param(83, 92, "is 83; it should be 92.", id="integers"),
        pytest.param(0.5, 1.0, "is 0.5000; it should be 1.0000.", id="not-whole"),
        pytest.param(NAN, 1.0, "is nan; it should be 1.0000.", id="nan"),
    ],
)
def test_whole_numbers_have_no_decimals(actual: float, expected: float, sentence: str):
    """A whole number that should be a different whole number is written without decimals."""
    with pytest.raises(WrongAnswer) as caught:
        number_agrees(actual, expected)

    assert sentence in caught.value.message


@pytest.mark.parametrize(
    ("off", "right"),
    [
        pytest.param(0.0, True, id="exact"),
        pytest.param(0.5e-4, True, id="half-a-unit"),
        pytest.param(-0.5e-4, True, id="half-a-unit-below"),
        pytest.param(1e-4, False, id="a-whole-unit"),
        pytest.param(NAN, False, id="nan"),
    ],
)
def test_printed_digits_are_compared_to_half_a_unit(off: float, right: bool):  # noqa: FBT001  # the argument is a case
    """A value that would be printed with the same digits is right, others are wrong."""
    actual = torch.tensor([0.1234, 100.0]) + torch.tensor([off, 0.0])
    try:
        matches_printed(actual, torch.tensor([0.1234, 100.0]), HALF_A_UNIT, "The result", 4)
    except WrongAnswer:
        accepted = False
    else:
        accepted = True

    assert accepted is right


def test_printed_digits_have_no_relative_tolerance():
    """A small relative error of a large number changes the printed digits."""
    with pytest.raises(WrongAnswer):
        matches_printed(
            torch.tensor([1000.01]), torch.tensor([1000.0]), HALF_A_UNIT, "The result", 4
        )


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(EXPECTED, id="floats"),
        pytest.param(torch.tensor([[-INF, 1.0], [INF, 0.0]]), id="infinities"),
        pytest.param(torch.tensor([[True, False], [True, True]]), id="booleans"),
        pytest.param(torch.tensor([[1, 2], [3, 4]]), id="integers"),
        pytest.param(torch.tensor([[1 + 2j]]), id="complex"),
        pytest.param(torch.empty(0, 2), id="empty"),
        pytest.param(torch.tensor(2.5), id="no-axis"),
        pytest.param(EXPECTED.clone().requires_grad_(), id="in-a-graph"),
    ],
)
def test_equal_tensors_agree(expected: torch.Tensor):
    """Equal values are right, and so are values that differ by float noise."""
    agrees(expected.clone(), expected)
    if expected.is_floating_point():
        agrees(expected * (1 + 1e-6), expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        pytest.param(torch.tensor([INF]), torch.tensor([-INF]), id="other-infinity"),
        pytest.param(torch.tensor([1.0]), torch.tensor([-INF]), id="finite-for-infinite"),
        pytest.param(torch.tensor([True]), torch.tensor([False]), id="boolean"),
        pytest.param(torch.tensor([1 + 1j]), torch.tensor([1 + 2j]), id="complex"),
        pytest.param(torch.tensor([0]).byte(), torch.tensor([1]).byte(), id="bytes"),
    ],
)
def test_other_values_are_refused(actual: torch.Tensor, expected: torch.Tensor):
    """Infinities, booleans and integers are compared exactly."""
    assert refused(actual, expected).status in {Status.WRONG_VALUE, Status.NOT_FINITE}


@pytest.mark.parametrize(
    "actual",
    [
        pytest.param(2.5, id="float"),
        pytest.param(torch.tensor(2.5), id="tensor"),
        pytest.param(torch.tensor(2.5, dtype=torch.float64), id="float64"),
    ],
)
def test_one_number_may_be_a_float_or_a_tensor(actual: object):
    """`x.item()` and `x` count as the same answer."""
    number_agrees(actual, 2.5)


@pytest.mark.parametrize(
    ("actual", "status"),
    [
        pytest.param(True, Status.WRONG_TYPE, id="boolean"),
        pytest.param("2.5", Status.WRONG_TYPE, id="text"),
        pytest.param(torch.tensor([2.5]), Status.WRONG_SHAPE, id="one-axis"),
        pytest.param(NAN, Status.WRONG_VALUE, id="nan"),
        pytest.param(2.6, Status.WRONG_VALUE, id="another"),
    ],
)
def test_anything_but_that_number_is_refused(actual: object, status: Status):
    """A tensor with an axis, a string or a boolean is not a number."""
    with pytest.raises(WrongAnswer) as caught:
        number_agrees(actual, 2.5)

    assert caught.value.status is status


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        pytest.param("The context", "The context has wrong values.", id="one"),
        pytest.param("The weights of a token", "The weights of a token have", id="several"),
        pytest.param("weights of one query", "weights of one query have", id="no-article"),
        pytest.param("The sum of the weights", "The sum of the weights has", id="one-of-several"),
        pytest.param("The first token's result", "The first token's result has", id="possessive"),
        pytest.param("The bias of two heads", "The bias of two heads has", id="ends-in-s"),
        pytest.param("attention_weights", "attention_weights has", id="a-function"),
        pytest.param(
            "The part before these tokens", "The part before these tokens has", id="before"
        ),
        pytest.param(
            "After a change of the last tokens, the result of the first tokens",
            "the result of the first tokens has",
            id="a-phrase-before-it",
        ),
        pytest.param("For logits of 0, the result", "the result has", id="for-several-things"),
    ],
)
def test_the_verb_agrees_with_what_is_compared(what: str, sentence: str):
    """The verb agrees with the number of results: one "has" wrong values, several "have"."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(EXPECTED + 1, EXPECTED, what)

    assert sentence in caught.value.public
    assert ("differ from" in caught.value.message) is ("have" in sentence)


@pytest.mark.parametrize(
    "compare",
    [
        pytest.param(lambda: number(OpaqueValue("of type CANARY")), id="type-of-a-number"),
        pytest.param(lambda: number(torch.zeros(0, 31415)), id="shape-of-a-number"),
        pytest.param(lambda: tensor(OpaqueValue("CANARY")), id="type-of-a-tensor"),
        pytest.param(lambda: tensor_like(torch.zeros(0, 31415), (2, 2)), id="shape"),
        pytest.param(lambda: tensor_like(torch.zeros([1] * 9), (2, 2)), id="axes"),
        pytest.param(lambda: agrees(torch.zeros(2).int(), torch.zeros(2)), id="dtype"),
        pytest.param(lambda: agrees(torch.zeros(2), torch.zeros(2).int()), id="right-dtype"),
        pytest.param(
            lambda: agrees(torch.tensor([[0.0], [NAN], [0.0]]), torch.zeros(3, 1)), id="rows-of-nan"
        ),
        pytest.param(
            lambda: agrees(torch.tensor([[0.0], [9.0], [0.0]]), torch.zeros(3, 1)), id="rows"
        ),
        pytest.param(lambda: number_agrees(31415.0, 1.0), id="value"),
    ],
)
def test_next_to_hidden_inputs_no_answer_is_quoted(compare):
    """Next to hidden inputs no name, size, row or number of an answer is shown."""
    with pytest.raises(WrongAnswer) as caught:
        compare()

    assert not re.search(r"CANARY|int|float|row|\d", caught.value.public)


CACHE = (torch.ones(2, 3), {"keys": torch.zeros(4), "seen": 5}, [0.5, None])


@pytest.mark.parametrize(
    ("actual", "sentence"),
    [
        pytest.param(torch.ones(2, 3), "is of type Tensor; it should be a tuple.", id="no-tuple"),
        pytest.param(CACHE[:2], "The result has 2 entries; it should have 3.", id="too-short"),
        pytest.param(
            (torch.ones(3, 2), *CACHE[1:]),
            "Entry 0 of the result has shape (3, 2); it should have (2, 3).",
            id="shape",
        ),
        pytest.param(
            (CACHE[0], {"keys": torch.zeros(4)}, CACHE[2]),
            "Entry 1 of the result lacks the entry `seen`.",
            id="names",
        ),
        pytest.param(
            (CACHE[0], {"keys": torch.ones(4), "seen": 5}, CACHE[2]),
            "Entry `keys` of entry 1 of the result differs from the expected values",
            id="value",
        ),
        pytest.param(
            (CACHE[0], {"keys": torch.zeros(4), "seen": 6}, CACHE[2]),
            "Entry `seen` of entry 1 of the result is 6; it should be 5.",
            id="whole-number",
        ),
        pytest.param(
            (CACHE[0], {"keys": torch.zeros(4), "seen": True}, CACHE[2]),
            "is of type bool; it should be of type int.",
            id="truth-for-a-number",
        ),
        pytest.param(
            (*CACHE[:2], [0.75, None]), "Entry 0 of entry 2 of the result is 0.75", id="number"
        ),
    ],
)
def test_the_message_names_the_entry_that_is_wrong(actual: object, sentence: str):
    """A cache of keys, values and a length is compared entry by entry."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(actual, CACHE)

    assert sentence in caught.value.message


PAIRS = {(1, 2): 4, (2, 1): 1}
LONG = "ab" * 50


@pytest.mark.parametrize(
    ("actual", "expected", "sentence"),
    [
        pytest.param("abd", "abc", "The words are 'abd'; they should be 'abc'.", id="text"),
        pytest.param(b"abd", b"abc", "are b'abd'; they should be b'abc'.", id="bytes"),
        pytest.param(b"abc", "abc", "are of type bytes; they should be of type str.", id="type"),
        pytest.param(None, "abc", "are None; they should be of type str.", id="none-for-a-text"),
        pytest.param(
            LONG + "a",
            LONG + "b",
            "differ from character 100 on. From character 88 on, they should be 'ababababababb'",
            id="long-text",
        ),
        pytest.param(
            LONG[:-1],
            LONG,
            "have 99 characters; they should have 100. The first 99 are right.",
            id="end-of-a-long-text",
        ),
        pytest.param(
            {(1, 2): 5, (2, 1): 1}, PAIRS, "Entry `(1, 2)` of the words is 5", id="value-of-a-pair"
        ),
        pytest.param(
            {(1, 2): 4, (2, 2): 1},
            PAIRS,
            "lack the entry `(2, 1)` and should not have the entry `(2, 2)`.",
            id="pairs",
        ),
        pytest.param(
            dict.fromkeys(range(9)),
            {},
            "should not have the entries `0`, `1`, `2` and 6 more.",
            id="many-keys",
        ),
        pytest.param({"c", 1}, {1, "b", "a"}, "lack the entries `a`, `b` and", id="set"),
        pytest.param([1], {1}, "are of type list; they should be a set.", id="no-set"),
    ],
)
def test_messages_about_values_that_are_not_tensors(actual, expected, sentence: str):
    """A message names the first wrong character, entry or key, and never all of a long value."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(actual, expected, "The words")

    assert sentence in caught.value.message
    assert len(caught.value.message) < 250


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        pytest.param({7: "x"}, {7: "y"}, id="value"),
        pytest.param({8: "x"}, {7: "x"}, id="key"),
        pytest.param(["a", ["b7"]], ["a", ["c7"]], id="nested"),
        pytest.param("7" * 90, "8" * 90, id="long-text"),
        pytest.param({7}, {8}, id="set"),
    ],
)
def test_the_public_sentence_holds_no_key_and_no_place(actual: object, expected: object):
    """Keys and places may depend on hidden inputs, so a hidden check names neither."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(actual, expected, "The words")

    assert "The words" in caught.value.public
    assert not re.search(r"\d|`", caught.value.public)


def test_equal_values_of_any_type_agree():
    """A set is right for a frozenset, and a float in a dictionary may have noise."""
    agrees({(1, None): [frozenset({1}), b"x", 2**70]}, {(1, None): ({1}, b"x", 2**70)})
    agrees({True: 0.5 + 1e-8}, {True: 0.5})

    assert alike({1: "x"}, {1: "x"})
    assert not alike("x", None)


@pytest.mark.parametrize(
    ("actual", "expected", "columns", "yours"),
    [
        pytest.param({(1, 2): 3}, {(1, 2): 4}, ("(1, 2)",), ("3",), id="dictionary"),
        pytest.param([1, 2], [1, 3, 4], ("0", "1", "2"), ("1", "2", "-"), id="too-short"),
        pytest.param(
            [*range(20)], [*range(19), 0], (*map(str, range(12, 20)),), None, id="part-of-a-list"
        ),
    ],
)
def test_the_public_suite_shows_wrong_entries_in_a_table(actual, expected, columns, yours):
    """A table has the entries around the first wrong one, and no row of differences."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(actual, expected)
    grid = caught.value.public_suite_grid()

    assert grid.columns == columns
    assert grid.yours == ((yours or columns),)
    assert grid.wrong[0][-1] is True
    assert grid.difference == ()


@pytest.mark.parametrize(
    "pair",
    [([torch.ones(2)], [torch.ones(3)]), ([1], (2, 3)), ("a", "b"), ([], [1])],
    ids=["tensors", "types", "texts", "empty"],
)
def test_other_values_have_no_table(pair: tuple[object, object]):
    """A table has plain values only, and both results have its form."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(*pair)
    make = caught.value.public_suite_grid

    assert make is None or make() is None or pair == ([], [1])


def test_right_nested_results_agree():
    """A list counts as a tuple, and a tensor without axes counts as a whole number."""
    sizes = {"seen": torch.tensor(5), "keys": torch.zeros(4)}

    agrees([CACHE[0].clone(), sizes, (0.5, None)], CACHE)


def test_a_hidden_check_shows_no_entry_of_an_answer():
    """The public sentence holds names and lengths of the expected result only."""
    with pytest.raises(WrongAnswer) as caught:
        agrees({"secret 123": 1}, {"seen": 5})

    assert caught.value.public == "The result has the wrong entries."


@pytest.mark.parametrize("answers", [[EXPECTED, {"x": (NAN * EXPECTED,)}], [torch.tensor(NAN)]])
def test_a_law_says_of_nan_only_that_it_is_there(answers: list[object]):
    """With NaN, no comparison holds, so the sentence of a law might be false."""
    assert explain_nan(WrongAnswer(Status.WRONG_VALUE, NO_EFFECT), answers).public == LAW_WITH_NAN


def test_other_sentences_stay_next_to_nan():
    """A comparison with tables, and an answer without NaN, keep their sentences."""
    compared = WrongAnswer(Status.WRONG_VALUE, NO_EFFECT)
    compared.public_suite_grid = lambda: None

    assert explain_nan(compared, [NAN * EXPECTED]) is compared
    assert explain_nan(WrongAnswer(Status.WRONG_VALUE, NO_EFFECT), [EXPECTED]).public == NO_EFFECT
    assert (
        explain_nan(WrongAnswer(Status.WRONG_SHAPE, NO_EFFECT), [NAN * EXPECTED]).public
        == NO_EFFECT
    )


@pytest.mark.parametrize(("little", "is_told"), [(0.0, True), (1e-7, True), (4e-5, False)])
def test_a_place_is_told_only_if_the_other_entries_are_right(little: float, *, is_told: bool):
    """Entries within the bound may be a little wrong, too."""
    found = refused(torch.tensor([little, 0.0, 0.0, 0.9]), torch.zeros(4))

    assert ("Only entry 3 is wrong." in found.message) is is_told
    assert "in 1 of 4 entries, by up to 0.9000." in found.message


def test_a_large_difference_tells_wrong_entries_from_rounded_ones():
    """In printed numbers, a wrong entry must be far off before others are called right."""
    printed = torch.tensor([0.1234, 0.5678, 0.9876])
    places = []
    for off in (0.0002, 0.2):
        answer = printed + torch.tensor([4e-5, off, 0])
        with pytest.raises(WrongAnswer) as caught:
            matches_printed(answer, printed, HALF_A_UNIT, "The context", 4)
        places.append("Only entry 1 is wrong." in caught.value.message)

    assert places == [False, True]
