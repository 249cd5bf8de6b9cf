"""Tests that killing processes at random moments loses no result and leaves no files.

``python -m benchmarks.kills`` does the same with a hundred kills.
"""

import sys
from pathlib import Path

import pytest

from autograder.sandbox.isolation import detect_capabilities
from tests.kit.factories import SOLUTION, STAGE, course_files, write_files
from tools.kills import ROLES, Scene, disturb, undisturbed

STUDENTS = 16
SLOW = "\nimport time\ntime.sleep(0.2)\n"  # slow enough to be killed while it runs

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason),
]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A class of the tiny course: right, wrong and crashing submissions."""
    write_files(tmp_path / "course", course_files((STAGE,)))
    texts = (SOLUTION, "def double(x):\n    return x + x\n", "import os\nos._exit(3)\n")
    works = {
        f"s{number}/{STAGE}/tiny.py": f"{SLOW}{texts[number % len(texts)]}\n# {number}\n"
        for number in range(STUDENTS)
    }
    write_files(tmp_path / "class", works)
    home = tmp_path / "home"
    home.mkdir()
    for folder in (home, *home.parents[:3]):  # a worker passes through them
        folder.chmod(folder.stat().st_mode | 0o011)
    return Scene(tmp_path / "course", tmp_path / "class", home)


@pytest.mark.slow
def test_after_any_kill_the_record_is_that_of_an_undisturbed_run(scene: Scene):
    """After six kills at random moments, no result is lost and no process or file is left."""
    expected = undisturbed(scene)
    happened = disturb(scene, expected, [*ROLES, *ROLES[:2]], pause=0.3)

    assert sum(happened.kills.values()) == 6
    assert happened.wrong_records == 0
    assert (happened.left_processes, happened.left_files) == (0, [])
