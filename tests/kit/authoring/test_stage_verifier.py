"""Tests the finding about correct code that comes too close to a bound."""

from autograder.authoring.stage_verifier import Margin, narrow_margins


def test_a_bound_that_rounding_could_cross_is_a_finding():
    """A bound that rounding could cross is named with the code that comes too close."""
    margins = [Margin("test_near", 1.5, "loops.py"), Margin("test_far", 2.5, "loops.py")]

    assert list(narrow_margins("01_tiny", margins)) == [
        (
            "01_tiny, test_near: loops.py is 1.5 times the noise from its bound: "
            "at least 2 are needed, so that correct code passes on every machine."
        )
    ]
