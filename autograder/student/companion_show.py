"""Shows the companion of the course with the code in a learner's folder."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autograder.course import COMPANION_FILE, Handout, Stage
from autograder.errors import UsageError
from autograder.sandbox.spawned_workers import Workers
from autograder.student.check import student_file
from autograder.student.course_modules import folder_with
from autograder.student.live_module import LiveModule, NotReadyError
from autograder.student.progress import Progress
from autograder.submission import Code, collect

if TYPE_CHECKING:  # imports torch
    from autograder.companion import CompanionAnswer, CompanionFile, Slot


def is_here(own: Handout) -> bool:
    """Whether the course of the learner's folder has a companion."""
    return (own.shared / COMPANION_FILE).is_file()


def show(
    own: Handout,
    server: Workers,
    passed: Collection[str],
    *,
    stage: str = "",
    prompt: str = "",
    teach: str = "",
    heat: float = 0.0,
) -> "CompanionAnswer | None":
    """Return what the companion shows with the *passed* exercises of *own*, up to *stage*.

    With *stage*, return None if this stage fills no slot. Raises ``UsageError`` if there is no
    companion, or if it can't do what is asked.
    """
    from autograder import companion  # noqa: PLC0415  # imports torch

    file = companion.read(own.shared)
    slots = file.filled(passed)
    if stage:
        order = [one.name for one in own.stages]
        known = [one for one in slots if one.stage in order[: order.index(stage) + 1]]
        slots = known if stage in {one.stage for one in slots} else []
        if not slots:
            return None
    request = companion.request_of(file.shown_with(slots), prompt, teach, heat)
    return companion.show(server, own.shared, slots, _modules(own, slots), request)


def show_here(
    own: Handout, stage: Stage, prompt: str, changed: Mapping[str, object]
) -> "CompanionAnswer":
    """Return what the companion shows in this process, with the lab's *stage* and what passed.

    *changed* maps exercises of the stage to what takes their places. Raises ``UsageError`` if the
    stage fills no slot with one of them, and ``NotReadyError`` if the stage's file can't run.
    """
    from autograder import companion  # noqa: PLC0415  # imports torch
    from autograder.student.companion_worker import open_module  # noqa: PLC0415  # imports torch

    shared = folder_with(stage.source, COMPANION_FILE) or own.shared
    file = companion.read(shared)
    _require_place(file, stage.name, changed)
    order = [one.name for one in own.stages]
    state = Progress.read(own.root)
    mine = [one for one in file.slot if one.stage == stage.name]
    # In a class without `start`, the code next to the lab counts.
    here = {key for one in mine for key in one.keys if key.partition("/")[0] in order}
    passed = state.passed if state.is_on_disk else here
    earlier = order[: order.index(stage.name)]
    slots = [one for one in file.filled(passed) if one.stage in earlier]
    opened, notes = open_module(shared, file.module), list[str]()
    for slot in mine:
        missing = sorted(key for key in slot.keys - passed if not key.startswith(f"{stage.name}/"))
        if missing:
            lacking = f"With your {slot.needs[-1]}, the {file.name} needs {', '.join(missing)}"
            notes.append(f"{lacking}: not passed yet, so the course's own code is in use.")
        else:
            slots.append(slot)
    for slot in slots:
        module = LiveModule(own.stage(slot.stage).stub)
        replaced = changed if slot.stage == stage.name else {}
        try:
            getattr(module, slot.needs[-1].rpartition("/")[2])
        except NotReadyError as error:
            if slot.stage == stage.name:
                raise
            notes.append(f"{error} The course's own code took its place.")
            continue
        opened.fill(slot.stage, slot.glue, Changed(module, replaced))
    shown = file.shown_with(slots)
    request = companion.request_of(shown, prompt or (shown.start if shown and changed else ""))
    try:
        with _one_thread():
            found = opened.show(**request)
    except ValueError as error:  # the companion refuses the request
        raise UsageError(str(error)) from None
    found["notes"] = [*notes, *found["notes"]]
    return companion.answer_of({**found, "name": file.name})


def _require_place(file: "CompanionFile", stage: str, changed: Collection[str]) -> None:
    needed = {key for one in file.slot for key in one.keys}
    unknown = [name for name in changed if f"{stage}/{name}" not in needed]
    if unknown or not any(one.stage == stage for one in file.slot):
        known = [key.partition("/")[2] for key in sorted(needed) if key.startswith(stage)]
        raise UsageError(
            f"The {file.name} has no place for {', '.join(unknown) or stage}. Of this stage, "
            f"it uses {', '.join(known) or 'nothing'}."
        )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch use one thread, as workers do: tiny products take far longer with several."""
    import torch  # noqa: PLC0415  # takes half a second

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Changed:
    """A learner's *module* in which other objects take the places of some exercises."""

    def __init__(self, module: object, changed: Mapping[str, object]) -> None:
        self._module, self._changed = module, changed

    def __getattr__(self, name: str) -> object:
        return self._changed[name] if name in self._changed else getattr(self._module, name)


def _modules(own: Handout, slots: "Collection[Slot]") -> Mapping[str, Code]:
    """Return the saved code of the stages that *slots* need, without files that can't be read."""
    names = {key.partition("/")[0] for slot in slots for key in slot.keys}
    found = {}
    for stage in (one for one in own.stages if one.name in names):
        try:
            code = next(collect(student_file(stage.source, stage), own.stages, stage)).code
        except UsageError:
            continue
        if code is not None:
            found[stage.name] = code
    return found
