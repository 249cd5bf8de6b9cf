"""Tests that Landlock allows and refuses actions, each in a separate process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import autograder
from autograder.errors import SandboxError
from autograder.sandbox import landlock, syscalls

ABI = landlock.abi_version()
needs_landlock = pytest.mark.skipif(not ABI, reason="this kernel has no Landlock")

SCRIPT = """
import os, json, socket, sys
from pathlib import Path
from autograder.sandbox import landlock, syscalls
readable, writable, source = json.loads(sys.argv[1])
syscalls.prctl(38, 1)  # no_new_privs
landlock.restrict(map(Path, readable), map(Path, writable))
try:
    print(eval(source))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture
def folders(tmp_path):
    """Make a readable folder, a writable folder, and one that is not granted."""
    for name in ("readable", "writable", "other"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "file").write_text(name)
    return tmp_path


@pytest.fixture
def restricted(folders):
    """Evaluate an expression that may read in ``readable`` and write in ``writable``."""

    def run(source, readable=("readable",), writable=("writable",)):
        granted = [[str(folders / name) for name in names] for names in (readable, writable)]
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-c", SCRIPT, json.dumps([*granted, source])],
            cwd=folders,
            env={"PYTHONPATH": str(Path(autograder.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() or done.stderr

    return run


@needs_landlock
@pytest.mark.parametrize(
    ("source", "answer"),
    [
        pytest.param("open('readable/file').read()", "readable", id="read"),
        pytest.param("sorted(os.listdir('readable'))", "['file', 'inner']", id="list"),
        pytest.param("open('writable/file').read()", "writable", id="read-in-the-writable-folder"),
        pytest.param("open('writable/file', 'w').write('abc')", "3", id="overwrite"),
        pytest.param("os.mkdir('writable/new')", "None", id="make-a-folder"),
        pytest.param("os.unlink('writable/file')", "None", id="unlink"),
        pytest.param("os.rename('writable/file', 'writable/b')", "None", id="rename"),
    ],
)
def test_allows_what_is_granted(restricted, source, answer):
    """Granted reading works, and writing works in the writable folder."""
    assert restricted(source) == answer


@needs_landlock
@pytest.mark.parametrize(
    "source",
    [
        pytest.param("open('other/file')", id="read"),
        pytest.param("os.listdir('other')", id="list"),
        pytest.param("os.listdir('.')", id="list-the-folder-above"),
        pytest.param("open('writable/../other/file')", id="read-with-dots-in-the-path"),
        pytest.param("open('readable/file', 'a')", id="append-to-a-readable-file"),
        pytest.param("open('readable/new', 'w')", id="create-in-the-readable-folder"),
        pytest.param("os.unlink('readable/file')", id="unlink-a-readable-file"),
        pytest.param("os.rmdir('other/inner')", id="remove-a-folder"),
        pytest.param("os.rename('other/file', 'writable/b')", id="move-in"),
        pytest.param("os.link('readable/file', 'writable/b')", id="link-in"),
        pytest.param("os.symlink('/etc', 'writable/b')", id="symlink"),
        pytest.param("os.mkfifo('writable/b')", id="named-pipe"),
        pytest.param("os.open('other', os.O_TMPFILE | os.O_WRONLY)", id="file-without-a-name"),
        pytest.param("os.execv('/bin/true', ['true'])", id="execute"),
    ],
)
def test_refuses_everything_else(restricted, source):
    """An action that is not granted raises PermissionError (or EXDEV for a move of a file)."""
    assert restricted(source) in {"PermissionError", "OSError"}


@needs_landlock
@pytest.mark.skipif(ABI < 2, reason="Landlock before ABI 2 can't allow it")
def test_allows_moves_inside_the_writable_folder(restricted):
    """A file may be moved inside the writable folder."""
    assert restricted("os.rename('writable/file', 'writable/inner/file')") == "None"


@needs_landlock
@pytest.mark.skipif(ABI < 3, reason="Landlock before ABI 3 can't withhold it")
def test_refuses_to_truncate_a_readable_file(restricted):
    """A readable file cannot be truncated by its path."""
    assert restricted("os.truncate('readable/file', 0)") == "PermissionError"


@needs_landlock
@pytest.mark.skipif(ABI < 4, reason="Landlock before ABI 4 knows no network")
@pytest.mark.parametrize("verb", ["bind", "connect"])
def test_refuses_the_network(restricted, verb):
    """TCP is refused even without the system-call filter."""
    assert restricted(f"socket.socket().{verb}(('127.0.0.1', 9999))") == "PermissionError"


@needs_landlock
@pytest.mark.skipif(ABI < 6, reason="Landlock before ABI 6 knows no signals")
def test_refuses_to_signal_its_parent(restricted):
    """A confined process cannot send a signal out of its Landlock domain."""
    assert restricted("os.kill(os.getppid(), 0)") == "PermissionError"


@needs_landlock
def test_grants_a_single_file(restricted):
    """A granted file can be opened, its folder can't be listed."""
    assert restricted("open('other/file').read()", readable=["other/file"]) == "other"
    assert restricted("os.listdir('other')", readable=["other/file"]) == "PermissionError"


@needs_landlock
def test_skips_missing_paths(restricted):
    """The readable folders differ between systems; a missing one is not an error."""
    answer = restricted(
        "open('readable/file').read()", readable=["readable", "gone", "readable/file/x"]
    )

    assert answer == "readable"


def test_each_version_has_its_rights():
    """Only rights that the kernel's version of Landlock has are requested."""
    widths = [landlock.handled_rights(abi).bit_length() for abi in range(8)]

    assert widths == [0, 13, 14, 15, 15, 16, 16, 16]


def test_is_absent_off_linux(monkeypatch):
    """On other systems the version of Landlock is 0, and no error is raised."""
    monkeypatch.setattr(sys, "platform", "win32")

    assert landlock.abi_version() == 0


def test_is_absent_where_the_kernel_refuses(monkeypatch):
    """A kernel or a container that refuses Landlock has version 0."""

    def refuse(*_):
        raise OSError

    monkeypatch.setattr(syscalls, "call", refuse)

    assert landlock.abi_version() == 0
    with pytest.raises(SandboxError, match="no Landlock"):
        landlock.restrict([], [])
