"""Command-line interface."""

import atexit
import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer import Argument, Option

from autograder import __version__
from autograder.course import Course, Handout, Stage, course_secret, find_root, load
from autograder.errors import (
    AutograderError,
    ClusterError,
    CourseError,
    UnclearOwnerError,
    UsageError,
)
from autograder.results import Results, Status
from autograder.stored_results import read_record, scores_of

if TYPE_CHECKING:  # each command imports what it uses, so that `--help` does not wait for torch
    from autograder.exports.export_file import ExportFile
    from autograder.gradebook.course_gradebook import CourseGradebook
    from autograder.gradebook.writer import Writer
    from autograder.grading.journal import Journal
    from autograder.grading.run import Run, Written
    from autograder.student.progress import Progress, Task
    from autograder.submission.hand_ins import FindOptions, Found
    from autograder.submission.lazy_submissions import LazySubmissions
    from autograder.submission.roster import Roster

# Optional libraries by the name that is imported, and the extra that installs each.
EXTRAS: Final = {
    "distributed": "cluster",
    "jupyterlab": "lab",
    "matplotlib": "lab",
    "nbformat": "instructor",
    "nbgrader": "instructor",
}

# Python ends with searches for garbage in all of torch, which take 0.3 s and free nothing.
atexit.register(gc.freeze)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Teach attention mechanisms, and grade submissions in a sandbox.",
)
CourseOption = Annotated[
    Path | None,
    Option("--course", metavar="DIR", help="The course's folder (default: found from here)."),
]
OwnFolder = Annotated[
    Path | None,
    Argument(metavar="[DIR]", help="The folder that `start` made (default: found from here)."),
]
ExerciseName = Annotated[
    str,
    Argument(metavar="[EXERCISE]", help="NAME or STAGE/NAME (default: the first that is open)."),
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

WorksheetOption = Annotated[
    Path | None,
    Option(
        "--worksheet",
        metavar="FILE",
        help="Moodle's grading worksheet: sets aside whoever has another name in it, as students "
        "may edit their names.",
    ),
]
UnwrapOption = Annotated[
    bool | None,
    Option(
        "--unwrap/--no-unwrap",
        help="A folder's only entry, or a zip, is the class's download, or what one student "
        "handed in (default: refuse an only entry that could be either).",
    ),
]


def _out(default: str) -> Any:
    return Option("--out", "-o", metavar="FILE", help=f"The file to write (default: {default}).")


@app.callback(invoke_without_command=True)
def _main(
    *, version: Annotated[bool, Option("--version", help="Print the version and stop.")] = False
) -> None:
    if version:
        typer.echo(f"autograder {__version__}")
        raise typer.Exit


@app.command()
def check(
    name: Annotated[
        str,
        Argument(
            metavar="[STAGE | FILE]",
            help="A stage by name or number, a .py or a .ipynb (default: the stage's folder here).",
        ),
    ] = "",
    *,
    hidden: Annotated[
        bool, Option("--hidden", help="Run the hidden suite, too, where the course has it.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Check your own work: what is right, what to fix first, and what comes next.

    Exit code 0 when every check passed, 1 when something is left to do.
    """
    with _errors_as_messages("check"):
        from autograder.reports.terminal import self_check_text  # noqa: PLC0415  # imports rich
        from autograder.student import check as checking  # noqa: PLC0415  # imports torch when it runs
        from autograder.student.learner_folder import remember  # noqa: PLC0415  # only a learner's commands

        here = Path.cwd()
        target = checking.find_target(name, here, course, hidden=hidden)
        feedback = checking.check(target)
        passed = [item.name for item in feedback.exercises if item.first is None]
        remember(target.file, target.stage.name, passed)
        width, colour = _terminal()
        typer.echo(self_check_text(feedback, here, width, colour=colour), nl=False)
        if not feedback.complete:
            raise typer.Exit(1)


@app.command()
def start(
    folder: Annotated[
        Path | None, Argument(metavar="[DIR]", help="The folder to make (default: my-work).")
    ] = None,
    *,
    course: CourseOption = None,
) -> None:
    """Make a folder of your own with every stage; what you have changed there is kept."""
    with _errors_as_messages("start"):
        from autograder.student import learner_folder  # noqa: PLC0415  # only this command needs it

        here = Path.cwd()
        done = learner_folder.start(here, folder, course)
        inside = done.folder.is_relative_to(here)
        shown = done.folder.relative_to(here) if inside else done.folder
        typer.echo(f"{shown} holds your stages: {len(done.added)} files added.")
        for path in done.replaced:
            typer.echo(f"updated {path}")
        for path in done.kept:
            typer.echo(f"kept your {path}")
        typer.echo(f"Next: autograder watch{'' if done.folder == here else f' {shown}'}")


@app.command()
def watch(folder: OwnFolder = None) -> None:
    """Check the exercise that you work on each time you save it: one problem at a time."""
    with _errors_as_messages("watch"):
        from autograder.student import watch as watching  # noqa: PLC0415  # imports rich

        typer.echo(watching.watch(_own(folder)))


@app.command()
def hint(
    exercise: ExerciseName = "",
    number: Annotated[
        int | None,
        Argument(metavar="[N]", min=1, max=3, help="1, 2 or 3 (default: one more each time)."),
    ] = None,
) -> None:
    """Show a hint: first a question, then a direction, then nearly the line."""
    with _errors_as_messages("hint"):
        _, known, task = _task(exercise)
        shown = known.next_hint(task, number)
        typer.echo(f"{task.key}, hint {shown} of {len(task.exercise.hints)}:")
        typer.echo(task.exercise.hints[shown - 1] or "The file of hints is lost in this copy.")


@app.command("next")
def next_(folder: OwnFolder = None) -> None:
    """Say which exercise comes next, and where it stands."""
    with _errors_as_messages("next"):
        from autograder.student import learner_folder, progress  # noqa: PLC0415  # only this command

        own = _own(folder)
        task = progress.first_open(own, progress.Progress.read(own.root))
        if task is None:
            typer.echo("Every exercise is done. Congratulations on the whole course!")
            return
        file, line = learner_folder.location(task)
        typer.echo(f"Next: {task.exercise.name}, in {task.stage.title}.")
        typer.echo(f"{file}{f', line {line}' if line else ''}")
        typer.echo("`autograder watch` checks it each time you save.")


@app.command()
def progress(folder: OwnFolder = None) -> None:
    """Show your stages: how many exercises pass, and how many minutes are left."""
    with _errors_as_messages("progress"):
        from autograder.student.progress import Progress, progress_lines  # noqa: PLC0415  # only this command

        own = _own(folder)
        for line in progress_lines(own, Progress.read(own.root)):
            typer.echo(line)


@app.command()
def reset(exercise: Annotated[str, Argument(metavar="EXERCISE")]) -> None:
    """Put an exercise back as you received it; a copy of your file is kept."""
    with _errors_as_messages("reset"):
        from autograder.student import learner_folder  # noqa: PLC0415  # only this command needs it

        own, known, task = _task(exercise)
        copy = learner_folder.reset(own, task)
        known.passed.discard(task.key)
        known.save()
        typer.echo(f"{task.key} is as you received it.")
        if copy is not None:
            typer.echo(f"Your file as it was: {copy}")


@app.command()
def solution(
    exercise: Annotated[str, Argument(metavar="EXERCISE")],
    *,
    i_give_up: Annotated[
        bool, Option("--i-give-up", help="Show it before your own code passes; remembered.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Show the solution of an exercise that you have solved; only where the course is."""
    with _errors_as_messages("solution"):
        from autograder.student import learner_folder  # noqa: PLC0415  # only this command needs it

        _, known, task = _task(exercise)
        text = learner_folder.solution(task, course)
        if task.key not in known.passed | known.gave_up:
            if not i_give_up:
                msg = (
                    f"{task.key} does not pass yet. Try `autograder hint {task.key}` first, "
                    "or look with --i-give-up."
                )
                raise UsageError(msg)
            known.gave_up.add(task.key)
            known.save()
        typer.echo(text)


@app.command()
def hunt(
    stage: Annotated[str, Argument(metavar="STAGE", help="A stage that is done.")],
    *,
    answer: Annotated[
        int | None, Option("--answer", help="The number that answers the question.")
    ] = None,
    new: Annotated[bool, Option("--new", help="Begin another hunt in this stage.")] = False,
) -> None:
    """Hunt a bug that was put into your own code: see it, mend it, write a test that catches it.

    Run it again after each step. Exit code 0 when your test catches every mistake, else 1.
    """
    with _errors_as_messages("hunt"):
        from autograder.reports.terminal import render  # noqa: PLC0415  # imports rich
        from autograder.student.hunt import Hunt  # noqa: PLC0415  # likewise

        own = _own(None)
        width, colour = _terminal()
        with closing(Hunt(own, own.stage(stage), _small_changes)) as hunted:
            if new or hunted.is_new:
                typer.echo("Changing your code in many small ways; this takes some seconds.")
                hunted.begin()
            elif hunted.is_slow:
                typer.echo("Running your code; this takes some seconds.")
            report = hunted.go_on(answer, width)
            typer.echo(render(report.parts, width, colour=colour), nl=False)
            while report.asks and sys.stdin.isatty():
                report = hunted.go_on(typer.prompt("Your answer", type=int), width)
                typer.echo(render(report.parts, width, colour=colour), nl=False)
            if report.asks:
                typer.echo(f"Answer with: autograder hunt {stage} --answer NUMBER")
        if not report.done:
            raise typer.Exit(1)


@app.command()
def grade(  # noqa: PLR0913  # each is an option of the command
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH...",
            help="A submitted/ tree; a download from Canvas or Moodle, packed or not; a folder of "
            "hand-ins; a folder or zip of one hand-in; a .py or a .ipynb.",
        ),
    ],
    *,
    stage: Annotated[str, Option(help="Grade this stage only, by name or number.")] = "",
    json: Annotated[
        Path | None, Option(metavar="FILE", help="Write the record here (docs/results.md).")
    ] = None,
    report: Annotated[
        Path | None,
        Option(metavar="DIR", help="Write a page per submission and the class report here."),
    ] = None,
    gradebook: Annotated[
        bool, Option("--gradebook", help="Write nbgrader's gradebook and autograded notebooks.")
    ] = False,
    fresh: Annotated[
        bool, Option("--fresh", help="Judge all again, also what FILE.journal holds.")
    ] = False,
    jobs: Annotated[int, Option(min=0, help="Grading processes (default: one per core).")] = 0,
    isolation: Annotated[
        Literal["full", "process"] | None,
        Option(help="How strictly student code is confined (default: course.toml's, else full)."),
    ] = None,
    cluster: Annotated[
        str,
        Option(
            metavar="ADDRESS",
            help="Grade on the workers of this scheduler of dask, such as tls://host:8786 "
            "(docs/scaling.md).",
        ),
    ] = "",
    cluster_course: Annotated[
        str,
        Option(metavar="DIR", help="The course's folder on the workers (default: as here)."),
    ] = "",
    roster: RosterOption = None,
    worksheet: WorksheetOption = None,
    unwrap: UnwrapOption = None,
    course: CourseOption = None,
) -> None:
    """Grade submissions with the hidden suites, each in a sandbox.

    With --json, each result is kept in FILE.journal at once: a run that was interrupted goes on
    where it stopped, and a regrade judges only what changed.

    Exit code 0 when grading worked, whatever the grades; 1 when the grader itself failed somewhere,
    when it could not write all of it, or when it is unclear whose a hand-in is: it is set aside, or
    nothing is graded where that holds for all; 2 when nothing could be graded.
    """
    with _errors_as_messages("grade --gradebook" if gradebook else "grade"):
        from autograder.grading import run as runs  # noqa: PLC0415  # only this command needs it
        from autograder.submission.lazy_submissions import LazySubmissions  # noqa: PLC0415  # likewise

        found = _course(course)
        only = found.graded_stage(stage) if stage else None
        book = _gradebook(found) if gradebook else None
        people = _roster(roster, book)
        places = _find(found, paths, only, _find_options(people, worksheet, unwrap=unwrap))
        options = runs.RunOptions(
            record=json, report=report, fresh=fresh, isolation=isolation, jobs=jobs
        )
        options.require_writable()
        submissions = LazySubmissions.of(places)
        if book is not None:
            submissions = _stamped(book, submissions, people)
        run = runs.Run(
            course=found,
            submissions=submissions,
            options=options,
            writer=_writer(book, submissions) if book else None,
            grade_each=runs.on_cluster(cluster, cluster_course) if cluster else None,
            names=lambda: _names(people, book),
        )
        with run.open_journal() as journal:
            results = _grade(run, journal)
            saved = run.save(results)
            for message in saved.messages:
                typer.echo(message)
            _print_results(found, results)
            if saved.written is not None:
                _report_written(saved.written)
            _report_faults(results, saved.faults)
        _fail_where_set_aside(places)


@app.command()
def diff(
    old: Annotated[Path, Argument(metavar="OLD", help="A record of `autograder grade --json`.")],
    new: Annotated[Path, Argument(metavar="NEW", help="Another record of the same class.")],
) -> None:
    """Compare two records: who gained, who lost, and by which check.

    Exit code 0 when every score and every check is the same, 1 when something differs.
    """
    with _errors_as_messages("diff"):
        from autograder.reports.difference import compare, difference_lines  # noqa: PLC0415  # one command

        difference = compare(read_record(old), read_record(new))
        for line in difference_lines(difference):
            typer.echo(line)
        if difference.submissions:
            raise typer.Exit(1)


@app.command()
def explain(
    record: Annotated[
        Path, Argument(metavar="RECORD", help="The file that `autograder grade --json` wrote.")
    ],
    student: Annotated[str, Argument(metavar="STUDENT", help="The student's id in the record.")],
    stage: Annotated[
        str, Argument(metavar="[STAGE]", help="The stage, by name or number (default: all).")
    ] = "",
) -> None:
    """Say how a grade came about: what was judged, when, by what, and each check's points."""
    with _errors_as_messages("explain"):
        from autograder.reports.explanation import explanation_lines, find_results  # noqa: PLC0415  # one command

        results = read_record(record)
        for number, result in enumerate(find_results(results, student, stage)):
            typer.echo("\n" * bool(number), nl=False)
            for line in explanation_lines(results, result):
                typer.echo(line)


@app.command()
def collect(
    stage: Annotated[str, Argument(metavar="STAGE", help="The stage, by name or number.")],
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH...", help="A download from Canvas or Moodle, packed or not, or a folder."
        ),
    ],
    *,
    roster: RosterOption = None,
    worksheet: WorksheetOption = None,
    unwrap: UnwrapOption = None,
    again: Annotated[
        bool, Option("--again", help="Replace what was collected of these students before.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Collect a download into nbgrader's submitted/ folder, with times and the course's own ids.

    No archive is unpacked, and a damaged one affects its own student only. Exit code 1 when it is
    unclear whose a hand-in is: it is set aside, or nothing is collected where that holds for all.
    """
    with _errors_as_messages("collect"):
        found = _course(course)
        book = _gradebook(found)
        people = _roster(roster, book)
        options = _find_options(people, worksheet, unwrap=unwrap)
        places = _find(found, paths, found.graded_stage(stage), options)
        collection = book.collection(found.graded_stage(stage))
        for place in places:
            written, remarks = collection.write(place, again=again)
            _remark(remarks)
            book.register(people, [item.student for item in place.hand_ins])
            typer.echo(f"{written} hand-ins of {collection.stage.name} are in submitted/.")
        _fail_where_set_aside(places)


@app.command()
def export(
    form: Annotated[
        str, Argument(metavar="[FORMAT]", help="Leave it out to list all formats.")
    ] = "",
    record: Annotated[
        Path | None,
        Argument(metavar="[RECORD]", help="The file that `autograder grade --json` wrote."),
    ] = None,
    *,
    gradebook: Annotated[
        bool, Option("--gradebook", help="Export nbgrader's gradebook, manual scores too.")
    ] = False,
    fill: Annotated[
        Path | None,
        Option(metavar="FILE", help="The file downloaded from the LMS, to be filled in."),
    ] = None,
    stage: Annotated[str, Option(help="Export this stage only, by name or number.")] = "",
    grade_column: Annotated[str, Option(help="Moodle: the header of the column of grades.")] = "",
    out: Annotated[Path | None, _out("the format's name")] = None,
    course: CourseOption = None,
) -> None:
    """Export grades: Canvas, Moodle, Gradescope, Classroom 50, JUnit, CSV.

    They come from a record, or with --gradebook from nbgrader's database.
    """
    with _errors_as_messages("export --gradebook" if gradebook else "export"):
        from autograder.exports import formats  # noqa: PLC0415  # only this command needs it

        if not form:
            for name, known in formats.FORMATS.items():
                typer.echo(f"{name:12} {known.about}")
            return
        found = _course(course)
        asked = formats.find_format(form)
        request = formats.ExportRequest(
            course=found,
            record=record,
            download=fill,
            grades=_gradebook(found).grade_table() if gradebook else None,
            stage=found.graded_stage(stage).name if stage else "",
            grade_column=grade_column,
        )
        _write_export(form, asked.make(request), out or Path(asked.file))


@app.command()
def feedback(
    platform: Annotated[
        Literal["canvas", "moodle"], Argument(metavar="PLATFORM", help="canvas or moodle.")
    ],
    record: Annotated[
        Path,
        Argument(metavar="RECORD", help="The file that `autograder grade --json` wrote."),
    ],
    *,
    download: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="The submissions as downloaded, a zip or a folder: pages are named after them.",
        ),
    ] = None,
    gradebook: Annotated[
        bool,
        Option("--gradebook", help="Show names, written points, dates and the gradebook's total."),
    ] = False,
    stage: Annotated[str, Option(help="The assignment's stage, by name or number.")] = "",
    roster: RosterOption = None,
    out: Annotated[Path | None, _out("feedback.zip")] = None,
    course: CourseOption = None,
) -> None:
    """Pack each student's page into the zip that Canvas or Moodle hands back.

    Canvas: "Upload Submissions"; Moodle: "Upload multiple feedback files in a zip".
    """
    with _errors_as_messages("feedback --gradebook" if gradebook else "feedback"):
        from autograder.exports import feedback_zip, formats  # noqa: PLC0415  # imports jinja2
        from autograder.submission.roster import Roster  # noqa: PLC0415  # only three commands need it

        found = _course(course)
        book = _gradebook(found) if gradebook else None
        people = _roster(roster, book) or Roster(())
        request = feedback_zip.FeedbackRequest(
            platform=platform,
            stage=stage,
            download=feedback_zip.download_names(download) if download else (),
            grades=book.grade_table() if book else None,
            identify=people.identify,
            names=people.names,
        )
        results = formats.ExportRequest(course=found, record=record).results()
        made = feedback_zip.feedback_zip(found, results, request)
        _write_export(platform, made, out or Path("feedback.zip"))


@app.command()
def bundle(
    platform: Annotated[
        Literal["gradescope"], Argument(metavar="PLATFORM", help="The platform: gradescope.")
    ],
    *,
    stage: Annotated[
        str, Option(help="Pack this stage only, by name or number (default: all).")
    ] = "",
    isolation: Annotated[
        Literal["full", "process"],
        Option(help="The weakest isolation in which the container may grade."),
    ] = "process",
    out: Annotated[Path | None, _out("gradescope.zip")] = None,
    course: CourseOption = None,
) -> None:
    """Pack the course for a platform that runs the grader itself: a zip for Gradescope.

    The file holds solutions and hidden suites; keep it as secret as these.
    """
    with _errors_as_messages("bundle"):
        from autograder.gradescope import bundle as bundling  # noqa: PLC0415  # imports torch

        found = _course(course)
        stages = [found.graded_stage(stage)] if stage else found.stages
        made = bundling.build_zip(found, stages, least=isolation)
        _write_export(platform, made, out or Path(bundling.FILE))


@app.command()
def release(
    *,
    check: Annotated[bool, Option("--check", help="Only list what is stale.")] = False,
    course: CourseOption = None,
) -> None:
    """Build the stubs and the assignments from the solutions."""
    with _errors_as_messages("release"):
        from autograder.authoring import release as releasing  # noqa: PLC0415  # only this command needs it

        found = _course(course)
        stale = [f"{path} is stale" for path in releasing.stale(found)] if check else []
        if not check:
            built = releasing.build(found)
            for path in built:
                typer.echo(f"built {path.relative_to(found.root)}")
            for line in releasing.left_out(built):
                typer.echo(line)
        _report_stale([*stale, *releasing.leaks(found)], list(releasing.kept(found)))


@app.command()
def verify(
    *,
    stage: Annotated[str, Option(help="Verify this stage only, by name or number.")] = "",
    verbose: Annotated[
        bool, Option("--verbose", help="Show how far right code is from the bound of each check.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Check the course: stubs earn 0, solutions full marks, every misconception is found."""
    with _errors_as_messages("verify"):
        from autograder.authoring import verify as verifying  # noqa: PLC0415  # imports torch

        found = _course(course)
        report = verifying.verify(found, [found.stage(stage)] if stage else [])
        for line in (*report.lines, *(report.details if verbose else ())):
            typer.echo(line)
        for finding in report.findings:
            typer.echo(f"✗ {finding}", err=True)
        if report.findings:
            raise typer.Exit(1)
        typer.echo("Everything holds.")


@app.command()
def mutate(
    *,
    stage: Annotated[str, Option(help="Mutate this stage only, by name or number.")] = "",
    course: CourseOption = None,
) -> None:
    """Change the solutions in small ways and list the changes that no hidden check notices."""
    with _errors_as_messages("mutate"):
        from autograder.authoring import kinds_report, mutation  # noqa: PLC0415  # imports torch

        found = _course(course)
        left = 0
        for one in [found.stage(stage)] if stage else found.stages:
            trial = mutation.mutate_stage(found, one)
            left += len(trial.survived) + len(trial.unneeded)
            typer.echo(
                f"{trial.stage:28} killed {trial.killed:4} ({trial.share:.1%}), "
                f"equivalent {len(trial.equivalent):3}, survived {len(trial.survived):3}"
            )
            for mutant in trial.survived:
                typer.echo(f"  line {mutant.line}: {mutant.label}")
            for item in trial.unneeded:
                typer.echo(f"  no longer survives: {item.was}  →  {item.becomes}")
            for kind in kinds_report.unnoticed(found, one):
                typer.echo(f"  passes, but answers otherwise: {kind.exercise}: {kind.change}")
        if left:
            raise typer.Exit(1)


@app.command()
def diagnose(
    file: Annotated[Path, Argument(metavar="FILE", exists=True, dir_okay=False)],
    *,
    stage: Annotated[str, Option(help="The stage of the file, by name or number.")],
    course: CourseOption = None,
) -> None:
    """Show which explanations of a file's mistakes were tried, and how far each matched."""
    with _errors_as_messages("diagnose"):
        from autograder.authoring import trial  # noqa: PLC0415  # imports torch

        found = _course(course)
        for line in trial.lines_of(trial.diagnose_file(found, found.stage(stage), file)):
            typer.echo(line)


@app.command("new-stage")
def new_stage(
    name: Annotated[str, Argument(metavar="NAME", help="Such as 11_your_stage.")],
    *,
    course: CourseOption = None,
) -> None:
    """Write the skeleton of a stage, which `release` and `verify` accept as it is."""
    with _errors_as_messages("new-stage"):
        from autograder.authoring import new_stage as skeletons  # noqa: PLC0415  # only this command needs it

        found = _course(course)
        for path in skeletons.new_stage(found, name):
            typer.echo(f"wrote {path.relative_to(found.root)}")
        number = name.partition("_")[0]
        typer.echo(f"Next: autograder release, then autograder verify --stage {number}.")


@app.command("new-course")
def new_course(
    folder: Annotated[Path, Argument(metavar="DIR", help="The new folder.")],
    *,
    stages: Annotated[str, Option(help="The stages by name or number, such as 01,04,05,10.")],
    course: CourseOption = None,
) -> None:
    """Make a course of some stages of this one, in a folder of its own."""
    with _errors_as_messages("new-course"):
        from autograder.authoring import new_course as making  # noqa: PLC0415  # imports torch

        wanted = [name.strip() for name in stages.split(",") if name.strip()]
        made = making.new_course(_course(course), wanted, folder)
        typer.echo(f"{folder}: {', '.join(made.course.file.stages)}")
        if made.mentioned:
            titles = "”, “".join(made.mentioned)
            typer.echo(f"Labs mention topics that this course leaves out: “{titles}”. Reread them.")
        typer.echo(f"Next: cd {folder}, then autograder verify.")


@app.command()
def doctor(*, course: CourseOption = None) -> None:
    """Examine this machine: isolation, torch, and whether it gives the documented tensors.

    Without a course: whether checks run here.
    """
    with _errors_as_messages("doctor"):
        from autograder import doctor as examining  # noqa: PLC0415  # imports torch

        healthy = True
        found = _course_here() if course is None else load(course)
        for finding in examining.examine(found):
            typer.echo(f"{'✓' if finding.good else '✗'} {finding.text}")
            healthy = healthy and finding.good
        if not healthy:
            raise typer.Exit(1)


def _course_here() -> Course | None:
    """Return the course around this folder; None where there is none."""
    try:
        root = find_root(Path.cwd())
    except CourseError:
        return None
    return load(root)


def _own(folder: Path | None) -> Handout:
    from autograder.student import learner_folder  # noqa: PLC0415  # only a learner's commands

    return learner_folder.find(folder if folder is not None else Path.cwd())


def _small_changes(text: str, lines: Sequence[range]) -> list[tuple[str, str]]:
    """List what each small change within *lines* of *text* is, and the text after it."""
    from autograder.authoring.mutation import mutants_in  # noqa: PLC0415  # imports torch

    return [(mutant.label, mutant.text) for mutant in mutants_in(text, lines)]


def _task(exercise: str) -> "tuple[Handout, Progress, Task]":
    """Find *exercise* in the learner's folder, and what is known about it."""
    from autograder.student.progress import Progress, find_task  # noqa: PLC0415  # likewise

    own = _own(None)
    known = Progress.read(own.root)
    return own, known, find_task(own, known, exercise)


def _report_faults(results: Results, faults: list[str]) -> None:
    """Print what could not be written; exit code 1 if there is any, or after a grader error."""
    for fault in faults:
        typer.echo(f"✗ {fault}", err=True)
    is_graded = all(score.status is not Status.GRADER_ERROR for score in scores_of(results))
    if not is_graded:
        typer.echo("The grader itself failed; those submissions have no grade.", err=True)
    if faults or not is_graded:
        raise typer.Exit(1)


def _find_options(
    roster: "Roster | None", worksheet: Path | None, *, unwrap: bool | None
) -> "FindOptions":
    from autograder.submission.hand_ins import FindOptions  # noqa: PLC0415  # only two commands need it
    from autograder.submission.worksheet import Worksheet  # noqa: PLC0415  # likewise

    known = Worksheet.read(worksheet) if worksheet else None
    return FindOptions(roster=roster, worksheet=known, unwrap=unwrap)


def _find(
    course: Course, paths: Sequence[Path], stage: Stage | None, options: "FindOptions"
) -> "list[Found]":
    """Recognize each path, and say what it is."""
    from autograder.submission.collect import find_all  # noqa: PLC0415  # only two commands need it

    places = find_all(paths, course.stages, stage, options)
    for place in places:
        typer.echo(f"{place.what}.", err=True)
        _remark([*place.remarks, *(f"✗ {sentence}" for sentence in place.set_aside)])
    return places


def _gradebook(course: Course) -> "CourseGradebook":
    from autograder.gradebook.course_gradebook import CourseGradebook  # noqa: PLC0415  # imports nbgrader

    return CourseGradebook(course)


def _roster(file: Path | None, book: "CourseGradebook | None") -> "Roster | None":
    """Read the roster, or ask the gradebook; None: nobody has another id."""
    from autograder.submission.roster import Roster  # noqa: PLC0415  # only three commands need it

    if book is not None:
        return book.roster(file)
    return Roster.read(file) if file else None


def _stamped(
    book: "CourseGradebook", submissions: "LazySubmissions", roster: "Roster | None"
) -> "LazySubmissions":
    """Give late submissions a time, and the gradebook the names of the roster."""
    book.register(roster, [item.student for item in submissions.outlines()])
    stamped, remarks = book.stamped(submissions)
    _remark(remarks)
    return stamped


def _remark(remarks: Iterable[str]) -> None:
    for remark in remarks:
        typer.echo(remark, err=True)


def _fail_where_set_aside(places: "list[Found]") -> None:
    if any(place.set_aside for place in places):
        typer.echo("Some hand-ins were set aside, see above.", err=True)
        raise typer.Exit(1)


def _grade(run: "Run", journal: "Journal") -> Results:
    """Grade; show the progress, and say what the instructor should know about the run."""
    if not course_secret(run.course.root):
        typer.echo(
            "No course secret: hidden inputs are those of every public copy (docs/security.md).",
            err=True,
        )
    with (
        _telling_where_to_go_on(journal.file),
        _progress(len(run.submissions)) as advance,
    ):
        results = run.grade(journal, advance)
    if journal.fault and journal.file:
        typer.echo(f"{journal.file} is not complete: {journal.fault}.", err=True)
    return results


@contextmanager
def _telling_where_to_go_on(journal: Path | None) -> Iterator[None]:
    """After Ctrl-C, and where the cluster ends the run, say that nothing is lost."""
    try:
        yield
    except (KeyboardInterrupt, ClusterError) as error:
        if journal is None:
            raise
        how = "Interrupted. " if isinstance(error, KeyboardInterrupt) else ""
        msg = f"{how}{journal} holds the results so far; the same command goes on there."
        typer.echo(msg, err=True)
        raise


def _print_results(course: Course, results: Results) -> None:
    """Print a single submission in full, and the table."""
    from rich.console import Console  # noqa: PLC0415  # only this command needs it

    from autograder.reports.class_report import class_tables  # noqa: PLC0415  # imports rich
    from autograder.reports.terminal import feedback_text  # noqa: PLC0415  # imports rich

    if len(results.submissions) == 1:
        width, colour = _terminal()
        typer.echo(feedback_text(course, results.submissions[0], width, colour=colour))
    console = Console(highlight=False)
    for table in class_tables(results, console.width):
        console.print(table)


def _writer(book: "CourseGradebook", submissions: "LazySubmissions") -> "Writer":
    writer = book.writer(submissions)
    for stage in writer.registered:
        typer.echo(f"Registered {stage} in the gradebook.")
    return writer


def _names(people: "Roster | None", book: "CourseGradebook | None") -> dict[str, str]:
    """Return the names of the students who have one, by the gradebook or the roster."""
    if book is not None:
        return book.names()
    return people.names if people else {}


def _report_written(written: "Written") -> None:
    typer.echo(f"{written.submissions} submissions are in the gradebook.")
    for remark in written.remarks:
        typer.echo(remark)


def _terminal() -> tuple[int, bool]:
    """Return the columns of the terminal, and whether to print in colour."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return shutil.get_terminal_size().columns, colour


def _write_export(name: str, made: "ExportFile", file: Path) -> None:
    _remark(made.remarks)
    if made.problem:
        raise UsageError(made.problem)
    made.write(file)
    typer.echo(f"{name}: {file}")


def _course(folder: Path | None) -> Course:
    return load(folder if folder is not None else find_root(Path.cwd()))


def _report_stale(findings: list[str], kept: list[str]) -> None:
    for finding in [*findings, *kept]:
        typer.echo(f"✗ {finding}", err=True)
    if findings:
        typer.echo("Run `autograder release` to build what is stale.", err=True)
    if findings or kept:
        raise typer.Exit(1)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on a terminal, nothing in a pipe."""
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415  # only this command needs it

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("grading", total=total)
        yield lambda: bar.advance(task)


@contextmanager
def _errors_as_messages(command: str) -> Iterator[None]:
    """Print an error of *command* as one message, without a traceback; exit code 2.

    Exit code 1 where it is unclear whose a hand-in is, as where some of them are set aside.
    """
    try:
        yield
    except AutograderError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1 if isinstance(error, UnclearOwnerError) else 2) from None
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:  # a bug, and its traceback says where
            raise
        install = f"pip install 'attention-course-kit[{EXTRAS[library]}]'"
        typer.echo(f"`autograder {command}` needs {library}: {install}", err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    app()
