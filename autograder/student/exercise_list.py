"""Lets a learner select an exercise from the list of all of them."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from autograder.course import Handout
from autograder.reports.feedback import counted
from autograder.student.progress import Progress, Task, tasks

PAGE: Final = 10  # exercises that a page key skips
STEPS: Final = {
    "up": -1, "k": -1, "p": -1, "down": 1, "j": 1, "n": 1,
    "page up": -PAGE, "b": -PAGE, "page down": PAGE, " ": PAGE,
    "home": -(10**6), "g": -(10**6), "end": 10**6, "G": 10**6,
}  # fmt: skip
HERE: Final = "← here"
LIST_KEYS: Final = "↑↓ select · Enter go there · / search · t to do only · l back · q quit"
SEARCH_KEYS: Final = "Type a part of a name · ↑↓ select · Enter go there · Esc end the search"


class ExerciseList:
    """The exercises of *own* that match a search; *here* is the learner's current one."""

    def __init__(self, own: Handout, progress: Progress, here: Task) -> None:
        self._all = tasks(own)
        self._progress = progress
        self._here = here
        self.selected = here
        self.query = ""
        self.is_searching = False
        self.only_open = False

    @property
    def keys(self) -> str:
        """The keys that the list has a use for."""
        return SEARCH_KEYS if self.is_searching else LIST_KEYS

    @property
    def shown(self) -> list[Task]:
        """The exercises that match the search and, if only these are shown, are to do."""
        return [task for task in self._all if self._matches(task)]

    def press(self, key: str) -> bool:
        """Carry out *key*; return whether the list has a use for it."""
        if self.is_searching and self._type(key):
            return True
        if key in STEPS:
            self._step(STEPS[key])
        elif key == "/":
            self.is_searching = True
        elif key == "t":
            self.only_open = not self.only_open
            self._keep_selected()
        else:
            return False
        return True

    def lines(self, width: int, rows: int) -> Iterator[RenderableType]:
        """Yield at most *rows* lines: a window around the selected exercise, and the position."""
        shown = self.shown
        lines: list[Text] = []
        at, stage = 0, ""
        for task in shown:
            if task.stage.name != stage:
                stage = task.stage.name
                lines.append(self._stage_line(task))
            at = len(lines) if task.key == self.selected.key else at
            lines.append(self._line(task))
        size = max(1, rows - 1)
        start = max(0, min(at - size // 2, len(lines) - size))
        for line in lines[start : start + size]:
            line.truncate(width, overflow="ellipsis")
            yield line
        yield Text(self._position(shown), style="dim")

    def selected_lines(self) -> Iterator[RenderableType]:
        """Yield the selected exercise alone, with its stage, and the position."""
        shown = self.shown
        if shown:
            yield self._stage_line(self.selected)
            yield self._line(self.selected)
        yield Text(self._position(shown))

    def _type(self, key: str) -> bool:
        """Change the search by *key*; return False for a key that selects."""
        if key == "escape":
            self.is_searching, self.query = False, ""
        elif key == "backspace":
            self.query = self.query[:-1]
        elif len(key) == 1 and key.isprintable():
            self.query += key
        else:
            return False
        self._keep_selected()
        return True

    def _matches(self, task: Task) -> bool:
        if self.only_open and task.key in self._progress.passed:
            return False
        words = f"{task.key} {task.stage.title}".casefold()
        return all(word in words for word in self.query.casefold().split())

    def _step(self, step: int) -> None:
        keys = [task.key for task in self.shown]
        if keys:
            at = keys.index(self.selected.key) + step
            self.selected = self.shown[max(0, min(at, len(keys) - 1))]

    def _keep_selected(self) -> None:
        """Select the first exercise that is shown at or after the selected one."""
        shown = [task.key for task in self.shown]
        at = [task.key for task in self._all].index(self.selected.key)
        following = [task for task in self._all[at:] + self._all[:at] if task.key in shown]
        self.selected = following[0] if following else self.selected

    def _stage_line(self, task: Task) -> Text:
        stage = task.stage
        done = "✓" if self._progress.is_done(stage) else " "
        minutes = f"  {stage.minutes} min" if stage.minutes else ""
        return Text.assemble((f"{done} {stage.name}", "bold"), (minutes, "dim"))

    def _line(self, task: Task) -> Text:
        is_selected = task.key == self.selected.key
        mark = "✓" if task.key in self._progress.passed else "·"
        style = "reverse" if is_selected else "green" if mark == "✓" else ""
        effort = f"  {task.exercise.effort}".rstrip()
        here = f"  {HERE}" if task.key == self._here.key else ""
        name = Text(f"{mark} {task.exercise.name}", style)
        return Text.assemble("  > " if is_selected else "    ", name, (effort, "dim"), here)

    def _position(self, shown: Sequence[Task]) -> str:
        search = f"Search: {self.query}_  " if self.is_searching else ""
        if not shown:
            return f"{search}No exercise matches."
        at = [task.key for task in shown].index(self.selected.key) + 1
        left = sum(task.key not in self._progress.passed for task in self._all)
        to_do = "all to do" if self.only_open else f"{left} to do"
        return f"{search}{at} of {counted(len(shown), 'exercise')}, {to_do}"
