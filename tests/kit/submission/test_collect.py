"""Each form in which instructors have submissions is told by looking."""

import pytest

from autograder.errors import UsageError
from autograder.submission import collect

MODULE = "self_attention.py"


def _who(submissions):
    return [(one.student, one.stage) for one in submissions]


def test_takes_an_nbgrader_tree(collected, write, class_):
    """Student folders hold stage folders; what tools leave behind is passed over in silence."""
    write("bob/02_self_attention/self_attention.py")
    write("alice/02_self_attention/self_attention.py")
    write("alice/02_self_attention/timestamp.txt")
    write("alice/02_self_attention/.ipynb_checkpoints/self_attention-checkpoint.py")
    write("alice/02_self_attention/__pycache__/self_attention.cpython-311.pyc")
    write("alice/01_averaging/averaging.py")

    submissions = collected(class_)

    assert _who(submissions) == [
        ("alice", "01_averaging"),
        ("alice", "02_self_attention"),
        ("bob", "02_self_attention"),
    ]
    assert not any(one.ignored or one.notices or one.problem for one in submissions)


def test_takes_a_folder_of_one_submission(collected, write, class_):
    """Modules may lie directly in the folder or in folders named like stages."""
    write("alice/averaging.py")
    write("alice/02_self_attention/self_attention.py")

    submissions = collected(class_ / "alice")

    assert _who(submissions) == [("alice", "01_averaging"), ("alice", "02_self_attention")]


def test_takes_one_stage_folder(collected, write, class_):
    """The stage folder tells the stage, the folder above it the student."""
    write("alice/02_self_attention/lab.ipynb", b'{"cells": [{"cell_type": "code", "source": "1"}]}')

    [submission] = collected(class_ / "alice" / "02_self_attention")

    assert (submission.student, submission.stage) == ("alice", "02_self_attention")
    assert submission.code.label == "lab.ipynb"


def test_takes_a_zip_of_one_submission(collected, write_zip):
    """The zip's stem is the student; a folder around the files does no harm."""
    path = write_zip(
        "alice.zip", {"homework/self_attention.py": b"x", "homework/averaging.py": b""}
    )

    assert _who(collected(path)) == [("alice", "01_averaging"), ("alice", "02_self_attention")]


@pytest.mark.parametrize(
    ("name", "student"),
    [
        pytest.param("alice/self_attention.py", "alice", id="folder-tells"),
        pytest.param("alice/02_self_attention/self_attention.py", "alice", id="folder-above-stage"),
        pytest.param("alice/self_attention (1).py", "alice", id="browser-copy"),
        pytest.param("downloads/bob.py", "bob", id="stem-tells"),
        pytest.param("downloads/doejane_1_2_self_attention.py", "doejane_1", id="lms-tells"),
    ],
)
def test_takes_a_single_file(collected, write, attention, name, student):
    """A file named like the stage belongs to its folder's student, any other to its stem's."""
    [submission] = collected(write(name), attention)

    assert (submission.student, submission.stage) == (student, "02_self_attention")
    assert submission.code.cells == (b"def attend(x):\n    return x\n",)


def test_asks_for_the_stage_where_no_name_tells_it(collected, write):
    """A single file of any name and no chosen stage is a problem that says what to do."""
    [submission] = collected(write("bob.py"))

    assert submission.stage == ""
    assert submission.problem == (
        "The stage can't be told from the names: there is only bob.py. Name the module as its "
        "stage does, such as averaging.py, or choose a stage with --stage."
    )


def test_leaves_other_stages_out(collected, write, class_, attention):
    """With a chosen stage, who handed in another one only is no row at all."""
    write("alice/01_averaging/averaging.py")
    write("bob/02_self_attention/self_attention.py")

    assert _who(collected(class_, attention)) == [("bob", "02_self_attention")]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param({"notes.txt": b""}, "there is only notes.txt", id="other-files"),
        pytest.param({".hidden": b""}, "it is empty", id="empty"),
        pytest.param({"main.py": b"", "util.py": b""}, "only main.py, util.py", id="other-names"),
        pytest.param({f"{n}.txt": b"" for n in range(60)}, "... and 50 more", id="many-files"),
    ],
)
def test_reports_a_student_without_gradable_files(collected, write, class_, attention, files, says):
    """One submission names what was found, within bounds, and goes on with the class."""
    for name, data in files.items():
        write(f"alice/{name}", data)
    write("bob/self_attention.py")

    alice, bob = collected(class_, attention)

    assert says in alice.problem
    assert alice.code is None
    assert alice.sha256 == ""
    assert len(alice.ignored) <= 51
    assert bob.code is not None


def test_reports_a_stage_folder_without_code(collected, write, class_):
    """A stage that was begun has a row, also beside one that is complete."""
    write("alice/01_averaging/averaging.py")
    write("alice/02_self_attention/timestamp.txt")

    _, submission = collected(class_ / "alice")

    assert submission.stage == "02_self_attention"
    assert submission.problem == (
        "No self_attention.py was handed in: it is empty. "
        "Hand in self_attention.py, or a notebook named self_attention.ipynb."
    )


@pytest.mark.parametrize(
    ("names", "students"),
    [
        pytest.param(["homework.py"], ["class"], id="one-file"),
        pytest.param(["README.md"], ["class"], id="no-code"),
        pytest.param(["self_attention.py", "backup.zip"], ["class"], id="module-and-one-zip"),
        pytest.param(["lab-Copy1.ipynb", "a/b.txt"], ["class"], id="copy-of-lab"),
        pytest.param(["a.py", "b.py"], ["a", "b"], id="two-files"),
        pytest.param(["a.zip"], ["a"], id="one-zip"),
        pytest.param(["a/x.txt", "b/x.txt"], ["a", "b"], id="folders"),
        pytest.param(["a.zip", "b.zip", "averaging.py"], ["a", "averaging", "b"], id="two-zips"),
    ],
)
def test_tells_a_class_from_a_submission(collected, write, class_, names, students):
    """The rule in the docstring of ``collect`` holds."""
    for name in names:
        write(name)

    assert sorted({one.student for one in collected(class_)}) == students


def test_refuses_a_missing_path_at_once(stages, tmp_path):
    """The error comes when the path is given, not when the first submission is asked for."""
    with pytest.raises(UsageError, match=r"nowhere can't be read \(No such file"):
        collect(tmp_path / "nowhere", stages)


@pytest.mark.parametrize(
    "name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.zst", "a.rar", "a.7z", "A.TAR.XZ"]
)
def test_refuses_other_archives(stages, write, name):
    """Only zip is read; the message says how to go on."""
    with pytest.raises(UsageError, match=r"Unpack it, pack its files as a \.zip"):
        collect(write(name), stages)


def test_refuses_a_file_of_another_kind(stages, write):
    """A path that can't be a submission is the caller's mistake."""
    with pytest.raises(UsageError, match=r"essay.pdf is no submission. Name a folder, a .zip"):
        collect(write("essay.pdf"), stages)


def test_is_deterministic(collected, write, class_):
    """The same class gives the same records in the same order."""
    for student in "zebra", "anna", "Bob":
        write(f"{student}/self_attention.py", student.encode())

    first, second = collected(class_), collected(class_)

    assert first == second
    assert [one.student for one in first] == ["Bob", "anna", "zebra"]
    assert len({one.sha256 for one in first}) == len(first)
