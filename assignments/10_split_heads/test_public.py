"""What you can check yourself in stage 10: heads that are split and merged."""

import torch

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
CONTEXT = [  # of each of the two texts, under seed 123
    [0.3190, 0.4858],
    [0.2943, 0.3897],
    [0.2856, 0.3593],
    [0.2693, 0.3873],
    [0.2639, 0.3928],
    [0.2575, 0.4028],
]
WEIGHTS = {  # of MultiHeadAttention(3, 2, 6, 0.0, num_heads=2) under seed 123
    "W_query.weight": [[-0.2354, 0.0191, -0.2867], [0.2177, -0.4919, 0.4232]],
    "W_key.weight": [[-0.4196, -0.4590, -0.3648], [0.2615, -0.2133, 0.2161]],
    "W_value.weight": [[-0.4900, -0.3503, -0.2120], [-0.1135, -0.4404, 0.3780]],
    "out_proj.weight": [[-0.1668, 0.2270], [0.5000, 0.1317]],
    "out_proj.bias": [0.1934, 0.6825],
}
TOKENS = torch.arange(24.0).view(1, 4, 6)  # 4 tokens with 6 features, numbered from 0 to 23
HEADS = [  # the same, split into 2 heads of size 3
    [
        [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0], [12.0, 13.0, 14.0], [18.0, 19.0, 20.0]],
        [[3.0, 4.0, 5.0], [9.0, 10.0, 11.0], [15.0, 16.0, 17.0], [21.0, 22.0, 23.0]],
    ]
]


@check("split_heads", points=0, layer="documented")
def test_split_gives_each_head_a_block_of_every_token(student):
    """For counted features, two heads hold the first and the last three of each token."""
    heads = student.call("split_heads", TOKENS, 2)

    reads_like(heads, HEADS, what="split_heads of 24 counted features")


@check("split_heads", points=0, layer="laws")
def test_split_refuses_an_uneven_share(student):
    """Six features can't be split evenly into four heads: this raises a ValueError."""
    expect(
        student.refuses("split_heads", TOKENS, 4),
        "split_heads returns a result for six features and four heads; it should raise ValueError.",
    )


@check("merge_heads", points=0, layer="documented")
def test_merge_puts_the_blocks_side_by_side(student):
    """Two heads are merged into the tokens with the counted features."""
    tokens = student.call("merge_heads", torch.tensor(HEADS))

    reads_like(tokens, TOKENS.tolist(), what="merge_heads of the two heads")


@check("merge_heads", points=0, layer="laws", needs=("split_heads",))
def test_merge_undoes_the_split(student):
    """A batch that is split into heads and merged again is unchanged."""
    x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(10))
    heads = tensor_like(student.call("split_heads", x, 3), (2, 3, 5, 4), "split_heads")

    agrees(student.call("merge_heads", heads), x, "The batch, split and merged again")


@check("MultiHeadAttention", points=0, layer="shapes")
def test_heads_give_each_token_a_vector_of_d_out(student):
    """Inputs of shape (2, 6, 3) give one vector of size d_out = 8 per token: (2, 6, 8)."""
    context = student.new("MultiHeadAttention", 3, 8, 6, 0.0, num_heads=4)(BATCH)

    tensor_like(context, (2, 6, 8), "MultiHeadAttention(3, 8, 6, 0.0, 4)(batch)")


@check("MultiHeadAttention", points=0, layer="parameters")
def test_heads_draw_the_documented_weights(student):
    """Seeded with 123, W_query, W_key, W_value and out_proj get the documented weights."""
    found = student.new("MultiHeadAttention", 3, 2, 6, 0.0, num_heads=2, seed=123).parameters()

    for name, printed in WEIGHTS.items():
        expect(name in found, f"There is no parameter {name}.")
        reads_like(found[name].value, printed, what=name)


@check("MultiHeadAttention", points=0, layer="documented")
def test_heads_reproduce_the_documented_context(student):
    """Seeded with 123, two heads give the documented context vectors."""
    attention = student.new("MultiHeadAttention", 3, 2, 6, 0.0, num_heads=2, seed=123)

    reads_like(attention(BATCH), [CONTEXT, CONTEXT], what="The context of the batch")


@check("MultiHeadAttention", points=0, layer="laws")
def test_heads_never_look_ahead(student):
    """A change of the last token changes its own result and no earlier result."""
    attention = student.new("MultiHeadAttention", 3, 8, 6, 0.0, num_heads=2, seed=123)
    others = BATCH.clone()
    others[:, 5] += 1.0

    before = tensor_like(attention(BATCH), (2, 6, 8), "The context")
    after = tensor_like(attention(others), (2, 6, 8), "The context")
    expect(
        not torch.allclose(before[:, 5], after[:, 5]),
        "A change of the last token does not change its own result.",
    )
    agrees(
        after[:, :5],
        before[:, :5],
        "After a change of the last token, the result of the first tokens",
    )
