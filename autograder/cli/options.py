"""Declares the options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

CourseOption = Annotated[
    Path | None,
    Option(
        "--course",
        metavar="DIR",
        help="The course's folder (default: the current folder or one above it).",
    ),
]
LearnerFolder = Annotated[
    Path | None,
    Argument(
        metavar="[DIR]",
        help="The folder that `start` made (default: the current folder or one near it).",
    ),
]
ExerciseName = Annotated[
    str,
    Argument(metavar="[EXERCISE]", help="NAME or STAGE/NAME (default: the first not passed yet)."),
]
RecordFile = Annotated[
    Path, Argument(metavar="RECORD", help="The file that `autograder grade --json` wrote.")
]
RosterOption = Annotated[
    Path | None,
    Option(
        "--roster",
        metavar="FILE",
        help=(
            "Canvas's gradebook export, or students.csv with lms_user_id: replaces the ids of a "
            "download with the ids of the course (default: use the gradebook)."
        ),
    ),
]
IdColumnOption = Annotated[
    str,
    Option(
        "--id-column",
        metavar="NAME",
        help="The roster's column with the students' ids, such as 'SIS Login ID' if nbgrader's "
        "exchange identifies them by this login.",
    ),
]
GroupsOption = Annotated[
    Path | None,
    Option(
        "--groups",
        metavar="FILE",
        help="Canvas's export of a group set: one member submits for all members.",
    ),
]
WorksheetOption = Annotated[
    Path | None,
    Option(
        "--worksheet",
        metavar="FILE",
        help=(
            "Moodle's grading worksheet: sets aside submissions whose student has a different "
            "name there, because students may edit their names."
        ),
    ),
]
UnwrapOption = Annotated[
    bool | None,
    Option(
        "--unwrap/--no-unwrap",
        help=(
            "The folder's only entry, or the zip, is the download of a class (--unwrap) or one "
            "student's submission (--no-unwrap); default: refuse an entry that could be either."
        ),
    ),
]


def out_option(default: str) -> Any:
    """Return the option ``--out``, which names the file to write."""
    return Option("--out", "-o", metavar="FILE", help=f"The file to write (default: {default}).")
