"""Tests a lab in the folder that a student received: its checks, graceful errors, and answers."""

import contextlib
import copy
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from matplotlib import pyplot as plt

from autograder.course import handouts, load
from autograder.course_file import Limits
from autograder.errors import AutograderError, GraderError, UsageError
from autograder.sandbox.supervisor import ForkServer
from autograder.student import lab as labs
from autograder.student import learner_folder
from autograder.student.lab import ExerciseCheck, Lab, NotPassedError
from autograder.student.live_module import NotReadyError
from autograder.student.progress import Progress
from tools.wrong_programs import with_kind

ROOT = Path(__file__).parents[3]
EXERCISES = ("SelfAttentionV1", "SelfAttention_v1", "SelfAttention_v2", "transfer_weights")


class LabUnderTest(NamedTuple):
    """A lab in a student's folder, and the sandboxes that it started."""

    lab: Lab
    sandboxes: list[ForkServer]


@pytest.fixture
def lab_under_test(
    handed_out: Path, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LabUnderTest]:
    """A lab whose sandboxes are copies of the tests' own."""
    sandboxes: list[ForkServer] = []

    def start(limits: Limits) -> ForkServer:
        assert limits == Limits()
        sandboxes.append(copy.copy(fork_server))
        sandboxes[-1].close = lambda: None
        return sandboxes[-1]

    monkeypatch.setattr("autograder.student.lab.own_workers", start)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    sys.modules.pop("test_public", None)  # of an earlier folder; a student has one per kernel
    yield LabUnderTest(Lab(handed_out), sandboxes)
    sys.modules.pop("test_public", None)


@pytest.fixture
def lab(lab_under_test: LabUnderTest) -> Lab:
    """A lab in the folder of the stub."""
    return lab_under_test.lab


@pytest.fixture
def solved(lab: Lab, handed_out: Path, solution: str) -> Lab:
    """A lab in the folder of the solution."""
    save(handed_out, solution)
    return lab


@pytest.fixture
def mistaken(pytestconfig: pytest.Config, lab: Lab, handed_out: Path, solution: str) -> Lab:
    """A lab in the folder of a module whose SelfAttention_v1 does not scale."""
    stage = load(pytestconfig.rootpath).stage("04")
    save(handed_out, with_kind(stage, solution, "SelfAttention_v1", "scale_missing"))
    return lab


def save(folder: Path, text: str, seconds_ago: float = 8.0) -> None:
    """Save *text* as the student's module."""
    file = folder / "self_attention.py"
    file.write_text(text, "utf-8")
    os.utime(file, (time.time() - seconds_ago,) * 2)


def first_line(checked: ExerciseCheck) -> str:
    """Return the first line of a card."""
    return repr(checked).partition("\n")[0]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_right_exercise_is_complete(solved: Lab, exercise: str):
    """Both forms of the card show a complete exercise, and the suite that did not run."""
    checked = solved.check(exercise)

    assert checked.passed
    assert repr(checked) == (
        f"✓ {exercise}: complete.\nChecked self_attention.py, saved 8 s ago. "
        "Your grade comes from the same checks on other inputs."
    )
    assert f"✓ <code>{exercise}</code></strong> complete</p>" in checked._repr_html_()
    assert "the same checks on other inputs." in checked._repr_html_()


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_to_do_is_not_written_yet(lab: Lab, exercise: str):
    """An exercise that is not written yet has one line and folded hints."""
    checked = lab.check(exercise)

    assert not checked.passed
    assert first_line(checked) == f"· {exercise}: not written yet."
    assert "not written yet" in checked._repr_html_()
    assert checked._repr_html_().count("<details>") == 3


def test_a_known_mistake_is_named(mistaken: Lab):
    """A known mistake is shown with its explanation and question; numbers are in the card."""
    checked = mistaken.check("SelfAttention_v1")

    assert not checked.passed
    for words in (
        "With the weights of seed 123, the context vectors are the documented ones.",
        "It looks like this: The scores are not divided by the square root of the key size.",
    ):
        assert words in repr(checked)
        assert words in re.sub(r"</?strong>", "", checked._repr_html_())
    assert "<u><strong>0.3071</strong></u>" in checked._repr_html_()
    assert "on other inputs" not in repr(checked)


def test_what_the_code_printed_is_in_the_card(lab: Lab, handed_out: Path, solution: str):
    """Printed text is in the text and the HTML of a check that did not pass."""
    wrong = solution.replace("return weights @ values", "print('<w>', 7)\n        return values", 1)
    save(handed_out, wrong)
    checked = lab.check("SelfAttentionV1")

    assert "Printed by your code:\n  <w> 7" in repr(checked)
    assert "&lt;w&gt; 7</pre>" in checked._repr_html_()


def test_what_right_code_printed_is_in_the_card(lab: Lab, handed_out: Path, solution: str):
    """Printed text is shown once, although several checks printed it."""
    right = solution.replace(
        "return weights @ values", "print('<w>', 7)\n        return weights @ values"
    )
    save(handed_out, right)
    checked = lab.check("SelfAttention_v1")

    assert checked.passed
    assert repr(checked).count("Printed by your code:\n  <w> 7") == 1
    assert checked._repr_html_().count("Printed by your code:") == 1


def test_other_exercises_do_not_suffer_from_a_mistake(mistaken: Lab):
    """A grade cell shows only its own exercise."""
    assert mistaken.check("SelfAttentionV1").passed
    assert mistaken.check("SelfAttention_v2").passed


def test_a_check_prints_nothing(mistaken: Lab, capfd: pytest.CaptureFixture[str]):
    """A check prints nothing, because its whole answer is in the card."""
    mistaken.check("SelfAttention_v1")

    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("def broken(\n", "Fix line 1 first", id="syntax-error"),
        pytest.param(
            "import numpyy\nclass SelfAttentionV1(numpyy.Layer): ...\n",
            "because line 1 raised ModuleNotFoundError: No module named 'numpyy'",
            id="import-error",
        ),
        pytest.param("", "SelfAttentionV1 is not defined in your file.", id="nothing-there"),
        pytest.param("\0", "contains NUL characters", id="no-text"),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(
    lab: Lab, handed_out: Path, text: str, words: str
):
    """A module that cannot be imported is reported with the line and without a traceback."""
    save(handed_out, text)
    checked = lab.check("SelfAttentionV1")

    assert not checked.passed
    assert repr(checked).startswith("· SelfAttentionV1: not checked yet.\n")
    assert words in repr(checked)
    assert "Traceback" not in repr(checked)


def test_each_check_reads_the_file_again(lab: Lab, handed_out: Path, solution: str):
    """Each check reads the saved file again, without a restart of the kernel."""
    stub = (handed_out / "self_attention.py").read_text("utf-8")
    answers = []
    for text in (stub, solution, stub):
        save(handed_out, text)
        answers.append(lab.check("SelfAttention_v2").passed)

    assert answers == [False, True, False]


def test_one_sandbox_serves_all_checks(lab_under_test: LabUnderTest):
    """One sandbox serves all checks of a lab, because its start takes seconds."""
    before = len(lab_under_test.sandboxes)
    for exercise in EXERCISES:
        lab_under_test.lab.check(exercise)

    assert (before, len(lab_under_test.sandboxes)) == (0, 1)


def test_a_sandbox_that_broke_is_replaced(
    lab_under_test: LabUnderTest, monkeypatch: pytest.MonkeyPatch
):
    """A check in a broken sandbox reports a grader error; the next check works."""
    lab_under_test.lab.check("SelfAttentionV1")
    monkeypatch.setattr(lab_under_test.sandboxes[0], "start", lambda *_words, **_options: 1 / 0)
    with pytest.raises(GraderError, match="The grader failed, not the student"):
        lab_under_test.lab.check("SelfAttentionV1")

    again = lab_under_test.lab.check("SelfAttentionV1")

    assert first_line(again) == "· SelfAttentionV1: not written yet."
    assert len(lab_under_test.sandboxes) == 2


def test_an_unknown_exercise_lists_those_that_there_are(lab: Lab):
    """An unknown exercise lists the known ones, so that an edited grade cell can be repaired."""
    with pytest.raises(AutograderError, match="no exercise 'SelfAttention'") as caught:
        lab.check("SelfAttention")

    assert str(caught.value).endswith(f"Exercises: {', '.join(EXERCISES)}.")


def test_a_check_without_a_name_lists_the_exercises(lab: Lab):
    """An exception with one sentence lists what to write there."""
    with pytest.raises(AutograderError, match="no name in the brackets") as caught:
        lab.check()

    assert str(caught.value).endswith(f"Exercises: {', '.join(EXERCISES)}.")


def test_the_module_of_another_stage_is_found_next_to_this_one(lab: Lab, handed_out: Path):
    """A lab uses what was written in an earlier stage, and a missing stage is named on use."""
    other = handed_out.parent / "03_query_key_value"
    shutil.copytree(load(ROOT).stage("03").assignment, other)
    (other / "query_key_value.py").write_text("project = 5\n", "utf-8")

    assert lab.module(other.name).project == 5
    with pytest.raises(NotReadyError, match="02_causal_averaging can't be read"):
        _ = lab.module("02_causal_averaging").anything


def test_a_missing_module_is_named(lab: Lab, handed_out: Path):
    """A missing module is reported with its name and folder."""
    (handed_out / "self_attention.py").unlink()

    with pytest.raises(UsageError, match=r"There is no self_attention\.py in .*04_self_attention"):
        lab.check("SelfAttentionV1")


def test_a_notebook_shows_our_errors_as_their_sentences(tmp_path: Path):
    """In a folder without a stage, a lab prints one line and no traceback."""
    cell = "from autograder.student.lab import Lab; Lab().check('SelfAttentionV1')"
    shown = subprocess.run(  # noqa: S603  # runs this Python on the line above
        [sys.executable, "-m", "IPython", "-c", cell],
        cwd=tmp_path,
        env=os.environ | {"IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert shown.stdout.startswith(f"This notebook runs in {tmp_path}, but the stage is not ")
    assert len(shown.stdout.strip().splitlines()) == 1


def test_validation_stops_at_what_is_not_right(mistaken: Lab, monkeypatch: pytest.MonkeyPatch):
    """`nbgrader validate` stops at a wrong exercise with its whole feedback."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(NotPassedError) as caught:
        mistaken.check("SelfAttention_v1")

    assert (
        "It looks like this: The scores are not divided by the square root of the key size."
        in str(caught.value)
    )
    assert caught.value._render_traceback_() == [str(caught.value)]


def test_validation_prints_nothing_about_right_code(
    solved: Lab, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """Within `nbgrader validate`, right code gives no output, which would count as points."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")

    assert solved.check("SelfAttention_v1") is None
    assert capfd.readouterr() == ("", "")


def test_no_kernel_gives_points(lab_under_test: LabUnderTest, monkeypatch: pytest.MonkeyPatch):
    """Without the kit's configuration, a check within `nbgrader autograde` is an error."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")

    with pytest.raises(GraderError, match=r"course's nbgrader_config\.py sets that up"):
        lab_under_test.lab.check("SelfAttentionV1")
    assert lab_under_test.sandboxes == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        pytest.param(("a",), "First write `a`: this cell runs once it is implemented.\n", id="one"),
        pytest.param(
            ("a", "b", "c"),
            "First write `a`, `b` and `c`: this cell runs once they are implemented.\n",
            id="several",
        ),
        pytest.param((), "First write your module: this cell runs once it", id="none-named"),
    ],
)
def test_a_cell_names_what_is_not_written(
    names: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    """A cell names the exercise that it needs, and the next cell runs."""
    with Lab().needs(*names):
        raise NotImplementedError

    assert capsys.readouterr().out.startswith(said)


def test_an_operation_that_torch_lacks_is_not_unwritten_code(capsys: pytest.CaptureFixture[str]):
    """Torch raises NotImplementedError too, for code that is written."""
    with Lab().needs("project"):
        torch.zeros(2, device="meta").tolist()

    assert capsys.readouterr().out.startswith("This cell could not run with your current `project`")


class Unprintable(Exception):
    """An exception whose text cannot be printed."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "described"),
    [
        pytest.param(ValueError("two\nlines"), "(ValueError: two)", id="first-line"),
        pytest.param(KeyError("W_q"), "(KeyError: 'W_q')", id="key"),
        pytest.param(AssertionError(), "(AssertionError)", id="no-text"),
        pytest.param(SystemExit(3), "(SystemExit: 3)", id="exit"),
        pytest.param(Unprintable(), "(Unprintable)", id="text-that-raises"),
        pytest.param(ValueError("\x1b[31mred\r\x1b[2J"), "(ValueError: red)", id="escapes"),
        pytest.param(
            ValueError("x" * 10**6),
            f"(ValueError: {'x' * 160} … (of 1,000,012 characters))",
            id="long",
        ),
        pytest.param(ValueError("\ud800"), "(ValueError: \ufffd)", id="half-a-character"),
        pytest.param(
            type("N" * 10**6, (Exception,), {})(),
            f"({'N' * 172} … (of 1,000,000 characters))",
            id="long-name",
        ),
    ],
)
def test_a_notebook_goes_on_after_any_exception(
    error: BaseException, described: str, capsys: pytest.CaptureFixture[str]
):
    """Any exception is one short line with its type; the line does not call the code wrong."""
    with Lab().needs("project"):
        raise error
    shown = capsys.readouterr()

    assert shown.out.startswith("This cell could not run with your current `project` ")
    assert shown.out.endswith(f"{described}. The grade cell shows whether that is a problem.\n")
    assert shown.out.count("\n") == 1
    assert shown.err == ""


def test_a_cell_that_stops_leaves_no_empty_figure():
    """A figure that a cell began before it met unwritten code is closed, so it is not shown."""
    with Lab().needs("project"):
        plt.subplots()
        raise NotImplementedError

    assert plt.get_fignums() == []


def test_a_cell_can_be_interrupted():
    """The stop button interrupts a cell."""
    with pytest.raises(KeyboardInterrupt), Lab().needs("project"):
        raise KeyboardInterrupt


def test_a_cell_that_works_shows_nothing_more(capsys: pytest.CaptureFixture[str]):
    """`needs` adds nothing to the output of a cell that works."""
    seen = []
    with Lab().needs("project"):
        seen.append("shapes")

    assert seen == ["shapes"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        pytest.param(-5.0, "0 s ago", id="clock-behind"),
        pytest.param(119.0, "119 s ago", id="seconds"),
        pytest.param(150.0, "2 min ago", id="minutes"),
        pytest.param(3 * 3600.0, "3 h ago", id="hours"),
        pytest.param(9 * 86400.0, "9 days ago", id="days"),
    ],
)
def test_a_card_says_when_the_file_was_saved(seconds: float, age: str):
    """A card states how long ago the checked file was saved."""
    assert labs._ago(time.time() - seconds) == age


def test_an_endless_loop_is_stopped(
    lab: Lab, handed_out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """An endless loop is stopped, even if it catches every exception, and its line is named."""
    monkeypatch.setattr(labs, "CELL_SECONDS", 0.05)
    save(handed_out, "def project():\n    while True:\n        pass\n")
    module = lab.module()
    with lab.needs("project"):
        module.project()

    assert re.fullmatch(
        r"This cell was stopped after 0 s, in line [23] of self_attention\.py\. "
        r"Does a loop in `project` never end\?\n",
        capsys.readouterr().out,
    )


def test_a_busy_machine_costs_a_cell_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A cell may take longer by the clock than the processor time that it may use."""
    monkeypatch.setattr(labs, "CELL_SECONDS", 0.05)
    with Lab().needs("project"):
        time.sleep(0.12)  # here other programs use the processor
        sys.stdout.write("trained")

    assert capsys.readouterr().out == "trained"


def test_a_result_that_is_missing_ends_a_cell_with_one_sentence(
    capsys: pytest.CaptureFixture[str],
):
    """A cell does not go on with something else where an earlier cell made nothing."""
    trained = Lab().results()
    trained["one head"] = 1
    with Lab().needs("project"):
        trained["both"] = trained["one head"] + trained["two heads"]

    assert capsys.readouterr().out == (
        "This cell uses the result 'two heads' of a cell above. "
        "Run that one first; it has to come to its end.\n"
    )


def test_a_file_that_cannot_run_is_said_before_a_missing_result(
    lab: Lab, handed_out: Path, capsys: pytest.CaptureFixture[str]
):
    """The result is missing because of the file, whose line is more useful."""
    save(handed_out, "def project(:\n")
    lab.module()
    with lab.needs("project"):
        lab.results()["one head"].train()

    assert "This cell waits for `project`. self_attention.py, line 1: " in capsys.readouterr().out


def test_a_loop_that_catches_everything_is_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The time limit stops a loop that catches every exception."""
    monkeypatch.setattr(labs, "CELL_SECONDS", 0.05)
    with Lab().needs("project"):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    assert "was stopped after 0 s, here" in capsys.readouterr().out


def test_a_cell_in_time_leaves_no_timer():
    """A cell that ends in time leaves no timer that could interrupt others."""
    before = signal.getsignal(signal.SIGALRM)
    with Lab().needs("project"):
        pass

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_error_in_the_module_names_its_line(
    lab: Lab, handed_out: Path, capsys: pytest.CaptureFixture[str]
):
    """An error in the module is reported with its line."""
    save(handed_out, "def project():\n    return [][1]\n")
    module = lab.module()
    with lab.needs("project"):
        module.project()

    assert "(IndexError: list index out of range, line 2 of self_attention.py)" in (
        capsys.readouterr().out
    )


def test_a_syntax_error_is_one_line_and_nothing_old_runs(
    lab: Lab, handed_out: Path, capsys: pytest.CaptureFixture[str]
):
    """After a syntax error a cell shows what to fix, and no result of the old code."""
    save(handed_out, "def project():\n    return 'old'\n")
    module = lab.module()
    with lab.needs("project"):
        sys.stdout.write(f"{module.project()}\n")
    save(handed_out, "def project(:\n    return 'new'\n")
    with lab.needs("project"):
        sys.stdout.write(f"{module.project()}\n")
    old, new = capsys.readouterr().out.splitlines()

    assert old == "old"
    assert new.startswith("This cell waits for `project`. self_attention.py, line 1: invalid")


ANSWER = {"grade": True, "solution": True, "locked": False, "grade_id": "answer_frozen"}


def save_lab(folder: Path, text: str) -> None:
    """Save a notebook with *text* as the answer to the question about frozen weights."""
    cell = {"cell_type": "markdown", "metadata": {"nbgrader": ANSWER}, "source": text}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "lab.ipynb").write_text(json.dumps(notebook), "utf-8")


@pytest.fixture
def next_to_the_course(
    pytestconfig: pytest.Config, handed_out: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A learner's folder that finds the course, as in a clone."""
    monkeypatch.setattr(learner_folder, "find_root", lambda _folder: pytestconfig.rootpath)
    return handed_out


@pytest.mark.parametrize("text", ["YOUR ANSWER HERE", "*Write your answer here.*", " "])
def test_a_model_answer_waits_for_ones_own(next_to_the_course: Path, lab: Lab, text: str):
    """A model answer is shown only after the learner has written an answer."""
    save_lab(next_to_the_course, text)

    assert repr(lab.model_answer("answer_frozen")).startswith("Write your own answer first")


def test_a_model_answer_follows_ones_own(next_to_the_course: Path, lab: Lab):
    """A model answer is the mark scheme, without its markers, and Markdown."""
    save_lab(next_to_the_course, "A plain tensor is not saved.")
    shown = lab.model_answer("answer_frozen")

    assert repr(shown).startswith("**A full answer, and its points:**\n\n2 points:")
    assert "MARK SCHEME" not in repr(shown)
    assert shown._repr_markdown_() == repr(shown)


def test_a_class_finds_no_model_answer(lab: Lab, handed_out: Path):
    """Without the course, as in a student's folder, no model answer is found."""
    save_lab(handed_out, "A plain tensor is not saved.")

    assert "an instructor reads your answer" in repr(lab.model_answer("answer_frozen"))


@pytest.mark.parametrize("run", ["autograde", "validate"])
def test_nbgrader_shows_no_model_answer(
    next_to_the_course: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch, run: str
):
    """Within nbgrader, no model answer is shown, even on an instructor's machine."""
    save_lab(next_to_the_course, "A plain tensor is not saved.")
    monkeypatch.setenv("NBGRADER_EXECUTION", run)

    assert "an instructor reads your answer" in repr(lab.model_answer("answer_frozen"))


def test_a_check_in_a_lab_is_progress(solved: Lab, handed_out: Path):
    """Cells that check exercises note them; after the last one the stage counts as checked."""
    own = handouts(handed_out.parent)
    progress = Progress.read(own.root)
    progress.set_checked(own.stages[0], "of an older file")
    progress.save()
    notes = []
    for exercise in own.stages[0].exercises:
        solved.check(exercise.name)
        found = Progress.read(own.root)
        notes.append((len(found.passed), found.is_outdated(own.stages[0])))

    assert notes == [(1, True), (2, True), (3, True), (4, False)]


def test_a_lab_shows_a_drawing_of_the_course(handed_out: Path):
    """The drawing is in the folder of the course's modules; a missing one is named."""
    shared = handed_out.parent / "course"
    shared.mkdir(exist_ok=True)
    (shared / "triangle.svg").write_text("<svg><title>A triangle.</title></svg>", "utf-8")

    assert repr(Lab(handed_out).drawing("triangle")) == "A triangle."
    with pytest.raises(UsageError, match=r"circle\.svg is missing"):
        Lab(handed_out).drawing("circle")
