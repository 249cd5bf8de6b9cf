"""Builds, verifies and mutates a course: what its author runs."""
