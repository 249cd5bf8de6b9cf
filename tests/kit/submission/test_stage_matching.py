"""Files are matched to stages by their names, and one file of a stage is the submission."""

import pytest

WORK = "def attend(x):\n    return x"


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
    """What browsers and file managers do to a name costs no points, but is reported."""
    write(f"alice/{name}")

    [submission] = collected(class_ / "alice")

    assert submission.stage == "02_self_attention"
    assert submission.code.label == name
    assert submission.notices == (f"{name} was graded as self_attention.py.",)


def test_prefers_the_exact_name_to_a_copy(collected, write, class_):
    """Also where the copy lies nearer to the top."""
    write("alice/self_attention (1).py", b"copy")
    write("alice/draft/self_attention.py", b"exact")

    [submission] = collected(class_ / "alice")

    assert submission.code.cells == (b"exact",)
    assert submission.notices == ()


def test_takes_the_last_of_several_copies(collected, write, class_):
    """Browsers count up, and ten comes after nine."""
    for number in (2, 9, 10):
        write(f"alice/self_attention ({number}).py", b"%d" % number)

    [submission] = collected(class_ / "alice")

    assert submission.code.cells == (b"10",)


def test_matches_the_stage_folder_before_the_name(collected, write, class_):
    """A helper carried over from an earlier stage is no submission to that stage."""
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
    """By its name, or because it is the only one."""
    write(f"alice/{name}", notebook(WORK))

    [submission] = collected(class_ / "alice", attention)

    assert submission.code.kind == "notebook"
    assert submission.code.cells == (WORK.encode(),)
    assert submission.notices == (
        f"There is no self_attention.py, so the code cells of {name} were graded.",
    )


def test_takes_no_notebook_where_two_are_nameless(collected, write, class_, notebook, attention):
    """The grader does not guess which of the two is meant."""
    write("alice/one.ipynb", notebook(WORK))
    write("alice/two.ipynb", notebook(WORK))
    write("alice/02_self_attention/notes.txt")

    [submission] = collected(class_ / "alice", attention)

    assert submission.code is None
    assert "No self_attention.py was handed in" in submission.problem
