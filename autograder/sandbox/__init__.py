"""Runs student code in confined worker processes with limits."""
