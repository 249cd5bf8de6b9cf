"""The pytest plugin: a suite run by hand, over the solutions or over one submission."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.grading.suite_runner import INI
from autograder.sandbox.supervisor import ForkServer

Run = Callable[..., dict[str, str]]


class Outcomes:
    """Notes how each check ended, and what is shown of it."""

    def __init__(self) -> None:
        self.ends: dict[str, str] = {}
        self.shown = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of the call, and any failure."""
        if report.when == "call" or report.failed:
            self.ends[report.location[2].removeprefix("test_")] = report.outcome
            self.shown += str(report.longrepr or "")


@pytest.fixture
def outcomes() -> Outcomes:
    """What the run by hand showed."""
    return Outcomes()


@pytest.fixture
def run(tiny: Course, outcomes: Outcomes, lent_fork_server: ForkServer) -> Run:  # noqa: ARG001  # it lends
    """Run a suite of the tiny course by hand, quietly, as `pytest SUITE OPTIONS` does."""

    def by_hand(suite: Path, *options: object) -> dict[str, str]:
        quiet = ["-p", "no:terminal", "-p", "no:faulthandler", "-p", "no:cacheprovider"]
        place = ["-c", str(INI), "--rootdir", str(tiny.root), str(suite)]
        pytest.main([*quiet, *place, *map(str, options)], plugins=[outcomes])
        return outcomes.ends

    return by_hand


def test_plain_pytest_judges_the_solutions(run: Run, tiny: Course):
    """Without --submission every check of the hidden suite passes on the solution."""
    assert run(tiny.stages[0].hidden_suite) == {
        "doubles_the_documented_numbers": "passed",
        "doubles_unseen_numbers": "passed",
        "scales_each_feature": "passed",
    }


def test_one_submission_is_judged_by_hand(
    run: Run, tiny: Course, tmp_path: Path, outcomes: Outcomes
):
    """With --submission the file is judged, and a failure shows as its sentence."""
    path = tmp_path / "tiny.py"
    path.write_text("def double(x):\n    return 3 * x\n")
    ends = run(tiny.stages[0].hidden_suite, "--submission", path)

    assert set(ends.values()) == {"failed"}
    assert "test_doubles_unseen_numbers: The result differs" in outcomes.shown
    assert "Traceback" not in outcomes.shown


def test_the_public_suite_judges_the_module_beside_it(run: Run, tiny: Course):
    """A student's own `pytest` needs neither the course nor an option."""
    stub = tiny.stages[0].stub
    stub.write_text("def double(x):\n    return x + x\n")

    assert run(tiny.stages[0].public_suite) == {"doubles_one": "passed"}


def test_stages_that_were_not_handed_in_are_passed_over(
    run: Run, write_course: Callable[..., Course], tmp_path: Path
):
    """A folder that holds one stage of two is judged in that one; the other is no failure."""
    two = write_course(stages=("01_tiny", "02_tiny"))
    place = tmp_path / "alice" / "02_tiny"
    place.mkdir(parents=True)
    (place / "tiny.py").write_bytes(two.stages[1].solution.read_bytes())

    ends = run(two.root / "tests" / "hidden", "--submission", tmp_path / "alice")

    assert ends == {
        "doubles_the_documented_numbers": "passed",
        "doubles_unseen_numbers": "passed",
        "scales_each_feature": "passed",
    }
