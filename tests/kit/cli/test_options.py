"""Tests options that several commands have."""

import pytest

from autograder.cli.options import out_option


def test_the_file_to_write_has_a_default():
    """The help shows the default name of the file to write."""
    assert out_option("grades.csv").help == "The file to write (default: grades.csv)."


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("release --check --handout DIR", id="check-and-handout"),
        pytest.param("release --print 01 --check", id="print-and-check"),
        pytest.param("release --print 01 --stage 01", id="print-and-stage"),
        pytest.param("verify --verbose", id="verbose-without-full"),
        pytest.param("explain record.json ada --course .", id="course-without-gradebook"),
        pytest.param("hunt 01 --new --answer 1", id="answer-to-a-new-hunt"),
        pytest.param("grade submitted --fresh", id="fresh-without-a-record"),
    ],
)
def test_an_option_without_effect_is_refused(invoke, words: str):
    """An option that would be ignored is named, and nothing runs."""
    result = invoke(*words.split())

    assert result.exit_code == 2
    assert "has no effect" in result.output
