"""Tests that a file name gives student and stage, and cannot forge a path or another student."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.submission.names import (
    MAX_STUDENT,
    original_stem,
    student_id,
)

WORK = "def attend(x):\n    return x"


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
    """An id is safe as a file name; if it had to change, a hash keeps it unique."""
    made = student_id(raw)

    assert made == student or (student.endswith("~") and made.startswith(student))


def test_keeps_students_apart():
    """Two names that would be cleaned to the same id stay different."""
    assert student_id("a<b") != student_id("a>b")
    assert student_id("x" * 300) != student_id("x" * 301)


@pytest.mark.parametrize("name", ["<b>eve<b>", "\x1b[31meve", "eve\nadmin,10", "e\udcffe"])
def test_collects_students_of_hostile_names(collected, write, class_, name):
    """No name stops a run, breaks a line or breaks the encoding of the results."""
    write(f"{name}/self_attention.py")
    write(f"{name}/{name.replace('/', '')}.txt")
    write("bob/self_attention.py")

    submissions = collected(class_)

    assert len(submissions) == 2
    for one in submissions:
        assert one.code is not None
        assert all(text.isprintable() for text in (one.student, *one.ignored, *one.notices))


def test_does_not_take_longer_for_hostile_copies():
    """The number of copy marks in a name is bounded, so a hostile name is parsed quickly."""
    stem = "copy (1)" * 30 + "!"

    assert original_stem(stem) == (stem, 0)


@given(name=st.text(max_size=300))
def test_is_always_safe_as_a_file_name(name):
    """A student id made from any name is safe as a file name."""
    made = student_id(name)

    assert made.isprintable()
    assert 0 < len(made) <= MAX_STUDENT
    assert not set(made) & set('<>:"/\\|?*')
    assert made == made.strip(". ")
    assert made not in {"..", "."}


def test_prefers_the_module_nearest_to_the_top(collected, write, class_, attention):
    """A module in a folder of old versions is ignored and listed."""
    write("alice/old/self_attention.py", b"old")
    write("alice/self_attention.py", b"new")
    write("alice/notes.txt")

    [submission] = collected(class_ / "alice", attention)

    assert submission.code.cells == (b"new",)
    assert submission.ignored == ("notes.txt", "old/self_attention.py")


@pytest.mark.parametrize(
    "name",
    [
        "self_attention (1).py",
        "self_attention(2).py",
        "self_attention-2.py",
        "self_attention 2.py",
        "self_attention copy.py",
        "self_attention - Copy (3).py",
        "Copy of self_attention.py",
        "Self_Attention.py",
        "self_attention-2 (1).py",
    ],
)
def test_accepts_a_copy_where_the_exact_name_is_missing(collected, write, class_, name):
    """A name that a browser or file manager changed loses no points, but is reported."""
    write(f"alice/{name}")

    [submission] = collected(class_ / "alice")

    assert submission.stage == "02_self_attention"
    assert submission.code.label == name
    assert submission.notices == (f"{name} was graded as self_attention.py.",)


def test_prefers_the_exact_name_to_a_copy(collected, write, class_):
    """The exact name is preferred to a copy, even if the copy is nearer to the top."""
    write("alice/self_attention (1).py", b"copy")
    write("alice/draft/self_attention.py", b"exact")

    [submission] = collected(class_ / "alice")

    assert submission.code.cells == (b"exact",)
    assert submission.notices == ()


def test_takes_the_last_of_several_copies(collected, write, class_):
    """The copy with the highest number is taken, ten after nine."""
    for number in (2, 9, 10):
        write(f"alice/self_attention ({number}).py", b"%d" % number)

    [submission] = collected(class_ / "alice")

    assert submission.code.cells == (b"10",)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        pytest.param("9_self_attention.py", "10_self_attention-1.py", id="numbered-by-canvas"),
        pytest.param("9_self_attention-1.py", "10_self_attention.py", id="exact-name-is-newer"),
        pytest.param("9_mine.py", "10_mine-1.py", id="other-name"),
        pytest.param("9_self_attention.ipynb", "10_self_attention-1.ipynb", id="notebooks"),
    ],
)
def test_grades_the_newest_attempt_of_a_download(
    collected, write, class_, notebook, attention, older, newer
):
    """The newest attempt is graded; Canvas numbers its files in the order of the uploads."""
    for name, code in ((older, "old"), (newer, "new")):
        data = f"def attend(x):\n    return {code}"
        write(f"doejane_1_{name}", notebook(data) if name.endswith("ipynb") else data.encode())
    [submission] = collected(class_, attention)

    assert b"return new" in submission.code.cells[0]
    assert any(
        note.startswith("2 attempts were submitted: ") and f"{newer} was uploaded last" in note
        for note in submission.notices
    )


def test_a_newer_zip_replaces_an_older_module(collected, write, class_, write_zip, attention):
    """The files in a zip count as uploaded with the zip."""
    write("doejane_1_9_self_attention.py", b"def attend(x):\n    return 'old'\n")
    write_zip("doejane_1_10_work.zip", {"self_attention.py": b"def attend(x):\n    return 'new'\n"})
    [submission] = collected(class_, attention)

    assert b"new" in submission.code.cells[0]
    assert "2 attempts were submitted" in submission.notices[0]


def test_a_choice_between_two_copies_is_reported(collected, write, class_, attention):
    """Two copies in one folder may be two attempts, so the page names the choice."""
    write("alice/self_attention (1).py", b"copy")
    write("alice/self_attention.py", b"exact")
    [submission] = collected(class_ / "alice", attention)

    assert submission.notices == (
        "2 attempts were submitted: self_attention.py was graded, not self_attention (1).py.",
    )


def test_matches_the_stage_folder_before_the_name(collected, write, class_):
    """A helper from an earlier stage is not a submission to that stage."""
    write("alice/02_self_attention/self_attention.py")
    write("alice/02_self_attention/averaging.py")

    [submission] = collected(class_ / "alice")

    assert submission.stage == "02_self_attention"
    assert submission.ignored == ("02_self_attention/averaging.py",)


@pytest.mark.parametrize(
    "name", ["self_attention.ipynb", "02_self_attention.ipynb", "lab.ipynb", "anything.ipynb"]
)
def test_takes_a_notebook_where_there_is_no_module(
    collected, write, class_, notebook, attention, name
):
    """Without a module a notebook is taken, by its name or if it is the only one."""
    write(f"alice/{name}", notebook(WORK))

    [submission] = collected(class_ / "alice", attention)

    assert submission.code.kind == "notebook"
    assert submission.code.cells == (WORK.encode(),)
    assert submission.notices == (
        f"There is no self_attention.py, so the code cells of {name} were graded.",
    )


def test_takes_no_notebook_where_two_are_nameless(collected, write, class_, notebook, attention):
    """The grader chooses neither of two notebooks without the stage's name."""
    write("alice/one.ipynb", notebook(WORK))
    write("alice/two.ipynb", notebook(WORK))
    write("alice/02_self_attention/notes.txt")

    [submission] = collected(class_ / "alice", attention)

    assert submission.code is None
    assert "No self_attention.py was submitted" in submission.problem
