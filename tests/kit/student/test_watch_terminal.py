"""Tests the terminal of `autograder watch`."""

import pytest

from autograder.errors import UsageError
from autograder.student.watch_terminal import Terminal


def test_without_a_terminal_it_says_so():
    """`watch` in a pipe refuses, because there are no keys."""
    with pytest.raises(UsageError, match="needs a terminal"):
        Terminal()
