"""Mistakes that are rewrites of the solution's syntax tree: their rules and sentences."""
