"""The example class is graded as its goldens say: every student, stage, check and sentence.

After a suite has changed on purpose, write the goldens anew and read what changed in them:

    UPDATE_EXAMPLES=1 python -m pytest tests/kit/test_examples.py
"""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from autograder.results import SubmissionResult, from_json
from autograder.sandbox.isolation import detect_capabilities

ROOT = Path(__file__).parents[2]
SUBMITTED = ROOT / "examples" / "submitted"
EXPECTED = ROOT / "examples" / "expected"
UPDATE = "UPDATE_EXAMPLES"
HOW_TO_UPDATE = f"If the change is meant: {UPDATE}=1 python -m pytest {Path(__file__).name}"

pytestmark = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Grade the class from the command line, once; records by student and stage."""
    file = tmp_path_factory.mktemp("examples") / "results.json"
    command = [sys.executable, "-m", "autograder", "grade", SUBMITTED, "--json", file]
    secretless = {
        key: value for key, value in os.environ.items() if key != "AUTOGRADER_COURSE_SECRET"
    }
    done = subprocess.run(  # noqa: S603  # our own command on our own files
        [*command, "--jobs", "2"], cwd=ROOT, env=secretless, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found = {(item.student, item.stage): item for item in from_json(file.read_bytes()).submissions}
    if os.environ.get(UPDATE):
        write(found)
    return found


def write(records):
    """Write the goldens anew, and remove those of students who have left."""
    for golden in EXPECTED.glob("*/*.json"):
        golden.unlink()
    for record in records.values():
        path = golden_of(record.student, record.stage)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def golden_of(student, stage):
    """Return the file that says what *student* gets in *stage*."""
    return EXPECTED / student / f"{stage}.json"


def handed_in():
    """List who handed in what."""
    return sorted(folder.parts[-2:] for folder in SUBMITTED.glob("*/*") if folder.is_dir())


@pytest.mark.parametrize(("student", "stage"), handed_in(), ids="-".join)
def test_is_graded_as_expected(records, student, stage):
    """The record is the golden's, to the word."""
    path = golden_of(student, stage)

    expected = msgspec.json.decode(path.read_bytes(), type=SubmissionResult)

    assert records[student, stage] == expected, HOW_TO_UPDATE


def test_nobody_is_forgotten(records):
    """There is one record for each student and stage, and one golden for each record."""
    goldens = {(path.parent.name, path.stem) for path in EXPECTED.glob("*/*.json")}

    assert set(records) == set(handed_in()) == goldens, HOW_TO_UPDATE
