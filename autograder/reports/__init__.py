"""Views of the record, each a pure function of it."""
