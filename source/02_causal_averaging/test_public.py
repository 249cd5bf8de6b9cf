"""What you can check yourself in stage 02: causal averaging."""

import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import reads_like, tensor_like

X = torch.tensor(  # the first two sequences of the documented batch
    [
        [
            [0.7667, 0.5314],
            [0.9172, 0.2774],
            [0.3465, 0.1333],
            [0.7567, 0.7931],
            [0.0519, 0.1533],
            [0.1922, 0.9974],
            [0.3706, 0.7383],
            [0.5901, 0.1120],
        ],
        [
            [0.4926, 0.9296],
            [0.4528, 0.9448],
            [0.4835, 0.5699],
            [0.6518, 0.5521],
            [0.2763, 0.4441],
            [0.1384, 0.8170],
            [0.1880, 0.5782],
            [0.1035, 0.7034],
        ],
    ]
)
MEANS = [
    [
        [0.7667, 0.5314],
        [0.8419, 0.4044],
        [0.6768, 0.3140],
        [0.6968, 0.4338],
        [0.5678, 0.3777],
        [0.5052, 0.4810],
        [0.4860, 0.5177],
        [0.4990, 0.4670],
    ],
    [
        [0.4926, 0.9296],
        [0.4727, 0.9372],
        [0.4763, 0.8148],
        [0.5202, 0.7491],
        [0.4714, 0.6881],
        [0.4159, 0.7096],
        [0.3833, 0.6908],
        [0.3484, 0.6924],
    ],
]
WEIGHTS = [
    [1.0000, 0.0000, 0.0000, 0.0000],
    [0.5000, 0.5000, 0.0000, 0.0000],
    [0.3333, 0.3333, 0.3333, 0.0000],
    [0.2500, 0.2500, 0.2500, 0.2500],
]
TWICE_ROUNDED = 3  # decimals: both X and the documented means are rounded to four


@check("causal_mean_loop", points=0, layer="documented")
def test_loop_gives_the_documented_means(student):
    """Each token of the documented batch becomes the documented mean."""
    reads_like(student.call("causal_mean_loop", X), MEANS, TWICE_ROUNDED)


@check("causal_mean_loop", points=0, layer="laws")
def test_first_token_stays_and_last_is_the_mean_of_all(student):
    """The first token is its own mean; the last token becomes the mean of all tokens."""
    means = tensor_like(student.call("causal_mean_loop", X), (2, 8, 2))

    reads_like(means[:, 0], X[:, 0].tolist(), what="The first token of each sequence")
    reads_like(means[:, -1], X.mean(dim=1).tolist(), what="The last token of each sequence")


@check("averaging_weights", points=0, layer="documented")
def test_weights_of_four_tokens(student):
    """Four tokens are averaged with 1, 1/2, 1/3 and 1/4, and later tokens get the weight 0."""
    reads_like(student.call("averaging_weights", 4), WEIGHTS)


@check("causal_mean_matmul", points=0, layer="documented")
def test_matmul_gives_the_documented_means(student):
    """The matrix product gives the documented means as well."""
    reads_like(student.call("causal_mean_matmul", X), MEANS, TWICE_ROUNDED)


@check("masked_softmax_weights", points=0, layer="documented")
def test_softmax_weights_of_four_tokens(student):
    """The masked softmax gives the same weights, and later tokens get exactly 0."""
    weights = student.call("masked_softmax_weights", 4)

    reads_like(weights, WEIGHTS)
    hidden = tensor_like(weights, (4, 4)).triu(diagonal=1)
    expect((hidden == 0).all(), "A later token gets a weight that is not exactly 0.")


@check("causal_mean_softmax", points=0, layer="documented")
def test_softmax_gives_the_documented_means(student):
    """The softmax weights give the documented means as well."""
    reads_like(student.call("causal_mean_softmax", X), MEANS, TWICE_ROUNDED)


@check("causal_mean_softmax", points=0, layer="laws")
def test_later_tokens_change_nothing_before_them(student):
    """A change of the last token changes the last row and no row before it."""
    other = X.clone()
    other[:, -1] += 5.0
    means = tensor_like(student.call("causal_mean_softmax", other), (2, 8, 2))

    reads_like(
        means[:, :-1],
        [rows[:-1] for rows in MEANS],
        TWICE_ROUNDED,
        "The part before the changed token",
    )
