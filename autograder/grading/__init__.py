"""Runs suites on submissions and turns the outcomes into results."""
