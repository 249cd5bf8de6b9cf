"""Tests that a newer stub reaches a learner's module without touching the learner's code."""

import pytest

from autograder.student.exercise_cell import updated

OLD = '''"""Rules of before."""

import torch

EPS = 1e-5


def first(x):
    """Return x."""
    raise NotImplementedError


def second(x):
    """Return 2 x."""
    raise NotImplementedError
'''
NEW = OLD.replace("Return x.", "Return x as it is.").replace("Return 2 x.", "Return twice x.")
BEGUN = OLD.replace('Return x."""\n    raise NotImplementedError', 'Return x."""\n    return x')


def test_what_is_not_begun_is_replaced_and_the_rest_stays():
    """The text of an untouched stub is the new one; the learner's code keeps the old text."""
    update = updated(OLD, NEW, BEGUN, "01/m.py")

    assert update.text == BEGUN.replace("Return 2 x.", "Return twice x.")
    assert update.sentences == (
        "updated 01/m.py where you have not begun: second",
        "01/m.py: the stub of first has changed; your code stays.",
        '    -    """Return x."""',
        '    +    """Return x as it is."""',
    )


def test_an_untouched_module_becomes_the_new_stub():
    """With nothing begun, the module is the new stub, also its docstring and constants."""
    new = NEW.replace("Rules of before", "Rules of now").replace("1e-5", "1e-6")
    new = new.replace("import torch\n", "import torch\nfrom torch import nn\n")
    new += "\n\ndef third(x):\n    raise NotImplementedError\n"

    assert updated(OLD, new, OLD, "m.py").text == new


def test_own_helpers_and_line_breaks_stay():
    """Helpers, comments and Windows line breaks of the learner are kept."""
    mine = BEGUN.replace("EPS = 1e-5\n", "EPS = 1e-5\n\n\ndef half(x):  # mine\n    return x / 2\n")
    mine = mine.replace("\n", "\r\n")
    text = updated(OLD, NEW, mine, "m.py").text

    assert text == mine.replace("Return 2 x.", "Return twice x.")


@pytest.mark.parametrize(
    "mine",
    [
        pytest.param("def first(x:\n", id="not-python"),
        pytest.param(OLD + "\nif EPS:\n    second = first\n", id="set-again"),
    ],
)
def test_a_module_that_cannot_be_merged_stays_and_says_why(mine: str):
    """The reason is one sentence, and no byte changes."""
    update = updated(OLD, NEW, mine, "m.py")

    assert update.text == mine
    assert update.sentences[0].startswith("m.py stays as it is, although its stub has changed (")


def test_a_change_that_the_learner_has_already_is_not_news():
    """Nothing is said about a definition that equals the new one, or that did not change."""
    assert updated(OLD, NEW, NEW, "m.py").sentences == ()
    assert updated(OLD, OLD, BEGUN, "m.py").sentences == ()


def test_a_long_change_is_cut():
    """A long change shows its first lines and counts the rest."""
    new = OLD.replace("Return x.", "\n".join(f"    {n}" for n in range(30)))
    sentences = updated(OLD, new, BEGUN, "m.py").sentences

    assert len(sentences) == 14
    assert sentences[-1] == "    … and 19 more lines"
