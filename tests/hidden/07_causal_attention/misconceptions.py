"""Wrong answers that the suite of stage 07 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # mask_then_renormalize
    Misconception(
        id="forgets_to_renormalize",
        exercise="mask_then_renormalize",
        swaps=((" / masked.sum(dim=-1, keepdim=True)", ""),),
        explanation="The weights of later tokens are zero, but the rows no longer sum to one.",
        question="What does the first row sum to after the mask?",
    ),
    Misconception(
        id="forgets_to_mask_the_weights",
        exercise="mask_then_renormalize",
        swaps=((" * torch.ones_like(weights).tril()", ""),),
        explanation=(
            "Nothing is masked: the rows are only divided by their sums, which are already one."
        ),
        question="Which entries of a row belong to tokens that come later?",
    ),
    Misconception(
        id="renormalizes_columns",
        exercise="mask_then_renormalize",
        swaps=(("dim=-1", "dim=0"),),
        explanation="The columns are made to sum to one, not the rows.",
        question="Which should sum to one: the weights of each query, or those of each key?",
    ),
    Misconception(
        id="divides_along_the_wrong_axis",
        exercise="mask_then_renormalize",
        swaps=((", keepdim=True", ""),),
        explanation=(
            "Without keepdim the sums become a row, and each column is divided by one of them."
        ),
        question="Which shape must the sums have for row i to be divided by sum i?",
    ),
    Misconception(
        id="divides_by_the_whole_sum",
        exercise="mask_then_renormalize",
        swaps=(("masked.sum(dim=-1, keepdim=True)", "masked.sum()"),),
        explanation="Each entry is divided by the sum of the whole matrix.",
        question="Should all rows together sum to one, or each of them?",
    ),
    Misconception(
        id="keeps_the_future",
        exercise="mask_then_renormalize",
        swaps=((".tril()", ".triu()"),),
        explanation="The upper triangle is kept: tokens attend to the future and not to the past.",
        question="In row i, on which side of the diagonal are the tokens that came before?",
    ),
    Misconception(
        id="drops_the_diagonal",
        exercise="mask_then_renormalize",
        swaps=((".tril()", ".tril(diagonal=-1)"),),
        explanation=(
            "The diagonal is masked too: the first row is all zeros, and 0 divided by 0 is NaN."
        ),
        question="Which tokens may the first token attend to?",
    ),
    Misconception(
        id="keeps_the_next_token",
        exercise="mask_then_renormalize",
        swaps=((".tril()", ".tril(diagonal=1)"),),
        explanation=(
            "The triangle is one diagonal too wide: each token attends to the one after it."
        ),
        question="Which diagonal of the matrix holds a token's weight for itself?",
    ),
    Misconception(
        id="softmaxes_the_masked_weights",
        exercise="mask_then_renormalize",
        swaps=(
            (
                "masked / masked.sum(dim=-1, keepdim=True)",
                "torch.softmax(masked, dim=-1)",
            ),
        ),
        explanation="A second softmax turns the zeros into positive weights again.",
        question="What does softmax do with a zero, and what does a plain division do with it?",
    ),
    Misconception(
        id="averages_what_is_visible",
        exercise="mask_then_renormalize",
        swaps=(("masked.sum(dim=-1, keepdim=True)", "(masked > 0).sum(dim=-1, keepdim=True)"),),
        explanation=(
            "Each row is divided by the number of visible tokens, not by their weights' sum."
        ),
        question="Which number must a row be divided by so that it sums to one?",
    ),
    Misconception(
        id="adds_infinity_to_weights",
        exercise="mask_then_renormalize",
        swaps=(
            (
                "weights * torch.ones_like(weights).tril()",
                'weights + torch.full_like(weights, float("-inf")).triu(diagonal=1)',
            ),
        ),
        explanation=(
            "Minus infinity is written into the weights, so the sums of the rows are infinite; it "
            "belongs into scores before a softmax."
        ),
        question="Which number means `no attention` in weights after softmax?",
    ),
    Misconception(
        id="masks_the_callers_weights",
        exercise="mask_then_renormalize",
        swaps=(
            (
                "weights * torch.ones_like(weights).tril()",
                "weights.data.mul_(torch.ones_like(weights).tril())",
            ),
        ),
        explanation="The weights are masked in place, so the caller's tensor changes.",
        question="What does the underscore at the end of a method's name mean in PyTorch?",
    ),
    Misconception(
        id="rounds_like_the_print",
        exercise="mask_then_renormalize",
        swaps=(
            (
                "masked / masked.sum(dim=-1, keepdim=True)",
                "torch.round(masked / masked.sum(dim=-1, keepdim=True), decimals=4)",
            ),
        ),
        explanation="The result is rounded to the printed digits, and rounding stops the gradient.",
        question="Does printing with four digits change the numbers in a tensor?",
    ),
    Misconception(
        id="renormalizes_row_by_row",
        exercise="mask_then_renormalize",
        swaps=(
            (
                "masked / masked.sum(dim=-1, keepdim=True)",
                "torch.stack([row / row.sum() for row in masked])",
            ),
        ),
        explanation=(
            "The rows are divided one after the other: the number of operations grows with the "
            "number of rows."
        ),
        question="Which shape of the sums allows one division for all rows?",
    ),
    # mask_with_infinity
    Misconception(
        id="forgets_to_scale",
        exercise="mask_with_infinity",
        swaps=((" / d_k**0.5", ""),),
        explanation="The raw scores are never divided by the root of d_k.",
        question="What is the second argument for?",
    ),
    Misconception(
        id="divides_by_d_k_itself",
        exercise="mask_with_infinity",
        swaps=((" / d_k**0.5", " / d_k"),),
        explanation="The scores are divided by d_k instead of its square root.",
        question="The variance grows like d_k; how does the standard deviation grow?",
    ),
    Misconception(
        id="multiplies_by_the_root",
        exercise="mask_with_infinity",
        swaps=((" / d_k**0.5", " * d_k**0.5"),),
        explanation=(
            "The scores are multiplied by the root of d_k, which sharpens the softmax further."
        ),
        question="Should the scores of long keys become larger or smaller?",
    ),
    Misconception(
        id="scales_by_the_number_of_tokens",
        exercise="mask_with_infinity",
        swaps=((" / d_k**0.5", " / scores.shape[-1] ** 0.5"),),
        explanation=(
            "The scale is the root of the number of tokens, but it should be the root of the key "
            "size."
        ),
        question="Which argument holds the size of a key?",
    ),
    Misconception(
        id="scales_by_the_keys_of_the_example",
        exercise="mask_with_infinity",
        swaps=((" / d_k**0.5", " / 2**0.5"),),
        explanation="The key size of the example, 2, is fixed in the function.",
        question="What would your function return for another d_k?",
    ),
    Misconception(
        id="scales_after_the_softmax",
        exercise="mask_with_infinity",
        swaps=(("masked / d_k**0.5, dim=-1)", "masked, dim=-1) / d_k**0.5"),),
        explanation="The scale comes after the softmax, so the rows do not sum to one.",
        question="What is the scale for: the scores, or the weights?",
    ),
    Misconception(
        id="ignores_the_mask",
        exercise="mask_with_infinity",
        swaps=(("torch.softmax(masked", "torch.softmax(scores"),),
        explanation=(
            "The softmax runs over the unmasked scores, so every token attends to every other one."
        ),
        question="masked_fill returns a new tensor: which tensor goes into your softmax?",
    ),
    Misconception(
        id="fills_with_zero",
        exercise="mask_with_infinity",
        swaps=(('float("-inf")', "0.0"),),
        explanation="Hidden scores become 0, and softmax gives a positive weight to a score of 0.",
        question="What is the exponential of 0?",
    ),
    Misconception(
        id="fills_with_minus_one",
        exercise="mask_with_infinity",
        swaps=(('float("-inf")', "-1.0"),),
        explanation="Hidden scores become -1, but softmax still gives them a positive weight.",
        question="How small must a score be so that its exponential is zero?",
    ),
    Misconception(
        id="fills_with_plus_infinity",
        exercise="mask_with_infinity",
        swaps=(('float("-inf")', 'float("inf")'),),
        explanation="Hidden scores become plus infinity, and the softmax of that is NaN.",
        question="Which sign must an infinite score have to get the weight 0?",
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="mask_with_infinity",
        swaps=(
            (
                'scores.masked_fill(future, float("-inf"))',
                'scores * ~future + future * float("-inf")',
            ),
        ),
        explanation="Zero times minus infinity is NaN, so every visible score becomes NaN.",
        question="What is 0 times infinity, and how do you fill positions without a product?",
    ),
    Misconception(
        id="hides_what_is_visible",
        exercise="mask_with_infinity",
        swaps=(("== 1", "== 0"),),
        explanation="Minus infinity is written into the visible scores: the mask is inverted.",
        question="Does a 1 in your mask mean `keep` or `hide`?",
    ),
    Misconception(
        id="hides_the_token_from_itself",
        exercise="mask_with_infinity",
        swaps=(("diagonal=1", "diagonal=0"),),
        explanation=(
            "The diagonal is hidden too, so for the first token all tokens are hidden and its "
            "row is NaN."
        ),
        question="Which tokens may the first token attend to?",
    ),
    Misconception(
        id="lets_the_next_token_through",
        exercise="mask_with_infinity",
        swaps=(("diagonal=1", "diagonal=2"),),
        explanation=(
            "The mask starts one diagonal too late: each token attends to the one after it."
        ),
        question="Which diagonal holds a token's score with the next token?",
    ),
    Misconception(
        id="hides_the_past",
        exercise="mask_with_infinity",
        swaps=((".triu(diagonal=1)", ".tril(diagonal=-1)"),),
        explanation=(
            "The lower triangle is hidden: tokens attend to the future and not to the past."
        ),
        question="In row i, on which side of the diagonal are the tokens that come later?",
    ),
    Misconception(
        id="masks_without_renormalizing",
        exercise="mask_with_infinity",
        swaps=(
            ('scores.masked_fill(future, float("-inf"))', "scores"),
            ("dim=-1)", "dim=-1) * ~future"),
        ),
        explanation="The mask comes after the softmax, and the rows no longer sum to one.",
        question="If a part of each row is set to zero, what do the rows sum to?",
    ),
    Misconception(
        id="lets_queries_compete",
        exercise="mask_with_infinity",
        swaps=(("dim=-1)", "dim=0)"),),
        explanation="The softmax runs over the queries: the columns sum to one, not the rows.",
        question="Which weights should sum to one: those of one query, or those of one key?",
    ),
    Misconception(
        id="returns_masked_scores",
        exercise="mask_with_infinity",
        swaps=(("torch.softmax(masked / d_k**0.5, dim=-1)", "masked / d_k**0.5"),),
        explanation="The scores are masked and scaled, but they are not turned into weights.",
        question="Which step turns scores into positive numbers that sum to one?",
    ),
    Misconception(
        id="returns_log_probabilities",
        exercise="mask_with_infinity",
        swaps=(("torch.softmax(", "torch.log_softmax("),),
        explanation="These are logarithms of weights: negative, and minus infinity where hidden.",
        question="What should the numbers of a row add up to?",
    ),
    Misconception(
        id="masks_the_callers_scores",
        exercise="mask_with_infinity",
        swaps=(("scores.masked_fill(", "scores.data.masked_fill_("),),
        explanation="Minus infinity is written into the caller's scores.",
        question="What does the underscore at the end of a method's name mean in PyTorch?",
    ),
    Misconception(
        id="detaches_the_scores",
        exercise="mask_with_infinity",
        swaps=(("masked = scores.", "masked = scores.detach()."),),
        explanation=(
            "The scores are detached from the graph, so no gradient reaches queries and keys."
        ),
        question="How can the layers before the scores learn?",
    ),
    # CausalAttention
    Misconception(
        id="makes_the_key_first",
        exercise="CausalAttention",
        swaps=(
            ("self.W_query = nn.Linear", "self.swapped = nn.Linear"),
            ("self.W_key = nn.Linear", "self.W_query = nn.Linear"),
            ("self.swapped = nn.Linear", "self.W_key = nn.Linear"),
        ),
        explanation=(
            "The layers are created in the order key, query, value, so with the same seed they "
            "get other weights."
        ),
        question="In which order does the docstring name the layers?",
    ),
    Misconception(
        id="always_adds_a_bias",
        exercise="CausalAttention",
        swaps=(
            (
                "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_query = nn.Linear(d_in, d_out)",
            ),
            (
                "self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_key = nn.Linear(d_in, d_out)",
            ),
            (
                "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_value = nn.Linear(d_in, d_out)",
            ),
        ),
        explanation=(
            "The layers always have a bias, also if qkv_bias is false: nn.Linear adds one by "
            "default."
        ),
        question="Which argument of nn.Linear decides whether there is a bias?",
    ),
    Misconception(
        id="never_adds_a_bias",
        exercise="CausalAttention",
        swaps=(
            (
                "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_query = nn.Linear(d_in, d_out, bias=False)",
            ),
            (
                "self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_key = nn.Linear(d_in, d_out, bias=False)",
            ),
            (
                "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_value = nn.Linear(d_in, d_out, bias=False)",
            ),
        ),
        explanation="There is no bias, even with qkv_bias=True.",
        question="Where does your constructor use its last argument?",
    ),
    Misconception(
        id="multiplies_by_bare_weights",
        exercise="CausalAttention",
        swaps=(("values = self.W_value(x)", "values = x @ self.W_value.weight.T"),),
        explanation="The value layer's weight is used without its bias.",
        question="What does calling a layer do apart from multiplying by its weight?",
    ),
    Misconception(
        id="swaps_queries_and_keys",
        exercise="CausalAttention",
        swaps=(("queries @ keys.transpose", "keys @ queries.transpose"),),
        explanation=(
            "Queries and keys are exchanged: the scores are transposed before they are masked."
        ),
        question="Which query does one row of your scores belong to?",
    ),
    Misconception(
        id="forgets_to_scale_in_the_module",
        exercise="CausalAttention",
        swaps=((" / keys.shape[-1] ** 0.5", ""),),
        explanation="The scores are not divided by the root of d_out.",
        question="What happens to softmax when its scores become larger and larger?",
    ),
    Misconception(
        id="scales_by_d_in",
        exercise="CausalAttention",
        swaps=(("keys.shape[-1] ** 0.5", "x.shape[-1] ** 0.5"),),
        explanation="The scale is the root of d_in, but it should be the root of the key size.",
        question="How many products does one score add up?",
    ),
    Misconception(
        id="divides_by_d_out_itself",
        exercise="CausalAttention",
        swaps=(("keys.shape[-1] ** 0.5", "keys.shape[-1]"),),
        explanation="The scores are divided by d_out instead of its square root.",
        question="The variance grows like d_out; how does the standard deviation grow?",
    ),
    Misconception(
        id="forgets_the_mask",
        exercise="CausalAttention",
        swaps=(("torch.softmax(masked", "torch.softmax(scores"),),
        explanation="The softmax runs over unmasked scores: every token attends to the future.",
        question="Does the result of token 0 change when the last token changes?",
    ),
    Misconception(
        id="looks_only_forward",
        exercise="CausalAttention",
        swaps=((".triu(diagonal=1)", ".tril(diagonal=-1)"),),
        explanation=(
            "The mask hides the lower triangle: tokens attend to the future and not to the past."
        ),
        question="Which half of the matrix belongs to tokens that come later?",
    ),
    Misconception(
        id="hides_the_diagonal",
        exercise="CausalAttention",
        swaps=((".triu(diagonal=1)", ".triu()"),),
        explanation=(
            "The diagonal is hidden too: for the first token all tokens are hidden, and its row "
            "is NaN."
        ),
        question="Which tokens may the first token attend to?",
    ),
    Misconception(
        id="mixes_up_keep_and_hide",
        exercise="CausalAttention",
        swaps=(("future == 1", "future == 0"),),
        explanation="The mask marks the visible tokens, but the code hides the marked ones.",
        question="Does a true entry of your mask mean `keep` or `hide`?",
    ),
    Misconception(
        id="leaves_the_mask_whole",
        exercise="CausalAttention",
        swaps=(("self.mask[:T, :T]", "self.mask"),),
        explanation="The mask always has the full context length and does not fit shorter inputs.",
        question="How large are the scores if there are only T tokens?",
    ),
    Misconception(
        id="cuts_long_inputs",
        exercise="CausalAttention",
        swaps=(
            (
                'raise ValueError(f"{T} tokens do not fit into a context of {context_length}")',
                "x, T = x[:, :context_length], context_length",
            ),
        ),
        explanation="Tokens beyond the context length are dropped without an error.",
        question="How would a caller notice that some tokens have no result?",
    ),
    Misconception(
        id="keeps_the_mask_as_plain_attribute",
        exercise="CausalAttention",
        swaps=(('self.register_buffer("mask", future == 1)', "self.mask = future == 1"),),
        explanation=(
            "There is no buffer mask; an ordinary attribute would not move with the module to "
            "another device."
        ),
        question="How does a module register a tensor that is not trained?",
    ),
    Misconception(
        id="trains_the_mask",
        exercise="CausalAttention",
        swaps=(
            (
                'self.register_buffer("mask", future == 1)',
                "self.mask = nn.Parameter(future == 1, requires_grad=False)",
            ),
        ),
        explanation=(
            "The mask is a parameter, although a frozen one; it is not a weight and should be a "
            "buffer."
        ),
        question="What do parameters() and an optimizer do with your mask?",
    ),
    Misconception(
        id="transposes_with_the_batch",
        exercise="CausalAttention",
        swaps=(("keys.transpose(-2, -1)", "keys.transpose(0, 1)"),),
        explanation=(
            "The batch axis and the token axis are exchanged; this transpose is right only "
            "without a batch."
        ),
        question="Which axes are left apart from the batch axis?",
    ),
    Misconception(
        id="reshapes_instead_of_transposing",
        exercise="CausalAttention",
        swaps=(("keys.transpose(-2, -1)", "keys.reshape(x.shape[0], -1, T)"),),
        explanation=(
            "Reshaping keeps the order of the numbers, so that parts of several keys get mixed."
        ),
        question=(
            "After a reshape to (B, d_out, T), are the numbers of one key still in one column?"
        ),
    ),
    Misconception(
        id="normalises_over_queries",
        exercise="CausalAttention",
        swaps=(("dim=-1)", "dim=1)"),),
        explanation=(
            "In a batch, axis 1 counts the queries, so the columns of the weights sum to one."
        ),
        question="Which axis of a batch holds the keys?",
    ),
    Misconception(
        id="attends_as_the_first_item_does",
        exercise="CausalAttention",
        swaps=(("masked = scores.", "masked = scores[:1]."),),
        explanation=(
            "The scores of the first item are used for the whole batch; with a batch of equal "
            "texts this mistake does not show."
        ),
        question="Should the weights of one sentence depend on the other sentences of the batch?",
    ),
    Misconception(
        id="pools_the_scores_of_the_batch",
        exercise="CausalAttention",
        swaps=(("masked = scores.", "masked = scores.mean(dim=0, keepdim=True)."),),
        explanation="The scores are averaged over the batch, so every item has the same weights.",
        question="Would an item alone in its batch get the same result?",
    ),
    Misconception(
        id="mixes_the_keys",
        exercise="CausalAttention",
        swaps=(("return weights @ values", "return weights @ keys"),),
        explanation="The weights mix the keys, not the values.",
        question="Which layer computes what the weights should mix?",
    ),
    Misconception(
        id="mixes_the_inputs",
        exercise="CausalAttention",
        swaps=(("return weights @ values", "return weights @ x"),),
        explanation="The weights mix the raw inputs, not their values.",
        question="What is the value layer for?",
    ),
    Misconception(
        id="weighs_with_columns",
        exercise="CausalAttention",
        swaps=(("return weights @ values", "return weights.transpose(-2, -1) @ values"),),
        explanation="The weights are transposed before they mix the values.",
        question="Which row of the weights belongs to token i?",
    ),
    Misconception(
        id="returns_weights_as_well",
        exercise="CausalAttention",
        swaps=(("return weights @ values", "return weights @ values, weights"),),
        explanation="The module returns a pair, but only the context vectors are required.",
        question="What does the arrow in the docstring say about the result?",
    ),
    Misconception(
        id="forgets_dropout",
        exercise="CausalAttention",
        swaps=(("        weights = self.dropout(weights)\n", ""),),
        explanation="Dropout has no effect: training uses every weight in every call.",
        question="Where in forward do you use the dropout layer?",
    ),
    Misconception(
        id="drops_in_eval_mode_too",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = nn.functional.dropout(weights, self.dropout.p)",
            ),
        ),
        explanation="F.dropout drops by default in eval mode as well, so results there vary.",
        question="How does the function know whether the module is in training?",
    ),
    Misconception(
        id="drops_in_eval_mode_only",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = nn.functional.dropout(weights, self.dropout.p, not self.training)",
            ),
        ),
        explanation="Dropout is applied in eval mode and not in training: the flag is inverted.",
        question="What is the value of self.training after eval() was called?",
    ),
    Misconception(
        id="drops_scores",
        exercise="CausalAttention",
        swaps=(
            ("        weights = self.dropout(weights)\n", ""),
            ("masked / keys.shape[-1] ** 0.5", "self.dropout(masked / keys.shape[-1] ** 0.5)"),
        ),
        explanation=(
            "Scores are dropped, not weights: after softmax a score of 0 still gets a positive "
            "weight."
        ),
        question="Which numbers should become zero, those before or those after softmax?",
    ),
    Misconception(
        id="drops_parts_of_the_context",
        exercise="CausalAttention",
        swaps=(
            ("        weights = self.dropout(weights)\n", ""),
            ("return weights @ values", "return self.dropout(weights @ values)"),
        ),
        explanation=(
            "Dropout is applied to the context vectors, and the attention weights are not dropped."
        ),
        question="Which tensor does the docstring name for dropout?",
    ),
    Misconception(
        id="drops_parts_of_the_values",
        exercise="CausalAttention",
        swaps=(
            ("        weights = self.dropout(weights)\n", ""),
            ("return weights @ values", "return weights @ self.dropout(values)"),
        ),
        explanation=(
            "Dropout is applied to the values, so the same numbers are missing for all tokens."
        ),
        question="Which tensor does the docstring name for dropout?",
    ),
    Misconception(
        id="drops_without_rescaling",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = weights * (self.dropout(torch.ones_like(weights)) != 0)",
            ),
        ),
        explanation=(
            "The remaining weights are not divided by 1 - dropout, so in training their sum is "
            "too small."
        ),
        question="On average, what do the rows sum to in training, and what in eval mode?",
    ),
    Misconception(
        id="renormalizes_after_dropout",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                (
                    "weights = self.dropout(weights)\n"
                    "        weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)"
                ),
            ),
        ),
        explanation=(
            "After dropout the rows are normalised to sum to one again; dropout does not do this."
        ),
        question=(
            "Which number are the remaining weights divided by: the sum of their row, or the "
            "same number everywhere?"
        ),
    ),
    Misconception(
        id="takes_dropout_for_the_share_to_keep",
        exercise="CausalAttention",
        swaps=(("nn.Dropout(dropout)", "nn.Dropout(1 - dropout if dropout else 0.0)"),),
        title="The dropout probability is used as that of keeping a weight",
        explanation=(
            "The number is used as the probability of keeping a weight, so the wrong share is "
            "dropped."
        ),
        question="Is `dropout` the probability of losing a weight or of keeping it?",
    ),
    Misconception(
        id="drops_a_fixed_share",
        exercise="CausalAttention",
        swaps=(("nn.Dropout(dropout)", "nn.Dropout(0.5 if dropout else 0.0)"),),
        explanation="Half of the weights are dropped, for every value of `dropout`.",
        question="Where is the argument `dropout` used?",
    ),
    Misconception(
        id="drops_alike_in_every_item",
        exercise="CausalAttention",
        swaps=(
            (
                "self.dropout(weights)",
                "weights * self.dropout(torch.ones_like(weights[:1]))",
            ),
        ),
        explanation="One pattern of dropped weights is used for all items of the batch.",
        question="Which shape must the random numbers have so that each item has its own pattern?",
    ),
    Misconception(
        id="drops_whole_rows",
        exercise="CausalAttention",
        swaps=(
            (
                "self.dropout(weights)",
                "weights * self.dropout(torch.ones_like(weights[:, :, :1]))",
            ),
        ),
        explanation="Either all weights of a token are dropped, or none.",
        question=(
            "Which shape must the random numbers have so that each weight is dropped independently?"
        ),
    ),
    Misconception(
        id="drops_whole_tokens",
        exercise="CausalAttention",
        swaps=(
            (
                "self.dropout(weights)",
                "weights * self.dropout(torch.ones_like(weights[:, :1]))",
            ),
        ),
        explanation="If a token is dropped, its weight is zero in all rows at once.",
        question=(
            "Which shape must the random numbers have so that each weight is dropped independently?"
        ),
    ),
    Misconception(
        id="draws_the_dropped_weights_once",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                (
                    "if self.training:\n"
                    '            self.kept = getattr(self, "kept", self.dropout(weights * 0 + 1))\n'
                    "            weights = weights * self.kept[: x.shape[0], :T, :T]"
                ),
            ),
        ),
        explanation=(
            "The dropped weights are drawn once and stored, so in training the same weights are "
            "always missing."
        ),
        question="When must the random numbers be drawn so that each call has its own?",
    ),
    Misconception(
        id="switches_dropout_off_for_good",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                (
                    "if not self.training:\n"
                    "            self.dropout.p = 0.0\n"
                    "        weights = self.dropout(weights)"
                ),
            ),
        ),
        title="After eval mode nothing is dropped any more",
        explanation=(
            "eval() sets the probability to zero, and it stays zero when training continues."
        ),
        question="After eval() and train(), what is your dropout probability?",
    ),
    Misconception(
        id="seeds_itself",
        exercise="CausalAttention",
        swaps=(
            (
                "self.W_query = nn.Linear",
                "torch.manual_seed(123)\n        self.W_query = nn.Linear",
            ),
        ),
        explanation="The module seeds the generator itself: every module gets the same weights.",
        question="If several modules are created one after the other, how do their weights differ?",
    ),
    Misconception(
        id="seeds_in_every_call",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "torch.manual_seed(123)\n        weights = self.dropout(weights)",
            ),
        ),
        explanation="Each call seeds the generator, so the same weights are dropped every time.",
        question="What should differ between two calls in training?",
    ),
    Misconception(
        id="detaches_the_weights",
        exercise="CausalAttention",
        swaps=(("return weights @ values", "return weights.detach() @ values"),),
        explanation=(
            "The weights are detached from the graph, so the query and key layers never learn."
        ),
        question="Through which tensors must the gradient of the loss reach the key layer?",
    ),
    Misconception(
        id="calls_the_ready_made_attention",
        exercise="CausalAttention",
        swaps=(
            (
                "return weights @ values",
                (
                    "return nn.functional.scaled_dot_product_attention(\n"
                    "            queries, keys, values, is_causal=True,\n"
                    "            dropout_p=self.dropout.p if self.training else 0.0,\n"
                    "        )"
                ),
            ),
        ),
        explanation="PyTorch's own attention does the work, but you should write it yourself here.",
        question="Which steps does that function do for you?",
    ),
    Misconception(
        id="loops_over_tokens",
        exercise="CausalAttention",
        swaps=(
            (
                "return weights @ values",
                "return torch.cat([weights[:, t : t + 1] @ values for t in range(T)], dim=1)",
            ),
        ),
        explanation=(
            "The tokens are processed one after the other: the number of operations grows with "
            "the length of the input."
        ),
        question="Which single product computes the same as your loop?",
    ),
)
