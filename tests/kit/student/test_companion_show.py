"""Tests the companion in a learner's folder and in a lab, with one that only counts."""

import shutil
from pathlib import Path

import pytest

from autograder.companion import CompanionAnswer
from autograder.course import COMPANION_FILE, Handout, handouts
from autograder.errors import UsageError
from autograder.sandbox.spawned_workers import Workers
from autograder.student.companion_show import UNSEEN, is_here, show, show_here
from autograder.student.lab import CompanionText
from autograder.student.progress import PROGRESS_FILE, Progress

STAGES = ("00_start_here", "02_causal_averaging", "04_self_attention")
TOML = """
format_version = 1
name = "counter"
module = "counter"

[[slot]]
stage = "00_start_here"
needs = ["mix"]
glue = "mean"
[slot.shown]
start = "3"
says = "Means:"

[[slot]]
stage = "04_self_attention"
needs = ["transfer_weights"]
glue = "copy"
"""
MODULE = """
class Counter:
    running = ""

    def __init__(self):
        self.modules = {}

    def fill(self, stage, glue, module):
        self.modules[stage] = module

    def show(self, start="", prompt="", says="", **_others):
        if prompt == "bad":
            raise ValueError("It can't count to bad.")
        number = float(prompt or start)
        mean = self.modules["00_start_here"].mix(number, 1.0) if self.modules else number
        text = f"{mean} of {len(self.modules)}"
        is_own = prompt != "7"
        return {"parts": [[says, text]], "notes": [], "share": 0.5, "is_own": is_own}


def open_companion(folder):
    return Counter()
"""
SOLUTION = "def mix(a, b):\n    return 0.5 * a + 0.5 * b\n"


@pytest.fixture
def own(tmp_path: Path, pytestconfig: pytest.Config) -> Handout:
    """A learner's folder with three stages and a companion; stage 00 is solved."""
    folder = tmp_path / "own"
    for stage in STAGES:
        shutil.copytree(pytestconfig.rootpath / "assignments" / stage, folder / stage)
    (folder / "course").mkdir()
    (folder / "course" / COMPANION_FILE).write_text(TOML)
    (folder / "course" / "counter.py").write_text(MODULE)
    (folder / "00_start_here" / "start_here.py").write_text(SOLUTION)
    progress = Progress.read(folder)
    progress.passed = {"00_start_here/mix"}
    progress.save()
    return handouts(folder)


def asked(own: Handout, server: Workers, **options: str) -> CompanionAnswer | None:
    """Ask the companion with what has passed."""
    return show(own, server, Progress.read(own.root).passed, **options)


def test_it_runs_the_saved_code_of_what_has_passed(own: Handout, fork_server: Workers):
    """The stages that have not passed take no part."""
    answer = asked(own, fork_server)

    assert answer is not None
    assert answer.parts == (("Means:", "2.0 of 1"),)
    assert Progress.read(own.root).passed == {"00_start_here/mix"}


def test_a_prompt_replaces_the_sentence_of_the_stage(own: Handout, fork_server: Workers):
    """The sentence is about the stage's own text."""
    answer = asked(own, fork_server, prompt="5")

    assert answer is not None
    assert answer.parts == (("", "3.0 of 1"),)


def test_a_text_that_differs_although_all_checks_passed_is_to_be_reported(
    own: Handout, fork_server: Workers
):
    """Only what has passed fills slots, so no check has seen the difference."""
    answer = asked(own, fork_server, prompt="7")
    broken = show_here(own, own.stage("00"), "7", {"mix": lambda a, _b: a})

    assert answer is not None
    assert answer.parts == (("", "4.0 of 1"), (UNSEEN, ""))
    assert broken.parts == (("", "7.0 of 1"),)  # which is meant to differ


def test_a_stage_without_a_slot_shows_nothing(own: Handout, fork_server: Workers):
    """Stage 02 fills none, and what stage 04 needs has not passed."""
    assert asked(own, fork_server, stage="02_causal_averaging") is None
    assert asked(own, fork_server, stage="04_self_attention") is None


def test_a_course_without_a_companion_says_so(own: Handout, fork_server: Workers):
    """The message names the missing file and the command that may restore it."""
    (own.shared / COMPANION_FILE).unlink()

    assert not is_here(own)
    with pytest.raises(UsageError, match=r"companion\.toml is missing.*autograder start"):
        asked(own, fork_server)


def test_a_lab_can_break_an_exercise_on_purpose(own: Handout):
    """Only the call that names it is changed."""
    stage = own.stage("00_start_here")
    broken = show_here(own, stage, "", {"mix": lambda _a, _b: "nothing"})
    right = show_here(own, stage, "", {})

    assert broken.parts == (("", "nothing of 1"),)
    assert repr(CompanionText(right)).split("\n") == [
        "Means:",
        "  2.0 of 1",
        "Your code does 50 % of the counter's work.",
    ]


def test_a_lab_uses_its_own_stage_before_it_passes(own: Handout):
    """Stage 04 is not solved, but its lab shows what it fills."""
    answer = show_here(own, own.stage("04_self_attention"), "5", {})

    assert answer.parts == (("", "3.0 of 2"),)


def test_a_lab_says_which_earlier_exercise_it_also_needs(own: Handout):
    """An unfinished earlier exercise is not a fault of the lab's own stage."""
    needs = 'needs = ["02_causal_averaging/row_means", "transfer_weights"]'
    text = TOML.replace('needs = ["transfer_weights"]', needs)
    (own.shared / COMPANION_FILE).write_text(text)
    stage, progress = own.stage("04_self_attention"), Progress.read(own.root)
    alone = show_here(own, stage, "5", {})
    progress.passed |= {"02_causal_averaging/row_means"}
    progress.save()
    both = show_here(own, stage, "5", {})

    assert (both.parts[0][1], both.notes) == ("3.0 of 2", ())
    assert alone.parts[0][1] == "3.0 of 1"
    (note,) = alone.notes
    assert note == (
        "With your transfer_weights, the counter needs 02_causal_averaging/row_means: not passed "
        "yet, so the course's own code is in use."
    )


def test_a_lab_without_progress_uses_the_code_next_to_it(own: Handout):
    """In a class without `start`, nothing is known about what passes."""
    text = TOML.replace(
        'needs = ["transfer_weights"]', 'needs = ["00_start_here/mix", "transfer_weights"]'
    )
    (own.shared / COMPANION_FILE).write_text(text)
    stage = own.stage("04_self_attention")
    (own.root / PROGRESS_FILE).unlink()
    with_code = show_here(own, stage, "5", {})
    shutil.rmtree(own.root / "00_start_here")
    alone = show_here(handouts(own.root), stage, "5", {})

    assert (with_code.parts[0][1], with_code.notes) == ("3.0 of 2", ())
    assert alone.parts[0][1] == "5.0 of 0"
    assert "00_start_here/mix: not passed yet" in alone.notes[0]


@pytest.mark.parametrize(
    ("stage", "changed", "words"),
    [
        pytest.param("00_start_here", {"mixed": 1}, "no place for mixed.*it uses mix", id="name"),
        pytest.param("02_causal_averaging", {}, "it uses nothing", id="stage"),
    ],
)
def test_what_the_companion_has_no_place_for_is_named(
    own: Handout, stage: str, changed: dict[str, object], words: str
):
    """The sentence lists what it uses."""
    with pytest.raises(UsageError, match=words):
        show_here(own, own.stage(stage), "", changed)


def test_a_request_that_it_refuses_in_a_lab_is_one_sentence(own: Handout):
    """The reason of the companion is the message."""
    with pytest.raises(UsageError, match=r"^It can't count to bad\.$"):
        show_here(own, own.stage("00_start_here"), "bad", {})
