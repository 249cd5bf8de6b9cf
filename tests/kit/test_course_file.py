"""Tests that the keys of the course's files are described in the documents."""

import json
from pathlib import Path

import msgspec
import msgspec.structs
import pytest

from autograder import course, course_file
from autograder.errors import CourseError

HEAD = 'format_version = 1\nid = "tiny"\ntitle = "Tiny"\nstages = ["01_tiny"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(HEAD + "[limits]\nmemory_mb = 5\n", r"memory_mb.*limits", id="unknown-limit"),
        pytest.param("x = 1\n" + HEAD, "unknown field `x`", id="unknown-key"),
        pytest.param(HEAD + "[limits]\ncall_seconds = 0\n", "call_seconds", id="zero-seconds"),
        pytest.param(HEAD + '[limits]\nfiles = "9"\n', "files", id="text-for-a-number"),
        pytest.param(HEAD.replace("= 1", "= 2"), "format_version", id="other-version"),
        pytest.param(HEAD.replace("01_tiny", "../up"), "stages", id="stage-with-a-path"),
        pytest.param(HEAD.replace('["01_tiny"]', "[]"), "empty", id="no-stages"),
        pytest.param(HEAD.replace('"]', '", "01_tiny"]'), "twice", id="stage-listed-twice"),
        pytest.param(HEAD + '[reveal]\nhidden_checks = "all"\n', "reveal", id="unknown-reveal"),
        pytest.param(HEAD + "[grading]\ncarry = true\n", r"carry.*grading", id="unknown-grading"),
        pytest.param("stages = [", "not valid TOML", id="no-toml"),
        pytest.param("x = " + "9" * 5000, "not valid TOML", id="number-of-5000-digits"),
        pytest.param("x = " + "[" * 5000, "not valid TOML", id="nested-5000-deep"),
    ],
)
def test_a_wrong_course_file_is_refused_by_name_and_place(tmp_path: Path, text: str, words: str):
    """A typing error in course.toml is reported with the file, the key and its location."""
    (tmp_path / "course.toml").write_text(text)

    with pytest.raises(CourseError, match=words) as caught:
        course.load(tmp_path)

    assert "course.toml" in str(caught.value)


def default_of(field: msgspec.structs.FieldInfo) -> str:
    """Return the default of *field* as the page shows it."""
    if field.required:
        return "needed"
    if isinstance(field.default, msgspec.Struct) or field.default is msgspec.NODEFAULT:
        return "below"  # a table
    return f"`{json.dumps(field.default)}`"


@pytest.mark.parametrize(
    "table",
    [
        course_file.CourseFile,
        course_file.Limits,
        course_file.Reveal,
        course_file.Grading,
        course_file.StageFile,
        course_file.Exercise,
    ],
)
def test_each_key_is_in_the_page_with_its_default(table: type[msgspec.Struct]):
    """docs/course.md has a row for every key of course.toml and stage.toml."""
    page = (Path(__file__).parents[2] / "docs" / "course.md").read_text("utf-8")
    rows = [
        f"| `{field.encode_name}` | {default_of(field)} |"
        for field in msgspec.structs.fields(table)
    ]

    assert [row for row in rows if row not in page] == []
