"""What was handed in, in any of the forms in which instructors really have it, as plain records."""

from autograder.submission.collect import collect, collect_one
from autograder.submission.model import Code, Submission

__all__ = ["Code", "Submission", "collect", "collect_one"]
