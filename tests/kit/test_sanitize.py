"""What others wrote, made harmless to look at."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.results import Diagnosis, Grid, Outcome
from autograder.sanitize import MAX_LINES, MAX_MESSAGE, line, lines, sanitize
from tests.kit.reports.conftest import MakeCheck, MakeSubmission


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("softmax(x), d_k = 2", "softmax(x), d_k = 2", id="plain"),
        pytest.param(
            "Zoë 李雷 שלום 👩‍🔬", "Zoë 李雷 שלום 👩‍🔬", id="every-script-and-joined-emoji"
        ),
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b[2J\x1b[Hgone", "gone", id="cleared-screen"),
        pytest.param("\x9b31mred", "red", id="colour-in-8-bits"),
        pytest.param("\x1b]0;title\x07x", "x", id="window-title"),
        pytest.param("\x1b]52;c;aGk=\x1b\\x", "x", id="clipboard"),
        pytest.param("\x1b]8;;http://a\x1b\\here\x1b]8;;\x1b\\", "here", id="link"),
        pytest.param("\x1b]0;without an end", "0;without an end", id="escape-without-an-end"),
        pytest.param("\x1bcreset", "reset", id="terminal-reset"),
        pytest.param("a\x00b\x08c\x7f\x85", "abc", id="controls"),
        pytest.param("a\u202eb", "a<U+202E>b", id="right-to-left-override"),
        pytest.param("a\ud800b", "a\ufffdb", id="half-a-character"),
        pytest.param("a\u200b\ufeffb", "ab", id="nothing-to-see"),
        pytest.param("e" + "\u0301" * 99, "e" + "\u0301" * 3, id="accents-over-accents"),
        pytest.param(" a\n\tb\u2028c ", "a b c", id="one-line"),
    ],
)
def test_a_line_shows_and_does_nothing(text: str, seen: str):
    """Escapes, controls and bidirectional tricks are gone; scripts of the world stay."""
    assert line(text, 80) == seen


@given(st.text() | st.text(alphabet="\x1b\x9b\x9c\x07[]m0;\\\n\u202eé"))
def test_nothing_that_acts_is_left(text: str):
    """Whatever the text, no control character, half character or bidirectional control is left."""
    for character in line(text, 200) + lines(text):
        assert character == "\n" or unicodedata.category(character) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(character) not in {"RLO", "LRO", "RLI", "PDI", "PDF"}


def test_a_megabyte_becomes_a_few_lines_and_says_so():
    """What is cut is told."""
    assert line("x" * 1_000_000, 80) == "x" * 80 + " … (of 1,000,000 characters)"
    assert len(lines("x" * 1_000_000)) < MAX_MESSAGE + 50
    assert lines("a\n" * 100).splitlines()[MAX_LINES:] == ["… (more lines)"]


def test_a_number_of_many_digits_gets_an_exponent(check: MakeCheck, submission: MakeSubmission):
    """``1e300`` printed with four decimals has 306 characters, and a column has no room."""
    grid = Grid((("1.0000",),), ((f"{1e300:.4f}",),), (("nonsense" * 9,),), ((True,),))

    cleaned = sanitize(submission(check(Outcome.FAILED, grid=grid))).exercises[0].checks[0].grid
    assert (cleaned.expected, cleaned.yours) == ((("1.0000",),), (("1.000e+300",),))
    assert cleaned.difference == (("?",),)


def test_every_text_of_a_record_is_cleaned(check: MakeCheck, submission: MakeSubmission):
    """No field is forgotten."""
    bad = "\x1b[31m"
    grid = Grid(((bad,),), ((bad,),), ((bad,),), ((True,),), (bad,), (bad,))
    diagnosis = Diagnosis(bad, bad, bad)
    result = submission(
        check(Outcome.FAILED, title=bad, message=bad, diagnosis=diagnosis, grid=grid),
        student=bad, stage=bad, message=bad, notices=(bad,), ignored=(bad,), sha256=bad,
    )  # fmt: skip

    assert "\x1b" not in repr(sanitize(result)).encode().decode("unicode_escape")
