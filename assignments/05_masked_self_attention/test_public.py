"""What you can check yourself in stage 05, as often as you like: `autograder check`."""

import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, reads_like, tensor_like

ENCODINGS = torch.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
MASK = torch.tril(torch.ones(3, 3))


@check("SelfAttention", points=0, layer="parameters")
def test_makes_three_layers_without_bias(student):
    """W_q, W_k and W_v are linear layers of size d_model without bias."""
    parameters = student.new("SelfAttention", d_model=5).parameters()

    for name in ("W_q", "W_k", "W_v"):
        expect(f"{name}.weight" in parameters, f"There is no parameter {name}.weight.")
        tensor_like(parameters[f"{name}.weight"].value, (5, 5), f"{name}.weight")
        expect(f"{name}.bias" not in parameters, f"{name} has a bias, but qkv_bias is false.")


@check("SelfAttention", points=0, layer="documented")
def test_reproduces_the_documented_context(student):
    """Seeded with 42, the context vectors are those of document 001."""
    attention = student.new("SelfAttention", d_model=2, row_dim=0, col_dim=1, seed=42)

    reads_like(
        attention(ENCODINGS),
        [[1.0100, 1.0641], [0.2040, 0.7057], [3.4989, 2.2427]],
        what="SelfAttention()(encodings)",
    )


@check("SelfAttention", points=0, layer="laws")
def test_attends_within_each_item_of_a_batch(student):
    """Each item of a batch gets the same result as without the batch."""
    batch = torch.stack([ENCODINGS, -ENCODINGS, ENCODINGS.flip(0), ENCODINGS / 2])
    alone = student.new("SelfAttention", d_model=2, row_dim=0, col_dim=1, seed=42)
    batched = student.new("SelfAttention", d_model=2, row_dim=1, col_dim=2, seed=42)

    together = tensor_like(batched(batch), (4, 3, 2), "The result for a batch")
    for i in range(4):
        item = tensor_like(alone(batch[i]), (3, 2), "The result for one item")
        agrees(together[i], item, f"Item {i} of the batch")


@check("causal_mask", points=0, layer="documented")
def test_mask_of_three_is_the_documented_one(student):
    """causal_mask(3) has ones on and below the diagonal, and zeros above."""
    answer = tensor_like(student.call("causal_mask", 3), (3, 3), "causal_mask(3)")

    reads_like(answer.float(), [[1, 0, 0], [1, 1, 0], [1, 1, 1]], what="causal_mask(3)")


@check("MaskedSelfAttention", points=0, layer="documented")
def test_masked_reproduces_the_documented_context(student):
    """Seeded with 42, with the causal mask, the context vectors are those of document 001."""
    attention = student.new("MaskedSelfAttention", d_model=2, row_dim=0, col_dim=1, seed=42)

    reads_like(
        attention(ENCODINGS, mask=MASK),
        [[0.6038, 0.7434], [-0.0062, 0.6072], [3.4989, 2.2427]],
        what="MaskedSelfAttention()(encodings, mask)",
    )


@check("MaskedSelfAttention", points=0, layer="laws")
def test_masked_past_does_not_know_the_future(student):
    """A change of the last token does not change the result of the tokens before it."""
    attention = student.new("MaskedSelfAttention", seed=42)
    other = torch.cat([ENCODINGS[:2], torch.tensor([[-3.0, 2.0]])])

    before = tensor_like(attention(ENCODINGS, MASK), (3, 2), "The result")
    after = tensor_like(attention(other, MASK), (3, 2), "The result")
    agrees(
        after[:2], before[:2], "The result of the first two tokens after a change of the last one"
    )


@check("MaskedSelfAttention", points=0, layer="laws")
def test_masked_without_gaps_is_plain_attention(student):
    """With a mask of ones, nothing is hidden: the result is the same as from SelfAttention."""
    masked = student.new("MaskedSelfAttention", seed=42)(ENCODINGS, torch.ones(3, 3))

    plain = tensor_like(student.new("SelfAttention", seed=42)(ENCODINGS), (3, 2), "SelfAttention")
    agrees(masked, plain, "The result with a mask of ones")
