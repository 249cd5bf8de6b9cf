"""Tests the text of records that `release --print` shows to authors."""

from autograder.authoring.recording import record_lines
from autograder.course import Course


def test_records_are_printed_with_their_values_and_programs(built: Course):
    """The text has the solution's replies, each wrong program, and which programs show a result."""
    shown = "\n".join(record_lines(built.stages[0]))

    assert "Replies of the solution (10 points, 0 of them for hidden checks)" in shown
    assert "tensor([" in shown
    assert "Documented values: tiny.doubled, tiny.numbers" in shown
    assert "   0 squares: The numbers were squared." in shown
    assert "Results in test_doubles_the_documented_numbers\n  0" in shown
    assert "[0.25, 2.25, 6.25]" in shown
