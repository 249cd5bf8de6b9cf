"""Defines the keys of `watch`, one row for each, and carries them out."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from autograder.student.watch_state import Watch

END: Final = frozenset({"\x03", "\x04", ""})  # Ctrl-C, Ctrl-D; empty: the terminal is gone
FORWARD: Final = frozenset({" ", "down", "page down"})
BACKWARD: Final = frozenset({"b", "up", "page up"})
PAGE_KEYS: Final = "space next page · b previous page · any other key goes back · q quit"


def _always(_state: Watch) -> bool:
    return True


class Key(NamedTuple):
    """One key: its *label* in the row below each screen, and its *sentence* on the screen of `?`.

    A key without a label is only on the screen of `?`. A key that is not *offered* has no effect.
    One that is *of_exercise* can be pressed in the list, where it means the selected exercise.
    """

    key: str
    label: str
    sentence: str
    act: Callable[[Watch], None]
    offered: Callable[[Watch], bool] = _always
    of_exercise: bool = False


# In the order of `?`. The row below a screen has as many labels as fit, the first ones first.
KEYS: Final = (
    Key(
        "h",
        "hint",
        "one more hint: a question, a direction, almost the line",
        Watch.hint,
        of_exercise=True,
    ),
    Key(
        "n",
        "next",
        "the next exercise; after a pass, the next one to do",
        lambda state: state.move(1),
    ),
    Key("l", "list", "the list of exercises: select one and go there", Watch.open_list),
    Key(
        "d",
        "details",
        "every table in full, page by page",
        lambda state: state.read("d"),
        of_exercise=True,
    ),
    Key("o", "open", "open the file at the line in your editor", Watch.open_file, of_exercise=True),
    Key("p", "", "the previous exercise", lambda state: state.move(-1)),
    Key("r", "", "run the checks again", Watch.check_again, of_exercise=True),
    Key(
        "x",
        "",
        "reset the exercise; asks first, and keeps a copy of your file",
        Watch.ask_reset,
        of_exercise=True,
    ),
    Key(
        "c",
        "",
        "fill a copy of an earlier exercise with your code, or with the course's",
        Watch.fill_copy,
        lambda state: bool(state.task.exercise.copied_from),
        of_exercise=True,
    ),
    Key(
        "v",
        "",
        "the model answer, once your code passes",
        Watch.read_model_answer,
        lambda state: state.has_solutions,
        of_exercise=True,
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
        of_exercise=True,
    ),
    Key("?", "all keys", "all keys", lambda state: state.read("?")),
    Key("q", "quit", "quit", Watch.quit),
)
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
    elif key == "enter" or (row and row.of_exercise):
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


def all_keys(state: Watch) -> Iterator[RenderableType]:
    """Yield a line for each key that has an effect."""
    yield Text("The keys of this screen:", style="bold")
    for row in KEYS:
        if row.offered(state):
            yield Text.assemble(f"  {row.key}  ", (row.sentence, "dim"))
