"""Compares `nbgrader autograde` with this course's: python -m benchmarks.nbgrader_autograde [N].

Grades the same class of N right submissions, each a module next to the lab notebook:

- without our preprocessors: nbgrader's kernel runs each lab. The grade cells give no
  points there, so this measures the lab only, for four students;
- plain nbgrader: a bare notebook next to the module with four asserts; no lab, no plots, no hidden
  suite, no sandbox;
- `nbgrader autograde` with this course's configuration, and `autograder grade --gradebook`: the
  whole hidden suite, 37 checks, in the sandbox.

Each number is processor time of all processes of a command.
"""

import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

import nbformat

from autograder.course import Course, Stage, find_root, load
from benchmarks.measuring import MILLISECONDS, cpu_of_command, write_json

STAGE = "04"
PARTS = ("course.toml", "nbgrader_config.py", "solutions", "source", "assignments", "tests/hidden")
WITHOUT = """
c = get_config()
c.CourseDirectory.course_id = "attention"
c.CourseDirectory.release_directory = "assignments"
c.ClearMarkScheme.enforce_metadata = False
c.Autograde.exclude_overwriting = {"04_self_attention": ["self_attention.py"]}
"""
FEW = 4  # students whose labs nbgrader's kernel runs: it is slow
PLAIN = """
c = get_config()
c.CourseDirectory.course_id = "plain"
c.Autograde.exclude_overwriting = {"ps1": ["self_attention.py"]}
"""
INPUTS = """inputs = torch.tensor([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64],
                       [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])"""
SETUP = f"import torch\n\nimport self_attention\n\n{INPUTS}"
ASSERTS = (
    """torch.manual_seed(1)
assert self_attention.SelfAttentionV1(3, 2)(inputs).shape == (6, 2)""",
    """torch.manual_seed(123)
v1 = self_attention.SelfAttention_v1(3, 2)
assert torch.allclose(v1(inputs)[0], torch.tensor([0.2996, 0.8053]), atol=1e-4)""",
    """torch.manual_seed(789)
v2 = self_attention.SelfAttention_v2(3, 2)
assert torch.allclose(v2(inputs)[0], torch.tensor([-0.0739, 0.0713]), atol=1e-4)""",
    """self_attention.transfer_weights(v2, v1)
assert torch.allclose(v1(inputs), v2(inputs))""",
)


def main(count: int = 20) -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    stage = course.stage(STAGE)
    with tempfile.TemporaryDirectory() as folder:
        plain = _plain_course(Path(folder) / "plain", stage, count)
        kit = _kit_course(Path(folder) / "kit", course, stage, count)
        labs = _kit_course(Path(folder) / "labs", course, stage, min(FEW, count))
        (labs / "nbgrader_config.py").write_text(WITHOUT)
        _timed(labs, "nbgrader", "generate_assignment", stage.name, "--force")
        first = ("--force", "--student", "student-00")
        _timed(plain, "nbgrader", "autograde", "ps1", *first)  # the first run is slower
        _timed(kit, "nbgrader", "autograde", stage.name, *first)
        _timed(labs, "nbgrader", "autograde", stage.name, *first)
        lab_one = _timed(labs, "nbgrader", "autograde", stage.name, *first)
        lab_all = _timed(labs, "nbgrader", "autograde", stage.name, "--force")
        plain_one = _timed(plain, "nbgrader", "autograde", "ps1", *first)
        kit_one = _timed(kit, "nbgrader", "autograde", stage.name, *first)
        grade = ("autograder", "grade", "--stage", STAGE, "--gradebook")
        grade_one = _timed(kit, *grade, "submitted/student-00")
        plain_all = _timed(plain, "nbgrader", "autograde", "ps1", "--force")
        kit_all = _timed(kit, "nbgrader", "autograde", stage.name, "--force")
        grade_all = _timed(kit, *grade, "submitted")
        for root in (plain, kit):
            _require_full_marks(root, count)
    print(f"{count} submissions of {stage.name}: whole command / one more, in processor time")
    more = {
        "without our preprocessors": (lab_all - lab_one) / (min(FEW, count) - 1),
        "plain nbgrader, a bare notebook": (plain_all - plain_one) / (count - 1),
        "nbgrader autograde, this course": (kit_all - kit_one) / (count - 1),
        "autograder grade --gradebook": (grade_all - grade_one) / (count - 1),
    }
    fastest = more["autograder grade --gradebook"]
    for (name, seconds), whole in zip(
        more.items(), (0.0, plain_all, kit_all, grade_all), strict=True
    ):
        total = f"{whole:6.1f} s" if whole else " " * 8
        each = seconds * MILLISECONDS
        print(f"  {name:32} {total} {each:8.0f} ms {seconds / fastest:6.1f} times")
    file = write_json(
        course.root, "nbgrader_autograde", {name: [one] for name, one in more.items()}
    )
    print(f"  all values: {file.relative_to(course.root)}")


def _require_full_marks(root: Path, count: int) -> None:
    """Raise unless every student has all ten points: a failed run would be fast."""
    with sqlite3.connect(root / "gradebook.db") as database:
        query = "select count(distinct notebook_id), sum(auto_score) from grade"
        graded, points = database.execute(query).fetchone()
    if (graded, points) != (count, 10.0 * count):
        msg = f"{root.name}: {graded} of {count} are graded, with {points} points in total"
        raise RuntimeError(msg)


def _plain_course(root: Path, stage: Stage, count: int) -> Path:
    """Make a plain nbgrader course for the same module."""
    source = root / "source" / "ps1"
    source.mkdir(parents=True)
    (root / "nbgrader_config.py").write_text(PLAIN)
    cells = [nbformat.v4.new_code_cell(SETUP)]
    for number, text in enumerate(ASSERTS):
        metadata = {
            "grade": True,
            "grade_id": f"test_{number}",
            "locked": True,
            "points": 2.5,
            "schema_version": 3,
            "solution": False,
            "task": False,
        }
        cells.append(nbformat.v4.new_code_cell(text, metadata={"nbgrader": metadata}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, source / "lab.ipynb")
    shutil.copy(stage.stub, source)
    _timed(root, "nbgrader", "generate_assignment", "ps1")
    _submit(root, "ps1", root / "release" / "ps1" / "lab.ipynb", stage, count)
    return root


def _kit_course(root: Path, course: Course, stage: Stage, count: int) -> Path:
    copy_course(course.root, root)
    _submit(root, stage.name, stage.assignment / stage.lab.name, stage, count)
    return root


def copy_course(course: Path, root: Path) -> None:
    """Copy the files that grading needs from *course* to *root*."""
    for part in PARTS:
        source, target = course / part, root / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)


def _submit(root: Path, assignment: str, lab: Path, stage: Stage, count: int) -> None:
    for number in range(count):
        folder = root / "submitted" / f"student-{number:02}" / assignment
        folder.mkdir(parents=True)
        shutil.copy(stage.solution, folder)
        shutil.copy(lab, folder / "lab.ipynb")


def _timed(root: Path, *command: str) -> float:
    """Return the processor time of *command*, in seconds."""
    return cpu_of_command(command, root)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
