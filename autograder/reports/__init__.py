"""Pages, tables and terminal texts about a record: pure functions of it."""
