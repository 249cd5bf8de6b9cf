"""Fills exercises that repeat an earlier one with the learner's own passed code.

``copied_from`` in stage.toml names the stage that asked for the exercise first. A copy is filled
only as long as it is the stub that the learner received.
"""

import ast
from collections.abc import Collection
from dataclasses import dataclass

from autograder.course import MARKERS, Handout, Stage
from autograder.errors import UsageError
from autograder.sandbox.notebook_magics import bound_names
from autograder.student.exercise_cell import parts_of, written
from autograder.student.learner_folder import ORIGINALS, solved_stage, source_text, write_text
from autograder.student.progress import Progress, Task, tasks_of
from autograder.submission.notebook import definition_in, lines_of, lines_of_node


@dataclass(frozen=True)
class FilledCopy:
    """A copy that was filled from *source*; *borrowed* if that is the course's code."""

    task: Task
    source: Stage
    borrowed: bool = False

    def __str__(self) -> str:
        """Return a sentence for the learner."""
        whose = "the course's code" if self.borrowed else "your code"
        return f"{self.task.exercise.name} is filled with {whose} from {self.source.name}."


def original(own: Handout, task: Task) -> Task | None:
    """Return the exercise that *task* copies, or None if there is none in the folder."""
    if (course := own.around(task.exercise.copied_from)) is None:
        return None
    earlier = tasks_of(course.stage(task.exercise.copied_from))
    return next((one for one in earlier if one.exercise.name == task.exercise.name), None)


def is_open(own: Handout, task: Task) -> bool:
    """Whether *task* is a copy that is still the stub that the learner received."""
    name = task.exercise.name
    received = own.root / ORIGINALS / task.stage.stub.relative_to(own.root)
    stub, now = (definition_in(source_text(file), name) for file in (received, task.stage.stub))
    return bool(task.exercise.copied_from and stub) and stub == now


def request(own: Handout, progress: Progress, task: Task) -> str:
    """Return what to do about an open copy; empty if *task* is none."""
    if task.key in progress.passed or not is_open(own, task):
        return ""
    source, stage = original(own, task), task.exercise.copied_from
    if source and source.key in progress.passed:
        return (
            f"{task.exercise.name} is a copy, but your code can't be read from {stage} as it is "
            f"now: run `autograder check {stage}`."
        )
    first = f"{task.exercise.name} is a copy: pass {stage} first"
    if source is None or solved_stage(source.stage) is None:
        return f"{first}, or write it here."
    return f"{first}, or press c in `autograder watch` to borrow the course's code."


def fill(own: Handout, progress: Progress, stage: Stage) -> list[FilledCopy]:
    """Fill the open copies of *stage* whose original has passed, and save the progress."""
    found = []
    for task in tasks_of(stage):
        source = original(own, task)
        if source is None or source.key not in progress.passed or task.key in progress.passed:
            continue
        if progress.is_outdated(source.stage):  # what has passed may no longer be in the file
            continue
        if is_open(own, task) and _write(task, source_text(source.stage.stub)):
            found.append(FilledCopy(task, source.stage))
    return found


def borrow(own: Handout, progress: Progress, task: Task) -> FilledCopy | None:
    """Fill an open copy with the solution of its original; None if there is no solution here."""
    source = original(own, task)
    solved = solved_stage(source.stage) if source else None
    if solved is None or not is_open(own, task):
        return None
    lines = source_text(solved.solution).splitlines(keepends=True)
    if not _write(task, "".join(one for one in lines if one.strip() not in MARKERS)):
        return None
    progress.borrowed.add(task.key)
    progress.save()
    return FilledCopy(task, solved, borrowed=True)


def _write(task: Task, source: str) -> bool:
    """Write the definition of *task* in *source*, and what it uses; return False if that fails."""
    name, module = task.exercise.name, source_text(task.stage.stub)
    others = [one.name for one in task.stage.exercises if one.name != name]
    try:
        cell = _cell(source, module, name, others)
        text = written(module, parts_of(cell, name, others), task.stage.stub.name)
    except (SyntaxError, ValueError, RecursionError, UsageError):
        return False
    write_text(task.stage.stub, text)
    return True


def _cell(source: str, module: str, name: str, others: Collection[str]) -> str:
    """Return the statements of *source* that *name* needs and *module* lacks, in their order."""
    body = ast.parse(source).body
    by_name = {one: node for node in body for one in bound_names(node)}
    present = {one for node in ast.parse(module).body for one in bound_names(node)} | {*others}
    wanted, found = [name] if name in by_name else [], {name}
    while wanted:
        for part in ast.walk(by_name[wanted.pop()]):
            used = part.id if isinstance(part, ast.Name) else ""
            if used in by_name and used not in found | present:
                found.add(used)
                wanted.append(used)
    lines = lines_of(source)
    nodes = [node for node in body if {*bound_names(node)} & found]
    spans = [lines_of_node(node) for node in nodes]
    return "\n\n".join("".join(lines[first - 1 : last]) for first, last in spans)
