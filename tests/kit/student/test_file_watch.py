"""Tests that a save is found, by events or by reading the file."""

import os
from pathlib import Path

from autograder.course import handouts
from autograder.student.watch import FileWatch, _signature_of


def test_a_save_is_found_by_looking_at_the_file(handed_out: Path):
    """Without events, a save is found by the file's time and size."""
    reader, writer = os.pipe()
    watch = FileWatch(handouts(handed_out.parent).stages, writer)
    (handed_out / "self_attention.py").write_text("x = 1\n")
    saved = watch.saved()
    watch.close()
    os.close(reader)
    os.close(writer)

    assert [stage.name for stage in saved] == [handed_out.name]
    assert watch.saved() == []


def test_a_file_that_is_gone_has_no_signature(tmp_path: Path):
    """A missing file has no signature, because an editor may remove it before a save."""
    assert _signature_of(tmp_path / "gone.py") is None
