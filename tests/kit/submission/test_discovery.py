"""A path is a class or one student's hand-in, and each file is assigned to its student."""

import pytest

from autograder.errors import UsageError
from autograder.submission import collect

MODULE = "self_attention.py"


def _who(submissions):
    return [(one.student, one.stage) for one in submissions]


def test_takes_a_folder_of_downloads(collected, write, write_zip, class_, attention):
    """Zips and loose files of one folder are one submission each."""
    write_zip("bob.zip", {MODULE: b"bob"})
    write("alice.py", b"alice")
    write("carol.ipynb", b'{"cells": [{"cell_type": "code", "source": "carol"}]}')
    write("grades.csv")

    submissions = collected(class_, attention)

    assert [one.student for one in submissions] == ["alice", "bob", "carol"]
    assert [one.code.cells for one in submissions] == [(b"alice",), (b"bob",), (b"carol",)]


def test_reads_canvas_names(collected, write, write_zip, class_):
    """Name and user number are the student, the rest is the file; lateness is passed on."""
    write("doejane_101_9001_self_attention-1.py")
    write("roejohn_LATE_102_9002_self_attention.py")
    write_zip("poepat_103_9003_homework.zip", {MODULE: b""})

    submissions = collected(class_)

    assert [one.student for one in submissions] == ["doejane_101", "poepat_103", "roejohn_102"]
    assert {one.stage for one in submissions} == {"02_self_attention"}
    assert submissions[2].notices == ("Canvas marks this hand-in as late.",)


def test_reads_moodle_folders(collected, write, write_zip, class_):
    """Name and participant number are the student; the folder may hold files or one zip."""
    write("Jane Doe_101_assignsubmission_file_/self_attention.py")
    write_zip("John Roe_102_assignsubmission_file_/work.zip", {MODULE: b""})
    write("John Roe_102_assignsubmission_onlinetext_/onlinetext.html")

    submissions = collected(class_)

    assert _who(submissions) == [
        ("Jane Doe_101", "02_self_attention"),
        ("John Roe_102", "02_self_attention"),
    ]


def test_joins_what_one_student_handed_in_piecemeal(collected, write, class_):
    """Two files of one Canvas user are one submission with both stages."""
    write("doejane_101_9001_self_attention.py")
    write("doejane_101_9002_averaging.py")
    write("doejane_101_9003_essay.pdf")

    submissions = collected(class_)

    assert _who(submissions) == [
        ("doejane_101", "01_averaging"),
        ("doejane_101", "02_self_attention"),
    ]
    assert submissions[0].ignored == ("essay.pdf",)


def test_reports_an_lms_hand_in_of_another_kind(collected, write, class_):
    """A student who handed in a PDF gets a problem, not silence."""
    write("doejane_101_9001_essay.pdf")

    [submission] = collected(class_)

    assert submission.student == "doejane_101"
    assert submission.problem.startswith("Nothing to grade: there is only doejane_101_9001_essay")


def test_reports_another_archive_in_a_class(collected, write, class_):
    """The same sentence, as the student's problem."""
    write("alice.tar.gz")
    write("bob.zip")

    alice, bob = collected(class_)

    assert (alice.student, bob.student) == ("alice", "bob")
    assert alice.problem.startswith("alice.tar.gz is an archive of a kind that is not read.")


def test_joins_a_folder_and_its_zip(collected, write, write_zip, class_):
    """An unpacked zip beside itself is one submission; the zip's module is listed."""
    write("alice/self_attention.py", b"unpacked")
    write_zip("alice.zip", {"self_attention.py": b"packed"})
    write_zip("bob.zip", {"self_attention.py": b""})

    alice, _ = collected(class_)

    assert alice.code.cells == (b"unpacked",)
    assert alice.ignored == ("self_attention.py",)


@pytest.mark.parametrize(
    ("name", "student"),
    [
        pytest.param("alice/self_attention.py", "alice", id="from-the-folder"),
        pytest.param("alice/02_self_attention/self_attention.py", "alice", id="folder-above-stage"),
        pytest.param("alice/self_attention (1).py", "alice", id="browser-copy"),
        pytest.param("downloads/bob.py", "bob", id="from-the-stem"),
        pytest.param("downloads/doejane_1_2_self_attention.py", "doejane_1", id="from-the-lms"),
    ],
)
def test_takes_a_single_file(collected, write, attention, name, student):
    """A file named like the stage belongs to its folder's student, any other to its stem's."""
    [submission] = collected(write(name), attention)

    assert (submission.student, submission.stage) == (student, "02_self_attention")
    assert submission.code.cells == (b"def attend(x):\n    return x\n",)


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


@pytest.mark.parametrize("name", ["solution", "solution/self_attention.py"])
def test_refuses_a_link_as_path(stages, class_, tmp_path, secret, name):
    """The shell may have expanded a name to a link that a student planted."""
    assert secret.exists()
    (class_ / "link.py").symlink_to(tmp_path / name)

    with pytest.raises(UsageError, match=r"links are not followed\. Name the folder or the file"):
        collect(class_ / "link.py", stages)
