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


def open_module(folder: Path, module: str) -> Any:
    """Return the companion that *module* of the course in *folder* opens."""
    return modules_in(folder, module).open_companion(folder)


def answer(text: str) -> str:
    """Run the learner's modules of the request *text*, in JSON, and return the answer to it.

    A stage is printed before its module runs, and again if its code runs when time is short.
    """
    fields = json.loads(text)
    end = time.process_time() + NEARLY * fields["seconds"]
    companion = open_module(Path(fields["folder"]), fields["module"])

    def watch() -> None:
        while time.process_time() < end:
            time.sleep(0.05)
        _mark(companion.running)

    threading.Thread(target=watch, daemon=True).start()
    for slot in fields["slots"]:
        _mark(slot["stage"])
        executor = RequestExecutor(slot["module"], notebook=slot["notebook"], max_bytes=0)
        executor.run(tuple(cell.encode() for cell in slot["cells"]))
        companion.fill(slot["stage"], slot["glue"], executor.module)
    return json.dumps(companion.show(**fields["request"]))


def _mark(stage: str) -> None:
    print(f"{STAGE_MARK}{stage}", file=sys.stderr, flush=True)  # noqa: T201  # the supervisor reads it
