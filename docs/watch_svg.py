"""Draws the screens of `autograder watch` for the documents: .venv/bin/python docs/watch_svg.py."""  # noqa: INP001  # a program, no package

import contextlib
import io
import re
import shutil
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from autograder.course import Stage, handouts
from autograder.student.warm_checker import WarmChecker
from autograder.student.watch_screen import screen
from autograder.student.watch_state import Watch

ROOT = Path(__file__).parents[1]
STAGE = "05_masked_self_attention"
MODULE = "masked_self_attention.py"
COLUMNS = 88
ROWS = 40
# Without the fonts that rich names: a picture in a document loads nothing.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def main() -> None:
    """Let a learner make a mistake, then finish the stage, and draw both screens."""
    solution = (ROOT / "solutions" / STAGE / MODULE).read_text("utf-8")
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as closing:
        for source in sorted((ROOT / "assignments").iterdir()):
            if source.is_dir():
                shutil.copytree(source, Path(name) / source.name)
        own = handouts(Path(name))
        checker = WarmChecker(own)
        closing.callback(checker.close)
        state = Watch(own, checker)
        stage = own.stage(STAGE)
        for before in own.stages[: own.stages.index(stage)]:
            state.progress.passed |= {f"{before.name}/{item.name}" for item in before.exercises}
        module = Path(name) / STAGE / MODULE
        module.write_text(solution.replace("dim=self.col_dim)", "dim=self.row_dim)", 1), "utf-8")
        state.progress.save()
        save(state, stage)
        draw(state, ROOT / "docs" / "watch_mistake.svg")
        module.write_text(solution, "utf-8")
        while state.finished is None:
            save(state, stage)
        draw(state, ROOT / "docs" / "watch_done.svg")


def save(state: Watch, stage: Stage) -> None:
    """Let `watch` check the saved module of *stage* to its end."""
    state.saved([stage])
    while state.waiting:
        state.check_next()


def draw(state: Watch, file: Path) -> None:
    """Write the screen of *state* as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    for part in screen(state, COLUMNS, ROWS):
        console.print(part)
    picture = console.export_svg(
        title="autograder watch", theme=DIMMED_MONOKAI, code_format=FORMAT, unique_id=file.stem
    )
    file.write_text("\n".join(row.rstrip() for row in picture.splitlines()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
