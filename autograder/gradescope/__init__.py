"""Packs a course for Gradescope, and grades submissions in Gradescope's containers."""
