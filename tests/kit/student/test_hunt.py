"""Tests a bug hunt from the first picture to a test that catches every mistake."""

import copy
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autograder.course import handout
from autograder.diagnosis.vocabulary import alternatives
from autograder.errors import UsageError
from autograder.reports.terminal import render
from autograder.results import FIRST, SECOND
from autograder.sandbox.spawned_workers import Workers
from autograder.student.hunt import Hunt, HuntState, _solved
from autograder.student.learner_code import WrongModule

CHANGES = (("dim=-1)", "dim=-2)"), ("keys.shape[-1] ** 0.5", "1"), ("W_key(x)", "W_query(x)"))
STAYS = """
import torch
from self_attention import SelfAttention_v2

def test_equal_values_stay():
    attention = SelfAttention_v2(3, 2)
    attention.W_value.register_forward_hook(lambda *_: torch.ones(4, 2))
    assert torch.allclose(attention(torch.randn(4, 3)), torch.ones(4, 2))
"""
AS_BEFORE = """
import torch
from self_attention import SelfAttention_v2

def test_result():
    torch.manual_seed(789)
    attention, x = SelfAttention_v2(3, 2), 9 * torch.eye(3)
    q, k, v = (layer.weight.T for layer in (attention.W_query, attention.W_key, attention.W_value))
    weights = torch.softmax(x @ q @ (x @ k).T / 2**0.5, dim=1)
    assert torch.allclose(attention(x), weights @ x @ v)
"""


def small_changes(text, _lines):
    """Change the code in three ways, each of which changes the picture."""
    return [(new, text.replace(old, new)) for old, new in CHANGES]


@pytest.fixture(autouse=True)
def _lent_server(fork_server: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lend the fork server to every hunt."""
    lent = copy.copy(fork_server)
    lent.wait_ready = lambda _user=0: None
    lent.close = lambda: None
    monkeypatch.setattr("autograder.student.learner_code.own_workers", lambda _limits: lent)


@pytest.fixture
def quiz(handed_out: Path, pytestconfig: pytest.Config) -> None:
    """The course's modules next to the stage, with the claims for a hunt."""
    shared = pytestconfig.rootpath / "assignments" / "course"
    shutil.copytree(shared, handed_out.parent / "course")


@pytest.fixture
def hunt(handed_out: Path, solution: str) -> Iterator[Hunt]:
    """A hunt in a finished stage, outside a course."""
    (handed_out / "self_attention.py").write_text(solution)
    own = handout(handed_out)
    with closing(Hunt(own, own.stages[0], small_changes)) as opened:
        yield opened


def step(hunt: Hunt, answer: int | None = None) -> str:
    """Do the next step; return the output."""
    return render(hunt.go_on(answer, 80).parts, 80, colour=False)


@pytest.mark.usefixtures("quiz")
@pytest.mark.slow
def test_see_fix_and_catch(hunt: Hunt, solution: str):
    """A hunt goes from the picture to the fix and to a test that catches every mistake."""
    hunt.begin()
    state = hunt._known
    hunt._fill_bank(state)
    softmax = next(one for one in state.mistakes if "-2" in one.change)
    state.mistakes.sort(key=lambda one: one is not softmax)
    state.choices = [1, 4]  # rows that do not sum to one; a negative weight
    hunt.module.write_text(softmax.text)
    asked, refused, seen = step(hunt), step(hunt, 2), step(hunt, 1)
    hunt.module.write_text(f"{softmax.text}\n# only a comment\n")
    untouched = step(hunt)
    hunt.module.write_text(f"{softmax.text}\nUNUSED = 1\n")
    open_still = step(hunt)
    hunt.module.write_text(solution)
    fixed = step(hunt)
    test = hunt.folder / "test_hunt.py"
    test.write_text("def test_nothing():\n    assert False")
    failing = step(hunt)
    test.write_text(STAYS)
    some = step(hunt)
    test.write_text(AS_BEFORE)

    assert "differ from yours?\n  1  At least one row does not sum to one." in asked
    assert re.search("The wrong result: +Your result:", asked)
    assert "You have not changed anything yet." in untouched
    assert "softmax" not in untouched
    assert "Not quite. The smallest weight is 0." in refused
    assert "✓ Right. At least one row does not sum to one." in seen
    assert "The softmax runs over the queries; it must run over the keys" in " ".join(
        open_still.split()
    )
    assert "Now write a test" in fixed
    assert "fails on your own module" in failing
    assert "Your test catches 1 of 3 mistakes." in some
    assert "catches 3 of 3 mistakes" in step(hunt)


def test_a_course_without_a_quiz_asks_nothing(hunt: Hunt):
    """The pictures are followed by the task at once, and then the fix is checked."""
    hunt.begin()
    shown, then = step(hunt), step(hunt)

    assert re.search("The wrong result: +Your result:", shown)
    assert "differ from yours?" not in shown
    assert "Now find the bug" in shown
    assert "You have not changed anything yet." in then


@pytest.mark.usefixtures("quiz")
def test_a_hunt_goes_on_where_it_stopped(hunt: Hunt):
    """The state of a hunt is in a file; a damaged one begins a new hunt."""
    hunt.begin()
    again = Hunt(hunt._code._own, hunt._stage, small_changes)
    (hunt.folder / ".hunt.json").write_text("{")

    assert again._state == hunt._state
    assert Hunt(hunt._code._own, hunt._stage, small_changes).is_new


def test_nothing_but_the_mistake_differs_from_ones_own_code(hunt: Hunt, solution: str):
    """Comments and layout of the other exercises stay."""
    hunt.begin()
    wrong = hunt.module.read_text()
    before = solution[: solution.index("class SelfAttention_v2")]

    assert wrong != solution
    assert wrong.startswith(before)


def test_a_stage_that_is_not_done_has_no_hunt(handed_out: Path):
    """A hunt needs a finished stage, because it changes correct code."""
    own = handout(handed_out)
    with closing(Hunt(own, own.stages[0], small_changes)) as opened, pytest.raises(UsageError) as e:
        opened.begin()

    assert "a finished stage" in str(e.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("A", "It was a known mistake: A.", id="one"),
        pytest.param(
            alternatives(["A.", "B"], more=False),
            "Several known mistakes have this result. Either: A. Or: B.",
            id="alternatives",
        ),
        pytest.param(
            f"{FIRST}A.{SECOND}B",
            "Two known mistakes together have this result. First: A. Second: B.",
            id="two-together",
        ),
    ],
)
def test_the_name_of_a_fixed_mistake_is_a_sentence(name: str, said: str):
    """The closing sentence is right for one name, for alternatives, and for two mistakes."""
    wrong = WrongModule("a change", "attention", name, "", ())
    named, change = _solved(HuntState("", (), [wrong], []))

    assert named.plain == said
    assert change.plain == "The change in attention: a change"
