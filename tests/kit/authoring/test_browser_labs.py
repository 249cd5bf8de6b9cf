"""Tests the labs for learners who have only a browser."""

import json
from pathlib import Path

import pytest

from autograder.authoring.handout_folder import (
    Addresses,
    browser_labs,
    checked_addresses,
    colab_address,
    remembered_addresses,
)
from autograder.course import Course, load
from autograder.errors import UsageError
from autograder.submission.notebook import exercise_cell

WHEEL = "kit-1.0+own.d1-py3-none-any.whl"
WHERE = Addresses("https://host.example/files", "https://github.com/me/course/tree/main/labs")
COLAB = "https://colab.research.google.com"


@pytest.fixture(scope="module")
def course(pytestconfig: pytest.Config) -> Course:
    """The course of the kit."""
    return load(pytestconfig.rootpath)


@pytest.fixture(scope="module")
def sources(course: Course) -> list[str]:
    """The cells of the lab of stage 01, as a browser gets it."""
    made = browser_labs([course.stage("01"), course.stage("02")], WHEEL, WHERE)
    assert [*made] == ["labs/01.ipynb", "labs/02.ipynb"]
    return ["".join(cell["source"]) for cell in json.loads(made["labs/01.ipynb"])["cells"]]


def test_a_lab_begins_with_a_badge_that_opens_it(sources: list[str]):
    """The badge is the first thing in the lab, and leads to the lab's own address in Colab."""
    badge = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"

    assert sources[0].startswith(f"{badge}({COLAB}/github/me/course/blob/main/labs/01.ipynb)\n")


def test_the_first_code_installs_the_wheel_and_starts(sources: list[str]):
    """One cell installs the wheel from its address, and goes to the folder of the stage."""
    address = "https://host.example/files/kit-1.0%2Bown.d1-py3-none-any.whl"

    assert f'%pip install --quiet "{address}" matplotlib ipywidgets\n' in sources[1]
    assert sources[1].endswith('begin("01_dot_product_attention")')
    assert "lab = Lab(" in sources[3]


def test_each_exercise_has_its_cell_after_the_text_about_it(course: Course, sources: list[str]):
    """The cell of an exercise holds its stub, and is above the cells that use it."""
    stage = course.stage("01")
    stub = stage.stub.read_text("utf-8")
    for exercise in stage.exercises:
        place = sources.index(exercise_cell(stub, exercise.name))
        used = next(n for n, text in enumerate(sources) if f'needs("{exercise.name}")' in text)
        checked = sources.index(f'lab.check("{exercise.name}")')

        assert place < used < checked or place < checked < used


def test_links_between_labs_open_in_colab(sources: list[str]):
    """No link leads to a path that only a computer with the whole course has."""
    assert not any("](../" in text for text in sources)
    assert any(f"]({COLAB}/github/me/course/blob/main/labs/02.ipynb)" in text for text in sources)


@pytest.mark.parametrize(
    ("labs", "opens"),
    [
        ("https://github.com/me/course/tree/main/labs", "/github/me/course/blob/main/labs/"),
        ("https://github.com/me/course/blob/main", "/github/me/course/blob/main/"),
        ("https://raw.githubusercontent.com/me/c/main/labs", "/github/me/c/blob/main/labs/"),
        (
            "https://raw.githubusercontent.com/me/c/refs/heads/main/labs",
            "/github/me/c/blob/main/labs/",
        ),
        ("https://host.example/labs", "/#fileId=https%3A%2F%2Fhost.example%2Flabs%2F"),
    ],
)
def test_colab_opens_github_and_other_hosts(labs: str, opens: str):
    """GitHub has its own form of address in Colab; every other address is passed on as it is."""
    assert colab_address(labs, "01.ipynb") == f"{COLAB}{opens}01.ipynb"


@pytest.mark.parametrize(
    ("wheel", "folder"),
    [
        ("https://host.example/files/", "https://host.example/files"),
        (f"https://host.example/files/{WHEEL}", "https://host.example/files"),
        (f"https://host.example/{WHEEL.replace('+', '%2B')}", "https://host.example"),
        ("https://github.com/me/c/blob/main/kit", "https://github.com/me/c/raw/main/kit"),
        ("file:///srv/kit", "file:///srv/kit"),
    ],
)
def test_the_wheels_address_is_a_file_or_its_folder(wheel: str, folder: str):
    """The wheel may be named in its address or not; a page of GitHub becomes the file."""
    assert checked_addresses(wheel, WHERE.labs, WHEEL).wheel == folder


@pytest.mark.parametrize(
    ("wheel", "labs", "reason"),
    [
        ("https://host.example/kit.whl", WHERE.labs, f"the wheel is {WHEEL}".replace("+", r"\+")),
        ("kit.whl", WHERE.labs, "--wheel-url 'kit.whl' is not an address"),
        ("https://", WHERE.labs, "is not an address"),
        ("https://host.example", "labs", "--labs-url 'labs' is not an address"),
        ("https://host.example", "file:///srv/labs", "--labs-url .* is not an address"),
        ("https://host.example", "https://github.com/me/course", "names no branch"),
    ],
)
def test_an_address_that_cannot_work_is_refused(wheel: str, labs: str, reason: str):
    """An address that pip or Colab would refuse is refused when the labs are written."""
    with pytest.raises(UsageError, match=reason):
        checked_addresses(wheel, labs, WHEEL)


def test_the_addresses_are_remembered_in_the_labs(tmp_path: Path, course: Course):
    """A hand-out knows its addresses, so that `release` can write its labs again."""
    assert remembered_addresses(tmp_path) is None
    for name, content in browser_labs([course.stage("01")], WHEEL, WHERE).items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(content)

    assert remembered_addresses(tmp_path) == WHERE
