"""A course on attention with an autograder that runs submissions in a sandbox."""

__version__ = "0.2.0"
