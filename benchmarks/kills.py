"""Kills processes of a run at random moments: python -m benchmarks.kills [KILLS] [SUBMISSIONS].

The record must equal that of an undisturbed run except for the times, and no process and no
temporary folder may be left. `tools/kills.py` describes the kills.
"""

import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from autograder.course import find_root, load
from tools.kills import ROLES, Scene, disturb, undisturbed


def write_class(folder: Path, stage: str, count: int) -> Path:
    """Write *count* submissions of *stage*: most are right, some are not, and some crash."""
    course = load(find_root(Path(__file__).parent))
    one = course.stage(stage)
    solution, stub = one.solution.read_text("utf-8"), one.stub.read_text("utf-8")
    kinds = [solution] * 7 + [stub, "import no_such_package\n", "import os\nos._exit(3)\n"]
    for number, text in enumerate(islice(cycle(kinds), count)):
        path = folder / f"student{number:03}" / one.name / one.solution.name
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n\nSTUDENT = {number}\n", "utf-8")
    return folder


def main(kills: int = 100, count: int = 200) -> None:
    """Kill processes and print the results."""
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        home = Path(folder)
        home.chmod(0o711)  # a worker passes through it
        class_ = write_class(home / "class", "04", count)
        scene = Scene(find_root(Path(__file__).parent), class_, home)
        begin = time.monotonic()
        expected = undisturbed(scene)
        alone = time.monotonic() - begin
        happened = disturb(scene, expected, list(islice(cycle(ROLES), kills)), pause=alone / 20)
    each = ", ".join(f"{number} x {role}" for role, number in sorted(happened.kills.items()))
    print(f"{count} submissions of stage 04, {sum(happened.kills.values())} kills: {each}")
    print(f"  the command was run {happened.runs} times and graded all {happened.rounds} times")
    print(f"  records that differ in more than times  {happened.wrong_records}")
    print(f"  processes left                          {happened.left_processes}")
    print(f"  files left                              {len(happened.left_files)}")
    if happened.wrong_records or happened.left_processes or happened.left_files:
        sys.exit("\n".join(["Something was lost or left.", *happened.left_files]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
