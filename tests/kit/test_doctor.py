"""Tests the report on the isolation and the documented values of this machine."""

import pytest
import torch

from autograder import doctor
from autograder.course import Course
from autograder.sandbox.isolation import detect_capabilities
from autograder.suite.documented import TORCH_VERSION


def test_a_healthy_course_has_no_bad_finding_but_the_machines(tiny: Course):
    """Python, torch, isolation, documented tensors and hidden inputs are examined in this order."""
    texts = [finding.text for finding in doctor.examine(tiny)]

    assert texts[1] == f"torch {torch.__version__}"
    assert texts[-2] == f"the documented tensors of 1 stages hold with torch {TORCH_VERSION}"


def test_a_wrong_documented_value_is_a_bad_finding(tiny: Course):
    """A wrong documented value is a bad finding with the name of the check."""
    text = tiny.documented.read_text().replace("[1.0, 3.0, 5.0]", "[1.0, 3.0, 5.1]")
    tiny.documented.write_text(text)
    [bad] = [finding for finding in doctor.examine(tiny) if "documented" in finding.text]

    assert not bad.good
    assert "test_doubles_the_documented_numbers" in bad.text


def test_public_hidden_inputs_are_mentioned(tiny: Course, monkeypatch: pytest.MonkeyPatch):
    """A course without a secret is mentioned, and can be graded."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    *_, public = doctor.examine(tiny)
    (tiny.root / ".course-secret").write_text("known to no submission")
    *_, secret = doctor.examine(tiny)

    assert public.good
    assert "set a course secret" in public.text
    assert secret.text == "hidden inputs are secret"


def test_without_a_course_a_student_reads_whether_checks_run():
    """Without a course, `doctor` reports that checks run, at any level of isolation."""
    *_, worker = doctor.examine(None)

    assert worker.good
    assert worker.text.startswith("checks run here")


@pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason)
@pytest.mark.parametrize(
    ("available", "words"),
    [
        pytest.param(True, "may write 16 MiB and 200 files", id="in-memory"),
        pytest.param(False, "can't write files", id="nothing"),
    ],
)
def test_what_submissions_may_write_is_mentioned(tiny, monkeypatch, available, words):
    """Where the system gives no mounts, the folder is read-only; both are safe."""
    monkeypatch.setattr("autograder.sandbox.namespaces.has_private_folders", lambda: available)
    findings = [finding for finding in doctor.examine(tiny) if "write" in finding.text]

    assert [finding.good for finding in findings] == [True]
    assert words in findings[0].text


@pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason)
@pytest.mark.parametrize(
    ("numbers", "times", "words"),
    [
        pytest.param(
            True, "unchanged", "constant process numbers; reading changes no", id="namespaces"
        ),
        pytest.param(False, "set before", "no PID namespace); files are read once", id="none"),
    ],
)
def test_traces_between_workers_are_mentioned(tiny, monkeypatch, numbers, times, words):
    """`doctor` reports what one worker can leave behind for a later one; a page quotes neither."""
    monkeypatch.setattr("autograder.sandbox.namespaces.has_process_numbers", lambda: numbers)
    monkeypatch.setattr("autograder.sandbox.namespaces.access_times", lambda: times)
    [finding] = [one for one in doctor.examine(tiny) if "workers see" in one.text]

    assert finding.good
    assert words in finding.text


def test_a_short_secret_is_a_bad_finding(tiny: Course, monkeypatch: pytest.MonkeyPatch):
    """A secret that grading refuses is reported with what to do."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    (tiny.root / ".course-secret").write_text("hush")
    *_, secret = doctor.examine(tiny)

    assert not secret.good
    assert "has 4 bytes; it needs at least 16" in secret.text
