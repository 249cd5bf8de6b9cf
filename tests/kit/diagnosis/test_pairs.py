"""Tests the search for two mistakes that together explain failures."""

import ast

import torch

from autograder.diagnosis.pairs import Half, change_of, in_turn, nearest
from autograder.diagnosis.programs import Programs
from autograder.diagnosis.source_words import more, words_of
from autograder.diagnosis.stage_mistakes import StageMistakes
from tests.kit.diagnosis.conftest import Grader

RIGHT = torch.zeros(3)
SCALED, MASKED, SWAPPED = (
    Half([number], frozenset({"check"}), torch.tensor(change).double())
    for number, change in enumerate(([1.0, 1, 0], [0.0, 0, 5], [-9.0, 2, 2]))
)


def test_pairs_whose_changes_add_up_come_first():
    """The sum of two changes is a prediction of what both mistakes do together."""
    code = torch.tensor([1.1, 0.9, 5.0]).double()
    halves = [SWAPPED, SCALED, MASKED]
    first, *rest = nearest(halves, [one.change for one in halves], code)

    assert first == (SCALED, MASKED)
    assert len(rest) == 2


def test_a_change_counts_finite_numbers_only():
    """Infinite numbers and NaN do not add up, and answers of other shapes do not compare."""
    answer = {"b": torch.tensor([torch.inf]), "a": torch.tensor([2.0, torch.nan])}

    assert change_of(answer, {"a": torch.tensor([1.0, 1.0]), "b": torch.zeros(1)}).tolist() == [
        1.0,
        -1.0,
        0.0,
    ]
    assert change_of(torch.ones(2), torch.ones(3)).tolist() == []
    assert change_of("text", "other").tolist() == []


def test_a_change_counts_the_numbers_of_all_answers():
    """Numbers and lists count, too, so equal last answers do not make two programs equal."""
    assert change_of([1.5, [2, 4]], [1.0, [2, 3]]).tolist() == [0.5, 0.0, 1.0]
    assert change_of([1.5, None], [1.0, [2]]).tolist() == []


def test_names_of_variables_are_no_words():
    """The source changes by what it calls, reads and computes with, in any names."""
    here, there = (
        words_of(ast.walk(ast.parse(code)))
        for code in ("y = f(x) + 1\nreturned = g(y)", "z = f(x)\nreturned = g(z)")
    )

    assert more(here, there) == {"Add": 1, "1": 1}


def test_orders_take_turns():
    """Each order gives its next pair, and a pair that came before is not tried again."""
    one, two, three = [(0, 1)], [(0, 2)], [(1, 2)]

    assert [*in_turn([one, two], [two, three], [])] == [one, two, three]


def test_pairs_of_likely_kinds_come_first(grader: Grader):
    """The first mistake of a likely kind has a lower rank than others."""
    programs = Programs(StageMistakes(grader.stage, {}), "attend", grader.solution)
    kinds = [one.kind for one in programs.rewrites]
    likely, unlikely = (
        programs.rank(kinds.index(kind)) for kind in ("scale_missing", "nothing_returned")
    )

    assert likely < unlikely


def test_fewer_than_two_mistakes_are_no_pair():
    """If the source admits no mistake, or only one, there is nothing to combine."""
    for halves in ([], [SCALED]):
        assert [*nearest(halves, [one.change for one in halves], SCALED.change)] == []
