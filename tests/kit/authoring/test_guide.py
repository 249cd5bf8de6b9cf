"""Tests START_HERE.md, which students read first."""

import re

import msgspec

from autograder.authoring.release import guide
from autograder.course import Course
from tests.kit.factories import STAGE_TOML


def test_the_guide_lists_each_stage_with_its_minutes(tiny: Course):
    """A row has the number of exercises, and the minutes of the whole stage."""
    stage = msgspec.structs.replace(tiny.stages[0].file, minutes=12)
    text = guide(tiny, [msgspec.structs.replace(tiny.stages[0], file=stage)]).decode()

    assert "| 01_tiny | Tiny things | 2 | 12 |" in text
    assert "my-work/01_tiny/tiny.py" in text
    assert not re.search("TITLE|GRADED|WHEEL|STAGES|WHERE", text)


def test_the_guide_shows_the_roads_through_the_course(write_course):
    """Each road has its stages and those that it needs; one road is not listed."""
    course = write_course(stages=tuple(f"0{number}_tiny" for number in range(1, 6)))
    roads = ["main", "main", "main", "side", "side"]
    stages = [
        msgspec.structs.replace(
            stage,
            file=msgspec.structs.replace(
                stage.file, road=road, prerequisites=("02_tiny",), minutes=50
            ),
        )
        for stage, road in zip(course.stages, roads, strict=True)
    ]
    text = guide(course, stages).decode()

    assert (
        "- *main*: 01, 02, 03 (about 2 hours)\n- *side*: 04, 05 (about 2 hours); needs 02" in text
    )
    assert "road" not in guide(course, stages[:3]).decode()


def test_the_guide_names_only_the_stages_of_the_handout(write_course):
    """A class that receives the second stage reads nothing about the first."""
    course = write_course(stages=("01_tiny", "02_more"))
    text = guide(course, course.stages[1:]).decode()

    assert "my-work/02_more/tiny.py" in text
    assert "01_tiny" not in text


def test_the_guide_of_a_course_without_labs_and_pictures_promises_none(write_course):
    """A course that has no lab and no picture mentions no lab, no Jupyter and no bug hunt."""
    course = write_course()
    assert not course.stages[0].lab.exists()

    text = guide(course, course.stages).decode()

    assert not re.search("lab|jupyter|hunt", text, re.IGNORECASE)
    assert "submit the module" in text


def test_the_module_to_submit_is_of_a_graded_stage(write_course):
    """The example of a module to submit is not one of a stage for practice."""
    files = {"source/01_tiny/stage.toml": "graded = false\n" + STAGE_TOML}
    course = write_course(files, stages=("01_tiny", "02_more"))
    text = guide(course, course.every_stage).decode()

    assert "such as `my-work/02_more/tiny.py`" in text


def test_the_guide_links_the_page_on_what_one_needs_to_know(tiny: Course):
    """A course with this page in the folder of its modules has a link to it; others have none."""
    without = guide(tiny, tiny.stages).decode()
    tiny.shared_source.mkdir(parents=True, exist_ok=True)
    (tiny.shared_source / "before-you-start.md").write_text("# Before you start\n", "utf-8")

    assert "before-you-start" not in without
    assert "[Before you start](course/before-you-start.md)" in guide(tiny, tiny.stages).decode()
