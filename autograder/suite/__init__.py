"""Defines the names that authors of hidden and public suites import."""
