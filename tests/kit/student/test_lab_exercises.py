"""Tests that the cells of a lab write into the learner's module, and keep what they replace."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.errors import GraderError, UsageError
from autograder.student import learner_folder
from autograder.student.lab import Lab
from autograder.student.lab_exercises import reset, write_cell
from autograder.submission.notebook import exercise_cell


@pytest.fixture
def folder(tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    """Stage 01 in the folder of a learner, below ``my-work``."""
    downloaded = tmp_path / "downloads" / STAGE
    shutil.copytree(pytestconfig.rootpath / "assignments" / STAGE, downloaded)
    return learner_folder.start(downloaded, tmp_path / "my-work").folder / STAGE


STAGE = "01_dot_product_attention"
CELL = "def dot_product(a, b):\n    return a[0] * b[0]\n"


def module(folder: Path) -> Path:
    """Return the learner's module."""
    return folder / "dot_product_attention.py"


def copies(folder: Path) -> list[Path]:
    """List the copies of the module."""
    return sorted((folder.parent / "copies").rglob("*.py"))


def test_a_cell_becomes_a_part_of_the_module(folder: Path):
    """The definition is in the file at once, and a stub leaves no copy."""
    done = write_cell(folder, "dot_product", CELL)

    assert CELL in module(folder).read_text("utf-8")
    assert done.sentences == ("Wrote dot_product into dot_product_attention.py.",)
    assert not copies(folder)


def test_the_module_keeps_its_encoding(folder: Path):
    """A module with a byte order mark, or in the encoding that it declares, keeps it."""
    file = module(folder)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    write_cell(folder, "dot_product", CELL)
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")

    file.write_bytes(b"# coding: latin-1\n# \xe9\n" + file.read_bytes()[3:])
    write_cell(folder, "dot_product", CELL.replace("a[0]", "a[1]"))
    assert file.read_bytes().startswith(b"# coding: latin-1\n# \xe9\n")
    with pytest.raises(UsageError, match="which has no 'π'"):
        write_cell(folder, "dot_product", CELL.replace("return", "π = 3\n    return"))


def test_a_file_in_another_encoding_is_refused(folder: Path):
    """A file that does not match its encoding is refused, because its bytes would change."""
    module(folder).write_bytes(b"# \xff\xfe\n")

    with pytest.raises(UsageError, match="Save it as UTF-8"):
        write_cell(folder, "dot_product", CELL)


def test_code_from_elsewhere_is_kept(folder: Path):
    """A copy is kept of code that the last cell did not write, such as that of an editor."""
    first = write_cell(folder, "dot_product", CELL)
    write_cell(folder, "dot_product", CELL.replace("a[0]", "a[1]"), first.module)
    assert not copies(folder)

    last = write_cell(folder, "dot_product", CELL)
    assert "A copy of your file as it was before:" in last.sentences[-1]
    assert "a[1]" in copies(folder)[0].read_text("utf-8")


def test_a_cell_that_runs_again_writes_nothing(folder: Path):
    """The same cell after a restart of the kernel says that its code is there."""
    write_cell(folder, "dot_product", CELL)
    again = write_cell(folder, "dot_product", CELL)

    assert again.sentences == ("dot_product_attention.py has this code already.",)
    assert not copies(folder)


def test_a_stub_does_not_replace_code(folder: Path):
    """A cell with the stub, as in "run all", does not replace code; the way back is named."""
    stub = module(folder).read_text("utf-8")
    unchanged = exercise_cell(stub, "dot_product").partition("\n")[2]
    assert write_cell(folder, "dot_product", unchanged).module.decode() == stub
    write_cell(folder, "dot_product", CELL)

    with pytest.raises(UsageError, match=r'lab\.reset\("dot_product"\)'):
        write_cell(folder, "dot_product", unchanged)
    assert CELL in module(folder).read_text("utf-8")


def test_reset_restores_the_stub(folder: Path):
    """``lab.reset`` restores the stub, and the old file is among the copies."""
    stub = module(folder).read_bytes()
    write_cell(folder, "dot_product", CELL)

    first, second = reset(folder, "dot_product")

    assert module(folder).read_bytes() == stub
    assert first == "01_dot_product_attention/dot_product is as you received it."
    assert second == f"A copy of your file: {copies(folder)[0]}"
    assert CELL in copies(folder)[0].read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "Name the exercise, such as %%exercise dot_product"),
        ("softmax", "There is no exercise 'softmax' here"),
        ("dot_product extra", "There is no exercise"),
    ],
)
def test_the_exercise_must_be_named(folder: Path, name: str, reason: str):
    """Without an exercise of the stage, the message lists them."""
    with pytest.raises(UsageError, match=reason):
        write_cell(folder, name, CELL)


def test_a_missing_module_is_named(folder: Path):
    """A module that was deleted is named, with the command that restores it."""
    module(folder).unlink()

    with pytest.raises(UsageError, match="autograder start"):
        write_cell(folder, "dot_product", CELL)


def test_the_courses_own_files_are_not_written(pytestconfig: pytest.Config):
    """An author's lab does not write into ``assignments/``."""
    with pytest.raises(UsageError, match="belongs to the course"):
        write_cell(pytestconfig.rootpath / "assignments/01_dot_product_attention", "x", CELL)


def test_a_lab_offers_the_magic_to_ipython(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Once a lab was made in IPython, its cell magic writes and checks."""
    offered = {}
    shell = SimpleNamespace(
        register_magic_function=lambda run, kind, name: offered.update({(kind, name): run})
    )
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    lab = Lab(folder)
    monkeypatch.setattr(lab, "check", lambda exercise: f"checked {exercise}")

    assert offered["cell", "exercise"]("dot_product", CELL) == "checked dot_product"
    assert CELL in module(folder).read_text("utf-8")
    monkeypatch.undo()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(GraderError, match="in its sandbox"):
        offered["cell", "exercise"]("dot_product", CELL)
