"""Formats that other systems read, each a pure function of the record or of a sheet of scores."""
