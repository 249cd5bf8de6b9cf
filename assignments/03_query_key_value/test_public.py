"""What you can check yourself in stage 03: from inputs to context vectors, step by step.

The numbers are those of documents 000 and 002. Each step gets its input as it is printed there, so
you can begin with any function; where that input is rounded, three decimals of the result have to
agree.
"""

import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import reads_like, tensor_like

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
JOURNEY = INPUTS[1]

# Document 000: drawn with torch.randn after torch.manual_seed(1)
W_Q = [[0.6614, 0.2669], [0.0617, 0.6213], [-0.4519, -0.1661]]
W_K = [[-1.5228, 0.3817], [-1.0276, -0.5631], [-0.8923, -0.0583]]
W_V = [[-0.1955, -0.9656], [0.4224, 0.2673], [-0.4212, -0.5107]]

QUERIES = [
    [-0.1086, 0.0601],
    [0.1191, 0.5777],
    [0.1402, 0.5739],
    [0.0321, 0.3643],
    [0.4795, 0.3442],
    [-0.1661, 0.4190],
]
KEYS = [
    [-1.6031, 0.0278],
    [-2.3205, -0.3184],
    [-2.3125, -0.2983],
    [-1.2255, -0.2618],
    [-1.5187, 0.1473],
    [-1.3890, -0.4634],
]
VALUES = [
    [-0.3956, -0.8296],
    [-0.0180, -0.6356],
    [-0.0220, -0.6500],
    [0.0630, -0.2259],
    [-0.0871, -0.7278],
    [0.0965, -0.1153],
]
SCORES = [
    [0.1757, 0.2328, 0.2331, 0.1173, 0.1737, 0.1229],
    [-0.1749, -0.4604, -0.4479, -0.2973, -0.0958, -0.4332],
    [-0.2087, -0.5080, -0.4954, -0.3221, -0.1283, -0.4607],
    [-0.0414, -0.1906, -0.1830, -0.1348, 0.0048, -0.2134],
    [-0.7590, -1.2222, -1.2115, -0.6777, -0.6774, -0.8255],
    [0.2780, 0.2521, 0.2592, 0.0939, 0.3140, 0.0366],
]
WEIGHTS = [
    [0.1666, 0.1734, 0.1735, 0.1598, 0.1663, 0.1605],
    [0.1835, 0.1500, 0.1513, 0.1683, 0.1941, 0.1529],
    [0.1837, 0.1487, 0.1500, 0.1695, 0.1944, 0.1537],
    [0.1767, 0.1590, 0.1599, 0.1654, 0.1826, 0.1565],
    [0.1812, 0.1306, 0.1316, 0.1919, 0.1919, 0.1729],
    [0.1750, 0.1718, 0.1727, 0.1536, 0.1795, 0.1475],
]
CONTEXT = [
    [-0.0617, -0.5368],
    [-0.0702, -0.5428],
    [-0.0700, -0.5419],
    [-0.0666, -0.5399],
    [-0.0648, -0.5218],
    [-0.0678, -0.5489],
]

# Document 002: drawn with torch.rand after torch.manual_seed(123); all of "journey"
QUERY_2, KEY_2, VALUE_2 = [0.4306, 1.4551], [0.4433, 1.1419], [0.3951, 1.0037]
SCORES_2 = [1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440]
WEIGHTS_2 = [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820]


def three_matrices(answer):
    """Unpack the result of draw_weights as W_query, W_key, W_value."""
    expect(
        isinstance(answer, tuple | list) and len(answer) == 3,
        "draw_weights should return three matrices: return W_query, W_key, W_value.",
    )
    names = ("W_query", "W_key", "W_value")
    return [tensor_like(weight, (3, 2), name) for name, weight in zip(names, answer, strict=True)]


@check("draw_weights", points=0, layer="shapes")
def test_draws_three_frozen_matrices(student):
    """Three frozen matrices of shape (d_in, d_out) are returned."""
    answer = student.call("draw_weights", 3, 2)

    three_matrices(answer)
    frozen = not any(weight.requires_grad for weight in answer)
    expect(frozen, "The matrices should be frozen: requires_grad=False.")


@check("draw_weights", points=0, layer="parameters")
def test_draws_normally_under_seed_1(student):
    """Seeded with 1, "randn" draws the documented matrices, in the order query, key, value."""
    answer = student.call("draw_weights", 3, 2, "randn", seed=1)

    W_query, W_key, W_value = three_matrices(answer)
    reads_like(W_query, W_Q, what="W_query")
    reads_like(W_key, W_K, what="W_key")
    reads_like(W_value, W_V, what="W_value")


@check("draw_weights", points=0, layer="documented")
def test_draws_uniformly_under_seed_123(student):
    """Seeded with 123 and without a distribution, "journey" gets its documented vectors."""
    answer = student.call("draw_weights", 3, 2, seed=123)

    W_query, W_key, W_value = three_matrices(answer)
    reads_like(JOURNEY @ W_query, QUERY_2, what="the query of 'journey'")
    reads_like(JOURNEY @ W_key, KEY_2, what="the key of 'journey'")
    reads_like(JOURNEY @ W_value, VALUE_2, what="the value of 'journey'")


@check("project", points=0, layer="documented")
def test_projects_all_tokens(student):
    """W_q, W_k and W_v turn the six inputs into the documented queries, keys and values."""
    for weight, printed, what in ((W_Q, QUERIES, "queries"), (W_K, KEYS, "keys")):
        reads_like(student.call("project", INPUTS, torch.tensor(weight)), printed, 3, what)

    reads_like(student.call("project", INPUTS, torch.tensor(W_V)), VALUES, 3, "values")


@check("project", points=0, layer="documented")
def test_projects_one_token(student):
    """The input of "journey" alone, a vector of size 3, becomes a query of size 2."""
    reads_like(student.call("project", JOURNEY, torch.tensor(W_Q)), QUERIES[1], 3, "the query")


@check("attention_scores", points=0, layer="documented")
def test_scores_all_queries(student):
    """Row i holds the scores of query i with every key."""
    scores = student.call("attention_scores", torch.tensor(QUERIES), torch.tensor(KEYS))

    reads_like(scores, SCORES, 3, "attention_scores(queries, keys)")


@check("attention_scores", points=0, layer="documented")
def test_scores_one_query(student):
    """The query of "journey" alone gets six scores, one for each key."""
    scores = student.call("attention_scores", torch.tensor(QUERIES[1]), torch.tensor(KEYS))

    reads_like(scores, SCORES[1], 3, "attention_scores(query, keys)")


@check("attention_weights", points=0, layer="documented")
def test_weighs_all_tokens(student):
    """The scores, divided by the root of the key size 2, become the documented weights."""
    weights = student.call("attention_weights", torch.tensor(SCORES), 2)

    reads_like(weights, WEIGHTS, 3, "attention_weights(scores, 2)")


@check("attention_weights", points=0, layer="documented")
def test_weighs_for_one_query(student):
    """The six scores of "journey" alone become its six weights."""
    weights = student.call("attention_weights", torch.tensor(SCORES_2), 2)

    reads_like(weights, WEIGHTS_2, 3, "attention_weights(scores of one query, 2)")


@check("attention_weights", points=0, layer="laws")
def test_every_query_has_one_to_give(student):
    """Each query's weights sum to 1."""
    weights = student.call("attention_weights", torch.tensor(SCORES), 2)

    sums = tensor_like(weights, (6, 6), "attention_weights(scores, 2)").sum(dim=-1)
    expect(((sums - 1).abs() < 1e-5).all(), "The weights of some query do not sum to 1.")


@check("context_vectors", points=0, layer="documented")
def test_mixes_the_values(student):
    """The documented weights mix the documented values into the documented context vectors."""
    context = student.call("context_vectors", torch.tensor(WEIGHTS), torch.tensor(VALUES))

    reads_like(context, CONTEXT, 3, "context_vectors(weights, values)")


@check("context_vectors", points=0, layer="laws")
def test_attention_to_one_token_gives_its_value(student):
    """A query that attends only to "starts" gets the value of "starts"."""
    only_starts = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    context = student.call("context_vectors", only_starts, torch.tensor(VALUES))
    reads_like(context, VALUES[2], what="the context vector of attention to 'starts' alone")


@check("self_attention", points=0, layer="documented")
def test_goes_all_the_way(student):
    """The six inputs and three matrices give the documented context vectors."""
    weights = [torch.tensor(weight) for weight in (W_Q, W_K, W_V)]

    reads_like(student.call("self_attention", INPUTS, *weights), CONTEXT, 3, "self_attention")


@check("self_attention", points=0, layer="laws")
def test_a_token_alone_gets_its_own_value(student):
    """Without other tokens, all attention of "journey" goes to "journey" itself."""
    weights = [torch.tensor(weight) for weight in (W_Q, W_K, W_V)]

    context = student.call("self_attention", INPUTS[1:2], *weights)
    reads_like(context, VALUES[1:2], 3, "self_attention of one token")
