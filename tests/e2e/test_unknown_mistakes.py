"""Mistakes that no misconception explains are described by heuristics."""

import pytest

from autograder.course import Course, find_root, load
from autograder.grading.grade import grade
from autograder.submission import Code, Submission

STAGE = "03"


@pytest.fixture(scope="module")
def course(pytestconfig: pytest.Config) -> Course:
    """The course itself."""
    return load(find_root(pytestconfig.rootpath))


def named(course: Course, exercise: str, code: str) -> set[str]:
    """Submit the solution with *code* in place of one exercise; return what its checks name."""
    stage = course.stage(STAGE)
    text = stage.solution.read_text("utf-8") + "\n\n" + code
    module = Code(kind="module", cells=(text.encode(),), label=stage.solution.name)
    submission = Submission(student="a", stage=stage.name, code=module)
    result = grade(course, [submission], jobs=1).submissions[0]
    checks = [check for item in result.exercises if item.name == exercise for check in item.checks]
    return {check.diagnosis.misconception for check in checks if check.diagnosis}


def test_an_intermediate_step_is_recognised(course: Course):
    """A product that no misconception computes is an intermediate step of the solution."""
    code = "def self_attention(inputs, W_query, W_key, W_value):\n    return inputs @ W_value\n"

    assert "intermediate_step" in named(course, "self_attention", code)


def test_a_detached_result_is_recognised(course: Course):
    """The values are right, but no gradient flows back."""
    code = (
        "def project(inputs, weight):\n"
        "    return torch.tensor((inputs @ weight).tolist(), dtype=inputs.dtype)\n"
    )

    assert named(course, "project", code) & {"detached", "cuts_the_graph_in_project"}


def test_a_changed_input_is_recognised(course: Course):
    """The values are right, but the code writes into its input."""
    code = (
        "def project(inputs, weight):\n"
        "    answer = inputs @ weight\n"
        "    with torch.no_grad():\n"
        "        inputs.sub_(3.5)\n"
        "    return answer\n"
    )

    assert "input_changed" in named(course, "project", code)
