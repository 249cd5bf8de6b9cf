"""Programs compared with one submission."""

import pytest

from autograder.diagnosis.observation import Failure, Observation
from autograder.diagnosis.operators.comparison import Comparison
from autograder.diagnosis.operators.programs import Programs
from autograder.diagnosis.operators.search import OperatorSearch
from autograder.sandbox.faults import Raised
from tests.kit.diagnosis.operators.conftest import Grader, attends, item_of

ITEM = item_of("attend", attends)


@pytest.fixture
def search(grader: Grader) -> OperatorSearch:
    """The search of the stage."""
    return OperatorSearch(grader.stage, grader.run, grader.solution, grader.matcher.solve, {})


def compared(grader: Grader, search: OperatorSearch, text: str) -> Comparison:
    """Compare with code that raises *text* in the only check."""
    error = Raised("RuntimeError", text, f"attend raised it\n{text}", public="It raised.")
    programs = Programs(grader.stage, "attend", grader.solution, {})
    failures = [Failure(ITEM, Observation((), error))]
    return Comparison(programs, search.script, grader.run, failures, [])


def test_programs_with_the_same_exception_are_found(grader: Grader, search: OperatorSearch):
    """The sizes in the text are those of the check."""
    text = "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x4)"
    comparison = compared(grader, search, text)
    kinds = {comparison.programs.rewrites[one.key[0]].kind for one in comparison.stopped()}

    assert "transposed" in kinds


@pytest.mark.parametrize("text", ["mat1 and mat2 shapes cannot be multiplied (3x4 and 9x4)", "no"])
def test_another_or_an_unspecific_exception_finds_nothing(
    grader: Grader, search: OperatorSearch, text: str
):
    """Other sizes are another mistake, and a text without sizes or names says too little."""
    assert compared(grader, search, text).stopped() == []
