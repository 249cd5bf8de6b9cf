"""Runs a learner's own tests inside a worker, on the module that the worker holds."""

import os
import sys
from pathlib import Path

import pytest

FILE = "test_hunt.py"
LONGEST = 300  # characters of why the first test failed


class _Report:
    """Counts tests, and keeps why the first of them failed."""

    def __init__(self) -> None:
        self.passed = self.failed = self.broken = 0
        self.why = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that can't be read as tests."""
        if report.failed:
            self.broken += 1
            self._keep(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test once: a fixture that fails is a test that fails."""
        self.passed += report.when == "call" and report.passed
        if report.failed:
            self.failed += 1
            self._keep(report)

    def _keep(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message if crash is not None else report.longreprtext
        self.why = self.why or why.strip()[:LONGEST]


def run_tests(text: str) -> dict[str, int | str]:
    """Run the tests in *text* by pytest; return how many passed, failed or could not be read."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    file = Path.cwd() / FILE  # a worker's current folder is its private one
    file.write_text(text, "utf-8")
    sys.dont_write_bytecode = True
    report = _Report()
    here = ["--rootdir", str(file.parent), "--confcutdir", str(file.parent), "-c", os.devnull]
    options = ["-q", "-s", "-p", "no:cacheprovider", "--import-mode=importlib", *here]
    pytest.main([*options, str(file)], plugins=[report])
    counts = {"passed": report.passed, "failed": report.failed, "broken": report.broken}
    return {**counts, "why": report.why}
