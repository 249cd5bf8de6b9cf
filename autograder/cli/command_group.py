"""Groups all commands, imports each one on use, and prints errors as messages."""

import errno
import os
import re
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from autograder.cli.output import print_remarks, tolerate_any_encoding
from autograder.errors import AutograderError, UnclearDownloadError, UsageError, library_error

# The extra that installs each optional library, by the name under which it is imported.
EXTRAS: Final = {
    "distributed": "cluster",
    "jupyterlab": "lab",
    "matplotlib": "lab",
    "nbformat": "instructor",
    "nbgrader": "instructor",
    "yaml": "instructor",
}
MACHINE: Final = {  # errors of a disk that is full, or of a file that may not be used
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EIO, getattr(errno, "EDQUOT", 0),
}  # fmt: skip
_WORDS: Final = f"{__name__}.words"  # the context's key for the command's words

# `--help` reads this table and is therefore quick: it imports no command.
SUMMARIES: Final = {
    "Learners": {
        "start": "Create your own folder with every stage; files that you changed are kept.",
        "watch": "Check your current exercise at each save; it shows one problem at a time.",
        "next": "Show the next exercise, with its file and line.",
        "hint": "Show a hint: first a question, then a direction, then almost the whole line.",
        "check": "Check your own work: what is right, what to fix first, and what comes next.",
        "progress": "Show your stages: how many exercises pass, and how many minutes are left.",
        "reset": "Reset an exercise to the version you received; a copy of your file is kept.",
        "solution": "Show the solution of an exercise that you have solved; needs the course.",
        "story": "Let the course's companion write with the code that passes.",
        "hunt": "Hunt a bug planted in your own code: see it, fix it, write a test that catches "
        "it.",
    },
    "Instructors": {
        "grade": "Grade submissions with the hidden suites, each in a sandbox.",
        "diff": "Compare two records: who gained, who lost, and by which check.",
        "explain": "Explain a grade: graded files, time, versions, and the points of each check.",
        "collect": (
            "Collect a download into nbgrader's submitted/ folder, with times and the course's ids."
        ),
        "copies": "Compare the code of a class by compare50, and write its pages.",
        "extend": "Give a student more time for a stage, before or after the submission.",
        "export": "Export grades of a record, or with --gradebook of nbgrader's database.",
        "feedback": "Pack the students' pages into a zip that Canvas or Moodle distributes.",
        "bundle": "Pack the course for a platform that runs the grader itself: a zip for "
        "Gradescope.",
    },
    "Authors": {
        "release": "Build the stubs and the assignments from the solutions.",
        "verify": (
            "Check the course: stubs earn 0, solutions earn full marks, misconceptions are named."
        ),
        "mutate": "Change the solutions in small ways and list the changes that no hidden check "
        "notices.",
        "diagnose": (
            "List the possible explanations of a file's mistakes and how well each one matches."
        ),
        "new-stage": "Write the skeleton of a stage, which `release` and `verify` accept as it is.",
        "new-course": "Create a new course in a separate folder: some stages of this one, or none.",
        "doctor": (
            "Check this machine: isolation, torch, and whether it computes the documented tensors."
        ),
    },
}
MODULES: Final = {  # grouped by imports, so that `hint` does not load torch
    "check_commands": ("check", "watch", "hunt"),
    "exercise_commands": ("start", "hint", "next", "progress", "reset", "solution", "story"),
    "grade_commands": ("grade", "collect", "copies", "extend"),
    "record_commands": ("diff", "explain", "export", "feedback"),
    "author_commands": ("release", "new-stage", "new-course"),
    "course_commands": ("verify", "mutate", "diagnose", "doctor", "bundle"),
}

# These write files about persons, or secrets, which only their owner may read.
PRIVATE: Final = frozenset({"grade", "collect", "copies", "extend", "export", "feedback", "bundle"})


class CommandGroup(TyperGroup):
    """Lists the commands of ``SUMMARIES``, and imports a command when it is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {
            name: TyperCommand(name, help=summary, rich_help_panel=panel)
            for panel, summaries in SUMMARIES.items()
            for name, summary in summaries.items()
        }

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command line, on output streams of any encoding."""
        tolerate_any_encoding()
        return super().main(*args, **settings)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command at the beginning of *args*, with its options and arguments."""
        ctx.meta[_WORDS] = tuple(args)
        name, _, rest = super().resolve_command(ctx, args)
        if name in PRIVATE:
            os.umask(0o077)
        command = name and load_command(name)
        if command:
            _refuse_repeated(ctx, command, rest)
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command; print an error as a message and exit with 2, or 1 for unclear owners."""
        before = os.umask(0o077)  # there is no other way to read it
        os.umask(before)
        try:
            return super().invoke(ctx)
        except AutograderError as error:
            print_remarks([str(error)])
            raise typer.Exit(1 if isinstance(error, UnclearDownloadError) else 2) from None
        except Exception as error:
            message = _explained(ctx, error)
            if not message:  # a bug, so keep the traceback
                raise
            print_remarks([message])
            raise typer.Exit(2) from None
        finally:
            os.umask(before)


def _refuse_repeated(ctx: Any, command: Any, words: list[str]) -> None:
    """Raise ``UsageError`` if *words* have an option twice that takes one value."""
    try:
        own = command.context_class(command, parent=ctx)
        _, _, order = command.make_parser(own).parse_args(list(words))
    except Exception:  # noqa: BLE001  # wrong options, which the command reports itself
        return
    for option in order:
        many = option.param_type_name == "option" and (option.multiple or option.count)
        if option.param_type_name == "option" and not many and order.count(option) > 1:
            name = max(option.opts, key=len)
            times = f"{order.count(option)} times"
            msg = f"{name} is given {times}, and only one would count. Keep one of them."
            raise UsageError(msg)


def learners_overview() -> str:
    """Return a line for each command of learners, which fits into 80 columns and 24 rows."""
    lines = ["Usage: autograder COMMAND", ""]
    for name, summary in SUMMARIES["Learners"].items():
        lines.append(f"  {name:10}{re.split('[:;]', summary)[0].rstrip('.')}.")
    more = ["", "autograder COMMAND --help: the arguments and options of a command"]
    return "\n".join([*lines, *more, "autograder --help: also the commands of instructors"])


def load_command(name: str) -> Any:
    """Import the command called *name*."""
    module = next(module for module, names in MODULES.items() if name in names)
    return get_group(import_module(f"autograder.cli.{module}").app).commands[name]


def _explained(ctx: Any, error: Exception) -> str:
    """Return what to do if a library or this machine, and not the kit, caused *error*."""
    library = ((isinstance(error, ModuleNotFoundError) and error.name) or "").partition(".")[0]
    if library in EXTRAS:
        install = f"pip install 'attention-course-kit[{EXTRAS[library]}]'"
        return f"`autograder {_command(ctx)}` needs {library}: {install}"
    if found := library_error(error):
        return str(found)
    if isinstance(error, OSError) and error.errno in MACHINE:
        return (
            f"{error.filename or 'A file'} can't be read or written ({error.strerror}). "
            f"`autograder {_command(ctx)}` stopped there. Free space, or use another folder; "
            "if another program holds the file, run the command again."
        )
    return ""


def _command(ctx: Any) -> str:
    name, *options = ctx.meta[_WORDS]
    return f"{name} --gradebook" if "--gradebook" in options else str(name)
