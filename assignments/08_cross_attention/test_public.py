"""What you can check yourself in stage 08: attention across two sequences, and padding."""

import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import reads_like, same_dtype, tensor_like

# Document 001: three encodings, layers drawn after torch.manual_seed(42)
ENCODINGS = torch.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
W_Q_TRANSPOSED = [[0.5406, -0.1657], [0.5869, 0.6496]]
W_K_TRANSPOSED = [[-0.1549, -0.3443], [0.1427, 0.4153]]
W_V_TRANSPOSED = [[0.6233, 0.6146], [-0.5188, 0.1323]]
CONTEXT = [[1.0100, 1.0641], [0.2040, 0.7057], [3.4989, 2.2427]]
MASK = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
MASKED_CONTEXT = [[0.6038, 0.7434], [-0.0062, 0.6072], [3.4989, 2.2427]]

BATCH = torch.stack([ENCODINGS, ENCODINGS.flip(0)])  # the same tokens, then in reverse order


@check("Attention", points=0, layer="shapes")
def test_attention_answers_every_query(student):
    """Two queries give two context vectors and three queries three, for any number of keys."""
    attention = student.new("Attention", d_model=2, row_dim=0, col_dim=1)

    two = attention(ENCODINGS[:2], ENCODINGS, ENCODINGS)
    tensor_like(two, (2, 2), "The context of 2 queries and 3 keys")
    three = attention(ENCODINGS, ENCODINGS[:2], ENCODINGS[:2])
    tensor_like(three, (3, 2), "The context of 3 queries and 2 keys")


@check("Attention", points=0, layer="parameters")
def test_attention_makes_the_documented_layers(student):
    """Seeded with 42, W_q, W_k and W_v are the documented layers, without bias."""
    parameters = student.new("Attention", d_model=2, seed=42).parameters()

    for name, printed in (
        ("W_q", W_Q_TRANSPOSED),
        ("W_k", W_K_TRANSPOSED),
        ("W_v", W_V_TRANSPOSED),
    ):
        expect(f"{name}.weight" in parameters, f"Attention has no parameter {name}.weight.")
        expect(f"{name}.bias" not in parameters, f"{name} has a bias; it should have none.")
        weight = tensor_like(parameters[f"{name}.weight"].value, (2, 2), f"{name}.weight")
        reads_like(weight.T, printed, what=f"{name}.weight.T")


@check("Attention", points=0, layer="documented")
def test_attention_to_oneself_is_self_attention(student):
    """Seeded with 42, the same encodings three times give the documented context vectors."""
    attention = student.new("Attention", d_model=2, row_dim=0, col_dim=1, seed=42)

    reads_like(attention(ENCODINGS, ENCODINGS, ENCODINGS), CONTEXT, what="The context")


@check("Attention", points=0, layer="documented")
def test_attention_follows_the_mask(student):
    """With the documented mask, no token attends to a later one."""
    attention = student.new("Attention", d_model=2, row_dim=0, col_dim=1, seed=42)

    context = attention(ENCODINGS, ENCODINGS, ENCODINGS, mask=MASK)
    reads_like(context, MASKED_CONTEXT, what="The masked context")


@check("Attention", points=0, layer="laws")
def test_attention_serves_a_batch(student):
    """In a batch, with row_dim 1 and col_dim 2, each item gets its own context vectors."""
    attention = student.new("Attention", d_model=2, row_dim=1, col_dim=2, seed=42)

    context = attention(BATCH[:, :2], BATCH, BATCH)
    reads_like(context, [CONTEXT[:2], [CONTEXT[2], CONTEXT[1]]], what="The context of a batch")


@check("padding_mask", points=0, layer="documented")
def test_mask_keeps_tokens_and_hides_padding(student):
    """A length of 3 in 5 positions is three times True, then twice False."""
    mask = tensor_like(student.call("padding_mask", [3, 5, 1], 5), (3, 5), "padding_mask")

    same_dtype(mask, torch.bool, "padding_mask")
    kept = [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]
    reads_like(mask.float(), kept, what="padding_mask([3, 5, 1], 5), as numbers,")


@check("padding_mask", points=0, layer="laws")
def test_mask_refuses_what_does_not_fit(student):
    """A length of 6 in 5 positions raises a ValueError, and so does a length of -1."""
    for length in (6, -1):
        refused = student.refuses("padding_mask", [2, length], 5)
        expect(refused, f"A length of {length} in 5 positions should raise a ValueError.")


@check("CrossAttention", points=0, layer="shapes")
def test_cross_attention_answers_every_decoder_token(student):
    """2 items of 3 decoder tokens and 5 encoder tokens give a result of shape (2, 3, d_out)."""
    cross = student.new("CrossAttention", d_decoder=6, d_encoder=7, d_out=4)

    context = cross(torch.ones(2, 3, 6), torch.ones(2, 5, 7))
    tensor_like(context, (2, 3, 4), "The context of the decoder tokens")


@check("CrossAttention", points=0, layer="documented")
def test_cross_attention_contains_attention(student):
    """Seeded with 42, two documented tokens that attend to all three get the documented context."""
    cross = student.new("CrossAttention", d_decoder=2, d_encoder=2, d_out=2, seed=42)

    context = cross(BATCH[:1, :2], BATCH[:1])
    reads_like(context, [CONTEXT[:2]], what="The context of two tokens")


@check("CrossAttention", points=0, layer="laws")
def test_cross_attention_skips_padding(student):
    """The states after an item's length do not change the result of its decoder tokens."""
    cross = student.new("CrossAttention", d_decoder=2, d_encoder=2, d_out=2, seed=42)
    keep = torch.tensor([[True, True, True], [True, True, False]])
    padded = BATCH.clone()
    padded[1, 2] = 3.0

    before = tensor_like(cross(BATCH[:, :1], BATCH, keep), (2, 1, 2), "The context")
    after = tensor_like(cross(BATCH[:, :1], padded, keep), (2, 1, 2), "The context")
    expect(
        torch.allclose(before, after, atol=1e-5), "Padding is not skipped: it changes the context."
    )
