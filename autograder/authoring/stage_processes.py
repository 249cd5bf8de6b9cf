"""Distributes the stages of a course, which are independent, among processes."""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from autograder.course import Stage
from autograder.grading.grade import cores
from autograder.sandbox.process_limits import end_with_parent

_Part = TypeVar("_Part")


def in_processes(work: Callable[[Sequence[Stage]], _Part], stages: Sequence[Stage]) -> list[_Part]:
    """Call *work* in one process per core, each with a part of *stages*; return the results."""
    count = min(cores(), len(stages)) if hasattr(os, "fork") else 1
    if count <= 1:
        return [work(stages)]
    parts: list[list[Stage]] = [[] for _ in range(count)]
    for stage in sorted(stages, key=_effort, reverse=True):
        min(parts, key=lambda part: sum(map(_effort, part))).append(stage)
    with ProcessPoolExecutor(count, get_context("fork"), end_with_parent, (os.getpid(),)) as pool:
        return list(pool.map(work, parts))


def _effort(stage: Stage) -> int:
    """Estimate the time to run the checks of *stage* on its wrong programs, without a unit."""
    files = (stage.misconceptions, stage.hidden_suite)
    return math.prod(path.stat().st_size for path in files if path.is_file())
