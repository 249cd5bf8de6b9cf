"""The labs, run as students run them, and read as they are handed out.

Two kernels serve all of them: most of what a kernel costs is torch, which it imports once and its
sandbox once more.
"""

import ast
import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.nbgraderformat import MetadataValidator

from autograder import course as courses
from autograder.course import Stage
from autograder.grading.suite_runner import open_suites

COURSE = courses.load(Path(__file__).parents[2])
KERNELS = 2
CELL_SECONDS = 120  # a kernel's first check waits for torch, on a busy machine
OPENING = """
import functools
from autograder.student import lab
lab.ForkServer = functools.cache(lab.ForkServer)  # one for all labs of this kernel
"""
FRESH = """
%reset -f
import os, sys
os.chdir({folder!r})
sys.modules.pop("test_public", None)  # of the lab before; a student has one a kernel
"""
METADATA = {"nbgrader", "deletable", "editable"}  # the last two lock a cell in Jupyter
ROOFS = ("source", "assignments")
CODE = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
HTML = re.compile(r"<[/!a-z]", re.IGNORECASE)
LINK = re.compile(r"\]\(\s*<?([^)\s>]*)|^\s*\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
REMOTE = re.compile(r"\w+:|//")


class Tour(NamedTuple):
    """A lab that was run from top to bottom: beside the stub, then beside the solution."""

    stub: NotebookNode
    solution: NotebookNode


@pytest.fixture(scope="module")
def tours() -> dict[str, Tour]:
    """Every lab that students receive, run."""
    with TemporaryDirectory() as folder:  # short: a socket's path has 108 characters
        return asyncio.run(run_all(Path(folder)))


@pytest.fixture(params=COURSE.stages, ids=lambda stage: stage.name)
def stage(request: pytest.FixtureRequest) -> Stage:
    """Each stage of the course."""
    return request.param


@pytest.fixture
def tour(stage: Stage, tours: dict[str, Tour]) -> Tour:
    """The lab of the stage, run."""
    return tours[stage.name]


@pytest.fixture(params=ROOFS)
def lab(request: pytest.FixtureRequest, stage: Stage) -> NotebookNode:
    """The lab of the stage, as written and as handed out."""
    return read(request.param, stage)


@pytest.fixture(scope="module")
def points() -> dict[str, dict[str, float]]:
    """What the hidden checks of each exercise are worth, by stage."""
    stages = COURSE.stages
    with open_suites(COURSE, stages) as runner:
        return {stage.name: runner.points(stage) for stage in stages}


async def run_all(folder: Path) -> dict[str, Tour]:
    """Run all labs, shared among the kernels."""
    todo = list(COURSE.stages)
    kernels = [run_some(todo, Path(mkdtemp(dir=folder))) for _ in range(KERNELS)]
    shares = await asyncio.gather(*kernels)
    return {name: tour for share in shares for name, tour in share.items()}


async def run_some(todo: list[Stage], folder: Path) -> dict[str, Tour]:
    """Run stages of *todo*, one after the other in a kernel, until none is left."""
    kernel = AsyncKernelManager(
        kernel_name="python3", transport="ipc", connection_file=str(folder / "kernel.json")
    )
    await kernel.start_kernel(env=os.environ | {"IPYTHONDIR": str(folder / "ipython")})
    opening = new_notebook(cells=[new_code_cell(OPENING)])
    client = NotebookClient(opening, km=kernel, timeout=CELL_SECONDS, allow_errors=True)
    try:
        await client.async_execute()
        tours = {}
        while todo:
            stage = todo.pop()
            tours[stage.name] = await run(stage, client, folder / stage.name)
    finally:
        await kernel.shutdown_kernel(now=True)
        client.kc.stop_channels()
    return tours


async def run(stage: Stage, client: NotebookClient, folder: Path) -> Tour:
    """Run the lab of *stage* in *folder*; then save the solution there and run it again."""
    shutil.copytree(stage.assignment, folder)
    stub = await run_once(folder, client)
    shutil.copy(stage.solution, folder)
    return Tour(stub, await run_once(folder, client))


async def run_once(folder: Path, client: NotebookClient) -> NotebookNode:
    """Run the lab in *folder*: every cell, so that a test sees all that goes wrong."""
    client.nb = nbformat.read(folder / "lab.ipynb", as_version=4)
    client.nb.cells.insert(0, new_code_cell(FRESH.format(folder=str(folder))))
    return await client.async_execute()


def read(roof: str, stage: Stage) -> NotebookNode:
    """Return the lab of *stage* below *roof*, without any upgrade."""
    path = COURSE.root / roof / stage.name / "lab.ipynb"
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def told(cell: NotebookNode) -> NotebookNode:
    """What nbgrader is told about *cell*."""
    return cell.metadata.get("nbgrader", NotebookNode())


def grade_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells whose points the grader gives, in order."""
    return [cell for cell in notebook.cells if told(cell).get("grade") and is_code(cell)]


def answer_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells in which students answer in words."""
    return [cell for cell in notebook.cells if told(cell).get("grade") and not is_code(cell)]


def is_code(cell: NotebookNode) -> bool:
    """Whether *cell* is run."""
    return cell.cell_type == "code"


def outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """Everything that *notebook* shows."""
    return (output for cell in notebook.cells if is_code(cell) for output in cell.outputs)


def troubles(notebook: NotebookNode) -> list[str]:
    """What is red in *notebook*: exceptions and warnings."""
    red = [output for output in outputs(notebook) if is_red(output)]
    return [output.get("text") or f"{output.ename}: {output.evalue}" for output in red]


def is_red(output: NotebookNode) -> bool:
    """Whether Jupyter shows *output* in red."""
    return output.output_type == "error" or output.get("name") == "stderr"


def printed(notebook: NotebookNode) -> str:
    """Everything that the cells of *notebook* print."""
    return "".join(output.text for output in outputs(notebook) if output.get("name") == "stdout")


def verdicts(notebook: NotebookNode) -> list[str]:
    """What each grade cell of *notebook* says, in plain text."""
    return [
        "".join(output.data["text/plain"] for output in cell.outputs if "data" in output)
        for cell in grade_cells(notebook)
    ]


def pictures(notebook: NotebookNode) -> int:
    """How many pictures *notebook* shows."""
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def needed(notebook: NotebookNode) -> Iterator[str]:
    """Every exercise that a cell of *notebook* says it needs."""
    for cell in filter(is_code, notebook.cells):
        tree = ast.parse(re.sub(r"^%.*$", "", cell.source, flags=re.MULTILINE))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "lab.needs":
                yield from map(ast.literal_eval, node.args)


def test_right_code_brings_the_lab_alive(tour: Tour):
    """Beside the solution nothing is red, no cell waits for anything, and pictures appear."""
    text = printed(tour.solution)

    assert troubles(tour.solution) == []
    assert "could not run with" not in text
    assert "this cell runs once" not in text
    assert pictures(tour.solution) > 0


def test_right_code_completes_every_exercise(stage: Stage, tour: Tour):
    """Beside the solution each grade cell says so."""
    first_lines = [verdict.partition("\n")[0] for verdict in verdicts(tour.solution)]

    assert first_lines == [f"✓ {exercise.name}: complete." for exercise in stage.exercises]


def test_an_untouched_lab_runs_through(tour: Tour):
    """Beside the stub nothing is red, and cells that need code say which."""
    text = printed(tour.stub)

    assert troubles(tour.stub) == []
    assert "could not run with" not in text
    assert "this cell runs once" in text


def test_an_untouched_lab_says_what_is_missing(stage: Stage, tour: Tour):
    """Beside the stub each grade cell names its exercise, which is not written yet."""
    unwritten = [f"· {exercise.name}: not written yet." for exercise in stage.exercises]

    assert verdicts(tour.stub) == unwritten


def test_a_lab_is_clean(lab: NotebookNode):
    """No output, no count and no metadata but nbgrader's is written or handed out."""
    assert list(outputs(lab)) == []
    assert {cell.execution_count for cell in lab.cells if is_code(cell)} == {None}
    assert {key for cell in lab.cells for key in cell.metadata} <= METADATA
    assert set(lab.metadata) == {"kernelspec", "language_info"}


def test_nbgrader_and_jupyter_can_read_a_lab(lab: NotebookNode):
    """It is valid as a notebook and as an assignment."""
    nbformat.validate(lab)
    MetadataValidator().validate_nb(lab)


def test_each_exercise_has_one_locked_grade_cell(stage: Stage, lab: NotebookNode):
    """They stand in the order of stage.toml, and hold the check alone."""
    names = [exercise.name for exercise in stage.exercises]
    cells = grade_cells(lab)

    assert [told(cell).grade_id for cell in cells] == names
    assert [cell.source for cell in cells] == [f'lab.check("{name}")' for name in names]
    assert all(told(cell).locked and not told(cell).solution for cell in cells)


def test_a_grade_cell_is_worth_what_its_hidden_checks_are(
    stage: Stage, lab: NotebookNode, points: dict[str, dict[str, float]]
):
    """Ten points in all."""
    worth = {told(cell).grade_id: told(cell).points for cell in grade_cells(lab)}

    assert worth == points[stage.name]
    assert sum(worth.values()) == pytest.approx(10.0)


def test_a_lab_asks_a_question_or_two(lab: NotebookNode):
    """Answered in words, in cells that students may edit, for points besides the ten."""
    answers = answer_cells(lab)

    assert len(answers) in {1, 2}
    for cell in answers:
        assert told(cell).solution
        assert not told(cell).locked
        assert told(cell).points > 0


def test_every_question_has_a_mark_scheme_for_graders_only(stage: Stage):
    """It stands in the locked question in source, and nothing of it is handed out."""
    schemes = [cell for cell in read("source", stage).cells if "BEGIN MARK SCHEME" in cell.source]
    handed_out = (stage.assignment / "lab.ipynb").read_text("utf-8")

    assert len(schemes) == len(answer_cells(read("source", stage)))
    assert "MARK SCHEME" not in handed_out.upper()
    for cell in schemes:
        scheme = cell.source.partition("### BEGIN MARK SCHEME\n")[2]
        lines = scheme.partition("\n### END MARK SCHEME")[0].splitlines()
        assert told(cell).locked
        assert lines
        assert not [line for line in lines if line and line in handed_out]


def test_students_receive_what_was_written(stage: Stage):
    """Cell by cell, but for mark schemes and the places for answers."""
    written, handed_out = read("source", stage), read("assignments", stage)
    for cell in answer_cells(written):
        cell.source = "YOUR ANSWER HERE"  # nbgrader's words
    texts = [cell.source.partition("### BEGIN MARK SCHEME")[0].strip() for cell in written.cells]

    assert [cell.source.strip() for cell in handed_out.cells] == texts
    assert [cell.cell_type for cell in handed_out.cells] == [
        cell.cell_type for cell in written.cells
    ]


def test_a_lab_opens_the_module_and_reloads_it(stage: Stage, lab: NotebookNode):
    """Its first code cell is locked and sets up all that the others use."""
    first = next(filter(is_code, lab.cells))
    lines = first.source.splitlines()

    assert told(first).locked
    assert lines[:2] == ["%load_ext autoreload", "%autoreload 2"]
    assert f"import {stage.module}" in lines
    assert lines[-1] == "lab = Lab()"


def test_a_lab_draws_heatmaps(lab: NotebookNode):
    """At least one picture puts words on its axes."""
    assert any("heatmaps(" in cell.source for cell in lab.cells if is_code(cell))


def test_a_lab_needs_exercises_that_exist(stage: Stage, lab: NotebookNode):
    """A name that no exercise has would never come alive; every exercise is shown at work."""
    assert set(needed(lab)) == {exercise.name for exercise in stage.exercises}


def test_prose_is_plain_markdown(lab: NotebookNode):
    """No raw HTML, which viewers treat each in its own way, and no picture from elsewhere."""
    for cell in lab.cells:
        prose = "" if is_code(cell) else CODE.sub("", cell.source)
        targets = [inline or reference for inline, reference in LINK.findall(prose)]
        assert not HTML.search(prose), cell.source
        assert not [target for target in targets if REMOTE.match(target)], cell.source
        assert "attachments" not in cell
