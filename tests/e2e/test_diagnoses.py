"""What is said of many programs, by both sources of evidence, is what was said before.

A change of a golden diagnosis is a commit with its reason; ``golden_diagnoses.py`` writes them.
"""

from difflib import unified_diff

import pytest

from autograder.course import load
from tests.e2e.golden_diagnoses import ROOT, blocks, golden, text_of

COURSE = load(ROOT)


@pytest.mark.parametrize("stage", [stage.name for stage in COURSE.stages])
def test_diagnoses_are_golden(stage: str):
    """Grading and a student's machine say of each program what the golden file holds."""
    found = blocks(COURSE, COURSE.stage(stage))
    expected, given = (text.splitlines() for text in (golden(stage), text_of(found)))

    assert "\n".join(unified_diff(expected, given, "golden", "now", lineterm="", n=3)) == ""
    assert not any(title.startswith(("## right", "## variant")) for title in found)
