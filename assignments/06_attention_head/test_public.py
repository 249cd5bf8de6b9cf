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

# The arguments of each class; its first check grades their order.
CONSTRUCTORS = {
    "AttentionHead": ("embedding_dim", "head_size", "block_size"),
}


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
B, T, C, HEAD, BLOCK = 3, 7, 13, 5, 11  # all different, so that no wrong axis fits by chance
# Scores then have a standard deviation of about 3: every mistake shows, and no visible weight
# underflows, so that masking after softmax and normalizing again is as exact as minus infinity.
SCALE = 0.5
BY_HAND = "Compute scores, weights and context vectors yourself: this is the task of this stage."
AT_ONCE = "Use one matrix product for all tokens at once."


def both_heads(student, reference, probe):
    """Build the student's head and the reference's, and load the same large weights into both."""
    weights = probe.weights(key__weight=(HEAD, C), query__weight=(HEAD, C), value__weight=(HEAD, C))
    yours = student.new("AttentionHead", C, HEAD, BLOCK).load(weights)
    ours = reference.new("AttentionHead", C, HEAD, BLOCK).load(weights)
    return yours, ours, weights


def same_gradients(yours, ours, *inputs):
    """Compare the gradients of the parameters and of the named *inputs*."""
    arrivals = yours.parameters | dict(zip(inputs, yours.inputs, strict=False))
    expected = ours.parameters | dict(zip(inputs, ours.inputs, strict=False))
    for name, gradient in expected.items():
        arrived = arrivals.get(name)
        expect(arrived is not None, f"No gradient reaches {name}: is the result in the graph?")
        agrees(arrived, gradient, f"The gradient of {name}")


# scaled_scores


@check("scaled_scores", points=0.1, layer="shapes")
def test_scores_compare_every_query_with_every_key(student):
    """For 4 items of 8 tokens, every query has a score with every key of its item: (4, 8, 8)."""
    scores = student.call("scaled_scores", torch.ones(4, 8, 16), torch.ones(4, 8, 16))

    tensor_like(scores, (4, 8, 8), "scaled_scores of two (4, 8, 16) tensors")


@check("scaled_scores", points=0.8, layer="probe")
def test_scores_are_scaled_dot_products(student, reference, probe):
    """For hidden queries and keys of two sizes, every score is the scaled dot product."""
    for d in (HEAD, 3):
        queries, keys = probe.normal(B, T, d, scale=1.5), probe.normal(B, T, d, scale=1.5)

        agrees(
            student.call("scaled_scores", queries, keys),
            reference.call("scaled_scores", queries, keys),
        )


@check("scaled_scores", points=0.1, layer="probe")
def test_scores_of_a_single_token(student, reference, probe):
    """A single token has a single score, the score of its query with its own key."""
    queries, keys = probe.normal(B, 1, HEAD), probe.normal(B, 1, HEAD)

    agrees(
        student.call("scaled_scores", queries, keys), reference.call("scaled_scores", queries, keys)
    )


@check("scaled_scores", points=0.1, layer="laws", rules=("dtype",))
def test_scores_keep_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("scaled_scores", probe.normal(B, T, HEAD), probe.normal(B, T, HEAD))


@check("scaled_scores", points=0.3, layer="laws")
def test_scores_vary_alike_at_every_size(student, probe):
    """The variance of the scores does not grow with the size of the vectors."""
    for d in (4, 64, 256):
        queries, keys = probe.normal(B, 40, d), probe.normal(B, 40, d)
        scores = tensor_like(student.call("scaled_scores", queries, keys), (B, 40, 40))

        variance = float(scores.double().var())
        expect(
            0.5 < variance < 1.8,  # 1 in theory; five standard deviations of the estimate at d = 4
            "The variance of the scores depends on the size of queries and keys.",
        )


@check("scaled_scores", points=0.2, layer="laws")
def test_scores_of_a_row_belong_to_one_query(student, probe):
    """Changing one query changes only its own row in its own item."""
    queries, keys = probe.normal(B, T, HEAD), probe.normal(B, T, HEAD)
    others = queries.clone()
    others[1, 2] += 3

    before = tensor_like(student.call("scaled_scores", queries, keys), (B, T, T))
    after = tensor_like(student.call("scaled_scores", others, keys), (B, T, T))
    unchanged = alike(after[1, 2], before[1, 2])
    expect(not unchanged, "A change of one query does not change its row of scores.")
    rest = torch.ones(B, T, dtype=torch.bool)
    rest[1, 2] = False
    expect(
        alike(after[rest], before[rest]),
        "A change of one query changes the scores of other queries.",
    )


@check("scaled_scores", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_scores_leave_queries_and_keys_alone(student, reference, probe):
    """The scores are right, and queries and keys are unchanged."""
    queries, keys = probe.normal(B, T, HEAD), probe.normal(B, T, HEAD)

    agrees(
        student.call("scaled_scores", queries, keys), reference.call("scaled_scores", queries, keys)
    )
    kept = student.keeps_inputs("scaled_scores", queries, keys)
    expect(kept, "scaled_scores changes the queries or keys that you pass to it.")


@check("scaled_scores", points=0.2, layer="gradients", rules=("gradients",))
def test_scores_pass_gradients_back(student, reference, probe):
    """The gradients of the queries and the keys are right."""
    queries, keys = probe.normal(B, T, HEAD), probe.normal(B, T, HEAD)
    back = probe.normal(B, T, T)

    same_gradients(
        student.gradients("scaled_scores", queries, keys, cotangent=back),
        reference.gradients("scaled_scores", queries, keys, cotangent=back),
        "the queries",
        "the keys",
    )


@check("scaled_scores", points=0.1, layer="forbidden", rules=("no_loops",))
def test_scores_need_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    queries, keys = probe.normal(B, 12, HEAD), probe.normal(B, 12, HEAD)

    agrees(
        student.call("scaled_scores", queries, keys), reference.call("scaled_scores", queries, keys)
    )
    few = student.operators("scaled_scores", queries[:, :4], keys[:, :4])
    keeps_operators(few, student.operators("scaled_scores", queries, keys), AT_ONCE)


# causal_pattern


@check("causal_pattern", points=0.1, layer="shapes")
def test_pattern_has_a_weight_for_every_score(student):
    """Scores of shape (4, 8, 8) give weights of shape (4, 8, 8)."""
    pattern = student.call("causal_pattern", torch.zeros(4, 8, 8))

    tensor_like(pattern, (4, 8, 8), "causal_pattern of (4, 8, 8) scores")


@check("causal_pattern", points=0.6, layer="probe")
def test_pattern_is_a_softmax_over_what_is_visible(student, reference, probe):
    """For hidden inputs of three lengths, every row is the softmax over its visible scores."""
    for length in (T, 4, 1):
        scores = probe.normal(B, length, length, scale=2)

        agrees(student.call("causal_pattern", scores), reference.call("causal_pattern", scores))


@check("causal_pattern", points=0.1, layer="laws", rules=("dtype",))
def test_pattern_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("causal_pattern", probe.normal(B, T, T))


@check("causal_pattern", points=0.3, layer="laws")
def test_pattern_shares_out_one_whole_among_the_visible(student, probe):
    """Each row sums to one, no weight is negative, and later tokens get exactly zero."""
    pattern = tensor_like(
        student.call("causal_pattern", probe.normal(B, T, T, scale=2)), (B, T, T), "The pattern"
    )

    expect(not pattern.isnan().any(), "The weights contain NaN.")
    expect((pattern >= 0).all(), "There are negative weights.")
    expect((pattern.triu(diagonal=1) == 0).all(), "A token gives weight to later tokens.")
    sums = pattern.sum(dim=-1)
    expect(alike(sums, torch.ones(B, T)), "The rows do not sum to one.")


@check("causal_pattern", points=0.2, layer="laws")
def test_pattern_of_equal_scores_averages(student, probe):
    """If all scores are equal, all visible tokens get equal weights."""
    visible = torch.tril(torch.ones(T, T))
    averaging = (visible / visible.sum(dim=-1, keepdim=True)).expand(B, T, T)
    equal = probe.normal(B, 1, 1).expand(B, T, T).contiguous()

    agrees(student.call("causal_pattern", equal), averaging)


@check("causal_pattern", points=0.3, layer="laws")
def test_pattern_ignores_scores_of_the_future(student, probe):
    """Hidden scores do not affect the weights; the last row is the softmax of all its scores."""
    scores = probe.normal(B, T, T, scale=2)
    others = scores.tril() + probe.normal(B, T, T, scale=2).triu(diagonal=1)

    pattern = tensor_like(student.call("causal_pattern", scores), (B, T, T), "The pattern")
    agrees(
        student.call("causal_pattern", others),
        pattern,
        "After a change of hidden scores the pattern",
    )
    agrees(pattern[:, -1], torch.softmax(scores[:, -1], dim=-1), "The last token's row")


@check("causal_pattern", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_pattern_leaves_the_scores_alone(student, reference, probe):
    """The pattern is right, and the scores are unchanged."""
    scores = probe.normal(B, T, T)

    agrees(student.call("causal_pattern", scores), reference.call("causal_pattern", scores))
    kept = student.keeps_inputs("causal_pattern", scores)
    expect(kept, "causal_pattern changes the scores that you pass to it.")


@check("causal_pattern", points=0.2, layer="gradients", rules=("gradients",))
def test_pattern_passes_gradients_back(student, reference, probe):
    """The gradients of the scores are right."""
    scores, back = probe.normal(B, T, T), probe.normal(B, T, T)

    same_gradients(
        student.gradients("causal_pattern", scores, cotangent=back),
        reference.gradients("causal_pattern", scores, cotangent=back),
        "the scores",
    )


@check("causal_pattern", points=0.1, layer="forbidden", rules=("no_loops",))
def test_pattern_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    scores = probe.normal(B, 12, 12)

    agrees(student.call("causal_pattern", scores), reference.call("causal_pattern", scores))
    few = student.operators("causal_pattern", scores[:, :4, :4].contiguous())
    keeps_operators(few, student.operators("causal_pattern", scores), AT_ONCE)


# AttentionHead


@check("AttentionHead", points=0.1, layer="signature")
def test_head_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes embedding_dim, head_size and block_size, by position or by name."""
    head = student.new("AttentionHead", embedding_dim=6, head_size=3, block_size=4)

    tensor_like(head(torch.ones(2, 4, 6)), (2, 4, 3), "The head's result for (2, 4, 6)")


@check("AttentionHead", points=0.2, layer="shapes")
def test_head_gives_each_token_a_vector_of_head_size(student, documented):
    """With head_size 16, an input of shape (4, 8, 32) gives a result of shape (4, 8, 16)."""
    context = student.new("AttentionHead", 32, 16, 8)(torch.ones(4, 8, 32))

    shape = tuple(documented["004.head.context.shape"].tensor.tolist())
    tensor_like(context, shape, "AttentionHead(32, 16, 8) of (4, 8, 32)")


@check("AttentionHead", points=0.5, layer="parameters")
def test_head_makes_key_query_and_value_in_this_order(student, reference):
    """With seed 42, the layers are created in the order key, query, value, without bias."""
    yours = student.new("AttentionHead", C, HEAD, BLOCK, seed=42).parameters()
    ours = reference.new("AttentionHead", C, HEAD, BLOCK, seed=42).parameters()

    for name, parameter in ours.items():
        expect(name in yours, f"AttentionHead has no parameter {name}.")
        agrees(yours[name].value, parameter.value, name)
        layer = name.removesuffix(".weight")
        expect(f"{layer}.bias" not in yours, f"The layer {layer} has a bias; it should have none.")


@check("AttentionHead", points=0.5, layer="documented")
def test_head_computes_what_the_document_computes(student, reference, documented):
    """With the documented sizes and seed 42, the context vectors are right."""
    shape = documented["004.head.context.shape"].tensor.tolist()
    x = torch.randn(*shape[:2], 32, generator=torch.Generator().manual_seed(4))
    yours = student.new("AttentionHead", 32, shape[2], shape[1], seed=42)
    ours = reference.new("AttentionHead", 32, shape[2], shape[1], seed=42)

    agrees(yours(x), ours(x), "The context")


@check("AttentionHead", points=0.6, layer="probe")
def test_head_attends_with_any_weights(student, reference, probe):
    """The result is right for other weights and sizes and for fewer tokens than block_size."""
    yours, ours, _ = both_heads(student, reference, probe)
    x = probe.normal(B, T, C, scale=SCALE)

    agrees(yours(x), ours(x), "The context")


@check("AttentionHead", points=0.3, layer="probe")
def test_head_serves_every_length_in_turn(student, reference, probe):
    """One head works for long and short inputs one after the other, including a single token."""
    yours, ours, _ = both_heads(student, reference, probe)
    x = probe.normal(B, BLOCK, C, scale=SCALE)

    for length, batch in ((BLOCK, B), (1, B), (4, 2), (T, 1), (BLOCK, 2)):
        part = x[:batch, :length].contiguous()
        agrees(yours(part), ours(part), "The context")


@check("AttentionHead", points=0.1, layer="laws", rules=("dtype",))
def test_head_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype(student.new("AttentionHead", C, HEAD, BLOCK), probe.normal(B, T, C))


@check("AttentionHead", points=0.3, layer="laws")
def test_head_never_looks_ahead(student, reference, probe):
    """Changing the last tokens changes their own results and no earlier result."""
    yours, _, _ = both_heads(student, reference, probe)
    x = probe.normal(B, T, C, scale=SCALE)
    others = x.clone()
    others[:, 4:] = probe.normal(B, T - 4, C, scale=SCALE)

    before = tensor_like(yours(x), (B, T, HEAD), "The context")
    after = tensor_like(yours(others), (B, T, HEAD), "The context")
    expect(
        not alike(after[:, 4:], before[:, 4:]),
        "A change of the last tokens does not change their own results.",
    )
    agrees(
        after[:, :4],
        before[:, :4],
        "After a change of the last tokens, the result of the first tokens",
    )


@check("AttentionHead", points=0.2, layer="laws")
def test_head_gives_the_first_token_its_own_value(student, reference, probe):
    """The first token attends only to itself, so its context vector is its own value."""
    yours, _, weights = both_heads(student, reference, probe)
    x = probe.normal(B, T, C, scale=SCALE)

    context = tensor_like(yours(x), (B, T, HEAD), "The context")
    agrees(context[:, 0], x[:, 0] @ weights["value.weight"].T, "The first token's context vector")


@check("AttentionHead", points=0.2, layer="laws", rules=("inputs_unchanged",))
def test_head_keeps_the_items_of_a_batch_apart(student, reference, probe):
    """Each item of a batch gets the same result as it would alone, and the input is unchanged."""
    yours, ours, _ = both_heads(student, reference, probe)
    x = probe.normal(B, T, C, scale=SCALE)

    together = tensor_like(yours(x), (B, T, HEAD), "The context")
    agrees(together, ours(x), "The context")
    for item in range(B):
        agrees(yours(x[item : item + 1]), together[item : item + 1], "The result of an item alone")
    expect(yours.keeps_inputs(x), "AttentionHead changes the input that you pass to it.")


@check("AttentionHead", points=0.2, layer="laws", rules=("refuses",))
def test_head_refuses_more_tokens_than_its_block(student, probe):
    """The head accepts block_size tokens and raises an error for more."""
    head = student.new("AttentionHead", C, HEAD, BLOCK)

    tensor_like(head(probe.normal(B, BLOCK, C)), (B, BLOCK, HEAD), "The context of a full block")
    for more in (1, 2, BLOCK):
        refused = head.refuses(probe.normal(B, BLOCK + more, C))
        expect(
            refused, "More tokens than block_size give a result; they should raise a ValueError."
        )


@check("AttentionHead", points=0.2, layer="laws", rules=("buffer",))
def test_head_keeps_tril_as_a_buffer(student):
    """`tril` is a buffer: it moves with the module and is not trained."""
    head = student.new("AttentionHead", C, HEAD, BLOCK)

    expect("tril" not in head.parameters(), "tril is a parameter; an optimizer would train it.")
    expect("tril" in head.buffers(), "AttentionHead has no buffer named tril.")
    place = head.move("meta").get("tril", "")
    expect(place.startswith("meta"), "tril does not move with the module.")


@check("AttentionHead", points=0.1, layer="laws", rules=("no_seeding",))
def test_head_leaves_the_seed_to_the_caller(student, probe):
    """The head does not seed torch's generator when it is created or called."""
    x = probe.normal(B, T, C)
    drawn = []
    for seed in (5, 6):
        head = student.new("AttentionHead", C, HEAD, BLOCK, seed=seed)
        built = student.draws_next()
        tensor_like(head(x, seed=seed), (B, T, HEAD), "The context")
        drawn += [(built, student.draws_next())]

    expect(
        not torch.equal(drawn[0][0], drawn[1][0]),
        "After the head is created, the random numbers no longer depend on the seed.",
    )
    expect(
        not torch.equal(drawn[0][1], drawn[1][1]),
        "After a call, the random numbers no longer depend on the seed.",
    )


@check("AttentionHead", points=0.3, layer="gradients", rules=("gradients",))
def test_head_passes_gradients_back(student, reference, probe):
    """The gradients of the input and of the weights of key, query and value are right."""
    yours, ours, _ = both_heads(student, reference, probe)
    x, back = probe.normal(B, T, C, scale=SCALE), probe.normal(B, T, HEAD)

    arrived = yours.gradients(x, cotangent=back)
    same_gradients(arrived, ours.gradients(x, cotangent=back), "the input")


@check("AttentionHead", points=2.0, layer="forbidden", rules=("no_ready_attention",))
def test_head_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours, _ = both_heads(student, reference, probe)
    x = probe.normal(B, T, C, scale=SCALE)

    avoids(student, "AttentionHead", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    agrees(yours(x), ours(x), "The context")


@check("AttentionHead", points=0.2, layer="forbidden", rules=("no_loops",))
def test_head_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours, ours, _ = both_heads(student, reference, probe)
    x = probe.normal(B, BLOCK - 1, C, scale=SCALE)

    agrees(yours(x), ours(x), "The context")
    few = yours.operators(x[:, :4].contiguous())
    keeps_operators(few, yours.operators(x), AT_ONCE)
