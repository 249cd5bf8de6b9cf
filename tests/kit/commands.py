"""Runs nbgrader's commands and the kit's: in this process, which is quick, or in a new one."""

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from jupyter_core.application import NoStart
from nbgrader.apps import NbGraderApp
from typer.testing import CliRunner

from autograder.cli import app

TOOLS = Path(sys.executable).parent


class Ended(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    output: str


def run(root: Path, *words: str, code: int = 0, **environment: str) -> str:
    """Run `nbgrader …` or `autograder …` in the course at *root*; return its output."""
    ended = run_here(root, words, environment)

    assert ended.code == code, ended.output
    return ended.output


def run_here(root: Path, words: Sequence[str], environment: dict[str, str] | None = None) -> Ended:
    """Run a command in this process, as its own process would start it."""
    program = {"autograder": _autograder, "nbgrader": _nbgrader}[words[0]]
    with chdir(root), forget_suites(), warnings.catch_warnings(), pytest.MonkeyPatch.context() as p:
        warnings.simplefilter("ignore")  # Python shows few of them to users, pytest all
        for name, value in (environment or {}).items():
            p.setenv(name, value)
        return program(words[1:])


def run_process(root: Path, line: str) -> Ended:
    """Run *line* by a shell, in a separate process."""
    environment = os.environ | {"PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(  # noqa: S603  # a line of the tests
        ["bash", "-c", line],  # noqa: S607  # the shell of the reader
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout + done.stderr)


@contextmanager
def forget_suites() -> Iterator[None]:
    """Hide the suites that were imported before, and forget those that are imported meanwhile.

    Different courses have suites with the same module names, so these are forgotten.
    """
    known = {name: sys.modules.pop(name) for name in [*filter(_is_suite, sys.modules)]}
    yield
    for name in [*filter(_is_suite, sys.modules)]:
        del sys.modules[name]
    sys.modules.update(known)


def _is_suite(name: str) -> bool:
    return name.startswith(("tests.hidden", "source")) or name.endswith("test_public")


def _autograder(words: Sequence[str]) -> Ended:
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.output)


def _nbgrader(words: Sequence[str]) -> Ended:
    """Start nbgrader's application, and remove the singletons that it leaves behind."""
    output = io.StringIO()
    nbgrader = NbGraderApp.instance()
    with redirect_stdout(output), redirect_stderr(output):
        code = _exit_code(lambda: (nbgrader.initialize(list(words)), nbgrader.start()))
    nbgrader.reset()
    return Ended(code, output.getvalue())


def _exit_code(start: Callable[[], object]) -> int:
    try:
        start()
    except NoStart:  # a subcommand has run, and the application above it has nothing to do
        return 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(ended.code)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0
