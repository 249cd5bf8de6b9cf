"""Mistakes that no misconception explains are described by heuristics."""

from pathlib import Path

from autograder.course import find_root, load
from autograder.results import CheckResult, Diagnosis, Outcome
from autograder.submission import Code, Submission
from tests.e2e.conftest import GradeClass

COURSE = load(find_root(Path(__file__).parent))


def checks_of(grade_class: GradeClass, number: str, code: str) -> list[CheckResult]:
    """Submit the solution of a stage with *code* in place of some exercises; list its checks."""
    stage = COURSE.stage(number)
    text = stage.solution.read_text("utf-8") + "\n\n" + code
    module = Code(kind="module", cells=(text.encode(),), label=stage.solution.name)
    submission = Submission(student="a", stage=stage.name, code=module)
    result = grade_class([submission])[0]
    return [check for exercise in result.exercises for check in exercise.checks]


def diagnoses(grade_class: GradeClass, number: str, code: str) -> dict[str, Diagnosis]:
    """Return the diagnosis of each check that has one."""
    checks = checks_of(grade_class, number, code)
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
    checks = checks_of(grade_class, "07", BY_CONTEXT_LENGTH)
    said = " ".join(check.diagnosis.explanation for check in checks if check.diagnosis)

    assert any(check.outcome is Outcome.FAILED for check in checks)
    assert "number of tokens" not in said


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
