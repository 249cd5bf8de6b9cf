"""Shows the companion of the course with the code in a learner's folder."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

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

UNSEEN: Final = "Your code passed its checks. If it still does, please report this difference."


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
    order = [one.name for one in own.stages]
    until = order.index(stage) if stage else len(order)
    slots = [one for one in file.filled(passed) if one.stage not in order[until + 1 :]]
    if stage and stage not in {one.stage for one in slots}:
        return None
    request = companion.request_of(slots, prompt, teach, heat)
    found = companion.show(server, own.shared, slots, _modules(own, slots), request)
    is_unseen = not found.is_own and not found.notes
    return replace(found, parts=(*found.parts, (UNSEEN, ""))) if is_unseen else found


def show_here(
    own: Handout, stage: Stage, prompt: str, changed: Mapping[str, object]
) -> "CompanionAnswer":
    """Return what the companion shows in this process, with the lab's *stage* and what passed.

    *changed* maps exercises of the stage to what takes their places. Raises ``UsageError`` if the
    stage fills no slot with one of them, and ``NotReadyError`` if the stage's file can't run.
    """
    import torch  # noqa: PLC0415  # takes half a second

    from autograder import companion  # noqa: PLC0415  # imports torch
    from autograder.student.companion_worker import open_module  # noqa: PLC0415  # imports torch

    shared = folder_with(stage.source, COMPANION_FILE) or own.shared
    file = companion.read(shared)
    _require_place(file, stage.name, changed)
    slots, notes = _slots_here(own, stage, file)
    opened, threads = open_module(shared, file.module), torch.get_num_threads()
    for slot in slots:
        is_mine = slot.stage == stage.name
        module = LiveModule(own.stage(slot.stage).stub, changed if is_mine else {})
        try:
            getattr(module, slot.needs[-1].rpartition("/")[2])  # runs the file
            opened.fill(slot.stage, slot.glue, module)
        except NotReadyError as error:
            if is_mine:
                raise
            notes.append(f"{error} The course's own code took its place.")
    start = slots[-1].shown.get("start", "") if slots and changed else ""
    torch.set_num_threads(1)  # tiny products take far longer with several
    try:
        found = opened.show(**companion.request_of(slots, prompt or start))
    except ValueError as error:  # the companion refuses the request
        raise UsageError(str(error)) from None
    finally:
        torch.set_num_threads(threads)
    found["notes"] = [*notes, *found["notes"]]
    return companion.answer_of({**found, "name": file.name})


def _slots_here(
    own: Handout, stage: Stage, file: "CompanionFile"
) -> tuple[list["Slot"], list[str]]:
    """List the slots that a lab of *stage* fills, and notes on those that need another stage."""
    order = [one.name for one in own.stages]
    state, mine = Progress.read(own.root), [one for one in file.slot if one.stage == stage.name]
    needed = {key: key.partition("/")[0] for one in mine for key in one.keys}
    # In a class without `start`, the code next to the lab counts.
    passed = state.passed if state.is_on_disk else {key for key in needed if needed[key] in order}
    passed = passed | {key for key in needed if needed[key] == stage.name}
    here = order[: order.index(stage.name) + 1]
    slots = [one for one in file.filled(passed) if one.stage in here]
    notes = [
        f"With your {one.needs[-1]}, the {file.name} needs {', '.join(sorted(one.keys - passed))}: "
        "not passed yet, so the course's own code is in use."
        for one in mine
        if one not in slots
    ]
    return slots, notes


def _require_place(file: "CompanionFile", stage: str, changed: Collection[str]) -> None:
    needed = {key.partition("/")[::2] for one in file.slot for key in one.keys}
    known = sorted(name for where, name in needed if where == stage)
    unknown = ", ".join(name for name in changed if name not in known)
    if unknown or not known:
        raise UsageError(
            f"The {file.name} has no place for {unknown or stage}. Of this stage, it uses "
            f"{', '.join(known) or 'nothing'}."
        )


def _modules(own: Handout, slots: "Collection[Slot]") -> Mapping[str, Code]:
    """Return the saved code of the stages that *slots* need, without files that can't be read."""
    names = {key.partition("/")[0] for slot in slots for key in slot.keys}
    found: dict[str, Code] = {}
    for stage in (one for one in own.stages if one.name in names):
        with suppress(UsageError):
            code = next(collect(student_file(stage.source, stage), own.stages, stage)).code
            found |= {stage.name: code} if code is not None else {}
    return found
