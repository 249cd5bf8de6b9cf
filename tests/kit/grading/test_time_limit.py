"""Tests that a check is ended if the grader's own work uses up the submission's time."""

import threading
from functools import partial

import pytest

from autograder.grading import time_limit
from autograder.grading.time_limit import limited
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.suite import in_process

PATIENCE = 50_000_000  # turns of a loop; a few seconds, so that a test that fails ends as well
WORK = f"""
def work(then=lambda: None):
    try:
        for _ in range({PATIENCE}):
            pass
    finally:
        then()
"""


def function_of(module: str, name: str, source: str = WORK):
    """The function *name* as if *module* had defined it."""
    namespace = {"__name__": module}
    exec(source, namespace)  # noqa: S102  # the text is in this file
    return namespace[name]


def in_a_check(call):
    """Call it where pytest would call a check."""
    module, name = time_limit.CHECK
    function_of(module, name, f"def {name}(call): call()")(call)


@pytest.fixture(autouse=True)
def quick_ticks(monkeypatch):
    """Look more often than a grader does."""
    monkeypatch.setattr(time_limit, "TICK_SECONDS", 0.02)


def test_a_check_without_time_left_is_ended():
    """A check without time left ends even in a loop without requests."""
    with pytest.raises(Fault) as caught, limited(lambda: 0.0):
        in_a_check(function_of("test_stage", "work"))

    assert caught.value.status is Status.TIMEOUT


def test_a_check_with_time_left_goes_on():
    """A check with time left is not interrupted."""
    done = []
    with limited(lambda: 1.0):
        in_a_check(partial(function_of("test_stage", "work"), lambda: done.append(True)))

    assert done


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(time_limit.SHIELDED))
def test_a_request_is_answered_to_its_end(module):
    """A check whose time is up ends after the request, so that other data stays intact."""
    answered = []
    answer = function_of(module, "work")

    def check() -> None:
        answer(lambda: answered.append(True))
        function_of("test_stage", "work")()

    with pytest.raises(Fault), limited(lambda: 0.0):
        in_a_check(check)

    assert answered


def test_the_runner_itself_is_never_ended():
    """The time limit raises no exception outside of a check."""
    with limited(lambda: 0.0):
        function_of("test_stage", "work")()


def test_in_another_thread_only_requests_end_a_check():
    """Only the main thread gets signals, and elsewhere nothing is raised."""
    ended = []

    def grade() -> None:
        with limited(lambda: 0.0):
            in_a_check(lambda: ended.append(True))

    thread = threading.Thread(target=grade)
    thread.start()
    thread.join()

    assert ended


def test_the_shielded_modules_and_the_hook_exist():
    """The modules that no time limit may interrupt exist under their listed names."""
    module, name = time_limit.CHECK

    assert hasattr(pytest.importorskip(module), name)
    assert in_process.__name__ in time_limit.SHIELDED
    for shielded in time_limit.SHIELDED:
        pytest.importorskip(shielded)
