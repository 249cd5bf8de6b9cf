"""Tests that an exercise has other hints for what fails first, if its author wrote some."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.authoring import verify
from autograder.cli import exercise_commands
from autograder.course import Handout, handouts
from autograder.errors import CourseError
from autograder.reports.feedback import CheckFeedback, ExerciseFeedback
from autograder.student.learner_folder import remember
from autograder.student.progress import Progress, Task, tasks
from autograder.student.warm_checker import CheckAnswer
from autograder.student.watch_screen import press
from autograder.student.watch_state import Watch
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer
from tests.kit.known_answers import KnownAnswers

STAGE = "01_first"
STAGE_FILE = """format_version = 1
title = "First"
goal = "Learn."
module = "first"

[[exercise]]
name = "Norm"
"""
HINTS = """Norm = ["A question.", "A direction.", "A line."]

[when.Norm.shape]
checks = ["test_shape"]
hints = ["Which shape?", "The last axis.", "dim=-1"]
"""


@pytest.fixture
def own(tmp_path: Path) -> Handout:
    """A learner's folder with one exercise, which has other hints for its shape."""
    folder = tmp_path / "my-work" / STAGE
    folder.mkdir(parents=True)
    files = {
        "first.py": "class Norm:\n    pass\n",
        "stage.toml": STAGE_FILE,
        "hints.toml": HINTS,
        "test_public.py": "",
        "../progress.json": "{}",
    }
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return handouts(tmp_path / "my-work")


def fails(own: Handout, check: str) -> None:
    """Note that the exercise fails, first in *check*."""
    stage = own.stages[0]
    remember(stage.stub, stage, {"Norm": False}, {"Norm": check})


def hint(own: Handout, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what `autograder hint` prints."""
    monkeypatch.chdir(own.root)
    return CliRunner().invoke(exercise_commands.app, ["hint", "Norm"]).stdout.splitlines()


def test_the_hints_are_those_of_the_first_failing_check(
    own: Handout, monkeypatch: pytest.MonkeyPatch
):
    """Each ladder begins with its question, and remembers how far the learner came."""
    first = hint(own, monkeypatch)
    fails(own, "test_shape")
    second = hint(own, monkeypatch)
    fails(own, "test_values")
    third = hint(own, monkeypatch)

    assert first == [f"{STAGE}/Norm, hint 1 of 3:", "A question."]
    assert second == [f"{STAGE}/Norm, hint 1 of 3:", "Which shape?"]
    assert third == [f"{STAGE}/Norm, hint 2 of 3:", "A direction."]


def test_a_check_that_has_no_hints_of_its_own_changes_nothing(own: Handout):
    """The progress has other hints only after a check that an author named."""
    progress = Progress.read(own.root)
    task = tasks(own)[0]

    assert not progress.set_failing(task, "test_values")
    assert progress.set_failing(task, "test_shape")
    assert progress.hints_of(task)[0] == "Which shape?"
    assert progress.set_failing(task, "")
    assert progress.failing == {}


def test_a_damaged_progress_file_has_the_usual_hints(own: Handout):
    """Names that are not text are ignored."""
    (own.root / "progress.json").write_text('{"failing": {"01_first/Norm": 5}}', "utf-8")

    assert Progress.read(own.root).hints_of(tasks(own)[0])[0] == "A question."


class Failing(KnownAnswers):
    """A checker for which every exercise fails first in one check."""

    def check(self, task: Task) -> CheckAnswer:
        """Answer at once."""
        wrong = CheckFeedback("Shapes.", "✗", "not right yet", 0.0, 1.0, name="test_shape")
        name = task.exercise.name
        return CheckAnswer(ExerciseFeedback(1, name, 0.0, 1.0, "", wrong, (), (), ()))


def test_watch_shows_the_hints_for_what_it_shows(own: Handout):
    """The key h begins the ladder of the check on the screen."""
    state = Watch(own, Failing())
    state.begin()
    press(state, "h")

    assert state.progress.shown_hints(state.task) == ("Which shape?",)
    assert Progress.read(own.root).failing == {f"{STAGE}/Norm": "test_shape"}


def test_hints_of_an_unknown_exercise_are_an_error(own: Handout):
    """The file and the name are in the message."""
    file = own.stages[0].source / "hints.toml"
    file.write_text(HINTS.replace("when.Norm", "when.Nrom"), "utf-8")

    with pytest.raises(CourseError, match=r"hints\.toml: 'Nrom' is not an exercise"):
        _ = handouts(own.root).stages


@pytest.mark.parametrize(
    ("hidden", "finding"),
    [("", []), ("a reason", ["name test_shape, which is not a public check of the exercise."])],
)
def test_hints_are_for_checks_that_students_have(own: Handout, hidden: str, finding: list[str]):
    """A hidden check is never the first that a learner sees."""
    spec = CheckSpec("Norm", 1.0, Layer.SHAPES, (), (), hidden)

    class Item:
        name = "test_shape"

    found = list(verify.misplaced_hints(own.stages[0], [CollectedCheck(Item, spec)]))
    assert found == [f"the hints when.Norm.shape {one}" for one in finding]
