"""One submission as a page that a student opens in any browser, without a network or a script."""

from autograder.course import Course
from autograder.reports.feedback_builder import compose
from autograder.reports.templating import render
from autograder.results import SubmissionResult


def feedback(course: Course, result: SubmissionResult) -> str:
    """Write the page about *result*: the first thing to put right stands first."""
    return render("feedback.html", feedback=compose(course, result))
