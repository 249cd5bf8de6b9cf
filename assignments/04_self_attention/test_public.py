"""What you can check yourself in stage 04, as often as you like: `autograder check`."""

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


@check("SelfAttentionV1", points=0, layer="shapes")
def test_v1_frozen_gives_each_token_a_context_vector(student):
    """Six tokens of size 3 give six context vectors of size 2."""
    context = student.new("SelfAttentionV1", 3, 2)(INPUTS)

    tensor_like(context, (6, 2), "SelfAttentionV1(3, 2)(inputs)")


@check("SelfAttentionV1", points=0, layer="parameters")
def test_v1_frozen_draws_the_documented_query_matrix(student):
    """Seeded with 1, W_q is the first draw of torch.randn, and it is frozen."""
    parameters = student.new("SelfAttentionV1", 3, 2, seed=1).parameters()

    expect("W_q" in parameters, "There is no parameter W_q.")
    reads_like(
        parameters["W_q"].value,
        [[0.6614, 0.2669], [0.0617, 0.6213], [-0.4519, -0.1661]],
        what="W_q",
    )
    expect(not parameters["W_q"].requires_grad, "W_q is trainable; in this class it is frozen.")


@check("SelfAttentionV1", points=0, layer="documented")
def test_v1_frozen_reproduces_the_documented_context(student):
    """Seeded with 1, the context vectors are those of document 000."""
    context = student.new("SelfAttentionV1", 3, 2, seed=1)(INPUTS)

    reads_like(
        context,
        [
            [-0.0617, -0.5368],
            [-0.0702, -0.5428],
            [-0.0700, -0.5419],
            [-0.0666, -0.5399],
            [-0.0648, -0.5218],
            [-0.0678, -0.5489],
        ],
        what="SelfAttentionV1(3, 2)(inputs)",
    )


@check("SelfAttention_v1", points=0, layer="parameters")
def test_v1_holds_three_trainable_matrices(student):
    """W_query, W_key and W_value are trainable and lie between 0 and 1."""
    parameters = student.new("SelfAttention_v1", 3, 2).parameters()

    for name in ("W_query", "W_key", "W_value"):
        expect(name in parameters, f"There is no parameter {name}.")
        drawn = tensor_like(parameters[name].value, (3, 2), name)
        expect(((drawn >= 0) & (drawn < 1)).all(), f"{name} was not drawn with torch.rand.")
        expect(parameters[name].requires_grad, f"{name} is frozen; here it should be trainable.")


@check("SelfAttention_v1", points=0, layer="documented")
def test_v1_reproduces_the_documented_context(student):
    """Seeded with 123, the context vectors are those of document 002."""
    context = student.new("SelfAttention_v1", 3, 2, seed=123)(INPUTS)

    reads_like(
        context,
        [
            [0.2996, 0.8053],
            [0.3061, 0.8210],
            [0.3058, 0.8203],
            [0.2948, 0.7939],
            [0.2927, 0.7891],
            [0.2990, 0.8040],
        ],
        what="SelfAttention_v1(3, 2)(inputs)",
    )


@check("SelfAttention_v1", points=0, layer="laws")
def test_v1_gives_a_single_token_its_own_value(student):
    """A single token attends only to itself: its context vector is its value."""
    attention = student.new("SelfAttention_v1", 3, 2)
    parameters = attention.parameters()

    expect("W_value" in parameters, "There is no parameter W_value.")
    value = INPUTS[:1] @ tensor_like(parameters["W_value"].value, (3, 2), "W_value")
    agrees(attention(INPUTS[:1]), value, "The context vector of a single token")


@check("SelfAttention_v2", points=0, layer="parameters")
def test_v2_has_biases_only_when_asked(student):
    """There are three weights, and with qkv_bias=True three biases as well."""
    plain = set(student.new("SelfAttention_v2", 3, 2).parameters())
    biased = set(student.new("SelfAttention_v2", 3, 2, qkv_bias=True).parameters())

    for name in ("W_query", "W_key", "W_value"):
        expect(f"{name}.weight" in plain, f"There is no parameter {name}.weight.")
        expect(f"{name}.bias" not in plain, f"{name} has a bias, but qkv_bias is false.")
        expect(f"{name}.bias" in biased, f"{name} has no bias although qkv_bias is true.")


@check("SelfAttention_v2", points=0, layer="documented")
def test_v2_reproduces_the_documented_context(student):
    """Seeded with 789, the context vectors are those of document 002."""
    context = student.new("SelfAttention_v2", 3, 2, seed=789)(INPUTS)

    reads_like(
        context,
        [
            [-0.0739, 0.0713],
            [-0.0748, 0.0703],
            [-0.0749, 0.0702],
            [-0.0760, 0.0685],
            [-0.0763, 0.0679],
            [-0.0754, 0.0693],
        ],
        what="SelfAttention_v2(3, 2)(inputs)",
    )


@check("transfer_weights", points=0, layer="laws")
def test_transfer_makes_both_give_the_same(student):
    """After the transfer, source and target give the same context vectors."""
    source = student.new("SelfAttention_v2", 3, 2, seed=123)
    target = student.new("SelfAttention_v1", 3, 2)
    student.call("transfer_weights", source, target)

    agrees(target(INPUTS), tensor_like(source(INPUTS), (6, 2)), "The target's output")


@check("transfer_weights", points=0, layer="laws")
def test_transfer_refuses_a_bias(student):
    """A source with biases raises a ValueError: the target has no biases."""
    source = student.new("SelfAttention_v2", 3, 2, qkv_bias=True)
    target = student.new("SelfAttention_v1", 3, 2)

    expect(
        student.refuses("transfer_weights", source, target),
        "A source with biases raises no error.",
    )
