"""Tests `autograder check`: the file and the suites that it uses, its output, the exit code."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.course import Course, load
from autograder.errors import UsageError
from autograder.sandbox.isolation import detect_capabilities
from autograder.student import learner_folder
from autograder.student.check import find_target
from tools.wrong_programs import with_kind

EXERCISES = ("SelfAttentionV1", "SelfAttention_v1", "SelfAttention_v2", "transfer_weights")


@pytest.fixture
def received(built: Course, tmp_path: Path) -> Path:
    """The folder of a stage, outside of the course."""
    return shutil.copytree(built.stages[0].assignment, tmp_path / "downloads" / "01_tiny")


def test_a_received_folder_is_enough(received: Path):
    """`check` runs the public suite in a received folder without the course."""
    target = find_target("", received)

    assert (target.file, target.stage.name, target.course) == (
        received / "tiny.py",
        "01_tiny",
        None,
    )


def test_a_notebook_takes_the_place_of_a_module(received: Path):
    """A notebook with the module's name replaces the module."""
    (received / "tiny.py").rename(received / "tiny.ipynb")

    assert find_target("", received).file == received / "tiny.ipynb"


@pytest.mark.parametrize("name", ["1", "01_tiny"])
def test_a_stage_is_found_by_number_and_name(built: Course, name: str):
    """`check` finds a stage by number or name, and checks the file in assignments/."""
    assert find_target(name, built.root).file == built.stages[0].assignment / "tiny.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["1", "01", "01_tiny", "tiny"])
@pytest.mark.parametrize("folder", [".", "my-work", "my-work/02_more", "my-work/01_tiny"])
def test_the_learners_folder_comes_first(built_course, tmp_path: Path, folder: str, name: str):
    """`check` finds the learner's folder from inside, and prefers it to the received stages."""
    course = built_course("01_tiny", "02_more")
    unpacked = shutil.copytree(course.root / "assignments", tmp_path / "unpacked")
    learner_folder.start(unpacked)

    assert find_target(name, unpacked / folder).file == unpacked / "my-work/01_tiny/tiny.py"


@pytest.mark.parametrize("name", ["1", "01"])
def test_the_number_of_a_stage_without_checks_is_known(built_course, tmp_path: Path, name: str):
    """If the checks of a stage are lost, the message names its folder and the lost file."""
    course = built_course("01_tiny", "02_more")
    learner_folder.start(shutil.copytree(course.root / "assignments", tmp_path / "unpacked"))
    stage = tmp_path / "unpacked" / "my-work" / "01_tiny"
    (stage / "test_public.py").unlink()

    with pytest.raises(UsageError, match=f"There is no test_public.py in {stage}"):
        find_target(name, stage.parent)


@pytest.mark.parametrize("folder", [".", "01_tiny"])
def test_a_hand_out_of_one_stage_is_enough(received: Path, folder: str):
    """With a single stage, its number works in the folder of the stage and next to it."""
    assert find_target("1", received.parent / folder).file == received / "tiny.py"


def test_the_hidden_suite_needs_the_course(built: Course, received: Path):
    """In the course both suites run; elsewhere a message reports that one is missing."""
    assert find_target("1", built.root, hidden=True).course is not None
    with pytest.raises(UsageError, match="your instructor keeps it"):
        find_target("", received, hidden=True)


@pytest.mark.parametrize("place", ["submitted/mallory/01_tiny", "downloads/mallory/01_tiny"])
def test_a_submission_runs_only_in_the_sandbox(built: Course, place: str):
    """The course's own suite runs on the module of a student's folder in the course."""
    folder = shutil.copytree(built.stages[0].assignment, built.root / place)
    for target in (find_target("", folder), find_target(f"{place}/tiny.py", built.root)):
        assert target.is_others
        assert target.file == folder / "tiny.py"
        assert target.stage.public_suite == built.stages[0].assignment / "test_public.py"


def test_a_submission_without_a_suite_runs_only_in_the_sandbox(built: Course):
    """A single file below submitted/ is another person's, and one elsewhere is the user's own."""
    files = [built.root / folder / "tiny.py" for folder in ("submitted/mallory/01_tiny", "mine")]
    for file in files:
        file.parent.mkdir(parents=True)
        shutil.copy(built.stages[0].assignment / "tiny.py", file)

    assert [find_target(str(file), built.root).is_others for file in files] == [True, False]


def test_ones_own_work_in_the_course_is_checked_as_before(built: Course):
    """The course's assignments and a learner's folder inside a clone need no sandbox."""
    learner_folder.start(built.root)
    own = built.root / "my-work" / "01_tiny"

    assert not find_target("1", built.root).is_others
    assert not find_target("", built.stages[0].assignment).is_others
    assert not find_target("", own).is_others


@pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason)
def test_a_submissions_other_files_do_not_run(built: Course, check):
    """A student's conftest.py does not run, and the module can't write an instructor's files."""
    place = built.root / "submitted" / "mallory" / "01_tiny"
    folder = shutil.copytree(built.stages[0].assignment, place)
    trap = f"open({str(built.root / 'trap')!r}, 'w').write('ran')\n"
    for name in ("conftest.py", "test_public.py", "tiny.py"):
        (folder / name).write_text(trap)
    result = check(folder)

    assert not (built.root / "trap").exists()
    assert "PermissionError" in result.output


def test_a_stage_that_is_not_built_says_so(tiny: Course):
    """A stage that is not built asks its author to build it first."""
    with pytest.raises(UsageError, match="run `autograder release` first"):
        find_target("1", tiny.root)


def work(folder: Path, text: str) -> None:
    """Write *text* as the student's module."""
    (folder / "self_attention.py").write_text(text, "utf-8")


def not_scaled(root: Path, solution: str) -> str:
    """Return the solution of stage 04 without the scale in SelfAttention_v1."""
    return with_kind(load(root).stage("04"), solution, "SelfAttention_v1", "scale_missing")


def test_an_untouched_stub_has_everything_left_to_do(check, handed_out):
    """An untouched stub lists every exercise, the first as next, with exit code 1."""
    result = check(handed_out)

    assert result.exit_code == 1, result.output
    for name in EXERCISES:
        assert f"· {name}  not written yet" in result.output
    assert "Next: SelfAttentionV1." in result.output


def test_right_answers_complete_the_stage(check, handed_out, solution):
    """With correct answers the exit code is 0, and the output lists the suites that ran."""
    work(handed_out, solution)
    result = check(handed_out)

    assert result.exit_code == 0, result.output
    for name in EXERCISES:
        assert f"✓ {name}" in result.output
    assert "The public suite ran: 61 of 61 checks pass." in result.output
    note = "Your grade comes from the same checks on other inputs."
    assert note in result.output.replace("\n", " ")


def test_a_kind_of_mistake_is_named_without_the_course(check, handed_out, solution):
    """Without the course, a kind of mistake is named if no misconception fits."""
    narrow = solution.replace("torch.randn(shape)", "torch.randn(*shape).mul(0.02)")
    work(handed_out, narrow)
    result = check(handed_out)

    assert result.exit_code == 1, result.output
    said = "The parameters are drawn from the wrong distribution, a narrow normal one."
    assert said in " ".join(result.output.split())


def test_an_exception_is_explained_without_the_course(check, handed_out, solution):
    """An exception is explained, and an equal exception alone names no mistake."""
    work(handed_out, solution.replace("queries @ keys.T", "queries @ keys"))
    result = check(handed_out)

    said = " ".join(result.output.split())
    assert "must equal the number of rows of the second" in said
    assert "are not swapped" not in said


def test_a_clone_offers_its_hidden_suite(check, pytestconfig):
    """In a clone of the course, the message offers the hidden suite."""
    result = check(pytestconfig.rootpath / "assignments" / "04_self_attention")

    assert "is here: run `autograder check --hidden`." in result.output


def test_a_known_mistake_is_named_without_the_bank(check, handed_out, solution, pytestconfig):
    """Fingerprints name a known mistake, with a question and the numbers."""
    work(handed_out, not_scaled(pytestconfig.rootpath, solution))
    result = check(handed_out)

    assert result.exit_code == 1, result.output
    assert "✗ SelfAttention_v1  not right yet" in result.output
    assert (
        "This must hold: With the weights of seed 123, the context vectors are the documented ones."
        in " ".join(result.output.split())
    )
    assert "It looks like this: The scores are not " in result.output
    assert "0.2996  0.8053     Your    0.3071* 0.8230*" in result.output
    assert "Next: SelfAttention_v1." in result.output


def test_what_the_code_printed_and_raised_is_shown(check, handed_out, solution):
    """Output is shown below the check that failed; that of the import is shown once, above all."""
    wrong = solution.replace("import torch\n", "import torch\nprint('imported')\n", 1)
    wrong = wrong.replace("return weights @ values", "print('w', 7)\n        1 / 0", 1)
    work(handed_out, wrong)
    result = check(handed_out)

    assert result.output.count("Printed when your file was imported:\n  imported\n") == 1
    assert result.output.count("Printed by your code:\n    w 7\n") == 1
    assert "ZeroDivisionError" in result.output
    assert "1 / 0" in result.output


def test_what_right_code_printed_is_not_shown(check, handed_out, solution):
    """`check` does not show the output of right code."""
    work(handed_out, solution + "\nprint('imported')\n")
    result = check(handed_out)

    assert result.exit_code == 0, result.output
    assert "rinted" not in result.output.replace("Checked", "")


@pytest.mark.parametrize("name", ["records.bin", "mistakes.toml"])
def test_a_damaged_file_is_one_sentence(check, handed_out, solution, pytestconfig, name):
    """For a damaged built file, one sentence names it and the command that restores it."""
    work(handed_out, not_scaled(pytestconfig.rootpath, solution))
    (handed_out / name).write_text("damaged")
    result = check(handed_out)

    assert result.exit_code == 2, result.output
    assert str(handed_out / name) in result.output.replace("\n", "")
    assert "`autograder start` restores it" in result.output
    assert "Traceback" not in result.output


def test_a_syntax_error_is_shown_once(check, handed_out):
    """A syntax error is shown once with its line, and no exercise is checked."""
    work(handed_out, "def broken(\n")
    result = check(handed_out)

    assert result.exit_code == 1, result.output
    assert result.output.count("SyntaxError") == 1
    assert "· transfer_weights  not checked yet" in result.output


def test_what_is_missing_is_not_defined_yet(check, handed_out, solution):
    """An exercise that is missing from a short file is not defined yet."""
    work(handed_out, solution.partition("class SelfAttention_v2")[0])
    result = check(handed_out)

    assert result.exit_code == 1, result.output
    assert "✓ SelfAttention_v1" in result.output
    assert "· SelfAttention_v2  not defined yet" in result.output


def test_an_answer_that_breaks_a_check_is_the_answers_fault(check, handed_out):
    """Without the solution, an answer that breaks a check is reported as unusable."""
    stub = (handed_out / "self_attention.py").read_text()
    work(handed_out, stub + "\nclass SelfAttentionV1:\n    def __init__(self, *a): ...\n")
    result = check(handed_out)

    assert result.exit_code == 1, result.output
    assert "! SelfAttentionV1  ended with an error" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("columns", [24, 40, 200])
def test_no_line_is_wider_than_the_terminal(check, handed_out, solution, monkeypatch, columns):
    """Tables that are too wide continue below; no number is cut."""
    work(handed_out, solution.replace(" / keys.shape[-1] ** 0.5", ""))
    monkeypatch.setenv("COLUMNS", str(columns))
    result = check(handed_out)

    assert result.exit_code == 1, result.output
    assert max(map(len, result.output.splitlines())) <= columns
    assert "…" not in result.output


def test_nothing_is_coloured_in_a_pipe(check, handed_out):
    """Output in a pipe contains no escape codes."""
    assert "\x1b" not in check(handed_out).output


def test_a_notebook_is_checked_as_well(check, handed_out, solution):
    """If the module is missing, the notebook of the same name is checked."""
    cell = {"cell_type": "code", "source": solution, "metadata": {}, "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (handed_out / "self_attention.py").unlink()
    (handed_out / "self_attention.ipynb").write_text(json.dumps(notebook))
    result = check(handed_out)

    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "name", "sentence"),
    [
        pytest.param([], "stage.toml", "There is no stage.toml in", id="no-stage"),
        pytest.param([], "test_public.py", "There is no test_public.py in", id="no-suite"),
        pytest.param(
            [], "self_attention.py", "Put your file there, or give its path", id="no-module"
        ),
        pytest.param(["--hidden"], "", "your instructor keeps it", id="hidden"),
        pytest.param(["gone.py"], "", "no file, no stage and no exercise 'gone.py'", id="no-file"),
        pytest.param(["long" * 99], "", "no file, no stage and no exercise", id="no-path-at-all"),
        pytest.param(["9"], "", "no exercise '9' here", id="no-such-stage"),
    ],
)
def test_what_cannot_be_served_is_exit_code_2(check, handed_out, words, name, sentence):
    """A wrong path ends with exit code 2 and one message on what to do."""
    if name:
        (handed_out / name).unlink()
    result = check(handed_out, *words)

    assert result.exit_code == 2
    assert sentence in result.output
    assert "autograder check" in result.output or "Leave out --hidden" in result.output
    assert "Traceback" not in result.output


def test_a_broken_public_suite_is_one_sentence(check, handed_out):
    """For a broken public suite, one sentence explains how to restore it."""
    (handed_out / "test_public.py").write_text("def broken(\n")
    result = check(handed_out)

    assert result.exit_code == 2
    assert "SyntaxError: '(' was never closed" in result.output
    assert "Replace it with the file that you received" in result.output
    assert len(result.output.splitlines()) == 1


def test_a_stage_is_found_from_the_course(check, pytestconfig):
    """In the repository a number is enough; the student's file is the one in assignments."""
    result = check(pytestconfig.rootpath, "4")

    assert result.exit_code == 1, result.output
    assert "Checked: assignments/04_self_attention/self_attention.py" in result.output


def test_a_file_is_known_by_its_name_in_the_course(check, pytestconfig):
    """In the course, a file named like a module is checked; with --hidden, by both suites."""
    path = "solutions/04_self_attention/self_attention.py"
    result = check(pytestconfig.rootpath, path, "--hidden")

    assert result.exit_code == 0, result.output
    assert "The public suite and the hidden suite ran" in result.output


def test_at_the_root_of_a_course_a_stage_must_be_named(check, tiny: Course):
    """At the root of a course, `check` without a stage lists the stages."""
    result = check(tiny.root)

    assert result.exit_code == 2
    assert "autograder check 1" in result.output
    assert "01_tiny" in result.output


def test_a_name_of_no_stage_is_refused(check, write_course):
    """A file elsewhere must be named as a stage's module is."""
    course = write_course(stages=("01_tiny", "02_more"))
    (course.root / "work.py").write_text("")
    result = check(course.root, "work.py")

    assert result.exit_code == 2
    assert "tiny.py" in result.output


def test_planning_a_check_does_not_wait_for_torch():
    """The modules that plan a check do not import torch, so an error appears at once."""
    modules = ("autograder.student.check", "autograder.reports.terminal")
    script = f"import sys, {', '.join(modules)}; print('torch' in sys.modules)"
    done = subprocess.run(  # noqa: S603  # runs this Python on the line above
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"


# Libraries are imported first, with the real system; then the Unix modules are removed.
