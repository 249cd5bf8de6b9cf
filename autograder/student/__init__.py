"""Provides the commands that students run on their own machine, and the ``Lab`` of notebooks."""
