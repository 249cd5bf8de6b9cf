"""Writes the submissions of the class: the example class's modules, and answered labs."""

import json
import tomllib
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page

STAGE = "04_self_attention"
STAMP = "2026-11-20 21:14:03 UTC\n"
FROZEN = "A registered matrix moves along with `.to(device)`; a plain tensor is left behind."
STARTING = "Without a negative number every score grows with the *size* of a key, for every query."

# This id is allowed: file systems accept it, and `autograder` does not change it.
MALLORY = "mallory' onerror='alert(1)' &lt;script&gt;alert(2)&lt;"
ELSEWHERE = "http://elsewhere.invalid"  # reading a page must send no request


class Expected(NamedTuple):
    """The texts that pages must show about a wrong submission, by its record and the course."""

    score: str
    shown: str  # the score as formgrader rounds it
    points: str  # of the exercise
    mistake: str
    hint: str


def expected(root: Path, student: str, exercise: str) -> Expected:
    """Return the texts about *exercise* for *student*: the expected result of the example class."""
    path = root / "examples" / "expected" / student / f"{STAGE}.json"
    record = json.loads(path.read_text("utf-8"))
    hints = tomllib.loads((root / "source" / STAGE / "hints.toml").read_text("utf-8"))
    (graded,) = (one for one in record["exercises"] if one["name"] == exercise)
    diagnoses = [check["diagnosis"] for check in graded["checks"] if check["diagnosis"]]
    return Expected(
        score=f"{record['score']:g}",
        shown=f"{record['score']:.2f}",
        points=f"{graded['score']:g}",
        mistake=diagnoses[0]["title"],
        hint=hints[exercise][0],
    )


def submit_class(root: Path, examples: Path) -> None:
    """Fill ``submitted/`` in the course at *root* from the modules of the class in *examples*."""
    right = (examples / "ada" / STAGE / "self_attention.py").read_text("utf-8")
    wrong = (examples / "alan" / STAGE / "self_attention.py").read_text("utf-8")
    lab = json.loads((root / "assignments" / STAGE / "lab.ipynb").read_text("utf-8"))
    answered = _answered(lab, FROZEN, STARTING)
    _submit(root, "ada", {"self_attention.py": right, "lab.ipynb": answered})
    _submit(root, "alan", {"self_attention.py": wrong, "lab.ipynb": answered})
    _submit(root, "emmy", {"self_attention.py": right})
    _submit(root, "grace", {"self_attention.py": right, "lab.ipynb": answered})
    hostile = {"self_attention.py": _hostile_module(root), "lab.ipynb": _hostile(lab)}
    _submit(root, MALLORY, hostile | {f"{_image('name')}.txt": "Notes."})


def trap(where: str) -> str:
    """Return JavaScript that records where it ran."""
    return f"(window.pwned ||= []).push('{where}'), alert('{where}')"


def armed(page: Page) -> list[str]:
    """Name the attributes in *page* that contain a trap, because a trap in text cannot run."""
    return page.evaluate(
        "[...document.querySelectorAll('*')].flatMap(item => [...item.attributes])"
        ".filter(item => item.value.includes('pwned')).map(item => item.name)"
    )


def _submit(root: Path, student: str, files: dict[str, str]) -> None:
    folder = root / "submitted" / student / STAGE
    folder.mkdir(parents=True)
    for name, text in {**files, "timestamp.txt": STAMP}.items():
        (folder / name).write_text(text, "utf-8")


def _answered(lab: dict, frozen: str, starting: str) -> str:
    answers = {"answer_frozen": frozen, "answer_starting_weights": starting}
    cells = [{**cell, "source": answers.get(_name(cell), cell["source"])} for cell in lab["cells"]]
    return json.dumps({**lab, "cells": cells})


def _name(cell: dict) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def _script(where: str) -> str:
    return f"<script>{trap(where)}</script>"


def _image(where: str) -> str:
    return f'<img src="x" onerror="{trap(where)}">'


def _hostile(lab: dict) -> str:
    """Return a lab with a trap in each text, output, metadata and attachment."""
    frozen = f"""
window.pwned says hello. {_script("answer")} {_image("answer")}

[a link](javascript:{trap("link").replace(" ", "")}) <javascript:{trap("autolink")}>
[by reference][ref] ![a pixel]({ELSEWHERE}/answer.png)
&#60;script&#62;{trap("entity")}&#60;/script&#62;

[ref]: javascript:{trap("reference").replace(" ", "")}

`{_script("code span")}` $\\href{{javascript:{trap("formula")}}}{{x}} {_script("formula")}$

```html
</code></pre>{_script("fence")}
```
"""
    starting = f'</div></div><style>body {{display: none}}</style><svg onload="{trap("svg")}"/>'
    notebook = json.loads(_answered(lab, frozen, starting))
    html = {"text/html": _script("output") + _image("output")}
    script = {"application/javascript": trap("javascript output")}
    drawing = {
        "image/svg+xml": f'<svg xmlns="http://www.w3.org/2000/svg">{_script("drawing")}</svg>'
    }
    outputs = [
        {"data": data, "metadata": {}, "output_type": "display_data"}
        for data in (html, script, drawing)
    ]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs
    more = {
        "raw": {"metadata": {"format": "text/html"}, "source": _script("raw") + _image("raw")},
        "markdown": {
            "attachments": {f'"{_image("attachment")}': {"image/svg+xml": _script("attached")}},
            "metadata": {"nbgrader": {"grade_id": f'"><{_script("grade id")}', "solution": True}},
            "source": f"{_script('own cell')}{_image('own cell')}",
        },
        "code": {
            "execution_count": None,
            "metadata": {},
            "outputs": outputs,
            "source": f"</pre></div>{_script('code cell')}",
        },
    }
    notebook["cells"] += [
        {"cell_type": kind, "id": f"more-{kind}", **cell} for kind, cell in more.items()
    ]
    notebook["metadata"]["title"] = f"</title>{_script('title')}"
    notebook["metadata"]["kernelspec"]["display_name"] = _script("kernel")
    return json.dumps(notebook)


def _hostile_module(root: Path) -> str:
    """Return a module that raises HTML, and writes into every folder of the course that it can."""
    return f'''
"""</code></pre>{_script("docstring")}"""
import contextlib
import pathlib

with contextlib.suppress(OSError):
    pathlib.Path({str(root / "owned")!r}).touch()


class SelfAttentionV1:
    def __init__(self, d_in, d_out):
        raise ValueError({_script("message") + _image("message")!r})
'''
