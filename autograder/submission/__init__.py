"""Collects submissions from every form in which instructors have them."""

from autograder.submission.collect import collect, collect_one
from autograder.submission.model import Code, Submission

__all__ = ["Code", "Submission", "collect", "collect_one"]
