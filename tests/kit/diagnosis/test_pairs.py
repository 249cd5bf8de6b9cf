"""Tests the search for two mistakes that together explain failures."""

from autograder.diagnosis.programs import Programs
from autograder.diagnosis.stage_mistakes import StageMistakes
from tests.kit.diagnosis.conftest import Grader


def test_pairs_of_likely_kinds_come_first(grader: Grader):
    """Pairs of likely kinds are tried first, up to a bounded number."""
    programs = Programs(StageMistakes(grader.stage, {}), "attend", grader.solution)
    kinds = [one.kind for one in programs.rewrites]
    numbers = tuple(
        map(kinds.index, ("factors_exchanged", "nothing_returned", "scale_missing", "softmax_axis"))
    )
    first, *_, last = programs.pairs(tuple(sorted(numbers)))

    assert {kinds[number] for number in first} == {"scale_missing", "softmax_axis"}
    assert {kinds[number] for number in last} & {"factors_exchanged", "nothing_returned"}


def test_two_changes_of_one_place_are_not_pair(grader: Grader):
    """Two changes of one place are not tried together, because the second undoes the first."""
    programs = Programs(StageMistakes(grader.stage, {}), "attend", grader.solution)
    scales = tuple(n for n, one in enumerate(programs.rewrites) if one.kind == "scale_wrong_size")

    assert len(scales) > 1
    assert programs.pairs(scales) == []
