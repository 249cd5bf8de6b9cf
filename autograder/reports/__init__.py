"""Makes pages, tables and terminal texts from a record, by pure functions."""
