"""Tests that the course secret changes the hidden inputs, but no grade."""

import pytest

from autograder.course import SECRET_VARIABLE, Course
from autograder.diagnosis.misconceptions import read
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite.in_process import solution_channel

STAGE = "04"
ONE, ANOTHER = "a secret of the course", "another secret of the course"


def test_two_secrets_give_different_inputs(course: Course, monkeypatch: pytest.MonkeyPatch):
    """The inputs of the hidden checks of a stage differ between two secrets."""
    answers = []
    for secret in (ONE, ANOTHER):
        monkeypatch.setenv(SECRET_VARIABLE, secret)
        with open_suites(course, [course.stage(STAGE)]) as runner:
            answers.append(_hidden_answers(runner))

    assert answers[0].keys() == answers[1].keys()
    assert all(answers[0][name] != answers[1][name] for name in answers[0])


@pytest.mark.slow
def test_two_secrets_give_the_same_grades(
    course: Course, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
):
    """Right and wrong submissions earn the same points under any secret."""
    graded = []
    for secret in (ONE, ANOTHER, ""):
        monkeypatch.setenv(SECRET_VARIABLE, secret)
        with open_suites(course, [course.stage(STAGE)], diagnose=False) as runner:
            results = [grade_one(runner, fork_server, one) for one in _class(course)]
        graded.append({result.student: result.score for result in results})

    assert graded[0] == graded[1] == graded[2]


def _hidden_answers(runner: SuiteRunner) -> dict[str, str]:
    """Return the solution's answers to each check on hidden inputs, as text."""
    stage = runner.course.stage(STAGE)
    channel = solution_channel(stage.solution)
    return {
        check.name: str([answer for verb, answer in runner.run(check.item, channel).answers])
        for check in runner.checks(stage.name)
        if check.spec.layer == "probe"
    }


def _class(course: Course) -> list[Submission]:
    stage = course.stage(STAGE)
    solution = stage.solution.read_text("utf-8")
    texts = {"right": solution} | {
        item.id: item.module(solution) for item in read(stage.misconceptions)[::8]
    }
    return [
        Submission(
            student=name,
            stage=stage.name,
            code=Code(kind="module", cells=(text.encode(),), label=stage.solution.name),
        )
        for name, text in texts.items()
    ]
