"""Tests the cells of a lab in nbgrader's database, and changes of the lab."""

from pathlib import Path

import pytest
from nbgrader.apps import NbGraderAPI

from autograder.course import Course
from autograder.errors import UsageError
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.writer import Writer
from tests.kit.factories import (
    CELLS,
    POINTS,
    STAGE,
    TASK,
    Made,
    Row,
    StudentWork,
    WriteBook,
    WriteLab,
    cell,
    dump,
    exercise,
    query,
    record,
    rows,
)


def test_changed_points_are_registered(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab
):
    """The points of a rebuilt lab are registered, and manual scores stay."""
    write(graded(double=2.5))
    query(course.root, "update grade set manual_score = 4 where auto_score = 2.5")
    write_lab(points={"double": 8.0, "Scale": 2.0})
    written = write(record("ada", (exercise("double", 8.0, 8.0), exercise("Scale", 1.0, 2.0))))

    assert written.faults == ()
    assert rows(course.root)["double"] == Row(8.0, 4.0, None, waits=True)
    assert rows(course.root)["Scale"].auto == 1.0
    assert max_scores(course.root)["double"] == 8.0


def max_scores(root: Path) -> dict[str, float]:
    """The points that each cell is worth, by name."""
    return dict(
        query(
            root,
            "select name, max_score from base_cell join grade_cells using (id) union"
            " select name, max_score from base_cell join task_cells using (id)",
        )
    )


def test_changed_points_of_a_task_are_registered(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab
):
    """Changed points of a task are registered, although no checksum of nbgrader's covers them."""
    write_lab(*CELLS, TASK)
    write(graded())
    more = {**TASK, "metadata": {"nbgrader": {**TASK["metadata"]["nbgrader"], "points": 4}}}
    write_lab(*CELLS, more)
    write(graded())

    assert max_scores(course.root)["draw"] == 4.0


OTHER = cell("markdown", "", "how", grade=True, solution=True, points=1)


SKETCHED = cell("code", "", "sketch", solution=True)


DRAWN = cell("markdown", "Draw it.", "sketch", task=True, locked=True, points=1)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        pytest.param((*CELLS, OTHER), "how", id="added"),
        pytest.param(CELLS[:-1], "sketch", id="removed"),
        pytest.param((*CELLS[:-1], OTHER), "how, sketch", id="replaced"),
        pytest.param((*CELLS[:-1], SKETCHED), "sketch", id="no-longer-graded"),
        pytest.param((*CELLS[:-1], DRAWN), "sketch", id="of-another-kind"),
    ],
)
def test_other_cells_are_refused_once_there_are_submissions(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab, cells: tuple, says: str
):
    """If grades would lose their cells, the message names the cells, and nothing is changed."""
    write(graded())
    before = dump(course.root)
    write_lab(*cells)

    with pytest.raises(UsageError, match=rf"already: {says}\. Restore the cells"):
        write(graded())
    assert dump(course.root) == before


def test_other_cells_are_accepted_without_submissions(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab
):
    """Without submissions, changed cells are accepted, and the old ones are removed."""
    write_lab(*CELLS[:-1], OTHER)
    write(graded())

    assert set(max_scores(course.root)) == {"double", "Scale", "why", "how"}
    assert set(rows(course.root)) == {"double", "Scale", "why", "how"}


def test_stages_are_registered_in_a_new_gradebook(course: Course, work: StudentWork):
    """A new gradebook gets all stages, and they are reported once."""
    (course.root / "gradebook.db").unlink()
    first, again = Writer(course, [work()]), Writer(course, [work()])

    assert (first.registered, again.registered) == ((STAGE,), ())
    assert max_scores(course.root) == {**POINTS, "why": 3.0, "sketch": 2.0}


def test_nbgraders_own_command_registers_the_same(course: Course, template: Path):
    """`nbgrader generate_assignment` registers the same rows in the gradebook as the kit does."""
    (course.root / "gradebook.db").unlink()
    done = NbGraderAPI(config=NbgraderSetup.of_course(course).config).generate_assignment(STAGE)

    assert done["success"], done
    assert registered(course.root) == registered(template)


def registered(root: Path) -> list[list[tuple]]:
    """The lab's rows in the gradebook, without keys."""
    return [
        sorted(query(root, sql), key=repr)
        for sql in (
            "select name, cell_type, source, locked, checksum from source_cell",
            "select name, type from base_cell",
            "select max_score, cell_type from grade_cells",
            "select name, duedate from assignment",
            "select name, kernelspec from notebook",
        )
    ]
