"""Builds test data that tests share: the tiny course, results, grades, labs and gradebooks."""

import functools
import io
import json
import re
import sqlite3
import sys
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pytest

from autograder import course as courses
from autograder.authoring import lab_notebook, release
from autograder.authoring.lab_notebook import Notebook
from autograder.course import Course, Stage
from autograder.exports.grade_table import GradeTable, Score, StageColumn, StudentGrades
from autograder.reports.class_report import NO_GUESSES, Guesses, build_stage_reports
from autograder.reports.html import class_page
from autograder.results import (
    CheckResult,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from autograder.sandbox.confinement import is_below_closed
from autograder.submission import Submission
from autograder.submission.files import SubmittedFile

MakeCheck = Callable[..., CheckResult]
MakeSubmission = Callable[..., SubmissionResult]
MakeResults = Callable[..., Results]

COURSE_TOML = """
format_version = 1
id = "tiny"
title = "Tiny"
stages = [{stages}]
"""

STAGE_TOML = """
format_version = 1
title = "Tiny things"
goal = "Double and scale."
module = "tiny"

[[exercise]]
name = "double"
hints = ["How much is twice?", "Add it to itself.", "x + x"]

[[exercise]]
name = "Scale"
hints = ["What is learned?", "One factor.", "x * self.factor"]
"""

SOLUTION = '''
"""Two tiny things."""

import torch
from torch import Tensor, nn


def double(x: Tensor) -> Tensor:
    """Twice x, shape unchanged."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


class Scale(nn.Module):
    """A learned factor for each of d features."""

    def __init__(self, d: int) -> None:
        """Draw the factors uniformly."""
        super().__init__()
        ### BEGIN SOLUTION
        self.factor = nn.Parameter(torch.rand(d))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Scale each feature, (..., d) to (..., d)."""
        ### BEGIN SOLUTION
        return x * self.factor
        ### END SOLUTION
'''.lstrip()

HIDDEN = '''
"""Hidden suite of the tiny stage."""

from autograder.suite.checks import check
from autograder.suite.compare import agrees


@check("double", points=2, layer="documented")
def test_doubles_the_documented_numbers(student, documented):
    """Twice the documented numbers are the documented doubles."""
    documented["tiny.doubled"].matches(student.call("double", documented["tiny.numbers"].tensor))


@check("double", points=3, layer="probe")
def test_doubles_unseen_numbers(student, reference, probe):
    """Twice unseen numbers is right too."""
    x = probe.normal(3, 2)

    agrees(student.call("double", x), reference.call("double", x))


@check("Scale", points=5, layer="probe")
def test_scales_each_feature(student, reference, probe):
    """With given factors, each feature is scaled by its own."""
    x, factor = probe.normal(3, 2), probe.normal(2)
    yours = student.new("Scale", 2).load({"factor": factor})
    ours = reference.new("Scale", 2).load({"factor": factor})

    agrees(yours(x), ours(x))
'''.lstrip()

MISCONCEPTIONS = '''
"""Wrong answers of the tiny stage."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="squares",
        exercise="double",
        explanation="The numbers were squared.",
        question="What is twice three?",
        swaps=(("2 * x", "x ** 2"),),
    ),
    Misconception(
        id="scales_by_nothing",
        exercise="Scale",
        explanation="The factor is not used.",
        question="Where does the factor go?",
        swaps=(("x * self.factor", "x * 1"),),
    ),
)
'''.lstrip()

DOCUMENTED_TOML = """
format_version = 1
tokens = ["one", "two", "three"]

[[tensor]]
name = "tiny.numbers"
document = "tiny"
cell = "In [1]"
drawn = "given"
decimals = 1
exact = true
stage = ["01_tiny"]
value = [0.5, 1.5, 2.5]

[[tensor]]
name = "tiny.doubled"
document = "tiny"
cell = "In [2]"
drawn = "computed"
decimals = 4
stage = ["01_tiny"]
value = [1.0, 3.0, 5.0]
"""

CHAIN = '''

def quadruple(x: Tensor) -> Tensor:
    """Four times x, shape unchanged."""
    ### BEGIN SOLUTION
    return double(double(x))
    ### END SOLUTION


def octuple(x: Tensor) -> Tensor:
    """Eight times x, shape unchanged."""
    ### BEGIN SOLUTION
    return double(quadruple(x))
    ### END SOLUTION
'''

CHAIN_CHECKS = '''

@check("quadruple", points=2, layer="probe")
def test_quadruples_a_matrix(student, reference, probe):
    """Four times a matrix is right."""
    x = probe.normal(3, 2)

    agrees(student.call("quadruple", x), reference.call("quadruple", x))


@check("quadruple", points=1, layer="probe")
def test_quadruples_a_vector(student, reference, probe):
    """Four times a vector is right."""
    x = probe.normal(3)

    agrees(student.call("quadruple", x), reference.call("quadruple", x))


@check("octuple", points=1, layer="probe")
def test_octuples(student, reference, probe):
    """Eight times a matrix is right."""
    x = probe.normal(3, 2)

    agrees(student.call("octuple", x), reference.call("octuple", x))
'''


def chain_files(stage: str) -> dict[str, str]:
    """The tiny stage with two more exercises: ``octuple`` uses ``quadruple`` uses ``double``."""
    exercises = "".join(
        f'\n[[exercise]]\nname = "{name}"\nhints = ["How?", "With double.", "double(x)"]\n'
        for name in ("quadruple", "octuple")
    )
    return {
        f"source/{stage}/stage.toml": STAGE_TOML + exercises,
        f"solutions/{stage}/tiny.py": SOLUTION + CHAIN,
        f"tests/hidden/{stage}/test_tiny.py": HIDDEN + CHAIN_CHECKS,
    }


WriteCourse = Callable[..., Course]
Submit = Callable[..., Submission]
OpenSession = Callable[..., Any]  # a `Session`


# Libraries such as Matplotlib open files by their paths, which a different user can't follow here.
needs_open_python = pytest.mark.skipif(
    is_below_closed(sys.prefix), reason="Python is installed below a folder that is closed"
)


def write_files(root: Path, files: dict[str, str]) -> None:
    """Write *files*, a text for each path, below *root*."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def course_files(stages: tuple[str, ...]) -> dict[str, str]:
    """Return the authored files of a course whose stages all have the same two exercises."""
    head = COURSE_TOML.format(stages=", ".join(f'"{name}"' for name in stages))
    files = {"course.toml": head, "tests/hidden/documented.toml": DOCUMENTED_TOML}
    for name in stages:
        files |= stage_files(name)
    return files


def stage_files(name: str) -> dict[str, str]:
    """The authored files of one stage."""
    return {
        f"source/{name}/stage.toml": STAGE_TOML,
        f"solutions/{name}/tiny.py": SOLUTION,
        f"tests/hidden/{name}/test_tiny.py": HIDDEN,
        f"tests/hidden/{name}/misconceptions.py": MISCONCEPTIONS,
    }


FORMULAS = (
    '=HYPERLINK("http://a","x")',
    "+1+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "  =1+1",
    "\t=1+1",
    "\r\n=1+1",
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d1+1",
    "\uff201+1",
    "\u3000=1+1",
    "\u200d=1+1",
    "\u22121+1",
)
MakeGradeTable = Callable[..., GradeTable]


def row(student: str, score: float | None = 7.5, **names: str) -> StudentGrades:
    """A student with a score in the one stage."""
    points = Score(raw=score, score=score, max_score=10.0)
    return StudentGrades(student=student, scores={"01_tiny": points}, **names)


def table_of_rows(*rows: StudentGrades, most: float | None = 10.0) -> GradeTable:
    """A table of one stage, `01_tiny`, called Tiny things."""
    return GradeTable(stages=(StageColumn("01_tiny", "Tiny things", most),), rows=rows)


TOKENS = ("Your", "journey", "starts", "with", "one", "step")
HOSTILE_TEXTS = (
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "</style></title></textarea><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% include 'x' %}<a href='javascript:alert(1)'>x</a>",
    "\x1b[2J\x1b[31m\x1b]52;c;aGk=\x07\x9b1mALL TESTS PASSED",
    "[red]x[/red] [link=http://a]y[/link] :smile:",
    '=HYPERLINK("http://a")',
    "../../etc/passwd\x00.html",
    "\u202egnp.exe\u2066\ud800",
    "x" * 1_000_000,
    "<b>\n" * 250_000,
    "e" + "\u0301" * 1_000_000,
)


LayOut = Callable[..., Path]
METADATA = {"id": 7, "users": [{"id": 1234, "name": "Ada", "email": "ada@example.org"}]}


def opened(content: bytes) -> zipfile.ZipFile:
    """Open a bundle for reading."""
    return zipfile.ZipFile(io.BytesIO(content))


def unpack(content: bytes, folder: Path) -> None:
    """Unpack a bundle as `unzip` does: with its permissions."""
    with opened(content) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, folder))
            path.chmod(entry.external_attr >> 16 & 0o777)


def lay_out(root: Path, content: bytes, files: dict[str, bytes]) -> Path:
    """Lay out *root* as the harness does for a student who submitted *files*."""
    unpack(content, root / "source")
    (root / "results").mkdir()
    for name, text in files.items():
        path = root / "submission" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    (root / "submission").mkdir(exist_ok=True)
    (root / "submission_metadata.json").write_text(json.dumps(METADATA))
    return root


ROOT = Path(__file__).parents[2]
STAGE = "01_tiny"
POINTS = {"double": 5.0, "Scale": 5.0}
SCHEME = "Three points for who names the sum."

Cell = dict[str, Any]
WriteLab = Callable[..., None]
Made = Callable[..., SubmissionResult]
StudentWork = Callable[..., Submission]
WriteBook = Callable[..., Any]  # a `Written`


def cell(kind: str, source: str, name: str = "", **more: object) -> Cell:
    """Return a cell of a lab as authors write it; with *name*, it has nbgrader's metadata."""
    roles = dict.fromkeys(("grade", "locked", "solution", "task"), False)
    facts = {"grade_id": name, "schema_version": 3, **roles, **more}
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"x-{name or len(source)}",
        "metadata": {"nbgrader": facts} if name else {},
        "source": source,
        **code,
    }


def grade_cell(name: str) -> Cell:
    """The grade cell of an exercise."""
    return cell("code", f'lab.check("{name}")', name, grade=True, locked=True)


TOUR = "# Tiny things\n\nRead [more](https://example.org/more) & <b>enjoy</b> $a<b$."
SETUP = cell("code", "lab = Lab()", "setup", locked=True)
ASKED = cell(
    "markdown",
    f"Why twice?\n\n### BEGIN MARK SCHEME\n{SCHEME}\n### END MARK SCHEME",
    "why-asked",
    locked=True,
)
WHY = cell("markdown", "", "why", grade=True, solution=True, points=3)
SKETCH = cell("code", "", "sketch", grade=True, solution=True, points=2)
CELLS = (
    cell("markdown", TOUR),
    SETUP,
    cell("code", "x = torch.ones(2)"),
    grade_cell("double"),
    ASKED,
    WHY,
    grade_cell("Scale"),
    SKETCH,
)
NAMES = ("setup", "double", "why-asked", "why", "Scale", "sketch")
TASK = cell("markdown", "Draw it.", "draw", task=True, locked=True, points=1)
LATE = b"2026-11-01 12:00:00 UTC"
CONFIG = (ROOT / "nbgrader_config.py").read_text("utf-8")


def notebook(*cells: Cell, **metadata: object) -> bytes:
    """A notebook of *cells*, as bytes."""
    facts = {"metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": cells, **facts}).encode()


def authored(stage: Stage, *cells: Cell, points: dict[str, float] | None = None) -> bytes:
    """Write the lab of *stage* with *cells*, and build the lab for students from it."""
    stage.lab.write_bytes(notebook(*(cells or CELLS)))
    lab = lab_notebook.build_source_lab(stage.lab, POINTS if points is None else points)
    stage.lab.write_bytes(lab)
    stage.assignment.mkdir(parents=True, exist_ok=True)
    built = lab_notebook.build_student_lab(lab, written=stage.written)
    (stage.assignment / stage.lab.name).write_bytes(built)
    return lab


def rewrite_records(
    stage: Stage, *, replies: object = None, evidence: object = None, made_from: str = ""
) -> None:
    """Write the records of *stage* again, with other replies or evidence, or other sources."""
    from autograder.diagnosis import fingerprints  # noqa: PLC0415  # only tests of records need it
    from autograder.suite import records  # noqa: PLC0415  # only tests of records need it

    known = [records.read(stage.records, part, Any) for part in ("replies", "evidence")]
    if isinstance(evidence, fingerprints.Fingerprints):
        evidence = fingerprints.stored(evidence)
    parts = [new or old for new, old in zip((replies, evidence), known, strict=True)]
    digest = made_from or records.made_from(stage.records)
    stage.records.write_bytes(records.encode(stage.name, digest, *parts))


def ask_alembic_once(patch: pytest.MonkeyPatch) -> None:
    """Remember the version of nbgrader's tables, which nbgrader asks alembic for."""
    import nbgrader.api  # noqa: PLC0415  # takes two seconds, and only tests of the gradebook need it

    ask = nbgrader.api.get_alembic_version
    patch.setattr(nbgrader.api, "get_alembic_version", functools.cache(ask))


def write_template(root: Path) -> Path:
    """Write the tiny course with a lab and a gradebook to *root*."""
    from autograder.gradebook.writer import Writer  # noqa: PLC0415  # imports nbgrader

    write_files(root, course_files((STAGE,)) | {"nbgrader_config.py": CONFIG})
    course = courses.load(root)
    stage = course.stage(STAGE)
    authored(stage)
    stage.stub.write_text(release.stub_of(stage), "utf-8")
    Writer(course, [Submission(student="unused", stage=STAGE, code=None)])
    return root


def file_of(name: str, data: bytes | None) -> SubmittedFile | None:
    """A submitted file that holds *data*."""
    return data if data is None else SubmittedFile(
        path=PurePosixPath(name), label=name, read=lambda _limit: data
    )  # fmt: skip


def exercise(name: str, points: float, most: float) -> ExerciseResult:
    """An exercise of one check."""
    passed = points == most
    one = CheckResult(
        name=f"test_{name}",
        title=f"{name} holds.",
        outcome=Outcome.PASSED if passed else Outcome.FAILED,
        status=Status.OK if passed else Status.WRONG_VALUE,
        points=points,
        max_points=most,
    )
    return ExerciseResult(name=name, checks=(one,), score=points, max_score=most)


def record(
    student: str, exercises: tuple[ExerciseResult, ...], **fields: object
) -> SubmissionResult:
    """Return a result with *exercises*; keyword arguments give its other fields."""
    facts = {
        "stage": STAGE,
        "status": Status.GRADED,
        "score": sum(item.score for item in exercises),
        "max_score": sum(item.max_score for item in exercises),
    }
    return SubmissionResult(student=student, exercises=exercises, **(facts | fields))


class Row(NamedTuple):
    """The row of one student's cell in the gradebook."""

    auto: float | None
    manual: float | None
    extra: float | None
    waits: bool


def query(root: Path, sql: str, *values: object) -> list[tuple]:
    """Run *sql* in the gradebook of the course at *root*, without nbgrader's classes."""
    with closing(sqlite3.connect(root / "gradebook.db")) as book, book:
        return book.execute(sql, values).fetchall()


def rows(root: Path, student: str = "ada") -> dict[str, Row]:
    """The rows of *student*'s cells in the gradebook, by name."""
    cells = query(
        root,
        "select base_cell.name, auto_score, manual_score, extra_credit, needs_manual_grade"
        " from grade join base_cell on base_cell.id = grade.cell_id"
        " join submitted_notebook on submitted_notebook.id = grade.notebook_id"
        " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
        " where student_id = ?",
        student,
    )
    return {name: Row(*values, waits=bool(waits)) for name, *values, waits in cells}


def dump(root: Path) -> dict[str, list[tuple]]:
    """Every row of every table, in order."""
    tables = [name for (name,) in query(root, "select name from sqlite_master where type='table'")]
    return {name: sorted(query(root, f"select * from {name}"), key=repr) for name in tables}  # noqa: S608  # names from sqlite itself


def autograded(root: Path, student: str = "ada") -> dict[str, bytes]:
    """Every file that formgrader has of *student*, by name."""
    folder = root / "autograded" / student / STAGE
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def named(item: Cell) -> str:
    """The name of *item* in nbgrader."""
    return item["metadata"].get("nbgrader", {}).get("grade_id", "")


def by_name(notebook: Notebook) -> dict[str, Cell]:
    """The cells of *notebook* that have names."""
    return {named(item): item for item in notebook["cells"] if named(item)}


def names(notebook: Notebook) -> list[str]:
    """The names in *notebook*, in order."""
    return [named(item) for item in notebook["cells"] if named(item)]


def add_settings(course: Course, more: str) -> None:
    """Add lines to the course's nbgrader_config.py."""
    (course.root / "nbgrader_config.py").write_text(CONFIG + more, "utf-8")


def lab_of(root: Path, student: str = "ada") -> dict:
    """The valid notebook that formgrader shows of *student*."""
    import nbformat  # noqa: PLC0415  # takes one second, and only tests of the gradebook need it
    from nbgrader.nbgraderformat import MetadataValidator  # noqa: PLC0415  # only tests of the gradebook need it

    node = nbformat.reads(autograded(root, student)["lab.ipynb"].decode(), 4)
    nbformat.validate(node)
    MetadataValidator().validate_nb(node)
    return node


def output_texts(lab: dict) -> str:
    """The text of all feedback in *lab*."""
    return "\n".join(
        output["data"]["text/plain"] for item in lab["cells"] for output in item.get("outputs", ())
    )


class ActiveContent(HTMLParser):
    """Lists the active parts of a page: tags, addresses, handlers."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that Markdown does not make, and an attribute that points elsewhere."""
        if tag not in FORMATTING:
            self.found.append(f"<{tag} {attrs}>")
        for name, value in attrs:
            points_elsewhere = name in {"href", "src"} and not INERT.match(value or "")
            if points_elsewhere or name not in {*PLAIN, "href", "src"}:
                self.found.append(f"<{tag} {name}={value!r}>")

    def handle_comment(self, data: str) -> None:
        """Note a comment: some viewers interpret one."""
        self.found.append(f"<!--{data}-->")

    handle_decl = handle_pi = unknown_decl = handle_comment


FORMATTING = frozenset({
    "a", "blockquote", "br", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4",
    "h5", "h6", "hr", "img", "input", "li", "ol", "p", "pre", "span", "strong", "table", "tbody",
    "td", "th", "thead", "tr", "ul",
})  # fmt: skip
PLAIN = frozenset({
    "align", "alt", "checked", "class", "disabled", "id", "start", "style", "title", "type",
})  # fmt: skip
INERT = re.compile(r"#|data:image/(png|jpeg|gif);base64,[A-Za-z0-9+/=]*$")


def class_page_of(
    course: Course,
    results: Results,
    names: Mapping[str, str] | None = None,
    guesses: Guesses = NO_GUESSES,
) -> str:
    """Return the page about all results of a class."""
    stages = [*build_stage_reports(course, results, names or {}, guesses)]
    return class_page(course, results, stages)
