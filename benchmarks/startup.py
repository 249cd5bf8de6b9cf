"""Measures the time that commands take to start and end: python -m benchmarks.startup [ROUNDS].

Each command runs several times, in turn with the others: `autograder --help`, the first grade of
one right submission with the imports of both processes, and a student's `autograder check`. Each
number is processor time of all processes of the command, the median of the rounds.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from autograder.course import find_root, load
from benchmarks.measuring import cpu_of_command, write_json

STAGE = "04"


def main(rounds: int = 5) -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    stage = course.stage(STAGE)
    tool = [sys.executable, "-m", "autograder"]
    measured: dict[str, list[float]] = {"autograder --help": [], "first grade": [], "check": []}
    with tempfile.TemporaryDirectory(prefix="startup-") as folder:
        home = Path(folder)
        own = shutil.copytree(stage.assignment, home / stage.name)
        shutil.copy(stage.solution, own)
        for number in range(rounds):
            grade = [*tool, "grade", str(stage.solution), "--stage", STAGE]
            grade += ["--json", str(home / f"{number}.json")]  # a new record has no journal
            commands = ([*tool, "--help"], grade, [*tool, "check"])
            for name, command in zip(measured, commands, strict=True):
                place = own if name == "check" else course.root
                measured[name].append(cpu_of_command(command, place))
    print(f"processor time of one command, median of {rounds}")
    for name, values in measured.items():
        print(f"  {name:20} {statistics.median(values):6.2f} s")
    print(f"  all values: {write_json(course.root, 'startup', measured).relative_to(course.root)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
