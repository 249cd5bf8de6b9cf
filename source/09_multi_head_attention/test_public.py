"""What you can check yourself in stage 09: heads side by side."""

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
CAUSAL = [  # the first two columns are CausalAttention's, all four the wrapper's, under seed 123
    [-0.4519, 0.2216, 0.4772, 0.1063],
    [-0.5874, 0.0058, 0.5891, 0.3257],
    [-0.6300, -0.0632, 0.6202, 0.3860],
    [-0.5675, -0.0843, 0.5478, 0.3589],
    [-0.5526, -0.0981, 0.5321, 0.3428],
    [-0.5299, -0.1081, 0.5077, 0.3493],
]
ENCODINGS = torch.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
MASK = torch.tril(torch.ones(3, 3))
ONE_HEAD = [[1.0100, 1.0641], [0.2040, 0.7057], [3.4989, 2.2427]]  # all under seed 42
MASKED = [[0.6038, 0.7434], [-0.0062, 0.6072], [3.4989, 2.2427]]
TWO_HEADS = [
    [1.0100, 1.0641, -0.7081, -0.8268],
    [0.2040, 0.7057, -0.7417, -0.9193],
    [3.4989, 2.2427, -0.7190, -0.8447],
]


@check("Attention", points=0, layer="documented")
def test_attention_reproduces_the_documented_context(student):
    """Seeded with 42, your Attention gives the documented context vectors, also with the mask."""
    attention = student.new("Attention", d_model=2, row_dim=0, col_dim=1, seed=42)

    reads_like(attention(ENCODINGS, ENCODINGS, ENCODINGS), ONE_HEAD, what="The context")
    reads_like(attention(ENCODINGS, ENCODINGS, ENCODINGS, MASK), MASKED, what="The masked context")


@check("CausalAttention", points=0, layer="documented")
def test_causal_reproduces_the_documented_context(student):
    """Seeded with 123, your CausalAttention gives the documented context vectors."""
    attention = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123)

    own = [row[:2] for row in CAUSAL]
    reads_like(attention(BATCH), [own, own], what="The context of the batch")


@check("MultiHeadAttention", points=0, layer="shapes")
def test_heads_stand_side_by_side(student):
    """Three heads of size 2 give each of the three tokens 6 features: (3, 6)."""
    context = student.new("MultiHeadAttention", 2, 0, 1, num_heads=3)(*[ENCODINGS] * 3)

    tensor_like(context, (3, 6), "MultiHeadAttention(2, 0, 1, num_heads=3)")


@check("MultiHeadAttention", points=0, layer="parameters")
def test_every_head_has_layers_of_its_own(student):
    """PyTorch finds W_q, W_k and W_v of both heads: six matrices, no two of them equal."""
    found = student.new("MultiHeadAttention", 2, 0, 1, num_heads=2, seed=42).parameters()

    names = [f"heads.{h}.{layer}.weight" for h in (0, 1) for layer in ("W_q", "W_k", "W_v")]
    for name in names:
        expect(name in found, f"There is no parameter {name}; found: {', '.join(found) or 'none'}.")
    for h, name in enumerate(names):
        for other in names[:h]:
            same = torch.equal(found[name].value, found[other].value)
            expect(not same, f"{other} and {name} hold the same numbers.")


@check("MultiHeadAttention", points=0, layer="documented")
def test_heads_reproduce_the_documented_context(student):
    """Seeded with 42, one head and two heads give the documented context vectors."""
    for num_heads, printed in ((1, ONE_HEAD), (2, TWO_HEADS)):
        attention = student.new("MultiHeadAttention", 2, 0, 1, num_heads=num_heads, seed=42)
        context = attention(ENCODINGS, ENCODINGS, ENCODINGS)

        reads_like(context, printed, what=f"The context for num_heads={num_heads}")


@check("MultiHeadAttention", points=0, layer="laws")
def test_heads_serve_a_batch_item_by_item(student):
    """With row_dim=1 and col_dim=2, each text of a batch gets the same result as alone."""
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(9))
    batched = student.new("MultiHeadAttention", 3, 1, 2, num_heads=2, seed=9)
    single = student.new("MultiHeadAttention", 3, 0, 1, num_heads=2, seed=9)

    context = tensor_like(batched(x, x, x), (2, 5, 6), "The context of the batch")
    for text, alone in zip(x, context, strict=True):
        agrees(single(text, text, text), alone, "The context of one text")


@check("MultiHeadAttentionWrapper", points=0, layer="shapes")
def test_wrapper_gives_d_out_features_per_head(student):
    """For an input of shape (2, 6, 3), four heads of size d_out = 5 give (2, 6, 20)."""
    context = student.new("MultiHeadAttentionWrapper", 3, 5, 6, 0.0, num_heads=4)(BATCH)

    tensor_like(context, (2, 6, 20), "MultiHeadAttentionWrapper(3, 5, 6, 0.0, 4)(batch)")


@check("MultiHeadAttentionWrapper", points=0, layer="documented")
def test_wrapper_reproduces_the_documented_context(student):
    """Seeded with 123, two heads give the documented context vectors."""
    attention = student.new("MultiHeadAttentionWrapper", 3, 2, 6, 0.0, num_heads=2, seed=123)

    reads_like(attention(BATCH), [CAUSAL, CAUSAL], what="The context of the batch")
