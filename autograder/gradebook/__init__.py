"""nbgrader's side of the house: its configuration, its notebooks, its database."""
