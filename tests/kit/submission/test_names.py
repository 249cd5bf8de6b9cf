"""No name can forge a line, a path or another student."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.submission.names import (
    MAX_SHOWN,
    MAX_STUDENT,
    original_stem,
    parse_download_name,
    student_id,
    visible,
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("self_attention.py", "self_attention.py", id="plain"),
        pytest.param("Jürgen 日本.py", "Jürgen 日本.py", id="letters"),
        pytest.param("a\nb\r.py", r"a\nb\r.py", id="newline"),
        pytest.param("\x1b[2Jx", r"\x1b[2Jx", id="ansi"),
        pytest.param("x\u202eyp.exe", r"x\u202eyp.exe", id="bidi"),
        pytest.param("x\udcff", r"x\udcff", id="undecodable"),
        pytest.param("<b>x</b>", "<b>x</b>", id="html-is-the-report's"),
    ],
)
def test_makes_names_visible(name, shown):
    """Unprintable characters are written as escapes."""
    assert visible(name) == shown


@pytest.mark.parametrize(
    ("raw", "student"),
    [
        pytest.param("alice", "alice", id="plain"),
        pytest.param("jane.doe@uni.edu", "jane.doe@uni.edu", id="mail"),
        pytest.param("Zo\u0065\u0308", "Zoë", id="one-spelling"),
        pytest.param("<b>eve</b>", "_b_eve__b_~", id="html"),
        pytest.param("\x1b[31meve", "_[31meve~", id="ansi"),
        pytest.param("eve\nadmin", "eve_admin~", id="newline"),
        pytest.param("..", "unnamed~", id="dots"),
        pytest.param("a/../b", "a_.._b~", id="path"),
    ],
)
def test_makes_ids_of_names(raw, student):
    """An id is safe as a file name; where it had to change, a hash keeps it apart."""
    made = student_id(raw)

    assert made == student or (student.endswith("~") and made.startswith(student))


def test_keeps_students_apart():
    """Two names that would be cleaned to one stay two."""
    assert student_id("a<b") != student_id("a>b")
    assert student_id("x" * 300) != student_id("x" * 301)


@pytest.mark.parametrize("name", ["<b>eve<b>", "\x1b[31meve", "eve\nadmin,10", "e\udcffe"])
def test_collects_students_of_hostile_names(collected, write, class_, name):
    """No name breaks a batch, a line or the encoding of the results."""
    write(f"{name}/self_attention.py")
    write(f"{name}/{name.replace('/', '')}.txt")
    write("bob/self_attention.py")

    submissions = collected(class_)

    assert len(submissions) == 2
    for one in submissions:
        assert one.code is not None
        assert all(text.isprintable() for text in (one.student, *one.ignored, *one.notices))


@pytest.mark.parametrize(
    ("name", "student", "file"),
    [
        pytest.param("doejane_1_2_a_b.py", "doejane_1", "a_b.py", id="canvas"),
        pytest.param("doejane_LATE_1_2_a.py", "doejane_1", "a.py", id="canvas-late"),
        pytest.param("doejane_late_1_2_a.py", "doejane_1", "a.py", id="canvas-late-lower"),
        pytest.param("Jane Doe_7_assignsubmission_file_", "Jane Doe_7", "", id="moodle-folder"),
        pytest.param("Jane_7_assignsubmission_file_a.py", "Jane_7", "a.py", id="moodle-flat"),
        pytest.param("alice_2", "alice_2", "alice_2", id="neither"),
        pytest.param("group_1_final.zip", "group_1_final.zip", "group_1_final.zip", id="almost"),
    ],
)
def test_reads_names_of_downloads(name, student, file):
    """When in doubt, the whole name is the student."""
    parsed = parse_download_name(name)

    assert (parsed.student, parsed.file) == (student, file)


def test_does_not_take_longer_for_hostile_copies():
    """The number of copy marks in a name is bounded."""
    stem = "copy (1)" * 30 + "!"

    assert original_stem(stem) == (stem, 0)


@given(name=st.text(max_size=300))
def test_is_always_safe_to_print(name):
    """For any name at all."""
    assert visible(name).isprintable()
    assert len(visible(name)) <= MAX_SHOWN


@given(name=st.text(max_size=300))
def test_is_always_safe_as_a_file_name(name):
    """For any name at all."""
    made = student_id(name)

    assert made.isprintable()
    assert 0 < len(made) <= MAX_STUDENT
    assert not set(made) & set('<>:"/\\|?*')
    assert made == made.strip(". ")
    assert made not in {"..", "."}
