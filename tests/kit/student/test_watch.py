"""`autograder watch` in a real pseudo-terminal, and its parts."""

import contextlib
import shutil
import signal
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.course import Stage, handouts
from autograder.reports.feedback import CheckFeedback, ExerciseFeedback
from autograder.reports.terminal import render
from autograder.student.attention_weights import Weights
from autograder.student.progress import Progress, Task, tasks
from autograder.student.warm_checker import CheckAnswer
from autograder.student.watch import Watch
from autograder.student.watch_screen import screen
from tests.kit.pseudo_terminal import PseudoTerminal

STAGE = "04_self_attention"
LOOP = "def SelfAttentionV1(dimension_inputs, dimension_outputs):\n    while True:\n        pass\n"
FIRST = f"{STAGE}/SelfAttentionV1"


@pytest.fixture
def own(tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    """A learner's folder with two stages."""
    for stage in (STAGE, "05_masked_self_attention"):
        shutil.copytree(pytestconfig.rootpath / "assignments" / stage, tmp_path / "own" / stage)
    return tmp_path / "own"


@pytest.fixture
def terminal(own: Path) -> Iterator[PseudoTerminal]:
    """`autograder watch` in that folder."""
    with contextlib.closing(PseudoTerminal(own)) as opened:
        yield opened


def first_exercise(solution: str, stub: str) -> str:
    """Return the module in which the first exercise is solved, and nothing else."""
    return stub.replace(part(stub), part(solution), 1)


def part(text: str) -> str:
    """Return the first class of the module of stage 04."""
    return text[text.index("class SelfAttentionV1") : text.index("class SelfAttention_v1")]


def test_a_learner_goes_from_one_exercise_to_the_next(
    terminal: PseudoTerminal, own: Path, solution: str
):
    """Wrong answer, its name, two hints, right answer, the next exercise, quit; all is kept."""
    module = own / STAGE / "self_attention.py"
    right = first_exercise(solution, module.read_text("utf-8"))
    terminal.read_until("Write SelfAttentionV1 and save")
    terminal.save(module, right.replace(" / keys.shape[-1] ** 0.5", ""))
    wrong = terminal.read_until("The scores are not divided by")
    terminal.type("h")
    terminal.read_until("Hint 1 of 3")
    terminal.type("h")
    hinted = terminal.read_until("Hint 2 of 3")
    terminal.save(module, right)
    passed = terminal.read_until("Write SelfAttention_v1 and save")
    terminal.type("q")

    assert terminal.ended() == 0
    assert wrong.index("It looks like this") < wrong.index("Seeded")
    assert "Hint 3" not in hinted
    assert "✓ SelfAttentionV1 passes." in passed
    progress = Progress.read(own)
    assert (progress.passed, progress.hints) == ({FIRST}, {FIRST: 2})
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_it_survives_what_happens_to_a_file(terminal: PseudoTerminal, own: Path):
    """Half a file, none, a loop, another size of the terminal; Ctrl-C restores the terminal."""
    module = own / STAGE / "self_attention.py"
    terminal.read_until("Write SelfAttentionV1 and save")
    terminal.save(module, "def half(")
    terminal.read_until("never closed")
    terminal.shown = ""
    module.unlink()
    terminal.read_until("self_attention.py is not in 04_self_attention/")
    terminal.save(module, LOOP)
    terminal.read_until("did not finish")
    terminal.shown = ""
    terminal.resize(24, 40)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.read_until("did not finish")
    terminal.process.send_signal(signal.SIGINT)

    assert terminal.ended() == 0
    assert "Traceback" not in terminal.shown
    assert termios.tcgetattr(terminal.slave) == terminal.before


class KnownAnswers:
    """A checker that knows which exercises pass."""

    def __init__(self, *right: str) -> None:
        self.right = set(right)

    def check(self, task: Task) -> CheckAnswer:
        """Answer at once."""
        name = task.exercise.name
        wrong = CheckFeedback("A sentence.", "✗", "not right yet", 0.0, 1.0, message="No.")
        first = None if task.key in self.right else wrong
        return CheckAnswer(ExerciseFeedback(1, name, 0.0, 1.0, "in progress", first, (), (), ()))

    def picture(self, stage: Stage) -> Weights:
        """Return weights for the tokens of stage 04."""
        return tuple((1.0,) + (0.0,) * 5 for _ in stage.file.picture.tokens)

    def check_hidden(self, task: Task) -> CheckAnswer:
        """Say which exercise was asked for."""
        return CheckAnswer(message=f"hidden: {task.exercise.name}")


def shown(state: Watch) -> str:
    """Return what a terminal shows of *state*."""
    return render(screen(state, 80, 40), 80, colour=False)


def test_a_finished_stage_says_what_comes_next(own: Path):
    """It waits for a key; then the next open exercise is shown."""
    course = handouts(own)
    *first, last = [task.key for task in tasks(course) if task.stage.name == STAGE]
    checker = KnownAnswers(*first, last)
    state = Watch(course, checker)
    state.check()
    finished = shown(state)
    state.press("n")

    assert "This stage is done: Self-attention as a module" in finished
    assert "journey ███ 1.00     0.00" in finished
    assert "every row sums to one." in " ".join(finished.split())
    assert f"Next: {course.stages[1].title}. {course.stages[1].file.goal[:20]}" in finished
    assert state.task.stage.name == "05_masked_self_attention"
    assert "05_masked_self_attention, 2 of 2 stages" in shown(state)


def test_the_last_exercise_ends_the_course(own: Path):
    """There is no next one, and the bar is full."""
    course = handouts(own)
    state = Watch(course, KnownAnswers(*(task.key for task in tasks(course))))
    state.check(stop_after_stage=False)

    assert "Congratulations on the whole course" in shown(state)
    assert "7 of 7 exercises" in shown(state)


def test_a_lost_progress_file_is_made_again(own: Path):
    """What passes is passed over, without a stop at the end of a stage."""
    course = handouts(own)
    every = [task.key for task in tasks(course)]
    state = Watch(course, KnownAnswers(*every[:-1]))
    state.check(stop_after_stage=False)

    assert state.task.key == every[-1]
    assert Progress.read(own).passed == set(every[:-1])


def test_a_save_in_another_stage_goes_there(own: Path):
    """To its first open exercise, because the learner has gone there."""
    course = handouts(own)
    state = Watch(course, KnownAnswers())
    state.saved([course.stages[1]])

    assert state.task == tasks(course)[4]


def test_the_hidden_suite_has_a_key_where_it_is(own: Path, pytestconfig: pytest.Config):
    """In a clone the line of keys names it; what it says stays until the next key."""
    inside = Watch(handouts(pytestconfig.rootpath / "assignments"), KnownAnswers())
    outside = Watch(handouts(own), KnownAnswers())
    inside.press("s")
    hidden = shown(inside)
    inside.press("x")

    assert "hidden: mix" in hidden
    assert "hidden: " not in shown(inside)
    assert "s hidden suite" in shown(inside)
    assert "s hidden suite" not in shown(outside)


def test_keys_move_list_and_check_again(own: Path):
    """A passed exercise that is looked at again stays on the screen; the list goes with any key."""
    course = handouts(own)
    checker = KnownAnswers(FIRST)
    state = Watch(course, checker)
    state.check()
    state.press("p")
    again = shown(state)
    state.press("l")
    listed = shown(state)
    state.press("x")

    assert "✓ SelfAttentionV1 passes." in again
    assert "✓ SelfAttentionV1  ← here" in listed
    assert "· transfer_weights" in listed
    assert shown(state) == again
    state.press("n")
    assert state.task.exercise.name == "SelfAttention_v1"
