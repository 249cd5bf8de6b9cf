"""Shows the companion of a course: a module of the course that works with the learner's code.

A companion has slots, which passed exercises of several stages fill. It runs in the learner's
worker and returns texts and the learner's share of its work. It grades nothing.
"""

import json
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from autograder.course import COMPANION_FILE
from autograder.course_file import Name, read_toml
from autograder.errors import CourseError, GraderError, UsageError
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import BadMessageError, Reply
from autograder.sandbox.session import Session
from autograder.sandbox.spawned_workers import Workers
from autograder.sandbox.tensors import decode
from autograder.sanitize import line
from autograder.submission import Code

WORKER: Final = "autograder.student.companion_worker"
STAGE_MARK: Final = "companion: running "  # printed by a worker whose time is nearly up
CALL_SECONDS: Final = 5.0  # of a worker's processor; right code takes at most half of it
ATTEMPTS: Final = 3  # each one after the first leaves out a stage that has not finished
MOST: Final = 5_000  # characters of a text
INDENT: Final = "  "
ASKED: Final = frozenset({"start", "prompt", "teach", "heat"})  # without praise of what is left out


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """States that *glue*, a function of the companion, fills slots with the module of *stage*.

    It does so once all exercises in *needs* have passed: names, or ``STAGE/NAME`` of other stages.
    *shown* is what the companion is then asked to show; ``start`` is how a text begins.
    """

    stage: Name
    needs: tuple[str, ...]
    glue: Name
    shown: dict[str, str] = {}

    @property
    def keys(self) -> frozenset[str]:
        """The needed exercises, by ``Task.key``."""
        return frozenset(one if "/" in one else f"{self.stage}/{one}" for one in self.needs)


class CompanionFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Holds the content of ``companion.toml``.

    *module* is a module of the course with the function ``open_companion(folder)``. *least_margin*
    is how clear each choice of a text must be that the course prints or compares.
    """

    format_version: Literal[1]
    name: Name
    module: Name
    least_margin: float = 0.0
    slot: tuple[Slot, ...]

    def filled(self, passed: Collection[str]) -> list[Slot]:
        """List the slots whose exercises have all passed, from the oldest to the newest."""
        return [one for one in self.slot if one.keys <= {*passed}]


class CompanionAnswer(msgspec.Struct, frozen=True):
    """The output of a companion; *notes* state where the course's code replaced the learner's.

    Each of *parts* is a sentence and a text after it; either may be empty. *share* is the learner's
    share of the work of the companion, whose name is *name*. *is_own* is true if the result is that
    of the course's code. *margin* is how clear the least clear choice was, if it was measured.
    """

    parts: tuple[tuple[str, str], ...]
    share: float
    notes: tuple[str, ...] = ()
    is_own: bool = True
    margin: float | None = None
    name: str = ""


def read(shared: Path) -> CompanionFile:
    """Read the companion in the folder *shared*; raise ``UsageError`` if there is none."""
    path = shared / COMPANION_FILE
    if not path.is_file():
        raise UsageError(
            f"This course has no companion: {path} is missing. If it should have one, `autograder "
            "start` adds the files."
        )
    try:
        return read_toml(path, CompanionFile)
    except CourseError as error:  # in a folder that is older than the kit, too
        raise CourseError(f"{error} `autograder start` brings the course's file.") from None


def show(
    server: Workers,
    shared: Path,
    slots: Sequence[Slot],
    modules: Mapping[str, Code],
    request: Mapping[str, object],
) -> CompanionAnswer:
    """Ask the companion in *shared* to answer *request* with the learner's *modules*, by stage.

    A stage whose code does not finish is left out, and a note says so. Raises ``UsageError`` if the
    request can't be answered, and ``GraderError`` if the companion fails.
    """
    file, cells = read(shared), (f"from {WORKER} import answer".encode(),)
    left, notes = [one for one in slots if one.stage in modules], list[str]()
    for _ in range(ATTEMPTS):
        fields = {"folder": str(shared), "module": file.module, "seconds": CALL_SECONDS}
        filled = [_filled(one, modules[one.stage]) for one in left]
        text = json.dumps({**fields, "slots": filled, "request": dict(request)})
        session = Session(server, "companion", cells, notebook=False, call_seconds=CALL_SECONDS)
        try:
            return _answer(session.ask("call", name="answer", args=(text,)), file.name, notes)
        except Fault as fault:
            marks = re.findall(f"{STAGE_MARK}(.*)", session.printed)
            ran = [one for one in marks if one.partition("/")[0] in modules]
            newest = [one.stage for one in left]  # if no mark says what ran
            stage, _, name = (ran or newest or [""])[-1].partition("/")
            where = f"{name} of {stage}" if name else stage
            what = fault.message[:1].lower() + fault.message[1:].rstrip(".")
            notes.append(
                f"In {where}, {what}. The course's own code took its place, so this text is not "
                "yours."
            )
        finally:
            session.close()
        left = [one for one in left if not any(key.startswith(f"{stage}/") for key in one.keys)]
        request = {key: request[key] for key in request.keys() & ASKED}
    raise GraderError(f"the {file.name} could not run: {notes[-1]}")


def _filled(slot: Slot, code: Code) -> dict[str, object]:
    return {
        "stage": slot.stage,
        "glue": slot.glue,
        "module": Path(code.label).stem,
        "cells": [cell.decode("utf-8", "replace") for cell in code.cells],
        "notebook": code.kind == "notebook",
    }


def _answer(reply: Reply, name: str, notes: Sequence[str]) -> CompanionAnswer:
    if reply.problem is not None:
        if reply.problem.type == "ValueError":  # the companion refuses the request
            raise UsageError(line(reply.problem.text, MOST))
        raise GraderError(f"the companion failed ({reply.problem.type}: {reply.problem.text})")
    try:
        found = answer_of(json.loads(str(decode(reply.value, lambda handle: handle))))
    except (BadMessageError, ValueError, RecursionError):  # also `msgspec.ValidationError`
        raise GraderError("the answer of the companion can't be read") from None
    is_own, notes = found.is_own and not notes, (*notes, *found.notes)
    return msgspec.structs.replace(found, notes=notes, is_own=is_own, name=name)


def answer_of(fields: object) -> CompanionAnswer:
    """Return the answer of *fields*, without control sequences; the learner's code makes texts."""
    answer = msgspec.convert(fields, CompanionAnswer)
    parts = tuple(
        (line(says, MOST), "\n".join(line(row, MOST) for row in text.split("\n")))
        for says, text in answer.parts
    )
    notes = tuple(line(note, MOST) for note in answer.notes)
    return msgspec.structs.replace(answer, parts=parts, notes=notes)


def answer_lines(answer: CompanionAnswer, width: int, *, only_text: bool = False) -> Iterator[str]:
    """Yield the lines of *answer*: sentences, texts with an indent, and last the share or notes.

    With *only_text*, the last text is all that comes before the share or the notes.
    """
    texts = [("", text) for _, text in answer.parts if text]
    for says, text in texts[-1:] if only_text else answer.parts:
        yield from textwrap.wrap(says, width)
        for row in text.strip().split("\n"):
            yield from textwrap.wrap(row, width, initial_indent=INDENT, subsequent_indent=INDENT)
    share = 100 * answer.share
    shown = f"{share:.0f}" if share >= 1 or not share else f"{share:.1f}"
    last = answer.notes or (f"Your code does {shown} % of the {answer.name}'s work.",)
    for sentence in last:
        yield from textwrap.wrap(sentence, width)


def request_of(
    slots: Sequence[Slot], prompt: str = "", teach: str = "", heat: float = 0.0
) -> dict[str, Any]:
    """Return the request for what the newest of *slots* shows, or for the learner's *prompt*."""
    shown = slots[-1].shown if slots else {}
    if prompt or teach or heat:
        shown = {"start": shown.get("start", ""), "prompt": prompt, "teach": teach}
    return {"start": "", **shown, "heat": heat}
