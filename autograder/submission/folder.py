"""A student's folder, walked without following a link."""

import os
from collections import deque
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from autograder.submission.files import (
    HandInFile,
    HandInFiles,
    is_hidden_or_generated,
    not_regular,
    read_regular,
)
from autograder.submission.names import visible

MAX_ENTRIES = 2000  # honest submissions have some ten; more is a virtual environment or an attack
MAX_SCANNED = 50_000  # of one folder, so that a module among many images is found all the same
MAX_DEPTH = 12  # <student>/<stage>/ and whatever a zip tool wraps around it
MAX_FAULTS = 5  # sentences; what they are about is listed as ignored in any case


def open_folder(root: Path) -> HandInFiles:
    """List the files below *root*, nearest to the top first."""
    walk = _Walk(root)
    while walk.waiting and not walk.is_full:
        walk.enter(walk.waiting.popleft())
    return HandInFiles(files=tuple(walk.files), faults=tuple(walk.faults[:MAX_FAULTS]))


class _Walk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.waiting = deque([PurePosixPath()])
        self.files: list[HandInFile] = []
        self.faults: list[str] = []
        self.room = MAX_ENTRIES
        self.is_full = False

    def enter(self, folder: PurePosixPath) -> None:
        entries = self._entries(self.root / folder)
        for entry in entries[: self.room]:
            self._place(entry, folder / entry.name)
        if len(entries) > self.room:
            self.is_full = True
            self.faults.insert(0, _too_many((self.root / folder).name))
        self.room -= len(entries)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                scanned = list(islice(found, MAX_SCANNED))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            label = visible(folder.name)
            msg = f"The folder {label} could not be read ({reason}). Check its permissions."
            self.faults.append(msg)
            return []
        kept = [entry for entry in scanned if not is_hidden_or_generated(PurePosixPath(entry.name))]
        return sorted(kept, key=_code_first)

    def _place(self, entry: os.DirEntry[str], path: PurePosixPath) -> None:
        label = visible(entry.name)
        if not entry.is_dir(follow_symlinks=False):
            if not entry.is_file(follow_symlinks=False):
                self.faults.append(not_regular(label))
            read = partial(read_regular, Path(entry.path))
            self.files.append(HandInFile(path=path, label=label, read=read))
        elif len(path.parts) <= MAX_DEPTH:
            self.waiting.append(path)
        else:
            self.faults.append(f"The folder {label} lies too deep and was not opened. Flatten it.")


def _code_first(entry: os.DirEntry[str]) -> tuple[bool, str]:
    return not entry.name.lower().endswith((".py", ".ipynb")), entry.name


def _too_many(name: str) -> str:
    return (
        f"There are more than {MAX_ENTRIES} files up to the folder {visible(name)}; the rest was "
        "not looked at. Hand in code only, without a virtual environment or data."
    )
