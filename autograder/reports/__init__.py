"""Makes pages, tables and terminal texts from a record, with pure functions."""
