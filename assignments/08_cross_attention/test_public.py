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
        "onnx",
        "scaled_dot_product_attention",
    }
)
B, T_Q, T_K, D_MODEL = 2, 3, 5, 6
D_DECODER, D_ENCODER, D_OUT = 6, 7, 4
SCALE = 0.5  # with larger inputs softmax saturates, and a wrong scale no longer shows
# Inputs so small give weights that are nearly equal: each visible token has an effect.
SMALL = 0.2
MATCH = 10.0
SHORT = ("W_q.weight", "W_k.weight", "W_v.weight")
LONG = ("W_query.weight", "W_key.weight", "W_value.weight")
FLAT, BATCHED = (0, 1), (1, 2)  # row_dim, col_dim
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


def has_names(module, names, what):
    """Expect the parameters *names*, and no bias."""
    found = module.parameters()
    for name in names:
        expect(name in found, f"{what} has no parameter {name}.")
        layer = name.removesuffix(".weight")
        expect(f"{layer}.bias" not in found, f"{layer} has a bias; it should have none.")


def same_draws(yours, ours, names):
    """Compare parameters one by one, so that the message names the first wrong one."""
    found, wanted = yours.named(*names), ours.parameters()
    for name in names:
        agrees(found[name].value, wanted[name].value, f"{name} right after construction")


def drawn_by(module, names):
    """Return the values of the parameters *names* by name."""
    found = module.parameters()
    return {name: found[name].value for name in names}


def caller_seeds(student, create, given):
    """Expect that neither *create* nor a call of the new module sets a seed."""
    drawn = []
    for seed in (5, 6):
        create(seed)(*given)
        drawn.append(student.draws_next())
    expect(
        not torch.equal(*drawn),
        "After a call, the random numbers no longer depend on the caller's seed.",
    )


def random_weights(probe):
    """Draw large weights for queries, keys and values."""
    return probe.weights(**dict.fromkeys(SHORT, (D_MODEL, D_MODEL)))


def attention(student, weights, axes=FLAT):
    """Create the student's Attention with these *weights*."""
    return student.new("Attention", D_MODEL, *axes).load(weights)


def both_attentions(student, reference, probe, axes=FLAT):
    """Build the student's Attention and the reference, and load the same weights into both."""
    weights = random_weights(probe)
    return attention(student, weights, axes), attention(reference, weights, axes)


def documented_attention(student, reference):
    """Create Attention with the documented weights in place of those that its constructor draws."""
    drawn = drawn_by(reference.new("Attention", 2, *FLAT, seed=42), SHORT)
    return student.new("Attention", 2, *FLAT).load(drawn)


def sources(probe, *batch, t_q=T_Q, t_k=T_K, scale=SCALE):
    """Return different encodings for queries, keys and values."""
    lengths = (t_q, t_k, t_k)
    return [probe.normal(*batch, length, D_MODEL, scale=scale) for length in lengths]


def context_of(yours, *given):
    """Return the context vectors, one for each query."""
    return tensor_like(yours(*given), tuple(given[0].shape), "The context")


def hidden_places(t_q, t_k):
    """Return a mask that is not a triangle, so that one made inside the module shows."""
    mask = torch.tril(torch.ones(t_q, t_k))
    mask[-1, -1] = 0.0
    return mask


def all_attend(yours, q, k, v, *more):
    """Expect that a change of the first value changes the result of every query."""
    others = v.clone()
    others[..., 0, :] += 1
    before, after = context_of(yours, q, k, v, *more), context_of(yours, q, k, others, *more)
    changed = [
        not alike(one, other)
        for one, other in zip(before.unbind(-2), after.unbind(-2), strict=True)
    ]
    expect(
        all(changed),
        "The first encoding for values has no visible effect on some query's result.",
    )


def equal_values(probe, weights, t_v):
    """Let all values be the same one, and return the encodings for them and this value."""
    weights["W_v.weight"][:, 1:] = 0  # the value of each token uses only its leading 1
    encodings = torch.cat([torch.ones(t_v, 1), probe.normal(t_v, D_MODEL - 1, scale=SCALE)], dim=1)
    return encodings, weights["W_v.weight"][:, 0]


# Attention


@check("Attention", points=0.06, layer="signature")
def test_attention_has_its_defaults(student, reference, encodings):
    """The defaults are d_model=2, row_dim=0 and col_dim=1, and forward takes its names."""
    drawn = drawn_by(reference.new("Attention", 2, *FLAT, seed=9), SHORT)
    plain = student.new("Attention").load(drawn)
    named = student.new("Attention", d_model=2, row_dim=0, col_dim=1).load(drawn)
    given = {f"encodings_for_{name}": encodings for name in "qkv"}

    context = tensor_like(named(**given, mask=torch.ones(3, 3)), (3, 2), "The context")
    without = "The context without a mask, in a module without arguments,"
    agrees(plain(encodings, encodings, encodings), context, without, "that with a mask of ones")
    expect(not alike(context, encodings), "The context vectors are the encodings.")
    expect(not alike(context[0], context[1]), "Two context vectors are equal.")


@check("Attention", points=0.08, layer="shapes")
def test_attention_answers_every_query(student):
    """There is one context vector for each query, for any number of keys."""
    flat = student.new("Attention", D_MODEL, *FLAT)
    batched = student.new("Attention", D_MODEL, *BATCHED)

    for t_q, t_k in ((T_Q, T_K), (T_K, T_Q)):
        for_q, for_k = torch.ones(t_q, D_MODEL), torch.ones(t_k, D_MODEL)
        tensor_like(flat(for_q, for_k, for_k), (t_q, D_MODEL), "The context")
        items = [x.expand(B, -1, -1).contiguous() for x in (for_q, for_k, for_k)]
        tensor_like(batched(*items), (B, t_q, D_MODEL), "The context of a batch")


@check("Attention", points=0.15, layer="parameters")
def test_attention_names_its_layers(student):
    """The layers are named W_q, W_k and W_v, and they have no bias."""
    has_names(student.new("Attention", D_MODEL, *FLAT), SHORT, "Attention")


@check("Attention", points=0.15, layer="parameters")
def test_attention_makes_the_documented_layers(student, documented, encodings):
    """With seed 42, W_q, W_k and W_v have the documented weights."""
    parameters = student.new("Attention", 2, *FLAT, seed=42).named(*SHORT)

    for name in ("W_q", "W_k", "W_v"):
        weight = tensor_like(parameters[f"{name}.weight"].value, (2, 2), f"{name}.weight")
        documented[f"001.{name.lower()}.transposed"].matches(weight.T, f"{name}.weight.T")
    for name, what in (("W_q", "queries"), ("W_v", "values")):
        projected = encodings @ parameters[f"{name}.weight"].value.T
        documented[f"001.{what}"].matches(projected, f"{name}(encodings)")


@check("Attention", points=0.15, layer="parameters")
def test_attention_draws_its_layers_in_order(student, reference, probe):
    """For any size and seed, W_q, W_k and W_v are created in this order."""
    yours = student.new("Attention", D_MODEL, *FLAT, seed=probe.seed)

    same_draws(yours, reference.new("Attention", D_MODEL, *FLAT, seed=probe.seed), SHORT)


@check("Attention", points=0.25, layer="documented")
def test_attention_to_oneself_is_self_attention(student, reference, documented, encodings):
    """With the weights of seed 42, one sequence as all three encodings gives the documented
    context.
    """
    yours = documented_attention(student, reference)

    documented["001.sa.context"].matches(yours(encodings, encodings, encodings), "The context")


@check("Attention", points=0.25, layer="documented")
def test_attention_hides_what_the_mask_hides(student, reference, documented, encodings):
    """With the weights of seed 42 and the mask, the context is the documented masked one."""
    yours, mask = documented_attention(student, reference), documented["001.mask"].tensor.float()

    context = yours(encodings, encodings, encodings, mask=mask)
    documented["001.masked.context"].matches(context, "The masked context")


@check("Attention", points=0.4, layer="probe")
def test_attention_takes_each_part_from_its_source(student, reference, probe):
    """If the three sources differ, queries, keys and values each use their own source."""
    yours, ours = both_attentions(student, reference, probe)

    for t_q, t_k in ((T_Q, T_K), (6, 2), (1, 3), (2, 1)):
        given = sources(probe, t_q=t_q, t_k=t_k)
        agrees(yours(*given), ours(*given), "The context")


@check("Attention", points=0.15, layer="probe")
def test_attention_takes_sources_of_one_length(student, reference, probe):
    """The result is also right for different sources of the same length."""
    yours, ours = both_attentions(student, reference, probe)
    given = sources(probe, t_q=T_K, t_k=T_K)

    agrees(yours(*given), ours(*given), "The context")


@check("Attention", points=0.35, layer="probe")
def test_attention_serves_a_batch(student, reference, probe):
    """With row_dim 1 and col_dim 2, every item of a batch gets its own context vectors."""
    yours, ours = both_attentions(student, reference, probe, BATCHED)

    for batch, t_q, t_k in ((B, T_Q, T_K), (3, 6, 2), (5, 1, 2)):
        given = sources(probe, batch, t_q=t_q, t_k=t_k)
        agrees(yours(*given), ours(*given), "The context of a batch")


@check("Attention", points=0.27, layer="probe")
def test_attention_takes_any_mask(student, reference, probe):
    """A mask with a row for each query and a column for each key is applied."""
    yours, ours = both_attentions(student, reference, probe)

    for t_q, t_k in ((T_Q, T_K), (6, 2)):
        given = sources(probe, t_q=t_q, t_k=t_k)
        mask = hidden_places(t_q, t_k)
        agrees(yours(*given, mask), ours(*given, mask), "The masked context")


@check("Attention", points=0.1, layer="probe")
def test_attention_takes_a_mask_in_a_batch(student, reference, probe):
    """In a batch, the mask is applied to every item."""
    yours, ours = both_attentions(student, reference, probe, BATCHED)
    given, mask = sources(probe, B), hidden_places(T_Q, T_K)

    agrees(yours(*given, mask), ours(*given, mask), "The masked context")


@check("Attention", points=0.04, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    yours, given = student.new("Attention", D_MODEL, *FLAT), sources(probe)

    keeps_dtype(yours, *given)
    all_attend(yours, *given)


@check("Attention", points=0.12, layer="laws")
def test_attention_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights = random_weights(probe)
    encodings, value = equal_values(probe, weights, T_K)
    q, k, _ = sources(probe, t_q=T_K)

    mixed = attention(student, weights)(q, k, encodings)
    agrees(mixed, value.expand(T_K, D_MODEL), "The mixture of equal values")


@check("Attention", points=0.12, layer="laws")
def test_attention_weights_sum_to_one_under_a_mask(student, probe):
    """With a mask, the weights of the visible keys still sum to one."""
    weights = random_weights(probe)
    encodings, value = equal_values(probe, weights, T_K)
    q, k, _ = sources(probe, t_q=T_K)

    mixed = attention(student, weights)(q, k, encodings, hidden_places(T_K, T_K))
    agrees(mixed, value.expand(T_K, D_MODEL), "The mixture of equal values under a mask")


@check("Attention", points=0.14, layer="laws")
def test_attention_hears_nothing_from_what_is_hidden(student, probe):
    """Hidden keys and values have no effect with the mask, but have an effect without it."""
    yours = attention(student, random_weights(probe))
    q, k, v = sources(probe)
    mask = torch.ones(T_Q, T_K)
    mask[:, 2] = 0.0
    others = [x.index_copy(0, torch.tensor([2]), x[:1] + 1) for x in (k, v)]

    before = context_of(yours, q, k, v, mask)
    agrees(
        yours(q, *others, mask),
        before,
        "After a change of hidden keys and values, the context",
        "that before",
    )
    unchanged = alike(context_of(yours, q, *others), context_of(yours, q, k, v))
    expect(not unchanged, "Without a mask, a change of keys and values has no visible effect.")


@check("Attention", points=0.12, layer="laws")
def test_attention_knows_no_order_among_the_asked(student, probe):
    """The order of keys and values does not matter; the order of the queries does."""
    yours = attention(student, random_weights(probe))
    q, k, v = sources(probe, scale=SMALL)
    key_order, query_order = torch.tensor([3, 0, 4, 1, 2]), torch.tensor([2, 0, 1])

    context = context_of(yours, q, k, v)
    reordered = yours(q, k[key_order], v[key_order])
    agrees(
        reordered,
        context,
        "The context with keys and values in a different order",
        "that before",
    )
    reordered = yours(q[query_order], k, v)
    agrees(
        reordered,
        context[query_order],
        "The context with queries in a different order",
        "that before in this order",
    )
    all_attend(yours, q, k, v)


@check("Attention", points=0.12, layer="laws")
def test_attention_finds_the_matching_key(student, probe):
    """A query that matches the key of one token gets the value of this token."""
    weights = random_weights(probe)
    weights |= dict.fromkeys(SHORT[:2], MATCH * torch.eye(D_MODEL))
    asked = torch.tensor([2, 4, 1, 0, 3])  # query i asks for this key
    tokens, (_, _, v) = torch.eye(T_K, D_MODEL), sources(probe)
    found = attention(student, weights)(tokens[asked], tokens, v)

    wanted = (v @ weights["W_v.weight"].T)[asked]
    agrees(found, wanted, "The result for queries that match one key each")


@check("Attention", points=0.12, layer="laws")
def test_attention_doubles_with_its_values(student, probe):
    """Twice the encodings for the values give twice the context vectors."""
    yours = attention(student, random_weights(probe))
    q, k, v = sources(probe, t_q=T_K, scale=SMALL)
    context = context_of(yours, q, k, v)

    nothing = alike(context, torch.zeros(T_K, D_MODEL))
    expect(not nothing, "The context is zero, but it must not be.")
    agrees(yours(q, k, 2 * v), 2 * context, "The context for twice the values", "twice the context")


@check("Attention", points=0.2, layer="laws")
def test_attention_forgets_a_mask(student, probe):
    """The mask of one call has no effect on a later call without a mask."""
    yours, given = attention(student, random_weights(probe)), sources(probe)
    before = context_of(yours, *given)
    masked = context_of(yours, *given, hidden_places(T_Q, T_K))

    expect(not alike(masked, before), "The mask has no visible effect.")
    agrees(
        yours(*given), before, "After a call with a mask, the context without a mask", "that before"
    )


@check("Attention", points=0.15, layer="laws")
def test_attention_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone."""
    yours, given = attention(student, random_weights(probe), BATCHED), sources(probe, B)
    together = context_of(yours, *given)

    for item in range(B):
        alone = yours(*(x[item : item + 1] for x in given))
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    all_attend(yours, *(SMALL * x for x in given))


@check("Attention", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_attention_leaves_its_inputs_alone(student, probe):
    """The call does not change the encodings and the mask."""
    yours, given = attention(student, random_weights(probe)), sources(probe, scale=SMALL)

    kept = yours.keeps_inputs(*given, hidden_places(T_Q, T_K))
    expect(kept, "Attention changes one of its arguments.")
    all_attend(yours, *given)


@check("Attention", points=0.03, layer="laws", rules=("no_seeding",))
def test_attention_leaves_the_seed_to_the_caller(student, probe):
    """The module sets no seed when it is created or called."""

    def create(seed):
        return student.new("Attention", D_MODEL, *FLAT, seed=seed)

    caller_seeds(student, create, sources(probe))


@check("Attention", points=0.25, layer="gradients", rules=("gradients",))
def test_attention_passes_gradients_on(student, reference, probe):
    """Gradients flow back to all three sources and all three layers, even with a mask."""
    yours, ours = both_attentions(student, reference, probe)
    given, back = sources(probe), probe.normal(T_Q, D_MODEL)
    names = ("encodings_for_q", "encodings_for_k", "encodings_for_v")

    for mask in (None, torch.tril(torch.ones(T_Q, T_K))):
        mine = yours.gradients(*given, mask, cotangent=back)
        same_gradients(mine, ours.gradients(*given, mask, cotangent=back), *names)


@check("Attention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours = attention(student, random_weights(probe))
    given = sources(probe, scale=SMALL)

    avoids(student, "Attention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(*given), READY_ATTENTION, BY_HAND)
    all_attend(yours, *given)


@check("Attention", points=0.05, layer="forbidden", rules=("no_loops",))
def test_attention_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few and for many queries and keys."""
    yours = attention(student, random_weights(probe))
    few, many = sources(probe), sources(probe, t_q=11, t_k=13, scale=SMALL)

    keeps_operators(yours.operators(*few), yours.operators(*many), AT_ONCE)
    all_attend(yours, *many)


def mask_like(answer, items, width):
    """Return a mask of this shape as whole numbers, or fail the check."""
    mask = tensor_like(answer, (items, width), "The padding mask")
    other = mask[(mask != 0) & (mask != 1)]
    only = "The padding mask must contain only True and False, or 1 and 0."
    given = f"{only} Yours also contains {float(other[0]):g}." if len(other) else only
    expect(not len(other), only, message=given)
    return mask.int()


def same_mask(answer, wanted):
    """Compare a padding mask with a list of rows."""
    mask = mask_like(answer, len(wanted), len(wanted[0]))
    agrees(mask, torch.tensor(wanted).int(), "The padding mask")


def rows(lengths, max_length):
    """Return the expected padding mask, as lists."""
    return [[position < length for position in range(max_length)] for length in lengths]


def some_lengths(probe, most):
    """Draw five lengths from 1 to *most* - 1, not all of them equal."""
    lengths = 1 + (probe.uniform(5) * (most - 1)).long()
    lengths[0] = 1 + lengths[1] % (most - 1)
    return lengths


# padding_mask


@check("padding_mask", points=0.05, layer="shapes")
def test_mask_has_a_row_for_each_item(student):
    """B lengths and max_length give a tensor of shape (B, max_length)."""
    tensor_like(student.call("padding_mask", [3, 1], 5), (2, 5), "padding_mask([3, 1], 5)")


@check("padding_mask", points=0.1, layer="shapes")
def test_mask_is_a_bool_tensor(student):
    """The mask holds True and False, not numbers."""
    mask = student.call("padding_mask", [3, 1], 5)

    same_dtype(tensor_like(mask, (2, 5), "padding_mask([3, 1], 5)"), torch.bool, "The mask")


@check("padding_mask", points=0.2, layer="probe")
def test_mask_keeps_tokens_and_hides_padding(student, probe):
    """Row b is True at its first lengths[b] positions and False after them."""
    for longest, items in ((5 + probe.number % 3, 5), (9 + probe.number % 4, 1)):
        lengths = some_lengths(probe, longest)[:items].tolist()
        same_mask(student.call("padding_mask", lengths, longest), rows(lengths, longest))


@check("padding_mask", points=0.12, layer="probe")
def test_mask_takes_an_item_of_padding_only(student, probe):
    """A length of 0 gives a row of padding only."""
    longest = 6 + probe.number % 5
    for lengths in ([0, *some_lengths(probe, longest).tolist()], [1, 0]):
        same_mask(student.call("padding_mask", lengths, longest), rows(lengths, longest))


@check("padding_mask", points=0.12, layer="probe")
def test_mask_takes_an_item_without_padding(student, probe):
    """A length of max_length gives a row without padding."""
    longest = 6 + probe.number % 5
    for lengths in ([*some_lengths(probe, longest).tolist(), longest], [1, longest]):
        same_mask(student.call("padding_mask", lengths, longest), rows(lengths, longest))


@check("padding_mask", points=0.2, layer="probe")
def test_mask_takes_a_tensor_of_lengths(student, probe):
    """Lengths may also be a 1-D tensor of integers."""
    longest = 6 + probe.number % 5
    for dtype in (torch.int64, torch.int32):
        lengths = some_lengths(probe, longest).to(dtype)
        mask = student.call("padding_mask", lengths, longest)
        same_mask(mask, rows(lengths.tolist(), longest))


@check("padding_mask", points=0.1, layer="laws")
def test_mask_counts_the_tokens_of_each_row(student, probe):
    """Each row has as many True values as its item has tokens, which may be none."""
    lengths = torch.cat([some_lengths(probe, 9), torch.tensor([0])])
    mask = mask_like(student.call("padding_mask", lengths.tolist(), 9), 6, 9)

    agrees(mask.sum(dim=-1).int(), lengths.int(), "The vector of row sums")


@check("padding_mask", points=0.1, layer="laws")
def test_mask_has_its_tokens_before_its_padding(student, probe):
    """Each row starts with True, ends with False, and changes only once."""
    mask = mask_like(student.call("padding_mask", some_lengths(probe, 8).tolist(), 9), 5, 9)

    expect((mask[:, 0] == 1).all(), "A row does not start with True.")
    expect((mask[:, -1] == 0).all(), "A row with padding does not end with False.")
    expect((mask.diff(dim=-1).abs().sum(dim=-1) == 1).all(), "A row has True after False.")


@check("padding_mask", points=0.1, layer="laws")
def test_mask_gains_one_place_with_one_token_more(student, probe):
    """One token more in an item changes one entry of its row, and no other row."""
    lengths = some_lengths(probe, 8)
    longer = lengths.clone()
    longer[2] += 1
    before = mask_like(student.call("padding_mask", lengths, 9), 5, 9)
    after = mask_like(student.call("padding_mask", longer, 9), 5, 9)

    gained = (after - before).sum(dim=-1)
    changed = (after != before).sum(dim=-1)
    expect(
        int(gained[2]) == int(changed[2]) == 1,
        "One more token does not turn exactly one False into True.",
    )
    changed[2] = 0
    expect(not changed.any(), "A longer item changes the row of another item.")


@check("padding_mask", points=0.1, layer="laws")
def test_mask_gains_only_padding_with_more_room(student, probe):
    """A greater max_length adds only columns of padding, and nothing else changes."""
    lengths = some_lengths(probe, 8)
    narrow = mask_like(student.call("padding_mask", lengths.clone(), 9), 5, 9)
    wide = mask_like(student.call("padding_mask", lengths.clone(), 12), 5, 12)

    expect(bool(narrow.any()), "The mask contains no True.")
    agrees(
        wide[:, :9],
        narrow,
        "The mask with a greater max_length, without its last columns,",
        "that before",
    )
    expect(not wide[:, 9:].any(), "With a greater max_length, an additional column contains True.")


@check("padding_mask", points=0.1, layer="laws", rules=("refuses",))
def test_mask_refuses_a_length_above_the_limit(student):
    """A length above max_length raises an error; max_length itself does not."""
    mask = mask_like(student.call("padding_mask", [1, 4], 4), 2, 4)
    expect(bool(mask[1].all()), "The row of a length of max_length contains False.")

    wrong = [5, 2], [2, 5], torch.tensor([2, 5])
    refused = [student.refuses("padding_mask", given, 4) for given in wrong]
    expect(all(refused), "A length above max_length gives a mask; it should raise a ValueError.")


@check("padding_mask", points=0.1, layer="laws", rules=("refuses",))
def test_mask_refuses_a_length_below_zero(student):
    """A length below 0 raises an error; other lengths do not."""
    mask = mask_like(student.call("padding_mask", [1, 3], 4), 2, 4)
    expect(not torch.equal(mask[0], mask[1]), "Items of different lengths have the same row.")

    wrong = [-1, 3], [3, -1], torch.tensor([-1, 3])
    refused = [student.refuses("padding_mask", given, 4) for given in wrong]
    expect(all(refused), "A length below 0 gives a mask; it should raise a ValueError.")


@check("padding_mask", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_mask_leaves_the_lengths_alone(student):
    """The call does not change the tensor of lengths."""
    lengths = torch.tensor([3, 1])

    kept = student.keeps_inputs("padding_mask", lengths, 4)
    expect(kept, "padding_mask changes the lengths that you pass to it.")
    mask = mask_like(student.call("padding_mask", torch.tensor([3, 1]), 4), 2, 4)
    expect(not torch.equal(mask[0], mask[1]), "Items of different lengths have the same row.")


@check("padding_mask", points=0.06, layer="forbidden", rules=("no_loops",))
def test_mask_needs_no_loop_over_positions(student):
    """The number of tensor operations is the same for short sequences and for long ones."""
    few = student.operators("padding_mask", [2, 1], 3)
    many = student.operators("padding_mask", [20, 11], 23)

    keeps_operators(few, many, AT_ONCE)
    mask = mask_like(student.call("padding_mask", [20, 11], 23), 2, 23)
    expect(not torch.equal(mask[0], mask[1]), "Items of different lengths have the same row.")


CROSS = (D_DECODER, D_ENCODER, D_OUT)


def crossing_weights(probe):
    """Draw large weights for queries, keys and values."""
    sizes = (D_DECODER, D_ENCODER, D_ENCODER)
    shapes = {name: (D_OUT, size) for name, size in zip(LONG, sizes, strict=True)}
    return probe.weights(**shapes)


def crossing(student, weights):
    """Create the student's CrossAttention with these *weights*."""
    return student.new("CrossAttention", *CROSS).load(weights)


def both_crossings(student, reference, probe):
    """Build the student's CrossAttention and the reference, and load the same weights."""
    weights = crossing_weights(probe)
    return crossing(student, weights), crossing(reference, weights)


def states(probe, batch=B, t_q=T_Q, t_k=T_K, scale=SCALE):
    """Return decoder states and encoder states."""
    decoder = probe.normal(batch, t_q, D_DECODER, scale=scale)
    return decoder, probe.normal(batch, t_k, D_ENCODER, scale=scale)


def padded(lengths, t_k=T_K):
    """Return the padding mask of items with these *lengths*."""
    return torch.tensor(rows(lengths, t_k))


def crossed(yours, decoder, *more):
    """Return the context vectors, one for each decoder token."""
    return tensor_like(yours(decoder, *more), (*decoder.shape[:2], D_OUT), "The context")


def all_cross(yours, decoder, encoder, *more):
    """Expect that a change of the first encoder state changes the result of every token."""
    others = encoder.clone()
    others[:, 0] += 1
    before = crossed(yours, decoder, encoder, *more)
    after = crossed(yours, decoder, others, *more)
    pairs = zip(before.flatten(0, 1), after.flatten(0, 1), strict=True)
    changed = [not alike(one, other) for one, other in pairs]
    expect(
        all(changed),
        "A change of the first encoder state has no visible effect on some token's result.",
    )


def equal_states(probe, weights, t_k=T_K):
    """Let all values be the same one, and return encoder states for it and this value."""
    weights["W_value.weight"][:, 1:] = 0  # the value of each token uses only its leading 1
    more = probe.normal(B, t_k, D_ENCODER - 1, scale=SCALE)
    return torch.cat([torch.ones(B, t_k, 1), more], dim=-1), weights["W_value.weight"][:, 0]


# CrossAttention


@check("CrossAttention", points=0.05, layer="signature")
def test_cross_attention_takes_its_arguments_by_name(student):
    """The constructor takes d_decoder, d_encoder and d_out, and forward the names of its inputs."""
    cross = student.new("CrossAttention", d_decoder=3, d_encoder=2, d_out=4)

    cross(
        decoder_states=torch.ones(1, 2, 3),
        encoder_states=torch.ones(1, 5, 2),
        padding_mask=torch.ones(1, 5) == 1,
    )


@check("CrossAttention", points=0.08, layer="shapes")
def test_cross_attention_answers_every_decoder_token(student):
    """Each of the T_q decoder tokens gets a context vector of size d_out: (B, T_q, d_out)."""
    cross = student.new("CrossAttention", *CROSS)

    for t_q, t_k in ((T_Q, T_K), (T_K, T_Q), (1, T_K)):
        context = cross(torch.ones(B, t_q, D_DECODER), torch.ones(B, t_k, D_ENCODER))
        tensor_like(context, (B, t_q, D_OUT), "The context")


@check("CrossAttention", points=0.25, layer="parameters")
def test_cross_attention_names_its_layers(student):
    """The layers are named W_query, W_key and W_value, and they have no bias."""
    has_names(student.new("CrossAttention", *CROSS), LONG, "CrossAttention")


@check("CrossAttention", points=0.2, layer="parameters")
def test_cross_attention_makes_its_layers_in_order(student, reference, probe):
    """W_query, W_key and W_value are created in this order and keep their initial weights."""
    yours = student.new("CrossAttention", *CROSS, seed=probe.seed)

    same_draws(yours, reference.new("CrossAttention", *CROSS, seed=probe.seed), LONG)


@check("CrossAttention", points=0.35, layer="documented")
def test_cross_attention_contains_document_001(student, reference, documented, encodings):
    """With the weights of seed 42, tokens that attend to the whole documented sequence get their
    documented context vectors.
    """
    drawn = drawn_by(reference.new("CrossAttention", 2, 2, 2, seed=42), LONG)
    cross = student.new("CrossAttention", 2, 2, 2).load(drawn)
    encoder = encodings[None]

    two = tensor_like(cross(encoder[:, :2], encoder), (1, 2, 2), "The context of two tokens")
    one = tensor_like(cross(encoder[:, 2:], encoder), (1, 1, 2), "The context of one token")
    documented["001.sa.context"].matches(torch.cat([two[0], one[0]]), "The context")


@check("CrossAttention", points=0.5, layer="probe")
def test_cross_attention_attends_across(student, reference, probe):
    """For hidden inputs of any lengths, decoder tokens get the right mix of encoder values."""
    yours, ours = both_crossings(student, reference, probe)

    for batch, t_q, t_k in ((B, T_Q, T_K), (3, 8, 2), (5, 1, 3), (1, 2, 1)):
        given = states(probe, batch, t_q, t_k)
        agrees(yours(*given), ours(*given), "The context")


@check("CrossAttention", points=0.15, layer="probe")
def test_cross_attention_takes_equal_lengths(student, reference, probe):
    """The result is also right if both sequences have the same length."""
    yours, ours = both_crossings(student, reference, probe)
    given = states(probe, t_q=T_K)

    agrees(yours(*given), ours(*given), "The context")


@check("CrossAttention", points=0.5, layer="probe")
def test_cross_attention_skips_padding(student, reference, probe):
    """With a padding mask, each item mixes only the values of its own tokens."""
    yours, ours = both_crossings(student, reference, probe)

    for t_q, t_k, lengths in ((2, T_K, [3, 5, 2]), (3, 5, [1, 4, 3]), (1, 6, [2, 6, 1, 3])):
        given, mask = states(probe, len(lengths), t_q, t_k), padded(lengths, t_k)
        agrees(yours(*given, mask), ours(*given, mask), "The context with padding")


@check("CrossAttention", points=0.04, layer="laws", rules=("dtype",))
def test_cross_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    yours, given = student.new("CrossAttention", *CROSS), states(probe)

    keeps_dtype(yours, *given)
    all_cross(yours, *given)


@check("CrossAttention", points=0.12, layer="laws")
def test_cross_attention_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights = crossing_weights(probe)
    encoder, value = equal_states(probe, weights)
    decoder, _ = states(probe, t_q=T_K)

    mixed = crossing(student, weights)(decoder, encoder)
    agrees(mixed, value.expand(B, T_K, D_OUT), "The mixture of equal values")


@check("CrossAttention", points=0.12, layer="laws")
def test_cross_attention_weights_sum_to_one_with_padding(student, probe):
    """With padding, the weights of an item's own tokens still sum to one."""
    weights = crossing_weights(probe)
    encoder, value = equal_states(probe, weights)
    decoder, _ = states(probe)

    mixed = crossing(student, weights)(decoder, encoder, padded([2, 4]))
    agrees(mixed, value.expand(B, T_Q, D_OUT), "The mixture of equal values with padding")


@check("CrossAttention", points=0.16, layer="laws")
def test_cross_attention_takes_padding_as_if_cut_off(student, probe):
    """A padded item gets the same result as alone and without padding."""
    yours = crossing(student, crossing_weights(probe))
    decoder, encoder = states(probe)
    lengths = [3, 4]
    together = crossed(yours, decoder, encoder, padded(lengths))

    for item, length in enumerate(lengths):
        alone = yours(decoder[item : item + 1], encoder[item : item + 1, :length])
        agrees(
            alone,
            together[item : item + 1],
            "The context of an item without its padding",
            "that with padding",
        )
    whole = crossed(yours, decoder, encoder)
    expect(not alike(whole, together), "The padding mask has no visible effect.")


@check("CrossAttention", points=0.1, layer="laws")
def test_cross_attention_without_padding_needs_no_mask(student, probe):
    """A mask that is True everywhere has no effect, and one that hides tokens has one."""
    yours, given = crossing(student, crossing_weights(probe)), states(probe)
    whole = crossed(yours, *given)

    everywhere = yours(*given, torch.ones(B, T_K) == 1)
    agrees(
        everywhere, whole, "With a mask that is True everywhere, the context", "that without a mask"
    )
    expect(
        not alike(crossed(yours, *given, padded([2, 4])), whole), "The mask has no visible effect."
    )


@check("CrossAttention", points=0.22, layer="laws")
def test_cross_attention_forgets_a_mask(student, probe):
    """The mask of one call has no effect on a later call without a mask."""
    yours, given = crossing(student, crossing_weights(probe)), states(probe, scale=SMALL)
    before = crossed(yours, *given)
    crossed(yours, *given, padded([2, 4]))

    agrees(
        yours(*given), before, "After a call with a mask, the context without a mask", "that before"
    )
    all_cross(yours, *given)


@check("CrossAttention", points=0.16, layer="laws")
def test_cross_attention_hides_no_future(student, probe):
    """Every decoder token attends to every encoder token, in any order of the tokens."""
    yours = crossing(student, crossing_weights(probe))
    decoder, encoder = states(probe, scale=SMALL)
    context, flipped = crossed(yours, decoder, encoder), encoder.flip(1)

    agrees(
        yours(decoder, flipped),
        context,
        "The context with encoder states in reverse order",
        "that before",
    )
    for states_ in (encoder, flipped):
        all_cross(yours, decoder, states_)


@check("CrossAttention", points=0.13, layer="laws")
def test_cross_attention_finds_the_matching_key(student, probe):
    """A query that matches the key of one encoder token gets the value of this token."""
    weights, size = crossing_weights(probe), D_OUT
    weights["W_query.weight"] = MATCH * torch.eye(D_OUT, D_DECODER)
    weights["W_key.weight"] = MATCH * torch.eye(D_OUT, D_ENCODER)
    asked = torch.tensor([2, 0, 3, 1])  # decoder token i asks for this encoder token
    decoder = torch.eye(size, D_DECODER)[asked].repeat(B, 1, 1)
    encoder = torch.eye(size, D_ENCODER).repeat(B, 1, 1)
    found = crossing(student, weights)(decoder, encoder)

    wanted = weights["W_value.weight"].T[asked].expand(B, size, D_OUT)
    agrees(found, wanted, "The result for queries that match one key each")


@check("CrossAttention", points=0.13, layer="laws")
def test_cross_attention_doubles_with_its_values(student, probe):
    """Twice the weights of W_value give twice the context vectors."""
    weights, given = crossing_weights(probe), states(probe, t_q=T_K, scale=SMALL)
    context = crossed(crossing(student, weights), *given)
    weights["W_value.weight"] *= 2

    nothing = alike(context, torch.zeros(B, T_K, D_OUT))
    expect(not nothing, "The context is zero, but it must not be.")
    agrees(
        crossing(student, weights)(*given),
        2 * context,
        "The context for twice the values",
        "twice the context",
    )


@check("CrossAttention", points=0.13, layer="laws")
def test_cross_attention_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone."""
    yours, given = crossing(student, crossing_weights(probe)), states(probe, scale=SMALL)
    together = crossed(yours, *given)

    for item in range(B):
        alone = yours(*(x[item : item + 1] for x in given))
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    all_cross(yours, *given)


@check("CrossAttention", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_cross_attention_leaves_its_inputs_alone(student, probe):
    """The call does not change the states and the mask."""
    yours, given = crossing(student, crossing_weights(probe)), states(probe, scale=SMALL)

    kept = yours.keeps_inputs(*given, padded([2, 4]))
    expect(kept, "CrossAttention changes one of its arguments.")
    all_cross(yours, *given)


@check("CrossAttention", points=0.03, layer="laws", rules=("no_seeding",))
def test_cross_attention_leaves_the_seed_to_the_caller(student, probe):
    """The module sets no seed when it is created or called."""

    def create(seed):
        return student.new("CrossAttention", *CROSS, seed=seed)

    caller_seeds(student, create, states(probe))


@check("CrossAttention", points=0.15, layer="laws", rules=("gradients",))
def test_cross_attention_trains_its_encoder(student, probe):
    """A gradient reaches every encoder state, so that the encoder can be trained."""
    yours = crossing(student, crossing_weights(probe))
    given, back = states(probe, scale=SMALL), probe.normal(B, T_Q, D_OUT)
    _, found = yours.gradients(*given, cotangent=back).inputs[:2]

    reached = found is not None and bool((found != 0).any(dim=-1).all())
    expect(reached, "The gradient of some encoder state is missing or zero.")


@check("CrossAttention", points=0.2, layer="gradients", rules=("gradients",))
def test_cross_attention_passes_gradients_on(student, reference, probe):
    """Gradients flow back to both sequences and all three layers."""
    yours, ours = both_crossings(student, reference, probe)
    given, back = states(probe), probe.normal(B, T_Q, D_OUT)

    mine, wanted = (one.gradients(*given, cotangent=back) for one in (yours, ours))
    same_gradients(mine, wanted, "decoder_states", "encoder_states")


@check("CrossAttention", points=0.1, layer="gradients", rules=("gradients",))
def test_cross_attention_passes_gradients_on_with_padding(student, reference, probe):
    """With padding, the gradients of both sequences and all three layers are right, too."""
    yours, ours = both_crossings(student, reference, probe)
    given, back = (*states(probe), padded([2, 4])), probe.normal(B, T_Q, D_OUT)

    mine, wanted = (one.gradients(*given, cotangent=back) for one in (yours, ours))
    same_gradients(mine, wanted, "decoder_states", "encoder_states")


@check("CrossAttention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_cross_attention_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours = crossing(student, crossing_weights(probe))
    given = states(probe, scale=SMALL)

    avoids(student, "CrossAttention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(*given, padded([2, 4])), READY_ATTENTION, BY_HAND)
    all_cross(yours, *given)


@check("CrossAttention", points=0.1, layer="forbidden", rules=("no_loops",))
def test_cross_attention_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few and for many queries and keys."""
    yours = crossing(student, crossing_weights(probe))
    few, many = states(probe), states(probe, t_q=11, t_k=13, scale=SMALL)

    keeps_operators(yours.operators(*few), yours.operators(*many), AT_ONCE)
    all_cross(yours, *many)
