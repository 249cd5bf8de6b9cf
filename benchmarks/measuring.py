"""Measures processor time and writes a JSON file for each table of a benchmark.

Processor time is compared rather than wall-clock time, because the machine may be busy.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from autograder.course import Stage
from autograder.submission import Code, Submission

MILLISECONDS = 1000.0


def cpu_of_tree(pid: int) -> float:
    """Return the seconds of process *pid* and of those of its children that have ended (Linux)."""
    stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    ticks = stat.rpartition(")")[2].split()[11:15]  # own and children's, as user and as system
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def cpu_below(pid: int) -> float:
    """Return the seconds of process *pid*, of all processes below it, and of those that ended."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            status = (folder / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            parents[int(folder.name)] = int(status[1])
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    seconds = 0.0
    for one in below:
        with suppress(OSError):
            seconds += cpu_of_tree(one)
    return seconds


def cpu_of_command(command: Sequence[str], folder: Path) -> float:
    """Run *command* in *folder*; return the seconds of it and of all processes that it started.

    It finds the tools of this Python's environment first, and must succeed.
    """
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    before = _of_children()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S603  # commands of the benchmarks
    return _of_children() - before


def right_programs(stage: Stage) -> list[str]:
    """Read the solution and its variants, which are right programs in other idioms."""
    paths = [stage.solution, *sorted((stage.hidden / "variants").glob("*.py"))]
    return [path.read_text("utf-8") for path in paths]


def numbered_submission(stage: Stage, number: int, text: str = "") -> Submission:
    """Make a unique submission of *text*, by default of a right program."""
    text = text or stage.solution.read_text("utf-8")
    code = f"{text}\n\nSTUDENT = {number}\n".encode()
    return Submission(
        student=f"student{number:03}",
        stage=stage.name,
        code=Code(kind="module", cells=(code,), label=stage.solution.name),
    )


def write_json(root: Path, name: str, measured: Mapping[str, Sequence[float]]) -> Path:
    """Write all values of *measured*, with their medians, below *root*; return the file."""
    file = root / "build" / "benchmarks" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "medians": {label: statistics.median(values) for label, values in measured.items()},
        "values": {label: list(values) for label, values in measured.items()},
    }
    file.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return file


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
