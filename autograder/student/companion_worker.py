"""Runs a companion inside a worker, or in a notebook, with the learner's modules of many stages."""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from autograder.companion import STAGE_MARK
from autograder.sandbox.executor import RequestExecutor
from autograder.student.course_modules import modules_in

NEARLY = 0.8  # the share of a call's time after which a worker prints which stage runs
_opened: list[Any] = []  # the companion of this worker


def open_folder(text: str) -> None:
    """Open the companion of the fields *text*, in JSON: the *folder* and the *module* in it."""
    fields = json.loads(text)
    _opened[:] = [open_module(Path(fields["folder"]), fields["module"])]


def open_module(folder: Path, module: str) -> Any:
    """Return the companion that *module* of the course in *folder* opens."""
    return modules_in(folder, module).open_companion(folder)


def fill_slot(text: str) -> None:
    """Run the learner's cells of a stage, and let the companion fill slots with the module."""
    fields = json.loads(text)
    stage, name = fields["stage"], Path(fields["label"]).stem
    executor = RequestExecutor(name, notebook=fields["notebook"], max_bytes=0)
    executor.run(tuple(cell.encode() for cell in fields["cells"]))
    _opened[0].fill(stage, fields["glue"], executor.module)


def show(text: str) -> str:
    """Return the companion's answer to a request; print which stage runs when time is short."""
    fields = json.loads(text)
    companion, end = _opened[0], time.process_time() + NEARLY * fields["seconds"]

    def watch() -> None:
        while time.process_time() < end:
            time.sleep(0.05)
        print(f"{STAGE_MARK}{companion.running}", file=sys.stderr, flush=True)  # noqa: T201  # the supervisor reads it

    threading.Thread(target=watch, daemon=True).start()
    request = fields["request"]
    answer = companion.show(**request)
    return json.dumps(answer)
