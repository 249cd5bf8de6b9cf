"""Exports grades to other systems, with pure functions of the record or a grade table."""
