"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running
from autograder.suite.student_proxy import RemoteModule, Student

# The arguments of each class; its first check grades their order.
CONSTRUCTORS = {
    "SelfAttention": ("d_model", "row_dim", "col_dim"),
    "MaskedSelfAttention": ("d_model", "row_dim", "col_dim"),
}


@pytest.fixture
def encodings(documented: DocumentedTensors) -> Tensor:
    """Return the three token encodings of document 001: (3, 2)."""
    return documented["001.encodings"].tensor.clone()


@pytest.fixture
def keeps_dtype(student: Student) -> Callable[..., None]:
    """Return a check that a function, or a module, answers in the dtype of its tensors."""

    def compare(asked: str | RemoteModule, *args: object) -> None:
        for dtype, name in ((torch.float64, "float64"), (torch.float32, "float32")):
            given = [arg.to(dtype) if isinstance(arg, Tensor) else arg for arg in args]
            if isinstance(asked, RemoteModule):
                asked.move(name)
                answer = asked(*given)
            else:
                answer = student.call(asked, *given)
            same_dtype(tensor(answer), dtype, f"The result for {name} inputs")

    return compare


READY_ATTENTION = frozenset(
    {
        "MultiheadAttention",
        "Transformer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "_native_multi_head_attention",
        "_scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_transformer_encoder_layer_fwd",
        "flex_attention",
        "multi_head_attention_forward",
        "scaled_dot_product_attention",
    }
)
B, T, D = 3, 6, 5
LINEAR = ("W_q.weight", "W_k.weight", "W_v.weight")
BATCHED = (1, 2)  # row_dim, col_dim
SMALL = 0.7  # still large enough for scores above 1
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."


def named(module):
    """Return the module's parameters, after checking that the three weights exist."""
    found = module.parameters()
    for name in LINEAR:
        expect(
            name in found,
            f"There is no parameter {name}: the name must match, and the layer must be nn.Linear.",
        )
        bias = name.replace("weight", "bias")
        expect(bias not in found, f"There is a parameter {bias}; these layers must have no bias.")
    return found


def same_draws(yours, ours):
    """Compare parameters one by one, so that the message names the first wrong one."""
    found, wanted = named(yours), ours.parameters()
    for name in LINEAR:
        agrees(found[name].value, wanted[name].value, f"{name} right after construction")


def like_documents(module, documented):
    """Compare the weights with the documented ones, which are printed transposed."""
    found = named(module)
    for name in ("w_q", "w_k", "w_v"):
        weight = tensor_like(found[f"W{name[1:]}.weight"].value, (2, 2), f"W{name[1:]}.weight")
        documented[f"001.{name}.transposed"].matches(weight.T, f"W{name[1:]}.weight.T")


def caller_seeds(student, probe, name, *more):
    """Expect that neither creating nor calling *name* sets a seed."""
    drawn = []
    for seed in (probe.seed, probe.seed + 1):
        student.new(name, D, seed=seed)(probe.normal(T, D), *more)
        drawn.append(student.draws_next())
    expect(
        not torch.equal(*drawn),
        f"{name} gives the same random numbers under two seeds: does your code set a seed?",
    )


def same_gradients(yours, ours):
    """Compare the gradients of the input and of the three weights."""
    missing = [name for name in LINEAR if yours.parameters.get(name) is None]
    expect(not missing, f"No gradient reaches {', '.join(missing)}.")
    expect(yours.inputs[0] is not None, "No gradient reaches the input.")

    agrees(yours.inputs[0], ours.inputs[0], "The gradient of the input")
    for name in LINEAR:
        agrees(yours.parameters[name], ours.parameters[name], f"The gradient of {name}")


def both_modules(student, reference, probe, name, *axes):
    """Create *name* in the student's module and in the reference, with the same large weights."""
    weights = probe.weights(**dict.fromkeys(LINEAR, (D, D)))
    yours, ours = student.new(name, D, *axes), reference.new(name, D, *axes)
    return yours.load(weights), ours.load(weights), weights


def past(size):
    """Return the causal mask of the documents."""
    return torch.ones(size, size).tril()


def same_mask(student, size):
    """Expect the mask of *size* tokens, in any dtype."""
    answer = tensor_like(student.call("causal_mask", size), (size, size), "The mask")
    agrees(answer.float(), past(size), "The mask")


# SelfAttention


@check("SelfAttention", points=0.05, layer="signature")
def test_takes_size_and_axes(student):
    """The constructor takes d_model, row_dim and col_dim; each is optional."""
    student.new("SelfAttention", d_model=3, row_dim=0, col_dim=1)
    student.new("SelfAttention")


@check("SelfAttention", points=0.05, layer="shapes")
def test_keeps_the_shape(student, encodings):
    """A sequence of shape (3, 2) keeps its shape, and so does a batch of shape (4, 3, 2)."""
    single, batched = student.new("SelfAttention"), student.new("SelfAttention", 2, *BATCHED)

    tensor_like(single(encodings), (3, 2), "SelfAttention()(encodings)")
    tensor_like(batched(encodings.expand(4, 3, 2)), (4, 3, 2), "The result for a batch")


@check("SelfAttention", points=0.25, layer="parameters")
def test_makes_the_documented_layers(student, documented, encodings):
    """With seed 42, W_q, W_k and W_v hold the documented weights, and W_q gives the queries."""
    attention = student.new("SelfAttention", 2, 0, 1, seed=42)

    like_documents(attention, documented)
    queries = encodings @ named(attention)["W_q.weight"].value.T
    documented["001.queries"].matches(queries, "W_q(encodings)")


@check("SelfAttention", points=0.15, layer="parameters", rules=("no_seeding",))
def test_makes_other_layers_under_another_seed(student, reference, probe):
    """With a different seed and d_model, the weights are the draws of that seed."""
    yours = student.new("SelfAttention", D, seed=probe.seed)

    same_draws(yours, reference.new("SelfAttention", D, seed=probe.seed))
    caller_seeds(student, probe, "SelfAttention")


@check("SelfAttention", points=0.6, layer="documented")
def test_reproduces_the_documented_context(student, documented, encodings):
    """With seed 42, the context vectors are the documented ones."""
    attention = student.new("SelfAttention", 2, 0, 1, seed=42)

    documented["001.sa.context"].matches(attention(encodings), "SelfAttention()(encodings)")


@check("SelfAttention", points=0.2, layer="documented")
def test_gives_a_single_token_its_documented_value(student, documented, encodings):
    """With seed 42, a single token gets its documented value."""
    attention = student.new("SelfAttention", 2, 0, 1, seed=42)
    alone = [attention(encodings[i : i + 1]) for i in range(3)]
    values = torch.cat([tensor_like(value, (1, 2), "A single token's result") for value in alone])

    documented["001.values"].matches(values, "The result of single tokens")


@check("SelfAttention", points=0.7, layer="probe")
def test_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for a different size, larger weights and hidden inputs of any length."""
    yours, ours, _ = both_modules(student, reference, probe, "SelfAttention")

    for length in (T, T + 3, 1):
        x = probe.normal(length, D, scale=1.5)
        agrees(yours(x), ours(x))


@check("SelfAttention", points=0.7, layer="probe")
def test_attends_within_each_item_of_a_batch(student, reference, probe):
    """With row_dim=1 and col_dim=2, each item of a batch gets the same result as it would alone."""
    yours, ours, _ = both_modules(student, reference, probe, "SelfAttention", *BATCHED)

    for length in (T, T + 3):
        x = probe.normal(B, length, D, scale=1.5)
        agrees(yours(x), ours(x))


@check("SelfAttention", points=0.1, layer="laws", rules=("dtype",))
def test_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype(student.new("SelfAttention", D), probe.normal(T, D))


@check("SelfAttention", points=0.2, layer="laws")
def test_knows_no_order_of_tokens(student, reference, probe):
    """Tokens in a different order give the same context vectors in that order."""
    yours, _, _ = both_modules(student, reference, probe, "SelfAttention")
    x, order = probe.normal(T, D), torch.tensor([3, 0, 5, 4, 1, 2])

    context = tensor_like(yours(x), (T, D))
    expect(context.abs().max() > 0, "The context vectors are zero, but the tokens are not.")
    agrees(yours(x[order]), context[order], "The result for tokens in a different order")


@check("SelfAttention", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention = student.new("SelfAttention", D)

    expect(attention.keeps_inputs(probe.normal(T, D)), "The call changes its input.")


@check("SelfAttention", points=0.5, layer="gradients", rules=("gradients",))
def test_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights of all three layers are right."""
    yours, ours, _ = both_modules(student, reference, probe, "SelfAttention", *BATCHED)
    x, cotangent = probe.normal(B, T, D, scale=0.5), probe.normal(B, T, D)

    same_gradients(yours.gradients(x, cotangent=cotangent), ours.gradients(x, cotangent=cotangent))


@check("SelfAttention", points=0.4, layer="forbidden", rules=("no_ready_attention",))
def test_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours, _ = both_modules(student, reference, probe, "SelfAttention")
    x = probe.normal(T, D)

    avoids(student, "SelfAttention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    agrees(yours(x), ours(x))


# causal_mask


@check("causal_mask", points=0.1, layer="shapes")
def test_mask_is_a_square(student):
    """causal_mask(5) has a row and a column for each of the five tokens: (5, 5)."""
    tensor_like(student.call("causal_mask", 5), (5, 5), "causal_mask(5)")


@check("causal_mask", points=0.4, layer="documented")
def test_mask_of_three_is_the_documented_one(student, documented):
    """causal_mask(3) is the documented mask: ones on and below the diagonal."""
    answer = tensor_like(student.call("causal_mask", 3), (3, 3), "causal_mask(3)")

    documented["001.mask"].matches(answer.float(), "causal_mask(3)")  # any dtype is accepted


@check("causal_mask", points=0.4, layer="documented")
def test_mask_of_eight_is_the_documented_one(student, documented):
    """causal_mask(8) is the documented triangle of the causal averages."""
    answer = tensor_like(student.call("causal_mask", 8), (8, 8), "causal_mask(8)")

    documented["004.mask"].matches(answer.float(), "causal_mask(8)")  # any dtype is accepted


@check("causal_mask", points=0.4, layer="probe")
def test_mask_is_right_for_any_size(student):
    """The mask is right for any number of tokens, including a single one."""
    for size in (1, 2, 5, 13):
        same_mask(student, size)


# MaskedSelfAttention


@check("MaskedSelfAttention", points=0.05, layer="signature")
def test_masked_takes_size_and_axes(student):
    """The constructor takes d_model, row_dim and col_dim; each is optional."""
    student.new("MaskedSelfAttention", d_model=3, row_dim=0, col_dim=1)
    student.new("MaskedSelfAttention")


@check("MaskedSelfAttention", points=0.05, layer="shapes")
def test_masked_keeps_the_shape(student, encodings):
    """A sequence of shape (3, 2) keeps its shape, and so does a batch of shape (4, 3, 2)."""
    single = student.new("MaskedSelfAttention")
    batched = student.new("MaskedSelfAttention", 2, *BATCHED)

    tensor_like(single(encodings, past(3)), (3, 2), "MaskedSelfAttention()(encodings, mask)")
    batch = encodings.expand(4, 3, 2)
    tensor_like(batched(batch, past(3)), (4, 3, 2), "The result for a batch")


@check("MaskedSelfAttention", points=0.2, layer="parameters")
def test_masked_makes_the_documented_layers(student, documented):
    """With seed 42, W_q, W_k and W_v hold the documented weights."""
    attention = student.new("MaskedSelfAttention", 2, 0, 1, seed=42)

    like_documents(attention, documented)


@check("MaskedSelfAttention", points=0.1, layer="parameters", rules=("no_seeding",))
def test_masked_makes_other_layers_under_another_seed(student, reference, probe):
    """With a different seed and d_model, the weights are the draws of that seed."""
    yours = student.new("MaskedSelfAttention", D, seed=probe.seed)

    same_draws(yours, reference.new("MaskedSelfAttention", D, seed=probe.seed))
    caller_seeds(student, probe, "MaskedSelfAttention", past(T))


@check("MaskedSelfAttention", points=0.6, layer="documented")
def test_masked_reproduces_the_documented_context(student, documented, encodings):
    """With seed 42 and the causal mask, the context vectors are the documented ones."""
    attention = student.new("MaskedSelfAttention", 2, 0, 1, seed=42)

    context = attention(encodings, mask=past(3))
    documented["001.masked.context"].matches(context, "MaskedSelfAttention()(encodings, mask)")


@check("MaskedSelfAttention", points=0.2, layer="documented")
def test_masked_gives_values_where_each_sees_itself(student, documented, encodings):
    """If each token may attend only to itself, the result holds the documented values."""
    attention = student.new("MaskedSelfAttention", 2, 0, 1, seed=42)

    documented["001.values"].matches(attention(encodings, torch.eye(3)), "The result")


@check("MaskedSelfAttention", points=0.6, layer="probe")
def test_masked_hides_the_future(student, reference, probe):
    """For a new size and hidden inputs of several lengths, the causal mask hides the future."""
    yours, ours, _ = both_modules(student, reference, probe, "MaskedSelfAttention")

    for length in (T, T - 1, 1):
        x = probe.normal(length, D, scale=SMALL)
        agrees(yours(x, past(length)), ours(x, past(length)))


@check("MaskedSelfAttention", points=0.6, layer="probe")
def test_masked_hides_the_future_in_each_item(student, reference, probe):
    """With row_dim=1 and col_dim=2, the mask applies to each item of a batch."""
    yours, ours, _ = both_modules(student, reference, probe, "MaskedSelfAttention", *BATCHED)

    for length in (T, T - 1):
        x = probe.normal(B, length, D, scale=SMALL)
        agrees(yours(x, past(length)), ours(x, past(length)))


@check("MaskedSelfAttention", points=0.5, layer="probe")
def test_masked_obeys_the_mask_it_is_given(student, reference, probe):
    """A mask that hides tokens other than the future works as well."""
    yours, ours, _ = both_modules(student, reference, probe, "MaskedSelfAttention")
    x = probe.normal(T, D, scale=SMALL)
    some = (probe.uniform(T, T) < 0.5).float().fill_diagonal_(1)  # every token sees at least itself
    some[0, 1:], some[1:, 0] = 1, 0  # not symmetric, and never a triangle

    agrees(yours(x, some), ours(x, some))


@check("MaskedSelfAttention", points=0.1, layer="laws", rules=("dtype",))
def test_masked_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention = student.new("MaskedSelfAttention", D)
    keeps_dtype(attention, probe.normal(T, D), past(T))


@check("MaskedSelfAttention", points=0.2, layer="laws")
def test_masked_first_sees_itself_and_last_sees_all(student, reference, probe):
    """The first token gets its own value; the last one gets the same result as without a mask."""
    yours, _, weights = both_modules(student, reference, probe, "MaskedSelfAttention")
    x = probe.normal(T, D, scale=SMALL)

    masked = tensor_like(yours(x, past(T)), (T, D))
    everything = tensor_like(yours(x, torch.ones(T, T)), (T, D), "The result with a mask of ones")
    agrees(masked[0], x[0] @ weights["W_v.weight"].T, "The first token's result")
    agrees(masked[-1], everything[-1], "The last token's result")


@check("MaskedSelfAttention", points=0.3, layer="laws")
def test_masked_past_does_not_know_the_future(student, reference, probe):
    """Changing the last token changes its own context vector and no earlier one."""
    yours, _, _ = both_modules(student, reference, probe, "MaskedSelfAttention")
    x = probe.normal(T, D, scale=SMALL)
    other = torch.cat([x[:-1], probe.normal(1, D)])

    before = tensor_like(yours(x, past(T)), (T, D))
    after = tensor_like(yours(other, past(T)), (T, D))
    agrees(after[:-1], before[:-1], "The result of earlier tokens after a change of the last one")
    expect(not alike(after[-1], before[-1]), "The last token has no effect on itself.")


@check("MaskedSelfAttention", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_masked_leaves_input_and_mask_as_they_were(student, probe):
    """The call does not change the input or the mask."""
    attention = student.new("MaskedSelfAttention", D)

    kept = attention.keeps_inputs(probe.normal(T, D), past(T))
    expect(kept, "The call changes its input or the mask.")


@check("MaskedSelfAttention", points=0.4, layer="gradients", rules=("gradients",))
def test_masked_can_be_trained(student, reference, probe):
    """The gradients of the input and of all three layers are right, and none is NaN."""
    yours, ours, _ = both_modules(student, reference, probe, "MaskedSelfAttention", *BATCHED)
    x, cotangent = probe.normal(B, T, D, scale=0.5), probe.normal(B, T, D)

    same_gradients(
        yours.gradients(x, past(T), cotangent=cotangent),
        ours.gradients(x, past(T), cotangent=cotangent),
    )


@check("MaskedSelfAttention", points=0.5, layer="forbidden", rules=("no_ready_attention",))
def test_masked_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours, _ = both_modules(student, reference, probe, "MaskedSelfAttention")
    x = probe.normal(T, D, scale=SMALL)

    avoids(student, "MaskedSelfAttention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x, past(T)), READY_ATTENTION, BY_HAND)
    agrees(yours(x, past(T)), ours(x, past(T)))
