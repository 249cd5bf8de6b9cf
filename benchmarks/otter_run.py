"""Compares `otter run` with this kit: python -m benchmarks.otter_run [SUBMISSIONS] [ROUNDS].

Otter-Grader is installed at first use into a separate environment (``build/benchmarks/peers``),
with the versions of ``constraints.txt``. Both grade the same right modules of stage 04:

- ``otter run``, Otter's grader without containers, is one command for each submission;
- ``otter.api`` grades in the same way in one process, so that the start of a command does not
  count;
- ``autograder grade`` is one command for all, and for five times as many.

Otter checks what the four asserts of ``nbgrader_autograde`` check, in a kernel without a sandbox;
this kit runs the whole hidden suite, 37 checks, in the sandbox. Each number is the processor time
of one more submission, of all processes of a command. At the end, both grade one wrong module.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from autograder.course import Course, Stage, find_root, load
from autograder.results import Status, SubmissionResult, from_json
from benchmarks.measuring import MILLISECONDS, cpu_of_command, numbered_submission, write_json
from benchmarks.nbgrader_autograde import ASSERTS, INPUTS
from tools.wrong_programs import with_kind

STAGE = "04"
OTTER = "otter-grader==7.0.0"
MISTAKE = ("SelfAttention_v2", "scale_missing")
POINTS = 10.0
TIMES = 5
TESTS = """from types import SimpleNamespace

import torch
from otter.test_files import test_case

OK_FORMAT = False

name = "self_attention"
points = {points}
{inputs}
"""
TEST = """

@test_case()
def test_{number}(env):
    self_attention = SimpleNamespace(**env)
    {body}
"""
MADE = """v1 = self_attention.SelfAttention_v1(3, 2)
v2 = self_attention.SelfAttention_v2(3, 2)"""  # no test sees the variables of another
ALL = """import sys

from otter.api import grade_submission

for file in sys.argv[2:]:
    assert grade_submission(file, sys.argv[1], quiet=True).total == {points}, file
"""


class Class(NamedTuple):
    """Files of both graders, in one folder."""

    home: Path
    otter: Path  # the folder of its environment's commands
    files: list[Path]
    more: list[Path]  # for the kit, whose start costs as much as thirty submissions


def main(count: int = 8, rounds: int = 3) -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    stage = course.stage(STAGE)
    otter = _install(course.root)
    measured: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="otter-") as folder:
        class_ = _write(Path(folder), otter, stage, count)
        _otter_run(class_, class_.files[0], POINTS)  # the first run of each is slower
        _kit(class_, course, class_.files[:1])
        for _ in range(rounds):
            for name, seconds in _round(class_, course).items():
                measured.setdefault(name, []).append(seconds * MILLISECONDS)
        wrong = _wrong(class_, course, stage)
    print(f"{count} submissions of {stage.name}: processor time of one more, median of {rounds}")
    medians = {name: statistics.median(values) for name, values in measured.items()}
    for name, each in medians.items():
        print(f"  {name:24}{each:8.0f} ms {each / medians['autograder grade']:6.1f} times")
    print(
        f"  all values: {write_json(course.root, 'otter_run', measured).relative_to(course.root)}"
    )
    print("\n".join(["", f"The module with the mistake {MISTAKE[1]} in {MISTAKE[0]}:", *wrong]))


def _round(class_: Class, course: Course) -> dict[str, float]:
    """Return the seconds of one more submission in each way."""
    runs = [_otter_run(class_, file, POINTS) for file in class_.files]
    first = class_.files[:1]
    api = _otter_api(class_, class_.files) - _otter_api(class_, first)
    kit = _kit(class_, course, class_.more) - _kit(class_, course, class_.files)
    return {
        "otter run": statistics.mean(runs),
        "otter.api, one process": api / (len(class_.files) - 1),
        "autograder grade": kit / (len(class_.more) - len(class_.files)),  # as many processes
    }


def _install(root: Path) -> Path:
    """Return the folder of Otter's commands; install it there if it is not."""
    home = root / "build" / "benchmarks" / "peers" / "otter"
    commands = home / "bin"
    if not (commands / "otter").is_file():
        packages = ("-c", str(root / "constraints.txt"), "torch", "ipykernel", OTTER)
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(home)],
            [str(commands / "python"), "-m", "pip", "install", "--quiet", *packages],
        ):
            subprocess.run(command, check=True)  # noqa: S603  # our own commands
    return commands


def _write(home: Path, otter: Path, stage: Stage, count: int) -> Class:
    """Write Otter's tests and their zip, and *count* right modules."""
    tests = home / "tests"
    tests.mkdir()
    bodies = [body.replace("\n", "\n    ") for body in (*ASSERTS[:-1], f"{MADE}\n{ASSERTS[-1]}")]
    parts = [TEST.format(number=number, body=body) for number, body in enumerate(bodies)]
    text = "".join([TESTS.format(inputs=INPUTS, points=POINTS), *parts])
    (tests / "self_attention.py").write_text(text, "utf-8")
    (home / "all.py").write_text(ALL.format(points=POINTS), "utf-8")
    generate = ("generate", "-t", "tests", "-o", "autograder.zip", "--no-requirements")
    cpu_of_command([str(otter / "otter"), *generate], home)
    submissions = [numbered_submission(stage, number) for number in range(TIMES * count)]
    codes = {one.student: one.code.cells[0] for one in submissions if one.code}
    files = [_put(home, stage, student, codes[student]) for student in codes]
    return Class(home, otter, files[:count], files)


def _put(home: Path, stage: Stage, student: str, code: bytes) -> Path:
    file = home / "submitted" / student / stage.name / stage.solution.name
    file.parent.mkdir(parents=True)
    file.write_bytes(code)
    return file


def _otter_run(class_: Class, file: Path, expected: float | None = None) -> float:
    """Grade *file* by `otter run`; return the seconds. It earns *expected* points, if given."""
    words = ("run", "-a", "autograder.zip", "-o", ".", "--no-logo", str(file))
    seconds = cpu_of_command([str(class_.otter / "otter"), *words], class_.home)
    score = _otter_score(class_)
    if expected is not None and score != expected:
        sys.exit(f"otter gives {score} of {expected} points: a failed run would be fast.")
    return seconds


def _otter_score(class_: Class) -> float:
    results = json.loads((class_.home / "results.json").read_bytes())
    return float(sum(test.get("score", 0.0) for test in results["tests"]))


def _otter_api(class_: Class, files: list[Path]) -> float:
    command = [str(class_.otter / "python"), "all.py", "autograder.zip", *map(str, files)]
    return cpu_of_command(command, class_.home)


def _kit(class_: Class, course: Course, files: list[Path]) -> float:
    """Grade *files* by `autograder grade`; return the seconds."""
    seconds, found = _kit_results(class_, course, files)
    if [one.score for one in found] != [POINTS] * len(files):
        sys.exit("The kit does not give full marks: a failed run would be fast.")
    return seconds


def _kit_results(
    class_: Class, course: Course, files: list[Path]
) -> tuple[float, Sequence[SubmissionResult]]:
    record = class_.home / "record.json"
    students = [str(file.parents[1]) for file in files]
    options = ("--stage", STAGE, "--json", str(record), "--fresh", "--jobs", "1")
    seconds = cpu_of_command(["autograder", "grade", *students, *options], course.root)
    return seconds, from_json(record.read_bytes()).submissions


def _wrong(class_: Class, course: Course, stage: Stage) -> list[str]:
    """Grade one wrong module in both ways; return each message about its first failed test."""
    text = with_kind(stage, stage.solution.read_text("utf-8"), *MISTAKE)
    file = _put(class_.home, stage, "wrong", text.encode())
    _otter_run(class_, file)
    tests = json.loads((class_.home / "results.json").read_bytes())["tests"]
    failed = tests[0]["output"].split("\n\n")  # the output of all public tests
    said = next(part for part in failed if "failed" in part)
    _, [result] = _kit_results(class_, course, [file])
    checks = (check for exercise in result.exercises for check in exercise.checks)
    first = next(check for check in checks if check.status is not Status.OK)
    ours = [first.title, first.message, first.diagnosis.explanation if first.diagnosis else ""]
    return [
        f"otter run, {_otter_score(class_):g} of {POINTS:g} points:",
        dedent(said),
        f"autograder grade, {result.score:g} of {POINTS:g} points:",
        *(f"    {sentence}" for sentence in ours),
    ]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
