"""Reads the texts of the stories, which the tool that draws them stores compressed."""

import lzma
from pathlib import Path


def text_of(name: str) -> str:
    """Return the stories that models are trained on, "train", or those held out, "held"."""
    stored = Path(__file__).parent / f"stories_{name}.txt.xz"
    return lzma.decompress(stored.read_bytes()).decode("utf-8")
