"""Tests feedback as plain text."""

from autograder.reports.feedback_builder import check_text
from autograder.results import CheckResult, Outcome
from tests.kit.factories import MakeCheck


def test_the_text_of_a_check_is_message_and_diagnosis(check: MakeCheck, failed_check: CheckResult):
    """Message and diagnosis are separate paragraphs; a check that passed has none."""
    assert check_text(failed_check) == (
        "double(inputs) differs in 6 of 36 entries, by up to 0.7000.\n\n"
        "The scores are not scaled.\n\nHow long are the vectors?"
    )
    assert check_text(check(Outcome.PASSED)) == ""
