"""Tests that every lab runs in a kernel and is valid as students receive it.

One kernel runs all labs, because starting one is slow: it imports torch, and its sandbox does too.
"""

import ast
import asyncio
import functools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.nbgraderformat import MetadataValidator

from autograder import course as courses
from autograder.course import SHARED, Stage
from autograder.grading.suite_runner import open_suites
from autograder.submission.written_answers import answered_questions, answers

COURSE = courses.load(Path(__file__).parents[2])
CELL_SECONDS = 120  # a kernel's first check waits for torch, on a busy machine
OPENING = """
import functools
import matplotlib.pyplot
from autograder.student import lab, pictures
lab.own_workers = functools.cache(lab.own_workers)  # one for all labs of this kernel
pictures.draw = pictures._image
"""
LOOP_SECONDS = 0.05  # limit for each cell that runs an endless loop
LONG_SECONDS = 60  # limit for every other cell, on a busy machine
FRESH = """
import gc
gc.freeze()  # `%reset` would look through all that was imported and made before
%reset -f
import os, sys
os.chdir({folder!r})
sys.modules.pop("test_public", None)  # of the previous lab; a student has one lab per kernel
from autograder.student import lab, pictures
lab.CELL_SECONDS = {seconds}
pictures.SHARP = 0.5  # saves time, as does what the next lines leave out
lab.heatmaps = pictures.heatmaps if {drawn} else (lambda *_tables, **_words: None)
pictures._image = pictures.draw if {drawn} else (lambda *_picture: "")
lab.explore = pictures.explore
"""
FOLLOWS = "moves the picture"
STAYS = "changes nothing"
EXPLORED = f"""

def _watched(draw, **starts):  # also prints of each control whether the picture follows it
    pictures.explore(draw, **starts)
    first = dict(zip(starts, map(pictures._first, starts.values())))
    for name, start in starts.items():
        moved = _seen(draw(**(first | {{name: _other(start)}}))) != _seen(draw(**first))
        print(name, {FOLLOWS!r} if moved else {STAYS!r})


def _other(start):
    if isinstance(start, (bool, str)):
        return not start if isinstance(start, bool) else start[::-1]
    return next(value for value in start if value != pictures._first(start))


def _seen(panels):  # titles, numbers and curves of a picture, which need not be drawn for that
    return [
        [axis.get_title(), [text.get_text() for text in (*axis.texts, *axis.get_yticklabels())],
         [line.get_ydata(orig=False).tolist() for line in axis.lines],
         [image.get_array().tolist() for image in axis.images]]
        for figure in panels.figures for axis in figure.axes
    ]


lab.explore = _watched
"""
WRONG_SHAPES = """

import torch


def _with_an_axis(value):
    return value[None] if isinstance(value, torch.Tensor) else [value]


def _wrapped(function):
    return lambda *values, **options: _with_an_axis(function(*values, **options))


for _name in {names!r}:
    _made = globals()[_name]
    if isinstance(_made, type):
        _made.forward = _wrapped(_made.forward)
    else:
        globals()[_name] = _wrapped(_made)
"""
TRAINING = re.compile(r"^STEPS = \d+$", re.MULTILINE)  # number of training steps in a cell
FEW_STEPS = "STEPS = 3"
METADATA = {"nbgrader", "deletable", "editable"}  # the last two lock a cell in Jupyter
LAB_FOLDERS = ("source", "assignments")
CODE = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
CODE_ONLY = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$", re.DOTALL)
INLINE = re.compile(r"\$([^$]+)\$")
COMMAND = re.compile(r"\\[a-zA-Z]+\s*|\\.|[{}_^ ]")
FIRST_EXPLORED = "01"
FIRST_MINUTES = 5  # a learner's first success comes soon
LONGEST_CELL = 25  # lines; longer code belongs in a module of the course
LONGEST_FORMULA = 36  # characters without commands: 300 pixels
HTML = re.compile(r"<[/!a-z]", re.IGNORECASE)
LINK = re.compile(r"\]\(\s*<?([^)\s>]*)|^\s*\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
IMAGE = re.compile(r"!\[")
PAPER_OR_LAB = re.compile(
    r"https://(arxiv\.org/abs/\d{4}\.\d{4,5}$|proceedings\.mlr\.press/)"
    r"|\.\./\d\d_\w+/lab\.ipynb$"
)


# Any cell that uses the student's code outside `lab.needs` fails with the stub already. With other
# unfinished code `lab.needs` prints a different line, as tests/kit/student/test_lab.py shows.
# Therefore `make test` gives such code to one lab of functions, `make test-slow` to one of classes,
# and the nightly tests give it to all labs.
ONCE = {"02": [], "04": pytest.mark.slow}
UNFINISHED = pytest.mark.parametrize(
    "stage",
    [
        pytest.param(
            stage,
            marks=ONCE.get(stage.name[:2], pytest.mark.nightly),
            id=stage.name,
        )
        for stage in COURSE.every_stage
    ],
)

TRAINED = [
    stage.name
    for stage in COURSE.every_stage
    if re.search(r'"STEPS = \d+\\n"', stage.lab.read_text("utf-8"))
]
RunLab = Callable[[str, str], NotebookNode]
Tour = Callable[[str], NotebookNode]


@pytest.fixture(scope="module")
def run_lab() -> Iterator[RunLab]:
    """Runs the lab of a stage from top to bottom with a module of ``module_text``, once."""
    with (
        TemporaryDirectory() as short,  # a socket's path has 108 characters
        asyncio.Runner() as loop,
    ):
        folder = Path(short)
        client = loop.run(start_kernel(folder))

        @functools.cache
        def run_once(stage: str, module: str) -> NotebookNode:
            return loop.run(run(COURSE.stage(stage), client, folder / module / stage, module))

        yield run_once
        loop.run(client.km.shutdown_kernel(now=True))
        client.kc.stop_channels()


@pytest.fixture(params=COURSE.every_stage, ids=lambda stage: stage.name)
def stage(request: pytest.FixtureRequest) -> Stage:
    """Each stage of the course."""
    return request.param


@pytest.fixture
def tour(stage: Stage, run_lab: RunLab) -> Tour:
    """Runs the lab of the stage with a module."""
    return functools.partial(run_lab, stage.name)


@pytest.fixture(params=LAB_FOLDERS)
def lab(request: pytest.FixtureRequest, stage: Stage) -> NotebookNode:
    """The lab of the stage, in source and as students receive it."""
    return read(request.param, stage)


@pytest.fixture(scope="module")
def points() -> dict[str, dict[str, float]]:
    """The points of each exercise's hidden checks, by stage."""
    stages = COURSE.every_stage
    with open_suites(COURSE, stages) as runner:
        return {stage.name: runner.points(stage) for stage in stages}


async def start_kernel(folder: Path) -> NotebookClient:
    """Start the kernel in which all labs run, without a history of its inputs."""
    kernel = AsyncKernelManager(
        kernel_name="python3", transport="ipc", connection_file=str(folder / "kernel.json")
    )
    await kernel.start_kernel(
        extra_arguments=["--HistoryManager.enabled=False"],
        env=os.environ | {"IPYTHONDIR": str(folder / "ipython"), "OMP_NUM_THREADS": "1"},
    )
    opening = new_notebook(cells=[new_code_cell(OPENING)])
    client = NotebookClient(opening, km=kernel, timeout=CELL_SECONDS, allow_errors=True)
    await client.async_execute()
    return client


async def run(stage: Stage, client: NotebookClient, folder: Path, module: str) -> NotebookNode:
    """Run every cell of the lab of *stage* in *folder*, even after a cell that fails.

    The checks run only with the stub and the solution, and pictures are drawn only with the
    solution. Models are trained for a few steps, but for all steps with the module "trained".
    """
    shutil.copytree(stage.assignment, folder)
    shutil.copytree(COURSE.shared, folder.parent / SHARED, dirs_exist_ok=True)
    (folder / f"{stage.module}.py").write_text(module_text(stage, module), "utf-8")
    client.nb = nbformat.read(folder / "lab.ipynb", as_version=4)
    if module != "trained":
        for cell in client.nb.cells:
            cell.source = TRAINING.sub(FEW_STEPS, cell.source)
    seconds = LOOP_SECONDS if module == "loop" else LONG_SECONDS
    drawn, checked = module == "solution", module in {"stub", "solution"}
    fresh = new_code_cell(FRESH.format(folder=str(folder), seconds=seconds, drawn=drawn))
    fresh.source += EXPLORED if drawn else ""
    cells = [
        cell for cell in client.nb.cells if checked or not cell.source.startswith("lab.check(")
    ]
    client.nb.cells = [fresh, *filter(is_code, cells)]
    return await client.async_execute()


def module_text(stage: Stage, module: str) -> str:
    """Return the module of *stage* before, during or after the student's work."""
    stub, solution = (path.read_text("utf-8") for path in (stage.stub, stage.solution))
    names = [exercise.name for exercise in stage.exercises]
    return {
        "stub": stub,
        "syntax error": f"{solution}\ndef broken(\n",
        "loop": stub.replace("raise NotImplementedError", "while True: pass"),
        "wrong shapes": solution + WRONG_SHAPES.format(names=names),
        "solution": solution,
        "trained": solution,
    }[module]


def read(folder: str, stage: Stage) -> NotebookNode:
    """Return the lab of *stage* below *folder*, without any upgrade."""
    path = COURSE.root / folder / stage.name / "lab.ipynb"
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def metadata_of(cell: NotebookNode) -> NotebookNode:
    """Return nbgrader's metadata of *cell*."""
    return cell.metadata.get("nbgrader", NotebookNode())


def grade_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells that the autograder grades, in order."""
    return [cell for cell in notebook.cells if metadata_of(cell).get("grade") and is_code(cell)]


def answer_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells for written answers."""
    return [cell for cell in notebook.cells if metadata_of(cell).get("grade") and not is_code(cell)]


def is_code(cell: NotebookNode) -> bool:
    """Return whether *cell* is a code cell."""
    return cell.cell_type == "code"


def outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """Yield every output of *notebook*."""
    return (output for cell in notebook.cells if is_code(cell) for output in cell.outputs)


def problems(notebook: NotebookNode) -> list[str]:
    """List the exceptions and warnings in *notebook*, which Jupyter shows in red."""
    red = [output for output in outputs(notebook) if is_red(output)]
    return [output.get("text") or f"{output.ename}: {output.evalue}" for output in red]


def is_red(output: NotebookNode) -> bool:
    """Return whether Jupyter shows *output* in red."""
    return output.output_type == "error" or output.get("name") == "stderr"


def printed(notebook: NotebookNode) -> str:
    """Return the text that the cells of *notebook* printed."""
    return "".join(output.text for output in outputs(notebook) if output.get("name") == "stdout")


def check_texts(notebook: NotebookNode) -> list[str]:
    """Return the plain text of each grade cell's output."""
    return [
        "".join(output.data["text/plain"] for output in cell.outputs if "data" in output)
        for cell in grade_cells(notebook)
    ]


def pictures(notebook: NotebookNode) -> int:
    """Count the pictures in *notebook*."""
    pages = (output.get("data", {}).get("text/html", "") for output in outputs(notebook))
    return sum(page.count("<img src=") for page in pages)


def uses(notebook: NotebookNode) -> int:
    """Count the cells of *notebook* that need an exercise."""
    return sum("with lab.needs(" in cell.source for cell in notebook.cells if is_code(cell))


def needed(notebook: NotebookNode) -> Iterator[str]:
    """Yield every exercise that a cell of *notebook* needs."""
    for cell in filter(is_code, notebook.cells):
        tree = ast.parse(re.sub(r"^%.*$", "", cell.source, flags=re.MULTILINE))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "lab.needs":
                yield from map(ast.literal_eval, node.args)


@pytest.mark.slow
def test_every_cell_runs_with_the_solution(tour: Tour):
    """With the solution there is no error, no cell waits for code, and there are pictures."""
    text = printed(tour("solution"))

    assert problems(tour("solution")) == []
    assert "could not run with" not in text
    assert "this cell runs once" not in text
    assert "was stopped" not in text
    assert pictures(tour("solution")) > 0


@pytest.mark.slow
def test_the_solution_completes_every_exercise(stage: Stage, tour: Tour):
    """With the solution the first line of each grade cell reports that its exercise is complete."""
    first_lines = [text.partition("\n")[0] for text in check_texts(tour("solution"))]

    assert first_lines == [f"✓ {exercise.name}: complete." for exercise in stage.exercises]


@pytest.mark.slow
def test_every_cell_runs_with_the_stub(tour: Tour):
    """With the stub there is no error, and each cell that needs code names the exercise."""
    text = printed(tour("stub"))

    assert problems(tour("stub")) == []
    assert "could not run with" not in text
    assert "this cell runs once" in text


@pytest.mark.slow
def test_the_stub_completes_no_exercise(stage: Stage, tour: Tour):
    """With the stub each grade cell reports that its exercise is not written yet."""
    first_lines = [text.partition("\n")[0] for text in check_texts(tour("stub"))]

    assert first_lines == [f"· {exercise.name}: not written yet." for exercise in stage.exercises]


@pytest.mark.nightly  # twenty seconds for each lab, which runs above with a few steps
@pytest.mark.parametrize("name", TRAINED)
def test_every_cell_trains_to_the_end(name: str, run_lab: RunLab):
    """With the solution and all steps of training there is no error, and no cell is stopped."""
    assert problems(run_lab(name, "trained")) == []
    assert "was stopped" not in printed(run_lab(name, "trained"))


@UNFINISHED
def test_every_cell_runs_with_a_syntax_error(stage: Stage, tour: Tour):
    """Each cell that needs code gives the place of the error, and no old code runs instead."""
    lines = printed(tour("syntax error")).splitlines()
    waiting = [line for line in lines if line.startswith("This cell waits for ")]
    last = len(stage.solution.read_text("utf-8").splitlines()) + 2

    assert problems(tour("syntax error")) == []
    assert len(waiting) == uses(tour("syntax error"))
    assert all(f"{stage.module}.py, line {last}: '(' was never closed" in line for line in waiting)


@UNFINISHED
def test_every_cell_runs_with_an_endless_loop(tour: Tour):
    """Each cell that runs the endless loop is stopped, and its output gives the line."""
    assert problems(tour("loop")) == []
    assert re.search(r"This cell was stopped after \d s, in line \d", printed(tour("loop")))


@UNFINISHED
def test_every_cell_runs_with_wrong_shapes(tour: Tour):
    """A cell describes a result of the wrong shape in one line."""
    assert problems(tour("wrong shapes")) == []
    assert "this cell runs once" not in printed(tour("wrong shapes"))


def test_a_lab_is_clean(lab: NotebookNode):
    """A lab has no outputs, no execution counts, and no metadata except nbgrader's."""
    assert list(outputs(lab)) == []
    assert {cell.execution_count for cell in lab.cells if is_code(cell)} == {None}
    assert {key for cell in lab.cells for key in cell.metadata} <= METADATA
    assert set(lab.metadata) == {"kernelspec", "language_info"}


def test_nbgrader_and_jupyter_can_read_a_lab(lab: NotebookNode):
    """A lab is a valid notebook and a valid assignment."""
    nbformat.validate(lab)
    MetadataValidator().validate_nb(lab)


def test_each_exercise_has_one_locked_grade_cell(stage: Stage, lab: NotebookNode):
    """Grade cells are in the order of stage.toml, and hold only the check."""
    names = [exercise.name for exercise in stage.exercises]
    cells = grade_cells(lab)

    assert [metadata_of(cell).grade_id for cell in cells] == names
    assert [cell.source for cell in cells] == [f'lab.check("{name}")' for name in names]
    assert all(metadata_of(cell).locked and not metadata_of(cell).solution for cell in cells)


def test_a_grade_cell_has_the_points_of_its_hidden_checks(
    stage: Stage, lab: NotebookNode, points: dict[str, dict[str, float]]
):
    """A grade cell has the points of its hidden checks; all cells of a lab are worth ten."""
    worth = {metadata_of(cell).grade_id: metadata_of(cell).points for cell in grade_cells(lab)}

    assert worth.keys() == points[stage.name].keys()
    assert not stage.file.graded or worth == points[stage.name]
    assert sum(worth.values()) == pytest.approx(10.0 if stage.file.graded else 0.0)


def test_a_lab_asks_one_or_two_questions(stage: Stage, lab: NotebookNode):
    """A lab has one or two questions with cells for answers, worth extra points."""
    answers = answer_cells(lab)

    assert len(answers) in ({1, 2} if stage.file.graded else {0})
    for cell in answers:
        assert metadata_of(cell).solution
        assert not metadata_of(cell).locked
        assert metadata_of(cell).points > 0


def test_a_model_answer_follows_each_answer(lab: NotebookNode):
    """The cell below an answer shows it, once there is an answer."""
    sources = [cell.source for cell in lab.cells]
    for cell in answer_cells(lab):
        following = sources[lab.cells.index(cell) + 1]

        assert following == f'lab.model_answer("{metadata_of(cell).grade_id}")'


def test_every_question_has_a_mark_scheme_for_graders_only(stage: Stage):
    """The mark scheme is in the locked question in source, and students receive no line of it."""
    schemes = [cell for cell in read("source", stage).cells if "BEGIN MARK SCHEME" in cell.source]
    received = (stage.assignment / "lab.ipynb").read_text("utf-8")

    assert len(schemes) == len(answer_cells(read("source", stage)))
    assert "MARK SCHEME" not in received.upper()
    for cell in schemes:
        scheme = cell.source.partition("### BEGIN MARK SCHEME\n")[2]
        lines = scheme.partition("\n### END MARK SCHEME")[0].splitlines()
        assert metadata_of(cell).locked
        assert lines
        assert not [line for line in lines if line and line in received]


def test_students_receive_the_source_lab(stage: Stage):
    """Students receive the source lab without mark schemes and contents of answers."""
    source, received = read("source", stage), read("assignments", stage)
    for cell in answer_cells(source):
        cell.source = "YOUR ANSWER HERE"  # nbgrader's placeholder
    texts = [cell.source.partition("### BEGIN MARK SCHEME")[0].strip() for cell in source.cells]

    assert [cell.source.strip() for cell in received.cells] == texts
    assert [cell.cell_type for cell in received.cells] == [cell.cell_type for cell in source.cells]


def test_a_lab_begins_with_the_lab(stage: Stage, lab: NotebookNode):
    """The first code cell is locked, and works even if the module can't be imported."""
    first = next(filter(is_code, lab.cells))

    assert metadata_of(first).locked
    assert first.source.splitlines()[-2:] == [
        f'lab = Lab("{stage.name}")',  # its folder need not be the kernel's
        f"{stage.module} = lab.module()",
    ]


def test_a_lab_draws_the_shapes(lab: NotebookNode):
    """One diagram of each lab shows the shapes from the inputs to the result."""
    assert sum(cell.source.startswith("shapes(") for cell in lab.cells) == 1


def test_a_cell_fits_a_screen(lab: NotebookNode):
    """No code cell of a lab has more than 25 lines."""
    long = [cell for cell in lab.cells if len(cell.source.splitlines()) > LONGEST_CELL]

    assert [cell.source for cell in filter(is_code, long)] == []


def test_formulas_in_a_line_fit_a_narrow_screen(lab: NotebookNode):
    """A formula does not wrap, so a long sum is written as several formulas with signs between."""
    texts = (CODE_ONLY.sub("", cell.source) for cell in lab.cells if cell.cell_type == "markdown")
    formulas = [formula for text in texts for formula in INLINE.findall(text)]

    assert [one for one in formulas if len(COMMAND.sub("", one)) > LONGEST_FORMULA] == []


def test_a_lab_says_how_long_the_stage_takes(stage: Stage, lab: NotebookNode):
    """A lab states the minutes of the stage that `progress` adds up, and those of reading."""
    said = rf"\*\*Time:\*\* about {stage.minutes} minutes, \d+ of them for reading\."

    assert not stage.file.graded or re.search(said, lab.cells[0].source)


def test_the_first_exercise_that_gives_points_takes_five_minutes():
    """The first exercise with points takes at most five minutes, reading included."""
    stage = COURSE.stages[0]

    assert 0 < stage.exercises[0].minutes <= FIRST_MINUTES


def test_a_lab_ends_with_the_way_to_the_next(stage: Stage):
    """The last cell links to the next stage and names the command."""
    text = read("assignments", stage).cells[-1].source
    names = COURSE.file.stages
    *_, last = names
    following = names[1] if stage.name == last else names[names.index(stage.name) + 1]

    assert f"](../{following}/lab.ipynb)" in text
    assert f"`autograder {'progress' if stage.name == last else 'next'}`" in text


def test_learners_and_readers_of_the_documents_have_the_same_page_before_the_start():
    """The page with ten questions is in the documents and next to the stages."""
    page = (COURSE.root / "docs" / "before-you-start.md").read_text("utf-8")

    assert (COURSE.shared_source / "before-you-start.md").read_text("utf-8") == page


def test_a_lab_with_a_picture_ends_with_a_hunt(stage: Stage):
    """The last cell names the bug hunt of the stage, which needs a picture."""
    text = read("assignments", stage).cells[-1].source

    assert (f"`autograder hunt {stage.name[:2]}`" in text) is bool(stage.file.picture)


def test_a_lab_draws_heatmaps(lab: NotebookNode):
    """At least one cell of each lab draws a heatmap."""
    assert any("heatmaps(" in cell.source for cell in lab.cells if is_code(cell))


@pytest.mark.slow
def test_a_picture_follows_its_controls(stage: Stage, tour: Tour):
    """From stage 01 on a lab has a picture to explore, and each control changes it."""
    cells = [cell.source for cell in read("source", stage).cells if "explore(" in cell.source]
    lines = printed(tour("solution")).splitlines()
    moved = [line for line in lines if line.endswith(FOLLOWS)]

    assert cells or stage.name < FIRST_EXPLORED
    assert len(moved) >= len(cells)
    assert not [line for line in lines if line.endswith(STAYS)]


def asked(notebook: NotebookNode) -> dict[str, list[str]]:
    """Return the choices of each question that *notebook* asks before an experiment, by name."""
    calls = [
        ast.parse(cell.source).body[0].value
        for cell in notebook.cells
        if is_code(cell) and cell.source.startswith("lab.predict(")
    ]
    return {
        next(ast.literal_eval(word.value) for word in call.keywords if word.arg == "name"): (
            ast.literal_eval(call.args[1])
        )
        for call in calls
    }


def test_each_prediction_has_an_answer_behind_it(stage: Stage, lab: NotebookNode):
    """A lab opens each answer after its question, and the answer names one of its choices."""
    known, choices = answers(stage.source), asked(lab)
    sources = [cell.source for cell in lab.cells]

    assert known.keys() == choices.keys()
    for name, answer in known.items():
        assert 1 <= answer.right <= len(choices[name])
        (question,) = [one for one in sources if f'name="{name}"' in one]
        assert sources.index(f'lab.answer("{name}")') > sources.index(question)
    assert ("lab.guesses()" in sources) == bool(known)
    assert len(answered_questions(stage)) == len(known)


def test_a_lab_needs_exercises_that_exist(stage: Stage, lab: NotebookNode):
    """The cells of a lab need every exercise of the stage, and no other name."""
    assert set(needed(lab)) == {exercise.name for exercise in stage.exercises}


def test_text_is_plain_markdown(lab: NotebookNode):
    """The text of a lab has no HTML, and links only to papers and stages."""
    for cell in lab.cells:
        text = "" if is_code(cell) else CODE.sub("", cell.source)
        targets = [inline or reference for inline, reference in LINK.findall(text)]
        assert not HTML.search(text), cell.source
        assert not IMAGE.search(text), cell.source
        assert all(map(PAPER_OR_LAB.match, targets)), cell.source
        assert "attachments" not in cell
