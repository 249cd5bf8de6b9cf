"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
from autograder.suite.student_proxy import RemoteModule, Student


@pytest.fixture
def inputs(documented: DocumentedTensors) -> Tensor:
    """Return "Your journey starts with one step", one embedding per row: (6, 3)."""
    return documented["000.inputs"].tensor.clone()


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
B, T, D_IN, D_OUT, CONTEXT = 3, 5, 13, 6, 9
SCALE = 0.5  # The spread of the scores is then about 3: every mistake shows, and no visible weight
# underflows, so masking after softmax and normalizing again is as exact as minus infinity.
# Inputs so small give weights that are nearly equal: each visible token has an effect.
SMALL = 0.2
MATCH = 10.0
D_K = 11
LAYERS = ("W_query", "W_key", "W_value")
WEIGHTS = tuple(f"{layer}.weight" for layer in LAYERS)
PLAIN, BIAS = False, True  # values of qkv_bias
BIASED = tuple(f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias"))
BY_HAND = "Compute scores, weights and context vectors yourself: this is the task of this stage."
AT_ONCE = "Use one operation for all tokens at once."
DROP = 0.3  # not 0.5: the probabilities of keeping and dropping must differ
ITEMS, TOKENS = 5, 16  # 680 visible weights: one standard deviation of their share is 0.02


def document_scores(inputs):
    """Return the raw scores of chapter 3.5.1, from query and key layers drawn with seed 789."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(789)
        queries, keys = (nn.Linear(3, 2, bias=False)(inputs) for _ in range(2))
        return queries @ keys.T


def draw_weights(probe, *size):
    """Draw attention weights whose rows sum to one."""
    return torch.softmax(probe.normal(*(size or (T, T))), dim=-1)


def last_row_varies(student, name, one, other, *more):
    """Expect that the last row of the result depends on the argument."""
    rows = [tensor_like(student.call(name, given, *more), (T, T))[-1] for given in (one, other)]
    expect(not alike(*rows), "Two arguments give the same last row.")


def random_weights(probe, names=WEIGHTS):
    """Draw large weights for queries, keys and values."""
    shapes = {name: (D_OUT, D_IN) if "weight" in name else (D_OUT,) for name in names}
    return probe.weights(**shapes)


def holding(student, weights, context=CONTEXT):
    """Create a module with these *weights* for up to *context* tokens, without dropout."""
    return student.new("CausalAttention", D_IN, D_OUT, context, 0.0, PLAIN).load(weights)


def both_attentions(student, reference, probe, context=CONTEXT):
    """Build the student's attention and the reference, and load the same large weights."""
    weights = random_weights(probe)
    return holding(student, weights, context), holding(reference, weights, context)


def mixes_tokens(attention, x):
    """Expect that a change of the first token changes the result of the last one."""
    other, shape = x.clone(), (*x.shape[:2], D_OUT)
    other[:, 0] += 1
    before = tensor_like(attention(x), shape, "The context")
    after = tensor_like(attention(other), shape, "The context")
    expect(
        not alike(after[:, -1], before[:, -1]),
        "A changed first token does not change the last result.",
    )


def in_the_open(student, probe):
    """Build a module whose context vectors contain the attention weights twice.

    Token j has a one at position j, and the value layer copies it to two positions.
    """
    here = torch.eye(TOKENS).expand(ITEMS, TOKENS, TOKENS)
    x = torch.cat((here, probe.normal(ITEMS, TOKENS, 6)), dim=-1)
    once = torch.cat((torch.eye(TOKENS), torch.zeros(TOKENS, 6)), dim=-1)
    # no attention weight is near zero
    weights = {name: probe.normal(32, 22, scale=0.4) for name in WEIGHTS[:2]}
    weights[WEIGHTS[2]] = torch.cat((once, once))
    yours = student.new("CausalAttention", 22, 32, TOKENS + 1, DROP, PLAIN).load(weights)
    return yours, x, weights


def weights_left(attention, x, seed):
    """Return the attention weights after dropout in one call."""
    context = tensor_like(attention(x, seed=seed), (ITEMS, TOKENS, 2 * TOKENS), "The context")
    first, second = context.split(TOKENS, dim=-1)
    expect(
        torch.equal(first == 0, second == 0),
        (
            "Of two features that must hold the same weight, only one is zero; dropout may change "
            "attention weights only."
        ),
    )
    return first


def visible(left):
    """Return the weights on and below the diagonal, in one row for each item."""
    return left[:, *torch.tril_indices(TOKENS, TOKENS)]


def some_are_dropped(left):
    """Expect that some of the visible weights are zero, and some are not."""
    gone = visible(left) == 0
    expect(gone.any(), "In training, the result shows no attention weight of zero.")
    expect(not gone.all(), "In training, the result shows only attention weights of zero.")


def same_gradients(yours, ours):
    """Compare the gradients of the parameters and of the input."""
    arrivals = yours.parameters | {"the input": yours.inputs[0]}
    for name, gradient in (ours.parameters | {"the input": ours.inputs[0]}).items():
        arrived = arrivals.get(name)
        expect(
            arrived is not None,
            f"No gradient reaches {name}: in torch's graph, the result does not depend on it.",
        )
        agrees(arrived, gradient, f"The gradient of {name}")


# mask_then_renormalize


@check("mask_then_renormalize", points=0.06, layer="shapes")
def test_renormalized_weights_keep_their_shape(student):
    """Weights of shape (6, 6) give weights of shape (6, 6)."""
    weights = student.call("mask_then_renormalize", torch.full((6, 6), 1 / 6))

    tensor_like(weights, (6, 6), "mask_then_renormalize of (6, 6) weights")


@check("mask_then_renormalize", points=0.25, layer="documented")
def test_renormalized_weights_are_the_documented_ones(student, documented, inputs):
    """Attention weights of layers drawn with seed 789 become the documented causal weights."""
    weights = torch.softmax(document_scores(inputs) / 2**0.5, dim=-1)

    documented["ch03.weights_renormalized"].matches(
        student.call("mask_then_renormalize", weights), "The result"
    )


@check("mask_then_renormalize", points=0.15, layer="documented")
def test_renormalized_weights_from_the_printed_ones(student, documented):
    """The printed weights become the documented ones, even if later weights are zero already."""
    expected = documented["ch03.weights_renormalized"].tensor
    for name in ("ch03.weights", "ch03.weights_times_mask"):
        # the input is rounded: the 1e-4 of `agrees` allows for this, half a printed unit does not
        agrees(student.call("mask_then_renormalize", documented[name].tensor), expected)


@check("mask_then_renormalize", points=0.35, layer="probe")
def test_renormalized_weights_of_any_rows(student, reference, probe):
    """For hidden inputs of three lengths, the visible weights are normalized again."""
    for length in (T, 8, 1):
        weights = torch.softmax(probe.normal(length, length, scale=1.5), dim=-1)

        agrees(
            student.call("mask_then_renormalize", weights),
            reference.call("mask_then_renormalize", weights),
        )


@check("mask_then_renormalize", points=0.03, layer="laws", rules=("dtype",))
def test_renormalizing_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    weights = draw_weights(probe)

    keeps_dtype("mask_then_renormalize", weights)
    last_row_varies(student, "mask_then_renormalize", weights, draw_weights(probe))


@check("mask_then_renormalize", points=0.12, layer="laws")
def test_renormalized_rows_sum_to_one(student, probe):
    """The weights of each row up to its own token sum to one."""
    result = tensor_like(student.call("mask_then_renormalize", draw_weights(probe)), (T, T))

    agrees(result.tril().sum(dim=-1), torch.ones(T), "The vector of sums of the visible weights")


@check("mask_then_renormalize", points=0.12, layer="laws")
def test_renormalized_weights_hide_later_tokens(student, probe):
    """Later tokens get the weight zero, and all others get a positive weight."""
    result = tensor_like(student.call("mask_then_renormalize", draw_weights(probe)), (T, T))

    expect((result.triu(diagonal=1) == 0).all(), "A later token gets a weight that is not zero.")
    expect(
        (result[*torch.tril_indices(T, T)] > 0).all(), "A visible token gets no positive weight."
    )


@check("mask_then_renormalize", points=0.12, layer="laws")
def test_renormalized_weights_keep_their_ratios(student, probe):
    """The visible weights of a row change, but their ratios stay."""
    weights = draw_weights(probe)
    result = tensor_like(student.call("mask_then_renormalize", weights), (T, T))

    expect(
        not alike(result.tril()[:-1], weights.tril()[:-1]),
        "The visible weights before the last row do not change.",
    )
    ratios = (result[:, :1] * weights).tril(), (weights[:, :1] * result).tril()
    expect(
        (result[:, 0] > 0).all() and alike(*ratios),
        "Visible weights do not keep their ratios, or are not positive.",
    )


@check("mask_then_renormalize", points=0.12, layer="laws")
def test_renormalizing_leaves_complete_rows_alone(student, probe):
    """The first token gives all weight to itself, and the last row, which sees all, stays."""
    weights = draw_weights(probe)
    result = tensor_like(student.call("mask_then_renormalize", weights), (T, T))

    agrees(result[0, 0], torch.tensor(1.0), "The weight of the first token for itself")
    agrees(result[-1], weights[-1], "The last row")


@check("mask_then_renormalize", points=0.09, layer="laws", rules=("inputs_unchanged",))
def test_renormalizing_leaves_the_weights_alone(student, probe):
    """The call does not change the weights that it gets."""
    weights = draw_weights(probe)

    kept = student.keeps_inputs("mask_then_renormalize", weights)
    expect(kept, "mask_then_renormalize changes the weights that you pass to it.")
    last_row_varies(student, "mask_then_renormalize", weights, draw_weights(probe))


@check("mask_then_renormalize", points=0.1, layer="gradients", rules=("gradients",))
def test_renormalizing_passes_gradients_back(student, reference, probe):
    """The gradients of the weights are right."""
    weights, back = draw_weights(probe), probe.normal(T, T)

    same_gradients(
        student.gradients("mask_then_renormalize", weights, cotangent=back),
        reference.gradients("mask_then_renormalize", weights, cotangent=back),
    )


@check("mask_then_renormalize", points=0.04, layer="forbidden", rules=("no_loops",))
def test_renormalizing_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few = student.operators("mask_then_renormalize", draw_weights(probe, 4, 4))
    many = student.operators("mask_then_renormalize", draw_weights(probe, 12, 12))

    keeps_operators(few, many, AT_ONCE)
    one, other = draw_weights(probe), draw_weights(probe)
    last_row_varies(student, "mask_then_renormalize", one, other)


def causal_weights(student, scores, d_k=D_K):
    """Return the student's weights for these scores."""
    return tensor_like(student.call("mask_with_infinity", scores, d_k), (T, T), "The weights")


# mask_with_infinity


@check("mask_with_infinity", points=0.06, layer="shapes")
def test_masked_softmax_has_a_weight_for_every_score(student):
    """Scores of shape (6, 6) give weights of shape (6, 6)."""
    weights = student.call("mask_with_infinity", torch.zeros(6, 6), 2)

    tensor_like(weights, (6, 6), "mask_with_infinity of (6, 6) scores")


@check("mask_with_infinity", points=0.25, layer="documented")
def test_masked_softmax_gives_the_documented_weights(student, documented, inputs):
    """Raw scores from layers drawn with seed 789 become the documented causal weights."""
    weights = student.call("mask_with_infinity", document_scores(inputs), 2)

    documented["ch03.weights_renormalized"].matches(weights, "The result")


@check("mask_with_infinity", points=0.15, layer="documented")
def test_masked_softmax_of_the_printed_scores(student, documented):
    """The printed scores become the documented weights; scores of later tokens have no effect."""
    printed = documented["ch03.masked_scores"].tensor
    scores = torch.where(printed.isinf(), torch.tensor(0.7), printed)

    # the input is rounded: the 1e-4 of `agrees` allows for this, half a printed unit does not
    expected = documented["ch03.weights_renormalized"].tensor
    agrees(student.call("mask_with_infinity", scores, 2), expected)


@check("mask_with_infinity", points=0.44, layer="probe")
def test_masked_softmax_of_any_scores(student, reference, probe):
    """For hidden inputs of three lengths and three key sizes, the weights are right."""
    for length, d_k in ((T, 12), (8, 3), (1, 2)):
        scores = probe.normal(length, length, scale=4)
        scores[2:3] = 0  # a score of zero is a score, too

        agrees(
            student.call("mask_with_infinity", scores, d_k),
            reference.call("mask_with_infinity", scores, d_k),
        )


@check("mask_with_infinity", points=0.03, layer="laws", rules=("dtype",))
def test_masked_softmax_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    scores = probe.normal(T, T)

    keeps_dtype("mask_with_infinity", scores, D_K)
    last_row_varies(student, "mask_with_infinity", scores, probe.normal(T, T), D_K)


@check("mask_with_infinity", points=0.11, layer="laws")
def test_masked_softmax_rows_sum_to_one(student, probe):
    """Each row sums to one, and its weights are not all equal."""
    weights = causal_weights(student, probe.normal(T, T, scale=3))

    agrees(weights.sum(dim=-1), torch.ones(T), "The vector of row sums")
    equal = weights[-1, :1].expand(T)
    expect(not alike(weights[-1], equal), "All weights of the last row are equal.")


@check("mask_with_infinity", points=0.11, layer="laws")
def test_masked_softmax_hides_later_tokens(student, probe):
    """Later tokens get the weight zero, and all others get a positive weight."""
    weights = causal_weights(student, probe.normal(T, T, scale=3))

    expect((weights.triu(diagonal=1) == 0).all(), "A later token gets a weight that is not zero.")
    expect(
        (weights[*torch.tril_indices(T, T)] > 0).all(), "A visible token gets no positive weight."
    )


@check("mask_with_infinity", points=0.11, layer="laws")
def test_masked_softmax_ignores_later_scores(student, probe):
    """Scores of later tokens have no effect, and those of visible tokens have one."""
    scores, others = probe.normal(T, T, scale=3), probe.normal(T, T, scale=3)
    weights = causal_weights(student, scores)

    later = causal_weights(student, scores.tril() + others.triu(diagonal=1))
    agrees(later, weights, "The result for other scores of later tokens")
    earlier = causal_weights(student, others.tril() + scores.triu(diagonal=1))
    unchanged = alike(earlier[1:], weights[1:])
    expect(not unchanged, "The scores of visible tokens have no effect.")


@check("mask_with_infinity", points=0.11, layer="laws")
def test_masked_softmax_compares_scores_of_a_row(student, probe):
    """A number added to all scores of a row changes nothing; one added to one score does."""
    scores = probe.normal(T, T, scale=3)
    weights = causal_weights(student, scores)
    raised = scores.clone()
    raised[1:, 0] += 4

    shifted = causal_weights(student, scores + torch.arange(1.0, T + 1).unsqueeze(-1))
    agrees(shifted, weights, "The result with a number added to each row")
    gains = causal_weights(student, raised)[1:, 0] > weights[1:, 0]
    expect(gains.all(), "In some row, a greater score does not give a greater weight.")


@check("mask_with_infinity", points=0.11, layer="laws")
def test_masked_softmax_scales_by_the_root_of_the_size(student, probe):
    """Twice the scores with four times d_k give the same; four times d_k alone does not."""
    scores = probe.normal(T, T, scale=3)
    weights = causal_weights(student, scores, D_K)

    both = causal_weights(student, 2 * scores, 4 * D_K)
    agrees(both, weights, "The result for twice the scores with four times d_k")
    alone = causal_weights(student, scores, 4 * D_K)
    expect(not alike(alone, weights), "Four times d_k alone gives the same weights.")


@check("mask_with_infinity", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_masked_softmax_leaves_the_scores_alone(student, probe):
    """The call does not change the scores that it gets."""
    scores = probe.normal(T, T)

    kept = student.keeps_inputs("mask_with_infinity", scores, 3)
    expect(kept, "mask_with_infinity changes the scores that you pass to it.")
    last_row_varies(student, "mask_with_infinity", scores, probe.normal(T, T), 3)


@check("mask_with_infinity", points=0.14, layer="gradients", rules=("gradients",))
def test_masked_softmax_passes_gradients_back(student, reference, probe):
    """The gradients of the scores are right."""
    scores, back = probe.normal(T, T), probe.normal(T, T)

    same_gradients(
        student.gradients("mask_with_infinity", scores, 3, cotangent=back),
        reference.gradients("mask_with_infinity", scores, 3, cotangent=back),
    )


@check("mask_with_infinity", points=0.06, layer="forbidden", rules=("no_loops",))
def test_masked_softmax_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few = student.operators("mask_with_infinity", probe.normal(4, 4), 3)
    many = student.operators("mask_with_infinity", probe.normal(12, 12), 3)

    keeps_operators(few, many, AT_ONCE)
    last_row_varies(student, "mask_with_infinity", probe.normal(T, T), probe.normal(T, T), 3)


# CausalAttention


@check("CausalAttention", points=0.05, layer="signature")
def test_attention_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_in, d_out, context_length, dropout and qkv_bias."""
    student.new("CausalAttention", d_in=6, d_out=3, context_length=4, dropout=0.0, qkv_bias=True)


@check("CausalAttention", points=0.05, layer="signature")
def test_attention_has_no_bias_by_default(student):
    """Without qkv_bias, the layers have no bias."""
    found = student.new("CausalAttention", 6, 3, 4, 0.0).parameters()

    expect(
        not any(held.value.ndim == 1 for held in found.values()),
        "There is a bias although qkv_bias was not given; its default is False.",
    )


@check("CausalAttention", points=0.08, layer="shapes")
def test_attention_gives_each_token_a_context_vector(student, documented):
    """A batch of shape (2, 6, 3) gives context vectors of shape (2, 6, 2)."""
    batch = torch.ones(*documented["ch03.batch.shape"].tensor.tolist())
    context = student.new("CausalAttention", 3, 2, 7, 0.0)(batch)

    shape = tuple(documented["ch03.causal.context.shape"].tensor.tolist())
    tensor_like(context, shape, "CausalAttention(3, 2, 7, 0.0)(batch)")


@check("CausalAttention", points=0.12, layer="parameters")
def test_attention_names_its_layers(student):
    """The layers are named W_query, W_key and W_value, and each is an nn.Linear."""
    found = student.new("CausalAttention", 3, 2, 6, 0.0, PLAIN).parameters()

    for name in WEIGHTS:
        expect(name in found, f"CausalAttention has no parameter {name}.")


@check("CausalAttention", points=0.17, layer="parameters")
def test_attention_draws_the_documented_weights(student, documented):
    """With seed 123, the layers have the documented weights of queries, keys and values."""
    found = student.new("CausalAttention", 3, 2, 6, 0.0, PLAIN, seed=123).named(*WEIGHTS)

    for name in WEIGHTS:
        documented[f"ch03.causal.{name.lower()}"].matches(found[name].value, name)


@check("CausalAttention", points=0.13, layer="parameters")
def test_attention_has_biases_on_request(student, reference):
    """With qkv_bias=True, each of the three layers has a bias, drawn right after its weight."""
    arguments = (D_IN, D_OUT, CONTEXT, 0.0, BIAS)
    yours = student.new("CausalAttention", *arguments, seed=42).named(*BIASED)
    ours = reference.new("CausalAttention", *arguments, seed=42).parameters()

    for name in BIASED:
        agrees(yours[name].value, ours[name].value, f"{name} right after construction")


@check("CausalAttention", points=0.12, layer="parameters", rules=("buffer",))
def test_attention_keeps_its_mask_as_a_buffer(student):
    """`mask` is a buffer: it moves with the module and is not trained."""
    attention = student.new("CausalAttention", D_IN, D_OUT, CONTEXT, 0.0)

    expect("mask" not in attention.parameters(), "mask is a parameter; it should be a buffer.")
    expect("mask" in attention.buffers(), "CausalAttention has no buffer named mask.")
    place = attention.move("meta").get("mask", "")
    expect(place.startswith("meta"), "mask does not move with the module.")


@check("CausalAttention", points=0.06, layer="parameters", rules=("no_seeding",))
def test_attention_is_built_without_a_seed(student):
    """The constructor does not seed torch's generator."""
    drawn = []
    for seed in (5, 6):
        student.new("CausalAttention", D_IN, D_OUT, CONTEXT, DROP, seed=seed)
        drawn.append(student.draws_next())

    expect(
        not torch.equal(*drawn),
        "After the module is built, the random numbers no longer depend on the seed.",
    )


@check("CausalAttention", points=0.5, layer="documented")
def test_attention_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the weights of seed 123, a batch of two equal texts gets the documented context."""
    size, *_ = documented["ch03.batch.shape"].tensor.tolist()
    drawn = reference.new("CausalAttention", 3, 2, 6, 0.0, PLAIN, seed=123).parameters()
    attention = student.new("CausalAttention", 3, 2, 6, 0.0, PLAIN)
    attention.load({name: drawn[name].value for name in WEIGHTS})

    documented["ch03.causal.context"].matches(attention(inputs.repeat(size, 1, 1)), "The context")


@check("CausalAttention", points=0.55, layer="probe")
def test_attention_attends_with_any_weights(student, reference, probe):
    """The result is right for other weights and sizes, and for a batch of different texts."""
    yours, ours = both_attentions(student, reference, probe)
    x = probe.normal(B, CONTEXT, D_IN, scale=SCALE)

    agrees(yours(x), ours(x), "The context")


@check("CausalAttention", points=0.75, layer="probe")
def test_attention_serves_every_length_in_turn(student, reference, probe):
    """One module works for long and short inputs in turn, including a single token."""
    yours, ours = both_attentions(student, reference, probe)
    x = probe.normal(B, CONTEXT, D_IN, scale=SCALE)

    for length, batch in ((6, 2), (CONTEXT, B), (1, B), (T, 1), (CONTEXT, 2)):
        part = x[:batch, :length].contiguous()
        agrees(yours(part), ours(part), "The context")


@check("CausalAttention", points=0.2, layer="probe")
def test_attention_uses_its_biases(student, reference, probe):
    """With qkv_bias=True, the biases are added to queries, keys and values."""
    weights, sizes = random_weights(probe, BIASED), (D_IN, D_OUT, T, 0.0, BIAS)
    yours = student.new("CausalAttention", *sizes).load(weights)
    ours = reference.new("CausalAttention", *sizes).load(weights)
    x = probe.normal(B, T, D_IN, scale=SCALE)

    agrees(yours(x), ours(x), "The context with qkv_bias=True")


@check("CausalAttention", points=0.03, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention = student.new("CausalAttention", D_IN, D_OUT, T + 1, 0.0)
    x = probe.normal(B, T, D_IN, scale=SCALE)

    keeps_dtype(attention, x)
    mixes_tokens(attention, x)


@check("CausalAttention", points=0.18, layer="laws")
def test_attention_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights = random_weights(probe)
    weights["W_value.weight"][:, 1:] = 0  # the value of each token uses only its leading 1
    x = torch.cat([torch.ones(B, T, 1), probe.normal(B, T, D_IN - 1, scale=SCALE)], dim=-1)

    value = weights["W_value.weight"][:, 0].expand(B, T, D_OUT)
    agrees(holding(student, weights)(x), value, "The mixture of equal values")


@check("CausalAttention", points=0.25, layer="laws")
def test_attention_never_looks_ahead(student, probe):
    """Later tokens have no effect on the result of a token, and earlier tokens have one."""
    yours = holding(student, random_weights(probe))
    x = probe.normal(B, T, D_IN, scale=SMALL)
    others = x.clone()
    others[:, 3:] = probe.normal(B, T - 3, D_IN, scale=SCALE)

    before = tensor_like(yours(x), (B, T, D_OUT), "The context")
    after = tensor_like(yours(others), (B, T, D_OUT), "The context")
    sentence = "After a change of the last tokens, the result of the first tokens"
    agrees(after[:, :3], before[:, :3], sentence)
    mixes_tokens(yours, x)


@check("CausalAttention", points=0.18, layer="laws")
def test_attention_gives_the_first_token_its_value(student, probe):
    """The first token attends only to itself: its context vector is its own value."""
    weights, x = random_weights(probe), probe.normal(B, T, D_IN, scale=SCALE)
    context = tensor_like(holding(student, weights)(x), (B, T, D_OUT), "The context")

    agrees(context[:, 0], x[:, 0] @ weights["W_value.weight"].T, "The first token's context vector")


@check("CausalAttention", points=0.19, layer="laws")
def test_attention_finds_the_matching_key(student, probe):
    """A query that matches the key of one earlier token gets the value of this token."""
    weights = random_weights(probe)
    asked = torch.tensor([0, 0, 1, 2, 3])  # each token asks for the key of the one before
    key = MATCH * torch.eye(D_IN, D_OUT)  # token i has feature i only, and key i
    query = torch.cat([key[asked], key[T:]])
    weights |= {"W_query.weight": query.T.contiguous(), "W_key.weight": key.T.contiguous()}
    context = holding(student, weights)(torch.eye(T, D_IN).repeat(B, 1, 1))

    wanted = weights["W_value.weight"].T[asked].expand(B, T, D_OUT)
    agrees(context, wanted, "The result for queries that match one key each")


@check("CausalAttention", points=0.18, layer="laws")
def test_attention_doubles_with_its_values(student, probe):
    """Twice the values give twice the context vectors."""
    weights, x = random_weights(probe), probe.normal(B, T, D_IN, scale=SMALL)
    context = tensor_like(holding(student, weights)(x), (B, T, D_OUT), "The context")
    weights["W_value.weight"] *= 2

    expect(
        not alike(context, torch.zeros(B, T, D_OUT)), "The result is zero, but the values are not."
    )
    agrees(holding(student, weights)(x), 2 * context, "The result for twice the values")


@check("CausalAttention", points=0.2, layer="laws")
def test_attention_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone."""
    yours = holding(student, random_weights(probe))
    x = probe.normal(B, T, D_IN, scale=SMALL)
    together = tensor_like(yours(x), (B, T, D_OUT), "The context")

    for item in range(B):
        agrees(
            yours(x[item : item + 1]),
            together[item : item + 1],
            "The result of an item alone",
            "that in the batch",
        )
    mixes_tokens(yours, x)


@check("CausalAttention", points=0.25, layer="laws")
def test_nothing_drops_in_eval_mode(student, probe):
    """In eval mode, every call gives the result of a module without dropout."""
    yours, x, weights = in_the_open(student, probe)
    plain = student.new("CausalAttention", 22, 32, TOKENS + 1, 0.0, PLAIN).load(weights)
    whole = weights_left(plain, x, probe.seed)
    last = whole[:, -1]
    uneven = not alike(last, last[:, :1].expand(ITEMS, TOKENS))
    expect(
        (visible(whole) > 0).all() and uneven,
        "Without dropout, a visible weight is not positive, or a row has equal weights.",
    )

    yours.eval()
    for _ in range(2):
        agrees(
            yours(x),
            torch.cat((whole, whole), dim=-1),
            "In eval mode, the context",
            "that without dropout",
        )


@check("CausalAttention", points=0.35, layer="laws")
def test_weights_drop_whole_and_the_others_grow(student, probe):
    """In training, each weight after softmax is either set to zero or divided by 1 - dropout."""
    yours, x, _ = in_the_open(student, probe)
    full = weights_left(yours.eval(), x, probe.seed)
    left = weights_left(yours.train(), x, probe.seed)

    some_are_dropped(left)
    agrees(left, torch.where(left == 0, left, full / (1 - DROP)), "The weights that are not 0")


@check("CausalAttention", points=0.19, layer="laws")
def test_weights_that_stay_do_not_depend_on_the_others(student, probe):
    """A weight that two calls in training keep is the same in both of them."""
    yours, x, _ = in_the_open(student, probe)
    first, second = (weights_left(yours, x, probe.seed + call) for call in range(2))
    gone = (first == 0) | (second == 0)

    some_are_dropped(first)
    agrees(
        first.masked_fill(gone, 0),
        second.masked_fill(gone, 0),
        "The weights that are not 0 in two calls",
    )


@check("CausalAttention", points=0.1, layer="laws")
def test_weights_drop_as_often_as_told(student, probe):
    """In training, the share of dropped weights is close to `dropout`."""
    yours, x, _ = in_the_open(student, probe)
    dropped = (visible(weights_left(yours, x, probe.seed)) == 0).float().mean()

    # six standard deviations of a share among 680 weights
    expect(
        abs(float(dropped) - DROP) < 0.11,
        "The result shows a share of zero weights that is not close to `dropout`.",
    )


@check("CausalAttention", points=0.35, layer="laws")
def test_weights_drop_each_on_its_own(student, probe):
    """Each weight is dropped independently of its row, its column and the other items."""
    yours, x, _ = in_the_open(student, probe)
    left = weights_left(yours, x, probe.seed)
    gone = left == 0

    some_are_dropped(left)
    expect((gone[0] != gone[1:]).any(), "The same weights are dropped in every item.")
    last = gone[:, -1]
    expect(
        last.any(dim=-1).ne(last.all(dim=-1)).any(),
        "In the last row of each item, all weights are dropped, or none.",
    )
    lower = gone[:, TOKENS // 2 :, : TOKENS // 2]  # rows in which all these columns are visible
    expect(
        (lower[:, :1] != lower[:, 1:]).any(), "All late rows drop the same early tokens, or none."
    )


@check("CausalAttention", points=0.35, layer="laws")
def test_every_call_in_training_drops_anew(student, probe):
    """Each call in training drops different weights."""
    yours, x, _ = in_the_open(student, probe)
    first = weights_left(yours, x, probe.seed) == 0
    second = weights_left(yours, x, probe.seed + 1) == 0

    expect((first != second).any(), "Two calls in training drop the same weights, or none.")


@check("CausalAttention", points=0.35, layer="laws")
def test_dropout_returns_after_eval_mode(student, probe):
    """Back in training mode after a call in eval mode, weights are dropped again."""
    yours, x, _ = in_the_open(student, probe)
    yours.eval()(x)

    some_are_dropped(weights_left(yours.train(), x, probe.seed))


@check("CausalAttention", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_attention_leaves_its_input_alone(student, probe):
    """The call does not change the input tensor."""
    yours = holding(student, random_weights(probe))
    x = probe.normal(B, T, D_IN, scale=SMALL)

    expect(yours.keeps_inputs(x), "CausalAttention changes the input that you pass to it.")
    mixes_tokens(yours, x)


@check("CausalAttention", points=0.06, layer="laws", rules=("refuses",))
def test_attention_refuses_more_tokens_than_its_context(student, probe):
    """The module accepts context_length tokens and raises an error for more."""
    attention = student.new("CausalAttention", D_IN, D_OUT, CONTEXT, 0.0)

    mixes_tokens(attention, probe.normal(B, CONTEXT, D_IN, scale=SCALE))
    for more in (1, 2, CONTEXT):
        refused = attention.refuses(probe.normal(B, CONTEXT + more, D_IN))
        expect(
            refused,
            "More tokens than context_length give a result; they should raise a ValueError.",
        )


@check("CausalAttention", points=0.03, layer="laws", rules=("no_seeding",))
def test_attention_leaves_the_seed_to_the_caller(student, probe):
    """A call does not seed torch's generator."""
    x = probe.normal(B, T, D_IN)
    drawn = []
    for seed in (5, 6):
        attention = student.new("CausalAttention", D_IN, D_OUT, T, DROP)
        tensor_like(attention(x, seed=seed), (B, T, D_OUT), "The context")
        drawn.append(student.draws_next())

    expect(
        not torch.equal(*drawn),
        "After a call, the random numbers no longer depend on the seed.",
    )


@check("CausalAttention", points=0.34, layer="gradients", rules=("gradients",))
def test_attention_passes_gradients_back(student, reference, probe):
    """The gradients of the input and of the query, key and value weights are right."""
    yours, ours = both_attentions(student, reference, probe, T)
    x, back = probe.normal(B, T, D_IN, scale=SCALE), probe.normal(B, T, D_OUT)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("CausalAttention", points=0.17, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    attention = student.new("CausalAttention", D_IN, D_OUT, T + 1, 0.0)
    x = probe.normal(B, T, D_IN, scale=SMALL)

    avoids(student, "CausalAttention", READY_ATTENTION, BY_HAND)
    avoids_running(attention.operators(x), READY_ATTENTION, BY_HAND)
    mixes_tokens(attention, x)


@check("CausalAttention", points=0.1, layer="forbidden", rules=("no_loops",))
def test_attention_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few, many = (student.new("CausalAttention", D_IN, D_OUT, size, 0.0) for size in (4, CONTEXT))
    x = probe.normal(B, CONTEXT, D_IN, scale=SMALL)

    keeps_operators(few.operators(x[:, :4].contiguous()), many.operators(x), AT_ONCE)
    mixes_tokens(many, x)
