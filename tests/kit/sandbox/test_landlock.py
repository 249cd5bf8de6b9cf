"""What stays open behind Landlock, each tried in a process of its own."""

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
def place(tmp_path):
    """Make a folder to read, one to write, and one that is not granted."""
    for name in ("readable", "writable", "other"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "file").write_text(name)
    return tmp_path


@pytest.fixture
def behind(place):
    """Evaluate an expression behind a wall: reads in ``readable``, writes in ``writable``."""

    def run(source, readable=("readable",), writable=("writable",)):
        granted = [[str(place / name) for name in names] for names in (readable, writable)]
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-c", SCRIPT, json.dumps([*granted, source])],
            cwd=place,
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
        pytest.param("open('writable/file').read()", "writable", id="read-what-it-may-write"),
        pytest.param("open('writable/file', 'w').write('abc')", "3", id="overwrite"),
        pytest.param("os.mkdir('writable/new')", "None", id="make-a-folder"),
        pytest.param("os.unlink('writable/file')", "None", id="unlink"),
        pytest.param("os.rename('writable/file', 'writable/b')", "None", id="rename"),
    ],
)
def test_leaves_what_is_granted(behind, source, answer):
    """Reading and, in its own folder, writing goes on."""
    assert behind(source) == answer


@needs_landlock
@pytest.mark.parametrize(
    "source",
    [
        pytest.param("open('other/file')", id="read"),
        pytest.param("os.listdir('other')", id="list"),
        pytest.param("os.listdir('.')", id="list-the-folder-above"),
        pytest.param("open('writable/../other/file')", id="read-by-way-of-dots"),
        pytest.param("open('readable/file', 'a')", id="append-to-what-it-may-read"),
        pytest.param("open('readable/new', 'w')", id="create-where-it-may-read"),
        pytest.param("os.unlink('readable/file')", id="unlink-what-it-may-read"),
        pytest.param("os.rmdir('other/inner')", id="remove-a-folder"),
        pytest.param("os.rename('other/file', 'writable/b')", id="move-in"),
        pytest.param("os.link('readable/file', 'writable/b')", id="link-in"),
        pytest.param("os.symlink('/etc', 'writable/b')", id="symlink"),
        pytest.param("os.mkfifo('writable/b')", id="named-pipe"),
        pytest.param("os.open('other', os.O_TMPFILE | os.O_WRONLY)", id="file-without-a-name"),
        pytest.param("os.execv('/bin/true', ['true'])", id="execute"),
    ],
)
def test_refuses_everything_else(behind, source):
    """What is not granted is a PermissionError (a move between folders may say EXDEV)."""
    assert behind(source) in {"PermissionError", "OSError"}


@needs_landlock
@pytest.mark.skipif(ABI < 2, reason="Landlock before ABI 2 can't allow it")
def test_moves_between_folders_of_its_own(behind):
    """Inside the private folder a file may change its folder."""
    assert behind("os.rename('writable/file', 'writable/inner/file')") == "None"


@needs_landlock
@pytest.mark.skipif(ABI < 3, reason="Landlock before ABI 3 can't withhold it")
def test_refuses_to_truncate_what_it_may_read(behind):
    """A file is not emptied by its path either."""
    assert behind("os.truncate('readable/file', 0)") == "PermissionError"


@needs_landlock
@pytest.mark.skipif(ABI < 4, reason="Landlock before ABI 4 knows no network")
@pytest.mark.parametrize("verb", ["bind", "connect"])
def test_refuses_the_network(behind, verb):
    """TCP is shut even without the system-call filter."""
    assert behind(f"socket.socket().{verb}(('127.0.0.1', 9999))") == "PermissionError"


@needs_landlock
@pytest.mark.skipif(ABI < 6, reason="Landlock before ABI 6 knows no signals")
def test_refuses_to_signal_its_parent(behind):
    """A signal does not leave the domain."""
    assert behind("os.kill(os.getppid(), 0)") == "PermissionError"


@needs_landlock
def test_grants_a_single_file(behind):
    """A file among the roots opens itself, not its folder."""
    assert behind("open('other/file').read()", readable=["other/file"]) == "other"
    assert behind("os.listdir('other')", readable=["other/file"]) == "PermissionError"


@needs_landlock
def test_passes_over_what_is_not_there(behind):
    """Roots differ between systems; a missing one is no error."""
    answer = behind(
        "open('readable/file').read()", readable=["readable", "gone", "readable/file/x"]
    )

    assert answer == "readable"


def test_knows_each_version_by_its_rights():
    """A right that the kernel does not know yet must not be asked for."""
    widths = [landlock.handled_rights(abi).bit_length() for abi in range(8)]

    assert widths == [0, 13, 14, 15, 15, 16, 16, 16]


def test_is_absent_off_linux(monkeypatch):
    """Elsewhere the version is 0, not an error."""
    monkeypatch.setattr(sys, "platform", "win32")

    assert landlock.abi_version() == 0


def test_is_absent_where_the_kernel_refuses(monkeypatch):
    """A kernel or a container that says no counts as none."""

    def refuse(*_):
        raise OSError

    monkeypatch.setattr(syscalls, "call", refuse)

    assert landlock.abi_version() == 0
    with pytest.raises(SandboxError, match="no Landlock"):
        landlock.restrict([], [])
