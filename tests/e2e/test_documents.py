"""Tests that the documents of the course earn full marks on the exercises that they define.

Each test runs on five notebooks of the kit, which define the same exercises in the same way as the
documents, and on the documents themselves if they are available.
"""

import ast
import re
from pathlib import Path

import nbformat.v4
import pytest

from autograder import course as courses
from autograder.grading.grade import grade
from autograder.results import Status
from autograder.sandbox.isolation import detect_capabilities
from autograder.submission import collect

ROOT = Path(__file__).parents[2]
SEEDS = ROOT.parent / "shared" / "seeds"
DOCUMENTS = ("000", "001", "002", "003", "004")

# The exercises of each stage that each document defines. A new stage of the course is one more row
# if a document defines something of it. 003 and 004 define no exercise of some stages, so all of
# these are missing.
DEFINES = {
    "01_dot_product_attention": {
        "002": {"softmax_naive"},
        "003": {"softmax_naive"},
    },
    "04_self_attention": {
        "000": {"SelfAttentionV1"},
        "002": {"SelfAttention_v1", "SelfAttention_v2"},
        "003": set(),
    },
    "05_masked_self_attention": {
        "001": {"SelfAttention", "MaskedSelfAttention"},
        "004": set(),
    },
    "08_cross_attention": {
        "001": {"Attention"},
    },
    "09_multi_head_attention": {
        "001": {"Attention", "MultiHeadAttention"},
    },
}
COURSE = courses.load(ROOT)

OPENING = """
Attention, on three short vectors

This notebook was written for a test. It has text, code and output in the order of the documents.

In [1]:
import torch
import torch.nn as nn
import torch.nn.functional as F

Each row is the vector of one word.

In [2]:
words = torch.tensor([[0.2, 0.7], [0.9, 0.1], [0.4, 0.4]])

words.shape

torch.Size([3, 2])

We compare each word with each word, and average.

In [3]:
scores = words @ words.T

for row in scores:
    weights = F.softmax(row, dim=0)

    print(weights @ words)

tensor([0.4684, 0.4282])
tensor([0.5741, 0.3414])
tensor([0.5067, 0.3959])
"""
DEFINITION = """
The next part has a name, so that we can use it again.

In [{number}]:
{code}

In [{after}]:
callable({name})

True
"""

PROMPT = re.compile(r"^In \[(?:\d+| |None)\]:$", re.MULTILINE)
PARAGRAPHS = re.compile(r"(\n[ \t]*\n)")
# The output of a cell begins with a value, or with a label that was printed before the value.
OUTPUT = re.compile(
    r"(?:[\w. ()]+: ?)?"
    r"(?:tensor\(|torch\.Size\(|Parameter containing:|True$|False$|-?\d+\.?\d*$|[A-Z]\w+:$)",
    re.MULTILINE,
)


def own_text(document):
    """Return the text of the kit's notebook for *document*, which defines the same exercises."""
    code = {}
    for stage, defined in DEFINES.items():
        path = COURSE.stage(stage).hidden / "variants" / "documents_own.py"
        text = path.read_text("utf-8")
        for node in ast.parse(text).body:
            if getattr(node, "name", "") in defined.get(document, ()):
                code.setdefault(node.name, ast.get_source_segment(text, node))
    cells = [
        DEFINITION.format(number=number, after=number + 1, code=text, name=name)
        for number, (name, text) in zip(range(4, 99, 2), code.items(), strict=False)
    ]
    return OPENING + "".join(cells)


def seed_text(document):
    """Return the text of *document*; one of the five is not UTF-8 throughout."""
    [path] = SEEDS.glob(f"{document}_*.txt")
    return path.read_text("utf-8", errors="replace")


TEXT_OF = {"own": own_text, "seed": seed_text}
HAS_SEEDS = any(SEEDS.glob("00?_*.txt"))
needs_full = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)
needs_seeds = pytest.mark.skipif(not HAS_SEEDS, reason=f"The documents are not in {SEEDS}.")
ORIGINS = [
    pytest.param("own", id="own"),
    pytest.param("seed", id="seed", marks=needs_seeds),
]
GRADED = [(document, stage) for stage in COURSE.file.stages for document in DEFINES.get(stage, ())]
CASES = [pytest.param(*case, id="-".join(case)) for case in GRADED]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Grade each notebook once in every stage of which its document defines an exercise."""
    keys, submissions = [], []
    for origin in ["own", "seed"] if HAS_SEEDS else ["own"]:
        folder = tmp_path_factory.mktemp(origin)
        for document, stage in GRADED:
            path = folder / f"{document}.ipynb"
            nbformat.write(notebook_of(TEXT_OF[origin](document)), path)
            submissions += collect(path, COURSE.stages, COURSE.stage(stage))
            keys.append((origin, document, stage))
    return dict(zip(keys, grade(COURSE, submissions, jobs=2).submissions, strict=True))


@pytest.fixture
def result(graded, origin, document, stage):
    """The result of one notebook in one stage."""
    return graded[origin, document, stage]


@needs_full
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(("document", "stage"), CASES)
def test_a_document_has_full_marks_on_what_it_defines(result, document, stage):
    """A document's code loses no points, so the suite asks for no more than the document shows."""
    lost = {
        f"{exercise.name}, {check.name}": check.message
        for exercise in result.exercises
        if exercise.name in DEFINES[stage][document]
        for check in exercise.checks
        if check.points < check.max_points
    }

    assert result.status is Status.GRADED, result.message
    assert lost == {}


@needs_full
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(("document", "stage"), CASES)
def test_what_a_document_leaves_out_is_missing(result, document, stage):
    """An exercise that a document leaves out earns nothing and is reported as not defined."""
    left_out = [
        exercise for exercise in result.exercises if exercise.name not in DEFINES[stage][document]
    ]
    seen = {(check.status, check.message) for exercise in left_out for check in exercise.checks}

    assert {exercise.score for exercise in left_out} <= {0.0}
    assert {status for status, _ in seen} <= {Status.MISSING}
    assert all(message.endswith("is not defined in your file.") for _, message in seen)


@needs_full
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(("document", "stage"), CASES)
def test_every_cell_of_a_document_runs(result):
    """No cell fails, so exactly its code was found in the text."""
    assert [notice for notice in result.notices if notice.startswith("cell ")] == []


@pytest.mark.parametrize("stage", COURSE.file.stages)
def test_the_table_names_exercises(stage):
    """Everything that the table lists for a document is an exercise of that stage."""
    exercises = {exercise.name for exercise in COURSE.stage(stage).exercises}

    assert set().union(*DEFINES.get(stage, {}).values()) <= exercises


@pytest.mark.parametrize("document", DOCUMENTS)
def test_our_own_notebook_defines_what_the_table_says(document):
    """The notebook's cells define the document's exercises, and no other exercise of the course."""
    exercises = {exercise.name for stage in COURSE.stages for exercise in stage.exercises}
    cells = map(ast.parse, code_cells(own_text(document)))
    names = {getattr(node, "name", "") for cell in cells for node in cell.body}
    table = set().union(*(defined.get(document, set()) for defined in DEFINES.values()))

    assert names & exercises == table


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_cell_is_found(origin, document):
    """Each prompt begins a cell that has code but not its output."""
    text = TEXT_OF[origin](document)

    cells = code_cells(text)

    assert len(cells) == text.count("\nIn [") > 0
    assert all(ast.parse(cell).body for cell in cells)
    assert not any(line.startswith("tensor(") for cell in cells for line in cell.splitlines())


def notebook_of(text):
    """Build a notebook of the code cells in *text*, without text and output."""
    return nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, code_cells(text))))


def code_cells(text):
    """Return the code of each cell without the output and the text that follow it."""
    return [code_of(block) for block in PROMPT.split(text)[1:]]


def code_of(block):
    """Return the longest beginning of *block* that is Python and holds no output.

    Empty lines separate code, output and text, but code has empty lines too. The output
    ``tensor([0.5])`` is valid Python, so parsing alone would take it for code.
    """
    parts = PARAGRAPHS.split(block.strip("\n"))
    ends = range(1, first_output(parts) + 1, 2)
    return next((code for end in reversed(ends) if is_python(code := "".join(parts[:end]))), "")


def first_output(parts):
    """Return the index of the first paragraph of output; paragraphs have even indices."""
    output = (index for index in range(0, len(parts), 2) if OUTPUT.match(parts[index]))
    return next(output, len(parts))


def is_python(code):
    """Return whether *code* parses."""
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True
