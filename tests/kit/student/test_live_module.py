"""Tests the module in a notebook, which is always the file as it was last saved."""

from pathlib import Path

import pytest

from autograder.student.live_module import LiveModule, NotReadyError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A student's module."""
    path = tmp_path / "my_stage.py"
    path.write_text("answer = 1\n")
    return path


def test_a_saved_file_is_used_at_once(file: Path):
    """A saved file is used without a new import, even within the same second."""
    module = LiveModule(file)
    before = module.answer
    file.write_text("answer = 2\n")

    assert (before, module.answer) == (1, 2)


def test_a_file_in_utf_16_is_used(file: Path):
    """A file that Windows' Notepad saved in UTF-16 is used like any other."""
    file.write_text("answer = 'ä'\n", "utf-16")

    assert LiveModule(file).answer == "ä"


def test_an_unchanged_file_runs_once(file: Path):
    """Two uses see the same objects, so that a layer from one fits the other."""
    file.write_text("answer = object()\n")
    module = LiveModule(file)

    assert module.answer is module.answer


def test_a_name_that_was_deleted_is_gone(file: Path):
    """A name that was deleted from the file is gone from the module."""
    module = LiveModule(file)
    assert module.answer == 1
    file.write_text("other = 2\n")

    with pytest.raises(NotReadyError, match=r"my_stage\.py does not define `answer`"):
        _ = module.answer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("x = (\n", r"my_stage\.py, line 1: '\(' was never closed\.", id="syntax"),
        pytest.param("import numpyy\n", r"No module named 'numpyy', line 1 of my", id="import"),
        pytest.param("x = 1\nexit(3)\n", r"stops when it is imported: SystemExit: 3", id="exit"),
        pytest.param("\0", r"null bytes", id="no-text"),
    ],
)
def test_a_file_that_cannot_run_says_why_in_one_line(file: Path, text: str, words: str):
    """For a file that cannot run, one line is printed, and no old code runs."""
    module = LiveModule(file)
    assert module.answer == 1
    file.write_text(text)

    with pytest.raises(NotReadyError, match=words) as caught:
        _ = module.answer
    assert "\n" not in str(caught.value)
    assert caught.value._render_traceback_() == [str(caught.value)]


def test_a_fixed_file_runs_again(file: Path):
    """A fixed file runs again once it is saved."""
    file.write_text("x = (\n")
    module = LiveModule(file)
    with pytest.raises(NotReadyError):
        _ = module.answer
    file.write_text("answer = 3\n")

    assert module.answer == 3


def test_a_lost_file_is_named(file: Path):
    """A lost file is named with the folder in which it is expected."""
    module = LiveModule(file)
    file.unlink()

    with pytest.raises(NotReadyError, match=r"my_stage\.py can't be read"):
        _ = module.answer


def test_a_notebook_can_show_and_complete_a_module(file: Path):
    """A module has a text and lists its names for completion, without IPython's private names."""
    module = LiveModule(file)

    assert "answer" in dir(module)
    assert not hasattr(module, "_repr_html_")
    assert "as it was last saved" in repr(module)
