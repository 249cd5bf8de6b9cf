"""A plain grader for comparison: one pytest process imports the submission and compares.

It is written as most such graders are: tests and solution are next to the submission, a plugin
counts what passes, and a file holds the score at the end. Two things are better than usual: a run
without that file earns nothing, and it runs in this kit's own sandbox, so that no attack harms the
machine; attacks that only harm it gain nothing here either.

    python -m benchmarks.plain_pytest FOLDER...

grades each FOLDER, which ``prepare`` made.
"""

import gc
import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
import torch

from autograder.sandbox.confinement import SandboxPolicy, confine, prepare_forks
from autograder.sandbox.isolation import readable_roots
from autograder.sandbox.namespaces import unprivileged_owner

STAGE = "04_self_attention"
SOLUTION = f"solutions/{STAGE}/self_attention.py"
SUITE = f"tests/hidden/{STAGE}/test_self_attention.py"
RESULTS = "results.json"
SECONDS = 10.0  # limit for each submission; honest ones need half a second
MOST = 10.0  # points
MIB = 1 << 20
TESTS = """
import importlib.util
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path.cwd()))
import self_attention as submission

SECRET = "known to no submission"
spec = importlib.util.spec_from_file_location("reference", "{solution}")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
NAMES = ("SelfAttentionV1", "SelfAttention_v1", "SelfAttention_v2")


def both(name, d_in, d_out):
    torch.manual_seed(123)
    ours = getattr(reference, name)(d_in, d_out)
    torch.manual_seed(123)
    return ours, getattr(submission, name)(d_in, d_out)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sizes", [(3, 2), (7, 6), (4, 4)])
def test_context_vectors(name, sizes):
    ours, yours = both(name, *sizes)
    x = torch.randn(6, sizes[0])
    expected = ours(x)
    torch.testing.assert_close(yours(x), expected)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_the_input(name):
    ours, yours = both(name, 3, 2)
    x = torch.randn(6, 3, requires_grad=True)
    (expected,) = torch.autograd.grad(ours(x).sum(), x)
    (found,) = torch.autograd.grad(yours(x).sum(), x)
    assert torch.allclose(found, expected)
"""


class Score:
    """Counts the tests that pass, as the plugins of common graders do."""

    def __init__(self) -> None:
        self.passed = self.all = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count the tests."""
        self.all = len(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a pass."""
        self.passed += report.when == "call" and report.outcome == "passed"


def prepare(folder: Path, submission: Path | None, solution: Path) -> None:
    """Lay out a grader in *folder*, with the files of *submission*; without one, the solution's."""
    files = submission.iterdir() if submission else ()
    for path in files:
        if path.is_file() and path.name != "expected.json":
            shutil.copy(path, folder)
    if submission is None:
        shutil.copy(solution, folder / "self_attention.py")
    for name, text in ((SOLUTION, solution.read_text("utf-8")), (SUITE, TESTS)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text.replace("{solution}", SOLUTION), "utf-8")
    if owner := unprivileged_owner():
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner, owner)


def score(folder: Path) -> float:
    """Read the points of *folder*, out of 10; a run without a valid file earns none."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        earned = json.loads((folder / RESULTS).read_bytes())["score"]
        return float(earned)
    return 0.0


def main(folders: list[str]) -> None:
    """Grade *folders* in forks of this process, which has loaded torch and pytest."""
    torch.set_num_threads(1)
    torch.softmax(torch.rand(4, 4), dim=-1)
    prepare_forks()
    gc.freeze()
    for folder in map(Path, folders):
        parent = os.getpid()
        (is_confined, confined), (may_start, start) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            os.close(is_confined)
            os.close(start)
            _run(folder, parent, confined, may_start)
            return  # it ends as any Python process does
        os.close(confined)
        os.close(may_start)
        _wait(child, _private_folder(child, is_confined), start, folder)
        os.close(is_confined)


def _private_folder(child: int, is_confined: int) -> int | None:
    """Wait until *child* is confined, and open its private folder; None if it never is."""
    if not os.read(is_confined, 1):
        return None
    return os.open(f"/proc/{child}/cwd", os.O_RDONLY | os.O_DIRECTORY)


def _run(folder: Path, parent: int, confined: int, may_start: int) -> None:
    """Run the tests in *folder* after *may_start* was closed, and write the points."""
    policy = SandboxPolicy(
        isolation="full",
        readable=readable_roots(),
        private=str(folder),
        memory_bytes=512 * MIB,
        file_bytes=16 * MIB,
        files=1000,
    )
    files = {path.relative_to(folder): path.read_bytes() for path in _files(folder)}
    private = dict.fromkeys(("HOME", "TMPDIR"), str(folder))
    os.environ.update(private, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")  # the kit has a plugin itself
    confine(policy, parent)  # into an empty folder
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    os.write(confined, b"!")
    os.read(may_start, 1)
    os.close(confined)
    os.close(may_start)
    plugin = Score()
    pytest.main(["-q", "-p", "no:cacheprovider", SUITE], plugins=[plugin])
    earned = MOST * plugin.passed / plugin.all if plugin.all else 0.0
    Path(RESULTS).write_bytes(msgspec.json.encode({"score": earned, "max_score": MOST}))


def _files(folder: Path) -> list[Path]:
    """List the files in *folder* and in its folders."""
    return [path for path in folder.rglob("*") if path.is_file()]


def _wait(child: int, private: int | None, start: int, folder: Path) -> None:
    """Let *child* start, kill it when its time is up, and copy its results from *private*."""
    os.close(start)
    deadline = time.monotonic() + SECONDS
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.01)
    if private is None:
        return
    with suppress(OSError):
        found = os.open(RESULTS, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=private)
        with open(found, "rb") as file:  # noqa: PTH123  # opens a descriptor
            (folder / RESULTS).write_bytes(file.read(MIB))
    os.close(private)


if __name__ == "__main__":
    main(sys.argv[1:])
