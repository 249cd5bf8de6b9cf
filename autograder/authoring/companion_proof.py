"""Proves the companion of a course: with the solutions it does what the course's own code does."""

from collections.abc import Iterator, Sequence

from autograder import companion
from autograder.companion import CompanionFile, StageText
from autograder.course import COMPANION_FILE, Course, Stage
from autograder.errors import AutograderError
from autograder.sandbox.spawned_workers import Workers, own_workers
from autograder.submission import Code


def problems(course: Course, stages: Sequence[Stage]) -> Iterator[str]:
    """Report slots of unknown exercises, and what the companion shows wrongly for *stages*."""
    file = companion.find(course.shared_source)
    if file is None:
        return
    known = {f"{one.name}/{item.name}" for one in course.every_stage for item in one.exercises}
    names = [stage.name for stage in stages]
    for key in sorted({key for slot in file.slot for key in slot.keys} - known):
        if key.partition("/")[0] in names:
            yield f"{COMPANION_FILE} needs {key}, which is not an exercise."
    shown = [one for one in file.shown if one.stage in names]
    if not shown:
        return
    with own_workers(course.limits) as server:
        server.wait_ready()
        for one in shown:
            yield from _differences(course, file, one, server)


def _differences(
    course: Course, file: CompanionFile, shown: StageText, server: Workers
) -> Iterator[str]:
    """Report what the companion shows with the solutions up to the stage of *shown*."""
    order = [stage.name for stage in course.every_stage]
    earlier = order[: order.index(shown.stage) + 1]
    solved = [stage for stage in course.every_stage if stage.name in earlier]
    passed = {f"{stage.name}/{item.name}" for stage in solved for item in stage.exercises}
    modules = {
        stage.name: Code(kind="module", cells=(stage.solution.read_bytes(),), label=stage.stub.name)
        for stage in solved
    }
    request = companion.request_of(shown)
    try:
        slots = file.filled(passed)
        found = companion.show(server, course.shared_source, slots, modules, request)
    except AutograderError as error:
        yield f"{shown.stage}: {COMPANION_FILE}: {error}"
        return
    if not found.is_own:
        why = [*found.notes, *(part.says for part in found.parts)][0 if found.notes else -1]
        yield f"{shown.stage}: with the solution, the {file.name} does not do what it should. {why}"
    if found.margin is None or found.margin < file.least_margin:
        yield (
            f"{shown.stage}: a text of the {file.name} is too close to another: its smallest "
            f"margin is {found.margin}, below {file.least_margin}. Choose a different start in "
            f"{COMPANION_FILE}."
        )
