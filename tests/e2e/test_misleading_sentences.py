"""Tests that programs with a formerly misleading diagnosis get a true sentence."""

from functools import cache
from pathlib import Path

import pytest

from autograder.course import load
from autograder.diagnosis.diagnostician import diagnose
from autograder.diagnosis.observation import Failure
from autograder.grading.suite_runner import open_suites
from autograder.suite.in_process import LocalChannel, solution_channel
from tools.wrong_programs import submitted

COURSE = load(Path(__file__).parents[2])
MASKED = """
class MaskedSelfAttention(MaskedSelfAttention):
    def forward(self, token_encodings, mask):
        q, k, v = (W(token_encodings) for W in (self.W_q, self.W_k, self.W_v))
        s = q @ k.transpose(self.row_dim, self.col_dim) / k.shape[self.col_dim] ** 0.5
        {}
"""
CAUSAL = """
class CausalAttention(CausalAttention):
    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = (q @ k.mT).masked_fill(self.mask[:T, :T], -torch.inf)
        w = torch.softmax(s / k.shape[-1] ** 0.5, dim=-1)
        if self.training:
            w = w * (torch.rand_like(w) >= self.dropout.p)
        return w @ v
"""
SLICES = """
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        size = q.shape[-1] // self.num_heads
        contexts = []
        for h in range(self.num_heads):
            part = slice(h, h + size)
            s = (q[..., part] @ k[..., part].mT).masked_fill(self.mask[:T, :T], -torch.inf)
            w = torch.softmax(s / size**0.5, dim=-1)
            contexts.append(self.dropout(w) @ v[..., part])
        return self.out_proj(torch.cat(contexts, dim=-1))
"""


@cache
def said(stage_number: str, exercise: str, code: str) -> str:
    """Return all sentences and questions about *code* after the solution."""
    stage = COURSE.stage(stage_number)
    text = f"{stage.solution.read_text('utf-8')}\n\n{code}".encode()
    with open_suites(COURSE, [stage]) as runner:
        items = [one.item for one in runner.checks(stage.name) if one.spec.exercise == exercise]
        channel = LocalChannel("program", text, solution_channel(stage.solution))
        seen = [(item, runner.run(item, channel)) for item in items]
        failures = [Failure(item, shown, shows_values=True) for item, shown in seen if shown.error]
        passed = [item for item, shown in seen if shown.error is None]
        source = runner.diagnostician(stage).source
        found = diagnose(
            source, submitted(stage, exercise, failures, passed, channel)
        ).diagnoses.values()
    return " ".join(dict.fromkeys(f"{one.explanation} {one.hint}" for one in found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "exercise", "code", "right", "wrong"),
    [
        pytest.param(
            "01",
            "dot_product",
            "def dot_product(a, b):\n"
            "    if len(a) != len(b):\n        return ValueError('lengths')\n"
            "    return sum(x * y for x, y in zip(a, b))\n",
            "The exception is returned as a result; it must be raised",
            "give a number",
            id="return-for-raise",
        ),
        pytest.param(
            "01",
            "softmax_stable",
            "def softmax_stable(scores, dim):\n"
            "    e = torch.exp(scores - scores.max())\n    return e / e.sum(dim=dim)\n",
            "The sums lose their axis",
            "`dim` has no effect",
            id="lost-axis",
        ),
        pytest.param(
            "01",
            "context_vector",
            "def context_vector(weights, inputs):\n    return inputs @ weights\n",
            "are in the wrong order in their product",
            "Which of the three",
            id="two-arguments",
        ),
        pytest.param(
            "01",
            "softmax_naive",
            "def softmax_naive(scores):\n    e = np.exp(scores)\n    return e / e.sum()\n",
            "np is used, but this file does not import it.",
            "self.",
            id="no-import",
        ),
        pytest.param(
            "01",
            "normalize_by_sum",
            "def normalize_by_sum(scores):\n    return scores / scores.sums()\n",
            "Tensor has no attribute or method sums.",
            "__init__",
            id="no-method",
        ),
        pytest.param(
            "01",
            "dot_product",
            "def dot_product(a, b):\n    return torch.dot(a, b)\n",
            "an argument that may be a list",
            "become one tensor",
            id="list-argument",
        ),
        pytest.param(
            "05",
            "causal_mask",
            "def causal_mask(size):\n    return torch.tril(torch.ones(size))\n",
            "`size` is passed once as a size; it must be passed twice",
            "no effect",
            id="one-size",
        ),
        pytest.param(
            "05",
            "MaskedSelfAttention",
            MASKED.format("return torch.softmax(s.masked_fill(mask == 0, -torch.inf), dim=2) @ v"),
            "Axis 2 does not exist here",
            "keys",
            id="axis-of-the-softmax",
        ),
        pytest.param(
            "05",
            "MaskedSelfAttention",
            MASKED.format("return torch.softmax(s, dim=self.col_dim) @ v * mask"),
            "The shapes of two tensors do not fit",
            "Either",
            id="result-times-mask",
        ),
        pytest.param(
            "07",
            "mask_then_renormalize",
            "def mask_then_renormalize(weights):\n"
            "    return weights.tril() / weights.sum(dim=-1, keepdim=True)\n",
            "must be divided by the sum of those that are left",
            "is not divided.",
            id="sum-of-all-weights",
        ),
        pytest.param(
            "07",
            "CausalAttention",
            CAUSAL,
            "not divided by the probability of keeping a weight",
            "Nothing is dropped",
            id="dropout-by-hand",
        ),
        pytest.param(
            "10",
            "MultiHeadAttention",
            SLICES,
            "The slices of the heads overlap",
            "Either",
            id="overlapping-heads",
        ),
    ],
)
def test_a_program_gets_the_sentence_that_is_true_of_it(
    stage: str, exercise: str, code: str, right: str, wrong: str
):
    """A program gets a true sentence in place of the earlier misleading one."""
    sentences = said(stage, exercise, code)

    assert right in sentences
    assert wrong not in sentences


def test_other_arguments_of_a_constructor_are_not_a_missing_refusal():
    """If a constructor lacks an argument, nothing is said about a missing refusal."""
    code = (
        "class SelfAttention_v2(nn.Module):\n"
        "    def __init__(self, d_in, d_out):\n"
        "        super().__init__()\n"
        "        self.W_query = nn.Linear(d_in, d_out, bias=False)\n"
        "        self.W_key = nn.Linear(d_in, d_out, bias=False)\n"
        "        self.W_value = nn.Linear(d_in, d_out, bias=False)\n"
    )
    sentences = said("04", "transfer_weights", code)

    assert "but the call passes 4" in sentences
    assert "refused" not in sentences
