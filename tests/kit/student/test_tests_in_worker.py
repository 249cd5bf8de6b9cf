"""Tests a learner's tests, run by pytest as a worker runs them."""

import sys
from pathlib import Path

import pytest

from autograder.student.tests_in_worker import run_tests


@pytest.fixture(autouse=True)
def _private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A separate folder, as a worker has it, and no file of the same name before."""
    monkeypatch.delitem(sys.modules, "test_hunt", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        pytest.param("def test_a(): pass", (1, 0, 0), id="passes"),
        pytest.param("def test_a(): pass\ndef test_b(): assert 0", (1, 1, 0), id="fails"),
        pytest.param("x = 1", (0, 0, 0), id="no-test"),
        pytest.param("def test_a(:", (0, 0, 1), id="syntax"),
        pytest.param("def test_a(missing): pass", (0, 1, 0), id="no-such-fixture"),
    ],
)
def test_tests_are_counted(text: str, counts: tuple[int, int, int]):
    """The tests that passed, failed, or could not be read are counted."""
    found = run_tests(text)

    assert (found["passed"], found["failed"], found["broken"]) == counts


def test_the_first_failure_says_why():
    """The first failure has its assertion, as pytest explains it."""
    found = run_tests("def test_a(): assert 1 == 2\ndef test_b(): assert 3 == 4")

    assert found["why"] == "assert 1 == 2"
