"""Tests the points of slips, broken rules and hollow modules, and the bounds on them."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder import course as courses
from autograder.authoring.prices import Module, Priced, Prices, prices, unfair_prices
from autograder.results import Status, SubmissionResult
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer, read_rules
from autograder.suite.in_process import LocalChannel

COURSE = courses.load(Path(__file__).parents[3])
MASKED = COURSE.stage("05")


def priced(score: float, *slips: str) -> Priced:
    """A module with these slips, and its points."""
    return Priced(Module(" and ".join(slips), "", slips), score, raised=False)


FAIR = Prices(
    stage="01_tiny",
    one=(priced(8.0, "scale in a"), priced(9.0, "scale in b")),
    same=(priced(8.0, "scale in a", "scale in b"),),
    two=(priced(7.0, "scale in a", "mask in b"),),
    rules=((priced(5.0, "ready"), 5.0),),
    hollow=2.0,
)


def test_fair_prices_have_no_problem():
    """Two slips cost more than one, a repeated one does not, so there is no problem."""
    assert not [*FAIR.problems(), *FAIR.unusual_medians()]


def test_the_row_of_a_stage_has_medians_and_extremes():
    """A row is Markdown, so that the table can be pasted into a document."""
    assert FAIR.row == "| 01_tiny | 8.5 (8 to 9) | 8 (8 to 8) | 7 (7 to 7) | 5 | 2 |"


def test_a_row_without_modules_says_so():
    """A stage with a single exercise has no module with the same slip in several."""
    assert FAIR._replace(same=(), rules=()).row.count("none") == 2


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        pytest.param(
            {"one": (priced(4.0, "scale in a"),), "same": ()},
            "scale in a earns 4, less than 5.",
            id="a-slip-costs-too-much",
        ),
        pytest.param(
            {"same": (priced(9.5, "scale in a", "scale in b"),)},
            "scale in a and scale in b earns 9.5, and one of these slips alone at most 9.",
            id="more-is-cheaper",
        ),
        pytest.param(
            {"rules": ((priced(6.0, "ready"), 5.0),)}, "ready earns 6, more than 5.", id="a-rule"
        ),
        pytest.param({"hollow": 3.0}, "hollow.py earns 3, more than 2.5.", id="hollow"),
    ],
)
def test_an_unfair_price_is_a_problem(changed: dict[str, object], problem: str):
    """The sentence about an unfair price names the module, its points and the bound."""
    assert list(FAIR._replace(**changed).problems()) == [problem]


def test_a_median_that_is_not_expected_is_reported():
    """An unusual median is reported with the expected range."""
    cheap = FAIR._replace(one=(priced(9.8, "scale in a"),))

    assert list(cheap.unusual_medians()) == ["one slip: the median is 9.8, not 6.5 to 9."]


RULE = ("no_ready_attention",)
CHECKS = [
    CollectedCheck(SimpleNamespace(), CheckSpec(name, 4.0, Layer.FORBIDDEN, (), RULE))
    for name in ("SelfAttention", "MaskedSelfAttention")
]


def seven_points(name: str, module: bytes) -> SubmissionResult:  # noqa: ARG001  # the signature of a grader
    """Return a grader that gives every module seven points."""
    return SubmissionResult(
        student="x", stage=MASKED.name, status=Status.GRADED, score=7.0, max_score=10.0
    )


@pytest.fixture(scope="module")
def graded() -> tuple[Prices, dict[str, bytes]]:
    """The prices of stage 05, and the modules that were graded for them."""
    modules: dict[str, bytes] = {}

    def grade(name: str, module: bytes) -> SubmissionResult:
        modules[name] = module
        return seven_points(name, module)

    return prices(MASKED, CHECKS, grade), modules


def test_each_module_of_the_table_can_be_imported(graded: tuple[Prices, dict[str, bytes]]):
    """Slips replace definitions of the solution, and a broken rule is added after it."""
    _, modules = graded

    assert len(modules) >= 8
    for module in modules.values():
        assert LocalChannel("priced", module).definitions


def test_the_same_slip_is_made_in_several_exercises(graded: tuple[Prices, dict[str, bytes]]):
    """A slip that is made in several exercises is also priced in each of them alone."""
    found, _ = graded
    alone = {one.module.slips for one in found.one}

    assert found.same
    for same in found.same:
        assert len({slip.rpartition(" in ")[2] for slip in same.module.slips}) > 1
        assert {(slip,) for slip in same.module.slips} <= alone


def test_a_rule_that_is_the_point_of_the_stage_costs_half(
    graded: tuple[Prices, dict[str, bytes]],
):
    """The rule is broken in every exercise that it grades, and may leave half of the points."""
    [(broken, most)] = graded[0].rules

    assert broken.module.name == "no_ready_attention broken in SelfAttention, MaskedSelfAttention"
    assert most == 5.0


def test_verify_reports_ready_made_code_that_earns_too_much():
    """`verify` reports ready-made code that earns more than half of the points."""
    [problem] = unfair_prices(MASKED, CHECKS, seven_points)

    assert problem.endswith("broken in SelfAttention, MaskedSelfAttention earns 7, more than 5.")


def test_stages_whose_point_a_rule_is_exist():
    """Every stage in `point_of` exists, so that a renamed stage does not lose its rule."""
    names = {stage.name for stage in COURSE.every_stage}
    rules = read_rules(MASKED.rules).values()

    assert {name for rule in rules for name in rule.point_of} <= names
