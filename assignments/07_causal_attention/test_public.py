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
        "scaled_dot_product_attention",
    }
)
B, T, D_IN, D_OUT, CONTEXT = 3, 5, 13, 6, 9
SCALE = 0.5  # The spread of the scores is then about 3: every mistake shows, and no visible weight
# underflows, so masking after softmax and normalizing again is as exact as minus infinity.
LAYERS = ("W_query", "W_key", "W_value")
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


def both_attentions(student, reference, probe, **shapes):
    """Build the student's attention and the reference, and load the same large weights."""
    shapes |= {f"{layer}__weight": (D_OUT, D_IN) for layer in LAYERS}
    weights = probe.weights(**shapes)
    biased = [True] if len(weights) > len(LAYERS) else []
    arguments = (D_IN, D_OUT, CONTEXT, 0.0, *biased)
    yours = student.new("CausalAttention", *arguments).load(weights)
    ours = reference.new("CausalAttention", *arguments).load(weights)
    return yours, ours, weights


def in_the_open(student, reference, probe):
    """Build modules whose context vectors contain the attention weights twice.

    Token j has a one at position j, and the value layer copies it to two positions.
    """
    here = torch.eye(TOKENS).expand(ITEMS, TOKENS, TOKENS)
    x = torch.cat((here, probe.normal(ITEMS, TOKENS, 6)), dim=-1)
    once = torch.cat((torch.eye(TOKENS), torch.zeros(TOKENS, 6)), dim=-1)
    weights = probe.weights(W_query__weight=(32, 22), W_key__weight=(32, 22))
    weights = {
        name: 0.4 * weight for name, weight in weights.items()
    }  # no attention weight is near zero
    weights["W_value.weight"] = torch.cat((once, once))
    yours = student.new("CausalAttention", 22, 32, 20, DROP).load(weights)
    ours = reference.new("CausalAttention", 22, 32, 20, DROP).load(weights)
    return yours, ours, x


def weights_left(attention, x, seed):
    """Return the attention weights after dropout in one call in training."""
    context = tensor_like(attention(x, seed=seed), (ITEMS, TOKENS, 2 * TOKENS), "The context")
    first, second = context.split(TOKENS, dim=-1)
    expect(
        torch.equal(first == 0, second == 0),
        (
            "In training, individual features of context vectors are zero; apply dropout to the "
            "attention weights."
        ),
    )
    return first


def visible(left):
    """Return the weights on and below the diagonal, in one row for each item."""
    return left[:, *torch.tril_indices(TOKENS, TOKENS)]


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


@check("mask_then_renormalize", points=0.1, layer="shapes")
def test_renormalized_weights_keep_their_shape(student):
    """Weights of shape (6, 6) give weights of shape (6, 6)."""
    weights = student.call("mask_then_renormalize", torch.full((6, 6), 1 / 6))

    tensor_like(weights, (6, 6), "mask_then_renormalize of (6, 6) weights")


@check("mask_then_renormalize", points=0.5, layer="documented")
def test_renormalized_weights_are_the_documented_ones(student, documented, inputs):
    """Attention weights of layers drawn with seed 789 become the documented causal weights."""
    weights = torch.softmax(document_scores(inputs) / 2**0.5, dim=-1)

    documented["ch03.weights_renormalized"].matches(
        student.call("mask_then_renormalize", weights), "The result"
    )


@check("mask_then_renormalize", points=0.3, layer="documented")
def test_renormalized_weights_from_the_printed_ones(student, documented):
    """The printed weights become the documented ones, even if later weights are zero already."""
    expected = documented["ch03.weights_renormalized"].tensor
    for name in ("ch03.weights", "ch03.weights_times_mask"):
        # the input is rounded: the 1e-4 of `agrees` allows for this, half a printed unit does not
        agrees(student.call("mask_then_renormalize", documented[name].tensor), expected)


@check("mask_then_renormalize", points=0.4, layer="probe")
def test_renormalized_weights_of_any_rows(student, reference, probe):
    """For hidden inputs of three lengths, the visible weights are normalized again."""
    for length in (T, 8, 1):
        weights = torch.softmax(probe.normal(length, length, scale=1.5), dim=-1)

        agrees(
            student.call("mask_then_renormalize", weights),
            reference.call("mask_then_renormalize", weights),
        )


@check("mask_then_renormalize", points=0.1, layer="laws", rules=("dtype",))
def test_renormalizing_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("mask_then_renormalize", probe.normal(T, T).softmax(dim=-1))


@check("mask_then_renormalize", points=0.2, layer="laws")
def test_renormalized_rows_sum_to_one_and_keep_proportions(student, probe):
    """Rows sum to one, later tokens get weight zero, and visible weights keep their ratios."""
    weights = torch.softmax(probe.normal(T, T), dim=-1)
    result = tensor_like(student.call("mask_then_renormalize", weights), (T, T))

    expect((result.triu(diagonal=1) == 0).all(), "A token gives weight to later tokens.")
    expect(alike(result.sum(dim=-1), torch.ones(T)), "Rows do not sum to one.")
    ratios = (result[:, :1] * weights).tril(), (weights[:, :1] * result).tril()
    expect(alike(*ratios), "Visible weights do not keep their ratios.")


@check("mask_then_renormalize", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_renormalizing_leaves_the_weights_alone(student, reference, probe):
    """The result is right, and the caller's weights are unchanged."""
    weights = torch.softmax(probe.normal(T, T), dim=-1)

    agrees(
        student.call("mask_then_renormalize", weights),
        reference.call("mask_then_renormalize", weights),
    )
    kept = student.keeps_inputs("mask_then_renormalize", weights)
    expect(kept, "mask_then_renormalize changes the weights that you pass to it.")


@check("mask_then_renormalize", points=0.2, layer="gradients", rules=("gradients",))
def test_renormalizing_passes_gradients_back(student, reference, probe):
    """The gradients of the weights are right."""
    weights, back = torch.softmax(probe.normal(T, T), dim=-1), probe.normal(T, T)

    same_gradients(
        student.gradients("mask_then_renormalize", weights, cotangent=back),
        reference.gradients("mask_then_renormalize", weights, cotangent=back),
    )


@check("mask_then_renormalize", points=0.1, layer="forbidden", rules=("no_loops",))
def test_renormalizing_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few, many = (torch.softmax(probe.normal(size, size), dim=-1) for size in (4, 12))

    agrees(
        student.call("mask_then_renormalize", many), reference.call("mask_then_renormalize", many)
    )
    few_ran = student.operators("mask_then_renormalize", few)
    keeps_operators(few_ran, student.operators("mask_then_renormalize", many), AT_ONCE)


# mask_with_infinity


@check("mask_with_infinity", points=0.1, layer="shapes")
def test_masked_softmax_has_a_weight_for_every_score(student):
    """Scores of shape (6, 6) give weights of shape (6, 6)."""
    weights = student.call("mask_with_infinity", torch.zeros(6, 6), 2)

    tensor_like(weights, (6, 6), "mask_with_infinity of (6, 6) scores")


@check("mask_with_infinity", points=0.5, layer="documented")
def test_masked_softmax_gives_the_documented_weights(student, documented, inputs):
    """Raw scores from layers drawn with seed 789 become the documented causal weights."""
    weights = student.call("mask_with_infinity", document_scores(inputs), 2)

    documented["ch03.weights_renormalized"].matches(weights, "The result")


@check("mask_with_infinity", points=0.3, layer="documented")
def test_masked_softmax_of_the_printed_scores(student, documented):
    """The printed scores become the documented weights; scores of later tokens have no effect."""
    printed = documented["ch03.masked_scores"].tensor
    scores = torch.where(printed.isinf(), torch.tensor(0.7), printed)

    # the input is rounded: the 1e-4 of `agrees` allows for this, half a printed unit does not
    expected = documented["ch03.weights_renormalized"].tensor
    agrees(student.call("mask_with_infinity", scores, 2), expected)


@check("mask_with_infinity", points=0.4, layer="probe")
def test_masked_softmax_of_any_scores(student, reference, probe):
    """For hidden inputs of three lengths and three key sizes, the weights are right."""
    for length, d_k in ((T, 12), (8, 3), (1, 2)):
        scores = probe.normal(length, length, scale=4)

        agrees(
            student.call("mask_with_infinity", scores, d_k),
            reference.call("mask_with_infinity", scores, d_k),
        )


@check("mask_with_infinity", points=0.1, layer="laws", rules=("dtype",))
def test_masked_softmax_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("mask_with_infinity", probe.normal(T, T), D_OUT)


@check("mask_with_infinity", points=0.2, layer="laws")
def test_both_routes_come_to_the_same(student, reference, probe):
    """Masking the scores gives the same result as masking and renormalizing the weights."""
    scores = probe.normal(T, T, scale=3)
    weights = torch.softmax(scores / 11**0.5, dim=-1)

    agrees(
        student.call("mask_with_infinity", scores, 11),
        reference.call("mask_then_renormalize", weights),
        "The result of mask_with_infinity",
    )


@check("mask_with_infinity", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_masked_softmax_leaves_the_scores_alone(student, reference, probe):
    """The weights are right, and the scores are unchanged."""
    scores = probe.normal(T, T)

    agrees(
        student.call("mask_with_infinity", scores, 3),
        reference.call("mask_with_infinity", scores, 3),
    )
    kept = student.keeps_inputs("mask_with_infinity", scores, 3)
    expect(kept, "mask_with_infinity changes the scores that you pass to it.")


@check("mask_with_infinity", points=0.2, layer="gradients", rules=("gradients",))
def test_masked_softmax_passes_gradients_back(student, reference, probe):
    """The gradients of the scores are right."""
    scores, back = probe.normal(T, T), probe.normal(T, T)

    same_gradients(
        student.gradients("mask_with_infinity", scores, 3, cotangent=back),
        reference.gradients("mask_with_infinity", scores, 3, cotangent=back),
    )


@check("mask_with_infinity", points=0.1, layer="forbidden", rules=("no_loops",))
def test_masked_softmax_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few, many = probe.normal(4, 4), probe.normal(12, 12)

    agrees(
        student.call("mask_with_infinity", many, 3), reference.call("mask_with_infinity", many, 3)
    )
    few_ran = student.operators("mask_with_infinity", few, 3)
    keeps_operators(few_ran, student.operators("mask_with_infinity", many, 3), AT_ONCE)


# CausalAttention


@check("CausalAttention", points=0.1, layer="signature")
def test_attention_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_in, d_out, context_length, dropout and qkv_bias."""
    attention = student.new(
        "CausalAttention", d_in=6, d_out=3, context_length=4, dropout=0.0, qkv_bias=True
    )

    tensor_like(attention(torch.ones(2, 4, 6)), (2, 4, 3), "The result for (2, 4, 6)")


@check("CausalAttention", points=0.2, layer="shapes")
def test_attention_gives_each_token_a_context_vector(student, documented):
    """A batch of shape (2, 6, 3) gives context vectors of shape (2, 6, 2)."""
    batch = torch.ones(*documented["ch03.batch.shape"].tensor.tolist())
    context = student.new("CausalAttention", 3, 2, 6, 0.0)(batch)

    shape = tuple(documented["ch03.causal.context.shape"].tensor.tolist())
    tensor_like(context, shape, "CausalAttention(3, 2, 6, 0.0)(batch)")


@check("CausalAttention", points=0.4, layer="parameters")
def test_attention_draws_the_documented_weights(student, documented):
    """W_query, W_key and W_value have no bias and, with seed 123, the documented weights."""
    parameters = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123).parameters()

    for layer in LAYERS:
        name = f"{layer}.weight"
        expect(name in parameters, f"CausalAttention has no parameter {name}.")
        documented[f"ch03.causal.{name.lower()}"].matches(parameters[name].value, name)
        expect(f"{layer}.bias" not in parameters, f"{layer} has a bias, but qkv_bias is false.")


@check("CausalAttention", points=0.1, layer="parameters")
def test_attention_has_biases_on_request(student, reference):
    """With qkv_bias=True, each of the three layers has a bias."""
    arguments = (D_IN, D_OUT, CONTEXT, 0.0, True)
    yours = student.new("CausalAttention", *arguments, seed=42).parameters()
    ours = reference.new("CausalAttention", *arguments, seed=42).parameters()

    for name, parameter in ours.items():
        expect(name in yours, f"With qkv_bias=True, there is no parameter {name}.")
        agrees(yours[name].value, parameter.value, name)


@check("CausalAttention", points=0.2, layer="parameters", rules=("buffer",))
def test_attention_keeps_its_mask_as_a_buffer(student):
    """`mask` is a buffer: it moves with the module and is not trained."""
    attention = student.new("CausalAttention", D_IN, D_OUT, CONTEXT, 0.0)

    expect("mask" not in attention.parameters(), "mask is a parameter; it should be a buffer.")
    expect("mask" in attention.buffers(), "CausalAttention has no buffer named mask.")
    place = attention.move("meta").get("mask", "")
    expect(place.startswith("meta"), "mask does not move with the module.")


@check("CausalAttention", points=0.4, layer="documented")
def test_attention_reproduces_the_documented_context(student, documented, inputs):
    """With seed 123, a batch of two equal texts gets the documented context vectors."""
    size, *_ = documented["ch03.batch.shape"].tensor.tolist()
    attention = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123)

    documented["ch03.causal.context"].matches(attention(inputs.repeat(size, 1, 1)), "The context")


@check("CausalAttention", points=0.4, layer="probe")
def test_attention_attends_with_any_weights(student, reference, probe):
    """The result is right for other weights and sizes, and for a batch of different short texts."""
    yours, ours, _ = both_attentions(student, reference, probe)
    x = probe.normal(B, T, D_IN, scale=SCALE)

    agrees(yours(x), ours(x), "The context")


@check("CausalAttention", points=0.1, layer="probe")
def test_attention_uses_its_biases(student, reference, probe):
    """With qkv_bias=True, the biases are added to queries, keys and values."""
    biases = {f"{layer}__bias": (D_OUT,) for layer in LAYERS}
    yours, ours, _ = both_attentions(student, reference, probe, **biases)
    x = probe.normal(B, T, D_IN, scale=SCALE)

    agrees(yours(x), ours(x), "The context")


@check("CausalAttention", points=0.2, layer="probe")
def test_attention_serves_every_length_in_turn(student, reference, probe):
    """One module works for long and short inputs in turn, including a single token."""
    yours, ours, _ = both_attentions(student, reference, probe)
    x = probe.normal(B, CONTEXT, D_IN, scale=SCALE)

    for length, batch in ((CONTEXT, B), (1, B), (6, 2), (T, 1), (CONTEXT, 2)):
        part = x[:batch, :length].contiguous()
        agrees(yours(part), ours(part), "The context")


@check("CausalAttention", points=0.1, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention = student.new("CausalAttention", D_IN, D_OUT, CONTEXT, 0.0)
    keeps_dtype(attention, probe.normal(B, T, D_IN))


@check("CausalAttention", points=0.2, layer="laws")
def test_attention_never_looks_ahead(student, reference, probe):
    """No token attends to later tokens, and the first token attends only to itself."""
    yours, _, weights = both_attentions(student, reference, probe)
    x = probe.normal(B, T, D_IN, scale=SCALE)
    others = x.clone()
    others[:, 3:] = probe.normal(B, T - 3, D_IN, scale=SCALE)

    before = tensor_like(yours(x), (B, T, D_OUT), "The context")
    after = tensor_like(yours(others), (B, T, D_OUT), "The context")
    unchanged = alike(after[:, 3:], before[:, 3:])
    expect(not unchanged, "Changing the last tokens does not change their own results.")
    sentence = "After a change of the last tokens, the result of the first tokens"
    agrees(after[:, :3], before[:, :3], sentence)
    agrees(before[:, 0], x[:, 0] @ weights["W_value.weight"].T, "The first token's context vector")


@check("CausalAttention", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_attention_keeps_the_items_of_a_batch_apart(student, reference, probe):
    """Each item of a batch gets the same result as it would alone, and the input is unchanged."""
    yours, ours, _ = both_attentions(student, reference, probe)
    x = probe.normal(B, T, D_IN, scale=SCALE)

    together = tensor_like(yours(x), (B, T, D_OUT), "The context")
    agrees(together, ours(x), "The context")
    for item in range(B):
        agrees(yours(x[item : item + 1]), together[item : item + 1], "The result of an item alone")
    expect(yours.keeps_inputs(x), "CausalAttention changes the input that you pass to it.")


@check("CausalAttention", points=0.1, layer="laws", rules=("refuses",))
def test_attention_refuses_more_tokens_than_its_context(student, probe):
    """The module accepts context_length tokens and raises an error for more."""
    attention = student.new("CausalAttention", D_IN, D_OUT, CONTEXT, 0.0)

    full = attention(probe.normal(B, CONTEXT, D_IN))
    tensor_like(full, (B, CONTEXT, D_OUT), "The result for a full context")
    for more in (1, 2, CONTEXT):
        refused = attention.refuses(probe.normal(B, CONTEXT + more, D_IN))
        expect(
            refused,
            "More tokens than context_length give a result; they should raise a ValueError.",
        )


@check("CausalAttention", points=0.1, layer="laws", rules=("no_seeding",))
def test_attention_leaves_the_seed_to_the_caller(student, probe):
    """The module does not seed torch's generator when it is built or called."""
    x = probe.normal(B, T, D_IN)
    drawn = []
    for seed in (5, 6):
        attention = student.new("CausalAttention", D_IN, D_OUT, CONTEXT, DROP, seed=seed)
        built = student.draws_next()
        tensor_like(attention(x, seed=seed), (B, T, D_OUT), "The context")
        drawn += [(built, student.draws_next())]

    expect(
        not torch.equal(drawn[0][0], drawn[1][0]),
        "After the module is built, the random numbers no longer depend on the seed.",
    )
    expect(
        not torch.equal(drawn[0][1], drawn[1][1]),
        "After a call, the random numbers no longer depend on the seed.",
    )


@check("CausalAttention", points=0.2, layer="laws")
def test_nothing_drops_in_eval_mode(student, reference, probe):
    """In eval mode, no attention weight is dropped in any call."""
    yours, ours, x = in_the_open(student, reference, probe)
    yours.eval()

    for _ in range(2):
        agrees(yours(x), ours.eval()(x), "In eval mode, the context")


@check("CausalAttention", points=0.3, layer="laws")
def test_weights_drop_whole_and_the_others_grow(student, reference, probe):
    """In training, each weight after softmax is either set to zero or divided by 1 - dropout."""
    yours, ours, x = in_the_open(student, reference, probe)
    left = weights_left(yours, x, probe.seed)
    full = weights_left(ours.eval(), x, probe.seed)

    expect((visible(left) == 0).any(), "In training, the result shows no attention weight of zero.")
    expect(
        (visible(left) != 0).any(), "In training, the result shows only attention weights of zero."
    )
    agrees(
        left, torch.where(left == 0, left, full / (1 - DROP)), "The weights that are not dropped"
    )


@check("CausalAttention", points=0.1, layer="laws")
def test_weights_drop_as_often_as_told(student, reference, probe):
    """In training, the share of dropped weights is close to `dropout`."""
    yours, _, x = in_the_open(student, reference, probe)
    dropped = (visible(weights_left(yours, x, probe.seed)) == 0).float().mean()

    # six standard deviations of a share among 680 weights
    expect(
        abs(float(dropped) - DROP) < 0.11,
        "The share of weights that are zero is not close to `dropout`.",
    )


@check("CausalAttention", points=0.2, layer="laws")
def test_weights_drop_each_on_its_own(student, reference, probe):
    """Each weight is dropped independently of its row, its column and the other items."""
    yours, _, x = in_the_open(student, reference, probe)
    gone = weights_left(yours, x, probe.seed) == 0

    expect(
        0 < visible(gone).sum() < visible(gone).numel(),
        "In training, either all weights in the result are zero, or none are.",
    )
    expect((gone[0] != gone[1:]).any(), "The same weights are dropped in every item.")
    last = gone[:, -1]
    expect(
        last.any(dim=-1).ne(last.all(dim=-1)).any(), "All weights of a token are dropped together."
    )
    lower = gone[:, TOKENS // 2 :, : TOKENS // 2]  # rows in which all these columns are visible
    expect((lower[:, :1] != lower[:, 1:]).any(), "The same columns are dropped in every row.")


@check("CausalAttention", points=0.1, layer="laws")
def test_every_call_in_training_drops_anew(student, reference, probe):
    """Each call in training drops different weights, and dropout works again after eval mode."""
    yours, _, x = in_the_open(student, reference, probe)
    first = weights_left(yours, x, probe.seed) == 0
    second = weights_left(yours, x, probe.seed + 1) == 0

    expect((first != second).any(), "In two calls in training, the same weights are zero.")
    yours.eval()(x)
    left = visible(weights_left(yours.train(), x, probe.seed))
    expect((left == 0).any(), "Back in training mode after eval mode, no weight is zero.")


@check("CausalAttention", points=0.2, layer="gradients", rules=("gradients",))
def test_attention_passes_gradients_back(student, reference, probe):
    """The gradients of the input and of the query, key and value weights are right."""
    yours, ours, _ = both_attentions(student, reference, probe)
    x, back = probe.normal(B, T, D_IN, scale=SCALE), probe.normal(B, T, D_OUT)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("CausalAttention", points=2.0, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours, _ = both_attentions(student, reference, probe)
    x = probe.normal(B, T, D_IN, scale=SCALE)

    avoids(student, "CausalAttention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    agrees(yours(x), ours(x), "The context")


@check("CausalAttention", points=0.2, layer="forbidden", rules=("no_loops",))
def test_attention_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours, ours, _ = both_attentions(student, reference, probe)
    x = probe.normal(B, CONTEXT - 1, D_IN, scale=SCALE)

    agrees(yours(x), ours(x), "The context")
    few = yours.operators(x[:, :4].contiguous())
    keeps_operators(few, yours.operators(x), AT_ONCE)
