"""Tests options that several commands have."""

from autograder.cli.options import out_option


def test_the_file_to_write_has_a_default():
    """The help shows the default name of the file to write."""
    assert out_option("grades.csv").help == "The file to write (default: grades.csv)."
