"""The tiny course with a lab and a gradebook, submissions, and what is written there."""

import functools
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import nbformat
import nbgrader.api
import pytest
from nbgrader.nbgraderformat import MetadataValidator

from autograder import course as courses
from autograder.authoring import lab_notebook, markers
from autograder.authoring.lab_notebook import Notebook
from autograder.course import Course
from autograder.gradebook.writer import Writer, Written
from autograder.results import (
    CheckResult,
    ExerciseResult,
    Outcome,
    Status,
    SubmissionResult,
)
from autograder.submission import Code, Submission
from autograder.submission.files import HandInFile
from tests.kit.commands import forget_suites
from tests.kit.conftest import SOLUTION, course_files, write_files

ROOT = Path(__file__).parents[3]
STAGE = "01_tiny"
POINTS = {"double": 5.0, "Scale": 5.0}
SCHEME = "Three points for who names the sum."

Cell = dict[str, Any]
WriteLab = Callable[..., None]
Made = Callable[..., SubmissionResult]
HandIn = Callable[..., Submission]
WriteBook = Callable[..., Written]


def cell(kind: str, source: str, name: str = "", **more: object) -> Cell:
    """A cell of a lab, as authors write it; with *name*, it has nbgrader's metadata."""
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


def check(name: str) -> Cell:
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
    check("double"),
    ASKED,
    WHY,
    check("Scale"),
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


def authored(path: Path, *cells: Cell, points: dict[str, float] | None = None) -> bytes:
    """Build the lab that authors wrote as *cells*, at *path*."""
    path.write_bytes(notebook(*(cells or CELLS)))
    path.write_bytes(lab_notebook.build_source_lab(path, POINTS if points is None else points))
    return path.read_bytes()


@pytest.fixture(scope="session", autouse=True)
def no_jupyter_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep this machine's settings of Jupyter out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "DATA"):
            patch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="session", autouse=True)
def alembic_is_asked_once() -> Iterator[None]:
    """Ask alembic once for its version, which takes seconds, not for each new gradebook."""
    with pytest.MonkeyPatch.context() as patch:
        ask_alembic_once(patch)
        yield


def ask_alembic_once(patch: pytest.MonkeyPatch) -> None:
    """Remember the version of nbgrader's tables, which nbgrader asks alembic for."""
    ask = nbgrader.api.get_alembic_version
    patch.setattr(nbgrader.api, "get_alembic_version", functools.cache(ask))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose gradebook has its lab and no student yet; to be copied."""
    return write_template(tmp_path_factory.mktemp("template") / "course")


def write_template(root: Path) -> Path:
    """Write the tiny course with a lab and a gradebook to *root*."""
    write_files(root, course_files((STAGE,)) | {"nbgrader_config.py": CONFIG})
    course = courses.load(root)
    stage = course.stage(STAGE)
    stage.stub.write_text(markers.strip_solutions(SOLUTION, "tiny.py"), "utf-8")
    authored(stage.lab)
    Writer(course, [Submission(student="unused", stage=STAGE, code=None)])
    return root


@pytest.fixture
def course(template: Path, tmp_path: Path) -> Iterator[Course]:
    """A copy of the course, with its gradebook."""
    with forget_suites():
        yield courses.load(shutil.copytree(template, tmp_path / "course"))


@pytest.fixture
def write_lab(course: Course) -> WriteLab:
    """Build the lab of the course again, from other cells or with other points."""
    return partial(authored, course.stage(STAGE).lab)


@pytest.fixture(scope="session")
def master(template: Path) -> Notebook:
    """The instructor's lab; tests must not change it."""
    return lab_notebook.instructor_notebook(courses.load(template).stage(STAGE).lab.read_bytes())


@pytest.fixture(scope="session")
def released(template: Path) -> dict[str, Any]:
    """The lab as students receive it."""
    return json.loads(
        lab_notebook.build_student_lab(courses.load(template).stage(STAGE).lab.read_bytes())
    )


@pytest.fixture
def answered(released: dict[str, Any]) -> Callable[..., bytes]:
    """Write answers into the released lab, by the cells' names."""

    def answer(**answers: str) -> bytes:
        cells = [{**item, "source": answers.get(named(item), item["source"])} for item in
                 released["cells"]]  # fmt: skip
        return json.dumps({**released, "cells": cells}).encode()

    return answer


@pytest.fixture
def hand_in() -> HandIn:
    """Hand in a module, a lab and a timestamp, each as bytes or not at all."""

    def make(
        student: str = "ada",
        *,
        module: bytes | None = SOLUTION.encode(),
        lab: bytes | None = None,
        stamp: bytes | None = None,
        **fields: object,
    ) -> Submission:
        code = module and Code(kind="module", cells=(module,), label="tiny.py")
        facts = {"stage": STAGE, "lab": file_of("lab.ipynb", lab), "stamp": file_of("t.txt", stamp)}
        return Submission(student=student, code=code or None, **(facts | fields))

    return make


def file_of(name: str, data: bytes | None) -> HandInFile | None:
    """A submitted file that holds *data*."""
    return data if data is None else HandInFile(
        path=PurePosixPath(name), label=name, read=lambda _limit: data
    )  # fmt: skip


@pytest.fixture
def graded() -> Made:
    """Make a result: points by exercise, out of five each."""

    def make(student: str = "ada", most: float = 5.0, **points: float) -> SubmissionResult:
        earned = dict.fromkeys(POINTS, most) | points
        return record(student, tuple(exercise(*item, most) for item in earned.items()))

    return make


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
    """A result of *exercises*; any field can be given."""
    facts = {
        "stage": STAGE,
        "status": Status.GRADED,
        "score": sum(item.score for item in exercises),
        "max_score": sum(item.max_score for item in exercises),
    }
    return SubmissionResult(student=student, exercises=exercises, **(facts | fields))


@pytest.fixture
def write(course: Course, hand_in: HandIn) -> WriteBook:
    """Write results into the gradebook; every submission that is not given is the solution."""

    def write_all(*results: SubmissionResult, **given: Submission) -> Written:
        submissions = [given.get(item.student) or hand_in(item.student) for item in results]
        return Writer(course, submissions).write(submissions, results)

    return write_all


class Row(NamedTuple):
    """The row of one student's cell in the gradebook."""

    auto: float | None
    manual: float | None
    extra: float | None
    waits: bool


def query(root: Path, sql: str, *values: object) -> list[tuple]:
    """Run *sql* in the gradebook of the course at *root*, without nbgrader's layers."""
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
    """Lists what a page has besides formatted text: tags, addresses, handlers."""

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
