"""Tests the terminal of `autograder watch`."""

import pytest

from autograder.errors import UsageError
from autograder.student.watch_terminal import Terminal


def test_without_a_terminal_it_says_so():
    """`watch` refuses to run in a pipe, because a pipe has no keys."""
    with pytest.raises(UsageError, match="needs a terminal"):
        Terminal()
