"""Tests printing the lines that several commands share."""

from pathlib import Path

import pytest

from autograder.cli.output import print_lines, print_progress, print_remarks, terminal, write_export
from autograder.errors import UsageError
from autograder.exports.export_file import ExportFile


def test_remarks_do_not_mix_with_the_output(capsys: pytest.CaptureFixture[str]):
    """Output goes to stdout and remarks to stderr, so a pipe gets only the output."""
    print_lines(["one", "two"])
    print_remarks(["note"])

    assert capsys.readouterr() == ("one\ntwo\n", "note\n")


def test_long_lines_are_broken_between_words_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A pipe gets each line as it is, and a path stays whole."""
    text = "a hint with more words than fit, in /a/long/path\nx = 1"
    monkeypatch.setenv("COLUMNS", "20")
    print_lines([text])
    piped = capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_lines([text])

    assert piped == f"{text}\n"
    assert capsys.readouterr().out == (
        "a hint with more\nwords than fit, in\n/a/long/path\nx = 1\n"
    )


def test_progress_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]):
    """Without a terminal, lines of progress go to stderr."""
    print_progress("01_tiny: copying")

    assert capsys.readouterr() == ("", "01_tiny: copying\n")


def test_a_pipe_has_no_colour(monkeypatch: pytest.MonkeyPatch):
    """Output to a pipe has no color, and the width of the terminal around it."""
    monkeypatch.setenv("COLUMNS", "60")

    assert terminal() == (60, False)


def test_an_export_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The message about an export contains the format and the file."""
    file = tmp_path / "grades.csv"
    write_export("csv", ExportFile(b"a,b\n", remarks=("bob has no grade",)), file)

    assert file.read_bytes() == b"a,b\n"
    assert capsys.readouterr() == (f"csv: {file}\n", "bob has no grade\n")


def test_an_export_with_a_problem_is_not_written(tmp_path: Path):
    """An export with a problem writes no file and prints the problem as the error."""
    with pytest.raises(UsageError, match="Nobody is in the roster"):
        write_export("csv", ExportFile(b"", problem="Nobody is in the roster."), tmp_path / "x")

    assert not (tmp_path / "x").exists()
