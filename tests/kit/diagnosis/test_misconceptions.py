"""Tests misconceptions: solutions with one mistake."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.diagnosis import misconceptions
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.kinds import silenced
from autograder.errors import CourseError
from autograder.results import MAX_TITLE

STAGES = sorted((Path(__file__).parents[2] / "hidden").glob("[0-9]*"))
SOLUTION = """
import torch

def double(x):
    return 2 * x

@torch.no_grad()
def triple(x):
    ### BEGIN SOLUTION
    return 3 * x
    ### END SOLUTION

def last(x):
    return 2 * x
"""


def mistake(exercise: str = "double", **how: object) -> Misconception:
    """Return a misconception with the arguments *how*."""
    return Misconception(id="wrong", exercise=exercise, explanation="e", question="q", **how)


def test_a_mistake_without_a_title_gets_that_of_its_explanation():
    """Authors write a title only where the first clause would not name the mistake."""
    assert mistake().title == "e"
    assert mistake(title="The numbers are squared").title == "The numbers are squared"


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
def test_every_mistake_of_the_course_has_a_good_title(path: Path):
    """A title fits one line, begins like a sentence, and is unique in its exercise."""
    found = misconceptions.read(path / "misconceptions.py")
    bad = [
        item.id for item in found if not item.title[0].isupper() or item.title.endswith((".", "…"))
    ]

    assert bad == []
    assert max(len(item.title) for item in found) <= MAX_TITLE
    assert len({(item.exercise, item.title) for item in found}) == len(found)


def test_a_swap_changes_its_own_exercise_only():
    """A swap does not change the same text in a different definition."""
    text = mistake(swaps=(("2 * x", "x ** 2"),)).module(SOLUTION)

    assert text == SOLUTION.replace("2 * x", "x ** 2", 1)


@pytest.mark.parametrize(
    ("old", "times"),
    [pytest.param("5 * x", 0, id="absent"), pytest.param("x", 2, id="ambiguous")],
)
def test_a_swap_must_occur_exactly_once(old: str, times: int):
    """If the text is missing or ambiguous, the author must change the misconception."""
    with pytest.raises(CourseError, match=f"occurs {times} times in double"):
        mistake(swaps=((old, "y"),)).module(SOLUTION)


def test_code_replaces_the_whole_definition():
    """`code` replaces the whole definition, with decorators and markers."""
    wrong = """
        def triple(x):
            return x
        """
    text = mistake("triple", code=wrong).module(SOLUTION)

    assert "def triple(x):\n    return x\n" in text
    assert "no_grad" not in text
    assert "SOLUTION" not in text
    assert "def last" in text


def test_code_needs_no_newline_at_its_end():
    """The definition that follows begins on its own line."""
    text = mistake(code="def double(x): return x").module(SOLUTION)

    assert "def double(x): return x\n" in text


@pytest.mark.parametrize(
    ("how", "excerpt"),
    [
        pytest.param({"swaps": (("2 * x", "2 *"),)}, "not valid Python", id="swap"),
        pytest.param({"code": "def double(x:"}, "not valid Python", id="code"),
        pytest.param({"exercise": "halve", "code": "x"}, "no halve", id="unknown-exercise"),
    ],
)
def test_a_mistake_that_does_not_apply_is_refused(how: dict, excerpt: str):
    """A mistake that does not fit the solution is refused with the reason."""
    with pytest.raises(CourseError, match=excerpt):
        mistake(**how).module(SOLUTION)


def test_an_exception_quotes_the_line_of_the_whole_module():
    """Only the definition is compiled, with the line numbers of the whole module."""
    wrong = mistake("last", swaps=(("2 * x", "x.missing"),))
    namespace: dict = {}
    exec(wrong.compile(SOLUTION, "wrong.py"), namespace)  # noqa: S102  # the text above

    with pytest.raises(AttributeError) as caught:
        namespace["last"](1)
    place = caught.traceback[-1]
    lines = wrong.module(SOLUTION).splitlines()
    assert (str(place.path), lines[place.lineno]) == ("wrong.py", "    return x.missing")
    assert set(namespace) == {"__builtins__", "last"}


def test_misconceptions_are_read_in_the_order_of_their_file(tiny: Course):
    """The list `MISCONCEPTIONS` of a file is read in its order."""
    found = misconceptions.read(tiny.stages[0].misconceptions)

    assert [item.id for item in found] == ["squares", "scales_by_nothing"]


@pytest.mark.parametrize(
    ("old", "new", "excerpt"),
    [
        pytest.param("scales_by_nothing", "squares", "two misconceptions", id="duplicates"),
        pytest.param('swaps=(("2 * x", "x ** 2"),),', "", "either swaps or code", id="no-mistake"),
        pytest.param("The numbers were squared.", "", "needs an explanation", id="unexplained"),
        pytest.param('id="squares",', 'id="squares", ties=("x",),', "unknown", id="unknown-tie"),
    ],
)
def test_malformed_misconceptions_are_refused(tiny: Course, old: str, new: str, excerpt: str):
    """A malformed file of misconceptions is refused with its name."""
    path = tiny.stages[0].misconceptions
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(CourseError, match=excerpt) as caught:
        misconceptions.read(path)

    assert str(path) in str(caught.value)


def test_without_a_file_there_are_no_misconceptions(tiny: Course):
    """A stage needs a file only for sentences that an author must write, or to add a group."""
    stage = tiny.stages[0]
    stage.misconceptions.unlink()

    assert misconceptions.read(stage.misconceptions) == ()
    assert misconceptions.read_operators(stage) == silenced(stage.kinds)
    assert "entry_kept" in silenced(stage.kinds)


def test_a_course_switches_off_kinds_of_other_topics(tiny: Course):
    """A course turns off kinds of other topics; a stage turns one on by its own sentence."""
    stage = replace(tiny.stages[0], kinds=("python",))
    stage.misconceptions.write_text('OPERATORS = {"mask_fill": ("It is filled.", "With what?")}\n')

    words = misconceptions.read_operators(stage)

    assert words["mask_fill"] == ("It is filled.", "With what?")
    assert words["scale_missing"] is None
    assert words["detached"] is None
    assert "boundary" not in words


def test_each_title_of_the_course_begins_its_explanation():
    """The terminal and the pages print the title of a misconception once."""
    written = [
        item for stage in STAGES for item in misconceptions.read(stage / "misconceptions.py")
    ]

    assert len(written) > 100
    assert [item.id for item in written if not item.explanation.startswith(item.title)] == []
