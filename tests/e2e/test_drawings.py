"""Tests the drawings of the labs, which a script writes."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import nbformat
import pytest

from tools.drawings.__main__ import FOLDER, drawn

FILES = drawn()
LABS = Path(__file__).parents[2] / "source"
MOST = 20_000  # bytes


@pytest.mark.parametrize("name", FILES)
def test_a_drawing_is_that_of_the_script(name: str):
    """`python -m tools.drawings` writes the file, which has a title and a white ground."""
    text = (FOLDER / name).read_text("utf-8")
    root = ET.fromstring(text)  # noqa: S314  # our own file

    assert text == FILES[name]
    assert len(text.encode()) < MOST
    assert root[0].text.endswith(".")
    assert root[1].get("fill") == "white"


@pytest.mark.parametrize("name", FILES)
def test_nothing_of_a_drawing_is_cut_off(name: str):
    """Each shape and each word is inside the drawing."""
    root = ET.fromstring(FILES[name])  # noqa: S314  # our own file
    width, height = int(root.get("width")), int(root.get("height"))
    for part in root[2:]:
        x, y = (float(part.get(axis, part.get(f"c{axis}", "1"))) for axis in "xy")

        assert 0 <= x + float(part.get("width", "0")) <= width, part.attrib
        assert 0 <= y + float(part.get("height", "0")) <= height, part.attrib


def test_the_lab_of_a_stage_shows_its_drawing_once():
    """A drawing that no lab shows would not be noticed, nor a lab without its drawing."""
    shown = []
    for lab in sorted(LABS.glob("*/lab.ipynb")):
        cells = nbformat.read(lab, as_version=4).cells
        names = [re.findall(r'lab\.drawing\("(\w+)"\)', cell.source) for cell in cells]
        shown += [(lab.parent.name[:2], name) for found in names for name in found]

    assert [f"{name}.svg" for _, name in shown] == sorted(FILES)
    assert all(name == f"drawing_{stage}" for stage, name in shown)
