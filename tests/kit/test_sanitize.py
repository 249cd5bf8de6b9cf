"""Tests that untrusted text loses control sequences and has a bounded length."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.sanitize import (
    MAX_DIGITS,
    MAX_LINES,
    MAX_MESSAGE,
    digits,
    identifier,
    last_lines,
    line,
    lines,
    listed,
    name_and_id,
    without_folders,
)

HOSTILE = st.text() | st.text(alphabet="\x1b\x9b\x9c\x07[]m0;\\\n \u202e\u0301\u200b\u200dé")
LONG = st.builds(lambda text, times: text * times, HOSTILE, st.integers(1, 1000))
LIMITS = st.sampled_from((MAX_DIGITS, 40, 80, 400))


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
        pytest.param("e" + "\u0301\u200b" * 99, "e" + "\u0301" * 3, id="accents-with-gaps"),
        pytest.param(" a\n\tb\u2028c ", "a b c", id="one-line"),
    ],
)
def test_a_line_shows_and_does_nothing(text: str, seen: str):
    """Escapes, controls and bidirectional tricks are gone; scripts of the world stay."""
    assert line(text, 80) == seen


@given(HOSTILE)
def test_no_control_character_is_left(text: str):
    """No text keeps a control character, lone surrogate or bidirectional control."""
    for character in line(text, 200) + lines(text) + last_lines(text) + identifier(text):
        assert character == "\n" or unicodedata.category(character) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(character) not in {"RLO", "LRO", "RLI", "PDI", "PDF"}


def test_a_megabyte_becomes_a_few_lines_and_says_so():
    """A shortened line contains the number of cut characters, within the limit."""
    cut = line("x" * 1_000_000, 80)

    assert cut == "x" * 52 + " … (of 1,000,000 characters)"
    assert len(cut) == 80
    assert len(lines("x" * 1_000_000)) == MAX_MESSAGE
    assert lines("a\n" * 100).splitlines()[MAX_LINES - 1 :] == ["… (more lines)"]


@given(LONG, LIMITS)
def test_every_text_is_bounded(text: str, limit: int):
    """The remark about what was cut counts within the limit."""
    assert len(line(text, limit)) <= limit
    assert len(lines(text, limit)) <= limit
    assert len(lines(text, limit).split("\n")) <= MAX_LINES
    assert len(identifier(text)) <= 80
    assert len(digits(text)) <= MAX_DIGITS


@given(LONG, LIMITS)
def test_what_is_sanitized_stays_as_it_is(text: str, limit: int):
    """Sanitizing a second time changes nothing, so a record that is read again is equal."""
    assert line(line(text, limit), limit) == line(text, limit)
    assert lines(lines(text, limit), limit) == lines(text, limit)
    assert identifier(identifier(text)) == identifier(text)
    assert digits(digits(text)) == digits(text)


@given(st.lists(HOSTILE), st.integers(2, 5))
def test_a_long_list_says_how_much_is_left_out(items: list[str], most: int):
    """A long list is cut to its limit once, with the number of missing entries."""
    once = listed(items, most, 80)

    assert len(once) == min(most, len(items))
    assert listed(once, most, 80) == once
    if len(items) > most:
        assert once[-1] == f"… ({len(items) - most + 1} more)"


@pytest.mark.parametrize(
    "name", ["ada", "Ada  Lovelace", " ada", "李雷", "e" + "\u0301" * 9, "x" * 80, ""]
)
def test_an_ordinary_id_is_left_alone(name: str):
    """An ordinary id, such as one with two spaces, is not changed."""
    assert identifier(name) == name


@given(st.lists(LONG, unique=True, min_size=2, max_size=5))
def test_different_ids_stay_different(names: list[str]):
    """Ids that are changed end in a digest, so they stay different."""
    assert len(set(map(identifier, names))) == len(names)


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        pytest.param("1.0000", "1.0000", id="short"),
        pytest.param(f"{1e300:.4f}", "1.000e+300", id="306-characters"),
        pytest.param("nonsense" * 9, "nonsensenon…", id="no-number"),
    ],
)
def test_a_number_of_many_digits_gets_an_exponent(entry: str, shown: str):
    """``1e300`` printed with four decimals has 306 characters, which fit in no column."""
    assert digits(entry) == shown


def test_the_end_of_a_long_text_is_kept():
    """The end of a long text is kept, below a line that reports the cut."""
    text = "\n".join(map(str, range(1000)))

    assert last_lines(text).startswith("… (more above)\n971\n972")
    assert last_lines(text).endswith("\n999")


def test_the_end_keeps_the_spaces_in_front_of_its_first_line():
    """The kept end begins with its spaces, so printed tensors stay aligned."""
    assert last_lines("\n\n  [1.0,\n   2.0] \n\n") == "  [1.0,\n   2.0]"


@given(LONG)
def test_the_end_of_any_text_is_bounded(text: str):
    """The kept end of a text is bounded, and is not shortened a second time."""
    once = last_lines(text)

    assert len(once) <= MAX_MESSAGE
    assert once.count("\n") < MAX_LINES
    assert last_lines(once) == once


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("no /srv/course/tiny.py here", "no …/tiny.py here", id="file"),
        pytest.param("'/srv/a/', '/srv/b.py'", "'…/', '…/b.py'", id="several"),
        pytest.param("scores / keys ** 0.5 and/or 3/4/5", "scores / keys ** 0.5 and/or 3/4/5",
                     id="division"),
        pytest.param("see https://example.org/a/b", "see https://example.org/a/b", id="link"),
        pytest.param("src/tiny.py", "src/tiny.py", id="relative"),
    ],
)  # fmt: skip
def test_absolute_paths_lose_their_folders(text: str, seen: str):
    """A path keeps the name of its file, and text that only looks like a path stays."""
    assert without_folders(text) == seen
    assert without_folders(seen) == seen


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Ada Lovelace", "Ada Lovelace (ada)"), ("", "ada"), ("A\nB", "A B (ada)")],
)
def test_a_student_without_a_name_is_the_id_alone(name: str, shown: str):
    """A student is shown as the name on one line and the id, or as the id alone."""
    assert name_and_id(name, "ada") == shown
