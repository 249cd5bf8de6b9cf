"""Tests building one submission for each stage, or the reason why nothing is graded."""

import hashlib
import json

import pytest

from autograder.results import Flag, FlagKind
from autograder.submission import Code, Submission
from autograder.submission.assemble import note_answers

STUB = b"def attend(x):\n    raise NotImplementedError\n"
WORK = "def attend(x):\n    return x"


def _submission(kind, *cells):
    code = Code(kind=kind, cells=cells, label="x") if cells else None
    return Submission(student="alice", stage="02_self_attention", code=code)


@pytest.mark.parametrize(
    ("submission", "module"),
    [
        pytest.param(_submission("module", b"x = 1"), b"x = 1", id="module"),
        pytest.param(_submission("notebook", b"x = 1"), None, id="notebook"),
        pytest.param(_submission("module"), None, id="no-code"),
    ],
)
def test_has_a_module_where_one_was_submitted(submission, module):
    """A submission has a module only if one was submitted, and not for notebook cells."""
    assert submission.module == module


def test_hashes_a_module_as_its_file():
    """A module has the hash of its file, so that an instructor can compare the two."""
    assert _submission("module", b"x = 1").sha256 == hashlib.sha256(b"x = 1").hexdigest()


def test_hashes_where_a_cell_ends():
    """Notebooks with the same text in different cells differ; without code there is no hash."""
    assert _submission("notebook", b"a", b"b").sha256 == hashlib.sha256(b"1:a1:b").hexdigest()
    assert _submission("notebook", b"ab").sha256 != _submission("notebook", b"a", b"b").sha256
    assert _submission("module").sha256 == ""


def test_says_where_two_files_were_as_good(collected, write_zip):
    """Two modules of one name in a submission give a notice about the choice."""
    path = write_zip(
        "all.zip", {"b/self_attention.py": b"", "a/self_attention.py": b"", "lab.ipynb": b""}
    )

    [submission] = collected(path)

    assert submission.notices == (
        "2 files are named self_attention.py; a/self_attention.py was graded. Submit one.",
    )


@pytest.fixture
def with_question(attention):
    """Stage 02_self_attention with a question in its lab, worth three points."""
    facts = {"grade_id": "why", "grade": True, "solution": True, "points": 3}
    cell = {"cell_type": "markdown", "source": "?", "metadata": {"nbgrader": facts}}
    attention.lab.write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
    return attention


def test_says_that_the_written_answers_are_missing(collected, write, class_, with_question):
    """Graders get a notice with the points that cannot be earned; a self-check has none."""
    write("alice/self_attention.py", WORK.encode())
    [submission] = collected(class_ / "alice", with_question)

    assert submission.notices == ()
    noted = note_answers(submission, [with_question])
    assert noted.notices == (
        "No lab.ipynb was submitted, so the written answers (3 points) count as missing.",
    )
    assert noted.flags == (Flag(FlagKind.NO_LAB, noted.notices[0]),)


def test_answers_that_may_be_elsewhere_are_a_flag(
    collected, write, class_, notebook, with_question
):
    """The review list names a lab whose answers a person must look for."""
    for name in ("self_attention.py", "lab.ipynb"):
        write(f"alice/{name}", notebook("Mine.") if name.endswith("ipynb") else WORK.encode())
    [submission] = collected(class_ / "alice", with_question)
    noted = note_answers(submission, [with_question])

    assert noted.flags == (Flag(FlagKind.UNCLEAR_ANSWERS, noted.notices[0]),)
    assert noted.waiting == 3.0


@pytest.mark.parametrize(
    ("files", "waiting"),
    [
        pytest.param(["self_attention.py", "lab.ipynb"], 3.0, id="with-lab"),
        pytest.param(["notes.txt"], 0.0, id="no-module"),
    ],
)
def test_says_nothing_of_written_answers_that_are_there(
    collected, write, class_, with_question, files, waiting
):
    """There is no notice if the lab has the answer, or if nothing can be graded anyway."""
    cell = {**json.loads(with_question.lab.read_bytes())["cells"][0], "source": "Because."}
    lab = json.dumps({"nbformat": 4, "cells": [cell]}).encode()
    for name in files:
        write(f"alice/{name}", lab if name.endswith("ipynb") else WORK.encode())
    [submission] = collected(class_ / "alice", with_question)
    noted = note_answers(submission, [with_question])

    assert (noted.notices, noted.waiting) == (submission.notices, waiting)


def test_the_lab_has_the_answers_even_next_to_a_notebook_of_code(
    collected, write, class_, notebook, with_question
):
    """A notebook with the module's name has the code, and the lab has the answers."""
    for name in ("self_attention.ipynb", "lab.ipynb"):
        write(f"alice/{name}", notebook(WORK))
    [submission] = collected(class_ / "alice", with_question)

    assert (submission.code.label, submission.lab.label) == ("self_attention.ipynb", "lab.ipynb")
    assert submission.ignored == ()


def test_prefers_the_module_to_the_notebook(collected, write, class_, notebook):
    """The module is graded rather than the notebook, because students write code in modules."""
    write("alice/02_self_attention/self_attention.py", b"attend = None")
    write("alice/02_self_attention/lab.ipynb", notebook(WORK))

    [submission] = collected(class_ / "alice")

    assert submission.code.kind == "module"
    assert submission.lab.label == "lab.ipynb"
    assert submission.ignored == ()


@pytest.mark.parametrize(
    "stub", [pytest.param(STUB, id="lf"), pytest.param(STUB.replace(b"\n", b"\r\n"), id="crlf")]
)
def test_prefers_a_worked_notebook_to_an_untouched_stub(collected, write, class_, notebook, stub):
    """A student who solved the exercises in the lab, and not in the stub, is graded on the lab."""
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
    """A lab that defines no exercise is not graded in place of the module."""
    write("alice/02_self_attention/self_attention.py", STUB)
    write("alice/02_self_attention/lab.ipynb", notebook(source))

    [submission] = collected(class_ / "alice")

    assert submission.code.cells == (STUB,)
    assert submission.notices == ()


def test_keeps_the_stub_where_the_notebook_is_broken(collected, write, class_):
    """The stub is graded, and the notebook's problem is reported."""
    write("alice/02_self_attention/self_attention.py", STUB)
    write("alice/02_self_attention/lab.ipynb", b"{")

    [submission] = collected(class_ / "alice")

    assert submission.code.kind == "module"
    assert submission.notices[0].startswith("lab.ipynb is not a notebook")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\0\0", id="nul"),
        pytest.param(b"# coding: latin-1\nx = '\xe9'\n", id="latin-1"),
    ],
)
def test_hands_modules_on_as_they_are(collected, write, data):
    """A module stays bytes, because only the worker parses it."""
    [submission] = collected(write("alice/self_attention.py", data))

    assert submission.code.cells == (data,)
    assert submission.sha256 == hashlib.sha256(data).hexdigest()


def test_says_that_a_module_was_converted(collected, write):
    """A module in UTF-16 is graded as text, under its other name, with a notice for each."""
    [submission] = collected(write("alice/02_self_attention/mine.py", WORK.encode("utf-16")))

    assert submission.module == WORK.encode()
    assert submission.notices == (
        "mine.py was graded as self_attention.py.",
        "mine.py is in UTF-16 and was converted. Save it as UTF-8 next time.",
    )


def test_refuses_a_huge_module(collected, write):
    """A module above the limit is a problem that names the file and the limit."""
    [submission] = collected(write("alice/self_attention.py", b"#" * (2**20 + 1)))

    assert submission.code is None
    assert submission.problem == (
        "self_attention.py is larger than 1,024 KiB and was not read. "
        "Submit the code without data or outputs."
    )


def test_asks_for_the_stage_where_no_name_tells_it(collected, write):
    """If no name or option gives the stage, the problem of a single file states what to do."""
    [submission] = collected(write("bob.py"))

    assert submission.stage == ""
    assert submission.problem == (
        "The file names don't show the stage: there is only bob.py. Name the module as its "
        "stage does, such as averaging.py, or choose a stage with --stage."
    )


def test_leaves_other_stages_out(collected, write, class_, attention):
    """If a stage is chosen, a student who submitted only a different stage has no row."""
    write("alice/01_averaging/averaging.py")
    write("bob/02_self_attention/self_attention.py")

    [submission] = collected(class_, attention)

    assert (submission.student, submission.stage) == ("bob", "02_self_attention")


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
    """A student without gradable files has one submission, which names some of the files."""
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
    """A stage folder without code has a row, even next to a complete stage."""
    write("alice/01_averaging/averaging.py")
    write("alice/02_self_attention/timestamp.txt")

    _, submission = collected(class_ / "alice")

    assert submission.stage == "02_self_attention"
    assert submission.problem == (
        "No self_attention.py was submitted: it is empty. "
        "Submit self_attention.py, or a notebook named self_attention.ipynb."
    )


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        pytest.param("alice/02_self_attention/timestamp.txt", True, id="nbgraders"),
        pytest.param("alice/02_self_attention/old/timestamp.txt", False, id="deeper"),
        pytest.param("ada_1_assignsubmission_file_/timestamp.txt", False, id="uploaded"),
    ],
)
def test_keeps_the_timestamp_of_nbgrader(collected, write, class_, attention, name, is_kept):
    """Only a timestamp that nbgrader wrote counts, not a timestamp that a student packed."""
    write(name)
    write(name.replace("timestamp.txt", "self_attention.py"))

    [submission] = collected(class_, attention)

    assert (submission.stamp is not None) == is_kept


def test_keeps_the_secret_of_nbgrader(collected, write, class_):
    """Nbgrader's file with a secret is not graded, listed or mentioned."""
    write("alice/02_self_attention/submission_secret.txt", b"0a1b")

    [submission] = collected(class_ / "alice")

    assert submission.secret.read(10) == b"0a1b"
    assert submission.ignored == ()
    assert "secret" not in submission.problem


def test_takes_no_timestamp_from_an_archive(collected, write_zip):
    """A timestamp in an archive, which a student may have packed, is ignored."""
    path = write_zip("alice.zip", {"self_attention.py": b"", "timestamp.txt": b""})

    [submission] = collected(path)

    assert submission.stamp is None


def test_keeps_the_notebook_next_to_the_module(collected, write, class_, notebook):
    """The notebook next to a graded module is kept, because the gradebook shows it."""
    write("alice/02_self_attention/self_attention.py")
    write("alice/02_self_attention/lab.ipynb", notebook("1"))

    [submission] = collected(class_ / "alice")

    assert submission.code.kind == "module"
    assert submission.lab.label == "lab.ipynb"


@pytest.fixture
def lab(attention, notebook):
    """The released lab of the stage, as a function of what a student adds to it."""
    given = ("from autograder.student.lab import Lab", "lab = Lab()", "lab.check('attend')")
    attention.lab.write_bytes(notebook(*given))
    return lambda *cells: notebook(*given, *cells)


@pytest.mark.parametrize("cell", ["", "x = 1", "print('hello')"])
def test_says_first_that_the_lab_was_submitted(collected, write, lab, class_, attention, cell):
    """A lab without exercises is not run, and is kept for its written answers."""
    write("alice/lab.ipynb", lab(cell))

    [submission] = collected(class_ / "alice", attention)

    assert submission.problem == (
        "You submitted the lab, not `self_attention.py`. Submit self_attention.py: your code "
        "belongs there."
    )
    assert submission.lab is not None


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(WORK, id="definition"),
        pytest.param("attend = lambda x: x", id="assignment"),
        pytest.param("if True:\n    from mine import attend", id="inside-a-block"),
    ],
)
def test_grades_a_lab_that_may_hold_an_exercise(collected, write, lab, class_, attention, cell):
    """A lab that may hold an exercise is graded without the kit's cells, with a notice."""
    write("alice/lab.ipynb", lab(cell))

    [submission] = collected(class_ / "alice", attention)

    assert submission.notices[0].startswith("You submitted the lab, not `self_attention.py`. The")
    assert submission.code.given == (1, 2, 3)


def test_grades_another_module_only_where_it_holds_an_exercise(
    collected, write, class_, attention, notebook
):
    """Next to a notebook, a module of helpers is not a submission."""
    write("alice/helpers.py", b"x = 1")
    write("alice/lab.ipynb", notebook(WORK))
    write("bob/final.py", WORK.encode())
    write("bob/lab.ipynb", notebook(WORK))

    alice, bob = collected(class_, attention)

    assert (alice.code.kind, bob.code.kind) == ("notebook", "module")
    assert bob.notices == ("final.py was graded as self_attention.py.",)


@pytest.mark.parametrize("name", ["ada.zip", "ada_1_7_hw.zip", "ada/02_self_attention/hw.zip"])
def test_an_archive_that_cannot_be_read_is_the_problem(collected, write, class_, attention, name):
    """The problem is the unreadable archive, not a missing module, which may be in it."""
    write(name, b"no zip")
    write(name.replace("ada", "bob").replace("_1_", "_2_"), b"no zip")

    ada, _ = collected(class_, attention)

    assert "could not be read (File is not a zip file). Make a new zip" in ada.problem


CONFLICT_COPIES = (
    "self_attention-LAPTOP-4K2QJ.py",
    "self_attention (Ada's conflicted copy 2026-11-21).py",
    "self_attention.sync-conflict-20261121-101500-ABCDEFG.py",
    "self_attention (1).py",
    "old/self_attention.py",
    "final/attention.py",
    "answer.py",
)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with-a-mark"])
@pytest.mark.parametrize("name", CONFLICT_COPIES)
def test_work_next_to_an_untouched_stub_is_graded(collected, write, class_, name, mark):
    """If the module is the stub, the only other file that defines an exercise is graded."""
    write("alice/02_self_attention/self_attention.py", mark + STUB)
    write(f"alice/02_self_attention/{name}", WORK.encode())
    write("alice/02_self_attention/helpers.py", b"def plot(x):\n    pass\n")

    [submission] = collected(class_ / "alice")

    assert submission.module == WORK.encode()
    assert submission.notices[0].startswith("self_attention.py is the released stub, unchanged")


def test_several_files_next_to_an_untouched_stub_are_named(collected, write, class_):
    """If several other files define an exercise, none of them is chosen, and all are named."""
    write("alice/02_self_attention/self_attention.py", STUB)
    for name in ("one.py", "two.py"):
        write(f"alice/02_self_attention/{name}", WORK.encode())

    [submission] = collected(class_ / "alice")

    assert submission.module == STUB
    [notice] = submission.notices
    assert notice.startswith("self_attention.py is the released stub, unchanged, and was graded.")
    assert notice.endswith("Other files define the exercises: one.py, two.py.")


def test_a_stub_next_to_files_without_exercises_is_only_a_stub(collected, write, class_):
    """A stub next to a copy of itself and a helper gives no notice about other work."""
    write("alice/02_self_attention/self_attention.py", STUB)
    write("alice/02_self_attention/backup.py", STUB)
    write("alice/02_self_attention/helpers.py", b"def plot(x):\n    pass\n")

    [submission] = collected(class_ / "alice")

    assert (submission.module, submission.notices) == (STUB, ())
