"""Tests that docs/architecture.md names only files and definitions that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = (ROOT, ROOT / "autograder", ROOT / "autograder/reports")
FILE = re.compile(r"`([\w./*-]+\.(?:py|html))`")
NAMES_IN_FILE = re.compile(r"((?:`\w+`(?:, | and )?)+) in `([\w/]+\.py)`")


def files(name: str) -> list[Path]:
    """Find a file by its path, or by its name if the page has given the package before."""
    found = [path for folder in FOLDERS for path in folder.glob(name)]
    return found or ([] if "/" in name else list((ROOT / "autograder").rglob(name)))


def unknown_files(text: str) -> list[str]:
    """List the modules and templates in *text* that do not exist."""
    return [name for name in FILE.findall(text) if not files(name)]


def unknown_names(text: str) -> list[str]:
    """List the names in *text* that are not in the file after them."""
    return [
        f"{name} in {file}"
        for names, file in NAMES_IN_FILE.findall(text)
        for name in re.findall(r"\w+", names.replace(" and ", " "))
        if not any(re.search(rf"\b{name}\b", path.read_text("utf-8")) for path in files(file))
    ]


def test_the_page_names_files_and_definitions_that_exist():
    """A file or a definition that was renamed or removed is also changed on the page."""
    text = PAGE.read_text("utf-8")

    assert unknown_files(text) == []
    assert unknown_names(text) == []


def test_what_does_not_exist_is_found():
    """A file is found by its path, and a name as a whole word in its file."""
    text = (
        "`Limits` and `Limit` in `course_file.py`, then `grading/gone.py` and `cli/*_commands.py`"
    )

    assert unknown_files(text) == ["grading/gone.py"]
    assert unknown_names(text) == ["Limit in course_file.py"]
