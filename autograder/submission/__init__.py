"""Collects submissions from files, folders, archives and downloads."""

from autograder.submission.assemble import Code, Submission
from autograder.submission.collect import collect, collect_one

__all__ = ["Code", "Submission", "collect", "collect_one"]
