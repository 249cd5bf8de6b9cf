"""Defines the commands that read the record of a grading run."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from autograder.cli import inputs, options, output
from autograder.errors import UsageError
from autograder.exports import feedback_zip, formats
from autograder.exports.grade_table import settle_ungraded
from autograder.grading.provenance import outdated_results
from autograder.reports.difference import compare, difference_lines
from autograder.reports.explanation import explanation_lines, find_key, find_results
from autograder.stored_results import read_record, scores_of
from autograder.submission.roster import Groups, Roster, find_student

app = typer.Typer()


@app.command()
def diff(
    old: Annotated[Path, Argument(metavar="OLD", help="A record of `autograder grade --json`.")],
    new: Annotated[Path, Argument(metavar="NEW", help="A second record of the same class.")],
) -> None:
    """Compare two records: who gained, who lost, and by which check.

    Exit code 0 if every score and every check is the same, 1 if something differs.
    """
    difference = compare(read_record(old), read_record(new))
    output.print_lines(difference_lines(difference))
    if difference.submissions:
        raise typer.Exit(1)


@app.command()
def explain(
    record: options.RecordFile,
    student: Annotated[
        str,
        Argument(
            metavar="STUDENT",
            help="The student's id, a part of the id or name, or the key on the student's page.",
        ),
    ],
    stage: Annotated[
        str, Argument(metavar="[STAGE]", help="The stage, by name or number (default: all stages).")
    ] = "",
    *,
    roster: options.RosterOption = None,
    id_column: options.IdColumnOption = "",
    gradebook: Annotated[
        bool, Option("--gradebook", help="Find students by their names in the gradebook, too.")
    ] = False,
    course_folder: options.CourseOption = None,
) -> None:
    """Explain a grade: graded files, time, versions, and the points of each check."""
    inputs.refuse_unused("--gradebook", gradebook, {"--course": course_folder})
    results = read_record(record)
    names = inputs.read_names(roster, id_column, gradebook=gradebook, course=course_folder)
    if not (chosen := find_key(results, student)):
        found = find_student(student, (one.student for one in scores_of(results)), names)
        chosen = find_results(results, found, stage)
    elif stage:
        msg = f"A key names one submission, so {stage!r} would be ignored: leave it out."
        raise UsageError(msg)
    for number, result in enumerate(chosen):
        typer.echo("\n" * bool(number), nl=False)
        name = names.get(result.student, "")
        output.print_lines(explanation_lines(results, result, name))


@app.command()
def export(  # noqa: PLR0913  # each parameter is an option of the command
    form: Annotated[
        str, Argument(metavar="[FORMAT]", help="Leave it out to list all formats.")
    ] = "",
    record: Annotated[
        Path | None,
        Argument(metavar="[RECORD]", help="The file that `autograder grade --json` wrote."),
    ] = None,
    *,
    gradebook: options.FromGradebookOption = False,
    fill: options.FillOption = None,
    stage: options.StagesOption = None,
    grade_column: Annotated[str, Option(help="Moodle: the header of the grade column.")] = "",
    scale: options.ScaleOption = False,
    groups: options.GroupsOption = None,
    ungraded: options.UngradedOption = None,
    out: Annotated[Path | None, options.out_option("the format's name")] = None,
    course_folder: options.CourseOption = None,
) -> None:
    """Export grades of a record, or with --gradebook of nbgrader's database."""
    used = {"--gradebook": gradebook, "--fill": fill, "--stage": stage, "--scale": scale}
    given = used | {"--grade-column": grade_column, "--groups": groups, "--ungraded": ungraded}
    if not form:
        _require_used(given, frozenset(), "a list of the formats")
        output.print_lines(f"{name:12} {entry.about}" for name, entry in formats.FORMATS.items())
        return
    course = inputs.find_course(course_folder)
    asked = formats.find_format(form)
    _require_used(given, asked.uses, form)
    inputs.refuse_ignored("--gradebook", gradebook, {str(record): record})
    inputs.refuse_unused("--fill", fill, {"--scale": scale})
    request = formats.ExportRequest(
        course=course,
        record=record,
        download=fill,
        grades=inputs.open_gradebook(course).grade_table() if gradebook else None,
        stages=tuple(one.name for one in inputs.find_stages(course, stage, graded=True)),
        grade_column=grade_column,
        ungraded_is_zero=ungraded == "zero",
        groups=Groups.read(groups) if groups else None,
        scale=scale,
    )
    if record is not None:
        output.print_remarks(outdated_results(course, request.results()))
    output.write_export(form, asked.make(request), out or Path(asked.file))


def _require_used(given: Mapping[str, object], used: Collection[str], what: str) -> None:
    """Raise ``UsageError`` if an option of *given* has a value and *what* does not use it."""
    ignored = [option for option, value in given.items() if value and option not in used]
    if ignored:
        have = "has" if len(ignored) == 1 else "have"
        msg = f"{', '.join(ignored)} {have} no effect on {what}. Leave out what is not needed."
        raise UsageError(msg)


@app.command()
def feedback(  # noqa: PLR0913  # each parameter is an option of the command
    platform: Annotated[
        Literal["canvas", "moodle"], Argument(metavar="PLATFORM", help="canvas or moodle.")
    ],
    record: options.RecordFile,
    *,
    download: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="The submissions as downloaded, a zip or a folder: the pages get the same names.",
        ),
    ] = None,
    gradebook: Annotated[
        bool,
        Option("--gradebook", help="Show names, written points, dates and the gradebook's total."),
    ] = False,
    stage: Annotated[str, Option(help="The stage of the assignment, by name or number.")] = "",
    groups: options.GroupsOption = None,
    roster: options.RosterOption = None,
    id_column: options.IdColumnOption = "",
    out: Annotated[Path | None, options.out_option("feedback.zip")] = None,
    course_folder: options.CourseOption = None,
) -> None:
    """Pack the students' pages into a zip that Canvas or Moodle distributes.

    Canvas: "Upload Submissions"; Moodle: "Upload multiple feedback files in a zip".
    """
    course = inputs.find_course(course_folder)
    book = inputs.open_gradebook(course) if gradebook else None
    people = inputs.read_roster(roster, book, id_column) or Roster(())
    request = feedback_zip.FeedbackRequest(
        platform=platform,
        stage=stage,
        download=feedback_zip.download_names(download) if download else (),
        grades=settle_ungraded(book.grade_table()) if book else None,
        identify=people.identify,
        names=people.names,
        answers=book.answers if book else lambda _student, _stage: {},
        groups=Groups.read(groups) if groups else None,
    )
    results = formats.ExportRequest(course=course, record=record).results()
    output.print_remarks(outdated_results(course, results))
    made = feedback_zip.feedback_zip(course, results, request)
    output.write_export(platform, made, out or Path("feedback.zip"))
