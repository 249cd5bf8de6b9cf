"""Mistake operators: kinds of mistake that are built from a solution's syntax tree."""
