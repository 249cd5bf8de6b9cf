"""What an LMS hands the instructor is told apart by student."""

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
