"""Tests that the texts of a submission come from its first import, before any hidden input.

The workers here have `process` isolation, so a file can carry a text from one to the next, as a
channel that nobody knows would do in `full` isolation.
"""

from pathlib import Path

import pytest

from autograder.course import Course
from autograder.course_file import Limits
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import Outcome, Status, SubmissionResult
from autograder.sandbox.faults import Fault
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from tests.kit.factories import SOLUTION

# The first worker leaves the inputs of a check in a file; each later import raises them.
TELLING = """
import os, signal
from pathlib import Path
LEFT = Path({left!r})
seen = LEFT.read_text() if LEFT.exists() else "nothing"
class Seen(Exception): pass
Seen.__name__ = "Raised" + seen
raise Seen("LOOT " + seen)
"""
ENDING = """
def double(x):
    if x.dim() == 2 and not LEFT.exists():
        LEFT.write_text("".join(filter(str.isdigit, str(x.flatten().tolist()))))
        {end}
    return 2 * x
"""


@pytest.fixture(scope="module")
def open_server():
    """A fork server whose workers can write files."""
    with ForkServer("process", Limits()) as server:
        server.wait_ready()
        yield server


def telling(left: Path, end: str) -> str:
    """Return the solution, with `double` replaced; it ends its worker with *end*."""
    return SOLUTION + TELLING.format(left=str(left)) + ENDING.format(end=end)


def text_of(result: SubmissionResult) -> str:
    """Return everything that a page may quote."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    said = [f"{check.message} {check.grid} {check.diagnosis}" for check in checks]
    return "\n".join((result.message, *result.notices, *said))


def test_a_restart_keeps_the_problems_of_the_first_import(open_server, tmp_path: Path):
    """A worker that starts again gives the lines and texts that the first one gave."""
    code = telling(tmp_path / "left", "os._exit(3)")
    session = Session(open_server, "tiny", (code.encode(),), notebook=False)
    session.open()
    before = session.problems
    (tmp_path / "left").write_text("4711")
    session.close()
    session.open()
    session.close()

    assert [problem.text for problem in before] == ["LOOT nothing"]
    assert session.problems == before


def test_a_quiet_session_keeps_kinds_and_lines_only(open_server, tmp_path: Path):
    """A second grading has the line of a failure, and no type, text or code of it."""
    (tmp_path / "left").write_text("4711")
    code = telling(tmp_path / "left", "os._exit(3)")
    session = Session(open_server, "tiny", (code.encode(),), notebook=False, quiet=True)
    session.open()
    session.close()
    [problem] = session.problems

    assert (problem.kind, problem.type, problem.text, problem.code) == ("raised", "", "", "")
    assert problem.statement is not None
    assert problem.statement.line == code[: code.index("raise Seen")].count("\n") + 1


def test_a_quiet_session_names_the_limit_of_a_statement(open_server):
    """A second grading says which statement reached which limit, and no number of its process."""
    code = b"import os\ndef f(): return 3\nos._exit(47)\n"
    session = Session(open_server, "tiny", (code,), notebook=False, quiet=True)
    session.open()
    [problem] = session.problems
    session.close()

    assert (problem.kind, problem.type) == ("left-out", Status.CRASHED)
    assert problem.statement is not None
    assert problem.statement.line == 3
    assert problem.text
    assert "47" not in problem.text


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("os._exit(3)", id="a-restart"),
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", id="a-second-grading"),
    ],
)
def test_no_hidden_input_reaches_the_page(
    tiny: Course, submit, open_server, tmp_path: Path, end: str
):
    """The page quotes the first import, even if a later worker raises what an earlier one saw."""
    code = telling(tmp_path / "left", end)
    with open_suites(tiny, tiny.stages) as runner:
        result = grade_one(runner, open_server, submit(code))
    seen = (tmp_path / "left").read_text()

    assert seen
    assert seen not in text_of(result)
    line = code[: code.index("raise Seen")].count("\n") + 1
    assert result.notices[0].startswith(f"line {line} raised Raisednothing: LOOT nothing (")


def test_a_grading_after_a_lost_process_quotes_nothing(tiny, submit, open_server, tmp_path: Path):
    """If the first grading left no result, the second one gives only lines, and says so."""
    (tmp_path / "left").write_text("4711")
    code = telling(tmp_path / "left", "os._exit(3)")
    with open_suites(tiny, tiny.stages) as runner:
        result = grade_one(runner, open_server, submit(code), quiet=True)

    assert "4711" not in text_of(result)
    assert "this is the second one" in result.notices[0]
    assert result.notices[1].endswith(" raised an exception")


def test_a_second_grading_keeps_the_texts_of_equal_outcomes(
    tiny: Course, submit, open_server, monkeypatch: pytest.MonkeyPatch
):
    """A worker that the system kills takes no explanation from its student."""
    code = SOLUTION.replace("return 2 * x", "return 3 * x")
    closed: list[bool] = []

    def killed(session: Session) -> None:
        closed.append(session.quiet)
        session.was_killed = True
        close(session)

    with open_suites(tiny, tiny.stages) as runner:
        once = grade_one(runner, open_server, submit(code))
        monkeypatch.setattr(Session, "close", killed)
        twice = grade_one(runner, open_server, submit(code))

    assert closed == [False, True]
    assert twice == once
    assert any(check.outcome is Outcome.FAILED for check in once.exercises[0].checks)


close = Session.close


def test_a_signal_of_any_number_is_a_crash(open_server):
    """The message has the name of the signal that ended a worker, or its number."""
    code = b"import signal\ndef end(number): signal.raise_signal(number)"
    for number, name in ((10, "SIGUSR1"), (37, "signal 37")):
        session = Session(open_server, "tiny", (code,), notebook=False)
        with pytest.raises(Fault, match=name) as caught:
            session.ask("call", name="end", args=(number,))
        session.close()

        assert caught.value.status is Status.CRASHED
