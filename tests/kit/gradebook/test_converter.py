"""Tests `nbgrader autograde` and formgrader's button, for anything that a class submits."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import msgspec
import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import Autograde as NbgraderAutograde

from autograder.course import Course
from autograder.gradebook import writer
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.writer import Writer
from autograder.grading import grade as grading
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import collect
from autograder.submission.assemble import note_answers
from tests.kit.commands import run
from tests.kit.factories import (
    CELLS,
    CONFIG,
    SOLUTION,
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
)

pytestmark = [
    pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # torch keeps idle threads
]

UNUSUAL = "o'hara & söhne, 你"
HALF = "def double(x):\n    return x + x\n"
WRONG = "def double(x):\n    return x.cos()\n"
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
    UNUSUAL: {"tiny.py": SOLUTION.encode(), "lab.ipynb": ANSWERED},
}
AUTO = {  # double, Scale, why
    "ada": (5.0, 5.0, None),
    "bob": (5.0, 0.0, 0.0),
    "cleo": (5.0, 0.0, None),  # the answer may be in another cell
    "dan": (5.0, 5.0, None),  # the lab is damaged
    "eve": (0.0, 0.0, None),
    "fay": (None, None, 0.0),
    UNUSUAL: (5.0, 5.0, None),
}
LATE_COSTS_ALL = "c.LateSubmissionPlugin.penalty_method = 'zero'\n"


class Graded(NamedTuple):
    """A class after `nbgrader autograde`, and its output."""

    root: Path
    rows: dict[str, dict[str, Row]]
    files: dict[str, dict[str, bytes]]
    output: str
    trace: Path  # would exist if a kernel had been started
    kernels: Path


def submit(root: Path, student: str, files: dict[str, bytes]) -> None:
    """Put *files* into nbgrader's folder for the submission of *student*."""
    folder = root / "submitted" / student / STAGE
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def all_rows(root: Path) -> dict[str, dict[str, Row]]:
    """The rows of all students in the gradebook."""
    return {student: rows(root, student) for (student,) in query(root, "select id from student")}


@pytest.fixture(scope="session")
def graded(
    template: Path, tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer
) -> Graded:
    """The class, graded by the command."""
    home = tmp_path_factory.mktemp("class")
    root = shutil.copytree(template, home / "course")
    (root / "nbgrader_config.py").write_text(CONFIG + LATE_COSTS_ALL, "utf-8")
    query(root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    trace = install_kernel(home / "jupyter")
    for student, files in CLASS.items():
        submit(root, student, {"timestamp.txt": IN_TIME, **files})
    (root / "submitted" / "ada" / STAGE / "link.txt").symlink_to(root / "course.toml")
    with pytest.MonkeyPatch.context() as patch:
        reuse(fork_server, patch)
        output = run(root, "nbgrader", "autograde", STAGE, JUPYTER_PATH=str(home / "jupyter"))
    files = {student: autograded(root, student) for student in CLASS}
    return Graded(root, all_rows(root), files, output, trace, home / "jupyter")


def install_kernel(folder: Path) -> Path:
    """Make a Python kernel that leaves a trace and dies."""
    trace = folder / "started"
    spec = {"argv": ["/bin/touch", str(trace)], "display_name": "Python 3", "language": "python"}
    (folder / "kernels" / "python3").mkdir(parents=True)
    (folder / "kernels" / "python3" / "kernel.json").write_text(json.dumps(spec), "utf-8")
    return trace


def reuse(fork_server: ForkServer, patch: pytest.MonkeyPatch) -> None:
    """Grade with *fork_server*, so that a test does not wait for torch."""
    patch.setattr(grading, "ForkServer", lambda *_arguments, **_options: nullcontext(fork_server))
    patch.setattr(grading, "cores", lambda: 1)


@pytest.fixture
def api(course: Course, monkeypatch: pytest.MonkeyPatch, fork_server: ForkServer) -> NbGraderAPI:
    """The functions behind formgrader's buttons, for a course with ada's submission."""
    reuse(fork_server, monkeypatch)
    submit(course.root, "ada", CLASS["ada"])
    return NbGraderAPI(config=NbgraderSetup.of_course(course).config)


def test_every_submission_gets_its_points(graded: Graded):
    """A module, a notebook, both, a damaged or renamed notebook and no file get their points."""
    names = ("double", "Scale", "why")
    earned = {
        student: tuple(found[name].auto for name in names) for student, found in graded.rows.items()
    }

    assert earned == AUTO
    assert "Grading 7 submissions of 01_tiny" in graded.output


def test_rows_and_files_are_those_of_our_command(
    course: Course, graded: Graded, monkeypatch: pytest.MonkeyPatch, fork_server: ForkServer
):
    """`nbgrader autograde` writes the same rows and files as `autograder grade`."""
    reuse(fork_server, monkeypatch)
    shutil.copytree(graded.root / "submitted", course.root / "submitted", symlinks=True)
    found = collect(course.root / "submitted", course.stages)
    submissions = [note_answers(one, course.stages) for one in found]
    Writer(course, submissions).write(submissions, grading.grade(course, submissions).submissions)

    assert all_rows(course.root) == graded.rows
    for student in CLASS:
        assert autograded(course.root, student) == graded.files[student]


def test_no_kernel_was_started(graded: Graded, monkeypatch: pytest.MonkeyPatch):
    """No kernel is started: a Python kernel that would leave a trace has left none."""
    monkeypatch.setenv("JUPYTER_PATH", str(graded.kernels))

    assert str(graded.trace) in KernelSpecManager().get_kernel_spec("python3").argv
    assert not graded.trace.exists()


def test_formgrader_gets_lab_module_and_time_only(graded: Graded):
    """Formgrader gets lab, module and timestamp; no other file is copied, no link followed."""
    assert set(graded.files["ada"]) == {"lab.ipynb", "tiny.py", "timestamp.txt"}
    assert set(graded.files["cleo"]) == {"lab.ipynb", "timestamp.txt"}
    assert graded.files["bob"]["tiny.py"] == HALF.encode()


def test_every_notebook_becomes_a_lab(graded: Graded):
    """A renamed notebook keeps its answer, and a damaged one shows none."""
    labs = {
        student: by_name(nbformat.reads(files["lab.ipynb"].decode(), 4))
        for student, files in graded.files.items()
    }

    assert labs["eve"]["why"]["source"] == "Since x + x."
    assert labs["dan"]["why"]["source"] == "YOUR ANSWER HERE"
    assert {tuple(lab) for lab in labs.values()} == {tuple(labs["ada"])}


def test_lateness_costs_what_the_instructor_set(graded: Graded):
    """The penalty that the instructor set applies, and no second course is added."""
    penalties = query(
        graded.root,
        "select student_id, late_submission_penalty from submitted_notebook join"
        " submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
        " where late_submission_penalty is not null",
    )

    assert penalties == [("dan", 10.0)]
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
def test_a_newer_submission_is_graded_again(
    course: Course, api: NbGraderAPI, stamp: bytes, points: float
):
    """Nbgrader's rule decides which submissions are graded again; manual scores always stay."""
    submit(course.root, "ada", {"timestamp.txt": IN_TIME})
    api.autograde(STAGE, "ada", force=False)
    query(course.root, "update grade set manual_score = 1.5 where auto_score is null")
    submit(course.root, "ada", {"tiny.py": b"", "timestamp.txt": stamp})
    done = api.autograde(STAGE, "ada", force=False)

    assert done["success"], done
    assert rows(course.root)["double"].auto == points
    assert rows(course.root)["why"] == Row(None, 1.5, None, waits=True)


@pytest.fixture
def without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take full isolation from this machine."""
    weak = msgspec.structs.replace(detect_capabilities(), level="process", reason="No Landlock.")
    monkeypatch.setattr("autograder.sandbox.isolation.detect_capabilities", lambda: weak)


@pytest.mark.usefixtures("without_landlock")
def test_without_landlock_the_button_names_the_setting(api: NbGraderAPI):
    """Without Landlock the message names a setting, because the button has no flag for it."""
    done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert "No Landlock. To grade with less isolation, write `c.Autograde.isolation" in done["log"]
    assert "--isolation" not in done["log"]


@pytest.mark.usefixtures("without_landlock")
@pytest.mark.parametrize("file", ["nbgrader_config.py", "course.toml"])
def test_either_file_may_ask_for_less_isolation(
    course: Course, monkeypatch: pytest.MonkeyPatch, fork_server: ForkServer, file: str
):
    """Either file may accept less isolation, and the log reports it each time."""
    reuse(fork_server, monkeypatch)
    submit(course.root, "ada", CLASS["ada"])
    (course.root / "nbgrader_config.py").write_text(CONFIG, "utf-8")
    text = {
        "nbgrader_config.py": "\nc.Autograde.isolation = 'process'\n",
        "course.toml": "\n[grading]\nisolation = 'process'\n",
    }
    with (course.root / file).open("a", encoding="utf-8") as settings:
        settings.write(text[file])
    output = run(course.root, "nbgrader", "autograde", STAGE)

    assert "isolation process" in output
    assert "Isolation process: student code can read and write your files" in output
    assert rows(course.root)["double"].auto == 5.0


def test_an_assignment_that_is_not_a_stage_is_refused(course: Course):
    """An assignment that is not a stage is refused, because nbgrader would run it unprotected."""
    (course.root / "submitted" / "ada" / "other").mkdir(parents=True)
    output = run(course.root, "nbgrader", "autograde", "other", code=1)

    assert "'other' is not a stage of course.toml" in output
    assert "autograder new-stage" in output
    assert "Stages: 01_tiny." in output
    assert "Traceback" not in output


def test_the_button_grades(course: Course, api: NbGraderAPI):
    """Formgrader's button grades again each time."""
    done = api.autograde(STAGE, "ada")
    before = rows(course.root)
    submit(course.root, "ada", {"tiny.py": WRONG.encode()})
    again = api.autograde(STAGE, "ada")

    assert (done["success"], again["success"]) == (True, True), done
    assert (before["double"].auto, rows(course.root)["double"].auto) == (5.0, 0.0)
    assert api.get_autograded_students(STAGE) == {"ada"}


def test_the_button_reports_what_is_wrong(course: Course, api: NbGraderAPI):
    """The log in formgrader's window contains the error."""
    course.stage(STAGE).lab.unlink()
    done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert "lab.ipynb is missing; nbgrader reads the points of a stage from its lab." in done["log"]


def test_the_button_reports_a_missing_grade(
    course: Course, api: NbGraderAPI, monkeypatch: pytest.MonkeyPatch
):
    """A failure of the grader writes nothing and keeps the older grade and its notebook."""
    api.autograde(STAGE, "ada")
    before = dump(course.root), autograded(course.root)
    with monkeypatch.context() as patch:
        patch.setattr(grading.SuiteRunner, "grade_submission", lambda *_arguments: 1 / 0)
        patch.setattr(grading, "Session", Closed)
        done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert "The grader failed, not the student; there is no grade." in done["log"]
    assert (dump(course.root), autograded(course.root)) == before


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own rows raise it
def test_nbgraders_own_converter_refuses(
    course: Course, api: NbGraderAPI, monkeypatch: pytest.MonkeyPatch
):
    """Nbgrader's own converter, which would run the code in a kernel, refuses with a reason."""
    trace = course.root / "student-code-ran"
    code = cell("code", f"open({str(trace)!r}, 'w')")
    submit(course.root, "ada", {"lab.ipynb": notebook(*CELLS, code)})
    monkeypatch.setattr("nbgrader.apps.api.Autograde", NbgraderAutograde)
    done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert "nbgrader's own autograder would run students' code unprotected" in done["log"]
    assert "Run it in the folder of nbgrader_config.py" in done["log"]
    assert not trace.exists()
    assert {row.auto for row in rows(course.root).values()} == {None}


class Closed:
    """A session that can only be closed."""

    lost, was_killed = None, False

    def __init__(self, *_arguments: object, **_options: object) -> None:
        pass

    def close(self) -> None:
        """Do nothing."""


def test_a_student_must_be_known_where_asked(course: Course, api: NbGraderAPI):
    """With `--Autograde.create_student=False`, an unknown student is refused."""
    done = api.autograde(STAGE, "ada", create=False)

    assert not done["success"]
    assert "No student with ID 'ada' exists in the database" in done["log"]
    assert rows(course.root) == {}


def test_a_folder_that_can_be_no_id_is_reported(course: Course, api: NbGraderAPI):
    """A folder that cannot be an id is reported with a valid name, and others are graded."""
    submit(course.root, "a<b>", CLASS["bob"])
    done = api.autograde(STAGE, "a*")

    assert not done["success"]
    assert set(all_rows(course.root)) == {"ada"}
    assert "Rename it, for example to 'a_b_~" in done["log"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        pytest.param("student_id_exclude", "bob,cy", id="excluded"),
        pytest.param("student_id", "a*", id="chosen"),
    ],
)
def test_nbgraders_options_choose(course: Course, api: NbGraderAPI, option: str, value: str):
    """Nbgrader's options choose stages by name, or all but some."""
    submit(course.root, "bob", CLASS["bob"])
    setattr(api.coursedir, option, value)
    done = api.autograde(STAGE, getattr(api.coursedir, "student_id", "*"))

    assert done["success"], done
    assert set(all_rows(course.root)) == {"ada"}


@pytest.mark.parametrize("exists", [False, True])
def test_no_other_notebook_is_graded(course: Course, api: NbGraderAPI, *, exists: bool):
    """Only the notebook of the lab is graded."""
    api.coursedir.notebook_id = "other"
    submit(course.root, "ada", {"other.ipynb": notebook()} if exists else {})
    done = api.autograde(STAGE, "ada")

    assert not done["success"]
    assert ("The notebook of a stage is 'lab', not 'other'." in done["log"]) is exists
    assert ("No notebooks were matched" in done["log"]) is not exists


def test_nbgraders_permissions_and_hooks_hold(course: Course, api: NbGraderAPI):
    """The settings of nbgrader for permissions and hooks apply."""
    finished = []
    api.config.Autograde.permissions = 640
    api.config.Autograde.post_convert_hook = lambda **facts: finished.append(facts["assignment"])
    done = api.autograde(STAGE, "ada")
    files = (course.root / "autograded" / "ada" / STAGE).iterdir()

    assert done["success"], done
    assert {path.stat().st_mode & 0o777 for path in files} == {0o640}
    assert finished == [STAGE]


def test_a_bug_of_ours_is_in_the_log_and_costs_one_student(
    course: Course, api: NbGraderAPI, monkeypatch: pytest.MonkeyPatch
):
    """A bug of the kit is in the log with its traceback, and the other students are graded."""
    submit(course.root, "bob", CLASS["bob"])
    build = writer.build_autograded
    monkeypatch.setattr(
        writer,
        "build_autograded",
        lambda stage, master, item, result: (
            build(stage, master, item, result) if item.student == "bob" else {}["a bug"]
        ),
    )
    done = api.autograde(STAGE, "*")

    assert not done["success"]
    assert f"processing assignment '{STAGE}' for student 'ada': 'a bug'" in done["log"]
    assert "Traceback" in done["log"]
    assert set(all_rows(course.root)) == {"bob"}
