"""Detects when a learner saves a module: by events of the file system, and by polling."""

import os
import threading
from pathlib import Path
from typing import Final

from autograder.course import Stage

POLL_SECONDS: Final = 0.5  # some containers deliver no events of the file system
POLL_WITHOUT_EVENTS: Final = 0.1  # without watchfiles; polling a few files takes microseconds
STEP_MILLISECONDS: Final = 5  # an editor that truncates a file has written it by then
DEBOUNCE_MILLISECONDS: Final = 100  # the longest wait for a burst of events to end
Signature = tuple[int, int, int] | None


class FileWatch:
    """Detects saved modules; writes a byte to the descriptor *wake* when files may have changed."""

    def __init__(self, stages: tuple[Stage, ...], wake: int) -> None:
        self._stages = stages
        self._wake = wake
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._wait_for_events, daemon=True)
        self._seen = {stage.name: self._signature(stage) for stage in stages}
        self.poll_seconds = POLL_SECONDS
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(1.0)  # the thread checks the event twice a second

    def saved(self) -> list[Stage]:
        """List the stages whose modules have changed since the last call."""
        found = []
        for stage in self._stages:
            now = self._signature(stage)
            if now != self._seen[stage.name]:
                self._seen[stage.name] = now
                found.append(stage)
        return found

    def _wait_for_events(self) -> None:
        """Wake the main loop after each burst of events; ``saved`` finds the changed files."""
        try:
            from watchfiles import watch  # noqa: PLC0415  # it is not installed on every machine

            events = watch(
                *(stage.source for stage in self._stages),
                stop_event=self._stop,
                step=STEP_MILLISECONDS,
                debounce=DEBOUNCE_MILLISECONDS,
                rust_timeout=500,
                raise_interrupt=False,
                recursive=False,
            )
            for _changes in events:
                os.write(self._wake, b"s")
        except Exception:  # noqa: BLE001  # no watchfiles, no events, no folder: polling is enough
            self.poll_seconds = POLL_WITHOUT_EVENTS

    @staticmethod
    def _signature(stage: Stage) -> tuple[Signature, ...]:
        files = (stage.stub, stage.stub.with_suffix(".ipynb"))
        return tuple(map(_signature_of, files))


def _signature_of(file: Path) -> Signature:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
