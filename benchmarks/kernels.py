"""Measures the effect of other kernels: python -m benchmarks.kernels [STAGE...].

The right programs of a course, and its wrong ones in the public suite, run under several sets of
torch's kernels, which represent other processors. The first table has the largest difference of
right results, relative to the scale of their tensor: `autograder.suite.noise` states the noise that
follows from it. The second table counts the failures of wrong programs: all of them, those that
certainly differ between two sets, and those that differ although `release` recorded them as
decided. The last count must be 0.
"""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.authoring.fingerprinting import kinds_of
from autograder.course import Course, Stage, find_root, load
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.observation import UNCOMPARED_VERBS, Observation, status_of
from autograder.diagnosis.programs import channel_of
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.suite.checks import Layer
from autograder.suite.in_process import LocalChannel, solution_channel
from autograder.suite.noise import APART, scale_of
from benchmarks.measuring import right_programs, write_json
from tools.kernel_sets import SETS

PRINTED = {Layer.PARAMETERS, Layer.DOCUMENTED}  # whose inputs are small
RIGHT = "right"  # replaces the label of a wrong program
Key = tuple[str, bool, str, str]  # stage, whether the inputs are printed, check, program
Shown = tuple[str, list[Tensor]]  # status, and all numbers


class Wrong(NamedTuple):
    """Counts of failures of wrong programs: all, those that differ, and those of them recorded."""

    failures: int
    different: int
    recorded: int


def main(*words: str) -> None:
    """Measure and print; a process with other kernels writes its results to a file."""
    course = load(find_root(Path(__file__).parent))
    if words[:1] == ("collect",):
        torch.save(dict(_collect(course, _stages(course, words[2:]))), words[1])
        return
    stages = _stages(course, words)
    names = [stage.name for stage in stages]
    with TemporaryDirectory() as folder:
        base = _shown_under("as-it-is", folder, names)
        others = {name: _shown_under(name, folder, names) for name in SETS if name != "as-it-is"}
    noise: dict[Key, float] = defaultdict(float)
    changed: set[Key] = set()
    for other in others.values():
        for key, shown in base.items():
            apart = _apart(shown, other[key])
            noise[key] = max(noise[key], apart)
            changed |= {key} if apart > APART else set()
    _print(stages, base, noise, changed)
    measured = {f"{key[0]} {key[2]}": [value] for key, value in noise.items() if _is_right(key)}
    print(f"values in {write_json(course.root, 'kernels', measured)}")


def _stages(course: Course, words: Sequence[str]) -> list[Stage]:
    return [course.stage(word) for word in words] or list(course.stages)


def _shown_under(name: str, folder: str, stages: list[str]) -> dict[Key, Shown]:
    path = Path(folder) / name
    command = [sys.executable, "-m", "benchmarks.kernels", "collect", str(path), *stages]
    subprocess.run(command, env=os.environ | SETS[name], check=True)  # noqa: S603  # our own command
    found: dict[Key, Shown] = torch.load(path)
    path.unlink()
    return found


def _collect(course: Course, stages: list[Stage]) -> Iterator[tuple[Key, Shown]]:
    with open_suites(course, stages) as runner:
        for stage in stages:
            yield from _right(runner, stage)
    with open_suites(course, stages, public=True) as runner:
        for stage in stages:
            yield from _right(runner, stage)
            yield from _wrong(runner, stage)


def _right(runner: SuiteRunner, stage: Stage) -> Iterator[tuple[Key, Shown]]:
    for number, text in enumerate(right_programs(stage)):
        channel = LocalChannel("right", text.encode())
        for check in runner.checks(stage.name):
            name = f"{check.item.path.name} {check.name}"
            shown = _shown(runner.run(check.item, channel))
            yield (stage.name, check.spec.layer in PRINTED, name, f"{RIGHT} {number}"), shown


def _wrong(runner: SuiteRunner, stage: Stage) -> Iterator[tuple[Key, Shown]]:
    solution, text = solution_channel(stage.solution), stage.solution.read_text("utf-8")
    bank = [
        (item.id, item.exercise, channel_of(item, text, solution))
        for item in misconceptions.read(stage.misconceptions)
    ]
    kinds = [
        (fingerprints.kind_label(number), kind.exercise, kind.channel)
        for number, kind in enumerate(kinds_of(stage, solution))
    ]
    for label, exercise, channel in (*bank, *kinds):
        if channel is None:
            continue
        for check in runner.checks(stage.name):
            if check.spec.exercise == exercise:
                yield (
                    (stage.name, False, check.name, label),
                    _shown(runner.run(check.item, channel)),
                )


def _shown(seen: Observation) -> Shown:
    answers = [answer for verb, answer in seen.answers if verb not in UNCOMPARED_VERBS]
    status = status_of(seen.error) if seen.error is not None else ""
    return status, [one.double() for one in _tensors(answers)]


def _tensors(value: Any) -> Iterator[Tensor]:
    match value:
        case Tensor() if not value.is_complex():
            yield value.detach()
        case dict():
            for name in sorted(value):
                yield from _tensors(value[name])
        case list() | tuple():
            for item in value:
                yield from _tensors(item)
        case float():
            yield torch.tensor(value)


def _apart(left: Shown, right: Shown) -> float:
    """Return the largest difference relative to the scale; infinity if the ends differ."""
    if left[0] != right[0] or [one.shape for one in left[1]] != [one.shape for one in right[1]]:
        return torch.inf
    pairs = zip(left[1], right[1], strict=True)
    return max((_distance(mine, other) for mine, other in pairs if mine.numel()), default=0.0)


def _distance(left: Tensor, right: Tensor) -> float:
    equal = (left == right) | (left.isnan() & right.isnan())
    apart = (left - right).abs().masked_fill(equal, 0).nan_to_num(torch.inf)
    return float(apart.max()) / scale_of(left, right)


def _is_right(key: Key) -> bool:
    return key[3].startswith(f"{RIGHT} ")


def _print(
    stages: list[Stage], base: dict[Key, Shown], noise: dict[Key, float], changed: set[Key]
) -> None:
    print(f"largest difference of right results, {len(SETS)} sets of kernels")
    print(f"{'':28} printed inputs   other inputs")
    for stage in stages:
        cells = [
            max(
                (noise[key] for key in base if _is_right(key) and key[:2] == (stage.name, small)),
                default=0.0,
            )
            for small in (True, False)
        ]
        print(f"  {stage.name:28}{cells[0]:12.1e}{cells[1]:15.1e}")
    print("failures of wrong programs: all / certainly different / of these recorded as decided")
    for stage in stages:
        wrong = _count(stage, base, changed)
        print(f"  {stage.name:28}{wrong.failures:8}{wrong.different:8}{wrong.recorded:8}")


def _count(stage: Stage, base: dict[Key, Shown], changed: set[Key]) -> Wrong:
    known = fingerprints.find(stage.records)
    recorded = known.by_check().keys() if known else set()
    keys = [key for key in base if key[0] == stage.name and not _is_right(key)]
    different = [key for key in keys if key in changed]
    return Wrong(
        sum(bool(base[key][0]) for key in keys),
        len(different),
        sum(key[2:] in recorded for key in different),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
