"""Declares the options and arguments that commands share."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

CourseOption = Annotated[
    Path | None,
    Option("--course", metavar="DIR", help="The course's folder (default: found from here)."),
]
LearnerFolder = Annotated[
    Path | None,
    Argument(metavar="[DIR]", help="The folder that `start` made (default: found from here)."),
]
ExerciseName = Annotated[
    str,
    Argument(metavar="[EXERCISE]", help="NAME or STAGE/NAME (default: the first that is open)."),
]
RecordFile = Annotated[
    Path, Argument(metavar="RECORD", help="The file that `autograder grade --json` wrote.")
]
RosterOption = Annotated[
    Path | None,
    Option(
        "--roster",
        metavar="FILE",
        help="Canvas's gradebook export, or students.csv with lms_user_id: gives students of a "
        "download the course's own ids (default: those that the gradebook knows).",
    ),
]
IdColumnOption = Annotated[
    str,
    Option(
        "--id-column",
        metavar="NAME",
        help="The roster's column with the students' ids, such as 'SIS Login ID' if they submit "
        "through nbgrader's exchange with this login.",
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
        help="Moodle's grading worksheet: sets aside students with a different name in it, as they "
        "may edit their names.",
    ),
]
UnwrapOption = Annotated[
    bool | None,
    Option(
        "--unwrap/--no-unwrap",
        help="A folder's only entry, or a zip, is the class's download, or what one student "
        "submitted (default: refuse an only entry that could be either).",
    ),
]


def out_option(default: str) -> Any:
    """Make the option that names the file to write."""
    return Option("--out", "-o", metavar="FILE", help=f"The file to write (default: {default}).")
