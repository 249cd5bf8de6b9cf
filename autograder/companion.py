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
from autograder.errors import GraderError, UsageError
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import BadMessageError
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


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """States that *glue*, a function of the companion, fills slots with the module of *stage*.

    It does so once all exercises in *needs* have passed: names, or ``STAGE/NAME`` of other stages.
    """

    stage: Name
    needs: tuple[str, ...]
    glue: Name

    @property
    def keys(self) -> frozenset[str]:
        """The needed exercises, by ``Task.key``."""
        return frozenset(one if "/" in one else f"{self.stage}/{one}" for one in self.needs)


class StageText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """States what the companion shows when *stage* is done, and how it begins.

    *says* is a sentence before the text, and *then* one after it. *contrast* is the glue of a
    second text, or of a number in the sentences; *contrast_says* is a sentence before that text.
    *teach* is a text that the companion learns.
    """

    stage: Name
    start: str
    says: str = ""
    then: str = ""
    contrast: str = ""
    contrast_says: str = ""
    teach: str = ""


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
    shown: tuple[StageText, ...] = ()

    def filled(self, passed: Collection[str]) -> list[Slot]:
        """List the slots whose exercises have all passed, from the oldest to the newest."""
        return [one for one in self.slot if one.keys <= {*passed}]

    def shown_with(self, slots: Sequence[Slot]) -> StageText | None:
        """Return what is shown with *slots*: that of the newest stage among them."""
        stages = [one.stage for one in slots]
        found = [one for one in self.shown if one.stage in stages]
        return found[-1] if found else None


class Passage(msgspec.Struct, frozen=True, array_like=True):
    """A sentence, and a text after it; either may be empty."""

    says: str
    text: str


class CompanionAnswer(msgspec.Struct, frozen=True):
    """The output of a companion; *notes* state where the course's code replaced the learner's.

    *share* is the learner's share of the work of the companion, whose name is *name*. *is_own* is
    true if the result is that of the course's code. *margin* is how clear the least clear choice
    was, if it was measured.
    """

    parts: tuple[Passage, ...]
    share: float
    notes: tuple[str, ...] = ()
    is_own: bool = True
    margin: float | None = None
    name: str = ""


def find(shared: Path) -> CompanionFile | None:
    """Read the companion in the folder *shared* of a course; None if it has none."""
    path = shared / COMPANION_FILE
    return read_toml(path, CompanionFile) if path.is_file() else None


def read(shared: Path) -> CompanionFile:
    """Read the companion in the folder *shared*; raise ``UsageError`` if there is none."""
    file = find(shared)
    if file is None:
        raise UsageError(
            f"This course has no companion: {shared / COMPANION_FILE} is missing. If it should "
            "have one, `autograder start` adds the files."
        )
    return file


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
    file = read(shared)
    left, notes = [one for one in slots if one.stage in modules], list[str]()
    for _ in range(ATTEMPTS):
        running, found = _attempt(server, shared, file, left, modules, request)
        if isinstance(found, CompanionAnswer):
            is_own = found.is_own and not notes
            return msgspec.structs.replace(
                found, notes=(*notes, *found.notes), is_own=is_own, name=file.name
            )
        running = running or (left[-1].stage if left else "")
        left = [one for one in left if not any(key.startswith(f"{running}/") for key in one.keys)]
        what = found.message[:1].lower() + found.message[1:]
        notes.append(
            f"In {running}, {what.rstrip('.')}. The course's own code took its place, so this "
            "text is not yours."
        )
    raise GraderError(f"the {file.name} could not run: {notes[-1]}")


def _attempt(
    server: Workers,
    shared: Path,
    file: CompanionFile,
    slots: Sequence[Slot],
    modules: Mapping[str, Code],
    request: Mapping[str, object],
) -> tuple[str, CompanionAnswer | Fault]:
    """Run the companion once; return the stage that ran last with a fault, or an answer."""
    run = f"from {WORKER} import fill_slot, open_folder, show"
    cells = (run.encode(),)
    session = Session(server, "companion", cells, notebook=False, call_seconds=CALL_SECONDS)
    running = ""
    try:
        _call(session, "open_folder", folder=str(shared), module=file.module)
        for slot in slots:
            running, code = slot.stage, modules[slot.stage]
            fields = {"stage": slot.stage, "glue": slot.glue, "label": code.label}
            texts = [cell.decode("utf-8", "replace") for cell in code.cells]
            _call(session, "fill_slot", **fields, cells=texts, notebook=code.kind == "notebook")
        running = ""
        answer = _call(session, "show", request=dict(request), seconds=CALL_SECONDS)
        return "", _read(answer)
    except Fault as fault:
        marks = re.findall(f"{STAGE_MARK}(.*)", session.printed)
        known = [mark for mark in marks if mark in modules]
        return running or (known[-1] if known else ""), fault
    finally:
        session.close()


def _call(session: Session, name: str, **fields: object) -> object:
    reply = session.ask("call", name=name, args=(json.dumps(fields),))
    if reply.problem is not None:
        if reply.problem.type == "ValueError":  # the companion refuses the request
            raise UsageError(line(reply.problem.text, MOST))
        raise GraderError(f"the companion failed ({reply.problem.type}: {reply.problem.text})")
    try:
        return decode(reply.value, lambda handle: handle)
    except BadMessageError:
        return None


def _read(value: object) -> CompanionAnswer:
    try:
        return answer_of(json.loads(str(value)))
    except (ValueError, RecursionError):  # also `msgspec.ValidationError`
        raise GraderError("the answer of the companion can't be read") from None


def answer_of(fields: object) -> CompanionAnswer:
    """Return the answer of *fields*, without control sequences; the learner's code makes texts."""
    answer = msgspec.convert(fields, CompanionAnswer)
    parts = tuple(
        Passage(line(one.says, MOST), "\n".join(line(row, MOST) for row in one.text.split("\n")))
        for one in answer.parts
    )
    notes = tuple(line(note, MOST) for note in answer.notes)
    return msgspec.structs.replace(answer, parts=parts, notes=notes)


def answer_lines(answer: CompanionAnswer, width: int) -> Iterator[str]:
    """Yield the lines of *answer*: sentences, texts with an indent, and last the share or notes."""
    for part in answer.parts:
        yield from textwrap.wrap(part.says, width)
        for row in part.text.strip("\n").split("\n") if part.text.strip() else ():
            lead = {"initial_indent": INDENT, "subsequent_indent": INDENT}
            yield from textwrap.wrap(row, width, **lead)  # type: ignore[arg-type]  # only texts
    share = 100 * answer.share
    shown = f"{share:.0f}" if share >= 1 or not share else f"{share:.1f}"
    last = answer.notes or (f"Your code does {shown} % of the {answer.name}'s work.",)
    for sentence in last:
        yield from textwrap.wrap(sentence, width)


def request_of(
    shown: StageText | None, prompt: str = "", teach: str = "", heat: float = 0.0
) -> dict[str, Any]:
    """Return the request for the fixed text of *shown*, or for the learner's own *prompt*."""
    fields = msgspec.to_builtins(shown) if shown is not None else {"start": ""}
    fields.pop("stage", "")
    if prompt or teach:
        fields = {"start": fields["start"], "prompt": prompt, "teach": teach}
    return {**fields, "heat": heat}
