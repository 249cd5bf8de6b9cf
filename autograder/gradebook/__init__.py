"""Integrates nbgrader: its configuration, its converter, its notebooks, its database."""
