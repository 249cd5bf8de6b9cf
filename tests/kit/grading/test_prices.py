"""Tests the four rules that decide the points of an exercise."""

from types import SimpleNamespace

import pytest

from autograder.course_file import Grading
from autograder.grading.prices import KEPT, Graded, priced, with_evidence
from autograder.results import CheckResult, Outcome, Status
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer
from autograder.suite.forbidden import Need

GRADING = Grading(law_credit=0.6, rule_share=0.25)
PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


def graded(*rows, given=None, uncompared=(), breaks_point=False):
    """Grade the exercise "attend": each row has the layer and outcome of a check of one point."""
    checks, results = [], []
    for number, (layer, outcome, *more) in enumerate(rows):
        name = f"check_{number}"
        status = more[0] if more else Status.OK if outcome is PASSED else Status.WRONG_VALUE
        rules = ("dtype",) if len(more) > 1 else ()
        spec = CheckSpec("attend", 1.0, Layer(layer), (), rules)
        checks.append(CollectedCheck(SimpleNamespace(name=name), spec))
        points = 1.0 if outcome is PASSED else 0.0
        results.append(
            CheckResult(
                name=name,
                title=name,
                outcome=outcome,
                status=status,
                points=points,
                max_points=1.0,
                message="Wrong.",
            )
        )
    return Graded(checks, results, given or {}, frozenset(uncompared), breaks_point)


def points(*rows, **facts):
    """Return the points of each check."""
    return [check.points for check in priced(graded(*rows, **facts), GRADING).checks]


def test_a_check_that_passes_pays_its_points():
    """A check that passes pays its points, and a failed signature pays nothing."""
    assert points(("signature", FAILED), ("probe", PASSED)) == [0.0, 1.0]


@pytest.mark.parametrize("layer", ["documented", "probe", "gradients"])
def test_a_wrong_value_keeps_a_share_for_the_laws_that_hold(layer):
    """A failed check of values keeps `law_credit` times the share of the laws that hold."""
    laws = ("laws", PASSED), ("laws", PASSED), ("laws", FAILED)
    found = points((layer, FAILED), *laws)

    assert found == pytest.approx([0.4, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("layer", ["signature", "shapes", "parameters", "laws", "forbidden"])
def test_other_failed_checks_keep_nothing(layer):
    """Laws soften only wrong values."""
    assert points((layer, FAILED), ("laws", PASSED))[0] == 0.0


def test_a_check_that_names_a_rule_is_not_a_law():
    """The dtype of a result and unchanged inputs soften nothing."""
    assert points(("probe", FAILED), ("laws", PASSED, Status.OK, "dtype")) == [0.0, 1.0]


def test_a_check_that_did_not_run_keeps_nothing():
    """A check whose other exercise is missing keeps nothing for laws."""
    assert points(("probe", Outcome.SKIPPED), ("laws", PASSED)) == [0.0, 1.0]


def test_a_broken_rule_keeps_nothing():
    """A probe that ended because of a forbidden function keeps nothing for laws."""
    assert points(("probe", FAILED, Status.FORBIDDEN), ("laws", PASSED)) == [0.0, 1.0]


def test_what_passes_with_right_neighbours_is_paid():
    """A failed check is paid if it passes with our definition of the exercise that it uses."""
    result = priced(graded(("probe", FAILED), given={"check_0": "project"}), GRADING)
    [check] = result.checks

    assert (check.points, check.outcome, check.given) == (1.0, PASSED, "project")
    assert check.message == "Right, with our project in place of yours. Fix project first."


def test_a_law_that_holds_with_right_neighbours_counts():
    """A law that holds with our neighbours softens a value that is wrong with them, too."""
    found = points(("probe", FAILED), ("laws", FAILED), given={"check_1": "project"})

    assert found == pytest.approx([0.6, 1.0])


def test_documented_values_alone_count_as_failed():
    """If no check on hidden inputs passes, documented values may be known by heart."""
    rows = ("documented", PASSED), ("probe", FAILED), ("probe", FAILED), ("laws", PASSED)

    assert points(*rows) == pytest.approx([0.6, 0.6, 0.6, 1.0])


def test_one_hidden_value_makes_documented_values_count():
    """One probe that passes is enough for documented values."""
    assert points(("documented", PASSED), ("probe", FAILED), ("probe", PASSED))[0] == 1.0


def test_an_uncompared_value_counts_only_if_all_probes_pass():
    """A printed value that this torch does not compute counts with all probes only."""
    rows = ("documented", PASSED), ("probe", FAILED), ("probe", PASSED)

    assert points(*rows, uncompared=["check_0"])[0] == 0.0


def test_ready_made_code_keeps_a_share_of_all_points():
    """An exercise that does by a ready-made function what its stage teaches keeps a quarter."""
    rows = ("probe", PASSED), ("forbidden", FAILED, Status.FORBIDDEN)

    assert points(*rows, breaks_point=True) == [0.25, 0.0]


def test_the_page_states_what_is_kept():
    """The message of a failed check states why it keeps points."""
    [check, _] = priced(graded(("probe", FAILED), ("laws", PASSED)), GRADING).checks

    assert check.message.endswith(KEPT)


NEEDED = {"by_hand": Need("exponential", frozenset({"exp"}))}


def evidence(*ran: str, values=PASSED, rule="by_hand"):
    """Grade an exercise whose rule is checked by a call that *ran* these functions."""
    spec = [
        CheckSpec("attend", 1.0, Layer.PROBE, (), ()),
        CheckSpec("attend", 1.0, Layer.FORBIDDEN, (), (rule,)),
    ]
    base = graded(("probe", values), ("forbidden", PASSED))
    checks = [CollectedCheck(check.item, one) for check, one in zip(base.checks, spec, strict=True)]
    counted = {"functions": dict.fromkeys(ran, 1), "operators": {}}
    return with_evidence(checks, base.results, NEEDED, {"check_1": [("operators", counted)]})


def test_right_values_without_what_they_need_break_the_rule():
    """Nothing that the rule needs was counted, so hidden code did it; an instructor reads why."""
    results, doubts = evidence("matmul")

    assert [result.status for result in results] == [Status.OK, Status.FORBIDDEN]
    assert results[1].points == 0.0
    assert "no exponential" in results[1].message
    assert doubts == (f"{results[1].message} An instructor should read attend.",)


@pytest.mark.parametrize(
    ("ran", "facts"),
    [
        pytest.param(["matmul", "exp"], {}, id="what-is-needed-ran"),
        pytest.param(["matmul", "tolist"], {}, id="plain-python-may-have-done-it"),
        pytest.param(["matmul"], {"values": FAILED}, id="wrong-values-may-lack-the-step"),
        pytest.param(["matmul"], {"rule": "dtype"}, id="a-rule-without-needs"),
    ],
)
def test_no_other_code_is_accused_for_lack_of_evidence(ran, facts):
    """Results stay as they are if what is needed ran, or may have run elsewhere, or is missing."""
    results, doubts = evidence(*ran, **facts)

    assert Status.FORBIDDEN not in [result.status for result in results]
    assert doubts == ()
