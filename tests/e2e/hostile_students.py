"""Provides submissions that attack nbgrader or the grader, with honest ones among them."""

import copy
import json
import zipfile
from pathlib import Path
from typing import Any

from tests.kit.factories import SOLUTION

STAGE = "01_tiny"
SECRET = "known to no student of this class"  # noqa: S105  # of a course that is made for a test
CANARY = "CANARY"
SCRIPT = f"<script>alert('{CANARY}')</script>"
IMAGE = f"<img src=x onerror=alert('{CANARY}')>"
WRONG = "def double(x):\n    return x.cos()\n"
NEVER = "\n\ndef double(x):\n    raise RuntimeError(seen)\n"

EARNED = {
    "ada": (5.0, 5.0),
    "zoe": (5.0, 5.0),
    "warns": (5.0, 5.0),
    "zip": (5.0, 5.0),
    "bea": (2.5, 5.0),
}

WRITES = """
import contextlib
import pathlib
import sqlite3

PLACES = [
    "gradebook.db", "../gradebook.db", "../../gradebook.db", "../../../gradebook.db",
    "../../../../gradebook.db", "{root}/gradebook.db", "/gradebook.db",
]
for place in PLACES:
    with contextlib.suppress(BaseException):
        book = sqlite3.connect(place)
        book.execute("update grade set manual_score = 99")
        book.execute("update grade_cells set max_score = 0")
        book.commit()
    with contextlib.suppress(BaseException):
        pathlib.Path(place).write_bytes(b"")
with contextlib.suppress(BaseException):
    pathlib.Path("{root}/autograded/ada/01_tiny/lab.ipynb").write_text("{{}}")
"""
READS = """
import contextlib
import glob

seen = ""
for place in ["{root}/tests/hidden/**/*", "{root}/solutions/**/*", "{root}/gradebook.db",
              "{root}/.course-secret", "{root}/submitted/ada/**/*", "../../**/*", "../../../**/*"]:
    for path in glob.glob(place, recursive=True, include_hidden=True)[:50]:
        with contextlib.suppress(BaseException):
            seen += open(path, errors="replace").read()
"""
PATCHES = """
import sys
import types

import torch

always = lambda *arguments, **options: True
torch.allclose = torch.equal = torch.isclose = always
torch.testing.assert_close = lambda *arguments, **options: None
for name in ("allclose", "equal", "__eq__", "isclose"):
    setattr(torch.Tensor, name, always)
fake = types.ModuleType("pytest")
fake.approx = fake.raises = fake.mark = fake.fixture = always
for name in ("pytest", "_pytest", "_pytest.assertion", "autograder.suite.compare"):
    sys.modules[name] = fake
sys.exit = sys.excepthook = always


class AlwaysEqual(torch.Tensor):
    def __eq__(self, other):
        return True


def double(x):
    return (3 * x).as_subclass(AlwaysEqual)
"""
WARNS = f"""
import logging
import sys
import warnings

warnings.warn("NNPACK could not be initialised")
logging.warning("and neither could I")
print("to stderr", file=sys.stderr)
{SOLUTION}

_double = double


def double(x):
    warnings.warn("again")
    print("0.0")
    print("to stderr", file=sys.stderr)
    return _double(x)
"""
SAYS_HTML = f'''
"""{SCRIPT}"""


def double(x):
    raise RuntimeError("{SCRIPT}{IMAGE}</pre></div><a href='javascript:alert(1)'>x</a>")


class Scale:
    def __init__(self, d):
        raise type("{IMAGE}", (Exception,), {{}})("</textarea>{SCRIPT}")
'''
IPYTHON = (
    "shell = get_ipython()\nshell.showtraceback = lambda *a, **k: None",
    "import IPython.core.interactiveshell as i\ni.InteractiveShell.showtraceback = lambda *a: None",
    "shell.events.register('pre_run_cell', lambda *a: None)\nshell.run_cell = print",
    "%%javascript\nalert(1)",
    f"from IPython.display import HTML, display\ndisplay(HTML({SCRIPT!r}))",
    "def double(x):\n    raise KeyboardInterrupt",
)
ANSWER = "\n\n".join((
    SCRIPT, IMAGE, "[x](javascript:alert(1))", "![x](https://e.example/p.png)", "$\\href{a}{b}$",
    "![a](attachment:a.svg)", (
        "![b](attachment:gone.png)"
    ), "<https://e.example>", "https://e.example",
    "```\n</pre>" + SCRIPT, "# why", "why\n---",
))  # fmt: skip
ATTACHED = {
    "a.svg": {"image/svg+xml": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"},
    IMAGE: {"text/html": "eA=="},
}
SAVED = (
    {"output_type": "execute_result", "execution_count": 1, "metadata": {},
     "data": {"text/plain": "5.0", "text/html": SCRIPT, "application/javascript": "alert(1)"}},
    {"output_type": "stream", "name": "stdout", "text": SCRIPT},
    {"output_type": "error", "ename": SCRIPT, "evalue": SCRIPT, "traceback": [SCRIPT]},
)  # fmt: skip


def modules(root: Path) -> dict[str, str]:
    """Return the module of each student; some contain the path *root*."""
    return {
        "ada": SOLUTION,
        "hal": WRONG,  # honest, and wrong
        "zoe": SOLUTION,
        "exits": "import os\nos._exit(0)\n",
        "exits_politely": "raise SystemExit(0)\n",
        "kills": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.abort()\n",
        "patches": PATCHES,
        "prints": 'print(5.0)\nprint("10 passed")\n'
        + WRONG.replace("return", "print(5.0); return"),
        "reads": READS.format(root=root) + NEVER,
        "returns_minus_one": "def double(x):\n    return -1.0\n",
        "returns_nan": "def double(x):\n    return float('nan')\n",
        "returns_nan_tensors": "def double(x):\n    return x * float('nan')\n",
        "returns_seven": "def double(x):\n    return 7.0\n",
        "saves_outputs": WRONG,
        "says_html": SAYS_HTML,
        "warns": WARNS,
        "writes": WRITES.format(root=root) + WRONG,
    }


def labs(root: Path, released: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Labs by student, made from the one that was *released*."""
    written = {**released, "cells": [*map(_answered, copy.deepcopy(released["cells"]))]}
    hostile = {
        **released,
        "cells": [*_with_attacks(released["cells"]), _raw(SCRIPT), _raw(IMAGE), _forged(99)],
        "metadata": {"title": SCRIPT, "kernelspec": {"name": SCRIPT, "display_name": SCRIPT}},
    }
    shell = [*IPYTHON, WRITES.format(root=root), READS.format(root=root)]
    return {
        "ada": written,
        "zoe": written,
        "saves_outputs": hostile,
        "says_html": hostile,
        "uses_ipython": {**released, "cells": [*released["cells"], *map(_code, shell)]},
    }


def submit_all(root: Path) -> None:
    """Write all submissions into nbgrader's folder, one of them as an archive sent by mail."""
    released = json.loads((root / "assignments" / STAGE / "lab.ipynb").read_text("utf-8"))
    for student, module in modules(root).items():
        _place(root, student, "tiny.py", module)
    for student, lab in labs(root, released).items():
        _place(root, student, "lab.ipynb", json.dumps(lab))
    for name in (f"{IMAGE}.txt", f"{SCRIPT.replace('/', '')}.py", "a\nb\x1b[2J.txt"):
        _place(root, "says_html", name, SCRIPT)
    cells = [_code(WRONG), _code("raise RuntimeError('<b>')")]
    _place(root, "names_html", f"{IMAGE}.ipynb", json.dumps({**released, "cells": cells}))
    _link_all(root)
    (root / "mailed").mkdir()
    with zipfile.ZipFile(root / "mailed" / "zip.zip", "w") as packed:
        packed.writestr(f"{STAGE}/tiny.py", SOLUTION)
        packed.writestr(f"{STAGE}/timestamp.txt", "1999-01-01 00:00:00 UTC")


def _link_all(root: Path) -> None:
    """Submit links to files that only the instructor may read."""
    folder = _place(root, "links", "notes.txt", "")
    (folder / "tiny.py").symlink_to(root / "solutions" / STAGE / "tiny.py")
    (folder / "lab.ipynb").symlink_to(root / "source" / STAGE / "lab.ipynb")
    (folder / "timestamp.txt").symlink_to(root / ".course-secret")
    (folder / "data").symlink_to(root / "tests" / "hidden")
    (root / "submitted" / "links_a_folder").mkdir()
    (root / "submitted" / "links_a_folder" / STAGE).symlink_to(root / "solutions" / STAGE)


def _place(root: Path, student: str, name: str, text: str) -> Path:
    folder = root / "submitted" / student / STAGE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return folder


def _answered(cell: dict[str, Any]) -> dict[str, Any]:
    name = cell["metadata"].get("nbgrader", {}).get("grade_id")
    return {**cell, "source": "Since $x + x = 2x$."} if name == "why" else cell


def _with_attacks(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fill every cell with active content and forged points."""
    made = copy.deepcopy(cells)
    for cell in made:
        if cell["cell_type"] == "code":
            cell["outputs"] = [*SAVED]
            cell["source"] = f"5.0  # {SCRIPT}"
        else:
            cell["source"] = ANSWER
            cell["attachments"] = ATTACHED
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["points"] = 99
    return made


def _raw(text: str) -> dict[str, Any]:
    return {"cell_type": "raw", "metadata": {"format": "text/html"}, "source": text}


def _code(source: str) -> dict[str, Any]:
    facts = {"execution_count": None, "metadata": {}, "outputs": []}
    return {"cell_type": "code", "source": source, **facts}


def _forged(points: float) -> dict[str, Any]:
    """Return a check that the student added, which would give *points*."""
    facts = {"grade": True, "locked": True, "solution": False, "schema_version": 3}
    cell = {**_code(str(points)), "outputs": [*SAVED]}
    return {**cell, "metadata": {"nbgrader": {**facts, "grade_id": "bonus", "points": points}}}
