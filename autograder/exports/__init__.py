"""Exports grades to other systems, by pure functions of the record or of a grade table."""
