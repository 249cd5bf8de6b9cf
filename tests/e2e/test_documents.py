"""The documents that the course is made from earn full marks on what they define, as they stand."""

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
TEXTS = {path.name[:3]: path for path in sorted(SEEDS.glob("00?_*.txt"))}

# What each document defines of a stage's exercises. A new stage of the course is one more row where
# a document defines something of it; 003 and 004 show that the rest is missing, and costs the rest.
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
CASES = [
    pytest.param(document, stage, id=f"{document}-{stage}")
    for stage in COURSE.file.stages
    for document in DEFINES.get(stage, ())
]

PROMPT = re.compile(r"^In \[(?:\d+| |None)\]:$", re.MULTILINE)
PARAGRAPHS = re.compile(r"(\n[ \t]*\n)")
# What a cell printed begins with a value, or with the words that were printed before it.
OUTPUT = re.compile(
    r"(?:[\w. ()]+: ?)?"
    r"(?:tensor\(|torch\.Size\(|Parameter containing:|True$|False$|-?\d+\.?\d*$|[A-Z]\w+:$)",
    re.MULTILINE,
)


needs_documents = pytest.mark.skipif(not TEXTS, reason=f"The documents are not in {SEEDS}.")
needs_full = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Grade every document in every stage that it has something of, as notebooks; once."""
    folder = tmp_path_factory.mktemp("documents")
    class_ = []
    for document, stage in (case.values for case in CASES):
        path = folder / f"{document}.ipynb"
        nbformat.write(notebook_of(read(TEXTS[document])), path)
        class_ += collect(path, COURSE.stages, COURSE.stage(stage))
    results = grade(COURSE, class_, jobs=2).submissions
    return {(result.student, result.stage): result for result in results}


@pytest.fixture
def result(graded, document, stage):
    """The record of one document in one stage."""
    return graded[document, stage]


@needs_documents
@needs_full
@pytest.mark.parametrize(("document", "stage"), CASES)
def test_a_document_has_full_marks_on_what_it_defines(result, document, stage):
    """Not a point is lost: a suite that asks for more than the document shows is too strict."""
    lost = {
        f"{exercise.name}, {check.name}": check.message
        for exercise in result.exercises
        if exercise.name in DEFINES[stage][document]
        for check in exercise.checks
        if check.points < check.max_points
    }

    assert result.status is Status.GRADED, result.message
    assert lost == {}


@needs_documents
@needs_full
@pytest.mark.parametrize(("document", "stage"), CASES)
def test_what_a_document_leaves_out_is_missing(result, document, stage):
    """Every other exercise earns nothing, and one sentence says that it is not there."""
    left_out = [
        exercise for exercise in result.exercises if exercise.name not in DEFINES[stage][document]
    ]
    said = {(check.status, check.message) for exercise in left_out for check in exercise.checks}

    assert {exercise.score for exercise in left_out} <= {0.0}
    assert {status for status, _ in said} <= {Status.MISSING}
    assert all(message.endswith("is not defined in your file.") for _, message in said)


@needs_documents
@needs_full
@pytest.mark.parametrize(("document", "stage"), CASES)
def test_every_cell_of_a_document_runs(result):
    """No cell fails: what was cut out of the text is the code, the whole code and nothing else."""
    assert [notice for notice in result.notices if notice.startswith("cell ")] == []


@pytest.mark.parametrize("stage", COURSE.file.stages)
def test_the_table_names_exercises(stage):
    """Whatever a document is said to define is an exercise of that stage."""
    exercises = {exercise.name for exercise in COURSE.stage(stage).exercises}

    assert set().union(*DEFINES.get(stage, {}).values()) <= exercises


@needs_documents
@pytest.mark.parametrize("document", TEXTS)
def test_every_cell_is_found(document):
    """Each prompt begins a cell that has code and keeps nothing of what it printed."""
    text = read(TEXTS[document])

    cells = code_cells(text)

    assert len(cells) == text.count("\nIn [") > 0
    assert all(ast.parse(cell).body for cell in cells)
    assert not any(line.startswith("tensor(") for cell in cells for line in cell.splitlines())


def notebook_of(text):
    """Build a notebook of the code cells in *text*; prose and output are dropped."""
    return nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, code_cells(text))))


def code_cells(text):
    """Return the code of each cell without the output and the prose that follow it."""
    return [code_of(block) for block in PROMPT.split(text)[1:]]


def code_of(block):
    """Return the longest beginning of *block* that is Python and of which nothing was printed.

    Code, output and prose are apart by an empty line, but code has empty lines of its own; and
    ``tensor([0.5])`` is Python, so that parsing alone would take the output for code.
    """
    parts = PARAGRAPHS.split(block.strip("\n"))
    ends = range(1, first_output(parts) + 1, 2)
    return next((code for end in reversed(ends) if is_python(code := "".join(parts[:end]))), "")


def read(path):
    """Read a document; one of the five was saved in an encoding that is not UTF-8 throughout."""
    return path.read_text("utf-8", errors="replace")


def first_output(parts):
    """Return the index of the first paragraph that was printed; paragraphs have even indices."""
    printed = (index for index in range(0, len(parts), 2) if OUTPUT.match(parts[index]))
    return next(printed, len(parts))


def is_python(code):
    """Tell whether *code* parses."""
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True
