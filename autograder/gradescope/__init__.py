"""Packs a course for Gradescope, and grades a submission in Gradescope's container."""
