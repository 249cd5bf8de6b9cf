"""Starts JupyterLab in the course's folder, as an instructor does, and ends it."""

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

START_SECONDS = 120  # JupyterLab takes three on an idle machine
END_SECONDS = 20  # kernels get a few to end by themselves


class Server(NamedTuple):
    """The address of JupyterLab, and the token for it."""

    url: str
    token: str


@contextlib.contextmanager
def jupyter_lab(folder: Path, environment: dict[str, str], log: Path) -> Iterator[Server]:
    """Run JupyterLab in *folder*; end it and its processes when the context ends."""
    token = secrets.token_hex()
    # It chooses a free port itself, and logs the number.
    settings = {"ip": "127.0.0.1", "port": 0, "token": token, "allow_root": True}
    options = [f"--ServerApp.{name}={value}" for name, value in settings.items()]
    with log.open("wb") as said:
        process = subprocess.Popen(  # noqa: S603  # our own arguments
            [sys.executable, "-m", "jupyterlab", "--no-browser", *options],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield Server(_url(process, log), token)
    finally:
        _end(process)


def _url(process: subprocess.Popen, log: Path) -> str:
    """Wait until the server answers; the server logs its address a little earlier."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        found = re.search(r"http://127\.0\.0\.1:\d+(?=/)", log.read_text("utf-8"))
        if found and _answers(found[0]):
            return found[0]
        time.sleep(0.1)
    msg = f"JupyterLab did not start. It said:\n{log.read_text('utf-8')}"
    raise RuntimeError(msg)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api") as answer:  # noqa: S310  # our own address
            return answer.status == 200
    except urllib.error.URLError:
        return False


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    with contextlib.suppress(ProcessLookupError):  # nothing of its group is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
