"""nbgrader integration: its configuration, its converter, its notebooks, its database."""
