"""Builds, verifies and mutates a course for its author."""
