"""Tests the suggestion of misspelled names of exercises."""

import pytest

from autograder.grading.near_names import near_name

FOUR = ("SelfAttentionV1", "SelfAttention_v1", "SelfAttention_v2", "transfer_weights")


@pytest.mark.parametrize(
    ("missing", "written"),
    [
        pytest.param("CausalAttention", "CasualAttention", id="swapped-letters"),
        pytest.param("CausalAttention", "CausalAttension", id="other-letter"),
        pytest.param("CausalAttention", "CausalAttentin", id="lost-letter"),
        pytest.param("MultiHeadAttentionWrapper", "MutliHeadAttentionWrapper", id="long"),
        pytest.param("split_heads", "splitHeads", id="other-style"),
        pytest.param("softmax", "softmxa", id="short"),
    ],
)
def test_a_misspelt_name_is_found(missing: str, written: str):
    """A misspelled name may differ in case, underscores and a letter or two."""
    assert near_name(missing, ["helper", written], [missing, "other"]) == written


@pytest.mark.parametrize(
    ("missing", "written"),
    [
        pytest.param("CausalAttention", "Attention", id="other-word"),
        pytest.param("MultiHeadAttention", "MultiHeadAttentionWrapper", id="longer"),
        pytest.param("SelfAttention_v2", "SelfAttention_v3", id="other-number"),
        pytest.param("SelfAttention_v2", "SelfAttention", id="no-number"),
        pytest.param("mask", "task", id="too-short-to-tell"),
        pytest.param("softmax", "_" * 10**6 + "softmax", id="endless"),
    ],
)
def test_another_name_is_not_suggested(missing: str, written: str):
    """A name that is not similar is not suggested."""
    assert near_name(missing, [written], [missing]) == ""


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        pytest.param("SelfAttention_V2", "SelfAttention_v2", id="case"),
        pytest.param("SelfAttentionV2", "SelfAttention_v2", id="no-underscore"),
        pytest.param("self_attention_v1", "SelfAttention_v1", id="lower-case"),
        pytest.param("SelfAttentoinV1", "SelfAttentionV1", id="swapped-letters"),
        pytest.param("transfer_weight", "transfer_weights", id="function"),
    ],
)
def test_a_name_is_suggested_for_the_nearest_exercise_only(written: str, missing: str):
    """Only the nearest of several similar exercises gets the suggestion."""
    found = {name: near_name(name, [written], FOUR) for name in FOUR}

    assert found == dict.fromkeys(FOUR, "") | {missing: written}


def test_an_exercise_is_never_suggested_for_another():
    """An exercise of the stage is not suggested as a misspelled name of a different one."""
    assert near_name("SelfAttention_v1", ["SelfAttentionV1"], FOUR) == ""


def test_a_name_may_be_as_near_to_an_exercise_that_is_there():
    """A similar name is suggested if the other exercise that it resembles is defined."""
    written = ["SelfAttentionV1", "SelfAttention_V1"]

    assert near_name("SelfAttention_v1", written, FOUR) == "SelfAttention_V1"
    assert near_name("SelfAttention_v1", written[1:], FOUR) == ""


def test_the_nearest_of_two_names_is_suggested():
    """A name that differs only in case is suggested rather than one that lacks a letter."""
    written = ["CausalAttntion", "causalAttention"]

    assert near_name("CausalAttention", written, ["CausalAttention"]) == "causalAttention"
