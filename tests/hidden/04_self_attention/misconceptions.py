"""Wrong answers that the suite of stage 04 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception


def in_each(names: str, right: str, wrong: str) -> tuple[tuple[str, str], ...]:
    """Return one swap for each of *names*: the name replaces ``{}`` in *right* and *wrong*."""
    return tuple((right.format(name), wrong.format(name)) for name in names.split())


QKV = "W_q W_k W_v"
LONG = "W_query W_key W_value"

MISCONCEPTIONS = (
    # SelfAttentionV1
    Misconception(
        id="draws_the_other_way_around",
        exercise="SelfAttentionV1",
        swaps=(
            (
                "shape = (dimension_inputs, dimension_outputs)",
                "shape = (dimension_outputs, dimension_inputs)",
            ),
            *in_each(
                QKV,
                "self.{} = nn.Parameter(torch.randn(shape)",
                "self.{} = nn.Parameter(torch.randn(shape).T",
            ),
        ),
        explanation=(
            "The matrices are drawn as (d_out, d_in) and transposed, so the numbers are in the "
            "wrong places."
        ),
        question="Which shape should a matrix have when it is drawn?",
    ),
    Misconception(
        id="keeps_the_weights_trainable",
        exercise="SelfAttentionV1",
        swaps=in_each(
            QKV,
            "self.{} = nn.Parameter(torch.randn(shape), requires_grad=False)",
            "self.{} = nn.Parameter(torch.randn(shape))",
        ),
        explanation="The parameters are trainable, but they must be frozen.",
        question="Should a gradient be computed for these matrices?",
        when=("calls Parameter",),
    ),
    Misconception(
        id="names_the_weights_otherwise",
        exercise="SelfAttentionV1",
        swaps=(
            *in_each(QKV, "self.{} =", "self.own_{} ="),
            *in_each(QKV, "@ self.{}", "@ self.own_{}"),
        ),
        explanation="The parameters have the wrong names; they must be W_q, W_k and W_v.",
        question="Which names does the docstring of the class use?",
    ),
    # SelfAttention_v1
    Misconception(
        id="seeds_before_each_matrix",
        exercise="SelfAttention_v1",
        swaps=(
            ("self.W_key =", "torch.manual_seed(123)\n        self.W_key ="),
            ("self.W_value =", "torch.manual_seed(123)\n        self.W_value ="),
        ),
        explanation=(
            "The three matrices hold the same numbers; each must come from a separate draw."
        ),
        question="How many draws are there, and what does a seed before each of them do?",
    ),
    Misconception(
        id="draws_in_forward",
        exercise="SelfAttention_v1",
        swaps=(
            (
                "queries = x @ self.W_query",
                "queries = x @ torch.rand(x.shape[-1], self.W_query.shape[-1])",
            ),
        ),
        explanation="New weights are drawn in every call, so these weights cannot learn.",
        question="Do two calls with the same input give the same result?",
    ),
    Misconception(
        id="writes_into_the_input",
        exercise="SelfAttention_v1",
        swaps=(("queries = x @", "x.mul_(1.0).add_(0.0).sub_(x.mean())\n        queries = x @"),),
        explanation=(
            "The input is changed in place, so the caller's tensor has different values afterwards."
        ),
        question="Which other code may use the tensor that your function gets?",
        when=("changes tensors in place",),
    ),
    Misconception(
        id="calls_ready_attention",
        exercise="SelfAttention_v1",
        swaps=(
            (
                "weights @ values",
                "nn.functional.scaled_dot_product_attention(queries, keys, values)",
            ),
        ),
        explanation="Torch's ready-made attention does the work that you must do yourself.",
        question="Which three lines does that function replace?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
    ),
    Misconception(
        id="centers_the_drawn_numbers",
        exercise="SelfAttention_v1",
        swaps=in_each(
            LONG,
            "self.{} = nn.Parameter(torch.rand(d_in, d_out))",
            "self.{} = nn.Parameter(torch.rand(d_in, d_out) - 0.5)",
        ),
        explanation="The drawn numbers are lowered by 0.5; they must stay as drawn.",
        question="Between which two numbers does torch.rand draw?",
        when=("subtracts",),
    ),
    # SelfAttention_v2
    Misconception(
        id="divides_exponentials_by_sums_over_the_queries",
        exercise="SelfAttention_v2",
        swaps=(
            (
                "weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)",
                (
                    "scores = scores / keys.shape[-1] ** 0.5\n"
                    "        exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))\n"
                    "        weights = exponentials / exponentials.sum(dim=-2, keepdim=True)"
                ),
            ),
        ),
        title="The exponentials are divided by their sums over the queries",
        explanation=(
            "The exponentials are divided by their sums over the queries; the sums must run over "
            "the keys, so that the weights of a query sum to 1."
        ),
        question="Which numbers in your matrix of weights must sum to 1: a row or a column?",
        when=("takes exponentials",),
    ),
    Misconception(
        id="makes_another_layer_first",
        exercise="SelfAttention_v2",
        swaps=(("self.W_query =", "self.out = nn.Linear(d_out, d_out)\n        self.W_query ="),),
        explanation=(
            "Something else is drawn before the three layers, so they get later random numbers."
        ),
        question="What draws the first numbers after the seed in your constructor?",
    ),
    Misconception(
        id="swaps_in_and_out",
        exercise="SelfAttention_v2",
        swaps=in_each(LONG, "self.{} = nn.Linear(d_in, d_out,", "self.{} = nn.Linear(d_out, d_in,"),
        explanation=(
            "The layers map d_out features to d_in features, but nn.Linear takes the input size "
            "first."
        ),
        question="How many features does a token have before the layer, and how many after it?",
    ),
    Misconception(
        id="multiplies_by_the_stored_weight",
        exercise="SelfAttention_v2",
        swaps=in_each(LONG, "self.{}(x)", "x @ self.{}.weight"),
        title="The weight of nn.Linear is not transposed",
        explanation=(
            "The weight of nn.Linear is not transposed; it is stored as (d_out, d_in), and the "
            "product needs its transpose."
        ),
        question="What is the shape of nn.Linear(3, 2).weight?",
    ),
    Misconception(
        id="starts_smaller",
        exercise="SelfAttention_v2",
        swaps=(
            (
                "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)",
                (
                    "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)\n        "
                    "self.W_value.weight.data *= 0.02"
                ),
            ),
        ),
        explanation="The initial weights are changed after nn.Linear has drawn them.",
        question="Which initial weights does the docstring require?",
    ),
    # transfer_weights
    Misconception(
        id="copies_without_transposing",
        exercise="transfer_weights",
        swaps=in_each(LONG, "source.{}.weight.T", "source.{}.weight"),
        explanation=(
            "The weights are copied as nn.Linear stores them, (d_out, d_in); the target needs "
            "(d_in, d_out)."
        ),
        question="What are the shapes of source.W_query.weight and of target.W_query?",
    ),
    Misconception(
        id="reshapes_instead_of_transposing",
        exercise="transfer_weights",
        swaps=in_each(LONG, "source.{}.weight.T", "source.{0}.weight.reshape(target.{0}.shape)"),
        title="The weights are reshaped instead of transposed",
        explanation=(
            "The weights are reshaped instead of transposed: the sizes fit, but rows do not become "
            "columns."
        ),
        question=(
            "Where does the second number of the first row go in a transpose, and where does it "
            "go in a reshape?"
        ),
        when=("reshapes",),
    ),
    Misconception(
        id="transposes_only_where_shapes_differ",
        exercise="transfer_weights",
        swaps=in_each(
            LONG,
            "source.{}.weight.T",
            (
                "source.{0}.weight.reshape_as(target.{0}) if len(target.{0}) == "
                "len(source.{0}.weight) else source.{0}.weight.T"
            ),
        ),
        explanation=(
            "A square weight is copied without a transpose; its shape fits, but it needs the "
            "transpose too."
        ),
        question="Does a square matrix equal its transpose?",
    ),
    Misconception(
        id="shares_instead_of_copying",
        exercise="transfer_weights",
        swaps=in_each(
            LONG,
            "target.{0}.copy_(source.{0}.weight.T)",
            "target.{0} = nn.Parameter(source.{0}.weight.T)",
        ),
        explanation=(
            "Source and target share memory, because a transpose is a view, so training one "
            "changes the other."
        ),
        question="Does .T copy the numbers, or does it return a view of the old ones?",
    ),
    Misconception(
        id="freezes_the_target",
        exercise="transfer_weights",
        swaps=(
            (
                "target.W_query.copy_(",
                "target.requires_grad_(False)\n        target.W_query.copy_(",
            ),
        ),
        explanation="The target's weights are frozen after the transfer; they must stay trainable.",
        question="What should an optimizer be able to do with the target after the transfer?",
    ),
    Misconception(
        id="drops_the_bias_in_silence",
        exercise="transfer_weights",
        swaps=(("if any(", "if False and any("),),
        explanation=(
            "A source with biases is copied without them, so the two modules give different "
            "outputs."
        ),
        question="What should happen if the two modules cannot give the same output?",
    ),
    Misconception(
        id="adds_to_the_target",
        exercise="transfer_weights",
        swaps=in_each(LONG, "target.{0}.copy_(", "target.{0}.add_("),
        explanation=(
            "The weights of the source are added to those of the target; they must replace them."
        ),
        question="What does the target hold after two transfers?",
        when=("adds",),
    ),
    Misconception(
        id="copies_the_other_way",
        exercise="transfer_weights",
        swaps=in_each(
            LONG, "target.{0}.copy_(source.{0}.weight.T)", "source.{0}.weight.copy_(target.{0}.T)"
        ),
        explanation=(
            "The numbers are copied from the target to the source, so the weights of the source "
            "are lost."
        ),
        question="Which of the two modules should be unchanged?",
    ),
    Misconception(
        id="binds_local_names",
        exercise="transfer_weights",
        swaps=in_each(
            LONG, "target.{0}.copy_(source.{0}.weight.T)", "own_{0} = source.{0}.weight.T.clone()"
        ),
        explanation=(
            "The target does not change, as if the copies were only assigned to local names."
        ),
        question="Which line of your code changes the target?",
    ),
)
