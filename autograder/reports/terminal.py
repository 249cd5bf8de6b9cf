"""Formats feedback, tables of numbers, and pictures of weights for the terminal."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.course import Course
from autograder.course_file import CAPTION, Picture
from autograder.reports.feedback import (
    HOLDS,
    LEAD,
    NO_POINTS,
    Aside,
    Block,
    CheckFeedback,
    ExerciseFeedback,
    Feedback,
    Message,
    NamedMistake,
    Printed,
    Tables,
    Title,
)
from autograder.reports.feedback_builder import build_feedback
from autograder.reports.tensor_tables import TensorCell, TensorTable
from autograder.results import SubmissionResult

NARROWEST = 20  # columns; in fewer, words break anyway
WIDE = 60  # columns; a narrower overview leaves out the states
INDENT = 2
BLOCKS = 20  # length of a bar, which fits next to the points in 40 columns
COLOURS = {"✓": "green", "✗": "bold red", "!": "bold red", "~": "yellow", "·": "dim"}


def feedback_text(course: Course, result: SubmissionResult, width: int, *, colour: bool) -> str:
    """Return the feedback on *result* for a terminal of *width* columns."""
    width = max(width, NARROWEST)
    return render(_feedback(build_feedback(course, result), width), width, colour=colour)


def exercise_text(exercise: ExerciseFeedback, width: int) -> str:
    """Return the feedback on one *exercise* as text without colours."""
    width = max(width, NARROWEST)
    return render(checked_exercise(exercise, width), width, colour=False)


def draw(blocks: Iterable[Block], width: int, *, indent: int = 0) -> tuple[RenderableType, ...]:
    """Return *blocks* as rich draws them in *width* columns, *indent* of which stay empty."""
    drawn = [part for block in blocks for part in _block(block, width - indent)]
    return (Padding(Group(*drawn), (0, 0, 0, indent)),) if drawn and indent else tuple(drawn)


def verdict(exercise: ExerciseFeedback) -> Text:
    """Return the first line about *exercise*."""
    passed = exercise.state if exercise.given else ""
    word = exercise.first.word if exercise.first else passed
    return Text.assemble((f"{exercise.mark} {exercise.name}", COLOURS[exercise.mark]), f"  {word}")


def _block(block: Block, width: int) -> Iterator[RenderableType]:
    match block:
        case Title(text):
            yield Text.assemble(HOLDS, (text, "bold"))
        case Message(text):
            yield Text(text)
        case NamedMistake(name, more, question):
            yield Text.assemble(LEAD, (name, "bold"), more)
            yield Text(question, style="italic cyan")
        case Aside(text):
            yield Text(text, style="dim")
        case Tables(tables):
            yield from [""] if len(tables) > 1 else []
            yield from tensor_parts(tables, width)
        case Printed(text, title):
            yield Text(title, style="dim")
            yield Padding(Text(text), (0, 0, 0, INDENT))


def console(width: int, *, colour: bool) -> Console:
    """Return a console that draws for a terminal of *width* columns."""
    return Console(
        file=io.StringIO(),
        width=width,
        color_system="standard" if colour else None,  # 16 colors follow the reader's theme
        force_terminal=colour,
        highlight=False,
        legacy_windows=False,
        _environ={},  # the caller reads NO_COLOR, COLUMNS and TERM
    )


def render(parts: Iterable[RenderableType], width: int, *, colour: bool) -> str:
    """Return *parts* as text for a terminal of *width* columns."""
    drawing = console(width, colour=colour)
    with drawing.capture() as capture:
        for part in parts:
            drawing.print(part)
    rows = (row.rstrip() for row in capture.get().split("\n"))
    return "\n".join(rows).strip("\n") + "\n"


def checked_exercise(exercise: ExerciseFeedback, width: int) -> Iterator[RenderableType]:
    """Yield the verdict on *exercise*, and its first problem or its notes."""
    yield verdict(exercise)
    if exercise.first is None:
        yield from draw((*exercise.notes, *exercise.printed), width, indent=INDENT)
    elif exercise.problem:
        yield from (*draw(exercise.problem, width, indent=INDENT), "")


def sentence(text: str) -> str:
    """Return *text* with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def _feedback(feedback: Feedback, width: int) -> Iterator[RenderableType]:
    yield Text(feedback.stage, style="bold")
    yield Text(f"Feedback for {feedback.student}")
    yield ""
    if feedback.score is not None and feedback.max_score:
        points = f"{feedback.score:g} of {feedback.max_score:g} points"
        kept = f", {feedback.kept}" if feedback.kept else ""
        yield Text.assemble(_bar(feedback.percent), "  ", (points, "bold"), kept)
    yield Text.assemble((f"{feedback.headline}. ", "bold"), feedback.encouragement)
    if feedback.next_step:
        yield Text(feedback.next_step, style="bold green")
    if feedback.message:
        yield ""
        yield Text.assemble((f"{feedback.message_title}: ", "bold"), feedback.message)
    if feedback.exercises:
        yield from ("", _overview(feedback.exercises, states=width >= WIDE))
    for exercise in feedback.done:
        if exercise.notes:
            notes = draw(exercise.notes, width, indent=INDENT)
            yield from ("", Text(f"✓ {exercise.name}", "green"), *notes)
    for exercise in feedback.open:
        yield from _exercise(exercise, width - INDENT)
    yield from _list("Good to know:", feedback.notices)
    yield from _list("Submitted files that were not graded:", feedback.ignored)


def _overview(exercises: Iterable[ExerciseFeedback], *, states: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for item in exercises:
        share = f"{item.score:g} / {item.max_score:g}" if item.max_score else NO_POINTS
        points = Text(share, "green" if item.complete else "")
        table.add_row(Text(item.name), points, Text(item.state) if states else "")
    return table


def _exercise(exercise: ExerciseFeedback, width: int) -> Iterator[RenderableType]:
    yield ""
    yield Text.assemble((exercise.name, "bold underline"), "  ", (exercise.points, "dim"))
    parts: list[RenderableType] = []
    if exercise.first:
        parts += _problem(exercise.first, width)
    else:
        mark = (f"{exercise.mark} ", COLOURS[exercise.mark])
        parts.append(Text.assemble(mark, f"{sentence(exercise.state)}."))
    if exercise.hints:
        parts.append(
            Text(f"Stuck? `autograder hint {exercise.name}` has three hints.", style="dim")
        )
    for check in exercise.later:
        parts += ["", *_problem(check, width)] if check.blocks else []
    silent = sum(not check.blocks for check in exercise.later)
    if silent:
        parts += ["", Text(f"· {silent} more failed in the same way", style="dim")]
    if exercise.passed:
        parts += ["", Text(f"✓ {len(exercise.passed)} passed already", style="green")]
        parts += draw(exercise.notes, width, indent=INDENT)
    yield Padding(Group(*parts), (0, 0, 0, INDENT))


def _problem(check: CheckFeedback, width: int) -> Iterator[RenderableType]:
    yield Text.assemble((f"{check.mark} {check.word}: ", COLOURS[check.mark]), check.title)
    yield from draw(check.blocks, width)


def _bar(percent: float) -> Text:
    full = int(percent / 100 * BLOCKS)
    style = "green" if full == BLOCKS else "blue"
    return Text.assemble(("█" * full, style), ("░" * (BLOCKS - full), "dim"))


def _list(title: str, items: Sequence[str]) -> Iterator[RenderableType]:
    if items:
        table = Table.grid(padding=(0, 1))
        for item in items:
            table.add_row("-", Text(item, overflow="fold"))
        yield from ("", Text(title), table)


SHADES = " ░▒▓█"
BLOCK = 3  # columns of a shaded cell, so that it is about square
PICTURE_CELL = BLOCK + 5  # columns of a shaded cell with its number
SMALL_CELL = 4  # for pictures side by side: a shade and .32, or -.32
ALMOST_ONE = 0.995  # larger numbers are shown as 1.0
GAP = 3  # columns between pictures
FAINTEST = 0.005  # smaller numbers are shown as 0.00 in an empty cell


def picture_parts(
    title: str, picture: Picture, weights: Sequence[Sequence[float]], width: int
) -> Iterator[RenderableType]:
    """Yield attention *weights* as shaded cells, with digits if they fit into *width* columns."""
    rows, columns = picture.tokens, picture.columns
    head = max(map(cell_len, rows))
    digits = head + len(columns) * (PICTURE_CELL + 1) <= width
    cell = PICTURE_CELL if digits else BLOCK
    yield Text(title, style="bold")
    yield _picture(picture, weights, cell, BLOCK)
    yield Text(picture.caption, "dim")


def pictures_parts(
    pictures: Mapping[str, Sequence[Sequence[float]]], picture: Picture, width: int
) -> Iterator[RenderableType]:
    """Yield several pictures with titles, side by side if digits fit into *width* columns."""
    rows, columns = picture.tokens, picture.columns
    head = max(map(cell_len, rows))
    small = head + len(columns) * (SMALL_CELL + 1)
    if len(pictures) * (small + GAP) - GAP <= width:
        block, cell = 1, SMALL_CELL
    elif head + len(columns) * (PICTURE_CELL + 1) <= width:
        block, cell = BLOCK, PICTURE_CELL
    else:
        block, cell = (1, SMALL_CELL) if small <= width else (1, 1)
    yield Columns(
        [
            Group(Text(title, style="bold"), _picture(picture, weights, cell, block))
            for title, weights in pictures.items()
        ],
        padding=(0, GAP),
    )
    yield Text(picture.caption, "dim")


def _picture(picture: Picture, weights: Sequence[Sequence[float]], cell: int, block: int) -> Table:
    """Return a table of *weights* in cells of *cell* columns, of which *block* are shaded."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, justify="right")
    for column in picture.columns:
        table.add_column(Text(column[:cell], style="dim"), no_wrap=True)
    most = max([entry for entries in weights for entry in entries if isfinite(entry)], default=1.0)
    for row, entries in zip(picture.tokens, weights, strict=True):
        table.add_row(Text(row), *(_shaded(entry, most, cell, block) for entry in entries))
    return table


def _shaded(entry: float, most: float, cell: int, block: int) -> Text:
    """Return *entry* as a cell, shaded by its share of the largest one, *most*, with digits."""
    is_empty = not isfinite(entry) or entry < FAINTEST
    shade = SHADES[0 if is_empty else max(1, round(entry / most * (len(SHADES) - 1)))]
    shaded = shade * block
    number = f"{entry:{cell - block}.2f}" if cell > block else ""
    if len(number) > cell - block:
        is_small = abs(entry) < ALMOST_ONE  # shown as .32, others as 1.0
        number = f"{entry:.2f}".replace("0.", ".", 1) if is_small else f"{entry:.1f}"
        shaded = "" if len(number) == cell else shaded
    return Text.assemble((shaded, "cyan"), (number, "dim" if is_empty else ""))


def tensor_parts(tables: Sequence[TensorTable], width: int) -> Iterator[RenderableType]:
    """Yield *tables* side by side if they fit, else below each other."""
    yield Columns([Group(*_table(table, width)) for table in tables], padding=(1, 4))
    shades = f" {CAPTION}" if tables[0].shaded else ""
    yield Text(f"* marks wrong entries.{shades}", style="dim")


def _table(tensor: TensorTable, width: int) -> Iterator[RenderableType]:
    if tensor.title:
        yield Text(tensor.title, style="bold")
    cells = [[_cell(cell, shaded=tensor.shaded) for cell in row.cells] for row in tensor.rows]
    widths = [
        1 + max(cell_len(column) + 1, *(row[index].cell_len for row in cells))
        for index, column in enumerate(tensor.columns)
    ]
    head = max((cell_len(row.head) for row in tensor.rows), default=0)
    names = [Text(f"{column} ", style="bold dim") for column in tensor.columns]
    heads = [Text(row.head, style="dim") for row in tensor.rows]
    for start, stop in _cuts(widths, width - head):
        rows = zip([Text(), *heads], [names, *cells], strict=True)
        lines = (_row(name, texts[start:stop], head, widths[start:stop]) for name, texts in rows)
        yield Text("\n", no_wrap=True).join(lines)  # several times as fast as a rich Table


def _row(name: Text, texts: Sequence[Text], head: int, widths: Sequence[int]) -> Text:
    row = Text.assemble(name, " " * (head - name.cell_len))
    for text, width in zip(texts, widths, strict=True):
        row.append(" " * (width - text.cell_len)).append_text(text)
    return row


def _cuts(widths: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    start = 0
    for index in range(1, len(widths)):
        if sum(widths[start : index + 1]) > width:
            yield start, index
            start = index
    yield start, len(widths)


def _cell(cell: TensorCell, *, shaded: bool) -> Text:
    shade = SHADES[round(cell.shade * (len(SHADES) - 1))] if shaded else ""
    text = f"{shade}{cell.text}{'*' if cell.wrong else ' '}"
    return Text(text, style="bold red" if cell.wrong else "")
