"""Tests the kinds of mistake in plain Python: loops, lists, dictionaries and choices by a key."""

import pytest

from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.diagnosis.plain_mistakes import RULES
from tests.kit.diagnosis.conftest import lines_by_key

SOLUTION = """
def summed(pieces: list[int], counts, title: str):
    found, merged, i = {}, [], 0
    for piece, count in zip(pieces, counts):
        for pair in piece:
            found[pair] = found.get(pair, 0) + count
        merged.extend(piece)
    while i < len(merged):
        largest = choose(found)
        if i > 3:
            merged.append(title)
        else:
            merged.append(pieces[i])
        i += 2
    number = 256 + len(merged)
    joined = merged[number] + merged[i]
    joined = joined.decode(errors="replace")
    while i < number:
        number -= 1
    left = [one for one in zip(joined, merged) if one]
    kind = "short" if tuple(left) == merged else "long"
    for number, piece in enumerate(pieces):
        if number > 1:
            return "many"
        if number < 0:
            return "none"
        return "one" if count else "some"
    ends = [title]
    if i == 3:
        return ends
    return max(found, key=found.get), joined
"""
MADE = lines_by_key(RULES, SOLUTION, "summed")


@pytest.mark.parametrize(
    ("key", "line"),
    [
        pytest.param("step_too_small", "i += 1", id="a-step-too-small"),
        pytest.param("loop_end.early", "while i < len(merged) - 1:", id="a-loop-that-ends-early"),
        pytest.param("list_of_lists", "merged.append(piece)", id="a-list-of-lists"),
        pytest.param("entry_overwritten", "found[pair] = count", id="an-overwritten-entry"),
        pytest.param(
            "counts_ignored.argument",
            "found[pair] = found.get(pair, 0) + 1",
            id="counts-without-effect",
        ),
        pytest.param("counted_once", "for pair in dict.fromkeys(piece):", id="counted-once"),
        pytest.param("order_reversed", "for pair in reversed(list(piece)):", id="another-order"),
        pytest.param("numbered_wrong", "number = 256 + len(merged) + 1", id="wrong-numbers"),
        pytest.param(
            "joined_in_other_order",
            "joined = merged[i] + merged[number]",
            id="parts-in-another-order",
        ),
        pytest.param(
            "tie_order.last",
            "return (max(reversed(list(found)), key=found.get), joined)",
            id="the-last-of-equals",
        ),
        pytest.param(
            "wrong_choice.other", "return (min(found, key=found.get), joined)", id="the-smallest"
        ),
        pytest.param("option_missing.named", "joined = joined.decode()", id="a-missing-option"),
        pytest.param("loop_end.round", "while i < number - 1:", id="a-round-less"),
        pytest.param("filter_missing", "left = [one for one in zip(joined, merged)]", id="kept"),
        pytest.param("wrong_return.unchanged", "return list(pieces)", id="an-unchanged-list"),
        pytest.param("wrong_return.without", "return ends[1:]", id="no-first-entry"),
        pytest.param("ends_lost.named", "merged.append(title.strip())", id="no-white-space"),
        pytest.param("entry_kept", "merged.extend([pieces[i], title])", id="an-entry-that-stays"),
        pytest.param("cases_alike", "return 'many' if count else 'some'", id="two-cases-alike"),
    ],
)
def test_a_rule_makes_the_mistake_that_its_sentence_describes(key: str, line: str):
    """Each rule changes the line that its sentence is about."""
    assert line in MADE[key]


def test_every_mistake_compiles():
    """Each program can run; one that cannot would never be named."""
    code = ExerciseCode(SOLUTION, "summed", ["summed"])

    for rewrite in (one for scope in code.scopes for rule in RULES for one in rule(scope)):
        code.compile([rewrite], "mistake")


def test_every_sentence_of_the_group_has_a_rule():
    """Each kind of the group is made by a rule, and each rule makes kinds of the group."""
    kinds = {key.partition(".")[0] for key in MADE} - {"boundary", "wrong_return"}  # of all

    assert kinds == {name for name, kind in KINDS.items() if kind.group == "plain"}
