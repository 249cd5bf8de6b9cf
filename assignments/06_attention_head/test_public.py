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
B, T, C, HEAD, BLOCK = 3, 7, 13, 5, 11  # all different, so that no wrong axis fits by chance
WEIGHTS = ("key.weight", "query.weight", "value.weight")
SCALE = 0.5
TINY = 0.1
MATCH = 8.0
BY_HAND = "Compute scores, weights and context vectors yourself: this is the task of this stage."
AT_ONCE = "Use one matrix product for all tokens at once."


def random_weights(probe):
    """Draw large weights for the three layers of a head."""
    return probe.weights(**dict.fromkeys(WEIGHTS, (HEAD, C)))


def both_heads(student, reference, probe):
    """Build the student's head and the reference's, and load the same large weights into both."""
    weights = random_weights(probe)
    yours = student.new("AttentionHead", C, HEAD, BLOCK).load(weights)
    return yours, reference.new("AttentionHead", C, HEAD, BLOCK).load(weights)


def your_head(student, probe):
    """Build the student's head with large weights."""
    return student.new("AttentionHead", C, HEAD, BLOCK).load(random_weights(probe))


def same_gradients(yours, ours, *inputs):
    """Compare the gradients of the parameters and of the named *inputs*."""
    arrivals = yours.parameters | dict(zip(inputs, yours.inputs, strict=False))
    expected = ours.parameters | dict(zip(inputs, ours.inputs, strict=False))
    for name, gradient in expected.items():
        arrived = arrivals.get(name)
        expect(arrived is not None, f"No gradient reaches {name}: is the result in the graph?")
        agrees(arrived, gradient, f"The gradient of {name}")


def follows(before, after):
    """Expect that the result of a call depends on its arguments."""
    expect(not alike(after, before), "Other arguments give the same result.")


def scores_follow(student, queries, keys):
    """Expect that scores depend on queries and keys."""
    shape = (len(keys), queries.shape[1], keys.shape[1])
    before = tensor_like(student.call("scaled_scores", queries, keys), shape)
    for others in ((queries + 1, keys), (queries, keys + 1)):
        follows(before, tensor_like(student.call("scaled_scores", *others), shape))


def pattern_follows(student, scores):
    """Expect that the weights depend on the scores."""
    before = tensor_like(student.call("causal_pattern", scores), tuple(scores.shape))
    after = student.call("causal_pattern", scores.flip(-1))
    follows(before, tensor_like(after, tuple(scores.shape)))


def mixes_tokens(head, x):
    """Expect that a change of the first token changes the result of the last one."""
    other = x.clone()
    other[:, 0] += 1
    shape = (*x.shape[:2], HEAD)
    before, after = tensor_like(head(x), shape), tensor_like(head(other), shape)
    unchanged = alike(after[:, -1], before[:, -1])
    expect(not unchanged, "A changed first token does not change the last result.")


# scaled_scores


@check("scaled_scores", points=0.06, layer="shapes")
def test_scores_compare_every_query_with_every_key(student):
    """For 4 items of 8 tokens, every query has a score with every key of its item: (4, 8, 8)."""
    scores = student.call("scaled_scores", torch.ones(4, 8, 16), torch.ones(4, 8, 16))

    tensor_like(scores, (4, 8, 8), "scaled_scores of two (4, 8, 16) tensors")


@check("scaled_scores", points=0.58, layer="probe")
def test_scores_are_scaled_dot_products(student, reference, probe):
    """For hidden queries and keys of two sizes, every score is the scaled dot product."""
    for d in (HEAD, 3):
        queries, keys = probe.normal(B, T, d, scale=1.5), probe.normal(B, T, d, scale=1.5)

        agrees(
            student.call("scaled_scores", queries, keys),
            reference.call("scaled_scores", queries, keys),
        )


@check("scaled_scores", points=0.08, layer="probe")
def test_scores_of_a_single_token(student, reference, probe):
    """A single token has a single score, the score of its query with its own key."""
    queries, keys = probe.normal(B, 1, HEAD), probe.normal(B, 1, HEAD)

    agrees(
        student.call("scaled_scores", queries, keys), reference.call("scaled_scores", queries, keys)
    )


@check("scaled_scores", points=0.04, layer="laws", rules=("dtype",))
def test_scores_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    queries, keys = probe.normal(B, T, HEAD), probe.normal(B, T, HEAD)

    keeps_dtype("scaled_scores", queries, keys)
    scores_follow(student, queries, keys)


@check("scaled_scores", points=0.12, layer="laws")
def test_scores_vary_alike_at_every_size(student, probe):
    """The variance of the scores does not grow with the size of the vectors."""
    for d in (4, 64, 256):
        queries, keys = probe.normal(B, 40, d), probe.normal(B, 40, d)
        scores = tensor_like(student.call("scaled_scores", queries, keys), (B, 40, 40))

        variance = float(scores.double().var())
        expect(
            0.5 < variance < 1.8,  # 1 in theory; five standard deviations of the estimate at d = 4
            "For some size of queries and keys, the variance of the scores is not about 1.",
        )


@check("scaled_scores", points=0.12, layer="laws")
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


@check("scaled_scores", points=0.12, layer="laws")
def test_scores_double_with_the_queries(student, probe):
    """Twice the queries give twice the scores, and so do twice the keys."""
    queries, keys = probe.normal(B, T, HEAD), probe.normal(B, T, HEAD)

    scores = tensor_like(student.call("scaled_scores", queries, keys), (B, T, T))
    expect(not alike(scores, torch.zeros(B, T, T)), "All scores are zero.")
    for others in ((2 * queries, keys), (queries, 2 * keys)):
        agrees(
            student.call("scaled_scores", *others),
            2 * scores,
            "The scores of doubled queries or keys",
        )


@check("scaled_scores", points=0.12, layer="laws")
def test_scores_turn_around_when_queries_and_keys_change_places(student, probe):
    """If queries and keys change places, rows and columns of the scores change places."""
    queries, keys = probe.normal(B, T, HEAD), probe.normal(B, T, HEAD)

    scores = tensor_like(student.call("scaled_scores", queries, keys), (B, T, T))
    turned = scores.transpose(1, 2)
    expect(not alike(scores, turned), "The scores are symmetric, but queries and keys differ.")
    agrees(
        student.call("scaled_scores", keys, queries),
        turned,
        "The result after queries and keys change places",
    )


@check("scaled_scores", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_scores_leave_queries_and_keys_alone(student, probe):
    """The call does not change queries and keys."""
    queries, keys = probe.normal(B, T, HEAD), probe.normal(B, T, HEAD)

    kept = student.keeps_inputs("scaled_scores", queries, keys)
    expect(kept, "scaled_scores changes the queries or keys that you pass to it.")
    scores_follow(student, queries, keys)


@check("scaled_scores", points=0.22, layer="gradients", rules=("gradients",))
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


@check("scaled_scores", points=0.04, layer="forbidden", rules=("no_loops",))
def test_scores_need_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    queries, keys = probe.normal(B, 12, HEAD), probe.normal(B, 12, HEAD)

    few = student.operators("scaled_scores", queries[:, :4], keys[:, :4])
    keeps_operators(few, student.operators("scaled_scores", queries, keys), AT_ONCE)
    scores_follow(student, queries, keys)


# causal_pattern


@check("causal_pattern", points=0.06, layer="shapes")
def test_pattern_has_a_weight_for_every_score(student):
    """Scores of shape (4, 8, 8) give weights of shape (4, 8, 8)."""
    pattern = student.call("causal_pattern", torch.zeros(4, 8, 8))

    tensor_like(pattern, (4, 8, 8), "causal_pattern of (4, 8, 8) scores")


@check("causal_pattern", points=0.72, layer="probe")
def test_pattern_is_a_softmax_over_what_is_visible(student, reference, probe):
    """For hidden inputs of two lengths, every row is the softmax over its visible scores."""
    for length in (T, 4):
        scores = probe.normal(B, length, length, scale=2)
        scores[:, 2] = 0  # a score of zero is a score, too

        agrees(student.call("causal_pattern", scores), reference.call("causal_pattern", scores))


@check("causal_pattern", points=0.08, layer="probe")
def test_pattern_of_a_single_token_is_one(student, reference, probe):
    """A single token gives all its weight to itself."""
    scores = probe.normal(B, 1, 1)

    agrees(student.call("causal_pattern", scores), reference.call("causal_pattern", scores))


@check("causal_pattern", points=0.04, layer="laws", rules=("dtype",))
def test_pattern_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    scores = probe.normal(B, T, T)

    keeps_dtype("causal_pattern", scores)
    pattern_follows(student, scores)


@check("causal_pattern", points=0.14, layer="laws")
def test_pattern_shares_out_one_whole(student, probe):
    """Each row sums to one, and no weight is negative."""
    pattern = student.call("causal_pattern", probe.normal(B, T, T, scale=2))
    pattern = tensor_like(pattern, (B, T, T), "The pattern")

    expect((pattern >= 0).all(), "A weight is negative or NaN.")
    agrees(pattern.sum(dim=-1), torch.ones(B, T), "The tensor of row sums")


@check("causal_pattern", points=0.14, layer="laws")
def test_pattern_gives_later_tokens_zero(student, probe):
    """Later tokens get exactly zero, and all other tokens a positive weight."""
    pattern = student.call("causal_pattern", probe.normal(B, T, T, scale=2))
    pattern = tensor_like(pattern, (B, T, T), "The pattern")

    later = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
    expect((pattern[:, later] == 0).all(), "A later token gets a weight that is not zero.")
    expect(
        (pattern[:, ~later] > 0).all(),
        "The token itself or an earlier one gets no positive weight.",
    )


@check("causal_pattern", points=0.14, layer="laws")
def test_pattern_ignores_scores_of_the_future(student, probe):
    """Hidden scores do not affect the weights, and visible scores do."""
    scores, others = probe.normal(B, T, T, scale=2), probe.normal(B, T, T, scale=2)

    pattern = student.call("causal_pattern", scores)
    pattern = tensor_like(pattern, (B, T, T), "The pattern")
    hidden = student.call("causal_pattern", scores.tril() + others.triu(diagonal=1))
    agrees(hidden, pattern, "After a change of hidden scores, the pattern")
    visible = student.call("causal_pattern", others.tril() + scores.triu(diagonal=1))
    follows(pattern, tensor_like(visible, (B, T, T), "The pattern"))


@check("causal_pattern", points=0.14, layer="laws")
def test_pattern_compares_scores_of_one_row(student, probe):
    """The same number added to a whole row changes nothing, but a higher score gains weight."""
    scores = probe.normal(B, T, T)
    higher = scores.clone()
    higher[:, -1, 2] += 1

    pattern = student.call("causal_pattern", scores)
    pattern = tensor_like(pattern, (B, T, T), "The pattern")
    moved = student.call("causal_pattern", scores + probe.normal(B, T, 1))
    agrees(moved, pattern, "After an addition to whole rows, the pattern")
    gained = student.call("causal_pattern", higher)
    gained = tensor_like(gained, (B, T, T), "The pattern")
    # With a softmax of any steepness near 1, the weight grows far more than this.
    more = (gained[:, -1, 2] > pattern[:, -1, 2] * 1.01).all()
    expect(more, "A higher score does not get clearly more weight.")


@check("causal_pattern", points=0.11, layer="laws", rules=("inputs_unchanged",))
def test_pattern_leaves_the_scores_alone(student, probe):
    """The call does not change the scores."""
    scores = probe.normal(B, T, T)

    kept = student.keeps_inputs("causal_pattern", scores)
    expect(kept, "causal_pattern changes the scores that you pass to it.")
    pattern_follows(student, scores)


@check("causal_pattern", points=0.13, layer="gradients", rules=("gradients",))
def test_pattern_passes_gradients_back(student, reference, probe):
    """The gradients of the scores are right."""
    scores, back = probe.normal(B, T, T), probe.normal(B, T, T)

    same_gradients(
        student.gradients("causal_pattern", scores, cotangent=back),
        reference.gradients("causal_pattern", scores, cotangent=back),
        "the scores",
    )


@check("causal_pattern", points=0.05, layer="forbidden", rules=("no_loops",))
def test_pattern_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    scores = probe.normal(B, 12, 12)

    few = student.operators("causal_pattern", scores[:, :4, :4].contiguous())
    keeps_operators(few, student.operators("causal_pattern", scores), AT_ONCE)
    pattern_follows(student, scores)


# AttentionHead


@check("AttentionHead", points=0.1, layer="signature")
def test_head_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes embedding_dim, head_size and block_size, by position or by name."""
    head = student.new("AttentionHead", embedding_dim=6, head_size=3, block_size=4)

    sentence = "The parameters are not three of shape (head_size, embedding_dim)."
    expect([*head.shapes().values()] == 3 * [(3, 6)], sentence)


@check("AttentionHead", points=0.12, layer="shapes")
def test_head_gives_each_token_a_vector_of_head_size(student, documented):
    """With head_size 16, an input of shape (4, 8, 32) gives a result of shape (4, 8, 16)."""
    context = student.new("AttentionHead", 32, 16, 8)(torch.ones(4, 8, 32))

    shape = tuple(documented["004.head.context.shape"].tensor.tolist())
    tensor_like(context, shape, "AttentionHead(32, 16, 8) of (4, 8, 32)")


@check("AttentionHead", points=0.25, layer="parameters")
def test_head_names_its_layers(student):
    """The layers are named key, query and value, and none has a bias."""
    found = student.new("AttentionHead", C, HEAD, BLOCK).parameters()

    for name in WEIGHTS:
        expect(name in found, f"AttentionHead has no parameter {name}.")
        layer = name.removesuffix(".weight")
        expect(f"{layer}.bias" not in found, f"The layer {layer} has a bias; it should have none.")


@check("AttentionHead", points=0.2, layer="parameters")
def test_head_makes_key_query_and_value_in_this_order(student, reference):
    """With seed 42, the layers are created in the order key, query, value."""
    yours = student.new("AttentionHead", C, HEAD, BLOCK, seed=42).named(*WEIGHTS)
    ours = reference.new("AttentionHead", C, HEAD, BLOCK, seed=42).parameters()

    for name in WEIGHTS:
        agrees(yours[name].value, ours[name].value, f"{name} right after construction")


@check("AttentionHead", points=0.15, layer="parameters", rules=("buffer",))
def test_head_keeps_tril_as_a_buffer(student):
    """`tril` is a buffer: it moves with the module and is not trained."""
    head = student.new("AttentionHead", C, HEAD, BLOCK)

    expect("tril" not in head.parameters(), "tril is a parameter; it should be a buffer.")
    expect("tril" in head.buffers(), "AttentionHead has no buffer named tril.")
    place = head.move("meta").get("tril", "")
    expect(place.startswith("meta"), "tril does not move with the module.")


@check("AttentionHead", points=0.08, layer="parameters", rules=("no_seeding",))
def test_head_leaves_the_seed_to_the_caller(student, probe):
    """The head does not seed torch's generator when it is created or called."""
    x = probe.normal(B, T, C, scale=TINY)
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
    mixes_tokens(head, x)


@check("AttentionHead", points=0.6, layer="documented")
def test_head_computes_what_the_document_computes(student, reference, documented):
    """With the documented sizes and the weights of seed 42, the context vectors are right."""
    shape = documented["004.head.context.shape"].tensor.tolist()
    x = torch.randn(*shape[:2], 32, generator=torch.Generator().manual_seed(4))
    ours = reference.new("AttentionHead", 32, shape[2], shape[1], seed=42)
    drawn = ours.parameters()
    yours = student.new("AttentionHead", 32, shape[2], shape[1])
    yours.load({name: drawn[name].value for name in WEIGHTS})

    agrees(yours(x), ours(x), "The context")


@check("AttentionHead", points=0.75, layer="probe")
def test_head_attends_with_any_weights(student, reference, probe):
    """The result is right for other weights and sizes and for fewer tokens than block_size."""
    yours, ours = both_heads(student, reference, probe)
    x = probe.normal(B, T, C, scale=SCALE)

    agrees(yours(x), ours(x), "The context")


@check("AttentionHead", points=0.75, layer="probe")
def test_head_attends_in_a_full_block(student, reference, probe):
    """The result is right for as many tokens as block_size."""
    yours, ours = both_heads(student, reference, probe)
    x = probe.normal(B, BLOCK, C, scale=SCALE)

    agrees(yours(x), ours(x), "The context")


@check("AttentionHead", points=0.65, layer="probe")
def test_head_serves_every_length_in_turn(student, reference, probe):
    """One head works for long and short inputs one after the other, including a single token."""
    yours, ours = both_heads(student, reference, probe)
    x = probe.normal(B, BLOCK, C, scale=SCALE)

    for length, batch in ((T, B), (1, B), (4, 2), (BLOCK, 1), (T, 2)):
        part = x[:batch, :length].contiguous()
        agrees(yours(part), ours(part), "The context")


@check("AttentionHead", points=0.06, layer="laws", rules=("dtype",))
def test_head_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    head, x = student.new("AttentionHead", C, HEAD, BLOCK), probe.normal(B, T, C, scale=TINY)

    keeps_dtype(head, x)
    mixes_tokens(head, x)


@check("AttentionHead", points=0.36, layer="laws")
def test_head_never_looks_ahead(student, probe):
    """Changing the last tokens changes their own results and no earlier result."""
    head = your_head(student, probe)
    x = probe.normal(B, T, C, scale=TINY)
    others = x.clone()
    others[:, 4:] = probe.normal(B, T - 4, C)

    before = tensor_like(head(x), (B, T, HEAD), "The context")
    after = tensor_like(head(others), (B, T, HEAD), "The context")
    agrees(
        after[:, :4],
        before[:, :4],
        "After a change of the last tokens, the result of the first tokens",
    )
    expect(
        not alike(after[:, 4:], before[:, 4:]),
        "A change of the last tokens does not change their own results.",
    )


@check("AttentionHead", points=0.36, layer="laws")
def test_head_mixes_equal_values_to_this_value(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights = random_weights(probe)
    weights["value.weight"][:, 1:] = 0  # the value of each token uses only its leading 1
    head = student.new("AttentionHead", C, HEAD, BLOCK).load(weights)
    x = torch.cat([torch.ones(B, T, 1), probe.normal(B, T, C - 1, scale=SCALE)], dim=-1)

    agrees(head(x), weights["value.weight"][:, 0].expand(B, T, HEAD), "The mixture of equal values")


@check("AttentionHead", points=0.36, layer="laws")
def test_head_lets_the_past_speak(student, probe):
    """Changing the first token changes the result of the last one."""
    mixes_tokens(your_head(student, probe), probe.normal(B, BLOCK, C, scale=TINY))


@check("AttentionHead", points=0.36, layer="laws")
def test_head_finds_the_matching_key(student, probe):
    """A query that matches the key of the token before it gets the value of this token."""
    weights = random_weights(probe) | {"key.weight": MATCH * torch.eye(HEAD, C)}
    weights["query.weight"] = weights["key.weight"].roll(-1, dims=0)
    weights["query.weight"][-1] = 0  # token i + 1 asks for key i, and the first token for none
    head = student.new("AttentionHead", C, HEAD, BLOCK).load(weights)
    x = torch.eye(HEAD, C).expand(B, HEAD, C).contiguous()  # token i has feature i only, and key i

    values = weights["value.weight"].T[:HEAD]
    wanted = values[[0, *range(HEAD - 1)]].expand(B, HEAD, HEAD)
    agrees(head(x), wanted, "The result for queries that match one key each")


@check("AttentionHead", points=0.36, layer="laws")
def test_head_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone."""
    head = your_head(student, probe)
    x = probe.normal(B, BLOCK, C, scale=TINY)

    together = tensor_like(head(x), (B, BLOCK, HEAD), "The context")
    for item in range(B):
        agrees(
            head(x[item : item + 1]),
            together[item : item + 1],
            "The result of an item alone",
            "that in the batch",
        )
    mixes_tokens(head, x)


@check("AttentionHead", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_head_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    head, x = your_head(student, probe), probe.normal(B, T, C, scale=TINY)

    expect(head.keeps_inputs(x), "AttentionHead changes the input that you pass to it.")
    mixes_tokens(head, x)


@check("AttentionHead", points=0.36, layer="laws", rules=("refuses",))
def test_head_refuses_more_tokens_than_its_block(student, probe):
    """The head accepts block_size tokens and raises an error for more."""
    head = student.new("AttentionHead", C, HEAD, BLOCK)

    mixes_tokens(head, probe.normal(B, BLOCK, C, scale=TINY))
    for more in (1, 2, BLOCK):
        refused = head.refuses(probe.normal(B, BLOCK + more, C))
        expect(
            refused, "More tokens than block_size give a result; they should raise a ValueError."
        )


@check("AttentionHead", points=0.35, layer="gradients", rules=("gradients",))
def test_head_passes_gradients_back(student, reference, probe):
    """The gradients of the input and of the weights of key, query and value are right."""
    yours, ours = both_heads(student, reference, probe)
    x, back = probe.normal(B, T, C, scale=SCALE), probe.normal(B, T, HEAD)

    arrived = yours.gradients(x, cotangent=back)
    same_gradients(arrived, ours.gradients(x, cotangent=back), "the input")


@check("AttentionHead", points=0.2, layer="forbidden", rules=("no_ready_attention",))
def test_head_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    head, x = your_head(student, probe), probe.normal(B, T, C, scale=TINY)

    avoids(student, "AttentionHead", READY_ATTENTION, BY_HAND)
    avoids_running(head.operators(x), READY_ATTENTION, BY_HAND)
    mixes_tokens(head, x)


@check("AttentionHead", points=0.13, layer="forbidden", rules=("no_loops",))
def test_head_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    head, x = your_head(student, probe), probe.normal(B, BLOCK - 1, C, scale=TINY)

    few = head.operators(x[:, :4].contiguous())
    keeps_operators(few, head.operators(x), AT_ONCE)
    mixes_tokens(head, x)
