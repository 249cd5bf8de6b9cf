"""Formats that other systems read: pure functions of the record or of a grade table."""
