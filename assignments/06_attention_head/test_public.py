"""What you can check yourself in stage 06, as often as you like: `autograder check`, or pytest."""

import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, reads_like, tensor_like

# Two items of three tokens; four numbers in each query and key, so that the scale is 2.
QUERIES = torch.tensor(
    [
        [[1.0, 0.0, 2.0, -1.0], [0.0, 1.0, 1.0, 3.0], [2.0, 2.0, 0.0, 1.0]],
        [[3.0, 1.0, 0.0, 0.0], [0.0, -2.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]],
    ]
)
KEYS = torch.tensor(
    [
        [[2.0, 1.0, 0.0, 1.0], [1.0, -1.0, 3.0, 0.0], [0.0, 2.0, 1.0, 2.0]],
        [[1.0, 0.0, 0.0, 2.0], [-1.0, 3.0, 1.0, 0.0], [2.0, 0.0, 2.0, 1.0]],
    ]
)
SCORES = torch.tensor(
    [
        [[0.5, 3.5, 0.0], [2.0, 1.0, 4.5], [3.5, 0.0, 3.0]],
        [[1.5, 0.0, 3.0], [1.0, -2.5, 1.5], [1.5, 1.5, 2.5]],
    ]
)
X = torch.tensor(  # the first three tokens of the document's first two items
    [
        [[0.7667, 0.5314], [0.9172, 0.2774], [0.3465, 0.1333]],
        [[0.4926, 0.9296], [0.4528, 0.9448], [0.4835, 0.5699]],
    ]
)


@check("scaled_scores", points=0, layer="shapes")
def test_scores_compare_every_query_with_every_key(student):
    """For 4 items of 8 tokens there is one score for each query and key of an item: (4, 8, 8)."""
    scores = student.call("scaled_scores", torch.ones(4, 8, 16), torch.ones(4, 8, 16))

    tensor_like(scores, (4, 8, 8), "scaled_scores of two (4, 8, 16)")


@check("scaled_scores", points=0, layer="documented")
def test_scores_are_scaled_dot_products(student):
    """Row i holds the dot products of query i with all keys of its item, each halved: √4 is 2."""
    reads_like(student.call("scaled_scores", QUERIES, KEYS), SCORES.tolist())


@check("causal_pattern", points=0, layer="shapes")
def test_pattern_has_a_weight_for_every_score(student):
    """Two items of (3, 3) scores give two items of (3, 3) weights."""
    pattern = student.call("causal_pattern", SCORES)

    tensor_like(pattern, (2, 3, 3), "causal_pattern of (2, 3, 3) scores")


@check("causal_pattern", points=0, layer="documented")
def test_pattern_is_a_softmax_over_what_is_visible(student):
    """Each row is the softmax over the scores up to the diagonal, with zeros after it."""
    reads_like(
        student.call("causal_pattern", SCORES),
        [
            [[1.0000, 0.0000, 0.0000], [0.7311, 0.2689, 0.0000], [0.6110, 0.0184, 0.3706]],
            [[1.0000, 0.0000, 0.0000], [0.9707, 0.0293, 0.0000], [0.2119, 0.2119, 0.5761]],
        ],
    )


@check("causal_pattern", points=0, layer="documented")
def test_pattern_of_equal_scores_averages(student):
    """Where all scores are zero, the pattern is the causal average of stage 02."""
    reads_like(
        student.call("causal_pattern", torch.zeros(1, 4, 4)),
        [
            [
                [1.0000, 0.0000, 0.0000, 0.0000],
                [0.5000, 0.5000, 0.0000, 0.0000],
                [0.3333, 0.3333, 0.3333, 0.0000],
                [0.2500, 0.2500, 0.2500, 0.2500],
            ]
        ],
    )


@check("AttentionHead", points=0, layer="shapes")
def test_head_gives_each_token_a_vector_of_head_size(student):
    """With the document's sizes, input (4, 8, 32) and head_size 16, it returns (4, 8, 16)."""
    context = student.new("AttentionHead", 32, 16, 8)(torch.ones(4, 8, 32))

    tensor_like(context, (4, 8, 16), "AttentionHead(32, 16, 8) of (4, 8, 32)")


@check("AttentionHead", points=0, layer="parameters")
def test_head_makes_the_key_first(student):
    """Seeded with 4, the key layer is drawn first, and it has no bias."""
    parameters = student.new("AttentionHead", 2, 4, 8, seed=4).parameters()

    for name in ("key.weight", "query.weight", "value.weight"):
        expect(name in parameters, f"There is no parameter {name}.")
    reads_like(
        parameters["key.weight"].value,
        [[0.0843, 0.0836], [-0.5778, -0.4101], [-0.6969, -0.6520], [0.6971, 0.5842]],
        what="key.weight",
    )
    expect("key.bias" not in parameters, "The layer key has a bias; it should have none.")


@check("AttentionHead", points=0, layer="documented")
def test_head_computes_context_vectors(student):
    """Seeded with 4, a head of block_size 8 gives three tokens these context vectors."""
    reads_like(
        student.new("AttentionHead", 2, 4, 8, seed=4)(X),
        [
            [
                [0.0705, -0.5564, -0.1108, 0.1339],
                [0.1503, -0.4939, -0.0762, 0.1412],
                [0.1252, -0.3904, -0.0586, 0.1132],
            ],
            [
                [-0.1928, -0.7414, -0.2203, 0.1054],
                [-0.2033, -0.7409, -0.2229, 0.1026],
                [-0.1535, -0.6637, -0.1924, 0.0992],
            ],
        ],
        what="AttentionHead(2, 4, 8)(x)",
    )


@check("AttentionHead", points=0, layer="laws")
def test_head_never_looks_ahead(student):
    """A change of the last token does not change the result of the tokens before it."""
    head = student.new("AttentionHead", 2, 4, 8, seed=4)
    others = X.clone()
    others[:, 2] = 5.0

    before = tensor_like(head(X), (2, 3, 4), "The context")
    after = tensor_like(head(others), (2, 3, 4), "The context")
    agrees(
        after[:, :2],
        before[:, :2],
        "After a change of the last token, the result of the tokens before it",
    )
