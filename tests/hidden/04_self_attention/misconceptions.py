"""Wrong answers that the suite of stage 04 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

SCALED = "scores / keys.shape[-1] ** 0.5"
SOFTMAX = f"torch.softmax({SCALED}, dim=-1)"

# Mistakes between queries, keys and values that are possible in each of the three classes:
# id, text in forward, the wrong text, explanation, question.
IN_FORWARD = (
    (
        "forgets_to_scale",
        SCALED,
        "scores",
        "The scores are not scaled before softmax.",
        (
            "How does the standard deviation of a dot product grow with the size of its vectors, "
            "and what does softmax do with large scores?"
        ),
    ),
    (
        "divides_by_d_k",
        SCALED,
        "scores / keys.shape[-1]",
        "The scores are divided by the key size itself, not by its square root.",
        (
            "By which factor does the standard deviation of a dot product grow when the vectors "
            "get four times as long?"
        ),
    ),
    (
        "multiplies_by_the_root",
        SCALED,
        "scores * keys.shape[-1] ** 0.5",
        (
            "The scores are multiplied by the root of the key size, which makes the weights "
            "sharper instead of softer."
        ),
        "Should a larger key size make the scores larger?",
    ),
    (
        "normalises_over_queries",
        SOFTMAX,
        f"torch.softmax({SCALED}, dim=0)",
        (
            "Softmax runs along the columns: the weights of one key sum to one, but those of one "
            "query should."
        ),
        "Row i belongs to query i; which axis holds the scores of one query with all keys?",
    ),
    (
        "swaps_query_and_key",
        "queries @ keys.T",
        "keys @ queries.T",
        "The scores are transposed: row i holds the scores of key i with every query.",
        "Which query does row i of the scores belong to?",
    ),
    (
        "scales_after_softmax",
        SOFTMAX,
        "torch.softmax(scores, dim=-1) / keys.shape[-1] ** 0.5",
        "The scaling comes after softmax, so the weights of a token no longer sum to one.",
        "What do the rows of your weights sum to?",
    ),
)


def in_forward(exercise: str, suffix: str) -> tuple[Misconception, ...]:
    """Return these mistakes as mistakes of *exercise*."""
    return tuple(
        Misconception(
            id=f"{name}{suffix}",
            exercise=exercise,
            swaps=((right, wrong),),
            explanation=explanation,
            question=question,
        )
        for name, right, wrong, explanation, question in IN_FORWARD
    )


def in_each(names: str, right: str, wrong: str) -> tuple[tuple[str, str], ...]:
    """Return one swap for each of *names*, which replace ``{}`` in the texts."""
    return tuple((right.format(name), wrong.format(name)) for name in names.split())


QKV = "W_q W_k W_v"
LONG = "W_query W_key W_value"

MISCONCEPTIONS = (
    # SelfAttentionV1
    *in_forward("SelfAttentionV1", ""),
    Misconception(
        id="scales_by_input_size",
        exercise="SelfAttentionV1",
        swaps=((SCALED, "scores / input_vectors.shape[-1] ** 0.5"),),
        explanation=(
            "The scores are divided by the root of the input size; they are products of queries "
            "and keys, whose size counts."
        ),
        question="How many products does one score add up?",
    ),
    Misconception(
        id="scales_by_sequence_length",
        exercise="SelfAttentionV1",
        swaps=((SCALED, "scores / keys.shape[0] ** 0.5"),),
        explanation=(
            "The scores are divided by the root of the number of tokens; the size of a key is "
            "the other axis."
        ),
        question="Which axis of the keys counts the tokens, and which counts the features?",
    ),
    Misconception(
        id="hard_codes_the_key_size",
        exercise="SelfAttentionV1",
        swaps=((SCALED, "scores / 2**0.5"),),
        explanation="The key size is fixed at 2; for other sizes the scaling is wrong.",
        question="Which of your tensors has the size of a key in its shape?",
    ),
    Misconception(
        id="takes_the_root_of_the_scores",
        exercise="SelfAttentionV1",
        swaps=((SCALED, "(scores / keys.shape[-1]) ** 0.5"),),
        explanation=(
            "The root is taken of the whole quotient; negative scores have no root and become NaN."
        ),
        question="Which number alone should the root be taken of?",
    ),
    Misconception(
        id="skips_softmax",
        exercise="SelfAttentionV1",
        swaps=((SOFTMAX, SCALED),),
        explanation=(
            "The scaled scores mix the values directly; without softmax they are not weights."
        ),
        question="Can a weight be negative, and what should a token's weights sum to?",
    ),
    Misconception(
        id="uses_sigmoid",
        exercise="SelfAttentionV1",
        swaps=((SOFTMAX, f"torch.sigmoid({SCALED})"),),
        explanation=(
            "A sigmoid treats each score separately, so the weights of a row do not depend on "
            "each other and do not sum to one."
        ),
        question="If one score rises, what should happen to the other weights of its row?",
    ),
    Misconception(
        id="uses_log_softmax",
        exercise="SelfAttentionV1",
        swaps=((SOFTMAX, f"torch.log_softmax({SCALED}, dim=-1)"),),
        explanation="The weights are logarithms of probabilities, all of them negative.",
        question="Which range should weights lie in?",
    ),
    Misconception(
        id="exponentiates_without_dividing",
        exercise="SelfAttentionV1",
        swaps=((SOFTMAX, f"torch.exp({SCALED})"),),
        explanation="The exponentials are not divided by their sum, so the rows do not sum to one.",
        question="What does softmax do after the exponential?",
    ),
    Misconception(
        id="divides_by_the_plain_sum",
        exercise="SelfAttentionV1",
        swaps=((SOFTMAX, "scores / scores.sum(dim=-1, keepdim=True)"),),
        explanation=(
            "The scores are divided by their sum; scores of both signs do not give valid weights "
            "this way."
        ),
        question="What happens to a row whose scores sum to nearly zero?",
    ),
    Misconception(
        id="attends_to_everyone_alike",
        exercise="SelfAttentionV1",
        swaps=((SOFTMAX, "torch.full_like(scores, 1 / len(scores))"),),
        explanation=(
            "Every token gets the same weight, so every context vector is the mean of the values."
        ),
        question="Where do your queries and keys affect the result?",
    ),
    Misconception(
        id="mixes_keys",
        exercise="SelfAttentionV1",
        swaps=(("weights @ values", "weights @ keys"),),
        explanation="The weights mix the keys, but keys are only for the comparison with queries.",
        question="Which of the three projections holds the information that a token contributes?",
    ),
    Misconception(
        id="mixes_raw_inputs",
        exercise="SelfAttentionV1",
        swaps=(("weights @ values", "weights @ input_vectors"),),
        explanation="The weights mix the input vectors, but they should mix the values.",
        question=(
            "How many features should a context vector have, and which projection has the same "
            "number?"
        ),
    ),
    Misconception(
        id="transposes_the_weights",
        exercise="SelfAttentionV1",
        swaps=(("weights @ values", "weights.T @ values"),),
        explanation=(
            "The weights are transposed before they mix the values: row i then holds the weights "
            "that token i gets from the others."
        ),
        question="Which row of the weights sums to one and belongs to the first token?",
    ),
    Misconception(
        id="returns_the_weights",
        exercise="SelfAttentionV1",
        swaps=(("return weights @ values", "return weights"),),
        explanation=(
            "The attention weights are returned, one number per pair of tokens, instead of the "
            "context vectors."
        ),
        question=(
            "Which step is left once you know how much each token attends to each other token?"
        ),
    ),
    Misconception(
        id="returns_the_weights_as_well",
        exercise="SelfAttentionV1",
        swaps=(("return weights @ values", "return weights @ values, weights"),),
        explanation=(
            "The result is a tuple of two things, but only the context vectors are required."
        ),
        question="What would the next layer do with a tuple?",
    ),
    Misconception(
        id="draws_keys_first",
        exercise="SelfAttentionV1",
        swaps=(
            ("self.W_q =", "self._ ="),
            ("self.W_k =", "self.W_q ="),
            ("self._ =", "self.W_k ="),
        ),
        explanation=(
            "The matrices are drawn in another order than W_q, W_k, W_v, so W_q holds what W_k "
            "should."
        ),
        question="Which of the three matrices should get the first numbers after the seed?",
    ),
    Misconception(
        id="draws_uniform_numbers",
        exercise="SelfAttentionV1",
        swaps=in_each(
            QKV, "self.{} = nn.Parameter(torch.randn(", "self.{} = nn.Parameter(torch.rand("
        ),
        explanation=(
            "The matrices are drawn with torch.rand, between 0 and 1, but they should be normal "
            "draws."
        ),
        question="Are there negative numbers among your weights?",
    ),
    Misconception(
        id="draws_all_at_once",
        exercise="SelfAttentionV1",
        swaps=(
            (
                "shape = (dimension_inputs, dimension_outputs)",
                "drawn = torch.randn(3, dimension_inputs, dimension_outputs)",
            ),
            ("self.W_q = nn.Parameter(torch.randn(shape)", "self.W_q = nn.Parameter(drawn[0]"),
            ("self.W_k = nn.Parameter(torch.randn(shape)", "self.W_k = nn.Parameter(drawn[1]"),
            ("self.W_v = nn.Parameter(torch.randn(shape)", "self.W_v = nn.Parameter(drawn[2]"),
        ),
        explanation=(
            "One draw is split into three; torch fills one large tensor in another order than "
            "three small ones."
        ),
        question="How many calls of torch.randn does the description require?",
    ),
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
            "The matrices are drawn as (d_out, d_in) and transposed, so the numbers are in other "
            "places."
        ),
        question="Which shape should a matrix have in the draw?",
    ),
    Misconception(
        id="leaves_the_weights_trainable",
        exercise="SelfAttentionV1",
        swaps=in_each(
            QKV,
            "self.{} = nn.Parameter(torch.randn(shape), requires_grad=False)",
            "self.{} = nn.Parameter(torch.randn(shape))",
        ),
        explanation="The weights are trainable, but in this first class they should be frozen.",
        question="What is the default of requires_grad for an nn.Parameter?",
    ),
    Misconception(
        id="names_the_weights_otherwise",
        exercise="SelfAttentionV1",
        swaps=(
            *in_each(QKV, "self.{} =", "self.own_{} ="),
            *in_each(QKV, "@ self.{}", "@ self.own_{}"),
        ),
        explanation="The parameters have other names than W_q, W_k and W_v.",
        question="Which names does the class's description use?",
    ),
    # SelfAttention_v1
    *in_forward("SelfAttention_v1", "_in_v1"),
    Misconception(
        id="draws_normal_numbers_in_v1",
        exercise="SelfAttention_v1",
        swaps=in_each(
            LONG, "self.{} = nn.Parameter(torch.rand(", "self.{} = nn.Parameter(torch.randn("
        ),
        explanation=(
            "The matrices are drawn with torch.randn, but in this class they should be uniform "
            "between 0 and 1."
        ),
        question="What is the smallest number that you expect among these weights?",
    ),
    Misconception(
        id="draws_keys_first_in_v1",
        exercise="SelfAttention_v1",
        swaps=(
            ("self.W_query =", "self._ ="),
            ("self.W_key =", "self.W_query ="),
            ("self._ =", "self.W_key ="),
        ),
        explanation=(
            "The key matrix is drawn before the query matrix, so each holds the numbers of the "
            "other."
        ),
        question="Which of the three matrices should get the first numbers after the seed?",
    ),
    Misconception(
        id="seeds_in_the_constructor",
        exercise="SelfAttention_v1",
        swaps=(("super().__init__()", "super().__init__()\n        torch.manual_seed(123)"),),
        explanation=(
            "The class sets the seed itself, so every module made from it has the same weights."
        ),
        question="Should two attention layers in one model start with equal weights?",
    ),
    Misconception(
        id="seeds_before_each_matrix",
        exercise="SelfAttention_v1",
        swaps=(
            ("self.W_key =", "torch.manual_seed(123)\n        self.W_key ="),
            ("self.W_value =", "torch.manual_seed(123)\n        self.W_value ="),
        ),
        explanation="The three matrices hold the same numbers; each should be a draw of its own.",
        question="How many draws are there, and what does a seed before each of them do?",
    ),
    Misconception(
        id="seeds_in_forward",
        exercise="SelfAttention_v1",
        swaps=(("queries = x", "torch.manual_seed(0)\n        queries = x"),),
        explanation=(
            "Every call sets the seed, so the random numbers drawn after a call are always the "
            "same."
        ),
        question="What would dropout do in a model if one layer sets the seed at every call?",
    ),
    Misconception(
        id="leaves_the_weights_frozen",
        exercise="SelfAttention_v1",
        swaps=in_each(
            LONG,
            "self.{} = nn.Parameter(torch.rand(d_in, d_out))",
            "self.{} = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)",
        ),
        title="The weights are frozen",
        explanation=(
            "requires_grad=False, as in the first class, means that nothing can be trained."
        ),
        question="What should an optimiser be able to change in this class?",
    ),
    Misconception(
        id="keeps_plain_tensors",
        exercise="SelfAttention_v1",
        swaps=in_each(
            LONG,
            "self.{} = nn.Parameter(torch.rand(d_in, d_out))",
            "self.{} = torch.rand(d_in, d_out)",
        ),
        explanation=(
            "The module has no parameters that torch finds, so an optimiser would train nothing; "
            "plain tensors, for instance, are not registered."
        ),
        question="What does list(attention.parameters()) show?",
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
        explanation="New weights are drawn in every call, so anything learned is lost.",
        question="Do two calls with the same input give the same result?",
    ),
    Misconception(
        id="cuts_the_graph",
        exercise="SelfAttention_v1",
        swaps=(("weights @ values", "weights.detach() @ values"),),
        explanation=(
            "The weights are detached from the graph, so queries and keys get no gradient and "
            "never learn."
        ),
        question="Through which steps should a gradient flow from the result back to W_query?",
    ),
    Misconception(
        id="takes_the_result_out_of_the_graph",
        exercise="SelfAttention_v1",
        swaps=(("return weights @ values", "return (weights @ values).data"),),
        explanation="The result is detached from the graph, so no gradient reaches anything.",
        question="What does .data remove from a tensor?",
    ),
    Misconception(
        id="rounds_like_the_print",
        exercise="SelfAttention_v1",
        swaps=(("return weights @ values", "return torch.round(weights @ values, decimals=4)"),),
        explanation=(
            "The result is rounded to four printed digits, and the gradient of rounding is zero "
            "everywhere."
        ),
        question="Does a tensor hold more digits than print shows?",
    ),
    Misconception(
        id="attends_to_the_best_only",
        exercise="SelfAttention_v1",
        swaps=((SOFTMAX, "torch.eye(len(scores))[scores.argmax(dim=-1)]"),),
        explanation="Each token attends to its best match only, and argmax has no gradient.",
        question="How could training change which token is chosen?",
    ),
    Misconception(
        id="returns_float64",
        exercise="SelfAttention_v1",
        swaps=(("return weights @ values", "return (weights @ values).double()"),),
        explanation="The result is float64, but all inputs are float32.",
        question="What would the next layer do with it, if its weights are float32?",
    ),
    Misconception(
        id="writes_into_the_input",
        exercise="SelfAttention_v1",
        swaps=(("queries = x @", "x.mul_(1.0).add_(0.0).sub_(x.mean())\n        queries = x @"),),
        explanation=(
            "The input is changed in place: afterwards the caller's own tensor has other values."
        ),
        question="Who else may use the tensor that your function gets?",
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
        explanation="Torch's ready attention does the work that you should write in this exercise.",
        question="Which three lines does that function replace?",
    ),
    Misconception(
        id="prints_instead_of_returning",
        exercise="SelfAttention_v1",
        swaps=(("return weights @ values", "print(weights @ values)"),),
        explanation="The context vectors are computed, but not returned.",
        question="What does a function return if it ends without return?",
    ),
    # SelfAttention_v2
    *in_forward("SelfAttention_v2", "_in_v2"),
    Misconception(
        id="leaves_the_bias_on",
        exercise="SelfAttention_v2",
        swaps=in_each(
            LONG,
            "self.{} = nn.Linear(d_in, d_out, bias=qkv_bias)",
            "self.{} = nn.Linear(d_in, d_out)",
        ),
        explanation="The bias that nn.Linear adds by default is not switched off.",
        question="Which parameters does nn.Linear(3, 2) have?",
    ),
    Misconception(
        id="ignores_qkv_bias",
        exercise="SelfAttention_v2",
        swaps=in_each(
            LONG,
            "self.{} = nn.Linear(d_in, d_out, bias=qkv_bias)",
            "self.{} = nn.Linear(d_in, d_out, bias=False)",
        ),
        explanation=("There is no bias, even if the caller sets qkv_bias to True."),
        question="Where does qkv_bias appear after the signature?",
    ),
    Misconception(
        id="gives_the_value_no_bias",
        exercise="SelfAttention_v2",
        swaps=in_each(
            "W_value",
            "self.{} = nn.Linear(d_in, d_out, bias=qkv_bias)",
            "self.{} = nn.Linear(d_in, d_out, bias=False)",
        ),
        explanation=(
            "Only the query and key layers follow qkv_bias; the value layer never has a bias."
        ),
        question="What do the letters q, k and v in qkv_bias stand for?",
    ),
    Misconception(
        id="makes_keys_first_in_v2",
        exercise="SelfAttention_v2",
        swaps=(
            ("self.W_query =", "self._ ="),
            ("self.W_key =", "self.W_query ="),
            ("self._ =", "self.W_key ="),
        ),
        explanation=(
            "The key layer is created before the query layer, so each holds the initial weights "
            "of the other."
        ),
        question="Which layer should draw its weight first after the seed?",
    ),
    Misconception(
        id="makes_another_layer_first",
        exercise="SelfAttention_v2",
        swaps=(("self.W_query =", "self.out = nn.Linear(d_out, d_out)\n        self.W_query ="),),
        explanation=(
            "Something is drawn before the three layers, and uses the random numbers that belong "
            "to them."
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
            "x is multiplied by the weight as nn.Linear stores it, (d_out, d_in), but the "
            "product needs its transpose."
        ),
        question="What is the shape of nn.Linear(3, 2).weight?",
    ),
    Misconception(
        id="uses_one_layer_for_all",
        exercise="SelfAttention_v2",
        swaps=(("self.W_key(x)", "self.W_query(x)"),),
        explanation="The keys come from the query layer, so every token's key equals its query.",
        question="Which of the three layers has no effect on your result?",
    ),
    Misconception(
        id="mixes_keys_in_v2",
        exercise="SelfAttention_v2",
        swaps=(("weights @ values", "weights @ keys"),),
        explanation="The weights mix the keys, but keys are only for the comparison with queries.",
        question="Which of the three projections holds the information that a token contributes?",
    ),
    Misconception(
        id="transposes_the_weights_in_v2",
        exercise="SelfAttention_v2",
        swaps=(("weights @ values", "weights.T @ values"),),
        explanation=(
            "The weights are transposed before they mix the values: row i then holds the weights "
            "that token i gets from the others."
        ),
        question="Which row of the weights sums to one and belongs to the first token?",
    ),
    Misconception(
        id="switches_gradients_off",
        exercise="SelfAttention_v2",
        swaps=(("def forward(", "@torch.no_grad()\n    def forward("),),
        explanation="The forward pass records no gradients, so the layers can't be trained.",
        question="Is torch.no_grad() for training or for evaluation?",
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
        question="Which initial weights does the description require?",
    ),
    # transfer_weights
    Misconception(
        id="copies_without_transposing",
        exercise="transfer_weights",
        swaps=in_each(LONG, "source.{}.weight.T", "source.{}.weight"),
        explanation=(
            "The weights are copied as nn.Linear stores them, (d_out, d_in), but the target "
            "needs (d_in, d_out)."
        ),
        question="What are the shapes of source.W_query.weight and of target.W_query?",
    ),
    Misconception(
        id="reshapes_instead_of_transposing",
        exercise="transfer_weights",
        swaps=in_each(LONG, "source.{}.weight.T", "source.{0}.weight.reshape(target.{0}.shape)"),
        title="The weights are reshaped instead of transposed",
        explanation=(
            "reshape makes the sizes fit but keeps the numbers in their order: rows do not become "
            "columns."
        ),
        question=(
            "Where does the second number of the first row go in a transpose, and where in a "
            "reshape?"
        ),
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
            "A square weight is copied without a transpose because the shapes fit, but it needs "
            "the transpose too."
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
            "Source and target share the same memory, because a transpose is a view: training one "
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
        explanation=(
            "After the transfer the target's weights are frozen and can't be trained any more."
        ),
        question="What should an optimiser be able to do with the target after the transfer?",
    ),
    Misconception(
        id="swaps_query_and_key_on_the_way",
        exercise="transfer_weights",
        swaps=(
            ("target.W_query.copy_(source.W_query", "target.W_query.copy_(source.W_key"),
            ("target.W_key.copy_(source.W_key", "target.W_key.copy_(source.W_query"),
        ),
        explanation=(
            "The source's key weight is copied to the target's query weight, and the query "
            "weight to the key weight."
        ),
        question="Which role does each matrix have in the source, and which in the target?",
    ),
    Misconception(
        id="forgets_the_value",
        exercise="transfer_weights",
        swaps=(("        target.W_value.copy_(source.W_value.weight.T)\n", ""),),
        explanation=(
            "Query and key weights are copied, but the value weight keeps its initial numbers."
        ),
        question="How many matrices does self-attention have?",
    ),
    Misconception(
        id="drops_the_bias_in_silence",
        exercise="transfer_weights",
        swaps=(("if any(", "if False and any("),),
        explanation=(
            "A source with biases is copied without them, and the two modules give different "
            "outputs."
        ),
        question="What should happen if the two modules cannot give the same output?",
    ),
    Misconception(
        id="copies_the_other_way",
        exercise="transfer_weights",
        swaps=in_each(
            LONG, "target.{0}.copy_(source.{0}.weight.T)", "source.{0}.weight.copy_(target.{0}.T)"
        ),
        explanation=(
            "The numbers are copied from target to source: the weights of the source are lost."
        ),
        question="Which of the two modules should be unchanged?",
    ),
    Misconception(
        id="binds_local_names",
        exercise="transfer_weights",
        swaps=in_each(
            LONG, "target.{0}.copy_(source.{0}.weight.T)", "own_{0} = source.{0}.weight.T.clone()"
        ),
        explanation="Copies are bound to local names, and the target does not change.",
        question="Which line of yours changes the target?",
    ),
)
