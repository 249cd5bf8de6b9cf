"""Tests points that do not count although their check passes."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from autograder.course import Stage
from autograder.grading.withheld_points import NOT_YET, withhold
from autograder.results import CheckResult, Outcome, Status
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer

RULES = """
format_version = 1

[[rule]]
name = "by_hand"
sentence = "Ready-made code is not allowed."
methods = ["uses"]
point_of = ["01_tiny"]

[[rule]]
name = "no_loops"
sentence = "Loops are not allowed."
methods = ["operators"]
"""
LAYERS = (Layer.SHAPES, Layer.PROBE, Layer.LAWS, Layer.FORBIDDEN)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A stage with a rule that is its point, and one that is not."""
    path = tmp_path / "rules.toml"
    path.write_text(RULES, "utf-8")
    return SimpleNamespace(name="01_tiny", rules=path)


def counted(stage: Stage, rule: str, *failed: Layer, share: float = 0.25) -> dict[Layer, float]:
    """The points that count in an exercise whose checks, two points each, fail in *failed*."""
    checks, results = [], []
    for layer in LAYERS:
        rules = (rule,) if layer is Layer.FORBIDDEN else ()
        checks.append(CollectedCheck(SimpleNamespace(), CheckSpec("Head", 2.0, layer, (), rules)))
        passed = CheckResult(
            name=layer,
            title=layer,
            outcome=Outcome.PASSED,
            status=Status.OK,
            points=2.0,
            max_points=2.0,
        )
        status = Status.FORBIDDEN if layer is Layer.FORBIDDEN else Status.WRONG_VALUE
        wrong = replace(passed, outcome=Outcome.FAILED, status=status, points=0.0)
        results.append(wrong if layer in failed else passed)
    found = withhold(stage, checks, tuple(results), uncompared=(), share=share)
    return {Layer(one.name): one.points for one in found}


def test_laws_count_only_if_a_probe_passes(stage: Stage):
    """Laws count only if a probe passes, because meaningless tensors keep many laws."""
    assert counted(stage, "by_hand", Layer.PROBE)[Layer.LAWS] == 0
    assert "other inputs" in NOT_YET


def test_code_that_breaks_the_point_of_its_stage_keeps_a_share_of_its_points(stage: Stage):
    """Ready-made code keeps a quarter of the points of its other checks."""
    points = counted(stage, "by_hand", Layer.FORBIDDEN)

    assert points == {Layer.SHAPES: 0.5, Layer.PROBE: 0.5, Layer.LAWS: 0.5, Layer.FORBIDDEN: 0}


@pytest.mark.parametrize(
    ("rule", "share"),
    [
        pytest.param("no_loops", 0.25, id="another-rule"),
        pytest.param("by_hand", 1.0, id="turned-off"),
    ],
)
def test_another_broken_rule_costs_its_own_check(stage: Stage, rule: str, share: float):
    """A rule that is not the point of the stage costs its points, and a course can turn it off."""
    points = counted(stage, rule, Layer.FORBIDDEN, share=share)

    assert points == {Layer.SHAPES: 2, Layer.PROBE: 2, Layer.LAWS: 2, Layer.FORBIDDEN: 0}
