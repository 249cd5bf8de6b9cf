"""Tests building labs: the labs that are refused, and the contents that students receive."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring import lab_notebook
from autograder.errors import CourseError

POINTS = {"double": 5.0, "Scale": 5.0}
SCHEME = "### BEGIN MARK SCHEME\nTwo points for both.\n### END MARK SCHEME"
PIXEL = {"dot.png": {"image/png": "iVBORw0KGgo="}}

Cell = dict[str, Any]
Author = Callable[..., bytes]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the lab."""
    return tmp_path / "lab.ipynb"


@pytest.fixture
def author(path: Path) -> Author:
    """Write cells into a lab, and return it as it should be in source."""

    def make(*cells: Cell, points: dict[str, float] = POINTS) -> bytes:
        path.write_text(notebook(*cells), "utf-8")
        return lab_notebook.build_source_lab(path, points)

    return make


def notebook(*cells: Cell, **facts: Any) -> str:
    """Return a notebook of *cells* as JSON."""
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(whole | facts)


def code(source: str, nbgrader: Any = None, **facts: Any) -> Cell:
    """Return a code cell with the metadata *nbgrader*."""
    whole = {} if nbgrader is None else {"nbgrader": nbgrader}
    cell = {"cell_type": "code", "source": source, "metadata": whole}
    return cell | {"outputs": [], "execution_count": None} | facts


def prose(source: str, nbgrader: Any = None, **facts: Any) -> Cell:
    """Return a Markdown cell with the metadata *nbgrader*."""
    whole = {} if nbgrader is None else {"nbgrader": nbgrader}
    return {"cell_type": "markdown", "source": source, "metadata": whole} | facts


def metadata(name: str, *roles: str, **facts: Any) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell with *roles*: grade, solution, locked, task."""
    return {"grade_id": name, "schema_version": 3} | dict.fromkeys(roles, True) | facts


def grade(name: str, source: str = "") -> Cell:
    """Return the grade cell of exercise *name*."""
    return code(source or f'lab.check("{name}")', metadata(name, "grade", "locked", points=1))


def question(source: str = f"Why?\n\n{SCHEME}", **facts: Any) -> Cell:
    """Return a locked question with a mark scheme."""
    return prose(source, metadata("question", "locked"), **facts)


def answer(points: Any = 2) -> Cell:
    """Return a cell for a written answer."""
    return prose("Here.", metadata("answer", "grade", "solution", points=points))


CHECKS = (grade("double"), grade("Scale"))
WHOLE = (code("import tiny"), *CHECKS, question(), answer())


def read(text: bytes) -> dict[str, Any]:
    """Decode a lab."""
    return json.loads(text)


def sources(text: bytes) -> list[str]:
    """Return the source of each cell of a lab."""
    return ["".join(cell["source"]) for cell in read(text)["cells"]]


def test_a_lab_can_be_built_without_questions(author: Author):
    """Question and answers are left out for students and in the gradebook, and other cells stay."""
    lab = author(*WHOLE, code('lab.model_answer("answer")'))
    student = json.loads(lab_notebook.build_student_lab(lab, written=False))
    master = lab_notebook.instructor_notebook(lab, written=False)
    names = [
        [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in built["cells"]]
        for built in (student, master)
    ]

    assert names == [[None, "double", "Scale"]] * 2


def test_points_follow_the_hidden_suite(author: Author):
    """Points in the notebook are replaced; a question that is graded by hand keeps its own."""
    worth = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"].get("points")
        for cell in read(author(*WHOLE, points={"double": 7.5, "Scale": 2.5}))["cells"][1:]
    }

    assert worth == {"double": 7.5, "Scale": 2.5, "question": None, "answer": 2.0}


def test_the_autograder_grades_checks_and_no_written_answers(author: Author):
    """The autograder grades the grade cells, in the order of the lab, and no written answer."""
    assert list(lab_notebook.grade_cell_points(read(author(*WHOLE))).items()) == [
        ("double", 5.0),
        ("Scale", 5.0),
    ]


def test_outputs_and_metadata_of_an_editor_are_removed(author: Author):
    """Nothing that a run or an editor wrote stays in the source lab."""
    dirty = code(
        "2 * x",
        execution_count=3,
        outputs=[{"output_type": "stream", "name": "stdout", "text": "secret"}],
        metadata={"scrolled": True, "nbgrader": {}},
    )
    cell = read(author(dirty, *CHECKS))["cells"][0]

    assert cell == {
        "cell_type": "code",
        "execution_count": None,
        "id": "cell-00",
        "metadata": {},
        "outputs": [],
        "source": ["2 * x"],
    }


def test_the_kernel_is_one_that_every_machine_has(path: Path):
    """A student's machine has no kernel with the name of the author's environment."""
    kernel = {"display_name": "mine", "language": "python", "name": "torch-gpu"}
    path.write_text(notebook(*CHECKS, metadata={"kernelspec": kernel, "widgets": {}}))

    assert read(lab_notebook.build_source_lab(path, POINTS))["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def test_the_nbgrader_metadata_is_complete(author: Author):
    """The metadata has every flag, so that no version adds one later, and no checksum."""
    cells = read(author(code("x", metadata("setup", "locked", checksum="0")), *CHECKS))["cells"]

    assert cells[0]["metadata"]["nbgrader"] == {
        "grade": False,
        "grade_id": "setup",
        "locked": True,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }


def test_a_picture_in_markdown_is_kept(author: Author):
    """A picture that is attached to a Markdown cell is kept, because it is not output."""
    cell = read(author(prose("![a dot](attachment:dot.png)", attachments=PIXEL), *CHECKS))

    assert cell["cells"][0]["attachments"] == PIXEL


def test_building_again_changes_nothing(author: Author, path: Path):
    """A second build has the same bytes, so different bytes show that a file is stale."""
    once = author(*WHOLE)
    path.write_bytes(once)

    assert lab_notebook.build_source_lab(path, POINTS) == once
    assert once.endswith(b"}\n")


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"nbformat_minor": 0}, id="4.0"),
        pytest.param({"nbformat_minor": 5}, id="4.5-without-ids"),
        pytest.param({"nbformat_minor": 9}, id="of-the-future"),
    ],
)
def test_every_minor_version_becomes_the_same(author: Author, path: Path, facts: dict[str, int]):
    """The bytes are the same for different versions of Jupyter."""
    expected = author(*CHECKS)
    path.write_text(notebook(*CHECKS, **facts))

    assert lab_notebook.build_source_lab(path, POINTS) == expected


def test_a_notebook_of_format_3_is_converted(author: Author, path: Path):
    """A notebook of format 3 is converted, so old material can be used as it is."""
    expected = author(*CHECKS)
    old = nbformat.convert(nbformat.reads(notebook(*CHECKS), as_version=4), 3)
    path.write_text(json.dumps(old))

    assert lab_notebook.build_source_lab(path, POINTS) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("# Stage 01", id="text"),
        pytest.param("[]", id="list"),
        pytest.param("{}", id="no-cells"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param('{"nbformat": 5, "nbformat_minor": 0, "metadata": {}, "cells": []}', id="5"),
        pytest.param(notebook({"cell_type": "code"}), id="half-a-cell"),
        pytest.param(notebook(code("x", outputs=[{"output_type": "?"}])), id="unknown-output"),
    ],
)
def test_what_is_not_a_notebook_is_refused(path: Path, text: str):
    """A file that is not a notebook is refused, with its name in one line."""
    path.write_text(text)
    with pytest.raises(CourseError, match="is not a notebook of format 4: ") as caught:
        lab_notebook.build_source_lab(path, {})

    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_missing_lab_is_refused(path: Path):
    """A missing file gives the same message as one that can't be read."""
    with pytest.raises(CourseError, match=r"lab\.ipynb is not a notebook"):
        lab_notebook.build_source_lab(path, POINTS)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        pytest.param(
            [grade("double")], r'no grade cell for Scale: add lab\.check\("Scale"\)\.', id="missing"
        ),
        pytest.param([*CHECKS, grade("Scale")], "two cells are named 'Scale'", id="twice"),
        pytest.param(
            [*CHECKS, prose("", metadata("Scale", "locked"))],
            "two cells are named",
            id="name-twice",
        ),
        pytest.param([*CHECKS, grade("triple")], "'triple' belongs to no exercise", id="unknown"),
        pytest.param(
            [grade("double"), grade("Scale", 'lab.check("double")')],
            "Scale must hold",
            id="other-check",
        ),
        pytest.param(
            [grade("double"), grade("Scale", 'lab.check("Scale")\nassert x')],
            "nothing else",
            id="more-text",
        ),
        pytest.param([*CHECKS, code("### BEGIN SOLUTION")], "'BEGIN SOLUTION'", id="solution"),
        pytest.param(
            [*CHECKS, code("### BEGIN HIDDEN TESTS")], "'BEGIN HIDDEN TESTS'", id="hidden-tests"
        ),
        pytest.param([*CHECKS, code("### AUTOTEST x")], "'AUTOTEST'", id="autotest"),
        pytest.param(
            [*CHECKS, prose("### BEGIN SOLUTION")],
            "remove 'BEGIN SOLUTION' from the lab",
            id="solution-in-markdown",
        ),
        pytest.param([*CHECKS, prose(SCHEME)], "locked cell that has an id", id="scheme-anywhere"),
        pytest.param(
            [*CHECKS, prose(SCHEME, metadata("a", "grade", "solution", points=1))],
            "locked cell",
            id="scheme-in-answer",
        ),
        pytest.param([*CHECKS, code("x", {"grade": False})], "cell 3 .* no grade_id", id="no-name"),
        pytest.param([*CHECKS, code("x", metadata(""))], "cell 3 .* no grade_id", id="empty-name"),
        pytest.param(
            [*CHECKS, code("x", metadata([1]))], "cell 3 .* no grade_id", id="list-for-a-name"
        ),
        pytest.param([*CHECKS, code("x", [1])], "cell 3 .* no grade_id", id="list-for-metadata"),
        pytest.param([*CHECKS, answer(None)], "its points are None", id="no-points"),
        pytest.param([*CHECKS, answer("2")], "its points are '2'", id="points-as-text"),
        pytest.param([*CHECKS, answer(-1)], "its points are -1", id="points-below-zero"),
        pytest.param([*CHECKS, answer(math.inf)], "its points are inf", id="points-without-end"),
        pytest.param(
            [*CHECKS, answer(math.nan)], "its points are nan", id="points-that-are-no-number"
        ),
        pytest.param(
            [*CHECKS, prose("", metadata("a", "grade", points=1))],
            "students must write",
            id="locked-answer",
        ),
    ],
)
def test_a_lab_that_would_go_wrong_is_refused(
    author: Author, path: Path, cells: list[Cell], words: str
):
    """Each message names the file and the mistake, before anything is built."""
    with pytest.raises(CourseError, match=words) as caught:
        author(*cells)

    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param("### BEGIN MARK SCHEME\nTwo.", id="never-ends"),
        pytest.param("Two.\n### END MARK SCHEME", id="never-begins"),
        pytest.param(f"### BEGIN MARK SCHEME\n{SCHEME}", id="nested"),
        pytest.param(SCHEME.replace("END", "END OF"), id="ends-with-another-text"),
        pytest.param(SCHEME.lower(), id="lower-case"),
        pytest.param(SCHEME.replace("K S", "KS"), id="one-word"),
        pytest.param(SCHEME.replace("### ", "###  _").replace(" S", "_S"), id="underscores"),
        pytest.param("Two. BEGIN MARK SCHEME", id="within-a-line"),
    ],
)
def test_a_mark_scheme_that_nbgrader_would_leave_is_refused(author: Author, scheme: str):
    """A misspelled marker of a mark scheme is refused, because students would get the scheme."""
    with pytest.raises(CourseError, match="between lines ### BEGIN MARK SCHEME and ###"):
        author(*CHECKS, question(scheme))


def test_a_picture_next_to_a_mark_scheme_is_refused(author: Author):
    """A picture in a cell with a mark scheme is refused, because students would receive it."""
    with pytest.raises(CourseError, match="the picture in a cell with a mark scheme"):
        author(*CHECKS, question(attachments=PIXEL))


def test_a_text_may_mention_mark_schemes(author: Author):
    """A text that mentions mark schemes is not a marker."""
    assert author(*CHECKS, prose("In the end, mark schemes are read by graders."))


def test_students_receive_everything_but_the_mark_scheme(author: Author):
    """Students receive questions, checks and cells for answers, and no mark scheme."""
    handed_out = lab_notebook.build_student_lab(author(*WHOLE))

    assert sources(handed_out) == [
        "import tiny",
        'lab.check("double")',
        'lab.check("Scale")',
        "Why?\n",
        "YOUR ANSWER HERE",
    ]
    assert b"Two points" not in handed_out


def test_students_receive_checksums(author: Author):
    """Students' cells have checksums, by which nbgrader sees changes and answers."""
    cells = read(lab_notebook.build_student_lab(author(*WHOLE)))["cells"]
    locked = [cell["metadata"]["nbgrader"]["locked"] for cell in cells[1:]]

    assert locked == [True, True, True, False]
    assert all(len(cell["metadata"]["nbgrader"]["checksum"]) == 32 for cell in cells[1:])


def test_the_instructor_notebook_keeps_the_mark_scheme(author: Author):
    """The instructor's notebook is the students' version with the mark schemes."""
    text = author(*WHOLE)
    instructor, student = (
        lab_notebook.instructor_notebook(text),
        read(lab_notebook.build_student_lab(text)),
    )

    assert instructor["cells"][3]["source"] == f"Why?\n\n{SCHEME}"
    assert len(instructor["cells"]) == len(student["cells"])
    assert lab_notebook.grade_cell_points(instructor) == POINTS
    assert lab_notebook.grade_cell_points(student) == POINTS


def test_encoding_is_stable(author: Author):
    """A lab that is decoded and encoded again has the same bytes."""
    text = author(*WHOLE)

    assert lab_notebook.encode(nbformat.reads(text.decode(), as_version=4)) == text


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
MARKERS = (*lab_notebook.FORBIDDEN_MARKERS, *lab_notebook.SCHEME)  # with a meaning in a lab
PLAIN = TEXT.filter(lambda text: not any(marker in text for marker in MARKERS))
METADATA = st.dictionaries(TEXT.map("x-{}".format), ANYTHING, max_size=3)
OUTPUTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"output_type": "stream", "name": "stderr", "text": text}, TEXT),
        st.builds(
            lambda data, metadata: {
                "output_type": "display_data",
                "data": {"text/html": data},
                "metadata": metadata,
            },
            TEXT,
            METADATA,
        ),
        st.builds(
            lambda name, lines: {
                "output_type": "error",
                "ename": name,
                "evalue": name,
                "traceback": lines,
            },
            TEXT,
            st.lists(TEXT, max_size=2),
        ),
    ),
    max_size=2,
)
LEFT_BEHIND = st.fixed_dictionaries(
    {"outputs": OUTPUTS, "execution_count": st.none() | st.integers(0), "metadata": METADATA}
)


@given(left=LEFT_BEHIND, whole=METADATA)
def test_everything_that_a_run_writes_is_removed(
    tmp_path_factory: pytest.TempPathFactory, left: dict[str, Any], whole: dict[str, Any]
):
    """Outputs, counts and metadata of a run do not change the built bytes."""
    path = tmp_path_factory.getbasetemp() / "left_behind.ipynb"
    made = []
    for cell, metadata in ((code("x"), {}), (code("x") | left, whole)):
        path.write_text(notebook(cell, *CHECKS, metadata=metadata))
        made.append(lab_notebook.build_source_lab(path, POINTS))

    assert made[0] == made[1]


@given(source=PLAIN)
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, source: str):
    """The author's text is kept exactly, and building again changes nothing."""
    path = tmp_path_factory.getbasetemp() / "text.ipynb"
    path.write_text(notebook(prose(source), code(source), *CHECKS))
    once = lab_notebook.build_source_lab(path, POINTS)
    path.write_bytes(once)

    assert sources(once)[:2] == [source, source]
    assert lab_notebook.build_source_lab(path, POINTS) == once


def test_what_was_encoded_is_decoded():
    """A notebook that is encoded and decoded has the same text, with any line endings."""
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "one\r\ntwo\n\nthree"}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}

    assert lab_notebook.decode(lab_notebook.encode(notebook)) == notebook
