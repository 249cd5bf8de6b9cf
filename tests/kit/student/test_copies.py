"""Tests that an exercise that repeats an earlier one is filled with the learner's own code."""

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli import exercise_commands
from autograder.course import Handout, handout, handouts
from autograder.student import copies
from autograder.student.learner_folder import ORIGINALS
from autograder.student.progress import Progress, Task, digest_of, tasks
from autograder.student.watch_screen import press
from autograder.student.watch_state import Watch
from tests.kit.known_answers import KnownAnswers

FIRST, SECOND = "01_first", "02_second"
STUB = '''"""{title}"""

import torch
{more}

class Norm:
    """Scales."""

    def forward(self, x):
        raise NotImplementedError


def last(x):
    """Uses Norm."""
    raise NotImplementedError
'''
WRITTEN = '''"""Mine."""

import math
from functools import cache, partial

import torch

LIMIT = 5  # of a number


@cache
def root(number):
    return math.sqrt(min(number, LIMIT))


def unused():
    return partial


class Norm:
    """Scales, in my words."""

    def forward(self, x):
        return x / root(2)  # mine


def last(x):
    return unused()
'''


def stage_file(name: str, copied_from: str = "") -> str:
    """Return a stage.toml with the exercises Norm, perhaps a copy, and last."""
    copied = f'copied_from = "{copied_from}"\n' if copied_from else ""
    return (
        f'format_version = 1\ntitle = "{name}"\ngoal = "Learn."\nmodule = "{name[3:]}"\n\n'
        f'[[exercise]]\nname = "Norm"\n{copied}\n[[exercise]]\nname = "last"\n'
    )


@pytest.fixture
def own(tmp_path: Path) -> Handout:
    """A learner's folder with two stages, where the first stage is written."""
    root = tmp_path / "my-work"
    for name, copied_from in ((FIRST, ""), (SECOND, FIRST)):
        stub = STUB.format(title=name, more="")
        for folder in (root / name, root / ORIGINALS / name):
            folder.mkdir(parents=True)
            (folder / f"{name[3:]}.py").write_text(stub, "utf-8")
        (root / name / "stage.toml").write_text(stage_file(name, copied_from), "utf-8")
        (root / name / "test_public.py").write_text("", "utf-8")
    (root / FIRST / "first.py").write_text(WRITTEN, "utf-8")
    return handouts(root)


def passed(own: Handout, *keys: str) -> Progress:
    """Return the progress of a learner for whom the exercises *keys* pass."""
    progress = Progress.read(own.root)
    progress.passed |= set(keys)
    progress.save()
    return progress


def text(own: Handout) -> str:
    """Return the learner's module of the second stage."""
    return own.stages[1].stub.read_text("utf-8")


def copy_of(own: Handout) -> Task:
    """Return the exercise that is a copy."""
    return Task(own.stages[1], own.stages[1].exercises[0])


def solve(own: Handout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first stage have a solution."""
    solution = own.root.parent / "first.py"
    solution.write_text(
        WRITTEN.replace("        return x", "        ### BEGIN SOLUTION\n        return x").replace(
            "  # mine\n", "\n        ### END SOLUTION\n"
        ),
        "utf-8",
    )

    class Solved:
        name = FIRST

    Solved.solution = solution
    monkeypatch.setattr(copies, "solved_stage", lambda _stage: Solved)


def test_a_copy_is_filled_with_its_helpers_and_imports(own: Handout):
    """The learner's class arrives as it is written, and no function that it does not use."""
    filled = copies.fill(own, passed(own, f"{FIRST}/Norm"), own.stages[1])
    names = [getattr(node, "name", "") for node in ast.parse(text(own)).body]

    assert [str(one) for one in filled] == [f"Norm is filled with your code from {FIRST}."]
    assert [name for name in names if name] == ["root", "Norm", "last"]
    assert "        return x / root(2)  # mine\n" in text(own)
    assert "@cache\ndef root" in text(own)
    assert "import math\n" in text(own)
    assert "LIMIT = 5" in text(own)
    assert "unused" not in text(own)
    compile(text(own), "second.py", "exec")


def test_a_copy_waits_until_its_original_passes(own: Handout):
    """Before that the stub stays, and a sentence states the next step."""
    before = text(own)

    assert copies.fill(own, passed(own), own.stages[1]) == []
    assert text(own) == before
    assert copies.request(own, Progress.read(own.root), copy_of(own)) == (
        f"Norm is a copy: pass {FIRST} first, or write it here."
    )


def test_code_that_changed_after_its_check_is_not_copied(own: Handout):
    """The file may no longer contain the code that passed."""
    progress = passed(own, f"{FIRST}/Norm")
    progress.set_checked(own.stages[0], digest_of(own.stages[0]))
    own.stages[0].stub.write_text(WRITTEN.replace("root(2)", "root(3)"), "utf-8")

    assert copies.fill(own, progress, own.stages[1]) == []
    assert copies.request(own, progress, copy_of(own)) == (
        f"Norm is a copy, but your code can't be read from {FIRST} as it is now: "
        f"run `autograder check {FIRST}`."
    )


def test_a_copy_that_the_learner_has_begun_stays(own: Handout):
    """Only the stub as it was received is replaced."""
    own.stages[1].stub.write_text(text(own).replace("Scales.", "My own words."), "utf-8")
    before = text(own)

    assert copies.fill(own, passed(own, f"{FIRST}/Norm"), own.stages[1]) == []
    assert text(own) == before
    assert copies.request(own, Progress.read(own.root), copy_of(own)) == ""


@pytest.mark.parametrize("broken", ["class Norm(:\n", ""], ids=["syntax error", "empty"])
def test_a_file_without_the_class_changes_nothing(own: Handout, broken: str):
    """A learner's file that can't be read is not copied."""
    progress, before = passed(own, f"{FIRST}/Norm"), text(own)
    own.stages[0].stub.write_text(broken, "utf-8")

    assert copies.fill(own, progress, own.stages[1]) == []
    assert text(own) == before


def test_a_helper_that_is_there_already_is_not_written_again(own: Handout):
    """The learner's module keeps its helper of that name."""
    own.stages[1].stub.write_text(
        text(own).replace("class Norm", "def root(n):\n    return n\n\n\nclass Norm"), "utf-8"
    )
    copies.fill(own, passed(own, f"{FIRST}/Norm"), own.stages[1])

    assert text(own).count("def root") == 1
    assert "return x / root(2)" in text(own)


def test_borrowed_code_is_the_courses_and_is_noted(own: Handout, monkeypatch: pytest.MonkeyPatch):
    """The progress names it, so that an instructor and the learner can see it."""
    solve(own, monkeypatch)
    progress, task = passed(own), copy_of(own)

    assert copies.request(own, progress, task) == (
        f"Norm is a copy: pass {FIRST} first, or press c in `autograder watch` to borrow the "
        "course's code."
    )
    filled = copies.borrow(own, progress, task)

    assert str(filled) == f"Norm is filled with the course's code from {FIRST}."
    assert "return x / root(2)\n" in text(own)
    assert "SOLUTION" not in text(own)
    assert Progress.read(own.root).borrowed == {task.key}


def test_without_a_solution_nothing_is_borrowed(own: Handout):
    """A class has no solutions, so no code of the course is in reach."""
    assert copies.borrow(own, passed(own), copy_of(own)) is None
    assert Progress.read(own.root).borrowed == set()


def test_watch_fills_copies_on_arrival(own: Handout):
    """The notice states where the code came from, and the learner's own exercise is next."""
    passed(own, f"{FIRST}/Norm", f"{FIRST}/last")
    every = [task.key for task in tasks(own)]
    state = Watch(own, KnownAnswers(*every[:3]))
    state.begin()

    assert state.task.key == f"{SECOND}/last"
    assert state.notice == f"Norm is filled with your code from {FIRST}."
    assert state.has_new_files


def test_the_key_c_borrows_what_has_not_passed(own: Handout, monkeypatch: pytest.MonkeyPatch):
    """The screen names the key, and the key does it."""
    solve(own, monkeypatch)
    state = Watch(own, KnownAnswers(), copy_of(own))
    state.begin()
    asked = state.notice
    press(state, "c")

    assert "press c" in asked
    assert state.notice == f"Norm is filled with the course's code from {FIRST}."
    press(state, "c")
    assert state.notice == "Norm is written already. x resets it."


def test_the_key_c_has_no_effect_elsewhere(own: Handout):
    """Other exercises can't be borrowed."""
    state = Watch(own, KnownAnswers())
    state.begin()
    before = own.stages[0].stub.read_bytes()
    press(state, "c")

    assert own.stages[0].stub.read_bytes() == before
    assert not state.notice


def test_next_fills_the_copy_and_goes_on_to_what_is_new(own: Handout):
    """The command prints whose code it used, and the exercise that is still to be written."""
    passed(own, f"{FIRST}/Norm", f"{FIRST}/last")
    run = CliRunner().invoke(exercise_commands.app, ["next", str(own.root)])
    filled, following, *_ = run.stdout.splitlines()

    assert filled == f"Norm is filled with your code from {FIRST}."
    assert following == f"Next: last, in {SECOND}."


def test_the_stage_of_a_copy_is_found_next_to_a_single_stage(own: Handout):
    """`check` reads the folder of one stage; that of the original is next to it."""
    single = handout(own.root / SECOND)

    assert own.around(FIRST) is own
    assert single.around(FIRST).stages[0].stub == own.stages[0].stub
    assert single.around("03_third") is own.around("03_third") is own.around("") is None
