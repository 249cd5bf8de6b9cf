"""A student's own run in the terminal: what holds, what is wrong first, and where to go on."""

from collections.abc import Iterator
from pathlib import Path

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.reports.feedback import mistake_name
from autograder.reports.tensor_table import Panel, panels
from autograder.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Grid,
    Outcome,
    Status,
    SubmissionResult,
)
from autograder.sanitize import line, sanitize
from autograder.student.check import Report, is_done

INDENT = 2
MAX_PATH = 400  # characters; it is the student's own, and need not be short
GAP = 4  # between two panels


def text(report: Report, console: Console, here: Path) -> str:
    """Tell *report* as *console* can show it, to one who stands in *here*."""
    with console.capture() as capture:
        for part in _parts(report, console.width, here):
            console.print(part)
    return "\n".join(row.rstrip() for row in capture.get().split("\n"))


def _parts(report: Report, width: int, here: Path) -> Iterator[RenderableType]:
    """Yield what holds and what does not, exercise by exercise, and then where to go on."""
    result = sanitize(report.result)
    yield Text(report.stage.title, style="bold")
    yield Text(f"Checked: {_shown(report.file, here)}", style="dim")
    yield ""
    if result.message:
        yield from (Text(_sentence(result.message), style="red"), "")
    for exercise in result.exercises:
        yield from _exercise(exercise, result, width - INDENT)
    for notice in result.notices:
        yield Text(f"Note: {_sentence(notice)}", style="dim")
    yield ""
    yield _next(report)
    yield Text(_ran(report), style="dim")


def _exercise(
    exercise: ExerciseResult, result: SubmissionResult, width: int
) -> Iterator[RenderableType]:
    if is_done(exercise):
        yield Text(f"✓ {exercise.name}", style="green")
        return
    first = next(check for check in exercise.checks if check.outcome is not Outcome.PASSED)
    passed = sum(check.outcome is Outcome.PASSED for check in exercise.checks)
    mark, word, style = _state(first)
    yield Text.assemble((f"{mark} {exercise.name}", style), f"  {word}")
    unwritten = first.status is Status.NOT_IMPLEMENTED and not passed
    unreached = first.outcome is Outcome.SKIPPED and result.message  # said above, once for all
    if unwritten or unreached:
        return
    yield Padding(Group(*_trouble(first, width)), (0, 0, 1, INDENT))


def _state(check: CheckResult) -> tuple[str, str, str]:
    if check.status is Status.NOT_IMPLEMENTED:
        return "·", "not written yet", "bold"
    if check.outcome is Outcome.SKIPPED:
        return "·", "not there yet" if check.status is Status.MISSING else "not reached", "bold"
    return "✗", "not right yet", "bold red"


def _trouble(check: CheckResult, width: int) -> Iterator[RenderableType]:
    yield Text(check.title, style="bold")
    yield Text(check.message)
    if check.diagnosis:
        yield from _diagnosis(check.diagnosis)
    if check.grid:
        yield from _grid(check.grid, width)


def _diagnosis(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    name = mistake_name(diagnosis.misconception)
    yield ""
    yield Text.assemble("It looks like this: ", (f"{name}.", "bold"))
    yield Text(diagnosis.explanation)
    yield Text(diagnosis.hint, style="italic cyan")


def _grid(grid: Grid, width: int) -> Iterator[RenderableType]:
    """Set expected beside yours, or above it; leave out what a narrow terminal would cut."""
    shown = panels(grid)[:2]
    if max(map(_width, shown)) <= width:
        yield ""
        yield Columns([_panel(panel) for panel in shown], padding=(0, GAP))
        yield Text("* is wrong", style="dim")


def _panel(panel: Panel) -> Group:
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    for _ in panel.columns:
        table.add_column(justify="right", no_wrap=True)
    if not all(column.isdigit() for column in panel.columns):  # numbers would only count them
        table.add_row("", *(Text(column, style="dim") for column in panel.columns))
    for row in panel.rows:
        cells = (
            Text(f"{cell.text}{'*' if cell.wrong else ' '}", "bold red" if cell.wrong else "")
            for cell in row.cells
        )
        table.add_row(row.head, *cells)
    return Group(Text(panel.title, style="bold"), table)


def _width(panel: Panel) -> int:
    head = max((len(row.head) for row in panel.rows), default=0)
    columns = zip(
        panel.columns, *([cell.text for cell in row.cells] for row in panel.rows), strict=True
    )
    return head + sum(2 + max(map(len, column)) for column in columns)


def _next(report: Report) -> Text:
    if report.complete:
        return Text.assemble(("All done here. ", "bold green"), "Every check passes. Well done!")
    name = next(item.name for item in report.result.exercises if not is_done(item))
    hint = " Stuck? Its first hint, in stage.toml, only asks you a question."
    return Text.assemble(("Next: ", "bold"), (name, "bold"), ".", hint)


def _ran(report: Report) -> str:
    passed = sum(check.outcome is Outcome.PASSED for check in report.checks)
    count = f"{passed} of {len(report.checks)} checks pass."
    if report.hidden:
        return f"The public suite and the hidden suite ran: {count}"
    return (
        f"The public suite ran: {count} "
        "The hidden suite, which gives the points, stays with your instructor."
    )


def _shown(file: Path, here: Path) -> str:
    inside = file.is_relative_to(here)
    return line(str(file.relative_to(here) if inside else file), MAX_PATH)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
