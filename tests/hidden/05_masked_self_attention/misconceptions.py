"""Wrong answers that the suite of stage 05 tells apart."""

from autograder.diagnosis.misconceptions import Misconception

SCALED = "scores / k.shape[self.col_dim] ** 0.5"
SCORES = "q @ k.transpose(self.row_dim, self.col_dim)"
FILLED = "scaled.masked_fill(mask == 0, -torch.inf)"
WEIGHTS = "torch.softmax(visible, dim=self.col_dim)"

# What goes wrong with and without a mask:
# id, text in the class, the wrong text, explanation, question.
IN_BOTH = (
    (
        "forgets_to_scale",
        SCALED,
        "scores",
        "The scores go into softmax unscaled.",
        "How does the spread of a dot product grow with the size of its vectors?",
    ),
    (
        "divides_by_d_k",
        SCALED,
        "scores / k.shape[self.col_dim]",
        "The scores are divided by the key size itself, not by its square root.",
        (
            "By which factor does the standard deviation of a dot product grow when the vectors "
            "get four times as long?"
        ),
    ),
    (
        "multiplies_by_the_root",
        SCALED,
        "scores * k.shape[self.col_dim] ** 0.5",
        "The scores are multiplied by the root of the key size, which makes softmax sharper.",
        "Should large keys make the scores larger or keep them where they are?",
    ),
    (
        "scales_by_sequence_length",
        SCALED,
        "scores / k.shape[self.row_dim] ** 0.5",
        "The scores are divided by the root of the number of tokens instead of features.",
        "How many products does one score add up?",
    ),
    (
        "hard_codes_the_key_size",
        SCALED,
        "scores / 2**0.5",
        "The key size is written down as 2; for any other d_model the scaling is wrong.",
        "Which of your tensors knows how large a key is?",
    ),
    (
        "swaps_query_and_key",
        SCORES,
        "k @ q.transpose(self.row_dim, self.col_dim)",
        "The scores are transposed: row i holds what key i gets from every query.",
        "Whose question stands in row i of the scores?",
    ),
    (
        "forgets_the_batch_in_the_transpose",
        SCORES,
        "q @ k.transpose(0, 1)",
        "The keys' axes 0 and 1 are swapped, which in a batch are items and tokens.",
        "Which two numbers name the axes of tokens and features in a batch?",
    ),
    (
        "mixes_keys",
        "return weights @ v",
        "return weights @ k",
        "The weights mix the keys; keys are there to be found, values to be passed on.",
        "Which of the three projections holds what a token has to say?",
    ),
    (
        "mixes_raw_encodings",
        "return weights @ v",
        "return weights @ token_encodings",
        (
            "The weights mix the token encodings themselves; the shape fits, but W_v has no part "
            "in it."
        ),
        "Which of the three layers has no effect on your result?",
    ),
    (
        "multiplies_by_the_stored_weight",
        "v = self.W_v(token_encodings)",
        "v = token_encodings @ self.W_v.weight",
        (
            "The encodings are multiplied by the weight as nn.Linear stores it, which is the "
            "transpose of what is needed; a square weight raises no error."
        ),
        "What does nn.Linear do with its weight before it multiplies?",
    ),
    (
        "makes_keys_first",
        "self.W_q = nn.Linear(d_model, d_model, bias=False)\n        self.W_k = nn.Linear",
        "self.W_k = nn.Linear(d_model, d_model, bias=False)\n        self.W_q = nn.Linear",
        (
            "The key layer is made before the query layer, so the two hold each other's starting "
            "values."
        ),
        "Which layer should draw its weight first after the seed?",
    ),
    (
        "leaves_a_bias_on",
        "self.W_v = nn.Linear(d_model, d_model, bias=False)",
        "self.W_v = nn.Linear(d_model, d_model)",
        "nn.Linear adds a bias unless told not to.",
        "Which parameters does nn.Linear(2, 2) have?",
    ),
    (
        "cuts_the_graph",
        "return weights @ v",
        "return weights.detach() @ v",
        (
            "The weights are cut out of the graph, so queries and keys get no gradient and never "
            "learn."
        ),
        "On which way would a gradient come from the result to W_q?",
    ),
)


def in_both(exercise: str, suffix: str) -> tuple[Misconception, ...]:
    """Return these mistakes as mistakes of *exercise*."""
    return tuple(
        Misconception(
            id=f"{name}{suffix}",
            exercise=exercise,
            swaps=((right, wrong),),
            explanation=explanation,
            question=question,
        )
        for name, right, wrong, explanation, question in IN_BOTH
    )


MISCONCEPTIONS = (
    # SelfAttention
    *in_both("SelfAttention", ""),
    Misconception(
        id="normalises_over_queries",
        exercise="SelfAttention",
        swaps=(
            ("torch.softmax(scaled, dim=self.col_dim)", "torch.softmax(scaled, dim=self.row_dim)"),
        ),
        explanation=(
            "Softmax runs along row_dim: the weights that a token receives sum to one, not those "
            "it gives."
        ),
        question=(
            "Row i belongs to query i; along which axis do you walk to meet all keys of one query?"
        ),
    ),
    Misconception(
        id="forgets_the_batch_in_softmax",
        exercise="SelfAttention",
        swaps=(("torch.softmax(scaled, dim=self.col_dim)", "torch.softmax(scaled, dim=1)"),),
        explanation="Softmax runs along axis 1, which in a batch counts queries, not keys.",
        question="Which axis of (B, T, T) holds the keys of one query?",
    ),
    Misconception(
        id="forgets_the_batch_in_the_key_size",
        exercise="SelfAttention",
        swaps=((SCALED, "scores / k.shape[1] ** 0.5"),),
        explanation="The key size is read from axis 1, which in a batch counts tokens.",
        question="Which axis of (B, T, d) is as long as a key?",
    ),
    Misconception(
        id="swaps_the_two_axes",
        exercise="SelfAttention",
        swaps=(
            ("self.row_dim = row_dim", "self.row_dim = col_dim"),
            ("self.col_dim = col_dim", "self.col_dim = row_dim"),
        ),
        explanation=(
            "row_dim and col_dim are stored the wrong way around, so key size and softmax read "
            "the tokens' axis."
        ),
        question="Which of the two axes counts features?",
    ),
    Misconception(
        id="reshapes_instead_of_transposing",
        exercise="SelfAttention",
        swaps=((SCORES, "q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])"),),
        explanation=(
            "reshape makes the sizes fit but keeps the numbers in their order: rows do not become "
            "columns."
        ),
        question=(
            "Where does the second number of the first row go when a matrix is transposed, and "
            "where when it is reshaped?"
        ),
    ),
    Misconception(
        id="averages_over_the_batch",
        exercise="SelfAttention",
        swaps=(
            (
                SCORES,
                (
                    f"{SCORES}\n"
                    "        if scores.ndim == 3:\n"
                    "            scores = scores.mean(0, keepdim=True)"
                ),
            ),
        ),
        explanation=(
            "The scores are averaged over the batch, so each item listens by what others ask."
        ),
        question="Should the result for one item change when another one joins the batch?",
    ),
    Misconception(
        id="flattens_the_batch",
        exercise="SelfAttention",
        swaps=(
            (
                "q = self.W_q(token_encodings)",
                (
                    "shape = token_encodings.shape\n"
                    "        token_encodings = token_encodings.reshape(-1, shape[-1])\n"
                    "        q = self.W_q(token_encodings)"
                ),
            ),
            (SCORES, "q @ k.T"),
            ("k.shape[self.col_dim]", "k.shape[1]"),
            ("dim=self.col_dim", "dim=1"),
            ("return weights @ v", "return (weights @ v).reshape(shape)"),
        ),
        explanation=(
            "The batch is laid out as one long sequence, so tokens listen to tokens of other items."
        ),
        question="Whom may a token of one item listen to?",
    ),
    Misconception(
        id="skips_softmax",
        exercise="SelfAttention",
        swaps=(("torch.softmax(scaled, dim=self.col_dim)", "scaled"),),
        explanation=(
            "The scaled scores mix the values directly; without softmax they are no weights."
        ),
        question="Can a share be negative, and what should a token's shares sum to?",
    ),
    Misconception(
        id="divides_by_the_plain_sum",
        exercise="SelfAttention",
        swaps=(
            (
                "torch.softmax(scaled, dim=self.col_dim)",
                "scaled / scaled.sum(dim=-1, keepdim=True)",
            ),
        ),
        explanation=(
            "The scores are divided by their sum; with scores of both signs that is no share of "
            "anything."
        ),
        question="What happens to a row whose scores sum to nearly zero?",
    ),
    Misconception(
        id="uses_sigmoid",
        exercise="SelfAttention",
        swaps=(("torch.softmax(scaled, dim=self.col_dim)", "torch.sigmoid(scaled)"),),
        explanation=(
            "A sigmoid looks at every score on its own, so tokens do not compete and rows do not "
            "sum to one."
        ),
        question="If one score rises, what should happen to the other weights of its row?",
    ),
    Misconception(
        id="scales_after_softmax",
        exercise="SelfAttention",
        swaps=(
            (SCALED, "scores"),
            ("return weights @ v", "return weights / k.shape[self.col_dim] ** 0.5 @ v"),
        ),
        explanation=(
            "The scaling stands behind softmax, so the weights of a token no longer sum to one."
        ),
        question="What do the rows of your weights sum to?",
    ),
    Misconception(
        id="transposes_the_weights",
        exercise="SelfAttention",
        swaps=(("return weights @ v", "return weights.transpose(self.row_dim, self.col_dim) @ v"),),
        explanation=(
            "The weights are transposed before they mix the values: each token gets the shares "
            "that others have in it."
        ),
        question="Which row of the weights sums to one and belongs to the first token?",
    ),
    Misconception(
        id="compares_raw_encodings",
        exercise="SelfAttention",
        swaps=(
            (SCORES, "token_encodings @ token_encodings.transpose(self.row_dim, self.col_dim)"),
        ),
        explanation=(
            "The scores compare the token encodings themselves; queries and keys are never used."
        ),
        question="What would change in your result if W_q held other numbers?",
    ),
    Misconception(
        id="uses_one_layer_for_all",
        exercise="SelfAttention",
        swaps=(("k = self.W_k(", "k = self.W_q("),),
        explanation=(
            "The keys are made by the query layer, so every token asks exactly for what it offers."
        ),
        question="Which of the three layers has no effect on your result?",
    ),
    Misconception(
        id="returns_the_weights",
        exercise="SelfAttention",
        swaps=(("return weights @ v", "return weights"),),
        explanation=(
            "The attention weights are returned, one number per pair of tokens, instead of the "
            "context vectors."
        ),
        question="Which step is left once you know how much each token listens to each other one?",
    ),
    Misconception(
        id="ignores_d_model",
        exercise="SelfAttention",
        swaps=(
            (
                "self.W_v = nn.Linear(d_model, d_model, bias=False)",
                "self.W_v = nn.Linear(2, 2, bias=False)",
            ),
        ),
        explanation="The value layer has size 2 whatever d_model says.",
        question="Where does d_model appear in your constructor?",
    ),
    Misconception(
        id="seeds_in_the_constructor",
        exercise="SelfAttention",
        swaps=(("super().__init__()", "super().__init__()\n        torch.manual_seed(42)"),),
        explanation=(
            "The class sets the seed itself, so every module made from it has the same weights."
        ),
        question="Two attention layers stand in one model: should they start out as twins?",
    ),
    Misconception(
        id="hides_the_future_unasked",
        exercise="SelfAttention",
        swaps=(
            (
                SCALED,
                (
                    f"{SCALED}\n"
                    "        future = torch.ones(scaled.shape[-2:]).triu(1) == 1\n"
                    "        scaled = scaled.masked_fill(future, -torch.inf)"
                ),
            ),
        ),
        explanation="The future is hidden here too, although nobody gave a mask.",
        question="Which of the two classes takes a mask?",
    ),
    Misconception(
        id="calls_ready_attention",
        exercise="SelfAttention",
        swaps=(
            ("return weights @ v", "return nn.functional.scaled_dot_product_attention(q, k, v)"),
        ),
        explanation="torch's ready attention does the work that this exercise is about.",
        question="Which three lines does that function stand for?",
    ),
    # causal_mask
    Misconception(
        id="keeps_the_upper_triangle",
        exercise="causal_mask",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation="The upper triangle is kept: each token sees the future and not the past.",
        question="Which entries of row 0 may be 1?",
    ),
    Misconception(
        id="hides_the_token_itself",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(size, size), diagonal=-1"),),
        explanation=(
            "The diagonal is hidden: no token sees itself, and the first one sees nothing at all."
        ),
        question="What may the first token listen to?",
    ),
    Misconception(
        id="shows_one_token_of_the_future",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(size, size), diagonal=1"),),
        explanation="The triangle reaches one place too far: each token sees its successor.",
        question="How many ones should row 0 have?",
    ),
    Misconception(
        id="marks_what_to_hide",
        exercise="causal_mask",
        swaps=(
            (
                "torch.tril(torch.ones(size, size))",
                "torch.triu(torch.ones(size, size), diagonal=1)",
            ),
        ),
        explanation="The ones mark what is to be hidden, as in other libraries; here a one keeps.",
        question="What does a 1 in the mask mean in this stage?",
    ),
    Misconception(
        id="hides_nothing",
        exercise="causal_mask",
        swaps=(("torch.tril(torch.ones(size, size))", "torch.ones(size, size)"),),
        explanation="The mask is full of ones and hides nothing.",
        question="Which part of the square lies in the future?",
    ),
    Misconception(
        id="sees_only_itself",
        exercise="causal_mask",
        swaps=(("torch.tril(torch.ones(size, size))", "torch.eye(size)"),),
        explanation="Only the diagonal is kept: each token sees itself and nothing of the past.",
        question="How many tokens may the last one see?",
    ),
    Misconception(
        id="fills_the_mask_with_minus_infinity",
        exercise="causal_mask",
        swaps=(
            ("torch.tril(torch.ones(size, size))", "torch.full((size, size), -torch.inf).triu(1)"),
        ),
        explanation=(
            "This is a mask to add to scores, zeros and -inf; here ones and zeros are asked for."
        ),
        question="Which two numbers does the mask of this stage consist of?",
    ),
    Misconception(
        id="divides_each_row_by_its_length",
        exercise="causal_mask",
        swaps=(
            (
                "torch.tril(torch.ones(size, size))",
                "torch.tril(torch.ones(size, size)) / torch.arange(1, size + 1)[:, None]",
            ),
        ),
        explanation=(
            "These are weights for an average, whose rows sum to one; a mask only says yes or no."
        ),
        question="What is the largest and what the smallest number in a mask?",
    ),
    Misconception(
        id="hard_codes_the_size",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(3, 3)"),),
        explanation="The mask is 3 by 3 whatever size is asked for.",
        question="Where does size appear in your function?",
    ),
    Misconception(
        id="adds_an_axis_for_the_batch",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(1, size, size)"),),
        explanation="The mask has a third axis; asked for are rows and columns only.",
        question="Which shape does the description name?",
    ),
    # MaskedSelfAttention
    *in_both("MaskedSelfAttention", "_under_a_mask"),
    Misconception(
        id="normalises_over_queries_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=((WEIGHTS, "torch.softmax(visible, dim=self.row_dim)"),),
        explanation=(
            "Softmax runs along row_dim: the weights that a token receives sum to one, not those "
            "it gives."
        ),
        question=(
            "Row i belongs to query i; along which axis do you walk to meet all keys of one query?"
        ),
    ),
    Misconception(
        id="forgets_the_batch_in_softmax_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=((WEIGHTS, "torch.softmax(visible, dim=1)"),),
        explanation="Softmax runs along axis 1, which in a batch counts queries, not keys.",
        question="Which axis of (B, T, T) holds the keys of one query?",
    ),
    Misconception(
        id="ignores_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"),),
        explanation="The mask is never applied: every token sees all of them.",
        question="Which line of yours reads the mask?",
        ties=("discards_the_masked_scores",),
        why_tied="A mask that is applied to a tensor nobody uses gives what no mask gives.",
    ),
    Misconception(
        id="discards_the_masked_scores",
        exercise="MaskedSelfAttention",
        swaps=(
            (f"visible = {FILLED}", f"{FILLED}\n        visible = scaled  # as if filled in place"),
        ),
        explanation="masked_fill returns a new tensor, and that one is thrown away.",
        question="What is the difference between masked_fill and masked_fill_?",
        ties=("ignores_the_mask",),
        why_tied="A mask that is applied to a tensor nobody uses gives what no mask gives.",
    ),
    Misconception(
        id="fills_with_zero",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled.masked_fill(mask == 0, 0.0)"),),
        explanation="Hidden scores are set to 0, and softmax makes a positive weight of it.",
        question="What is the exponential of 0, and of which number is it 0?",
        ties=("multiplies_scores_by_the_mask",),
        why_tied="Times 0 and filled with 0 are the same scores.",
    ),
    Misconception(
        id="fills_with_minus_one",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled.masked_fill(mask == 0, -1.0)"),),
        explanation=(
            "Hidden scores are set to -1, which lowers their weight but does not remove it."
        ),
        question="How small must a score be for its exponential to vanish?",
    ),
    Misconception(
        id="fills_with_plus_infinity",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled.masked_fill(mask == 0, torch.inf)"),),
        explanation="Hidden scores are set to plus infinity, and softmax gives NaN.",
        question="Which sign makes a score hopeless?",
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled * mask + (1 - mask) * -torch.inf"),),
        explanation=(
            "Where the mask is 1, zero is multiplied by infinity, which is NaN and spoils the "
            "visible scores."
        ),
        question="What is 0 times infinity, and can you do without computing it?",
    ),
    Misconception(
        id="multiplies_scores_by_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled * mask"),),
        explanation=(
            "Hidden scores become 0 by the multiplication, and softmax makes a positive weight of "
            "it."
        ),
        question="What is the exponential of 0?",
        ties=("fills_with_zero",),
        why_tied="Times 0 and filled with 0 are the same scores.",
    ),
    Misconception(
        id="adds_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled + mask"),),
        explanation=(
            "The mask of ones and zeros is added to the scores, which only favours the visible "
            "ones a little."
        ),
        question="What would have to be added to a score so that nothing of it remains?",
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"), ("return weights @ v", "return weights * mask @ v")),
        explanation=(
            "The mask is applied to the weights after softmax, so the remaining ones no longer "
            "sum to one."
        ),
        question="What do the rows of your weights sum to after the mask?",
    ),
    Misconception(
        id="fills_weights_with_minus_infinity",
        exercise="MaskedSelfAttention",
        swaps=(
            (FILLED, "scaled"),
            ("return weights @ v", "return weights.masked_fill(mask == 0, -torch.inf) @ v"),
        ),
        explanation=(
            "-inf is written into the weights after softmax, where nothing turns it into 0 any "
            "more."
        ),
        question="Which step makes a 0 of -inf, and does it come before or after yours?",
    ),
    Misconception(
        id="reads_the_mask_the_wrong_way",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask == 1"),),
        explanation="What the mask keeps is hidden, and what it hides is kept.",
        question="What does a 1 in the mask mean in this stage?",
    ),
    Misconception(
        id="transposes_the_mask",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask.T == 0"),),
        explanation=(
            "The mask is transposed: columns are read as rows, and the past is hidden instead of "
            "the future."
        ),
        question="Whose view does row i of the mask describe?",
    ),
    Misconception(
        id="makes_a_mask_of_its_own",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "torch.ones(scaled.shape[-2:]).triu(1) == 1"),),
        explanation="The future is hidden whatever the given mask says.",
        question="What should happen under a mask that hides nothing?",
    ),
    Misconception(
        id="makes_a_mask_that_shows_one_more",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "torch.ones(scaled.shape[-2:]).triu(2) == 1"),),
        explanation="A mask made inside reaches one place too far: each token sees its successor.",
        question="Who decides what is hidden, the class or whoever calls it?",
    ),
    Misconception(
        id="hides_the_diagonal_as_well",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask.tril(-1) == 0"),),
        explanation="No token sees itself, so the first one sees nothing and its row is NaN.",
        question="Which entry of row 0 has to stay visible?",
    ),
    Misconception(
        id="masks_the_encodings",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"), ("return weights @ v", "return weights @ (mask @ v)")),
        explanation=(
            "The mask is multiplied with the values, which sums them up instead of hiding any "
            "from anyone."
        ),
        question=(
            "A mask speaks of pairs of tokens; which of your tensors has an entry for each pair?"
        ),
    ),
    Misconception(
        id="writes_into_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled + mask.sub_(1).mul_(1e9)"),),
        explanation=(
            "The mask is changed in place: the next call with it hides nothing as it should."
        ),
        question="Who else may hold the mask that you were given?",
    ),
    Misconception(
        id="seeds_in_forward",
        exercise="MaskedSelfAttention",
        swaps=(("q = self.W_q", "torch.manual_seed(0)\n        q = self.W_q"),),
        explanation=(
            "Every call sets the seed, so whatever is drawn after it is the same again and again."
        ),
        question="What would dropout do in a model in which a layer sets the seed at every call?",
    ),
    Misconception(
        id="calls_ready_attention_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=(
            (
                "return weights @ v",
                "return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask == 1)",
            ),
        ),
        explanation="torch's ready attention does the work that this exercise is about.",
        question="Which four lines does that function stand for?",
    ),
)
