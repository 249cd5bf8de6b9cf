"""Attention course kit: stubs out, submissions in, grades that can't be forged."""

__version__ = "0.2.0"
