"""Tests commands that run the code of a course: messages and exit codes."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.authoring.mutation import Equivalent, Mutant, MutationReport

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself


def test_changes_that_no_check_notices_are_exit_code_1(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
):
    """Each unnoticed mutant, and each listed mutant that is now noticed, has a line."""
    survivor = Mutant("a + b", "a - b", 7, "")
    outdated = Equivalent(was="2 * x", becomes="x + x", reason="equal")
    reports = iter(
        [
            MutationReport("01_tiny", 3, (), (survivor,), (outdated,)),
            MutationReport("01_tiny", 4, (), (), ()),
        ]
    )
    monkeypatch.setattr("autograder.authoring.mutation.mutate_stage", lambda *_: next(reports))
    left, none = invoke("mutate"), invoke("mutate", "--stage", "1")

    assert (left.exit_code, none.exit_code) == (1, 0)
    assert left.output.splitlines() == [
        f"{'01_tiny':28} killed    3 (75.0%), equivalent   0, survived   1",
        "  line 7: a + b  →  a - b",
        "  no longer survives: 2 * x  →  x + x",
    ]


def test_a_machine_with_a_bad_finding_is_exit_code_1(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
):
    """A bad finding has a different mark, and makes the exit code 1."""
    findings = [
        SimpleNamespace(good=True, text="torch 2"),
        SimpleNamespace(good=False, text="no isolation"),
    ]
    monkeypatch.setattr("autograder.doctor.examine", lambda _course: findings)
    result = invoke("doctor")

    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "✓ torch 2",
        "✗ no isolation",
        "✓ gradebook: none yet; `autograder grade --gradebook` creates it",
    ]


def test_findings_of_verify_are_exit_code_1(invoke: Invoke, monkeypatch: pytest.MonkeyPatch):
    """Findings make the exit code 1, and details are printed on request."""
    report = SimpleNamespace(lines=["1 stage"], details=["margin 3"], findings=["a stub earns 5"])
    monkeypatch.setattr("autograder.authoring.verify.verify", lambda *_, **_options: report)
    bad = invoke("verify")
    report.findings = []
    usual = invoke("verify")
    full = invoke("verify", "--full", "--verbose")

    assert (bad.exit_code, bad.stdout, bad.stderr) == (1, "1 stage\n", "✗ a stub earns 5\n")
    more = (
        "Everything holds. `autograder verify --full` also grades variants and prints the prices."
    )
    assert (usual.exit_code, usual.output) == (0, f"1 stage\n{more}\n")
    assert (full.exit_code, full.output) == (0, "1 stage\nmargin 3\nEverything holds.\n")
