"""Commands that write the files of a course."""

from collections.abc import Callable
from typing import Any

from autograder.course import Course

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself


def test_release_lists_what_is_stale_and_builds_it(invoke: Invoke, tiny: Course):
    """`release --check` is exit code 1 before, 0 after `release`."""
    before = invoke("release", "--check")
    built = invoke("release")
    after = invoke("release", "--check")

    assert (before.exit_code, built.exit_code, after.exit_code) == (1, 0, 0)
    assert "tiny.py is stale" in before.output
    assert "built source/01_tiny/tiny.py" in built.output
    assert "raise NotImplementedError" in tiny.stages[0].stub.read_text()
