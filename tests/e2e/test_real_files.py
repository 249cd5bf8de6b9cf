"""Tests that realistic files get the points and sentences that a person would give.

Each case is made from the solution of its stage. Exercises that a case does not list keep all their
points, and have no message. A person wrote the expectations, before the grader was asked.
"""

import ast
from collections.abc import Callable
from typing import NamedTuple

import pytest

from autograder.course import Course, Stage
from autograder.results import ExerciseResult, Outcome, Status, SubmissionResult
from autograder.submission import Code, Submission
from tests.e2e.conftest import GradeClass
from tools.wrong_programs import with_kind, with_misconception

pytestmark = pytest.mark.slow

Edit = Callable[[str, Stage], str]

NOTHING, LITTLE, SOME, MOST = (0, 0), (0.01, 0.4), (0.01, 0.99), (0.6, 0.99)  # shares of the points
FULL, GIVEN = (1, 1), (1, 1)
CELL = "# In[ ]:\n"  # starts a cell, as `jupyter nbconvert --to script` writes it


class Case(NamedTuple):
    """A submission: the solution of *stage* after all *edits*, in cells if it is a *notebook*.

    For each exercise, *loses* contains the id of a misconception, or words of a message or an
    explanation, and the smallest and largest share of the points. *says* lists words of the notices
    or of the submission's message, and *never* lists words that must not occur.
    """

    stage: str
    name: str
    edits: tuple[Edit, ...] = ()
    loses: dict[str, tuple[str, tuple[float, float]]] = {}  # noqa: RUF012 - never changed
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    status: Status = Status.GRADED
    notebook: bool = False
    encoding: str = "utf-8"


def above(code: str) -> Edit:
    """Put *code* above all definitions, in a separate cell."""

    def edit(text: str, _stage: Stage) -> str:
        imports = [item for item in ast.parse(text).body if isinstance(item, ast.ImportFrom)]
        end = imports[-1].end_lineno or 0
        lines = text.splitlines(keepends=True)
        return "".join([*lines[:end], "\n" + CELL, code, "\n" + CELL, *lines[end:]])

    return edit


def below(code: str) -> Edit:
    """Put *code* at the end."""
    return lambda text, _stage: f"{text}\n\n{CELL}{code}\n"


def swap(old: str, new: str, times: int = 1) -> Edit:
    """Replace *old*, which occurs in the text *times* times."""

    def edit(text: str, _stage: Stage) -> str:
        assert text.count(old) == times, old
        return text.replace(old, new)

    return edit


def mistake(name: str) -> Edit:
    """Return an edit that puts the misconception *name* into a module."""
    return lambda text, stage: with_misconception(stage, text, name)


def kind(exercise: str, name: str, words: str = "") -> Edit:
    """Return an edit that puts in a mistake of a kind, with *words* in its explanation."""
    return lambda text, stage: with_kind(stage, text, exercise, name, words)


def within(start: str, *swaps: tuple[str, str]) -> Edit:
    """Replace text in the definition that begins with *start*."""

    def edit(text: str, _stage: Stage) -> str:
        before, found, rest = text.partition(start)
        part, end, after = rest.partition("\n\n\n")
        for old, new in swaps:
            assert old in part, old
            part = part.replace(old, new)
        return f"{before}{found}{part}{end}{after}"

    return edit


def instead(name: str, code: str = "") -> Edit:
    """Write *code* in place of the definition of *name*; without code, leave it out."""

    def edit(text: str, _stage: Stage) -> str:
        [node] = [item for item in ast.parse(text).body if getattr(item, "name", "") == name]
        lines = text.splitlines(keepends=True)
        end = node.end_lineno or 0
        while end < len(lines) and lines[end].startswith(" "):  # the marker of the solution
            end += 1
        return "".join([*lines[: node.lineno - 1], code, *lines[end:]])

    return edit


def stub(*names: str) -> Edit:
    """Leave functions unwritten, as they are in the stub."""

    def edit(text: str, _stage: Stage) -> str:
        for name in names:
            start = text.index("### BEGIN SOLUTION", text.index(f"def {name}("))
            end = text.index("### END SOLUTION", start)
            text = text[:start] + "raise NotImplementedError\n    " + text[end:]
        return text

    return edit


def whole(change: Callable[[str], str]) -> Edit:
    """Change the whole text."""
    return lambda text, _stage: change(text)


def cell_before(name: str, code: str = "") -> Edit:
    """Begin a new cell with *code* where *name* is defined."""

    def edit(text: str, _stage: Stage) -> str:
        [at] = [start for kind in ("def", "class") if (start := text.find(f"\n{kind} {name}(")) > 0]
        return f"{text[:at]}\n{CELL}{code}{text[at:]}"

    return edit


NOT_DEFINED = "is not defined in your file"
TRAIN = """
model = SelfAttention_v2(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = (model(torch.randn(6, 3)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
"""
TYPED_HEAD = """
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CasualAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
"""
V1_OF_BOOKS = """
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_scores = queries @ keys.T # omega
        attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)
        context_vec = attn_weights @ values
        {end}
"""
CONTEXT_LEN = """
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_len, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_len, context_len), diagonal=1))

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        if num_tokens > self.mask.shape[0]:
            raise ValueError("sequence too long")
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)
        return self.dropout(attn_weights) @ values
"""
FORWARD_08 = "\n        q = self.W_q(encodings_for_q)"

CASES = (
    # Lines above that fail.
    Case("01", "imports tiktoken", (above("import tiktoken"),), says=("tiktoken",)),
    Case(
        "02",
        "imports d2l",
        (above("from d2l import torch as d2l\nimport matplotlib.pyplot as plt"),),
        says=("d2l",),
    ),
    Case(
        "03",
        "downloads a model",
        (above('gpt2 = torch.hub.load("huggingface/pytorch-transformers", "model", "gpt2")'),),
        says=("torch.hub.load",),
    ),
    Case(
        "01",
        "reads a file that was not submitted",
        (above('with open("the-verdict.txt", encoding="utf-8") as f:\n    text = f.read()'),),
        says=("the-verdict.txt",),
    ),
    Case(
        "09",
        "imports a sibling that was not submitted",
        (
            instead("CausalAttention"),
            above("from causal_attention import CausalAttention"),
        ),
        {
            "CausalAttention": ("causal_attention", NOTHING),
            "MultiHeadAttentionWrapper": ("with our CausalAttention", GIVEN),
        },
        says=("causal_attention",),
    ),
    Case(
        "10",
        "imports a helper that only a demo uses",
        (above("from utils import plot"), below("plot(torch.ones(2, 2))")),
        says=("utils", "'plot' is not defined"),
    ),
    Case(
        "05",
        "runs magics",
        (above("%matplotlib inline\n!pip install torch"), cell_before("causal_mask", "%%time\n")),
        notebook=True,
    ),
    Case(
        "04",
        "asserts a version",
        (above('assert torch.__version__.startswith("1."), "wrong torch"'),),
        says=("wrong torch",),
    ),
    # Demos below.
    Case(
        "01",
        "demo of an undefined variable",
        (below("print(attention_scores(inputs))"),),
        says=("'inputs' is not defined",),
    ),
    Case("04", "demo that trains", (below(TRAIN),)),
    Case("04", "demo in main", (below('if __name__ == "__main__":\n    print(sa(inputs))'),)),
    Case(
        "02",
        "demo with a wrong shape",
        (below("causal_mean_loop(torch.ones(3, 2))"),),
        says=("ValueError",),
    ),
    Case("03", "demo that exits", (below("import sys\nsys.exit(0)"),), says=("SystemExit",)),
    Case(
        "02",
        "prints on the way",
        (swap("    T = x.shape[1]\n", '    T = x.shape[1]\n    print("T is", T, x)\n', 2),),
    ),
    Case("05", "sets a seed at module level", (above("torch.manual_seed(42)"),)),
    Case("07", "sets a seed at module level", (above("torch.manual_seed(123)"),)),
    Case("03", "rounds what it prints", (above("torch.set_printoptions(precision=2)"),)),
    Case(
        "06",
        "demo that asserts",
        (
            below(
                "head = AttentionHead(4, 2, 8)\nassert head(torch.ones(1, 8, 4)).shape == (1, 8, 4)"
            ),
        ),
        says=("AssertionError",),
    ),
    # Names.
    Case(
        "07",
        "CasualAttention",
        (swap("class CausalAttention", "class CasualAttention"),),
        {"CausalAttention": ("did you mean `CasualAttention`", NOTHING)},
    ),
    Case(
        "09",
        "MutliHeadAttentionWrapper",
        (swap("class MultiHeadAttentionWrapper", "class MutliHeadAttentionWrapper"),),
        {"MultiHeadAttentionWrapper": ("did you mean `MutliHeadAttentionWrapper`", NOTHING)},
    ),
    Case(
        "09",
        "CasualAttention in both places",
        (
            swap("class CausalAttention", "class CasualAttention"),
            instead("MultiHeadAttentionWrapper", TYPED_HEAD),
        ),
        {"CausalAttention": ("did you mean `CasualAttention`", NOTHING)},
    ),
    Case(
        "04",
        "SelfAttention_V2",
        (
            swap("class SelfAttention_v2", "class SelfAttention_V2"),
            swap("source: SelfAttention_v2", "source: SelfAttention_V2"),
        ),
        {
            "SelfAttention_v2": ("did you mean `SelfAttention_V2`", NOTHING),
            "transfer_weights": ("with our SelfAttention_v2", GIVEN),
        },
    ),
    Case(
        "04",
        "self_attention_v1",
        (
            swap("class SelfAttention_v1", "class self_attention_v1"),
            swap("target: SelfAttention_v1", "target"),
        ),
        {
            "SelfAttention_v1": ("did you mean `self_attention_v1`", NOTHING),
            "transfer_weights": ("with our SelfAttention_v1", GIVEN),
        },
    ),
    Case(
        "01",
        "two functions missing",
        (instead("softmax_naive"), instead("softmax_stable")),
        {"softmax_naive": (NOT_DEFINED, NOTHING), "softmax_stable": (NOT_DEFINED, NOTHING)},
        never=("did you mean",),
    ),
    Case(
        "02",
        "averaging_weight",
        (swap("def averaging_weights", "def averaging_weight"),),
        {"averaging_weights": ("did you mean `averaging_weight`", NOTHING)},
    ),
    Case(
        "05",
        "causalMask",
        (swap("def causal_mask", "def causalMask"),),
        {"causal_mask": ("did you mean `causalMask`", NOTHING)},
    ),
    Case(
        "04",
        "gives the class's name to an instance",
        (below("SelfAttention_v1 = SelfAttention_v1(3, 2)\nprint(SelfAttention_v1)"),),
        says=("SelfAttention_v1",),
    ),
    Case(
        "02",
        "gives the function's name to a result",
        (below("averaging_weights = averaging_weights(8)"),),
        says=("averaging_weights",),
    ),
    Case(
        "10",
        "gives the class's name to an instance",
        (below("MultiHeadAttention = MultiHeadAttention(4, 4, 6, 0.0, 2)"),),
        says=("MultiHeadAttention",),
    ),
    # Notebooks.
    Case(
        "04",
        "cell fails below a definition",
        (cell_before("SelfAttention_v2", "sa_v1 = SelfAttention_v1(3, 2)\nsa_v1(inputs)\n"),),
        says=("'inputs' is not defined",),
        notebook=True,
    ),
    Case(
        "04",
        "cell fails above a definition",
        (cell_before("SelfAttention_v2", "inputs = load()\nprint(inputs)"),),
        says=("'load' is not defined", "'inputs' is not defined"),
        notebook=True,
    ),
    Case(
        "03",
        "middle cell is not Python",
        (
            cell_before("context_vectors"),
            cell_before("self_attention"),
            swap("return weights @ values\n    ###", "return weights @@ values\n    ###"),
        ),
        {"context_vectors": ("is not valid Python", NOTHING)},
        says=("cell 2, line",),
        notebook=True,
    ),
    Case(
        "01",
        "demo cell is not Python",
        (below("print(attention_weights(torch.eye(3))"),),
        says=("not valid Python",),
        notebook=True,
    ),
    Case(
        "05",
        "class in a cell whose decorator fails",
        (cell_before("causal_mask"), cell_before("MaskedSelfAttention", "@timed")),
        {"MaskedSelfAttention": ("which should define it", NOTHING)},
        says=("'timed' is not defined",),
        notebook=True,
    ),
    Case(
        "01",
        "downloads in a notebook",
        (
            above(
                "import urllib.request\n"
                'urllib.request.urlretrieve("https://example.org/a.txt", "a.txt")'
            ),
        ),
        says=("cell 2, line 2",),
        notebook=True,
    ),
    Case(
        "02",
        "timeit and help",
        (below("causal_mean_loop?"), below("%timeit averaging_weights(8)")),
        notebook=True,
    ),
    # Modules that are not Python, and other encodings.
    Case(
        "02",
        "forgets a colon",
        (swap("def averaging_weights(T: int) -> Tensor:", "def averaging_weights(T)"),),
        {"averaging_weights": ("", NOTHING)},
        says=("expected ':' (def averaging_weights(T))", "Fix line"),
    ),
    Case("01", "CRLF", (whole(lambda text: text.replace("\n", "\r\n")),)),
    Case("02", "tabs", (whole(lambda text: text.replace("    ", "\t")),)),
    Case("03", "BOM", encoding="utf-8-sig"),
    Case("04", "comments in other alphabets", (above("# Внимание: größer als ≥ 注意 🤖"),)),
    Case(
        "05",
        "latin-1 with its declaration",
        (whole(lambda text: f"# -*- coding: latin-1 -*-\n# Lösung von Jürgen\n{text}"),),
        encoding="latin-1",
    ),
    Case(
        "01",
        "mixes tabs and spaces",
        (swap("    return inputs @ query  # (T,)", "    y = inputs @ query\n\treturn y"),),
        {"scores_for_query": ("", NOTHING)},
        says=("Fix line",),
    ),
    # Stubs that are half filled.
    Case(
        "03",
        "half of the stub",
        (stub("context_vectors", "self_attention"),),
        {"context_vectors": ("", NOTHING), "self_attention": ("", NOTHING)},
    ),
    Case(
        "01",
        "forgets the return of one function",
        (swap("    return scores / scores.sum()", "    scores / scores.sum()"),),
        {"normalize_by_sum": ("None", NOTHING)},
    ),
    Case(
        "04",
        "forgets the return of forward",
        (instead("SelfAttention_v1", V1_OF_BOOKS.format(end="print(context_vec)")),),
        {"SelfAttention_v1": ("None", SOME)},
        never=("raised an exception",),
    ),
    Case(
        "04",
        "forgets the return and prints nothing",
        (instead("SelfAttention_v1", V1_OF_BOOKS.format(end="")),),
        {"SelfAttention_v1": ("None", SOME)},
        never=("printed", "raised an exception"),
    ),
    Case(
        "06",
        "passes in place of a body",
        (swap("    return queries @ keys.transpose(-2, -1) / d**0.5  # (B, T, T)", "    pass"),),
        {"scaled_scores": ("None", NOTHING)},
        never=("raised",),
    ),
    Case(
        "04",
        "the class of the book",
        (instead("SelfAttention_v1", V1_OF_BOOKS.format(end="return context_vec")),),
    ),
    # One mistake.
    Case(
        "01",
        "returns a list of floats",
        (
            swap(
                "    return inputs @ query  # (T,)",
                "    return [float(row @ query) for row in inputs]",
            ),
        ),
        {"scores_for_query": ("list", NOTHING)},
    ),
    Case(
        "02",
        "returns integers",
        (
            swap(
                "visible = torch.tril(torch.ones(T, T))\n    return visible / visible.sum(dim=1, "
                "keepdim=True)",
                "visible = torch.tril(torch.ones(T, T, dtype=torch.int64))\n"
                "    return (visible / visible.sum(dim=1, keepdim=True)).to(torch.float64)",
            ),
        ),
        {"averaging_weights": ("float64", SOME)},
    ),
    Case(
        "01",
        "refuses by accident",
        (
            swap(
                '    if len(a) != len(b):\n        raise ValueError(f"a has {len(a)} elements and '
                'b has {len(b)}; the lengths must be equal")\n    total = 0.0\n'
                "    for x, y in zip(a, b, strict=True):\n        total += x * y\n",
                "    total = 0.0\n    for i in range(max(len(a), len(b))):\n"
                "        total += a[i] * b[i]\n",
            ),
        ),
        {"dot_product": ("the error is accidental", FULL)},
    ),
    Case(
        "10",
        "refuses by an assertion",
        (
            swap(
                '        raise ValueError(f"{num_heads} heads cannot share {D} features evenly")',
                "        assert False, num_heads",
            ),
        ),
    ),
    Case(
        "07",
        "stops at too many tokens by accident",
        (
            swap(
                '        if context_length < T:\n            raise ValueError(f"{T} tokens do not '
                'fit into a context of {context_length}")\n',
                "",
            ),
        ),
        {"CausalAttention": ("the error is accidental", FULL)},
    ),
    Case(
        "07",
        "context_len",
        (instead("CausalAttention", CONTEXT_LEN),),
        {"CausalAttention": ("stub is named `context_len`", (0.6, 0.999))},
    ),
    Case(
        "05",
        "fills with the mask as booleans",
        (
            swap(
                "scaled.masked_fill(mask == 0, -torch.inf)", "scaled.masked_fill(mask, -torch.inf)"
            ),
        ),
        {"MaskedSelfAttention": ("a mask of booleans, but your mask holds numbers", SOME)},
    ),
    Case(
        "08",
        "fills with the mask as booleans",
        (
            swap(
                'scaled.masked_fill(mask == 0, float("-inf"))',
                'scaled.masked_fill(mask, float("-inf"))',
            ),
        ),
        {"Attention": ("a mask of booleans, but your mask holds numbers", SOME)},
    ),
    Case(
        "08",
        "True hides",
        (swap("hidden = ~padding_mask.unsqueeze(-2)", "hidden = padding_mask.unsqueeze(-2)"),),
        {"CrossAttention": ("mask_inverted", SOME)},
    ),
    Case(
        "05",
        "a mask of booleans",
        (
            swap(
                "    return torch.tril(torch.ones(size, size))",
                "    return torch.tril(torch.ones(size, size)).bool()",
            ),
        ),
    ),
    Case(
        "03",
        "softmax of the wrong axis",
        (kind("attention_weights", "softmax_axis", "first axis"),),
        {"attention_weights": ("softmax_axis", SOME)},
    ),
    Case(
        "06",
        "transposes all axes",
        (mistake("reverses_all_axes"),),
        {"scaled_scores": ("", (0, 0.99))},
    ),
    Case(
        "04",
        "names the layers otherwise",
        (
            swap(
                "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.query = nn.Linear(d_in, d_out, bias=qkv_bias)",
            ),
            swap("queries = self.W_query(x)", "queries = self.query(x)"),
        ),
        {
            "SelfAttention_v2": ("W_query", SOME),
            "transfer_weights": ("with our SelfAttention_v2", GIVEN),
        },
        never=("does not check",),
    ),
    Case(
        "06",
        "moves to cuda",
        (swap("        k = self.key(x)  # (B, T, head_size)", "        k = self.key(x.cuda())"),),
        {"AttentionHead": ("", LITTLE)},
    ),
    # Two mistakes in two exercises.
    Case(
        "01",
        "two mistakes",
        (mistake("leaves_out_the_maximum"), mistake("forgets_the_transpose")),
        {
            "softmax_stable": ("leaves_out_the_maximum", SOME),
            "attention_scores": ("forgets_the_transpose", (0, 0.99)),
        },
    ),
    Case(
        "02",
        "two mistakes",
        (
            kind("causal_mean_loop", "boundary", "ends one position too early"),
            kind("masked_softmax_weights", "mask_fill", "zero"),
        ),
        {
            "causal_mean_loop": ("boundary", (0, 0.99)),
            "masked_softmax_weights": ("mask_fill", SOME),
        },
    ),
    Case(
        "03",
        "three mistakes",
        (
            kind("draw_weights", "creation_order", "`W_key`, `W_query`"),
            kind("attention_weights", "scale_missing"),
            mistake("mixes_the_inputs"),
        ),
        {
            "draw_weights": ("swaps_the_matrices_for_query_and_key", SOME),
            "attention_weights": ("scale_missing", SOME),
            "self_attention": ("mixes_the_inputs", (0, 0.99)),
        },
    ),
    Case(
        "04",
        "two mistakes",
        (
            kind("SelfAttentionV1", "scale_missing"),
            kind("SelfAttention_v1", "parameter_kind", "plain tensors"),
        ),
        {
            "SelfAttentionV1": ("scale_missing", SOME),
            "SelfAttention_v1": ("parameter_kind", SOME),
        },
    ),
    Case(
        "04",
        "leaves the weights trainable and draws normal numbers",
        (
            kind("SelfAttentionV1", "parameter_kind", "must be frozen"),
            kind("SelfAttention_v1", "distribution", "normal"),
        ),
        {
            "SelfAttentionV1": ("keeps_the_weights_trainable", SOME),
            "SelfAttention_v1": ("distribution", SOME),
        },
    ),
    Case(
        "05",
        "two mistakes",
        (
            kind("SelfAttention", "softmax_axis"),
            kind("causal_mask", "mask_shifted", "the one after it"),
        ),
        {
            "SelfAttention": ("softmax_axis", SOME),
            "causal_mask": ("mask_shifted", SOME),
        },
    ),
    Case(
        "07",
        "two mistakes",
        (
            kind("mask_then_renormalize", "wrong_divisor", "not divided"),
            kind("CausalAttention", "dropout_misplaced", "scores"),
        ),
        {
            "mask_then_renormalize": ("wrong_divisor", SOME),
            "CausalAttention": ("dropout_misplaced", SOME),
        },
        never=("any more",),
    ),
    # Two mistakes in one exercise: no other mistake may be named.
    Case(
        "03",
        "not scaled, wrong axis",
        (swap("torch.softmax(scores / d_k**0.5, dim=-1)", "torch.softmax(scores, dim=0)"),),
        {"attention_weights": ("", (0, 0.99))},
        never=("multiplied", "divided by d_k itself"),
    ),
    Case(
        "04",
        "draws keys first, divides by d_k",
        (
            kind("SelfAttentionV1", "creation_order"),
            swap(
                "queries = input_vectors @ self.W_q\n",
                "queries = input_vectors @ self.W_q / self.W_q.shape[1] ** 0.5\n",
            ),
        ),
        {"SelfAttentionV1": ("drawn in the wrong order", SOME)},
        never=("not scaled", "is fixed", "bias"),
    ),
    Case(
        "02",
        "the next token, and not normalised",
        (
            swap(
                "past = x[b, : t + 1]  # (t + 1, C), token t included\n            "
                "means[b, t] = past.mean(dim=0)",
                "past = x[b, : t + 2]\n            means[b, t] = past.sum(dim=0)",
            ),
        ),
        {"causal_mean_loop": ("", (0, 0.99))},
    ),
    Case(
        "05",
        "divides by d_k, hides with zero",
        (
            swap(
                "        scaled = scores / k.shape[self.col_dim] ** 0.5\n        visible = "
                "scaled.masked_fill(mask == 0, -torch.inf)",
                "        scaled = scores / k.shape[self.col_dim]\n        visible = "
                "scaled.masked_fill(mask == 0, 0)",
            ),
        ),
        {"MaskedSelfAttention": ("", (0, 0.99))},
        never=("not scaled", "Row i belongs"),
    ),
    # Checks that pass with our code for another exercise.
    Case(
        "09",
        "wrapper of wrong heads",
        (kind("CausalAttention", "scale_missing"),),
        {
            "CausalAttention": ("scale_missing", SOME),
            "MultiHeadAttentionWrapper": ("with our CausalAttention", GIVEN),
        },
        never=("kept weights are not divided",),
    ),
    Case(
        "09",
        "both kinds of heads wrong",
        (
            kind("Attention", "scale_missing"),
            kind("CausalAttention", "mask_shifted", "diagonal is left out"),
        ),
        {
            "Attention": ("scale_missing", (0, 0.99)),
            "MultiHeadAttention": ("with our Attention", GIVEN),
            "CausalAttention": ("mask_shifted", (0, 0.99)),
            "MultiHeadAttentionWrapper": ("with our CausalAttention", GIVEN),
        },
        never=("parts of a context vector",),
    ),
    Case(
        "04",
        "copies from a wrong layer",
        (kind("SelfAttention_v2", "softmax_axis"),),
        {
            "SelfAttention_v2": ("softmax_axis", SOME),
        },
    ),
    Case(
        "09",
        "wrong wrapper of wrong heads",
        (
            kind("CausalAttention", "scale_missing"),
            kind("MultiHeadAttentionWrapper", "heads_mixed", "averaged"),
        ),
        {
            "CausalAttention": ("scale_missing", SOME),
            "MultiHeadAttentionWrapper": ("", (0, 0.99)),
        },
    ),
    Case("04", "copies nothing", (stub("transfer_weights"),), {"transfer_weights": ("", NOTHING)}),
    Case(
        "03",
        "copies from another function",
        (swap("    return weights @ values\n    ###", "    return weights @ weights\n    ###"),),
        {"context_vectors": ("axis", (0, 0.99))},
        never=("runs over the features",),
    ),
    Case(
        "06",
        "imports a ready head",
        (instead("AttentionHead"), above("from transformers import AttentionHead")),
        {"AttentionHead": ("which should define it", NOTHING)},
        says=("transformers",),
    ),
    Case(
        "05",
        "takes the ready attention",
        (
            swap(
                "        visible = scaled.masked_fill(mask == 0, -torch.inf)\n        weights = "
                "torch.softmax(visible, dim=self.col_dim)\n        return weights @ v",
                "        return nn.functional.scaled_dot_product_attention(q, k, v, mask == 1)",
            ),
        ),
        {"MaskedSelfAttention": ("scaled_dot_product_attention", LITTLE)},
    ),
    Case(
        "10",
        "views without moving the axis",
        (mistake("views_without_moving_the_head_axis"),),
        {"split_heads": ("views_without_moving_the_head_axis", (0, 0.99))},
    ),
    Case(
        "07",
        "forgets dropout in eval and the mask",
        (kind("mask_with_infinity", "mask_missing"), kind("CausalAttention", "dropout_missing")),
        {
            "mask_with_infinity": ("mask_missing", SOME),
            "CausalAttention": ("dropout_missing", SOME),
        },
    ),
    # Nothing is wrong.
    Case("08", "as it should be"),
    Case(
        "10",
        "with its own demo",
        (
            below(
                "torch.manual_seed(123)\nmha = MultiHeadAttention(4, 4, 6, 0.0, num_heads=2)\n"
                'out = mha(torch.rand(2, 6, 4))\nprint(out)\nprint("shape:", out.shape)'
            ),
        ),
    ),
    # A mistake in one exercise costs nothing in another that is right.
    Case(
        "04",
        "leaves the bias on",
        (kind("SelfAttention_v2", "argument_ignored", "have a bias"),),
        {"SelfAttention_v2": ("argument_ignored", SOME)},
    ),
    *(
        Case(
            "04",
            f"calls a layer of {class_} otherwise",
            (
                within(f"class {class_}", ("self.W_query", "self.W_q")),
                within("def transfer_weights", (f"{role}.W_query", f"{role}.W_q")),
            ),
            {class_: ("no parameter named W_query", SOME)},
        )
        for class_, role in (("SelfAttention_v1", "target"), ("SelfAttention_v2", "source"))
    ),
    Case(
        "04",
        "two mistakes in SelfAttention_v2 that have no name",
        (
            within(
                "class SelfAttention_v2",
                ("queries @ keys.T", "queries @ keys.T * 1.7"),
                ("return weights @ values", "return weights @ values + x.mean()"),
            ),
        ),
        {"SelfAttention_v2": ("wrong values", SOME)},
    ),
    Case(
        "04",
        "leaves the bias on and copies without a transpose",
        (
            kind("SelfAttention_v2", "argument_ignored", "have a bias"),
            mistake("copies_without_transposing"),
        ),
        {
            "SelfAttention_v2": ("argument_ignored", SOME),
            "transfer_weights": ("", SOME),
        },
    ),
    Case(
        "04",
        "queries are too large by the root of 2",
        (
            within(
                "class SelfAttentionV1",
                ("input_vectors @ self.W_q", "input_vectors @ self.W_q * 2**0.5"),
            ),
        ),
        {"SelfAttentionV1": ("wrong values", SOME)},
        never=("fixed at 2", "not scaled"),
    ),
    Case(
        "04",
        "SelfAttention_v1 returns nothing",
        (kind("SelfAttention_v1", "nothing_returned"),),
        {"SelfAttention_v1": ("nothing_returned", SOME)},
        never=("end without `return`?",),
    ),
    Case(
        "09",
        "swaps queries and keys",
        (mistake("swaps_queries_and_keys"),),
        {
            "Attention": ("lets_keys_ask", SOME),
            "MultiHeadAttention": ("Right, with our Attention", GIVEN),
        },
    ),
    Case(
        "09",
        "n_heads for num_heads",
        (swap("num_heads", "n_heads", 6),),
        {
            "MultiHeadAttention": ("num_heads", MOST),
            "MultiHeadAttentionWrapper": ("num_heads", MOST),
        },
    ),
    Case(
        "08",
        "in a notebook",
        (cell_before("padding_mask"), cell_before("CrossAttention")),
        notebook=True,
    ),
)


def id_of(case: Case) -> str:
    """Return a unique name for a case."""
    return f"{case.stage}-{case.name}".replace(" ", "-")


def cells_of(case: Case, text: str) -> tuple[bytes, ...]:
    """Return the source in the case's encoding; a notebook's in cells."""
    cells = text.split(CELL) if case.notebook else [text]
    return tuple(cell.encode(case.encoding) for cell in cells)


def submission_of(course: Course, case: Case) -> Submission:
    """Submit a case."""
    stage = course.stage(case.stage)
    text = stage.solution.read_text("utf-8")
    for edit in case.edits:
        text = edit(text, stage)
    kind = "notebook" if case.notebook else "module"
    code = Code(kind=kind, cells=cells_of(case, text), label=f"{stage.module}.py")
    return Submission(student=id_of(case), stage=stage.name, code=code)


def texts_of(exercise: ExerciseResult) -> list[str]:
    """Return all text about an exercise."""
    found = [check.message for check in exercise.checks]
    diagnoses = [check.diagnosis for check in exercise.checks if check.diagnosis]
    return found + [text for item in diagnoses for text in (item.explanation, item.hint)]


def ids_of(exercise: ExerciseResult) -> set[str]:
    """Return the mistakes that are named in an exercise."""
    diagnoses = [check.diagnosis for check in exercise.checks if check.diagnosis]
    return {id_ for item in diagnoses for id_ in item.misconception.split(" / ")}


@pytest.fixture(scope="module")
def results(course: Course, grade_class: GradeClass) -> dict[str, SubmissionResult]:
    """Grade all files at once; return the results by the names of the cases."""
    graded = grade_class([submission_of(course, case) for case in CASES])
    return {result.student: result for result in graded}


def share_of(exercise: ExerciseResult) -> float:
    """Return the share of its points that an exercise earns, or that of its checks without any."""
    if exercise.max_score:
        return exercise.score / exercise.max_score
    passed = [check.outcome is Outcome.PASSED for check in exercise.checks]
    return sum(passed) / len(passed)


def verdict(exercise: ExerciseResult, case: Case) -> str:
    """Return how an exercise differs from what a person would say; "" if it does not."""
    words, (least, most) = case.loses.get(exercise.name, ("", (1, 1)))
    said, share = texts_of(exercise), share_of(exercise)
    if not least <= round(share, 6) <= most:
        return f"{exercise.name} earns {share:.0%}"
    if exercise.name not in case.loses and any(said) and not exercise.given:
        return f"{exercise.name} is right, but this is said: {said}"
    if words not in ids_of(exercise) and not any(words in text for text in said):
        return f"{exercise.name} has no sentence with {words!r}"
    return ""


@pytest.mark.parametrize("case", CASES, ids=id_of)
def test_each_exercise_earns_what_a_person_would_give(
    case: Case, results: dict[str, SubmissionResult]
):
    """A wrong exercise loses points with a reason, and a right one keeps them without a message."""
    result = results[id_of(case)]
    differences = [verdict(exercise, case) for exercise in result.exercises]

    assert result.status is case.status
    assert [difference for difference in differences if difference] == []
    assert case.loses.keys() <= {exercise.name for exercise in result.exercises}


@pytest.mark.parametrize("case", CASES, ids=id_of)
def test_the_file_is_told_what_failed_in_it(case: Case, results: dict[str, SubmissionResult]):
    """Each failing line has a notice, and a file in which every line ran has none."""
    result = results[id_of(case)]
    said = [text for text in (result.message, *result.notices) if text]

    assert [words for words in case.says if not any(words in text for text in said)] == []
    assert bool(said) is bool(case.says)


@pytest.mark.parametrize("case", CASES, ids=id_of)
def test_no_sentence_is_false(case: Case, results: dict[str, SubmissionResult]):
    """No text contains words that would be false for this file."""
    result = results[id_of(case)]
    texts = [text for exercise in result.exercises for text in texts_of(exercise)]

    assert [text for text in texts for words in case.never if words in text] == []


def test_every_stage_has_files():
    """There are at least sixty realistic files, from every stage."""
    assert len(CASES) >= 60
    assert len({id_of(case) for case in CASES}) == len(CASES)
    assert {case.stage for case in CASES} == {f"{number:02}" for number in range(1, 11)}
