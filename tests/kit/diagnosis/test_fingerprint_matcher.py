"""Naming a mistake by fingerprints, as a student's machine does."""

from collections.abc import Sequence

import msgspec
import pytest

from autograder import course as courses
from autograder.authoring.fingerprinting import kinds_of
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.fingerprint_matcher import (
    FailedCheck,
    explain_all,
    explain_rest,
    explain_some,
    explain_stopped,
    fingerprint_matcher,
)
from autograder.diagnosis.fingerprints import PASSES, End, Fingerprints, Print, Wording
from autograder.diagnosis.matcher import Matcher, MisconceptionMatcher, channel_of, explain
from autograder.diagnosis.observation import Failure
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Diagnosis
from autograder.suite.checks import Layer
from autograder.suite.in_process import LocalChannel, solution_channel


def diagnoses(
    matchers: Sequence[Matcher],
    runner: SuiteRunner,
    stage: Stage,
    exercise: str,
    code: LocalChannel,
) -> list[dict[str, Diagnosis]]:
    """Return what each matcher says when *code* is submitted to the public suite."""
    seen = [
        Failure(check.item, runner.run(check.item, code))
        for check in runner.checks(stage.name)
        if check.spec.exercise == exercise
    ]
    failures = [one for one in seen if one.observation.error is not None]
    passed = [one.item for one in seen if one.observation.error is None]
    return [explain(matcher, exercise, failures, passed) for matcher in matchers]


@pytest.fixture
def course(pytestconfig: pytest.Config) -> Course:
    """The course of this repository."""
    return courses.load(pytestconfig.rootpath)


def test_fingerprints_and_code_name_the_same_misconception(course: Course):
    """For every misconception of a stage, both matchers name the same mistake."""
    stage = course.stage("02")
    with open_suites(course, [stage], public=True) as runner:
        solution = solution_channel(stage.solution)
        by_code = MisconceptionMatcher(stage, runner.run, solution)
        by_numbers = fingerprint_matcher(stage)
        different = [
            item.id
            for item in misconceptions.read(stage.misconceptions)
            if (channel := channel_of(stage, item, solution))
            for code, numbers in [
                diagnoses([by_code, by_numbers], runner, stage, item.exercise, channel)
            ]
            if code != numbers
        ]

    assert different == []


def test_fingerprints_and_code_name_the_same_kind(course: Course):
    """Both matchers say the same of each program with a kind of mistake, also where it raises.

    What rounding could decide is not recorded, so there the two may differ.
    """
    stage = course.stage("01")
    solution = solution_channel(stage.solution)
    known, by_numbers = fingerprints.find(stage.fingerprints), fingerprint_matcher(stage)
    assert known is not None
    assert by_numbers is not None
    by_numbers.misconceptions = ()
    undecided = known.undecided_by_check()

    def decided(number: int, named: dict[str, Diagnosis]) -> dict[str, Diagnosis]:
        label = fingerprints.kind_label(number)
        return {check: one for check, one in named.items() if (check, label) not in undecided}

    with open_suites(course, [stage], public=True) as runner:
        by_code = MisconceptionMatcher(stage, runner.run, solution, bank=())
        said = [
            (decided(number, code), decided(number, numbers))
            for number, kind in enumerate(kinds_of(stage, solution))
            if kind.channel is not None
            for code, numbers in [
                diagnoses([by_code, by_numbers], runner, stage, kind.exercise, kind.channel)
            ]
        ]

    titles = [one.title for code, _ in said for one in code.values()]

    assert [code for code, numbers in said if code != numbers] == []
    assert sum(bool(code) for code, _ in said) > 100
    assert any(title.startswith("Same error as") for title in titles)


KINDS = ["scale_missing", "scale_missing", "softmax_axis", "mask_missing", "transposed"]


@pytest.fixture
def known() -> Fingerprints:
    """Five programs: all fail check a, the first two b, too, and the third c."""
    return Fingerprints(
        made_from="",
        mistakes=(),
        programs=(0, 0, 1, 2, 3, PASSES),
        wordings=tuple(
            Wording(kind, f"{kind}.", 0, group) for group, kind in enumerate(dict.fromkeys(KINDS))
        ),
        questions=("Why?",),
        ends=(),
        answers=(),
        solved={},
        prints={
            "a": (Print(0, (), (0, 1, 2, 3, 4)),),
            "b": (Print(0, (), (0, 1)),),
            "c": (Print(0, (), (2,)),),
        },
    )


def failed(name: str, *numbers: int, layer: Layer = Layer.PROBE, tells: bool = True) -> FailedCheck:
    """A check with a wrong answer that these programs give, too."""
    return FailedCheck(name, layer, frozenset(numbers), wrong=True, tells=tells)


def test_one_kind_explains_every_wrong_answer(known: Fingerprints):
    """Of programs that show the same, those of one group are said once."""
    found = explain_all(known, [failed("a", 0, 1, 2, 3), failed("b", 0, 1)], ["c"])

    assert [found[name].misconception for name in "ab"] == ["scale_missing"] * 2
    assert found["a"].explanation == "scale_missing."


def test_a_kind_must_pass_what_the_code_passed(known: Fingerprints):
    """A program that fails a check that the code passed is another one."""
    found = explain_all(known, [failed("a", 0, 2)], ["c"])

    assert found["a"].misconception == "scale_missing"
    assert explain_all(known, [failed("a", 2)], ["c"]) == {}


def test_three_kinds_are_named_together_and_four_are_not(known: Fingerprints):
    """More sentences would be no help."""
    three = explain_all(known, [failed("a", 1, 2, 3)], [])

    assert three["a"].explanation == "Either: scale_missing. Or: softmax_axis. Or: mask_missing."
    assert explain_all(known, [failed("a", 1, 2, 3, 4)], []) == {}


def test_the_kind_that_explains_most_is_named(known: Fingerprints):
    """It is said beside the checks that it explains, and not beside the others."""
    found = explain_some(known, [failed("a", 0, 3), failed("b", 0), failed("c")], [])

    assert {name: one.misconception for name, one in found.items()} == {
        "a": "scale_missing",
        "b": "scale_missing",
    }


def test_documented_values_alone_name_nothing(known: Fingerprints):
    """Where the answers for other sizes differ, their agreement is a coincidence."""
    documented = failed("a", 0, layer=Layer.DOCUMENTED)

    assert explain_some(known, [documented, failed("c", 2)], []) != {}
    assert explain_some(known, [documented, failed("c")], []) == {}


def test_a_size_that_explains_only_some_answers_is_not_named(known: Fingerprints):
    """Another size may be equal to it in these checks."""
    words = known.wordings[0]._replace(kind="scale_wrong_size")
    by_size = msgspec.structs.replace(known, wordings=(words, *known.wordings[1:]))
    rest = [failed("a", 0), failed("b")]

    assert explain_some(known, rest, []) != {}
    assert explain_some(by_size, rest, []) == {}
    assert explain_all(by_size, rest[:1], []) != {}


def test_an_argument_without_effect_is_not_named_beside_a_check_that_it_changes(
    known: Fingerprints,
):
    """That check passes, so the argument has its effect there."""
    words = known.wordings[0]._replace(kind="argument_ignored")
    ignoring = msgspec.structs.replace(known, wordings=(words, *known.wordings[1:]))
    rest = [failed("a", 0), failed("c")]

    assert explain_some(ignoring, rest, []) != {}
    assert explain_some(ignoring, rest, ["b"]) == {}
    assert explain_some(known, rest, ["b"]) != {}


def raising(name: str, *numbers: int, text: str = "sizes 2 and 3") -> FailedCheck:
    """A check that raised, as these programs did."""
    end = End("raised", "RuntimeError", text, specific=any(map(str.isdigit, text)))
    same = frozenset(numbers)
    return FailedCheck(name, Layer.PROBE, frozenset(), False, False, True, stopped=same, end=end)  # noqa: FBT003  # in their order


def test_a_kind_that_ends_in_the_same_exceptions_is_named(known: Fingerprints):
    """It must raise each of them, and pass what the code passed."""
    found = explain_stopped(known, [raising("a", 0, 1, 2), raising("b", 0, 1)], ["c"])

    assert {name: one.title for name, one in found.items()} == dict.fromkeys(
        "ab", "Same error as: scale_missing"
    )
    assert explain_stopped(known, [raising("a", 2)], ["c"]) == {}
    assert explain_stopped(known, [raising("a", 2), failed("b")], []) == {}


def test_an_exception_without_a_size_or_a_name_names_nothing(known: Fingerprints):
    """Too many programs end in it."""
    assert explain_stopped(known, [raising("a", 0, text="no numbers")], []) == {}


def test_where_numbers_are_few_the_exceptions_must_agree(known: Fingerprints):
    """A program that raises something else is named if its numbers are certain enough."""
    for tells in (True, False):
        found = explain_all(known, [failed("a", 0, tells=tells), raising("b", 3)], [])

        assert bool(found) is tells


def test_exceptions_that_a_named_mistake_leaves_are_compared(known: Fingerprints):
    """Where none of the rest is a wrong answer, they are named as where no answer is wrong."""
    left = [raising("a", 0, 1, 2), raising("b", 0, 1)]

    assert explain_rest(known, left, ["c"]) == explain_stopped(known, left, ["c"]) != {}
    assert explain_rest(known, [*left, failed("c")], []) == {}


def test_answers_that_tell_little_name_nothing(known: Fingerprints):
    """A few numbers agree by chance."""
    assert explain_some(known, [failed("a", 0, tells=False), failed("b")], []) == {}
