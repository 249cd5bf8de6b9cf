"""One submission's feedback for the terminal: the page's words, in as many columns as there are."""

import io
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.course import Course
from autograder.reports.feedback import ExerciseFeedback, Feedback, Finding
from autograder.reports.feedback_builder import compose
from autograder.reports.tensor_table import Cell, Panel
from autograder.results import SubmissionResult

NARROWEST = 20  # columns; below it words break anyway
WIDE = 60  # columns; below it names need the room of the states
INDENT = 2
BLOCKS = 20  # of a bar, which fits beside the points in 40 columns
SHADES = " ░▒▓█"
COLOURS = {"✓": "green", "✗": "bold red", "!": "bold red", "·": "dim"}
LEGEND = "* is wrong."
LEGEND_OF_SHADES = "Row: the token that asks. Column: the token it looks at. Darker: more."


def feedback_text(course: Course, result: SubmissionResult, width: int, *, colour: bool) -> str:
    """Write the feedback for a terminal of *width* columns; without *colour* in plain text."""
    width = max(width, NARROWEST)
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system="standard" if colour else None,  # 16 colours follow the reader's theme
        force_terminal=colour,
        highlight=False,
        legacy_windows=False,
        _environ={},  # NO_COLOR, COLUMNS and TERM are the caller's to read
    )
    with console.capture() as capture:
        for part in _parts(compose(course, result), width):
            console.print(part)
    lines = (line.rstrip() for line in capture.get().split("\n"))
    return "\n".join(lines).strip("\n") + "\n"


def _parts(feedback: Feedback, width: int) -> Iterator[RenderableType]:
    yield Text(feedback.stage, style="bold")
    yield Text(f"Feedback for {feedback.student}")
    yield ""
    if feedback.score is not None and feedback.max_score:
        points = f"{feedback.score:g} of {feedback.max_score:g} points"
        yield Text.assemble(_bar(feedback.percent), "  ", (points, "bold"))
    yield Text.assemble((f"{feedback.headline}. ", "bold"), feedback.encouragement)
    if feedback.next_step:
        yield Text(feedback.next_step, style="bold green")
    if feedback.message:
        yield ""
        yield Text.assemble((f"{feedback.message_title}: ", "bold"), feedback.message)
    yield from _overview(feedback, width)
    for exercise in feedback.open:
        yield from _exercise(exercise, width - INDENT)
    yield from _list("Good to know; none of this cost points:", feedback.notices)
    yield from _list("Handed in, but not needed for grading:", feedback.ignored)


def _overview(feedback: Feedback, width: int) -> Iterator[RenderableType]:
    if not feedback.exercises:
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for item in feedback.exercises:
        points = Text(f"{item.score:g} / {item.max_score:g}", "green" if item.complete else "")
        state = Text(item.state) if width >= WIDE else ""
        table.add_row(Text(item.name), points, state)
    yield ""
    yield table


def _exercise(exercise: ExerciseFeedback, width: int) -> Iterator[RenderableType]:
    yield ""
    points = f"{exercise.score:g} of {exercise.max_score:g} points"
    yield Text.assemble((exercise.name, "bold underline"), "  ", (points, "dim"))
    parts: list[RenderableType] = []
    if exercise.first:
        parts += _finding(exercise.first, width)
    if exercise.hints:
        parts.append(Text("Stuck? Its three hints stand in stage.toml.", style="dim"))
    for finding in exercise.later:
        parts += [] if finding.silent else ["", *_finding(finding, width)]
    silent = sum(finding.silent for finding in exercise.later)
    if silent:
        parts += ["", Text(f"· {silent} more ended like the one before", style="dim")]
    if exercise.passed:
        parts += ["", Text(f"✓ {len(exercise.passed)} passed already", style="green")]
    yield Padding(Group(*parts), (0, 0, 0, INDENT))


def _finding(finding: Finding, width: int) -> Iterator[RenderableType]:
    style = COLOURS[finding.mark]
    yield Text.assemble((f"{finding.mark} {finding.word}: ", style), finding.title)
    if finding.message:
        yield Text(finding.message)
    if finding.diagnosis:
        yield Text.assemble("It looks like this: ", (f"{finding.mistake}.", "bold"))
        yield Text(finding.diagnosis.explanation)
        yield Text(finding.diagnosis.hint, style="italic cyan")
    elif finding.same_mistake:
        yield Text(f"The same mistake shows here: {finding.mistake}.", style="dim")
    if finding.panels:
        yield ""
        yield from _panels(finding.panels, width)


def _panels(panels: Sequence[Panel], width: int) -> Iterator[RenderableType]:
    """Set *panels* side by side where they fit, else below each other."""
    yield Columns([Group(*_panel(panel, width)) for panel in panels], padding=(1, 4))
    legend = f"{LEGEND} {LEGEND_OF_SHADES}" if panels[0].shaded else LEGEND
    yield Text(legend, style="dim")


def _panel(panel: Panel, width: int) -> Iterator[RenderableType]:
    """Cut a panel that is too wide into tables of fewer columns, as NumPy prints a wide array."""
    yield Text(panel.title, style="bold")
    for start, stop in _cuts(panel, width):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True, style="dim")
        for column in panel.columns[start:stop]:
            table.add_column(Text(f"{column} ", style="dim"), justify="right", no_wrap=True)
        for row in panel.rows:
            cells = (_cell(cell, shaded=panel.shaded) for cell in row.cells[start:stop])
            table.add_row(Text(row.head), *cells)
        yield table


def _cuts(panel: Panel, width: int) -> Iterator[tuple[int, int]]:
    head = max((cell_len(row.head) for row in panel.rows), default=0)
    start, used = 0, head
    for index, column in enumerate(panel.columns):
        cells = (cell_len(_cell(row.cells[index], shaded=panel.shaded).plain) for row in panel.rows)
        size = 1 + max(cell_len(column) + 1, *cells)
        if used + size > width and index > start:
            yield start, index
            start, used = index, head
        used += size
    yield start, len(panel.columns)


def _cell(cell: Cell, *, shaded: bool) -> Text:
    shade = SHADES[round(cell.shade * (len(SHADES) - 1))] if shaded else ""
    text = f"{shade}{cell.text}{'*' if cell.wrong else ' '}"
    return Text(text, style="bold red" if cell.wrong else "")


def _bar(percent: float) -> Text:
    full = round(percent / 100 * BLOCKS)
    style = "green" if full == BLOCKS else "blue"
    return Text.assemble(("█" * full, style), ("░" * (BLOCKS - full), "dim"))


def _list(title: str, items: Sequence[str]) -> Iterator[RenderableType]:
    if items:
        table = Table.grid(padding=(0, 1))
        for item in items:
            table.add_row("-", Text(item, overflow="fold"))
        yield from ("", Text(title), table)
