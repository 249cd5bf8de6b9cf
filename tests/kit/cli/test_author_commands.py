"""Tests commands that write the files of a course."""

from collections.abc import Callable
from typing import Any

import pytest

from autograder.course import Course
from tests.kit.factories import SETUP, WriteCourse, grade_cell, notebook

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself


def test_release_lists_what_is_stale_and_builds_it(invoke: Invoke, tiny: Course):
    """`release --check` has exit code 1 before `release`, and 0 after it."""
    before = invoke("release", "--check")
    built = invoke("release")
    after = invoke("release", "--check")

    assert (before.exit_code, built.exit_code, after.exit_code) == (1, 0, 0)
    assert "tiny.py is stale" in before.output
    assert "built assignments/01_tiny/tiny.py" in built.output
    assert "raise NotImplementedError" in tiny.stages[0].stub.read_text()


def test_release_shows_which_stage_it_computes(invoke: Invoke, tiny: Course):
    """A stage has a line of progress if its numbers are computed, and none if it is up to date."""
    first, second = (invoke("release") for _ in range(2))

    assert first.stderr.splitlines() == [f"{tiny.stages[0].name}: computing the records"]
    assert second.stderr == ""


def test_new_course_shows_its_stages(invoke: Invoke, tiny: Course):
    """Each stage and each later step has a line of progress before the result."""
    result = invoke("new-course", "mine", "--stages", "01")

    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        f"{tiny.stages[0].name}: copying",
        "building the files for students",
        f"{tiny.stages[0].name}: computing the records",
        "writing the folder for a class",
    ]


def test_a_road_without_stages_to_skip_is_asked_for(invoke: Invoke, tiny: Course):
    """`--only` needs a road, and an unknown road is an error before anything is written."""
    alone = invoke("new-course", "mine", "--only", "--stages", "01")
    unknown = invoke("new-course", "mine", "--road", "south")

    assert (alone.exit_code, unknown.exit_code) == (2, 2)
    assert "--only needs a road" in alone.output
    assert "It has no roads" in unknown.output
    assert not (tiny.root / "mine").exists()


def test_release_builds_one_stage_if_asked(invoke: Invoke, write_course: WriteCourse):
    """`release --stage` builds the files of that stage, and the others stay stale."""
    course = write_course(stages=("01_tiny", "02_more"))

    built = invoke("release", "--stage", "02")
    checks = [invoke("release", "--check", "--stage", name).exit_code for name in ("02", "01")]

    assert built.exit_code == 0
    assert checks == [0, 1]
    assert [stage.stub.exists() for stage in course.stages] == [False, True]


def test_release_writes_the_folder_for_a_class(invoke: Invoke, tiny: Course):
    """`--handout` writes the guide and a wheel, and `--solutions` a wheel in a different folder."""
    out, later = tiny.root / "out", tiny.root / "later"
    result = invoke("release", "--handout", out, "--solutions", later)
    (wheel,), (solutions,) = out.glob("*.whl"), later.glob("*.whl")

    assert result.exit_code == 0
    assert {path.name for path in out.iterdir()} == {"START_HERE.md", wheel.name}
    assert f"wrote {out / wheel.name}" in result.output
    assert f"wrote {solutions}" in result.output


def test_release_writes_labs_for_a_browser(invoke: Invoke, tiny: Course):
    """With the addresses, each lab is written; a later release keeps them up to date."""
    stage = tiny.stages[0]
    stage.lab.write_bytes(notebook(SETUP, grade_cell("double"), grade_cell("Scale")))
    out = tiny.root / "handout"
    urls = ("--wheel-url", "https://host.example", "--labs-url", "https://host.example/labs")
    result = invoke("release", "--handout", out, *urls)
    lab = out / "labs" / "01.ipynb"
    before = lab.read_text()
    file = tiny.root / "course.toml"
    file.write_text(file.read_text().replace(tiny.file.title, "Mine"))
    stale = invoke("release", "--check")
    invoke("release")
    (wheel,) = out.glob("*.whl")

    assert result.exit_code == 0
    assert f"wrote {lab}" in result.output
    assert f"{lab} is stale" in stale.output
    assert wheel.name.replace("+", "%2B") in lab.read_text()
    assert wheel.name.replace("+", "%2B") not in before


def test_labs_for_a_browser_need_a_lab(invoke: Invoke, tiny: Course):
    """A course without labs says so, instead of writing an empty folder."""
    urls = ("--wheel-url", "https://host.example", "--labs-url", "https://host.example/labs")
    result = invoke("release", "--handout", tiny.root / "out", *urls)

    assert result.exit_code != 0
    assert "No stage of this hand-out has a lab" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ("--wheel-url", "https://host.example"),
        ("--handout", "out", "--labs-url", "https://host.example"),
        ("--wheel-url", "https://host.example", "--labs-url", "https://host.example"),
    ],
)
def test_labs_for_a_browser_need_all_three_options(invoke: Invoke, words: tuple[str, ...]):
    """A missing option is named before anything is built."""
    result = invoke("release", *words)

    assert result.exit_code != 0
    assert "need all of --handout DIR, --wheel-url URL and --labs-url URL" in result.output


def test_release_reports_a_hand_out_with_an_old_title(invoke: Invoke, tiny: Course):
    """`release --check` names its files, and `release` writes them again."""
    invoke("release", "--handout", tiny.root / "handout")
    file = tiny.root / "course.toml"
    file.write_text(file.read_text().replace(tiny.file.title, "Mine"))
    before, built, after = (invoke("release", *words) for words in (["--check"], [], ["--check"]))

    assert (before.exit_code, built.exit_code, after.exit_code) == (1, 0, 0)
    assert f"{tiny.root / 'handout' / 'START_HERE.md'} is stale" in before.output
    assert f"{tiny.root / 'assignments' / 'START_HERE.md'} is stale" in before.output
