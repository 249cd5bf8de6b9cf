"""What you can check yourself in stage 01: attention from dot products."""

import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import number_agrees, reads_like, tensor_like

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
SCORES_2 = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]  # of the query "journey"
BY_SUM_2 = [0.1455, 0.2278, 0.2249, 0.1285, 0.1077, 0.1656]
WEIGHTS_2 = [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]
CONTEXT_2 = [0.4419, 0.6515, 0.5683]
SCORES = [
    [0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],
    [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865],
    [0.9422, 1.4754, 1.4570, 0.8296, 0.7154, 1.0605],
    [0.4753, 0.8434, 0.8296, 0.4937, 0.3474, 0.6565],
    [0.4576, 0.7070, 0.7154, 0.3474, 0.6654, 0.2935],
    [0.6310, 1.0865, 1.0605, 0.6565, 0.2935, 0.9450],
]
WEIGHTS = [
    [0.2098, 0.2006, 0.1981, 0.1242, 0.1220, 0.1452],
    [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581],
    [0.1390, 0.2369, 0.2326, 0.1242, 0.1108, 0.1565],
    [0.1435, 0.2074, 0.2046, 0.1462, 0.1263, 0.1720],
    [0.1526, 0.1958, 0.1975, 0.1367, 0.1879, 0.1295],
    [0.1385, 0.2184, 0.2128, 0.1420, 0.0988, 0.1896],
]
CONTEXT = [
    [0.4421, 0.5931, 0.5790],
    [0.4419, 0.6515, 0.5683],
    [0.4431, 0.6496, 0.5671],
    [0.4304, 0.6298, 0.5510],
    [0.4671, 0.5910, 0.5266],
    [0.4177, 0.6503, 0.5645],
]


@check("dot_product", points=0, layer="documented")
def test_dot_product_of_your_and_journey(student):
    """The dot product of "Your" and "journey" is 0.9544, for tensors and for lists."""
    of_tensors = student.call("dot_product", INPUTS[0], INPUTS[1])
    of_lists = student.call("dot_product", [0.43, 0.15, 0.89], [0.55, 0.87, 0.66])

    reads_like(of_tensors, 0.9544, what="The dot product of two tensors")
    reads_like(of_lists, 0.9544, what="The dot product of two lists")


@check("dot_product", points=0, layer="laws")
def test_dot_product_refuses_unequal_lengths(student):
    """Two sequences of different lengths raise a ValueError."""
    student.call("dot_product", [1.0, 2.0], [3.0, 4.0])
    refused = student.refuses("dot_product", [1.0, 2.0, 3.0], [4.0, 5.0])

    expect(refused, "Three numbers times two numbers gave a result; it should raise ValueError.")


@check("scores_for_query", points=0, layer="documented")
def test_scores_of_journey(student):
    """The query "journey" gets the documented scores, one per token."""
    reads_like(student.call("scores_for_query", INPUTS, INPUTS[1]), SCORES_2)


@check("normalize_by_sum", points=0, layer="documented")
def test_scores_divided_by_their_sum(student):
    """Divided by their sum, the documented scores become the documented shares."""
    reads_like(student.call("normalize_by_sum", INPUTS @ INPUTS[1]), BY_SUM_2)


@check("softmax_naive", points=0, layer="documented")
def test_naive_softmax_of_the_scores(student):
    """Softmax turns the documented scores into the documented weights."""
    reads_like(student.call("softmax_naive", INPUTS @ INPUTS[1]), WEIGHTS_2)


@check("softmax_stable", points=0, layer="documented")
def test_stable_softmax_of_one_query_and_of_all(student):
    """Scores of one query along dim 0, and of all along dim 1, become the documented weights."""
    reads_like(
        student.call("softmax_stable", INPUTS @ INPUTS[1], 0),
        WEIGHTS_2,
        what="With dim=0 the result",
    )
    reads_like(
        student.call("softmax_stable", INPUTS @ INPUTS.T, 1), WEIGHTS, what="With dim=1 the result"
    )


@check("softmax_stable", points=0, layer="laws")
def test_stable_softmax_survives_large_scores(student):
    """Adding 1000 to all scores changes no weight."""
    raised = student.call("softmax_stable", torch.tensor([1000.0, 1001.0, 1002.0]), 0)

    reads_like(raised, [0.0900, 0.2447, 0.6652])


@check("context_vector", points=0, layer="documented")
def test_context_of_journey(student):
    """The documented weights mix the tokens into the documented context vector."""
    weights = torch.softmax(INPUTS @ INPUTS[1], dim=0)

    reads_like(student.call("context_vector", weights, INPUTS), CONTEXT_2)


@check("context_vector", points=0, layer="laws")
def test_all_weight_on_one_token_gives_that_token(student):
    """With weight 1 on "starts" and 0 elsewhere, the context vector is "starts" itself."""
    weights = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    reads_like(student.call("context_vector", weights, INPUTS), [0.57, 0.85, 0.64])


@check("attention_scores", points=0, layer="documented")
def test_scores_of_all_pairs(student):
    """Every token is compared with every token: the documented scores."""
    reads_like(student.call("attention_scores", INPUTS), SCORES)


@check("attention_weights", points=0, layer="documented")
def test_weights_of_all_queries(student):
    """The documented scores become the documented weights."""
    reads_like(student.call("attention_weights", INPUTS @ INPUTS.T), WEIGHTS)


@check("attention_weights", points=0, layer="laws")
def test_each_row_of_weights_adds_up_to_one(student):
    """The weights of each query add up to 1, also where scores are not symmetric."""
    scores = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0], [-2.0, 0.5, 0.0]])
    weights = tensor_like(student.call("attention_weights", scores), (3, 3))

    for row in range(3):
        number_agrees(weights[row].sum(), 1.0, 1e-5, f"The sum of row {row}")


@check("simple_self_attention", points=0, layer="documented")
def test_context_of_all_tokens(student):
    """Every token gets the documented context vector."""
    reads_like(student.call("simple_self_attention", INPUTS), CONTEXT)
