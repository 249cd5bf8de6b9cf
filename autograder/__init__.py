"""Builds, verifies and grades a course; student code runs in a sandbox."""

__version__ = "0.2.0"
