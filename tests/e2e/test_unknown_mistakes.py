"""Mistakes that no misconception explains are described by heuristics."""

from pathlib import Path

import pytest

from autograder.course import find_root, load
from autograder.diagnosis.changed_calls import REPEATED, all_changes, find_call
from autograder.diagnosis.effects import first_reading
from autograder.diagnosis.single_changes import RightCall, SolutionPair
from autograder.grading.suite_runner import open_suites
from autograder.results import Diagnosis
from autograder.submission import Code, Submission
from autograder.suite.in_process import LocalChannel, RecordingChannel, solution_channel
from tests.e2e.conftest import GradeClass
from tests.e2e.fresh_mistakes import programs, submit

COURSE = load(find_root(Path(__file__).parent))


def diagnoses(grade_class: GradeClass, number: str, code: str) -> dict[str, Diagnosis]:
    """Submit the solution of a stage with *code* in place of some exercises.

    Returns the diagnosis of each check that has one.
    """
    stage = COURSE.stage(number)
    text = stage.solution.read_text("utf-8") + "\n\n" + code
    module = Code(kind="module", cells=(text.encode(),), label=stage.solution.name)
    submission = Submission(student="a", stage=stage.name, code=module)
    result = grade_class([submission])[0]
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return {check.name: check.diagnosis for check in checks if check.diagnosis}


def named(grade_class: GradeClass, code: str, number: str = "03") -> set[str]:
    """Return what the checks name that *code* fails."""
    return {item.misconception for item in diagnoses(grade_class, number, code).values()}


def explanations(grade_class: GradeClass, code: str, number: str) -> str:
    """Return all sentences of the checks that *code* fails."""
    return " ".join(item.explanation for item in diagnoses(grade_class, number, code).values())


def test_an_intermediate_step_is_recognised(grade_class: GradeClass):
    """What is returned too early is named by what it is."""
    code = "def self_attention(inputs, W_query, W_key, W_value):\n    return inputs @ W_value\n"

    assert named(grade_class, code) == {"wrong_return"}
    assert "The values are returned" in explanations(grade_class, code, "03")


def test_a_detached_result_is_recognised(grade_class: GradeClass):
    """The values are right, but no gradient flows back."""
    code = (
        "def project(inputs, weight):\n"
        "    return torch.tensor((inputs @ weight).tolist(), dtype=inputs.dtype)\n"
    )

    assert named(grade_class, code) & {"detached", "cuts_the_graph_in_project"}


def test_a_changed_input_is_recognised(grade_class: GradeClass):
    """The values are right, but the code writes into its input."""
    code = (
        "def project(inputs, weight):\n"
        "    answer = inputs @ weight\n"
        "    with torch.no_grad():\n"
        "        inputs.sub_(3.5)\n"
        "    return answer\n"
    )

    assert "input_changed" in named(grade_class, code)


def test_equal_blocks_are_not_named_where_the_check_made_them(grade_class: GradeClass):
    """A check of dropout gives each value twice: right heads have equal blocks there as well."""
    code = (
        "class MultiHeadAttentionWrapper(MultiHeadAttentionWrapper):\n"
        "    def forward(self, x):\n"
        "        heads = [head(x) for head in self.heads]\n"
        "        return 1.5 * torch.stack(heads, dim=-1).flatten(-2)\n"
    )

    assert "heads_repeated" not in named(grade_class, code, "09")


BY_CONTEXT_LENGTH = """
class CausalAttention(CausalAttention):
    def forward(self, x):
        rows = x.shape[-2]
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)
        masked = scores.masked_fill(self.mask.bool()[:rows, :rows], -torch.inf)
        weights = torch.softmax(masked / self.mask.shape[0] ** 0.5, dim=-1)
        return self.dropout(weights) @ self.W_value(x)
"""


def test_a_size_that_is_another_one_in_some_checks_is_not_named(grade_class: GradeClass):
    """In some checks the context length is the number of tokens, in others it is not."""
    said = explanations(grade_class, BY_CONTEXT_LENGTH, "07")

    assert "number of tokens" not in said
    assert "first divided by" in said


NORMAL_ELSE = """
def draw_weights(d_in, d_out, distribution="rand"):
    draw = torch.rand if distribution == "rand" else torch.randn
    return tuple(nn.Parameter(draw(d_in, d_out), requires_grad=False) for _ in range(3))
"""


def test_an_argument_that_has_an_effect_is_not_called_ignored(grade_class: GradeClass):
    """Both distributions that are allowed are drawn; another one is not refused."""
    assert named(grade_class, NORMAL_ELSE) == {"check_missing"}


def test_gradients_are_not_described_as_results(grade_class: GradeClass):
    """The rows of a gradient that is zero are all equal, which says nothing about tokens."""
    code = (
        "def attention_weights(scores, d_k):\n"
        "    return torch.softmax((scores / d_k**0.5).round(decimals=2), dim=-1)\n"
    )

    assert "rows_equal" not in named(grade_class, code)


def test_a_missing_buffer_is_called_a_buffer(grade_class: GradeClass):
    """A mask that forward makes anew is no attribute at all."""
    code = (
        "class CausalAttention(CausalAttention):\n"
        "    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):\n"
        "        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)\n"
        "        del self.mask\n"
        "        self.context_length = context_length\n"
        "    def forward(self, x):\n"
        "        T = x.shape[1]\n"
        "        if T > self.context_length:\n"
        "            raise ValueError\n"
        "        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)\n"
        "        future = torch.ones(T, T).triu(1) == 1\n"
        "        scores = (q @ k.mT).masked_fill(future, -torch.inf)\n"
        "        weights = self.dropout(torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1))\n"
        "        return weights @ v\n"
    )
    said = explanations(grade_class, code, "07")

    assert "There is no buffer `mask`" in said
    assert "mask is an ordinary attribute" not in said
    assert "parameters" not in said


def test_one_matrix_under_three_names_has_no_seed(grade_class: GradeClass):
    """Equal numbers are named, not a seed that the code does not set."""
    code = (
        "class SelfAttention_v1(SelfAttention_v1):\n"
        "    def __init__(self, d_in, d_out):\n"
        "        nn.Module.__init__(self)\n"
        "        self.W_query = self.W_key = self.W_value = nn.Parameter(torch.rand(d_in, d_out))\n"
    )
    said = explanations(grade_class, code, "04")

    assert "The three matrices hold the same numbers" in said
    assert "torch does not find all of them" in said
    assert "seed is set" not in said


def test_a_dim_that_is_used_is_not_called_ignored(grade_class: GradeClass):
    """The code reads dim, and normalises along the last axis all the same."""
    code = (
        "def softmax_stable(scores, dim):\n"
        "    dim = max(dim, scores.ndim - 1)\n"
        "    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))\n"
        "    return powers / powers.sum(dim=dim, keepdim=True)\n"
    )
    said = explanations(grade_class, code, "01")

    assert "along the last axis, but they should along dim" in said
    assert "ignored" not in said


def test_a_boolean_mask_of_another_course_is_explained(grade_class: GradeClass):
    """The mask of the course holds numbers, and a 1 keeps."""
    code = (
        "class MaskedSelfAttention(MaskedSelfAttention):\n"
        "    def forward(self, token_encodings, mask):\n"
        "        layers = (self.W_q, self.W_k, self.W_v)\n"
        "        q, k, v = (layer(token_encodings) for layer in layers)\n"
        "        scores = q @ k.transpose(self.row_dim, self.col_dim) / k.shape[-1] ** 0.5\n"
        "        scores = scores.masked_fill(mask, float('-inf'))\n"
        "        return torch.softmax(scores, dim=self.col_dim) @ v\n"
    )

    assert "holds the number 1 where a key is visible, and 0 where" in explanations(
        grade_class, code, "05"
    )


def test_arguments_of_another_course_are_explained(grade_class: GradeClass):
    """The names of this course are listed, even beside checks with hidden inputs."""
    code = (
        "class CausalAttention(CausalAttention):\n"
        "    def __init__(self, d_in, d_out, context_len, dropout, bias, n_heads):\n"
        "        super().__init__(d_in, d_out, context_len, dropout, bias)\n"
    )
    found = diagnoses(grade_class, "07", code)
    listed = "CausalAttention takes d_in, d_out, context_length, dropout and qkv_bias (optional)"

    assert listed in found["test_attention_attends_with_any_weights"].explanation
    assert not any("n_heads" in item.explanation for item in found.values())


QUERIES_WITH_THEMSELVES = (
    "class SelfAttention_v2(SelfAttention_v2):\n"
    "    def forward(self, x):\n"
    "        q, v = self.W_query(x), self.W_value(x)\n"
    "        return torch.softmax(torch.tanh(0.3 * q @ q.mT), dim=-1) @ v\n"
)
WEIGHTS_ADDED = (
    "def causal_mean_softmax(x):\n"
    "    T = x.shape[1]\n"
    "    hidden = torch.ones(T, T).triu(1) == 1\n"
    "    weights = torch.zeros(T, T).masked_fill(hidden, -torch.inf).softmax(-1)\n"
    "    return (weights + 0.3 * weights.mT).softmax(-1) @ x\n"
)


@pytest.mark.parametrize(
    ("number", "code", "sentence"),
    [
        pytest.param(
            "04",
            QUERIES_WITH_THEMSELVES,
            "W_key.weight has no effect on your result, but the right one depends on it.",
            id="parameter",
        ),
        pytest.param(
            "02",
            WEIGHTS_ADDED,
            "Other numbers in row 1 of x change row 0 of your result: it depends on a later token.",
            id="token",
        ),
    ],
)
def test_what_the_result_depends_on_is_read(
    grade_class: GradeClass, number: str, code: str, sentence: str
):
    """Where nothing else explains a wrong number, the code is called with other numbers."""
    found = diagnoses(grade_class, number, code)

    assert sentence in {item.explanation for item in found.values()}


def test_a_process_that_ends_during_a_reading_costs_no_other_exercise(grade_class: GradeClass):
    """The readings come after all checks, so nothing is lost but the sentence."""
    code = (
        "calls = 0\n"
        "def causal_mean_loop(x):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    if calls > 8:\n"
        "        import os\n"
        "        os._exit(1)\n"
        "    return x * 1.5\n"
    )
    stage = COURSE.stage("02")
    text = stage.solution.read_text("utf-8") + "\n\n" + code
    module = Code(kind="module", cells=(text.encode(),), label=stage.solution.name)
    result = grade_class([Submission(student="a", stage=stage.name, code=module)])[0]
    scores = {one.name: one.score == one.max_score for one in result.exercises}

    assert scores == {one.name: one.name != "causal_mean_loop" for one in stage.exercises}


@pytest.mark.parametrize("number", ["02", "06", "08"])
def test_right_programs_depend_on_what_the_solution_depends_on(number: str):
    """No reading holds for one of them, whatever check it is asked for."""
    stage = COURSE.stage(number)
    right = [one for one in programs() if one.stage == stage.name and not one.mistakes]
    compared = 0
    with open_suites(COURSE, [stage]) as runner:
        for check in runner.checks(stage.name):
            recording = RecordingChannel(solution_channel(stage.solution))
            solved = runner.run(check.item, recording)
            requests = [one.request for one in recording.exchanges[: len(solved.answers)]]
            handles = [getattr(answer, "handle", -1) for _, answer in solved.answers]
            solution = solution_channel(stage.solution)
            call = find_call(solution, requests, handles) if requests else None
            if call is None:
                continue
            right_call = RightCall(solution, call)
            for one in right:
                code = submit(COURSE, one).code
                assert code is not None
                pair = SolutionPair.of(right_call, LocalChannel(one.id, code.cells[0]))
                pair.ask(list(all_changes(call)))
                again = pair.differences(REPEATED)
                if again is not None and not again[0].max():  # else the solution draws numbers
                    compared += 1

                    assert first_reading(pair) is None

    assert compared > 3 * len(right)
