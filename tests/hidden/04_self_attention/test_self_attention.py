"""Hidden suite of stage 04: self-attention as a module."""

import pytest
import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, tensor_like

T, D_IN, D_OUT = 5, 7, 4  # all distinct, so that no wrong axis fits by chance


@check("SelfAttentionV1", points=0.25, layer="shapes")
def test_v1_gives_each_token_a_context_vector(student, inputs):
    """(6, 3) in, one context vector of size 2 per token out: (6, 2), float32."""
    context = student.new("SelfAttentionV1", 3, 2)(inputs)

    tensor_like(context, (6, 2), "SelfAttentionV1(3, 2)(inputs)")


@check("SelfAttentionV1", points=0.5, layer="parameters")
def test_v1_draws_the_documented_matrices(student, documented):
    """Seeded with 1, W_q, W_k and W_v are the documented draws of torch.randn, in this order."""
    parameters = student.new("SelfAttentionV1", 3, 2, seed=1).parameters()

    for name in ("W_q", "W_k", "W_v"):
        expect(name in parameters, f"SelfAttentionV1 has no parameter {name}.")
        documented[f"000.{name.lower()}"].matches(parameters[name].value, name)


@check("SelfAttentionV1", points=0.75, layer="documented")
def test_v1_reproduces_the_documented_context(student, documented, inputs):
    """Seeded with 1, the context vectors are the documented ones."""
    attention = student.new("SelfAttentionV1", 3, 2, seed=1)

    documented["000.context"].matches(attention(inputs))


@check("SelfAttentionV1", points=1, layer="probe")
def test_v1_computes_scaled_dot_product_attention(student, reference, probe):
    """On other sizes, louder weights and unseen inputs, the context vectors are right too."""
    x = probe.normal(T, D_IN, scale=1.5)
    weights = probe.weights(W_q=(D_IN, D_OUT), W_k=(D_IN, D_OUT), W_v=(D_IN, D_OUT))
    yours = student.new("SelfAttentionV1", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttentionV1", D_IN, D_OUT).load(weights)

    agrees(yours(x), ours(x))
