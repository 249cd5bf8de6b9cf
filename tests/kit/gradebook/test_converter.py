"""`nbgrader autograde` and formgrader's button, on whatever a class hands in."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import Autograde as NbgraderAutograde

from autograder.course import Course
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.writer import Writer
from autograder.grading import grade as grading
from autograder.sandbox.isolation import detect_capabilities
from autograder.submission import collect
from tests.kit.conftest import SOLUTION
from tests.kit.gradebook.conftest import (
    CELLS,
    CONFIG,
    STAGE,
    Row,
    autograded,
    by_name,
    cell,
    dump,
    named,
    notebook,
    query,
    rows,
    run,
)

pytestmark = [
    pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # torch keeps idle threads
]

STRANGE = "o'hara & söhne, 你"
HALF = "def double(x):\n    return x + x\n"
WRONG = "def double(x):\n    return 3 * x\n"
ANSWERED = notebook(*(
    {**item, "source": "Since x + x."} if named(item) == "why" else item for item in CELLS
))  # fmt: skip
IN_CELLS = notebook(cell("code", "import torch"), *CELLS, cell("code", HALF))
IN_TIME, LATE = b"2026-10-01 10:00:00 UTC", b"2026-11-01 11:00:00 UTC"
CLASS = {
    "ada": {"tiny.py": SOLUTION.encode(), "lab.ipynb": ANSWERED, "notes.txt": b"mine"},
    "bob": {"tiny.py": HALF.encode()},
    "cleo": {"lab.ipynb": IN_CELLS},
    "dan": {"tiny.py": SOLUTION.encode(), "lab.ipynb": b'{"cells": [', "timestamp.txt": LATE},
    "eve": {"tiny.py": WRONG.encode(), "lab (1).ipynb": ANSWERED},
    "fay": {},
    STRANGE: {"tiny.py": SOLUTION.encode(), "lab.ipynb": ANSWERED},
}
AUTO = {  # double, Scale, why
    "ada": (5.0, 5.0, None),
    "bob": (5.0, 0.0, 0.0),
    "cleo": (5.0, 0.0, 0.0),
    "dan": (5.0, 5.0, 0.0),
    "eve": (0.0, 0.0, None),
    "fay": (0.0, 0.0, 0.0),
    STRANGE: (5.0, 5.0, None),
}
LATE_COSTS_ALL = "c.LateSubmissionPlugin.penalty_method = 'zero'\n"


class Graded(NamedTuple):
    """A class after `nbgrader autograde`, and what that said."""

    root: Path
    rows: dict[str, dict[str, Row]]
    files: dict[str, dict[str, bytes]]
    said: str
    trace: Path  # would be there if a kernel had been started
    kernels: Path


def hand_in(root: Path, student: str, files: dict[str, bytes]) -> None:
    """Put *files* where nbgrader collects what *student* hands in."""
    folder = root / "submitted" / student / STAGE
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def all_rows(root: Path) -> dict[str, dict[str, Row]]:
    """What the gradebook knows of everybody."""
    return {student: rows(root, student) for (student,) in query(root, "select id from student")}


@pytest.fixture(scope="session")
def graded(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """The class, graded by the command."""
    home = tmp_path_factory.mktemp("class")
    root = shutil.copytree(template, home / "course")
    (root / "nbgrader_config.py").write_text(CONFIG + LATE_COSTS_ALL, "utf-8")
    query(root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    trace = plant_kernel(home / "jupyter")
    for student, files in CLASS.items():
        hand_in(root, student, {"timestamp.txt": IN_TIME, **files})
    (root / "submitted" / "ada" / STAGE / "link.txt").symlink_to(root / "course.toml")
    said = run(root, "nbgrader", "autograde", STAGE, JUPYTER_PATH=str(home / "jupyter"))
    files = {student: autograded(root, student) for student in CLASS}
    return Graded(root, all_rows(root), files, said, trace, home / "jupyter")


def plant_kernel(folder: Path) -> Path:
    """Make a Python kernel that leaves a trace and dies."""
    trace = folder / "started"
    spec = {"argv": ["/bin/touch", str(trace)], "display_name": "Python 3", "language": "python"}
    (folder / "kernels" / "python3").mkdir(parents=True)
    (folder / "kernels" / "python3" / "kernel.json").write_text(json.dumps(spec), "utf-8")
    return trace


@pytest.fixture
def api(course: Course, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """What formgrader's buttons call, on a course that has ada's hand-in."""
    request.getfixturevalue("lent_fork_server")
    monkeypatch.setattr(grading, "cores", lambda: 1)
    hand_in(course.root, "ada", CLASS["ada"])
    return NbGraderAPI(config=NbgraderSetup(course).config)


def test_everybody_has_what_they_earned(graded: Graded):
    """A module, a notebook, both, a damaged one, a renamed one, nothing, and an unusual name."""
    names = ("double", "Scale", "why")
    earned = {
        student: tuple(found[name].auto for name in names) for student, found in graded.rows.items()
    }

    assert earned == AUTO
    assert "Grading 7 submissions of 01_tiny" in graded.said


@pytest.mark.usefixtures("lent_fork_server")
def test_scores_are_those_of_our_own_command(
    course: Course, graded: Graded, monkeypatch: pytest.MonkeyPatch
):
    """Row by row and file by file, however the class was graded."""
    monkeypatch.setattr(grading, "cores", lambda: 1)
    shutil.copytree(graded.root / "submitted", course.root / "submitted", symlinks=True)
    submissions = list(collect(course.root / "submitted", course.stages))
    writer = Writer(course, submissions)
    writer.write(submissions, grading.grade(course, submissions).submissions)

    assert all_rows(course.root) == graded.rows
    for student in CLASS:
        assert cells(autograded(course.root, student)) == cells(graded.files[student])


def cells(files: dict[str, bytes]) -> dict[str, object]:
    """The files of a student; nbconvert writes a notebook's keys in another order."""
    return {**files, "lab.ipynb": json.loads(files["lab.ipynb"])["cells"]}


def test_no_kernel_was_started(graded: Graded, monkeypatch: pytest.MonkeyPatch):
    """Although the one that nbgrader would have started leaves a trace."""
    monkeypatch.setenv("JUPYTER_PATH", str(graded.kernels))

    assert str(graded.trace) in KernelSpecManager().get_kernel_spec("python3").argv
    assert not graded.trace.exists()


def test_formgrader_gets_lab_module_and_time_only(graded: Graded):
    """No other file is copied, and no link followed."""
    assert set(graded.files["ada"]) == {"lab.ipynb", "tiny.py", "timestamp.txt"}
    assert set(graded.files["cleo"]) == {"lab.ipynb", "timestamp.txt"}
    assert graded.files["bob"]["tiny.py"] == HALF.encode()


def test_every_notebook_is_a_lab_again(graded: Graded):
    """The renamed one with its answer, the others with blank ones."""
    labs = {
        student: by_name(nbformat.reads(files["lab.ipynb"].decode(), 4))
        for student, files in graded.files.items()
    }

    assert labs["eve"]["why"]["source"] == "Since x + x."
    assert labs["dan"]["why"]["source"] == "YOUR ANSWER HERE"
    assert {tuple(lab) for lab in labs.values()} == {tuple(labs["ada"])}


def test_lateness_costs_what_the_instructor_set(graded: Graded):
    """In nbgrader_config.py, below our own lines; no second course comes into being."""
    told = query(
        graded.root,
        "select student_id, late_submission_penalty from submitted_notebook join"
        " submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
        " where late_submission_penalty is not null",
    )

    assert told == [("dan", 10.0)]
    assert query(graded.root, "select id from course") == [("tiny",)]


@pytest.mark.parametrize(
    ("stamp", "points"),
    [
        pytest.param(IN_TIME, 5.0, id="same-time"),
        pytest.param(b"2026-09-01 10:00:00 UTC", 5.0, id="earlier"),
        pytest.param(b"soon", 5.0, id="no-time"),
        pytest.param(LATE, 0.0, id="newer"),
    ],
)
def test_what_is_graded_is_graded_again_when_it_is_newer(
    course: Course, api: NbGraderAPI, stamp: bytes, points: float
):
    """As in nbgrader; what was given by hand stays in any case."""
    hand_in(course.root, "ada", {"timestamp.txt": IN_TIME})
    api.autograde(STAGE, "ada", force=False)
    query(course.root, "update grade set manual_score = 1.5 where auto_score is null")
    hand_in(course.root, "ada", {"tiny.py": b"", "timestamp.txt": stamp})
    done = api.autograde(STAGE, "ada", force=False)

    assert done["success"], done
    assert rows(course.root)["double"].auto == points
    assert rows(course.root)["why"] == Row(None, 1.5, None, waits=True)


def test_what_is_no_stage_is_refused(course: Course):
    """Unprotected, nbgrader would run its cells; the exit code tells scripts."""
    (course.root / "submitted" / "ada" / "other").mkdir(parents=True)
    said = run(course.root, "nbgrader", "autograde", "other", code=1)

    assert "'other' is no stage of course.toml" in said
    assert "Stages: 01_tiny." in said
    assert "Traceback" not in said


def test_the_button_grades(course: Course, api: NbGraderAPI):
    """And grades again, since it always forces."""
    done = api.autograde(STAGE, "ada")
    before = rows(course.root)
    hand_in(course.root, "ada", {"tiny.py": WRONG.encode()})
    again = api.autograde(STAGE, "ada")

    assert (done["success"], again["success"]) == (True, True), done
    assert (before["double"].auto, rows(course.root)["double"].auto) == (5.0, 0.0)
    assert api.get_autograded_students(STAGE) == {"ada"}


def test_the_button_tells_what_is_wrong(course: Course, api: NbGraderAPI):
    """In the window that formgrader opens."""
    course.stage(STAGE).lab.unlink()
    done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert "lab.ipynb is missing; nbgrader keeps the points of a stage in its lab." in done["log"]


def test_the_button_tells_when_there_is_no_grade(
    course: Course, api: NbGraderAPI, monkeypatch: pytest.MonkeyPatch
):
    """Our own failure writes nothing and keeps the older grade."""
    api.autograde(STAGE, "ada")
    before = dump(course.root)
    monkeypatch.setattr(grading, "Session", lambda *_arguments, **_options: 1 / 0)
    with monkeypatch.context() as patch:
        patch.setattr(grading.SuiteRunner, "grade_submission", lambda *_arguments: 1 / 0)
        patch.setattr(grading, "Session", Closed)
        done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert "The grader failed, not the student; there is no grade." in done["log"]
    assert dump(course.root) == before


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own rows raise it
def test_our_steps_grade_in_nbgraders_own_converter_too(
    course: Course, api: NbGraderAPI, monkeypatch: pytest.MonkeyPatch
):
    """Where ours is not in place, a lab beside its module is graded in the sandbox all the same."""
    monkeypatch.setattr("nbgrader.apps.api.Autograde", NbgraderAutograde)
    hand_in(course.root, "ada", CLASS["ada"])
    done = api.autograde(STAGE, "ada")

    assert done["success"], done
    assert [rows(course.root)[name].auto for name in ("double", "Scale", "why")] == [*AUTO["ada"]]


class Closed:
    """A session that can only be closed."""

    def __init__(self, *_arguments: object, **_options: object) -> None:
        pass

    def close(self) -> None:
        """Do nothing."""


def test_a_student_must_be_known_where_asked(course: Course, api: NbGraderAPI):
    """--create=False is nbgrader's own option."""
    done = api.autograde(STAGE, "ada", create=False)

    assert not done["success"]
    assert "No student with ID 'ada' exists in the database" in done["log"]
    assert rows(course.root) == {}


def test_a_folder_that_is_nobodys_id_is_named(course: Course, api: NbGraderAPI):
    """No page and no file could be named after it."""
    hand_in(course.root, "a<b>", CLASS["bob"])
    done = api.autograde(STAGE, "a<b>")

    assert not done["success"]
    assert "Rename it, such as to 'a_b_~" in done["log"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        pytest.param("student_id_exclude", "bob,cy", id="excluded"),
        pytest.param("student_id", "a*", id="chosen"),
    ],
)
def test_nbgraders_options_choose(course: Course, api: NbGraderAPI, option: str, value: str):
    """By name, or all but some."""
    hand_in(course.root, "bob", CLASS["bob"])
    setattr(api.coursedir, option, value)
    done = api.autograde(STAGE, getattr(api.coursedir, "student_id", "*"))

    assert done["success"], done
    assert set(all_rows(course.root)) == {"ada"}


def test_another_notebook_is_not_ours_to_grade(api: NbGraderAPI):
    """A stage has one lab."""
    api.coursedir.notebook_id = "other"
    done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert "No notebooks were matched" in done["log"]
