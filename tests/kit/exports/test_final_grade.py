"""Tests the total on a student's page: its rows, the instructor's part, and the times."""

from zoneinfo import ZoneInfo

import pytest

from autograder.exports.final_grade import final_grade
from autograder.exports.grade_table import CellGrade, Score
from autograder.results import add

CHECKED = ("double", "Scale")


def score_of(cells: dict[str, CellGrade], penalty: float = 0.0) -> Score:
    """Return a score in which each of the cells is worth 5 points, as the gradebook has it."""
    given = {
        name: (cell.automatic if cell.manual is None else cell.manual)
        for name, cell in cells.items()
    }
    points = {name: (given[name] or 0.0) + cell.extra for name, cell in cells.items()}
    raw = add(points.values())
    return Score(
        raw=raw,
        penalty=penalty,
        score=max(0.0, add((raw, -penalty))),
        max_score=5.0 * len(cells),
        exercises={name: (points[name], 5.0) for name in cells},
        cells=cells,
    )


@pytest.mark.parametrize(
    ("cells", "penalty"),
    [
        pytest.param({"double": CellGrade(automatic=2.5)}, 0.0, id="checks"),
        pytest.param({"double": CellGrade(automatic=1.68, manual=2.0)}, 0.0, id="raised"),
        pytest.param({"double": CellGrade(automatic=5.0, manual=0.0)}, 0.0, id="lowered"),
        pytest.param({"double": CellGrade(automatic=5.0, extra=0.5)}, 1.1, id="extra-and-late"),
        pytest.param({"double": CellGrade(manual=3.0)}, 0.0, id="nothing-was-gradable"),
        pytest.param({"double": CellGrade(automatic=1.0, manual=0.5)}, 1.0, id="below-zero"),
        pytest.param(
            {
                "double": CellGrade(automatic=2.2, manual=2.2),
                "Scale": CellGrade(automatic=0.1, manual=0.3, extra=0.1),
                "why": CellGrade(manual=1.5, extra=0.25, comment="Good."),
                "sketch": CellGrade(),
                "blank": CellGrade(automatic=0.0),
            },
            0.41,
            id="everything",
        ),
    ],
)
def test_the_rows_of_the_total_add_up_to_the_total(cells: dict[str, CellGrade], penalty: float):
    """Checks, the instructor's parts, the penalty and the bound at 0 give the total shown."""
    grade = final_grade(score_of(cells, penalty), CHECKED)

    parts = (part.points or 0.0 for part in grade.parts)
    assert add((grade.checks, *parts, -grade.penalty, grade.raised)) == grade.score


def test_the_instructors_part_is_marked_as_such():
    """Grades by hand, overrides and extra points name the instructor; a waiting answer has none."""
    grade = final_grade(
        score_of(
            {
                "double": CellGrade(automatic=1.68, manual=2.0),
                "Scale": CellGrade(automatic=5.0, extra=0.5),
                "why": CellGrade(manual=1.5),
                "sketch": CellGrade(),
                "blank": CellGrade(automatic=0.0),
            }
        ),
        CHECKED,
    )

    assert [(part.name, part.source, part.points) for part in grade.parts] == [
        ("double", "changed by your instructor to 2 of 5", 0.32),
        ("Scale", "extra, by your instructor", 0.5),
        ("why", "graded by your instructor", 1.5),
        ("sketch", "not graded yet", None),
        ("blank", "no answer", 0.0),
    ]
    assert grade.changed == {"double": 2.0}
    assert (grade.checks, grade.max_checks) == (6.68, 10.0)


def test_answers_and_comments_are_notes():
    """A note has the answer and the comment; a comment on an ungraded cell is kept, too."""
    score = score_of({"why": CellGrade(manual=1.5, comment="Good."), "double": CellGrade(manual=1)})
    score = Score(
        **{name: getattr(score, name) for name in score.__struct_fields__ if name != "cells"},
        cells={**score.cells, "notes": CellGrade(comment="See me.")},
    )
    grade = final_grade(score, CHECKED, answers={"why": "Because.\nOf it.", "double": "x = 1"})

    assert [(note.name, note.comment, note.answer) for note in grade.notes] == [
        ("why", "Good.", "Because.\nOf it."),
        ("notes", "See me.", ""),
    ]


def test_in_time_is_not_late():
    """A page mentions no deadline if the work was in time, and no time if none is known."""
    grade = final_grade(Score(raw=1.0, score=1.0, max_score=1.0, timestamp="x"), ())

    assert (grade.submitted, grade.late, grade.parts) == ("", "", ())


MARKED = "after the deadline, as Canvas marks it"
DUE, SECOND = "2026-11-20 23:00:00", "2026-11-20 23:00:01"


@pytest.mark.parametrize(
    ("time", "extended", "phrases"),
    [
        pytest.param(SECOND, "", ("", MARKED), id="mark"),
        pytest.param(
            SECOND,
            "2026-11-23 23:00:00",
            (
                "",
                f"{MARKED} (your own deadline is 2026-11-24 00:00 CET)",
            ),
            id="mark-and-extension",
        ),
        pytest.param(
            "2026-11-22 10:00:00",
            "2026-11-23 23:00:00",
            ("2026-11-22 11:00 CET", "within your extension to 2026-11-24 00:00 CET"),
            id="in-time-by-extension",
        ),
        pytest.param(
            "2026-11-22 10:00:00",
            "2026-11-21 23:00:00",
            ("2026-11-22 11:00 CET", "11 h after your extended deadline"),
            id="late-in-spite-of-extension",
        ),
        pytest.param(
            "2026-11-22 10:00:00",
            "",
            ("2026-11-22 11:00 CET", "1 d 11 h after the deadline"),
            id="late",
        ),
    ],
)
def test_a_page_states_only_times_that_are_known(
    time: str, extended: str, phrases: tuple[str, str]
):
    """A late mark states no time, an extension counts, and times are in the course's zone."""
    score = Score(raw=1.0, score=1.0, max_score=1.0, timestamp=time, duedate=DUE, extended=extended)
    grade = final_grade(score, (), ZoneInfo("Europe/Berlin"))

    assert (grade.submitted, grade.late) == phrases
