"""What you can check yourself in stage 07, as often as you like: `autograder check`, or pytest."""

import torch
from torch import nn

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, reads_like, tensor_like

INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],  # Your
        [0.55, 0.87, 0.66],  # journey
        [0.57, 0.85, 0.64],  # starts
        [0.22, 0.58, 0.33],  # with
        [0.77, 0.25, 0.10],  # one
        [0.05, 0.80, 0.55],  # step
    ]
)
BATCH = torch.stack((INPUTS, INPUTS))  # (2, 6, 3)
CAUSAL_WEIGHTS = [
    [1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
    [0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000],
    [0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000],
    [0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000],
    [0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000],
    [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529],
]


def raw_scores():
    """Return the scores of SelfAttention_v2(3, 2) on the inputs, drawn with seed 789."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(789)
        queries, keys = (nn.Linear(3, 2, bias=False)(INPUTS) for _ in range(2))
        return queries @ keys.T


@check("mask_then_renormalize", points=0, layer="documented")
def test_renormalized_weights_are_the_documented_ones(student):
    """The weights of SelfAttention_v2 become causal, and every row sums to one again."""
    weights = torch.softmax(raw_scores() / 2**0.5, dim=-1)

    reads_like(student.call("mask_then_renormalize", weights), CAUSAL_WEIGHTS)


@check("mask_then_renormalize", points=0, layer="documented")
def test_equal_weights_stay_equal_among_the_visible(student):
    """Three equal weights per row become 1, then two halves, then three thirds."""
    reads_like(
        student.call("mask_then_renormalize", torch.full((3, 3), 1 / 3)),
        [[1.0000, 0.0000, 0.0000], [0.5000, 0.5000, 0.0000], [0.3333, 0.3333, 0.3333]],
    )


@check("mask_with_infinity", points=0, layer="documented")
def test_masked_softmax_gives_the_documented_weights(student):
    """With raw scores and d_k = 2, minus infinity and one softmax give the same weights."""
    reads_like(student.call("mask_with_infinity", raw_scores(), 2), CAUSAL_WEIGHTS)


@check("mask_with_infinity", points=0, layer="documented")
def test_masked_softmax_reads_d_k(student):
    """Scores four times as large give the same weights if d_k is 16 times as large."""
    agrees(
        student.call("mask_with_infinity", 4 * raw_scores(), 32),
        torch.tensor(CAUSAL_WEIGHTS),
        "The result for d_k = 32",
    )


@check("CausalAttention", points=0, layer="parameters")
def test_attention_makes_the_query_first(student):
    """Seeded with 123, W_query is drawn first, and it has no bias."""
    parameters = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123).parameters()

    for name in ("W_query.weight", "W_key.weight", "W_value.weight"):
        expect(name in parameters, f"There is no parameter {name}.")
    reads_like(
        parameters["W_query.weight"].value,
        [[-0.2354, 0.0191, -0.2867], [0.2177, -0.4919, 0.4232]],
        what="W_query.weight",
    )
    expect("W_query.bias" not in parameters, "W_query has a bias, but qkv_bias is false.")


@check("CausalAttention", points=0, layer="documented")
def test_attention_reproduces_the_documented_context(student):
    """Seeded with 123, each of two equal texts gets the documented context vectors."""
    text = [
        [-0.4519, 0.2216],
        [-0.5874, 0.0058],
        [-0.6300, -0.0632],
        [-0.5675, -0.0843],
        [-0.5526, -0.0981],
        [-0.5299, -0.1081],
    ]

    context = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123)(BATCH)
    reads_like(context, [text, text], what="CausalAttention(3, 2, 6, 0.0)(batch)")


@check("CausalAttention", points=0, layer="laws")
def test_attention_serves_the_beginning_of_a_text(student):
    """The first four tokens alone get the same context vectors as in the whole text."""
    attention = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123)

    whole = tensor_like(attention(BATCH), (2, 6, 2), "The context")
    agrees(attention(BATCH[:, :4]), whole[:, :4], "The context of the first four tokens")


@check("CausalAttention", points=0, layer="laws")
def test_attention_drops_weights_in_training_only(student):
    """With dropout, two calls in training differ; two calls in eval mode agree."""
    attention = student.new("CausalAttention", 3, 2, 6, 0.5, seed=123)

    first = tensor_like(attention(BATCH, seed=1), (2, 6, 2), "The context")
    second = tensor_like(attention(BATCH, seed=2), (2, 6, 2), "The context")
    expect(not torch.allclose(first, second), "Two calls in training agree: nothing is dropped.")
    attention.eval()
    once = tensor_like(attention(BATCH), (2, 6, 2), "The context")
    agrees(attention(BATCH), once, "A second call in eval mode")
