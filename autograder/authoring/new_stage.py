"""Writes the skeleton of a stage: a small, complete stage that `release` and `verify` accept.

An author can replace it piece by piece and keep the course valid.
"""

import json
import keyword
import re
import sys
from pathlib import Path

from autograder.authoring.new_course import with_stages
from autograder.course import COURSE_FILE, HINTS_FILE, LAB, STAGE_FILE, Course
from autograder.diagnosis.own_sentences import FILE as OWN_SENTENCES
from autograder.errors import CourseError, UsageError

_NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")

STAGE = """\
format_version = 1
title = "TITLE"
goal = "Say in one sentence what students can do after this stage."
module = "MODULE"
prerequisites = []

[[exercise]]
name = "centered"
minutes = 5
"""
HINTS_TOML = """\
centered = [
  "What is the mean of one token's features, and how many such means are there?",
  "Keep the axis that you average over, so that the means can be subtracted from their rows.",
  "Subtract x.mean(dim=-1, keepdim=True).",
]
"""
SOLUTION = '''\
"""TITLE: say in one sentence what students build here.

Shapes in this stage: T tokens with d features each; x is (T, d).
"""

from torch import Tensor


def centered(x: Tensor) -> Tensor:
    """Subtract from each token the mean of its own features: (T, d) -> (T, d)."""
    ### BEGIN SOLUTION
    means = x.mean(dim=-1, keepdim=True)  # (T, 1)
    return x - means
    ### END SOLUTION
'''
SUITE = '''\
"""Hidden suite of stage NUMBER: TITLE."""

# Four common errors in first stages, each with the line to write instead:
# 1. An exercise has no grade cell in lab.ipynb. The id of the cell is the exercise, its only line:
#        lab.check("centered")
# 2. Entries of a dictionary are compared one by one. Compare the whole dictionary:
#        agrees(student.call("f", x), reference.call("f", x), "The result")
# 3. Entries of a tuple are unpacked before they are compared. The line of 2 compares tuples, too.
# 4. Gradients of a tuple or dictionary lack the entries that count. Name them in the cotangent:
#        student.gradients("f", x, cotangent={0: probe.normal(5, 3)})

from autograder.suite.checks import check
from autograder.suite.compare import agrees


@check("centered", points=10, layer="probe")
def test_centers_each_token(student, reference, probe):
    """Each token loses the mean of its own features."""
    x = probe.normal(5, 3)  # two different sizes, so that a swapped axis is detected

    agrees(student.call("centered", x), reference.call("centered", x), "The centered tokens")
'''
HOLLOW = '''\
"""Zeros of the right shapes."""

import torch


def centered(x):
    return torch.zeros_like(x)
'''
VARIANT = '''\
"""A correct solution in a different idiom: one token at a time."""

import torch


def centered(x):
    return torch.stack([token - token.sum() / len(token) for token in x])
'''
MISCONCEPTIONS = '''\
"""Wrong answers that the suite of stage NUMBER must detect."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="subtracts_one_mean_from_all",
        exercise="centered",
        swaps=(("x.mean(dim=-1, keepdim=True)", "x.mean()"),),
        explanation="One mean of all tokens is subtracted from each of them.",
        question="How many means does a text of T tokens have?",
    ),
)
'''
SENTENCES = """\
# Your own sentences about mistakes of this stage, for example in another language.
# `autograder diagnose` shows the name of a mistake. A sentence that you leave out stays.

[subtracts_one_mean_from_all]
question = "How many means does a text of T tokens have, one for each token or one for all?"
"""
READY = '''\
"""Exercises by ready-made code, if this stage teaches what such code does; none yet."""
'''
EQUIVALENTS = """\
# Small changes to the solution that `autograder mutate` finds and that are right, with the reason.

format_version = 1
equivalent = []
"""
RULES = """\
# The rules that checks grade in addition to the right result; docs/author.md describes the keys.

format_version = 1
"""
DOCUMENTED = """\
# The values that the documents of the course print; docs/author.md describes the keys.

format_version = 1
"""
LAB_SETUP = """\
import torch

from autograder.student.lab import Lab

lab = Lab("STAGE")
MODULE = lab.module()"""
LAB_EXAMPLE = """\
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 6.0, 8.0]])
with lab.needs("centered"):
    print(MODULE.centered(x))"""


def new_stage(course: Course, name: str) -> tuple[Path, ...]:
    """Write the skeleton of the stage *name*, and add it to the end of ``course.toml``.

    Return the written paths. Raises ``UsageError`` for a name that can't be used.
    """
    module = name.partition("_")[2]
    if problem := _problem(course, name, module):
        raise UsageError(problem)
    listing = course.root / COURSE_FILE
    text = listing.read_text("utf-8")
    array = text.partition("stages")[2].partition("]")[0]
    if "#" in array:
        msg = (
            f"There is a comment among the stages of {listing}: list {name!r} there yourself first."
        )
        raise CourseError(msg)
    listed = with_stages(text, [*course.file.stages, name])
    written = []
    for path, skeleton in _skeleton(name, module).items():
        target = course.root / path
        if target.exists():  # a file that all stages share
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(skeleton, "utf-8")
        written.append(target)
    listing.write_text(listed, "utf-8")
    return (*written, listing)


def _problem(course: Course, name: str, module: str) -> str:
    """Return the reason why *name* can't be the name of a stage; empty if it can."""
    if not _NAME.fullmatch(name):
        return (
            f"{name!r}: the name of a stage is a number and the name of its module, such as "
            "20_your_stage."
        )
    if keyword.iskeyword(module) or module in sys.stdlib_module_names | {"torch", "numpy"}:
        return f"A module {module!r} would hide Python's or torch's own; choose another name."
    number = name.partition("_")[0]
    for stage in course.every_stage:
        if stage.module == module or stage.name.partition("_")[0] == number:
            return f"{name!r} and the stage {stage.name!r} would share a number or a module."
    for parent in ("solutions", "source", "tests/hidden"):
        if (folder := course.root / parent / name).exists():
            return f"{folder} exists already; delete it or choose another name."
    return ""


def _skeleton(name: str, module: str) -> dict[str, str]:
    """Return the text of each file of the stage by its path in the course."""
    hidden = f"tests/hidden/{name}"
    texts = {
        f"solutions/{name}/{module}.py": SOLUTION,
        f"source/{name}/{STAGE_FILE}": STAGE,
        f"source/{name}/{HINTS_FILE}": HINTS_TOML,
        f"source/{name}/{LAB}": _lab(),
        f"{hidden}/test_{module}.py": SUITE,
        f"{hidden}/hollow.py": HOLLOW,
        f"{hidden}/variants/one_by_one.py": VARIANT,
        f"{hidden}/misconceptions.py": MISCONCEPTIONS,
        f"{hidden}/{OWN_SENTENCES}": SENTENCES,
        f"{hidden}/ready.py": READY,
        f"{hidden}/equivalents.toml": EQUIVALENTS,
        "tests/hidden/rules.toml": RULES,
        "tests/hidden/documented.toml": DOCUMENTED,
    }
    words = {
        "STAGE": name,
        "MODULE": module,
        "NUMBER": name[:2],
        "TITLE": module.replace("_", " ").capitalize(),
    }
    fill = re.compile("|".join(rf"(?<![A-Z]){word}\b" for word in words))
    return {path: fill.sub(lambda word: words[word[0]], text) for path, text in texts.items()}


def _lab() -> str:
    """Return the lab: an example, a grade cell, and a question with its mark scheme."""
    scheme = "### BEGIN MARK SCHEME\n1 point: say what earns it.\n### END MARK SCHEME"
    cells = (
        _cell("markdown", "# Stage NUMBER: TITLE\n\nSay what this stage is about."),
        _cell("code", LAB_SETUP, grade_id="setup", locked=True),
        _cell("code", LAB_EXAMPLE),
        _cell("code", 'lab.check("centered")', grade_id="centered", grade=True, locked=True),
        _cell("markdown", f"Ask a question here.\n\n{scheme}", grade_id="question", locked=True),
        _cell(
            "markdown",
            "*Write your answer here.*",
            grade_id="answer",
            grade=True,
            solution=True,
            points=1,
        ),
    )
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _cell(kind: str, source: str, **role: object) -> dict[str, object]:
    """Return a cell of a notebook; *role* is its nbgrader metadata."""
    runs: dict[str, object] = {"execution_count": None, "outputs": []}
    code = runs if kind == "code" else {}
    metadata = {"nbgrader": role} if role else {}
    return {"cell_type": kind, "id": "x", "metadata": metadata, "source": source, **code}
