"""Declares options and arguments: the shared ones, and those that need several lines."""

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from autograder.course_file import Isolation
from autograder.submission.names import Source

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
Where = Annotated[
    str,
    Argument(
        metavar="[STAGE | EXERCISE | DIR]",
        help="A stage by name or number, an exercise by NAME or STAGE/NAME, or the folder that "
        "`start` made (default: the stage's folder here, else the first exercise to do).",
    ),
]
RecordFile = Annotated[
    Path, Argument(metavar="RECORD", help="The file that `autograder grade --json` wrote.")
]
FromOption = Annotated[
    Source | None,
    Option(
        "--from",
        help="Where the submissions come from; folder: one entry for each student "
        "(default: what the names of all entries show).",
    ),
]
StagesOption = Annotated[
    list[str] | None,
    Option(
        "--stage",
        help="Only this stage, by name or number; repeat the option for several stages.",
    ),
]
RosterOption = Annotated[
    list[Path] | None,
    Option(
        "--roster",
        metavar="FILE",
        help=(
            "Canvas's gradebook export, students.csv or GitHub Classroom's roster: replaces the "
            "ids of a download with the ids of the course (default: use the gradebook). Pass it "
            "again with Moodle's grading worksheet."
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
GradedPaths = Annotated[
    list[Path] | None,
    Argument(
        metavar="[PATH...]",
        help="A submitted/ tree; a download, packed or not; a folder with one entry for each "
        "student; a folder or zip of one submission; a .py or a .ipynb.",
    ),
]
JsonOption = Annotated[
    Path | None,
    Option(
        "--json",
        metavar="FILE",
        help="Write the results to this record, which keeps all others (docs/results.md).",
    ),
]
ReportOption = Annotated[
    Path | None,
    Option(
        "--report",
        metavar="DIR",
        help="Write the class report and a page for each result of the record to this folder.",
    ),
]
GradebookOption = Annotated[
    bool, Option("--gradebook", help="Write nbgrader's gradebook and autograded notebooks.")
]
FreshOption = Annotated[
    bool,
    Option("--fresh", help="Grade every submission again, even if FILE.journal has its result."),
]
ForgetOption = Annotated[
    list[str] | None,
    Option(
        "--forget",
        metavar="STUDENT",
        help="Remove the results of this student from the record, by id or name; repeatable.",
    ),
]
IsolationOption = Annotated[
    Isolation | None,
    Option(
        "--isolation",
        help="How strictly student code is confined (default: course.toml's, else full).",
    ),
]
ClusterOption = Annotated[
    str,
    Option(
        "--cluster",
        metavar="ADDRESS",
        help="Grade on the workers of this dask scheduler, such as tls://host:8786 "
        "(docs/scaling.md).",
    ),
]
ClusterCourseOption = Annotated[
    str,
    Option(
        "--cluster-course",
        metavar="DIR",
        help="The course's folder on the workers (default: the same path as here).",
    ),
]
FromGradebookOption = Annotated[
    bool,
    Option(
        "--gradebook", help="Export the scores in nbgrader's gradebook, including manual scores."
    ),
]
ScaleOption = Annotated[
    bool, Option("--scale", help="Convert scores to the points of the assignment in the LMS.")
]
UngradedOption = Annotated[
    Literal["blank", "zero"] | None,
    Option(
        "--ungraded",
        help="The cell of a submission in which nothing could be graded: empty (blank, the "
        "default), or 0.",
    ),
]
FillOption = Annotated[
    Path | None,
    Option("--fill", metavar="FILE", help="The file from the LMS into which scores are filled in."),
]


def out_option(default: str) -> Any:
    """Return the option ``--out``, which names the file to write."""
    return Option("--out", "-o", metavar="FILE", help=f"The file to write (default: {default}).")
