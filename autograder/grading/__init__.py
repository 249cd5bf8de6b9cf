"""Runs suites on submissions and turns what they show into results."""
