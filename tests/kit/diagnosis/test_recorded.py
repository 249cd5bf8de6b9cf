"""Tests naming a mistake by fingerprints, as a student's machine does."""

from collections.abc import Iterable, Sequence

import pytest
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring.fingerprinting import kinds_of
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.description import PATTERNS
from autograder.diagnosis.diagnostician import Source, diagnose
from autograder.diagnosis.live import LiveSource
from autograder.diagnosis.observation import Failure
from autograder.diagnosis.programs import channel_of
from autograder.diagnosis.recorded import recorded_source
from autograder.errors import UsageError
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Diagnosis
from autograder.suite.in_process import LocalChannel, solution_channel
from tests.kit.factories import rewrite_records
from tools.wrong_programs import submitted

Named = dict[str, Diagnosis]


@pytest.fixture
def course(pytestconfig: pytest.Config) -> Course:
    """The course of this repository."""
    return courses.load(pytestconfig.rootpath)


def diagnoses(
    sources: Sequence[Source], runner: SuiteRunner, stage: Stage, exercise: str, code: LocalChannel
) -> list[Named]:
    """Return the names by each source for *code* in the public suite."""
    checks = [one for one in runner.checks(stage.name) if one.spec.exercise == exercise]
    seen = [Failure(check.item, runner.run(check.item, code)) for check in checks]
    failures = [one for one in seen if one.observation.error is not None]
    passed = [one.item for one in seen if one.observation.error is None]
    outcome = submitted(stage, exercise, failures, passed, code)
    return [dict(diagnose(one, outcome).diagnoses) for one in sources]


def said_by_both(
    course: Course, stage: Stage, programs: Iterable[tuple[str, LocalChannel | None]]
) -> list[list[Named]]:
    """Return the names of a stage's programs by their code, and by their fingerprints."""
    solution = solution_channel(stage.solution)
    recorded = recorded_source(stage)
    with open_suites(course, [stage], public=True) as runner:
        sources = [LiveSource(stage, runner.run, solution), recorded]
        return [
            diagnoses(sources, runner, stage, exercise, code) if code else [{}, {}]
            for exercise, code in programs
        ]


def test_fingerprints_and_code_name_the_same_misconception(course: Course):
    """Both sources give each misconception of a stage the same name."""
    stage = course.stage("02")
    solution = solution_channel(stage.solution)
    bank = misconceptions.read(stage.misconceptions)
    text = stage.solution.read_text("utf-8")
    programs = [(item.exercise, channel_of(item, text, solution)) for item in bank]
    said = said_by_both(course, stage, programs)

    assert [code for code, numbers in said if code != numbers] == []
    assert sum(bool(code) for code, _ in said) > 10


def test_nothing_is_named_in_an_exercise_that_uses_a_wrong_one(course: Course):
    """The mistake of the other exercise may be all that shows; there is no second run here."""
    stage = course.stage("16")
    mistake = next(
        one for one in misconceptions.read(stage.misconceptions) if one.exercise == "decode"
    )
    text, solution = stage.solution.read_text("utf-8"), solution_channel(stage.solution)
    code, source = channel_of(mistake, text, solution), recorded_source(stage)
    with open_suites(course, [stage], public=True) as runner:
        checks = [one for one in runner.checks(stage.name) if one.spec.exercise == "decode"]
        seen = [Failure(check.item, runner.run(check.item, code)) for check in checks]
    failures = [one for one in seen if one.observation.error is not None]
    alone = submitted(stage, "decode", failures, [], code)

    assert diagnose(source, alone).diagnoses
    assert not diagnose(source, alone._replace(wrong=["attend_with_cache"])).diagnoses


@pytest.mark.slow
def test_fingerprints_and_code_name_the_same_kind(course: Course):
    """Both sources give each program with a kind of mistake the same name, even if it raises.

    Answers that rounding could decide are not recorded, so the two sources may differ there. A
    pattern of wrong numbers is not a name; only the code has it, because it needs the solution.
    """
    stage = course.stage("01")
    undecided = fingerprints.read(stage.records).undecided_by_check()

    def decided(number: int, named: Named) -> Named:
        label = fingerprints.kind_label(number)
        named = {check: one for check, one in named.items() if one.misconception not in PATTERNS}
        return {check: one for check, one in named.items() if (check, label) not in undecided}

    kinds = kinds_of(stage, solution_channel(stage.solution))
    both = said_by_both(course, stage, [(kind.exercise, kind.channel) for kind in kinds])
    said = [[decided(number, one) for one in pair] for number, pair in enumerate(both)]

    assert [code for code, numbers in said if code != numbers] == []
    assert sum(bool(code) for code, _ in said) > 100


def test_records_of_another_kit_are_refused(built: Course):
    """Records that name a kind that this kit does not have are reported with the way out."""
    stage = built.stages[0]
    known = fingerprints.read(stage.records)
    foreign = (known.kinds[0]._replace(key="unheard_of"), *known.kinds[1:])
    rewrite_records(stage, evidence=replace(known, kinds=foreign))

    with pytest.raises(UsageError, match=r"no kind of mistake 'unheard_of'.*`autograder start`"):
        recorded_source(stage)


@pytest.mark.parametrize("text", [None, "[misconceptions", ""], ids=["missing", "broken", "empty"])
def test_missing_sentences_are_reported(built: Course, text: str | None):
    """Without the sentences of a misconception, the message has the command that restores them."""
    stage = built.stages[0]
    stage.mistakes.unlink()
    if text is not None:
        stage.mistakes.write_text(text)

    with pytest.raises(UsageError, match=r"mistakes\.toml.*`autograder start` restores it"):
        recorded_source(stage)
