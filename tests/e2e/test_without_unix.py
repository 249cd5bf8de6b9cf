"""Tests a learner's commands without fork, Unix signals and Unix modules."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# tests/e2e/without_unix.py removes the Unix modules from the workers, too.
PLAY = """
import shutil, sys
from pathlib import Path

root = Path(sys.argv[1])
sys.path.insert(0, str(root))
from tests.e2e import without_unix
from autograder.sandbox import spawned_workers

start = f"import sys; sys.path.insert(0, {str(root)!r}); from tests.e2e import without_unix; "
spawned_workers._START = start + spawned_workers._START
from autograder.cli import app
from autograder.student.lab import Lab

def run(*words):
    try:
        app(list(words), standalone_mode=False)
    except SystemExit as end:
        print(f"exit code {end.code}")

run("start", "--course", str(root))
stage = Path("my-work") / "00_start_here"
shutil.copy(root / "solutions" / stage.name / "start_here.py", stage)
run("check", "0")
run("next")
lab = Lab(stage)
print(lab.check("mix"))
lab._server.close()
sys.stdin.isatty = sys.stdout.isatty = lambda: True
without_unix.keys.append("q")
run("watch")
run("grade", str(stage), "--stage", "04", "--course", str(root))
"""


@pytest.mark.slow
def test_a_learners_commands_run_and_grading_refuses(tmp_path: Path):
    """The portable workers answer; other people's code is not graded in them."""
    done = subprocess.run(  # noqa: S603  # this Python, the lines above
        [sys.executable, "-c", PLAY, str(ROOT)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    shown = done.stdout + done.stderr

    assert "Every public check passes" in shown, shown
    assert "Next: dot_product" in shown
    assert "✓ mix: complete." in shown
    assert "Other people's code is graded on Linux and macOS" in shown
