"""Readings that need more than two tensors, from a graded submission to the sentence."""

import pytest
import torch

from autograder.course import Course, find_root, load
from autograder.diagnosis.heuristics import detached, matches_intermediate_step, no_parameters
from autograder.grading.grade import grade
from autograder.submission import Code, Submission

X = torch.arange(6.0).reshape(2, 3)
STAGE = "03"


@pytest.fixture(scope="module")
def course(pytestconfig: pytest.Config) -> Course:
    """The course itself."""
    return load(find_root(pytestconfig.rootpath))


def named(course: Course, exercise: str, code: str) -> set[str]:
    """Hand in the solution with *code* in place of one exercise; return what its checks name."""
    stage = course.stage(STAGE)
    text = stage.solution.read_text("utf-8") + "\n\n" + code
    module = Code(kind="module", cells=(text.encode(),), label=stage.solution.name)
    submission = Submission(student="a", stage=stage.name, code=module)
    result = grade(course, [submission], jobs=1).submissions[0]
    checks = [check for item in result.exercises if item.name == exercise for check in item.checks]
    return {check.diagnosis.misconception for check in checks if check.diagnosis}


def test_a_step_on_the_way_is_recognised(course: Course):
    """Who stops at a product that no bank knows hears that it is a step on the way."""
    code = "def self_attention(inputs, W_query, W_key, W_value):\n    return inputs @ W_value\n"

    assert "step_on_the_way" in named(course, "self_attention", code)


def test_a_cut_graph_is_recognised(course: Course):
    """Right numbers without a gradient are told apart from wrong ones."""
    code = (
        "def project(inputs, weight):\n"
        "    return torch.tensor((inputs @ weight).tolist(), dtype=inputs.dtype)\n"
    )

    assert named(course, "project", code) & {"detached", "cuts_the_graph_in_project"}


def test_a_changed_input_is_recognised(course: Course):
    """Right numbers by writing into the input are told apart from wrong ones."""
    code = (
        "def project(inputs, weight):\n"
        "    answer = inputs @ weight\n"
        "    with torch.no_grad():\n"
        "        inputs.sub_(3.5)\n"
        "    return answer\n"
    )

    assert "input_changed" in named(course, "project", code)


@pytest.mark.parametrize(
    ("answer", "expected", "found"),
    [
        pytest.param({"gradients": {"a": None}}, {"gradients": {"a": X}}, True, id="none-arrives"),
        pytest.param({"gradients": {"a": X}}, {"gradients": {"a": X}}, False, id="one-arrives"),
        pytest.param({"gradients": {"a": None}}, {"gradients": {"a": None}}, False, id="none-due"),
        pytest.param({"gradients": {}}, {"gradients": {"a": X}}, False, id="nothing-said"),
        pytest.param(None, {"gradients": {"a": X}}, False, id="no-answer"),
    ],
)
def test_detached_needs_gradients_that_were_due(answer: object, expected: object, found: bool):  # noqa: FBT001  # the case's verdict
    """Only where gradients were due and none came is the graph said to be cut."""
    assert (detached(answer, expected) is not None) is found


@pytest.mark.parametrize(
    ("answer", "expected", "found"),
    [
        pytest.param({}, {"W": X}, True, id="none"),
        pytest.param({"W": X}, {"W": X}, False, id="some"),
        pytest.param({}, {}, False, id="none-due"),
        pytest.param(X, {"W": X}, False, id="another-answer"),
    ],
)
def test_no_parameters_needs_parameters_that_were_due(
    answer: object,
    expected: object,
    found: bool,  # noqa: FBT001  # the case's verdict
):
    """A module without parameters is said to have none, where it should have some."""
    assert (no_parameters(answer, expected) is not None) is found


@pytest.mark.parametrize(
    ("answer", "steps", "found"),
    [
        pytest.param(X, [("softmax", X)], True, id="a-step"),
        pytest.param(X, [("clone", X)], False, id="no-step-of-attention"),
        pytest.param(X, [("softmax", X + 1)], False, id="other-numbers"),
        pytest.param(torch.zeros(2, 3), [("softmax", torch.zeros(2, 3))], False, id="constant"),
        pytest.param(X[0], [("softmax", X[0])], False, id="too-few-to-tell"),
        pytest.param(None, [("softmax", X)], False, id="no-tensor"),
    ],
)
def test_on_the_way_needs_the_very_numbers(answer: object, steps: list, found: bool):  # noqa: FBT001  # the case's verdict
    """A step is recognised by numbers that can't agree by chance."""
    assert (matches_intermediate_step(answer, steps) is not None) is found
