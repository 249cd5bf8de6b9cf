"""Runs a learner's tests inside a worker, on the module of that worker."""

import os
import sys
from pathlib import Path

import pytest

FILE = "test_hunt.py"
LONGEST = 300  # characters of the reason why the first test failed


class _Report:
    def __init__(self) -> None:
        self.passed = self.failed = self.broken = 0
        self.why = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that pytest can't collect."""
        if report.failed:
            self.broken += 1
            self._keep(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the result of a test; a failed fixture counts as a failed test."""
        self.passed += report.when == "call" and report.passed
        if report.failed:
            self.failed += 1
            self._keep(report)

    def _keep(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message if crash is not None else report.longreprtext
        self.why = self.why or why.strip()[:LONGEST]


def run_tests(text: str) -> dict[str, int | str]:
    """Run *text* with pytest; return counts of its tests and the reason of the first failure."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    Path(FILE).write_text(text, "utf-8")  # a worker's current folder is its private one
    sys.dont_write_bytecode = True
    report = _Report()
    here = ["--rootdir=.", "--confcutdir=.", "-c", os.devnull]
    options = ["-q", "-s", "-p", "no:cacheprovider", "--import-mode=importlib", *here]
    pytest.main([*options, FILE], plugins=[report])  # it would read a "[" in a longer path
    counts = {"passed": report.passed, "failed": report.failed, "broken": report.broken}
    return {**counts, "why": report.why}
