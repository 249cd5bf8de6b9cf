"""Tests that files and folders are written completely, or stay unchanged."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.disk import OwnedFolder, quoted, replace_file, replacing_folder, require_space


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path):
    """After a write the folder holds only the new file."""
    file = tmp_path / "a.txt"
    file.write_bytes(b"old")
    replace_file(file, b"new")

    assert file.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A write that fails, as on a full disk, leaves the old file."""
    file = tmp_path / "a.txt"
    file.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", _full)
        with pytest.raises(OSError, match="No space"):
            replace_file(file, b"new")

    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", ["my-work", "my work", "it's $mine", "[1] #2"])
def test_a_path_is_one_word_of_a_command(name: str):
    """A command that the kit prints can be pasted for every name of a folder."""
    assert shlex.split(f"autograder start {quoted(Path(name))}") == ["autograder", "start", name]


def refuse(monkeypatch: pytest.MonkeyPatch, times: int) -> list[float]:
    """Refuse to replace paths as often as *times*, as Windows does; return the pauses."""
    pauses: list[float] = []
    replace, left = Path.replace, [times]

    def refusing(self: Path, target: Path) -> Path:
        if self.name == "old" or not left[0]:
            return replace(self, target)
        left[0] -= 1
        raise PermissionError(13, "Access is denied", str(self))

    monkeypatch.setattr(Path, "replace", refusing)
    monkeypatch.setattr("autograder.disk.time.sleep", pauses.append)
    return pauses


def test_a_file_that_is_held_for_a_moment_is_replaced(tmp_path: Path, monkeypatch):
    """A file that another program holds for a moment is replaced within a second."""
    pauses = refuse(monkeypatch, times=2)
    replace_file(tmp_path / "a.txt", b"new")

    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert len(pauses) == 2
    assert sum(pauses) < 1


def test_a_file_that_stays_held_is_an_error(tmp_path: Path, monkeypatch):
    """After a second without success, the error of the system is raised."""
    pauses = refuse(monkeypatch, times=99)
    with pytest.raises(PermissionError, match="Access is denied"):
        replace_file(tmp_path / "a.txt", b"new")

    assert sum(pauses) < 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch):
    """If only the second of two renames fails, the old folder is put back."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old.txt").touch()
    renamed = Path.replace
    monkeypatch.setattr("autograder.disk.PAUSES", ())

    def refusing(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise PermissionError(13, "Access is denied", str(self))
        return renamed(self, target)

    monkeypatch.setattr(Path, "replace", refusing)
    with pytest.raises(PermissionError), replacing_folder(folder) as new:
        (new / "new.txt").touch()

    assert [path.name for path in folder.iterdir()] == ["old.txt"]


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path):
    """A replaced folder holds no file of the old one."""
    folder = tmp_path / "deep" / "folder"
    folder.mkdir(parents=True)
    (folder / "old.txt").touch()
    with replacing_folder(folder) as new:
        (new / "new.txt").touch()

    assert [path.name for path in folder.iterdir()] == ["new.txt"]
    assert [path.name for path in folder.parent.iterdir()] == ["folder"]


def test_an_exception_leaves_the_old_folder(tmp_path: Path):
    """After an exception the old folder is there, without a new file."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old.txt").touch()
    with pytest.raises(ZeroDivisionError), replacing_folder(folder) as new:
        (new / "new.txt").write_text(str(1 / 0))

    assert [path.name for path in folder.iterdir()] == ["old.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_that_cannot_be_made_has_no_space(tmp_path: Path):
    """A folder below a file cannot be made, which is an OSError."""
    (tmp_path / "file").touch()

    with pytest.raises(OSError, match="file"):
        require_space(tmp_path / "file" / "folder")
    require_space(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


OWN = """
import os, shutil, sys
from autograder.disk import OwnedFolder
folder = OwnedFolder(shutil.rmtree).path
(folder / "submission-1").mkdir()
if len(sys.argv) == 1 or os.fork():
    print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the kit's temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.fixture
def start_owner(temporary: Path) -> Iterator[Callable[..., tuple["subprocess.Popen[str]", Path]]]:
    """Start a process that owns a folder; return both."""
    del temporary  # it is in the environment
    started = []

    def start(*words: str) -> tuple["subprocess.Popen[str]", Path]:
        process = subprocess.Popen(  # noqa: S603  # this Python, on the lines above
            [sys.executable, "-c", OWN, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_folder_of_a_killed_process_is_removed_by_the_next(start_owner):
    """The folder of a killed process is removed once the process has ended, not before."""
    owner, folder = start_owner()
    OwnedFolder(shutil.rmtree).close()
    before = folder.exists()
    owner.kill()
    owner.wait()
    OwnedFolder(shutil.rmtree).close()

    assert (before, folder.exists()) == (True, False)


def test_a_folder_stays_while_a_fork_of_its_process_lives(start_owner):
    """A folder is kept while a fork of its owner runs, which may still use it."""
    owner, folder = start_owner("fork")
    owner.kill()
    owner.wait()
    OwnedFolder(shutil.rmtree).close()
    before = folder.exists()
    owner.communicate()  # closes the pipe, so that the fork ends
    while folder.exists():
        OwnedFolder(shutil.rmtree).close()

    assert before


@pytest.mark.parametrize("name", ["autograder-private-mine", "autograder-notes"])
def test_a_folder_that_may_be_somebody_s_stays(temporary: Path, name: str):
    """A folder with a different name, or with files of others, is not removed."""
    (temporary / name).mkdir()
    (temporary / name / "thesis.tex").touch()
    (temporary / "autograder-private-link").symlink_to(temporary / name)
    OwnedFolder(shutil.rmtree).close()

    assert (temporary / name / "thesis.tex").exists()
    assert {path.name for path in temporary.iterdir()} == {name, "autograder-private-link"}


def test_an_owned_folder_can_be_passed_but_not_listed(temporary: Path):
    """Other users can enter an owned folder but cannot list it."""
    folder = OwnedFolder(shutil.rmtree)
    mode = folder.path.stat().st_mode & 0o777
    folder.close()

    assert mode == 0o711
    assert list(temporary.iterdir()) == []


def _full(*_arguments: object) -> int:
    raise OSError(28, "No space left on device")
