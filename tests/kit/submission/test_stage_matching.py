"""Of all files of a stage, one is the submission, and the rest is listed."""

import hashlib

import pytest

STUB = b"def attend(x):\n    raise NotImplementedError\n"
WORK = "def attend(x):\n    return x"


def test_prefers_the_module_nearest_to_the_top(collected, write, class_, attention):
    """A module in a folder of old versions is ignored and listed."""
    write("alice/old/self_attention.py", b"old")
    write("alice/self_attention.py", b"new")
    write("alice/notes.txt")

    [submission] = collected(class_ / "alice", attention)

    assert submission.code.cells == (b"new",)
    assert submission.ignored == ("notes.txt", "old/self_attention.py")


def test_says_where_two_files_were_as_good(collected, write_zip):
    """A zip of a whole class, handed over as one student's, does not pass in silence."""
    path = write_zip("all.zip", {"bob/self_attention.py": b"", "alice/self_attention.py": b""})

    [submission] = collected(path)

    assert submission.notices == (
        "2 files are named self_attention.py; alice/self_attention.py was graded. Hand in one.",
    )


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
    """What browsers and file managers do to a name costs no points, but is said."""
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


def test_lets_the_stage_folder_tell_before_the_name(collected, write, class_):
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
    """The grader doesn't guess."""
    write("alice/one.ipynb", notebook(WORK))
    write("alice/two.ipynb", notebook(WORK))
    write("alice/02_self_attention/notes.txt")

    [submission] = collected(class_ / "alice", attention)

    assert submission.code is None
    assert "No self_attention.py was handed in" in submission.problem


def test_prefers_the_module_to_the_notebook(collected, write, class_, notebook):
    """Code has one home."""
    write("alice/02_self_attention/self_attention.py", b"attend = None")
    write("alice/02_self_attention/lab.ipynb", notebook(WORK))

    [submission] = collected(class_ / "alice")

    assert submission.code.kind == "module"
    assert submission.ignored == ("02_self_attention/lab.ipynb",)


@pytest.mark.parametrize(
    "stub", [pytest.param(STUB, id="lf"), pytest.param(STUB.replace(b"\n", b"\r\n"), id="crlf")]
)
def test_prefers_a_worked_notebook_to_an_untouched_stub(collected, write, class_, notebook, stub):
    """Who solved the exercises in the lab and left the stub alone is graded on the lab."""
    write("alice/02_self_attention/self_attention.py", stub)
    write("alice/02_self_attention/lab.ipynb", notebook("1", f"%%time\n{WORK}"))

    [submission] = collected(class_ / "alice")

    assert submission.code.kind == "notebook"
    assert submission.ignored == ("02_self_attention/self_attention.py",)
    assert submission.notices[0].startswith("self_attention.py is the released stub, unchanged")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("from self_attention import attend", id="imports"),
        pytest.param("def attend_more(x): ...", id="longer-name"),
        pytest.param("# def attend(x)", id="comment"),
        pytest.param("if True:\n    def attend(x): ...", id="not-at-line-start"),
    ],
)
def test_keeps_the_stub_where_the_notebook_solves_nothing(
    collected, write, class_, notebook, source
):
    """A lab that defines no exercise is the guided tour, not the work."""
    write("alice/02_self_attention/self_attention.py", STUB)
    write("alice/02_self_attention/lab.ipynb", notebook(source))

    [submission] = collected(class_ / "alice")

    assert submission.code.cells == (STUB,)
    assert submission.notices == ()


def test_keeps_the_stub_where_the_notebook_is_broken(collected, write, class_):
    """The stub is graded, and the notebook's trouble is said."""
    write("alice/02_self_attention/self_attention.py", STUB)
    write("alice/02_self_attention/lab.ipynb", b"{")

    [submission] = collected(class_ / "alice")

    assert submission.code.kind == "module"
    assert submission.notices[0].startswith("lab.ipynb is no notebook")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\0\0", id="nul"),
        pytest.param("x = 'é'".encode("utf-16"), id="utf-16"),
        pytest.param(b"# coding: latin-1\nx = '\xe9'\n", id="latin-1"),
    ],
)
def test_hands_modules_on_as_they_are(collected, write, data):
    """Whether the bytes are Python is for the worker to find out."""
    [submission] = collected(write("alice/self_attention.py", data))

    assert submission.code.cells == (data,)
    assert submission.sha256 == hashlib.sha256(data).hexdigest()


def test_refuses_a_huge_module(collected, write):
    """A module above the limit is a problem that names the file and the limit."""
    [submission] = collected(write("alice/self_attention.py", b"#" * (2**20 + 1)))

    assert submission.code is None
    assert submission.problem == (
        "self_attention.py is larger than 1,024 KiB and was not read. "
        "Hand in code without data or outputs."
    )
