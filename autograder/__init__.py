"""Builds, checks and grades a course; code of students runs in a sandbox."""

__version__ = "0.2.0"
