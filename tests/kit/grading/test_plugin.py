"""Tests the pytest plugin: plain pytest runs a suite on the solution, or on a learner's module."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.authoring import release
from autograder.course import Course
from autograder.grading.pytest_session import INI
from autograder.sandbox.supervisor import ForkServer

Run = Callable[..., dict[str, str]]


class OutcomeRecorder:
    """Records how each check ended, and what pytest shows of it."""

    def __init__(self) -> None:
        self.ends: dict[str, str] = {}
        self.shown = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of the call, and any failure."""
        if report.when == "call" or report.failed:
            self.ends[report.location[2].removeprefix("test_")] = report.outcome
            self.shown += str(report.longrepr or "")


@pytest.fixture
def outcomes() -> OutcomeRecorder:
    """The recorded outcomes of the run."""
    return OutcomeRecorder()


@pytest.fixture
def run(tiny: Course, outcomes: OutcomeRecorder, lent_fork_server: ForkServer) -> Run:  # noqa: ARG001  # used instead of a new one
    """Run suites without output, as `pytest SUITE` does; by default those in this folder."""

    def run_suite(*suites: Path, mode: str = "importlib") -> dict[str, str]:
        quiet = ["-p", "no:terminal", "-p", "no:faulthandler", "-p", "no:cacheprovider"]
        paths = ["-c", str(INI), "--rootdir", str(tiny.root), *map(str, suites)]
        pytest.main([*quiet, *paths, f"--import-mode={mode}"], plugins=[outcomes])
        return outcomes.ends

    return run_suite


def test_plain_pytest_runs_on_the_solutions(run: Run, tiny: Course):
    """Every check of the hidden suite passes on the solution."""
    assert run(tiny.stages[0].hidden_suite) == {
        "doubles_the_documented_numbers": "passed",
        "doubles_unseen_numbers": "passed",
        "scales_each_feature": "passed",
    }


def test_a_failure_shows_its_sentence(run: Run, tiny: Course, outcomes: OutcomeRecorder):
    """A check that fails shows the sentence about the fault, without a traceback of the grader."""
    tiny.stages[0].solution.write_text("def double(x):\n    return 3 * x\n")
    ends = run(tiny.stages[0].hidden_suite)

    assert ends["doubles_the_documented_numbers"] == "failed"
    assert "test_doubles_the_documented_numbers: The result differs" in outcomes.shown
    assert "Traceback" not in outcomes.shown


def test_the_public_suite_runs_on_the_module_next_to_it(run: Run, tiny: Course):
    """A student's own `pytest` needs no course and no option."""
    release.build(tiny)
    stub = tiny.stages[0].stub
    stub.write_text("def double(x):\n    return x + x\n")

    assert run(tiny.stages[0].public_suite) == {
        "doubles_the_documented_numbers": "passed",
        "doubles_unseen_numbers": "passed",
        "scales_each_feature": "failed",
    }


@pytest.mark.slow
def test_the_public_suites_of_several_stages_run_together(
    run: Run, tiny: Course, monkeypatch: pytest.MonkeyPatch
):
    """Their modules have the same name, and pytest's own way of importing allows only one."""
    release.build(tiny)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "test_public", raising=False)
    stage = tiny.stages[0]
    stage.stub.write_text("def double(x):\n    return x + x\n")
    other = shutil.copytree(stage.assignment, stage.assignment.with_name("02_more"))
    (other / stage.stub.name).write_text("def double(x):\n    return 3 * x\n")

    public = stage.public_suite, other / "test_public.py"
    last, first = (dict(run(*suites, mode="prepend")) for suites in (public, public[::-1]))

    assert last["doubles_the_documented_numbers"] == "failed"
    assert first["doubles_the_documented_numbers"] == "passed"


def test_a_failed_public_check_shows_what_check_prints(
    run: Run, tiny: Course, outcomes: OutcomeRecorder
):
    """It shows the check, the name of the mistake, the question and the numbers."""
    release.build(tiny)
    tiny.stages[0].stub.write_text("def double(x):\n    return x ** 2\n")
    run(tiny.stages[0].public_suite)

    for words in (
        "✗ double  not right yet\n",
        "differs from the expected values in ",
        "It looks like this: The numbers were squared.\n",
        "What is twice three?\n",
        "Expected",
        "* marks wrong entries.",
    ):
        assert words in outcomes.shown
    assert "test_doubles" not in outcomes.shown


def test_an_unwritten_exercise_is_shown_in_one_line(
    run: Run, tiny: Course, outcomes: OutcomeRecorder
):
    """A stub that still raises NotImplementedError has no sentence about a fault."""
    release.build(tiny)
    tiny.stages[0].stub.write_text("def double(x):\n    raise NotImplementedError\n")
    run(tiny.stages[0].public_suite)

    assert "· double  not written yet\n" in outcomes.shown


def test_a_damaged_record_leaves_the_sentence_of_the_check(
    run: Run, tiny: Course, outcomes: OutcomeRecorder
):
    """If the evidence can't be read, pytest shows the error of the check itself."""
    release.build(tiny)
    tiny.stages[0].records.write_bytes(b"nothing")
    run(tiny.stages[0].public_suite)

    assert "records.bin" in outcomes.shown


def test_plain_pytest_runs_in_a_folder_with_brackets(run: Run, tmp_path: Path, monkeypatch):
    """Without a path, `pytest` runs in the current folder, also if its name contains a "["."""
    folder = tmp_path / "course [2026]"
    folder.mkdir()
    (folder / f"test_{tmp_path.name}.py").write_text("def test_nothing():\n    pass\n", "utf-8")
    monkeypatch.chdir(folder)

    assert run() == {"nothing": "passed"}
