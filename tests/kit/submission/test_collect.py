"""Each form in which instructors have submissions is recognized."""

import pytest

from autograder.errors import UsageError
from autograder.submission import collect_one


def _who(submissions):
    return [(one.student, one.stage) for one in submissions]


def test_takes_an_nbgrader_tree(collected, write, class_):
    """Student folders hold stage folders; what tools leave behind is ignored in silence."""
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
    """The folder is named after the stage, the folder above it after the student."""
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


def test_is_deterministic(collected, write, class_):
    """The same class gives the same records in the same order."""
    for student in "zebra", "anna", "Bob":
        write(f"{student}/self_attention.py", student.encode())

    first, second = collected(class_), collected(class_)

    assert first == second
    assert [one.student for one in first] == ["Bob", "anna", "zebra"]
    assert len({one.sha256 for one in first}) == len(first)


def test_collects_one_student_and_stage_whatever_the_names(stages, attention, write):
    """A single module of any name is the submission."""
    submission = collect_one(write("work.py"), "alice", attention, stages)

    assert (submission.student, submission.stage) == ("alice", "02_self_attention")
    assert submission.code is not None


def test_reports_files_of_another_stage_where_one_is_collected(stages, attention, write, class_):
    """There is always a submission, also where the files lie in another stage's folder."""
    write("alice/01_averaging/averaging.py")

    submission = collect_one(class_ / "alice", "alice", attention, stages)

    assert submission.stage == "02_self_attention"
    assert submission.problem.startswith("No self_attention.py was handed in: there is only")
    assert submission.ignored == ("01_averaging/averaging.py",)


def test_refuses_a_student_that_is_no_id(stages, attention, class_):
    """The message names an id that can be used instead."""
    with pytest.raises(UsageError, match=r"Rename it, such as to 'a_b~"):
        collect_one(class_, "a/b", attention, stages)
