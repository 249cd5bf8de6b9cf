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
        "onnx",
        "scaled_dot_product_attention",
    }
)
B, T, D = 3, 6, 5
LINEAR = ("W_q.weight", "W_k.weight", "W_v.weight")
SINGLE, BATCHED = (0, 1), (1, 2)  # row_dim, col_dim
SMALL = 0.7  # still large enough for scores above 1
# Inputs so small give weights that are nearly equal: each token has an effect on each result.
TINY = 0.2
MATCH = 8.0
FAR = 1e5  # so large that a value with a weight of exp(-10) shows
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."


def has_names(attention):
    """Expect the three weights, and no bias."""
    found = attention.parameters()
    for name in LINEAR:
        expect(
            name in found,
            f"torch lists no parameter {name}: the name must match, and the layer must be "
            "nn.Linear.",
        )
        bias = name.replace("weight", "bias")
        expect(bias not in found, f"There is a parameter {bias}; these layers must have no bias.")


def same_draws(yours, ours):
    """Compare parameters one by one, so that the message names the first wrong one."""
    found, wanted = yours.named(*LINEAR), ours.parameters()
    for name in LINEAR:
        agrees(found[name].value, wanted[name].value, f"{name} right after construction")


def like_documents(module, documented):
    """Compare the weights with the documented ones, which are printed transposed."""
    found = module.named(*LINEAR)
    for name in ("w_q", "w_k", "w_v"):
        weight = tensor_like(found[f"W{name[1:]}.weight"].value, (2, 2), f"W{name[1:]}.weight")
        documented[f"001.{name}.transposed"].matches(weight.T, f"W{name[1:]}.weight.T")


def documented_module(student, reference, name):
    """Create *name* with the documented weights in place of those that its constructor draws."""
    drawn = reference.new(name, 2, *SINGLE, seed=42).parameters()
    return student.new(name, 2, *SINGLE).load({one: drawn[one].value for one in LINEAR})


def caller_seeds(student, probe, name, *more):
    """Expect that neither creating nor calling *name* sets a seed."""
    drawn = []
    for seed in (probe.seed, probe.seed + 1):
        student.new(name, D, *SINGLE, seed=seed)(probe.normal(T, D), *more)
        drawn.append(student.draws_next())
    expect(
        not torch.equal(*drawn),
        f"{name} gives the same random numbers under two seeds: does your code set a seed?",
    )


def mixes_tokens(attention, x, *more):
    """Expect that a change of the first token changes the result of the last one."""
    other = x.clone()
    other[..., 0, :] += 1
    before = tensor_like(attention(x, *more), tuple(x.shape))
    after = tensor_like(attention(other, *more), tuple(x.shape))
    unchanged = alike(after[..., -1, :], before[..., -1, :])
    expect(not unchanged, "A changed first token does not change the last result.")


def same_gradients(yours, ours):
    """Compare the gradients of the input and of the three weights."""
    missing = [name for name in LINEAR if yours.parameters.get(name) is None]
    expect(not missing, f"No gradient reaches {', '.join(missing)}.")
    expect(yours.inputs[0] is not None, "No gradient reaches the input.")

    agrees(yours.inputs[0], ours.inputs[0], "The gradient of the input")
    for name in LINEAR:
        agrees(yours.parameters[name], ours.parameters[name], f"The gradient of {name}")


def random_weights(probe):
    """Draw large weights for queries, keys and values."""
    return probe.weights(**dict.fromkeys(LINEAR, (D, D)))


def both_modules(student, reference, probe, name, axes=SINGLE):
    """Create *name* in the student's module and in the reference, with the same large weights."""
    weights = random_weights(probe)
    return student.new(name, D, *axes).load(weights), reference.new(name, D, *axes).load(weights)


def past(size):
    """Return the causal mask of the documents."""
    return torch.ones(size, size).tril()


def weights_sum_to_one(student, probe, name, *more):
    """Expect that a mixture of equal values is this value."""
    x = torch.cat([torch.ones(T, 1), probe.normal(T, D - 1, scale=SMALL)], dim=1)
    weights = random_weights(probe)
    weights["W_v.weight"][:, 1:] = 0  # the value of each token uses only its leading 1
    context = student.new(name, D, *SINGLE).load(weights)(x, *more)

    agrees(context, weights["W_v.weight"][:, 0].expand(T, D), "The mixture of equal values")


def knows_no_order(student, probe, name, *more):
    """Expect that a different order of tokens changes only the order of the results."""
    attention = student.new(name, D, *SINGLE).load(random_weights(probe))
    x, order = probe.normal(T, D, scale=TINY), torch.tensor([3, 0, 5, 4, 1, 2])

    context = tensor_like(attention(x, *more), (T, D))
    agrees(attention(x[order], *more), context[order], "The result for tokens in a different order")
    mixes_tokens(attention, x, *more)


def doubles_with_its_values(student, probe, name, *more):
    """Expect twice the result for twice the values."""
    attention, weights = student.new(name, D, *SINGLE), random_weights(probe)
    x = probe.normal(T, D, scale=TINY)
    context = tensor_like(attention.load(weights)(x, *more), (T, D))
    weights["W_v.weight"] *= 2
    doubled = attention.load(weights)(x, *more)

    expect(not alike(context, torch.zeros(T, D)), "The result is zero, but the values are not.")
    agrees(doubled, 2 * context, "The result for twice the values")


def keeps_items_apart(student, probe, name, *more):
    """Expect that each item of a batch gets the same result as in a batch with this item only."""
    attention = student.new(name, D, *BATCHED).load(random_weights(probe))
    x = probe.normal(B, T, D, scale=TINY)
    together = tensor_like(attention(x, *more), (B, T, D))

    for item in range(B):
        alone = attention(x[item : item + 1], *more)
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    mixes_tokens(attention, x, *more)


def built_by_hand(student, probe, name, *more):
    """Expect code that mixes the tokens without torch's ready-made attention."""
    attention, x = student.new(name, D, *SINGLE), probe.normal(T, D, scale=TINY)

    avoids(student, name, READY_ATTENTION, BY_HAND)
    avoids_running(attention.operators(x, *more), READY_ATTENTION, BY_HAND)
    mixes_tokens(attention, x, *more)


# SelfAttention


@check("SelfAttention", points=0.05, layer="signature")
def test_takes_size_and_axes(student):
    """The constructor takes d_model, row_dim and col_dim."""
    student.new("SelfAttention", d_model=3, row_dim=0, col_dim=1)


@check("SelfAttention", points=0.05, layer="signature")
def test_has_the_defaults_of_one_sequence(student, encodings):
    """Without arguments, d_model is 2, row_dim is 0 and col_dim is 1."""
    default = tensor_like(student.new("SelfAttention", seed=42)(encodings), (3, 2))
    given = tensor_like(student.new("SelfAttention", 2, *SINGLE, seed=42)(encodings), (3, 2))

    agrees(default, given, "The result without arguments", "that with them")


@check("SelfAttention", points=0.06, layer="shapes")
def test_keeps_the_shape(student, encodings):
    """A sequence of shape (3, 2) keeps its shape."""
    single = student.new("SelfAttention", 2, *SINGLE)

    tensor_like(single(encodings), (3, 2), "SelfAttention(2, 0, 1)(encodings)")


@check("SelfAttention", points=0.06, layer="shapes")
def test_keeps_the_shape_of_a_batch(student, encodings):
    """A batch of shape (4, 3, 2) keeps its shape."""
    batched = student.new("SelfAttention", 2, *BATCHED)

    tensor_like(batched(encodings.expand(4, 3, 2)), (4, 3, 2), "The result for a batch")


@check("SelfAttention", points=0.15, layer="parameters")
def test_names_its_layers(student):
    """The layers are named W_q, W_k and W_v, and none has a bias."""
    has_names(student.new("SelfAttention", 2, *SINGLE))


@check("SelfAttention", points=0.13, layer="parameters")
def test_makes_the_documented_layers(student, documented, encodings):
    """With seed 42, W_q, W_k and W_v hold the documented weights, and W_q gives the queries."""
    attention = student.new("SelfAttention", 2, *SINGLE, seed=42)

    like_documents(attention, documented)
    queries = encodings @ attention.named(*LINEAR)["W_q.weight"].value.T
    documented["001.queries"].matches(queries, "W_q(encodings)")


@check("SelfAttention", points=0.1, layer="parameters")
def test_makes_other_layers_under_another_seed(student, reference, probe):
    """With a different seed and d_model, the weights are the draws of that seed."""
    yours = student.new("SelfAttention", D, *SINGLE, seed=probe.seed)

    same_draws(yours, reference.new("SelfAttention", D, *SINGLE, seed=probe.seed))


@check("SelfAttention", points=0.05, layer="parameters", rules=("no_seeding",))
def test_leaves_the_seed_to_the_caller(student, probe):
    """The module sets no seed when it is created or called."""
    caller_seeds(student, probe, "SelfAttention")


@check("SelfAttention", points=0.5, layer="documented")
def test_reproduces_the_documented_context(student, reference, documented, encodings):
    """With the weights of seed 42, the context vectors are the documented ones."""
    attention = documented_module(student, reference, "SelfAttention")

    documented["001.sa.context"].matches(attention(encodings), "SelfAttention(2, 0, 1)(encodings)")


@check("SelfAttention", points=0.15, layer="documented")
def test_gives_a_single_token_its_documented_value(student, reference, documented, encodings):
    """With the weights of seed 42, a single token gets its documented value."""
    attention = documented_module(student, reference, "SelfAttention")
    alone = [attention(encodings[i : i + 1]) for i in range(3)]
    values = torch.cat([tensor_like(value, (1, 2), "A single token's result") for value in alone])

    documented["001.values"].matches(values, "The result of single tokens")


@check("SelfAttention", points=0.65, layer="probe")
def test_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for a different size, larger weights and hidden inputs of any length."""
    yours, ours = both_modules(student, reference, probe, "SelfAttention")

    for length in (T, T + 3, 1):
        x = probe.normal(length, D, scale=1.5)
        agrees(yours(x), ours(x))


@check("SelfAttention", points=0.65, layer="probe")
def test_attends_within_each_item_of_a_batch(student, reference, probe):
    """With row_dim=1 and col_dim=2, the result is right for each item of a batch."""
    yours, ours = both_modules(student, reference, probe, "SelfAttention", BATCHED)

    for length in (T, T + 3):
        x = probe.normal(B, length, D, scale=1.5)
        agrees(yours(x), ours(x))


@check("SelfAttention", points=0.05, layer="laws", rules=("dtype",))
def test_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention, x = student.new("SelfAttention", D, *SINGLE), probe.normal(T, D, scale=TINY)

    keeps_dtype(attention, x)
    mixes_tokens(attention, x)


@check("SelfAttention", points=0.25, layer="laws")
def test_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights_sum_to_one(student, probe, "SelfAttention")


@check("SelfAttention", points=0.25, layer="laws")
def test_knows_no_order_of_tokens(student, probe):
    """Tokens in a different order give the same context vectors in that order."""
    knows_no_order(student, probe, "SelfAttention")


@check("SelfAttention", points=0.25, layer="laws")
def test_finds_the_matching_key(student, probe):
    """A query that matches the key of one token gets the value of this token."""
    key = MATCH * torch.eye(D)  # token i has feature i only, and key i
    weights = random_weights(probe) | {"W_k.weight": key}
    weights["W_q.weight"] = key.roll(1, dims=0)  # token i asks for the key of the next token
    values = weights["W_v.weight"].T
    attention = student.new("SelfAttention", D, *SINGLE).load(weights)

    agrees(attention(torch.eye(D)), values.roll(-1, dims=0), "The result for matching keys")


@check("SelfAttention", points=0.25, layer="laws")
def test_doubles_with_its_values(student, probe):
    """Twice the values give twice the context vectors."""
    doubles_with_its_values(student, probe, "SelfAttention")


@check("SelfAttention", points=0.25, layer="laws")
def test_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone."""
    keeps_items_apart(student, probe, "SelfAttention")


@check("SelfAttention", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention, x = student.new("SelfAttention", D, *SINGLE), probe.normal(T, D, scale=TINY)

    expect(attention.keeps_inputs(x), "The call changes its input.")
    mixes_tokens(attention, x)


@check("SelfAttention", points=0.25, layer="gradients", rules=("gradients",))
def test_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights of all three layers are right."""
    yours, ours = both_modules(student, reference, probe, "SelfAttention")
    x, cotangent = probe.normal(T, D, scale=0.5), probe.normal(T, D)

    same_gradients(yours.gradients(x, cotangent=cotangent), ours.gradients(x, cotangent=cotangent))


@check("SelfAttention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    built_by_hand(student, probe, "SelfAttention")


def mask_of(student, size):
    """Return the mask of *size* tokens; any dtype is accepted."""
    return tensor_like(student.call("causal_mask", size), (size, size), "The mask").float()


# causal_mask


@check("causal_mask", points=0.04, layer="shapes")
def test_mask_is_a_square(student):
    """causal_mask(5) has a row and a column for each of the five tokens: (5, 5)."""
    tensor_like(student.call("causal_mask", 5), (5, 5), "causal_mask(5)")


@check("causal_mask", points=0.12, layer="documented")
def test_mask_of_three_is_the_documented_one(student, documented):
    """causal_mask(3) is the documented mask: ones on and below the diagonal."""
    documented["001.mask"].matches(mask_of(student, 3), "causal_mask(3)")


@check("causal_mask", points=0.1, layer="documented")
def test_mask_of_eight_is_the_documented_one(student, documented):
    """causal_mask(8) is the documented triangle of the causal averages."""
    documented["004.mask"].matches(mask_of(student, 8), "causal_mask(8)")


@check("causal_mask", points=0.12, layer="probe")
def test_mask_is_right_for_any_size(student):
    """The mask is right for any number of tokens, including a single one."""
    for size in (1, 2, 5, 13):
        agrees(mask_of(student, size), past(size), "The mask")


@check("causal_mask", points=0.08, layer="laws")
def test_mask_shows_one_token_more_in_each_row(student):
    """Each token sees one token more than the token before it."""
    seen = mask_of(student, T).sum(dim=1)

    agrees(seen[1:] - seen[:-1], torch.ones(T - 1), "The vector of differences between row sums")


@check("causal_mask", points=0.08, layer="laws")
def test_mask_lets_one_of_two_tokens_see_the_other(student):
    """If two tokens differ, exactly one of them sees the other."""
    mask = mask_of(student, T)
    others = ~torch.eye(T, dtype=torch.bool)

    agrees(
        (mask + mask.T)[others], torch.ones(T * (T - 1)), "The sum of the mask and its transpose"
    )


@check("causal_mask", points=0.08, layer="laws")
def test_mask_of_fewer_tokens_is_a_corner(student):
    """The mask of fewer tokens is the upper left part of a larger mask, and it hides tokens."""
    small, large = mask_of(student, T), mask_of(student, T + 3)

    agrees(large[:T, :T], small, "The upper left part of a larger mask", "the smaller mask")
    expect(len(small.unique()) > 1, "All numbers of the mask are equal.")


# MaskedSelfAttention


@check("MaskedSelfAttention", points=0.05, layer="signature")
def test_masked_takes_size_and_axes(student):
    """The constructor takes d_model, row_dim and col_dim."""
    student.new("MaskedSelfAttention", d_model=3, row_dim=0, col_dim=1)


@check("MaskedSelfAttention", points=0.05, layer="signature")
def test_masked_has_the_defaults_of_one_sequence(student, encodings):
    """Without arguments, d_model is 2, row_dim is 0 and col_dim is 1."""
    default = student.new("MaskedSelfAttention", seed=42)(encodings, past(3))
    given = student.new("MaskedSelfAttention", 2, *SINGLE, seed=42)(encodings, past(3))

    agrees(
        tensor_like(default, (3, 2)),
        tensor_like(given, (3, 2)),
        "The result without arguments",
        "that with them",
    )


@check("MaskedSelfAttention", points=0.03, layer="signature")
def test_masked_takes_a_mask_by_name(student, encodings):
    """The call takes the mask by its name, too."""
    attention = student.new("MaskedSelfAttention", 2, *SINGLE)

    tensor_like(attention(encodings, mask=past(3)), (3, 2))


@check("MaskedSelfAttention", points=0.06, layer="shapes")
def test_masked_keeps_the_shape(student, encodings):
    """A sequence of shape (3, 2) keeps its shape."""
    single = student.new("MaskedSelfAttention", 2, *SINGLE)

    tensor_like(single(encodings, past(3)), (3, 2), "MaskedSelfAttention(2, 0, 1)(encodings, mask)")


@check("MaskedSelfAttention", points=0.06, layer="shapes")
def test_masked_keeps_the_shape_of_a_batch(student, encodings):
    """A batch of shape (4, 3, 2) keeps its shape."""
    batched = student.new("MaskedSelfAttention", 2, *BATCHED)

    batch = encodings.expand(4, 3, 2)
    tensor_like(batched(batch, past(3)), (4, 3, 2), "The result for a batch")


@check("MaskedSelfAttention", points=0.12, layer="parameters")
def test_masked_names_its_layers(student):
    """The layers are named W_q, W_k and W_v, and none has a bias."""
    has_names(student.new("MaskedSelfAttention", 2, *SINGLE))


@check("MaskedSelfAttention", points=0.12, layer="parameters")
def test_masked_makes_the_documented_layers(student, documented):
    """With seed 42, W_q, W_k and W_v hold the documented weights."""
    like_documents(student.new("MaskedSelfAttention", 2, *SINGLE, seed=42), documented)


@check("MaskedSelfAttention", points=0.1, layer="parameters")
def test_masked_makes_other_layers_under_another_seed(student, reference, probe):
    """With a different seed and d_model, the weights are the draws of that seed."""
    yours = student.new("MaskedSelfAttention", D, *SINGLE, seed=probe.seed)

    same_draws(yours, reference.new("MaskedSelfAttention", D, *SINGLE, seed=probe.seed))


@check("MaskedSelfAttention", points=0.05, layer="parameters", rules=("no_seeding",))
def test_masked_leaves_the_seed_to_the_caller(student, probe):
    """The module sets no seed when it is created or called."""
    caller_seeds(student, probe, "MaskedSelfAttention", past(T))


@check("MaskedSelfAttention", points=0.5, layer="documented")
def test_masked_reproduces_the_documented_context(student, reference, documented, encodings):
    """With the weights of seed 42 and the causal mask, the result is the documented one."""
    attention = documented_module(student, reference, "MaskedSelfAttention")

    context = attention(encodings, past(3))
    documented["001.masked.context"].matches(
        context, "MaskedSelfAttention(2, 0, 1)(encodings, mask)"
    )


@check("MaskedSelfAttention", points=0.15, layer="documented")
def test_masked_gives_values_where_each_sees_itself(student, reference, documented, encodings):
    """If each token may attend only to itself, the result holds the documented values."""
    attention = documented_module(student, reference, "MaskedSelfAttention")

    documented["001.values"].matches(attention(encodings, torch.eye(3)), "The result")


@check("MaskedSelfAttention", points=0.6, layer="probe")
def test_masked_hides_the_future(student, reference, probe):
    """For a new size and hidden inputs of several lengths, the causal mask hides the future."""
    yours, ours = both_modules(student, reference, probe, "MaskedSelfAttention")

    for length in (T, T - 1, 1):
        x = probe.normal(length, D, scale=SMALL)
        x[2:3] = 0  # the scores of this token are zero
        agrees(yours(x, past(length)), ours(x, past(length)))


@check("MaskedSelfAttention", points=0.5, layer="probe")
def test_masked_hides_the_future_in_each_item(student, reference, probe):
    """With row_dim=1 and col_dim=2, the mask applies to each item of a batch."""
    yours, ours = both_modules(student, reference, probe, "MaskedSelfAttention", BATCHED)

    for length in (T, T - 1):
        x = probe.normal(B, length, D, scale=SMALL)
        agrees(yours(x, past(length)), ours(x, past(length)))


@check("MaskedSelfAttention", points=0.5, layer="probe")
def test_masked_obeys_the_mask_it_is_given(student, reference, probe):
    """A mask that hides tokens other than the future works as well."""
    yours, ours = both_modules(student, reference, probe, "MaskedSelfAttention")
    x = probe.normal(T, D, scale=SMALL)
    some = (probe.uniform(T, T) < 0.5).float().fill_diagonal_(1)  # every token sees at least itself
    some[0, 1:], some[1:, 0] = 1, 0  # not symmetric, and never a triangle

    agrees(yours(x, some), ours(x, some))


@check("MaskedSelfAttention", points=0.05, layer="laws", rules=("dtype",))
def test_masked_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention, x = student.new("MaskedSelfAttention", D, *SINGLE), probe.normal(T, D, scale=TINY)

    keeps_dtype(attention, x, past(T))
    mixes_tokens(attention, x, past(T))


@check("MaskedSelfAttention", points=0.225, layer="laws")
def test_masked_weights_sum_to_one(student, probe):
    """Under a mask, too, a mixture of equal values is this value: the weights sum to one."""
    weights_sum_to_one(student, probe, "MaskedSelfAttention", past(T))


@check("MaskedSelfAttention", points=0.225, layer="laws")
def test_masked_past_does_not_know_the_future(student, probe):
    """A later token has no effect on an earlier one, but an earlier token has one on a later."""
    weights = random_weights(probe)
    weights["W_q.weight"][:, 0] = weights["W_k.weight"][:, 0] = 0  # the first feature is a value
    attention = student.new("MaskedSelfAttention", D, *SINGLE).load(weights)
    x = probe.normal(T, D, scale=TINY)
    other = x.clone()
    other[-1, 0] += FAR

    before = tensor_like(attention(x, past(T)), (T, D))
    after = tensor_like(attention(other, past(T)), (T, D))
    agrees(after[:-1], before[:-1], "The result of earlier tokens after a change of the last one")
    mixes_tokens(attention, x, past(T))


@check("MaskedSelfAttention", points=0.225, layer="laws")
def test_masked_last_token_sees_all(student, probe):
    """With the causal mask, the last token gets the same result as with a mask of ones."""
    attention = student.new("MaskedSelfAttention", D, *SINGLE).load(random_weights(probe))
    x = probe.normal(T, D, scale=TINY)

    masked = tensor_like(attention(x, past(T)), (T, D))
    everything = tensor_like(attention(x, torch.ones(T, T)), (T, D))
    agrees(masked[-1], everything[-1], "The last token's result", "that with a mask of ones")
    mixes_tokens(attention, x, past(T))


@check("MaskedSelfAttention", points=0.225, layer="laws")
def test_masked_knows_no_order_without_a_hidden_token(student, probe):
    """With a mask of ones, tokens in a different order give the same results in that order."""
    knows_no_order(student, probe, "MaskedSelfAttention", torch.ones(T, T))


@check("MaskedSelfAttention", points=0.225, layer="laws")
def test_masked_doubles_with_its_values(student, probe):
    """Twice the values give twice the context vectors."""
    doubles_with_its_values(student, probe, "MaskedSelfAttention", past(T))


@check("MaskedSelfAttention", points=0.225, layer="laws")
def test_masked_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone, under the same mask."""
    keeps_items_apart(student, probe, "MaskedSelfAttention", past(T))


@check("MaskedSelfAttention", points=0.35, layer="laws", rules=("inputs_unchanged",))
def test_masked_leaves_input_and_mask_as_they_were(student, probe):
    """The call does not change the input or the mask."""
    attention, x = student.new("MaskedSelfAttention", D, *SINGLE), probe.normal(T, D, scale=TINY)

    kept = attention.keeps_inputs(x, past(T))
    expect(kept, "The call changes its input or the mask.")
    mixes_tokens(attention, x, past(T))


@check("MaskedSelfAttention", points=0.26, layer="gradients", rules=("gradients",))
def test_masked_can_be_trained(student, reference, probe):
    """The gradients of the input and of all three layers are right, and none is NaN."""
    yours, ours = both_modules(student, reference, probe, "MaskedSelfAttention")
    x, cotangent = probe.normal(T, D, scale=0.5), probe.normal(T, D)

    same_gradients(
        yours.gradients(x, past(T), cotangent=cotangent),
        ours.gradients(x, past(T), cotangent=cotangent),
    )


@check("MaskedSelfAttention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_masked_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    built_by_hand(student, probe, "MaskedSelfAttention", past(T))
