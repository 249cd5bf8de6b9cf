"""Defines the keys of `watch`, and draws its screen, fitted into the terminal."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text

from autograder.course import Handout, Stage
from autograder.reports.exercise_screen import (
    Part,
    Rank,
    exercise_screen,
    fit,
    kept,
    optional,
    page,
    passed_screen,
    spaced,
    whole,
)
from autograder.reports.feedback import counted
from autograder.reports.terminal import picture_parts
from autograder.student.learner_folder import gone, shown_path
from autograder.student.progress import Task, first_open, tasks
from autograder.student.watch_state import Watch

if TYPE_CHECKING:  # it imports torch
    from autograder.student.stage_picture import PictureRows

END: Final = frozenset({"\x03", "\x04", ""})  # Ctrl-C, Ctrl-D; empty: the terminal is gone
FORWARD: Final = frozenset({" ", "down", "page down"})
BACKWARD: Final = frozenset({"b", "up", "page up"})
PRESS_D: Final = ": press d"  # where rows do not fit
PAGE_KEYS: Final = "space next page · b previous page · any other key goes back · q quit"


class Key(NamedTuple):
    """One key: its *label* in the row below each screen, and its *sentence* on the screen of `?`.

    A key without a label is only on the screen of `?`. A key that is not *offered* has no effect.
    """

    key: str
    label: str
    sentence: str
    act: Callable[[Watch], None]
    offered: Callable[[Watch], bool] = lambda _state: True


# In the order of `?`. The row below a screen has as many labels as fit, the first ones first.
KEYS: Final = (
    Key("h", "hint", "one more hint: a question, a direction, almost the line", Watch.hint),
    Key("n", "next", "the next exercise; after a pass, the next one to do", Watch.next),
    Key("l", "list", "the list of exercises: select one and go there", Watch.open_list),
    Key("d", "details", "every table in full, page by page", lambda state: state.read("d")),
    Key("o", "open", "open the file at the line in your editor", Watch.open_file),
    Key("p", "", "the previous exercise", Watch.previous),
    Key("r", "", "run the checks again", Watch.check_again),
    Key("x", "", "reset the exercise; asks first, and keeps a copy of your file", Watch.ask_reset),
    Key(
        "c",
        "",
        "fill a copy of an earlier exercise with your code, or with the course's",
        Watch.fill_copy,
        lambda state: bool(state.task.exercise.copied_from),
    ),
    Key(
        "v",
        "",
        "the model answer, once your code passes",
        Watch.read_model_answer,
        lambda state: state.has_solutions,
    ),
    Key(
        "w",
        "",
        "what the course's companion writes with your code",
        Watch.ask_companion,
        lambda state: state.has_companion,
    ),
    Key(
        "s",
        "",
        "run the hidden suite on the exercise",
        Watch.run_hidden,
        lambda state: state.has_hidden,
    ),
    Key("?", "all keys", "all keys", lambda state: state.read("?")),
    Key("q", "quit", "quit", Watch.quit),
)
OF_EXERCISE: Final = frozenset("hdorxcvs")  # in the list, these mean the selected exercise
LAST: Final = ("?", "q")  # always in the row below a screen
BY_KEY: Final = {row.key: row for row in KEYS}


def press(state: Watch, key: str) -> None:
    """Carry out the command of *key* on the screen of *state*."""
    if key in END:
        state.quit()
    elif state.listing is not None:
        _press_in_list(state, key)
    elif state.paged and key in FORWARD | BACKWARD:
        state.page += 1 if key in FORWARD else -1
    elif state.reset_is_asked:
        state.answer_reset(yes=key == "y")
    else:
        was_open = state.paged
        state.clear()
        row = BY_KEY.get(key)
        if row and key != was_open and row.offered(state):  # the same key closes its page
            row.act(state)


def _press_in_list(state: Watch, key: str) -> None:
    listing = state.listing
    assert listing is not None  # noqa: S101  # `press` has checked it
    if listing.press(key):
        return
    row = BY_KEY.get(key)
    if key == "q":
        state.quit()
    elif key in {"l", "escape"}:
        state.clear()
    elif key == "enter" or key in OF_EXERCISE:
        state.clear()
        state.go(listing.selected)
        if row and row.offered(state):
            row.act(state)


def key_row(width: int, ahead: str = "") -> str:
    """Return as many keys as fit into one row of *width* columns, after the words *ahead*."""
    first = [ahead] if ahead else []
    labels = [f"{row.key} {row.label}" for row in KEYS if row.label and row.key not in LAST]
    last = [f"{key} {BY_KEY[key].label}" for key in LAST]
    while len(" · ".join([*first, *labels, *last])) > width and len(labels + last) > 1:
        (labels or last).pop(-1 if labels else 0)
    return " · ".join([*first, *labels, *last])[:width]


def _all_keys(state: Watch) -> Iterator[RenderableType]:
    """Yield a line for each key that has an effect."""
    yield Text("The keys of this screen:", style="bold")
    for row in KEYS:
        if row.offered(state):
            yield Text.assemble(f"  {row.key}  ", (row.sentence, "dim"))


BLOCKS: Final = 20  # of the progress bar
NAMED: Final = 3  # exercises that passed before and are listed; the rest are only counted
FEW_ROWS: Final = 5  # of a picture, with its title
PLAIN_KEYS: Final = "? all keys · q quit"
CHECKING: Final = "Checking other exercises …"  # shown before the keys until then


def screen(state: Watch, width: int, rows: int) -> Sequence[RenderableType]:
    """Return the screen of *state* for a terminal of *width* columns and *rows* rows."""
    if state.is_plain:
        return _appended(state, width)
    if state.listing is not None:
        listed = state.listing.lines(width, rows - 1)
        return (*listed, _one_row(state.listing.keys, width))
    if state.paged:
        size = rows - 2  # two rows are for the position and the keys
        shown = PAGES[state.paged](state, width)
        return (*page(shown, width, size, state.page), _one_row(PAGE_KEYS, width))
    return fit(list(_parts(state, width)), width, rows)


def _appended(state: Watch, width: int) -> Sequence[RenderableType]:
    """Return the screen of *state* as lines that are appended: of the list, the selected one."""
    if state.listing is not None:
        return (*state.listing.selected_lines(), Text(state.listing.keys))
    if state.paged:
        return PAGES[state.paged](state, width)
    return [*whole(_parts(state, width))[:-1], Text(PLAIN_KEYS)]


def _parts(state: Watch, width: int) -> Iterator[Part]:
    yield from heading(state.own, state.task.stage)
    notice = [kept(Text(state.notice, style="yellow"))] if state.notice else []
    is_fault = state.notice == state.progress.fault  # the answer comes before it
    yield from () if is_fault else notice
    yield from _content(state, width)
    yield from notice if is_fault else ()
    if not gone(state.own):  # there is no progress to show without the folder
        yield from _passed_before(state)
        yield spaced(Rank.BAR, progress_bar(state))
    ahead = CHECKING if state.waiting else ""
    yield kept(Text(key_row(width, ahead), style="dim"))


def _content(state: Watch, width: int) -> Iterator[Part]:
    """Yield the subject of the screen: the hidden suite, a stage that is done, or an exercise."""
    if state.hidden is not None:
        yield from _hidden_answer(state, width)
    elif state.finished is not None:
        yield from _finished_stage(state, state.finished, width)
    else:
        if state.just_passed is not None:
            yield passed_screen(state.just_passed, width)
            yield optional(Rank.GAPS, "")
        yield from _exercise(state, width)


def _exercise(state: Watch, width: int) -> Iterator[Part]:
    feedback = state.answer.feedback
    if feedback is None:
        yield kept(Text(f"✗ {state.task.exercise.name}", style="bold red"))
        yield kept(Text(state.answer.message))
    else:
        uses = state.not_right() if feedback.first is not None else ()
        yield from exercise_screen(replace(feedback, uses=uses), width, PRESS_D)
    yield from _hints(state)
    if feedback is not None and feedback.first is None:
        yield from next_step(state)
    elif feedback is not None or not state.answer.is_whole_file:
        is_unwritten = bool(feedback and feedback.unwritten)
        yield from exercise_location(state.task, state.place()[1], unwritten=is_unwritten)


def _hints(state: Watch) -> Iterator[Part]:
    shown_hints = state.progress.shown_hints(state.task)
    count = len(shown_hints)
    for number, hint in enumerate(shown_hints, start=1):
        shown = (Text(f"Hint {number} of 3", style="bold cyan"), Text(hint))
        if number < count:
            yield spaced(Rank.OLD_HINTS, *shown)
        else:
            yield Part((("", *shown), shown), (Rank.GAPS,))


def heading(own: Handout, stage: Stage) -> Iterator[Part]:
    """Show the title of the stage and its number."""
    number = own.file.stages.index(stage.name) + 1
    count = f"  {stage.name}, {number} of {counted(len(own.stages), 'stage')}"
    yield optional(Rank.HEADING, Text.assemble((stage.title, "bold"), (count, "dim")))
    yield optional(Rank.GAPS, "")


def exercise_location(task: Task, line: int, *, unwritten: bool) -> Iterator[Part]:
    """Show the file of the exercise and the *line* to change."""
    file = task.stage.stub
    what = f"Write {task.exercise.name} and save: " if unwritten else "Fix it and save: "
    style = "bold" if unwritten else "dim"
    at = f", line {line}" if line else ""
    yield spaced(Rank.LOCATION, Text.assemble(what, _link(file), at, style=style))
    if unwritten:
        parts = [Text(task.exercise.effort)] if task.exercise.effort else []
        opened = "jupyter lab " if find_spec("jupyterlab") else ""
        lab = task.stage.lab
        if lab.is_file():
            parts.append(Text.assemble(f"The lab explains it: {opened}", _link(lab)))
        shown = Text("  ", style="dim").join(parts)
        yield from [optional(Rank.TITLE, shown)] if shown else []


def _link(file: Path) -> Text:
    """Return the path of *file*, which many terminals open with a click."""
    return Text(f"{shown_path(file)}", style=Style(link=file.as_uri()))


def next_step(state: Watch) -> Iterator[Part]:
    """Show which exercise comes after one that passes."""
    following = first_open(state.own, state.progress, state.task)
    if following is None:
        yield _course_done(state)
        return
    where = "" if following.stage == state.task.stage else f" in {following.stage.name}"
    text = f"{following.exercise.name}{where}. Press n to go on."
    yield Part((("", _next(text)), (_next(text),)), (Rank.GAPS,))


def _finished_stage(state: Watch, stage: Stage, width: int) -> Iterator[Part]:
    if state.just_passed is not None:
        yield passed_screen(state.just_passed, width)
        yield optional(Rank.GAPS, "")
    yield kept(Text(f"This stage is done: {stage.title}. Well done!", style="bold green"))
    if state.picture is not None:
        yield from stage_picture(stage, state.picture, width)
    yield from companion_text(state, width)
    following = first_open(state.own, state.progress, Task(stage, stage.exercises[-1]))
    if following is None:
        yield _course_done(state)
        return
    if state.picture is not None:
        hunt = f"A bug hunt in this stage: autograder hunt {stage.name}"
        yield optional(Rank.GOAL, Text(hunt, style="dim"))
    comes = following.stage
    yield optional(Rank.GAPS, "")
    full, short = _next(f"{comes.title}. {comes.file.goal}"), _next(f"{comes.title}.")
    yield Part(((full,), (short,)), (Rank.GOAL,))
    yield kept(Text("Press n to go on.", style="dim"))


def stage_picture(stage: Stage, rows: "PictureRows", width: int) -> Iterator[Part]:
    """Show the picture that the learner's code has just computed, and its meaning."""
    picture = stage.file.picture
    if picture is None:
        return
    title = "The result of your code:"
    shown = tuple(picture_parts(title, picture, rows, width))
    meaning = Text(picture.meaning)
    away = Text(f"The picture has more rows than fit here{PRESS_D}", style="dim")
    some = page(shown, width, FEW_ROWS, 0)[:-1]
    layouts = (("", *shown, "", meaning), (*shown, meaning), shown, (*some, away), (away,), ())
    yield Part(layouts, (Rank.GAPS, Rank.MEANING, Rank.PICTURE, Rank.NOTE, Rank.NOTE))


def companion_text(state: Watch, width: int) -> Iterator[Part]:
    """Show what the companion writes: all of it, its last text, or the key that shows it."""
    if state.companion is None:
        return
    from autograder.companion import answer_lines  # noqa: PLC0415  # imports torch

    shown = [Text(row) for row in answer_lines(state.companion, width)]
    text = [Text(row) for row in answer_lines(state.companion, width, only_text=True)]
    away = Text("What your code writes does not fit here: press w", style="dim")
    yield Part((("", *shown), (*shown,), (*text,), (away,)), (Rank.GAPS, Rank.NOTE, Rank.NOTE))


def _hidden_answer(state: Watch, width: int) -> Iterator[Part]:
    answer = state.hidden
    if answer is None or answer.feedback is None:
        yield kept(Text(answer.message if answer else ""))
        return
    yield kept(Text(f"Hidden checks of {state.task.exercise.name}:", style="bold"))
    yield from exercise_screen(answer.feedback, width, PRESS_D)


def _passed_before(state: Watch) -> Iterator[Part]:
    here = state.task
    near = [one for one in state.broken if one.key != here.key]
    near.sort(key=lambda one: one.stage.name != here.stage.name)  # n goes there first
    names = [one.exercise.name if one.stage == here.stage else one.key for one in near]
    if any(one.key == here.key for one in state.broken):
        yield optional(Rank.TITLE, Text(f"{here.exercise.name} passed before.", style="yellow"))
    if names:
        listed = ", ".join(names[:NAMED])
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        text = f"✗ These passed before and fail now: {listed}{more}. Press n."
        text = text if len(names) > 1 else f"✗ This passed before and fails now: {listed}. Press n."
        yield kept(Text(text, style="bold red"))


def progress_bar(state: Watch) -> Text:
    """Return a bar that shows how many exercises have passed; it is full only if all have."""
    every = tasks(state.own)
    done = sum(task.key in state.progress.passed for task in every)
    full = BLOCKS * done // len(every)
    count = f"  {done} of {counted(len(every), 'exercise')}"
    return Text.assemble(("█" * full, "green"), ("░" * (BLOCKS - full), "dim"), count)


def _course_done(state: Watch) -> Part:
    hunt = f"autograder hunt {state.own.stages[-1].name}"
    done = Text("Every exercise passes. Congratulations on the whole course!", "bold green")
    page = Text("All of it on one page: autograder progress --report page")
    more = Text(f"Hunt a bug next: {hunt} · l lists all exercises.", style="dim")
    return Part((("", done, page, more), (done, page, more), (done, more)), (Rank.GAPS, Rank.TITLE))


def _next(text: str) -> Text:
    return Text.assemble(("Next: ", "bold"), text)


def _model_answer(state: Watch, width: int) -> Sequence[RenderableType]:
    """Return the code of the model answer; the rest of a long line is indented further."""
    title = Text(f"The model answer of {state.task.exercise.name}:", style="bold")
    lines = state.model_answer.split("\n")
    indents = [" " * (len(line) - len(line.lstrip()) + 4) for line in lines]
    rows = (
        textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)
        for line, indent in zip(lines, indents, strict=True)
    )
    return [title, "", Text("\n".join(rows))]


def _one_row(text: str, width: int) -> Text:
    """Return *text* in one row, without the keys that do not fit."""
    keys = text.split(" · ")
    while len(keys) > 1 and len(" · ".join(keys)) > width:
        del keys[-2]
    return Text(" · ".join(keys)[:width], style="dim")


# The texts of several pages, by the keys that show them.
PAGES: Final[Mapping[str, Callable[[Watch, int], Sequence[RenderableType]]]] = {
    "d": lambda state, width: whole(_content(state, width)),
    "v": _model_answer,
    "w": lambda state, width: whole(companion_text(state, width)),
    "?": lambda state, _width: [*_all_keys(state)],
}
