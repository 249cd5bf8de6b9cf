"""Reads what the tools of the course made: the stories, compressed, and the folder of all data."""

import lzma
from pathlib import Path


def text_of(name: str) -> str:
    """Return the stories that models are trained on, "train", or those held out, "held"."""
    stored = made_in(Path(__file__).parent) / f"stories_{name}.txt.xz"
    return lzma.decompress(stored.read_bytes()).decode("utf-8")


def made_in(folder: Path) -> Path:
    """Return the folder of what was made for the course in *folder*.

    In the authored folder, which holds nothing that is made, it is that of the built course.
    """
    made = folder / "made"
    return made if made.is_dir() else folder.parents[1] / "assignments" / "course" / "made"
