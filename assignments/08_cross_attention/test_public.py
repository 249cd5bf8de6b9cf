"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
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
        "scaled_dot_product_attention",
    }
)
B, T_Q, T_K, D_MODEL = 2, 3, 5, 6
D_DECODER, D_ENCODER, D_OUT = 6, 7, 4
SCALE = 0.5  # with larger inputs softmax saturates, and a wrong scale no longer shows
BY_HAND = "Compute scores, weights and context vectors yourself: this is the task of this stage."
AT_ONCE = "Use one matrix product for all tokens at once."


def same_gradients(yours, ours, *sources):
    """Compare the gradients of the inputs, named by *sources*, and of the parameters."""
    mine = dict(zip(sources, yours.inputs, strict=False)) | yours.parameters
    wanted = dict(zip(sources, ours.inputs, strict=False)) | ours.parameters
    for name in wanted:
        expect(
            mine.get(name) is not None,
            f"No gradient reaches {name}: in torch's graph, the result does not depend on it.",
        )
    for name, gradient in wanted.items():
        agrees(mine[name], gradient, f"The gradient of {name}")


def same_parameters(yours, ours, what):
    """Compare names and values of parameters; report a bias with its own message."""
    for name, parameter in ours.items():
        expect(name in yours, f"{what} has no parameter {name}.")
        agrees(yours[name].value, parameter.value, name)
        layer = name.removesuffix(".weight")
        expect(f"{layer}.bias" not in yours, f"{layer} has a bias; it should have none.")


def both_attentions(student, reference, probe, *dims):
    """Build the student's Attention and the reference, and load the same weights into both."""
    names = ("W_q__weight", "W_k__weight", "W_v__weight")
    weights = probe.weights(**dict.fromkeys(names, (D_MODEL, D_MODEL)))
    yours = student.new("Attention", D_MODEL, *dims).load(weights)
    return yours, reference.new("Attention", D_MODEL, *dims).load(weights)


def sources(probe, *batch, t_q=T_Q, t_k=T_K):
    """Return different encodings for queries, keys and values."""
    lengths = (t_q, t_k, t_k)
    return [probe.normal(*batch, length, D_MODEL, scale=SCALE) for length in lengths]


# Attention


@check("Attention", points=0.2, layer="shapes")
def test_attention_answers_every_query(student):
    """There is one context vector for each query, for any number of keys."""
    flat = student.new("Attention", D_MODEL)
    batched = student.new("Attention", D_MODEL, 1, 2)

    for t_q, t_k in ((T_Q, T_K), (T_K, T_Q)):
        for_q, for_k = torch.ones(t_q, D_MODEL), torch.ones(t_k, D_MODEL)
        tensor_like(flat(for_q, for_k, for_k), (t_q, D_MODEL), "The context")
        items = [x.expand(B, -1, -1).contiguous() for x in (for_q, for_k, for_k)]
        tensor_like(batched(*items), (B, t_q, D_MODEL), "The context of a batch")


@check("Attention", points=0.4, layer="parameters")
def test_attention_makes_the_documented_layers(student, documented, encodings):
    """W_q, W_k and W_v have no bias and, with seed 42, the documented weights."""
    parameters = student.new("Attention", 2, 0, 1, seed=42).parameters()

    for name in ("W_q", "W_k", "W_v"):
        expect(f"{name}.weight" in parameters, f"Attention has no parameter {name}.weight.")
        expect(f"{name}.bias" not in parameters, f"{name} has a bias; it should have none.")
        weight = tensor_like(parameters[f"{name}.weight"].value, (2, 2), f"{name}.weight")
        documented[f"001.{name.lower()}.transposed"].matches(weight.T, f"{name}.weight.T")
    for name, what in (("W_q", "queries"), ("W_v", "values")):
        projected = encodings @ parameters[f"{name}.weight"].value.T
        documented[f"001.{what}"].matches(projected, f"{name}(encodings)")


@check("Attention", points=0.5, layer="documented")
def test_attention_to_oneself_is_self_attention(student, documented, encodings):
    """With seed 42, one sequence passed as all three encodings gives the documented context."""
    attention = student.new("Attention", 2, 0, 1, seed=42)

    documented["001.sa.context"].matches(attention(encodings, encodings, encodings), "The context")


@check("Attention", points=0.4, layer="documented")
def test_attention_hides_what_the_mask_hides(student, documented, encodings):
    """With seed 42, a module with default arguments gives the documented masked context."""
    attention = student.new("Attention", seed=42)
    mask = documented["001.mask"].tensor.float()

    context = attention(encodings, encodings, encodings, mask=mask)
    documented["001.masked.context"].matches(context, "The masked context")


@check("Attention", points=0.4, layer="probe")
def test_attention_takes_each_part_from_its_source(student, reference, probe):
    """If the three sources differ, queries, keys and values each use their own source."""
    yours, ours = both_attentions(student, reference, probe)

    for t_q, t_k in ((T_Q, T_K), (6, 2), (1, 3), (2, 1)):
        given = sources(probe, t_q=t_q, t_k=t_k)
        agrees(yours(*given), ours(*given), "The context")


@check("Attention", points=0.5, layer="probe")
def test_attention_serves_a_batch(student, reference, probe):
    """With row_dim 1 and col_dim 2, every item of a batch gets its own context vectors."""
    yours, ours = both_attentions(student, reference, probe, 1, 2)

    for batch, t_q, t_k in ((B, T_Q, T_K), (3, 6, 2), (5, 1, 2)):
        given = sources(probe, batch, t_q=t_q, t_k=t_k)
        agrees(yours(*given), ours(*given), "The context of a batch")


@check("Attention", points=0.4, layer="probe")
def test_attention_takes_any_mask(student, reference, probe):
    """A mask with a row for each query and a column for each key is applied, even in a batch."""
    flat = both_attentions(student, reference, probe)
    batched = both_attentions(student, reference, probe, 1, 2)

    for (yours, ours), batch in ((flat, ()), (batched, (B,))):
        for t_q, t_k in ((T_Q, T_K), (6, 2)):
            given = sources(probe, *batch, t_q=t_q, t_k=t_k)
            for mask in (torch.tril(torch.ones(t_q, t_k)), torch.ones(t_q, t_k)):
                mask[-1, -1] = (
                    0.0  # not a triangle, so that a causal mask made inside the module shows
                )
                agrees(yours(*given, mask), ours(*given, mask), "The masked context")


@check("Attention", points=0.1, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype(student.new("Attention", D_MODEL), *sources(probe))


@check("Attention", points=0.2, layer="laws")
def test_attention_hears_nothing_from_what_is_hidden(student, reference, probe):
    """Changing hidden keys and values has no effect with the mask, but has an effect without it."""
    yours, ours = both_attentions(student, reference, probe)
    q, k, v = sources(probe)
    mask = torch.ones(T_Q, T_K)
    mask[:, 2] = 0.0
    others = [x.index_copy(0, torch.tensor([2]), x[:1] + 1) for x in (k, v)]

    before = tensor_like(yours(q, k, v, mask), (T_Q, D_MODEL), "The masked context")
    agrees(yours(q, *others, mask), before, "After a change of hidden keys and values, the context")
    agrees(
        yours(q, *others), ours(q, *others), "After a call with a mask, the context without a mask"
    )


@check("Attention", points=0.1, layer="laws")
def test_attention_knows_no_order_among_the_asked(student, reference, probe):
    """The order of keys and values does not matter; the order of the queries does."""
    yours, _ = both_attentions(student, reference, probe)
    q, k, v = sources(probe)
    key_order, query_order = torch.tensor([3, 0, 4, 1, 2]), torch.tensor([2, 0, 1])
    reordered = yours(q, k[key_order], v[key_order])

    context = tensor_like(yours(q, k, v), (T_Q, D_MODEL), "The context")
    agrees(reordered, context, "The context with keys and values in a different order")
    reordered = yours(q[query_order], k, v)
    agrees(reordered, context[query_order], "The context with queries in a different order")
    expect(context.abs().max() > 0, "The context is zero.")


@check("Attention", points=0.1, layer="laws", rules=("inputs_unchanged", "no_seeding"))
def test_attention_leaves_seed_and_inputs_alone(student, reference, probe):
    """The context is right, inputs and mask are unchanged, and nothing seeds the generator."""
    yours, ours = both_attentions(student, reference, probe)
    given = [*sources(probe), torch.tril(torch.ones(T_Q, T_K))]
    agrees(yours(*given), ours(*given), "The masked context")
    expect(yours.keeps_inputs(*given), "Attention changes one of its arguments.")

    drawn = []
    for seed in (5, 6):
        student.new("Attention", D_MODEL, seed=seed)(*given)
        drawn += [student.draws_next()]
    expect(
        not torch.equal(*drawn),
        "After a call, the random numbers no longer depend on the caller's seed.",
    )


@check("Attention", points=0.2, layer="gradients", rules=("gradients",))
def test_attention_passes_gradients_on(student, reference, probe):
    """Gradients flow back to all three sources and all three layers, even with a mask."""
    yours, ours = both_attentions(student, reference, probe)
    given, back = sources(probe), probe.normal(T_Q, D_MODEL)
    names = ("encodings_for_q", "encodings_for_k", "encodings_for_v")

    for mask in (None, torch.tril(torch.ones(T_Q, T_K))):
        mine = yours.gradients(*given, mask, cotangent=back)
        same_gradients(mine, ours.gradients(*given, mask, cotangent=back), *names)


@check("Attention", points=0.4, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both_attentions(student, reference, probe)
    given = sources(probe)

    agrees(yours(*given), ours(*given), "The context")
    avoids(student, "Attention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(*given), READY_ATTENTION, BY_HAND)


@check("Attention", points=0.1, layer="forbidden", rules=("no_loops",))
def test_attention_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few and for many queries and keys."""
    yours, ours = both_attentions(student, reference, probe)
    few, many = sources(probe), sources(probe, t_q=11, t_k=13)

    agrees(yours(*many), ours(*many), "The context")
    keeps_operators(yours.operators(*few), yours.operators(*many), AT_ONCE)


def same_mask(answer, wanted):
    """Compare a padding mask with a list of rows."""
    mask = tensor_like(answer, (len(wanted), len(wanted[0])), "The padding mask")
    same_dtype(mask, torch.bool, "The padding mask")
    agrees(mask.int(), torch.tensor(wanted).int(), "The padding mask")


def rows(lengths, max_length):
    """Return the expected padding mask, as lists."""
    return [[position < length for position in range(max_length)] for length in lengths]


# padding_mask


@check("padding_mask", points=0.1, layer="shapes")
def test_mask_has_a_row_for_each_item(student):
    """B lengths and max_length give a bool tensor of shape (B, max_length)."""
    mask = student.call("padding_mask", [3, 1], 5)

    same_dtype(tensor_like(mask, (2, 5), "padding_mask([3, 1], 5)"), torch.bool, "The mask")


@check("padding_mask", points=0.2, layer="probe")
def test_mask_keeps_tokens_and_hides_padding(student):
    """Row b is True at its first lengths[b] positions and False after them."""
    for lengths, longest in (([4, 1, 3], 5), ([2, 6], 6), ([1, 2, 1, 3, 2], 7), ([3], 4)):
        same_mask(student.call("padding_mask", lengths, longest), rows(lengths, longest))


@check("padding_mask", points=0.1, layer="probe")
def test_mask_takes_every_length_from_none_to_all(student):
    """An item may consist only of padding, or have no padding."""
    same_mask(student.call("padding_mask", [0, 4, 2], 4), rows([0, 4, 2], 4))


@check("padding_mask", points=0.2, layer="probe")
def test_mask_takes_a_tensor_of_lengths(student):
    """Lengths may also be a 1-D tensor of integers."""
    for lengths, longest in (([4, 1, 3], 5), ([0, 6], 6)):
        for dtype in (torch.int64, torch.int32):
            mask = student.call("padding_mask", torch.tensor(lengths, dtype=dtype), longest)
            same_mask(mask, rows(lengths, longest))


@check("padding_mask", points=0.25, layer="laws", rules=("refuses",))
def test_mask_refuses_lengths_out_of_range(student):
    """A length below 0 or above max_length raises an error; max_length itself does not."""
    same_mask(student.call("padding_mask", [1, 4], 4), rows([1, 4], 4))

    for lengths in ([2, 5], [-1, 3]):
        for given in (lengths, torch.tensor(lengths)):
            side = "below 0" if min(lengths) < 0 else "above max_length"
            refused = student.refuses("padding_mask", given, 4)
            expect(refused, f"A length {side} gives a mask; it should raise a ValueError.")


@check("padding_mask", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_mask_leaves_the_lengths_alone(student):
    """The mask is right, and the tensor of lengths is unchanged."""
    lengths = torch.tensor([3, 1])
    same_mask(student.call("padding_mask", lengths, 4), rows([3, 1], 4))

    kept = student.keeps_inputs("padding_mask", lengths, 4)
    expect(kept, "padding_mask changes the lengths that you pass to it.")


@check("padding_mask", points=0.2, layer="forbidden", rules=("no_loops",))
def test_mask_needs_no_loop_over_positions(student):
    """The number of tensor operations is the same for short sequences and for long ones."""
    same_mask(student.call("padding_mask", [20, 11], 23), rows([20, 11], 23))

    few = student.operators("padding_mask", [2, 1], 3)
    keeps_operators(few, student.operators("padding_mask", [20, 11], 23), AT_ONCE)


def both_crossings(student, reference, probe):
    """Build the student's CrossAttention and the reference, and load the same weights."""
    weights = probe.weights(
        W_query__weight=(D_OUT, D_DECODER),
        W_key__weight=(D_OUT, D_ENCODER),
        W_value__weight=(D_OUT, D_ENCODER),
    )
    yours = student.new("CrossAttention", D_DECODER, D_ENCODER, D_OUT).load(weights)
    return yours, reference.new("CrossAttention", D_DECODER, D_ENCODER, D_OUT).load(weights)


def states(probe, batch=B, t_q=T_Q, t_k=T_K):
    """Return decoder states and encoder states."""
    decoder = probe.normal(batch, t_q, D_DECODER, scale=SCALE)
    return decoder, probe.normal(batch, t_k, D_ENCODER, scale=SCALE)


# CrossAttention


@check("CrossAttention", points=0.2, layer="shapes")
def test_cross_attention_answers_every_decoder_token(student):
    """Each of the T_q decoder tokens gets a context vector of size d_out: (B, T_q, d_out)."""
    cross = student.new("CrossAttention", d_decoder=D_DECODER, d_encoder=D_ENCODER, d_out=D_OUT)

    for t_q, t_k in ((T_Q, T_K), (T_K, T_Q), (1, T_K)):
        context = cross(torch.ones(B, t_q, D_DECODER), torch.ones(B, t_k, D_ENCODER))
        tensor_like(context, (B, t_q, D_OUT), "The context")


@check("CrossAttention", points=0.4, layer="parameters")
def test_cross_attention_makes_its_layers_in_order(student, reference):
    """W_query, W_key and W_value are created in this order, without biases."""
    sizes = (D_DECODER, D_ENCODER, D_OUT)
    yours = student.new("CrossAttention", *sizes, seed=42).parameters()

    ours = reference.new("CrossAttention", *sizes, seed=42).parameters()
    same_parameters(yours, ours, "CrossAttention")


@check("CrossAttention", points=0.4, layer="documented")
def test_cross_attention_contains_document_001(student, documented, encodings):
    """With seed 42, tokens that attend to the whole documented sequence get their documented
    context vectors.
    """
    cross = student.new("CrossAttention", 2, 2, 2, seed=42)
    encoder = encodings[None]

    two = tensor_like(cross(encoder[:, :2], encoder), (1, 2, 2), "The context of two tokens")
    one = tensor_like(cross(encoder[:, 2:], encoder), (1, 1, 2), "The context of one token")
    documented["001.sa.context"].matches(torch.cat([two[0], one[0]]), "The context")


@check("CrossAttention", points=0.6, layer="probe")
def test_cross_attention_attends_across(student, reference, probe):
    """For hidden inputs of any lengths, decoder tokens get the right mix of encoder values."""
    yours, ours = both_crossings(student, reference, probe)

    for batch, t_q, t_k in ((B, T_Q, T_K), (3, 8, 2), (5, 1, 3), (1, 2, 1)):
        given = states(probe, batch, t_q, t_k)
        agrees(yours(*given), ours(*given), "The context")


@check("CrossAttention", points=0.6, layer="probe")
def test_cross_attention_skips_padding(student, reference, probe):
    """With a padding mask, each item mixes only the values of its own tokens."""
    yours, ours = both_crossings(student, reference, probe)

    for t_q, t_k, lengths in ((T_Q, T_K, [5, 2]), (3, 5, [1, 4, 3]), (1, 6, [2, 6, 1, 3])):
        given = states(probe, len(lengths), t_q, t_k)
        mask = torch.tensor(rows(lengths, t_k))
        agrees(yours(*given, mask), ours(*given, mask), "The context with padding")


@check("CrossAttention", points=0.1, layer="laws", rules=("dtype",))
def test_cross_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention = student.new("CrossAttention", D_DECODER, D_ENCODER, D_OUT)
    keeps_dtype(attention, probe.normal(B, T_Q, D_DECODER), probe.normal(B, T_K, D_ENCODER))


@check("CrossAttention", points=0.25, layer="laws")
def test_cross_attention_takes_padding_as_if_cut_off(student, reference, probe):
    """A padded item gets the same result as alone and without padding."""
    yours, _ = both_crossings(student, reference, probe)
    decoder, encoder = states(probe)
    lengths = [3, 4]

    together = yours(decoder, encoder, torch.tensor(rows(lengths, T_K)))
    together = tensor_like(together, (B, T_Q, D_OUT), "The context with padding")
    for item, length in enumerate(lengths):
        alone = yours(decoder[item : item + 1], encoder[item : item + 1, :length])
        agrees(alone, together[item : item + 1], "The context of an item without its padding")
    expect(together.abs().max() > 0, "The context is zero.")


@check("CrossAttention", points=0.15, layer="laws")
def test_cross_attention_without_padding_needs_no_mask(student, reference, probe):
    """A mask that keeps everything has no effect, and no mask is stored for the next call."""
    yours, ours = both_crossings(student, reference, probe)
    given = states(probe)
    expected = ours(*given)

    tensor_like(yours(*given, torch.tensor(rows([2, 4], T_K))), (B, T_Q, D_OUT), "The context")
    agrees(yours(*given), expected, "After a call with a mask, the context without a mask")
    agrees(
        yours(*given, torch.ones(B, T_K) == 1),
        expected,
        "With a mask that is True everywhere, the context",
    )


@check("CrossAttention", points=0.2, layer="laws")
def test_cross_attention_hides_no_future(student, reference, probe):
    """Every decoder token attends to every encoder token, in any order of the tokens."""
    yours, _ = both_crossings(student, reference, probe)
    decoder, encoder = (x / 5 for x in states(probe))  # so that no weight is too small for float32
    others = encoder.clone()
    others[:, -1] += 0.1

    context = tensor_like(yours(decoder, encoder), (B, T_Q, D_OUT), "The context")
    agrees(
        yours(decoder, encoder.flip(1)),
        context,
        "The context with encoder states in a different order",
    )
    changed = tensor_like(yours(decoder, others), (B, T_Q, D_OUT), "The context") != context
    expect(changed.any(-1).all(), "A decoder token does not attend to the last encoder token.")


@check("CrossAttention", points=0.1, layer="laws", rules=("inputs_unchanged", "no_seeding"))
def test_cross_attention_leaves_seed_and_inputs_alone(student, reference, probe):
    """The context is right, states and mask are unchanged, and nothing seeds the generator."""
    yours, ours = both_crossings(student, reference, probe)
    given = [*states(probe), torch.tensor(rows([2, 4], T_K))]
    agrees(yours(*given), ours(*given), "The context with padding")
    expect(yours.keeps_inputs(*given), "CrossAttention changes one of its arguments.")

    drawn = []
    for seed in (5, 6):
        student.new("CrossAttention", D_DECODER, D_ENCODER, D_OUT, seed=seed)(*given)
        drawn += [student.draws_next()]
    expect(
        not torch.equal(*drawn),
        "After a call, the random numbers no longer depend on the caller's seed.",
    )


@check("CrossAttention", points=0.3, layer="gradients", rules=("gradients",))
def test_cross_attention_passes_gradients_on(student, reference, probe):
    """Gradients flow back to both sequences and all three layers, even with padding."""
    yours, ours = both_crossings(student, reference, probe)
    given, back = states(probe), probe.normal(B, T_Q, D_OUT)
    names = ("decoder_states", "encoder_states")

    for mask in (None, torch.tensor(rows([2, 4], T_K))):
        mine = yours.gradients(*given, mask, cotangent=back)
        same_gradients(mine, ours.gradients(*given, mask, cotangent=back), *names)


@check("CrossAttention", points=0.5, layer="forbidden", rules=("no_ready_attention",))
def test_cross_attention_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both_crossings(student, reference, probe)
    given = [*states(probe), torch.tensor(rows([2, 4], T_K))]

    agrees(yours(*given), ours(*given), "The context with padding")
    avoids(student, "CrossAttention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(*given), READY_ATTENTION, BY_HAND)


@check("CrossAttention", points=0.2, layer="forbidden", rules=("no_loops",))
def test_cross_attention_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few and for many queries and keys."""
    yours, ours = both_crossings(student, reference, probe)
    few, many = states(probe), states(probe, t_q=11, t_k=13)

    agrees(yours(*many), ours(*many), "The context")
    keeps_operators(yours.operators(*few), yours.operators(*many), AT_ONCE)
