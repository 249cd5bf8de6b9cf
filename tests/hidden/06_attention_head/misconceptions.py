"""Wrong answers that the suite of stage 06 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # scaled_scores
    Misconception(
        id="forgets_to_scale",
        exercise="scaled_scores",
        swaps=((" / d**0.5", ""),),
        explanation="The scores are plain dot products: they are not divided by the root of d.",
        question="How does the variance of a dot product grow with the size of its vectors?",
    ),
    Misconception(
        id="divides_by_the_size_itself",
        exercise="scaled_scores",
        swaps=((" / d**0.5", " / d"),),
        explanation="The scores are divided by d instead of its square root.",
        question="The variance grows like d; how does the standard deviation grow?",
    ),
    Misconception(
        id="multiplies_by_the_root",
        exercise="scaled_scores",
        swaps=((" / d**0.5", " * d**0.5"),),
        explanation="The scores are multiplied by the root of d, which makes softmax even sharper.",
        question=(
            "Should the scores of long vectors become larger or smaller, so that they have the "
            "same variance as those of short ones?"
        ),
    ),
    Misconception(
        id="scales_by_the_number_of_tokens",
        exercise="scaled_scores",
        swaps=(("d = keys.shape[-1]", "d = keys.shape[1]"),),
        explanation="The scale comes from T, the number of tokens, not from the size of a key.",
        question="Over which axis does the dot product add, and how long is that axis?",
    ),
    Misconception(
        id="scales_by_a_fixed_head_size",
        exercise="scaled_scores",
        swaps=(("d = keys.shape[-1]", "d = 16"),),
        explanation="The head size of the document's example, 16, is fixed in the function.",
        question="What would your function return for vectors of another size?",
    ),
    Misconception(
        id="takes_the_root_of_the_scores",
        exercise="scaled_scores",
        swaps=(
            ("return queries @ keys", "return (queries @ keys"),
            (" / d**0.5", " / d) ** 0.5"),
        ),
        explanation=(
            "The root of the whole score is taken, which is NaN wherever a score is negative."
        ),
        question="To which part of the expression does the exponent belong?",
    ),
    Misconception(
        id="divides_to_whole_numbers",
        exercise="scaled_scores",
        swaps=((" / d**0.5", " // d**0.5"),),
        explanation="Every score is rounded down to a whole number by //.",
        question="What is the difference between / and // in Python?",
    ),
    Misconception(
        id="swaps_queries_and_keys",
        exercise="scaled_scores",
        swaps=(("queries @ keys.transpose(-2, -1)", "keys @ queries.transpose(-2, -1)"),),
        explanation=(
            "The rows belong to keys and the columns to queries: the scores are transposed."
        ),
        question="Which scores should one row hold: those of one query, or those of one key?",
    ),
    Misconception(
        id="transposes_the_batch_away",
        exercise="scaled_scores",
        swaps=(("transpose(-2, -1)", "transpose(0, 1)"),),
        explanation=(
            "The batch axis and the token axis are exchanged; this transpose is right only "
            "without a batch."
        ),
        question="Which two of the three axes must be exchanged, and which must stay?",
    ),
    Misconception(
        id="reverses_all_axes",
        exercise="scaled_scores",
        swaps=(("keys.transpose(-2, -1)", "keys.permute(2, 1, 0)"),),
        explanation="All three axes are reversed, including the batch axis.",
        question="What does .T do to the first axis of a batch?",
    ),
    Misconception(
        id="reshapes_instead_of_transposing",
        exercise="scaled_scores",
        swaps=(("keys.transpose(-2, -1)", "keys.reshape(keys.shape[0], d, keys.shape[1])"),),
        explanation=(
            "Reshaping keeps the order of the numbers, so that parts of several keys get mixed."
        ),
        question="After a reshape to (B, d, T), are the numbers of one key still in one column?",
    ),
    Misconception(
        id="multiplies_without_adding",
        exercise="scaled_scores",
        swaps=(("queries @ keys.transpose(-2, -1)", "queries * keys"),),
        explanation="Queries and keys are multiplied element by element and never added up.",
        question="How many scores should one query and one key give?",
    ),
    Misconception(
        id="compares_directions_only",
        exercise="scaled_scores",
        swaps=(
            ("return queries @", "return nn.functional.normalize(queries, dim=-1) @"),
            ("keys.transpose", "nn.functional.normalize(keys, dim=-1).transpose"),
            (" / d**0.5", ""),
        ),
        explanation="The vectors are scaled to length one first: this is cosine similarity.",
        question="Does the length of a query or key affect a dot product?",
    ),
    Misconception(
        id="scales_the_callers_queries",
        exercise="scaled_scores",
        swaps=(
            ("return queries @", "queries.data.div_(d**0.5)\n    return queries @"),
            ("(-2, -1) / d**0.5", "(-2, -1)"),
        ),
        explanation=(
            "The queries are scaled in place, so the caller's tensor changes with every call."
        ),
        question="What would a second call with the same queries return?",
    ),
    Misconception(
        id="cuts_the_scores_from_the_graph",
        exercise="scaled_scores",
        swaps=(("keys.transpose(-2, -1)", "keys.detach().transpose(-2, -1)"),),
        explanation="The keys are detached, so no gradient reaches them.",
        question="How can the key layer learn if its result leaves the graph here?",
    ),
    # causal_pattern
    Misconception(
        id="lets_every_token_see_the_future",
        exercise="causal_pattern",
        swaps=(("torch.softmax(masked", "torch.softmax(scores"),),
        explanation=(
            "The softmax runs over the unmasked scores, so every token attends to every other one."
        ),
        question="masked_fill returns a new tensor: which tensor goes into your softmax?",
    ),
    Misconception(
        id="hides_the_past",
        exercise="causal_pattern",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation=(
            "The upper triangle stays visible: tokens attend to the future and not to the past."
        ),
        question="In row i, on which side of the diagonal are the tokens that came before?",
    ),
    Misconception(
        id="hides_what_is_visible",
        exercise="causal_pattern",
        swaps=(("visible == 0", "visible == 1"),),
        explanation=(
            "Minus infinity is written where the triangle holds ones: the mask is inverted."
        ),
        question="Does a one in your triangle mean `keep` or `hide`?",
    ),
    Misconception(
        id="hides_the_token_from_itself",
        exercise="causal_pattern",
        swaps=(("T, T, device=scores.device)", "T, T, device=scores.device), diagonal=-1"),),
        explanation=(
            "The diagonal is hidden too, so for the first token all tokens are hidden and its "
            "row is NaN."
        ),
        question="Which tokens may the first token attend to?",
    ),
    Misconception(
        id="lets_the_next_token_through",
        exercise="causal_pattern",
        swaps=(("T, T, device=scores.device)", "T, T, device=scores.device), diagonal=1"),),
        explanation=(
            "The triangle is one diagonal too wide: each token attends to the one after it."
        ),
        question="Which diagonal of the matrix holds a token's score with itself?",
    ),
    Misconception(
        id="fills_with_zero",
        exercise="causal_pattern",
        swaps=(('float("-inf")', "0.0"),),
        explanation="Hidden scores become 0, and softmax gives a positive weight to a score of 0.",
        question="What is the exponential of 0, and which number has the exponential 0?",
    ),
    Misconception(
        id="fills_with_minus_one",
        exercise="causal_pattern",
        swaps=(('float("-inf")', "-1.0"),),
        explanation="Hidden scores become -1, but softmax still gives them a positive weight.",
        question="How small must a score be so that its exponential is zero?",
    ),
    Misconception(
        id="fills_with_plus_infinity",
        exercise="causal_pattern",
        swaps=(('float("-inf")', 'float("inf")'),),
        explanation="Hidden scores become plus infinity, and the softmax of that is NaN.",
        question="Which sign must an infinite score have to get the weight 0?",
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="causal_pattern",
        swaps=(
            (
                'masked = scores.masked_fill(visible == 0, float("-inf"))',
                'masked = scores * visible + (1 - visible) * float("-inf")',
            ),
        ),
        explanation="Zero times minus infinity is NaN, so every visible score becomes NaN.",
        question="What is 0 times infinity, and how do you fill positions without a product?",
    ),
    Misconception(
        id="masks_the_finished_weights",
        exercise="causal_pattern",
        swaps=(
            ('scores.masked_fill(visible == 0, float("-inf"))', "scores"),
            ("dim=-1)", "dim=-1) * visible"),
        ),
        explanation="The mask comes after the softmax, so the rows no longer sum to one.",
        question="If a part of each row is set to zero, what do the rows sum to?",
    ),
    Misconception(
        id="lets_queries_compete",
        exercise="causal_pattern",
        swaps=(("dim=-1)", "dim=-2)"),),
        explanation="The softmax runs over the queries: the columns sum to one, not the rows.",
        question="Which weights should sum to one: those of one query, or those of one key?",
    ),
    Misconception(
        id="lets_items_compete",
        exercise="causal_pattern",
        swaps=(("dim=-1)", "dim=0)"),),
        explanation=(
            "The softmax runs over the items of the batch, which are independent of each other."
        ),
        question="What does axis 0 of batched scores count?",
    ),
    Misconception(
        id="scales_a_second_time",
        exercise="causal_pattern",
        swaps=(("torch.softmax(masked", "torch.softmax(masked / T**0.5"),),
        explanation="The scores are already scaled; here they are divided by a root once more.",
        question="What does the docstring say about the scores that the function gets?",
    ),
    Misconception(
        id="uses_a_sigmoid",
        exercise="causal_pattern",
        swaps=(("torch.softmax(masked, dim=-1)", "torch.sigmoid(masked)"),),
        explanation="A sigmoid treats each score separately, so the rows do not sum to one.",
        question="If one weight in a row grows, what should happen to the others?",
    ),
    Misconception(
        id="returns_log_probabilities",
        exercise="causal_pattern",
        swaps=(("torch.softmax(", "torch.log_softmax("),),
        explanation="These are logarithms of weights: negative, and minus infinity where hidden.",
        question="What should the numbers of a row add up to?",
    ),
    Misconception(
        id="picks_a_single_winner",
        exercise="causal_pattern",
        swaps=(
            (
                "torch.softmax(masked, dim=-1)",
                "nn.functional.one_hot(masked.argmax(dim=-1), T).float()",
            ),
        ),
        explanation="Only the largest score of each row gets a weight, and no gradient flows.",
        question="Should the token with the second largest score get no weight at all?",
    ),
    Misconception(
        id="averages_the_visible_tokens",
        exercise="causal_pattern",
        swaps=(
            (
                "torch.softmax(masked, dim=-1)",
                "(visible / visible.sum(dim=-1, keepdim=True)).expand_as(scores)",
            ),
        ),
        explanation="Every visible token gets the same weight, whatever its score is.",
        question="Where do the scores affect your weights?",
    ),
    Misconception(
        id="masks_the_callers_scores",
        exercise="causal_pattern",
        swaps=(("scores.masked_fill(", "scores.data.masked_fill_("),),
        explanation="The mask is written into the caller's scores.",
        question="What does the underscore at the end of a method's name mean in PyTorch?",
    ),
    Misconception(
        id="shares_one_pattern_among_items",
        exercise="causal_pattern",
        swaps=(
            (
                "scores.masked_fill(",
                "scores.mean(dim=0, keepdim=True).expand_as(scores).masked_fill(",
            ),
        ),
        explanation=(
            "The scores are averaged over the batch, so that every item gets the same pattern."
        ),
        question="Should the pattern of one sentence depend on the other sentences of the batch?",
    ),
    # AttentionHead
    Misconception(
        id="makes_the_query_first",
        exercise="AttentionHead",
        swaps=(
            ("self.key = nn.Linear", "self.swapped = nn.Linear"),
            ("self.query = nn.Linear", "self.key = nn.Linear"),
            ("self.swapped = nn.Linear", "self.query = nn.Linear"),
        ),
        explanation=(
            "The layers are created in the order query, key, value, so with the same seed they "
            "get other weights."
        ),
        question="In which order does the docstring name the layers?",
    ),
    Misconception(
        id="keeps_the_bias",
        exercise="AttentionHead",
        swaps=(
            (
                "self.key = nn.Linear(embedding_dim, head_size, bias=False)",
                "self.key = nn.Linear(embedding_dim, head_size)",
            ),
            (
                "self.query = nn.Linear(embedding_dim, head_size, bias=False)",
                "self.query = nn.Linear(embedding_dim, head_size)",
            ),
            (
                "self.value = nn.Linear(embedding_dim, head_size, bias=False)",
                "self.value = nn.Linear(embedding_dim, head_size)",
            ),
        ),
        explanation="The three layers have a bias, which nn.Linear adds by default.",
        question="Which argument of nn.Linear decides whether there is a bias?",
    ),
    Misconception(
        id="swaps_roles_in_the_head",
        exercise="AttentionHead",
        swaps=(("q @ k.transpose", "k @ q.transpose"),),
        explanation=(
            "Queries and keys are exchanged: the scores are transposed before they are masked."
        ),
        question="Which query does one row of your scores belong to?",
    ),
    Misconception(
        id="forgets_to_scale_in_the_head",
        exercise="AttentionHead",
        swaps=((" / k.shape[-1] ** 0.5", ""),),
        explanation="The head's scores are not divided by the root of the head size.",
        question="What happens to softmax when its scores become larger and larger?",
    ),
    Misconception(
        id="scales_by_the_embedding",
        exercise="AttentionHead",
        swaps=(("k.shape[-1] ** 0.5", "x.shape[-1] ** 0.5"),),
        explanation="The scale is the root of the embedding dimension, not of the head size.",
        question="How many products does one score of this head add up?",
    ),
    Misconception(
        id="scales_the_finished_weights",
        exercise="AttentionHead",
        swaps=(
            (" / k.shape[-1] ** 0.5", ""),
            ("torch.softmax(masked, dim=-1)", "torch.softmax(masked, dim=-1) / k.shape[-1] ** 0.5"),
        ),
        explanation=(
            "The scale is applied after the softmax, so the rows of weights do not sum to one."
        ),
        question="What is the scale for: the scores, or the weights that come out of the softmax?",
    ),
    Misconception(
        id="forgets_the_mask_in_the_head",
        exercise="AttentionHead",
        swaps=(("torch.softmax(masked", "torch.softmax(scores"),),
        explanation="The softmax runs over unmasked scores: the head uses the future.",
        question="Does your result for token 0 change when the last token changes?",
    ),
    Misconception(
        id="looks_only_forward",
        exercise="AttentionHead",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation=(
            "The buffer keeps the upper triangle: tokens attend to the future and not to the past."
        ),
        question="Which half of the matrix belongs to tokens that came before?",
    ),
    Misconception(
        id="leaves_the_mask_whole",
        exercise="AttentionHead",
        swaps=(("self.tril[:T, :T]", "self.tril"),),
        explanation="The mask always has the full block size and does not fit shorter inputs.",
        question="How large are the scores if there are only T tokens?",
    ),
    Misconception(
        id="cuts_long_inputs",
        exercise="AttentionHead",
        swaps=(
            (
                'raise ValueError(f"{T} tokens do not fit into a block of {block_size}")',
                "x, T = x[:, :block_size], block_size",
            ),
        ),
        explanation="Tokens beyond the block size are dropped without an error.",
        question="How would a caller notice that some tokens have no result?",
    ),
    Misconception(
        id="widens_the_block_in_silence",
        exercise="AttentionHead",
        swaps=(
            (
                'raise ValueError(f"{T} tokens do not fit into a block of {block_size}")',
                "self.tril = torch.tril(torch.ones(T, T))",
            ),
        ),
        title="An input longer than block_size raises no error",
        explanation=(
            "For inputs longer than block_size the head makes a larger mask, but it should raise "
            "an error."
        ),
        question="What does block_size promise about the length of the inputs?",
    ),
    Misconception(
        id="keeps_the_mask_as_plain_attribute",
        exercise="AttentionHead",
        swaps=(
            (
                'self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))',
                "self.tril = torch.tril(torch.ones(block_size, block_size))",
            ),
        ),
        explanation=(
            "There is no buffer tril; an ordinary attribute would not move with the module to "
            "another device."
        ),
        question="How does a module register a tensor that is not trained?",
    ),
    Misconception(
        id="trains_the_mask",
        exercise="AttentionHead",
        swaps=(
            (
                'self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))',
                "self.tril = nn.Parameter(torch.tril(torch.ones(block_size, block_size)))",
            ),
        ),
        explanation="The mask tril is a parameter, so an optimizer would try to train it.",
        question="Should training be able to change which tokens are visible?",
    ),
    Misconception(
        id="mixes_the_inputs",
        exercise="AttentionHead",
        swaps=(("return weights @ v", "return weights @ x"),),
        explanation="The weights mix the raw inputs, not their values.",
        question="What is the third layer for?",
    ),
    Misconception(
        id="mixes_the_keys",
        exercise="AttentionHead",
        swaps=(("return weights @ v", "return weights @ k"),),
        explanation="The weights mix the keys, not the values.",
        question="Which layer computes what the weights should mix?",
    ),
    Misconception(
        id="weighs_with_columns",
        exercise="AttentionHead",
        swaps=(("return weights @ v", "return weights.transpose(-2, -1) @ v"),),
        explanation="The weights are transposed before they mix the values.",
        question="Which row of the weights belongs to token i?",
    ),
    Misconception(
        id="returns_the_weights",
        exercise="AttentionHead",
        swaps=(("return weights @ v", "return weights"),),
        explanation="The head returns its attention weights instead of the context vectors.",
        question="What do the weights still have to be multiplied by?",
    ),
    Misconception(
        id="returns_weights_as_well",
        exercise="AttentionHead",
        swaps=(("return weights @ v", "return weights @ v, weights"),),
        explanation="The head returns a pair, but only the context vectors are required.",
        question="What does the arrow in the docstring say about the result?",
    ),
    Misconception(
        id="normalises_over_queries",
        exercise="AttentionHead",
        swaps=(("dim=-1)", "dim=1)"),),
        explanation=(
            "In a batch, axis 1 counts the queries, so the columns of the weights sum to one."
        ),
        question="Which axis of a batch holds the keys?",
    ),
    Misconception(
        id="transposes_with_the_batch",
        exercise="AttentionHead",
        swaps=(("k.transpose(-2, -1)", "k.transpose(0, 1)"),),
        explanation=(
            "The batch axis and the token axis are exchanged, so keys of different items are mixed."
        ),
        question="Which axes are left apart from the batch axis?",
    ),
    Misconception(
        id="pools_the_scores_of_the_batch",
        exercise="AttentionHead",
        swaps=(("masked = scores.", "masked = scores.mean(dim=0, keepdim=True)."),),
        explanation="The scores are averaged over the batch, so every item has the same weights.",
        question="Would an item alone in its batch get the same result?",
    ),
    Misconception(
        id="writes_the_block_of_the_example",
        exercise="AttentionHead",
        swaps=(("torch.ones(block_size, block_size)", "torch.ones(8, 8)"),),
        explanation="The mask is always made for the example's 8 tokens; block_size is ignored.",
        question="Which argument sets the largest number of tokens?",
    ),
    Misconception(
        id="seeds_itself",
        exercise="AttentionHead",
        swaps=(("self.key = nn.Linear", "torch.manual_seed(42)\n        self.key = nn.Linear"),),
        explanation="The head seeds the generator itself: every head gets the same weights.",
        question="If several heads are created one after the other, how do their weights differ?",
    ),
    Misconception(
        id="seeds_in_every_call",
        exercise="AttentionHead",
        swaps=(("k = self.key(x)", "torch.manual_seed(42)\n        k = self.key(x)"),),
        explanation="Each call seeds the generator, so all random numbers after it repeat.",
        question="Which other code in a program uses the generator that you reset here?",
    ),
    Misconception(
        id="remembers_the_first_mask",
        exercise="AttentionHead",
        swaps=(
            (
                "masked = scores.masked_fill(self.tril[:T, :T] == 0",
                (
                    'n = self.n = getattr(self, "n", T)\n'
                    "        masked = scores.masked_fill(self.tril[:n, :n] == 0"
                ),
            ),
        ),
        explanation=(
            "The mask of the first call is kept, and does not fit inputs of another length."
        ),
        question="What does your head do when a second input has another length?",
    ),
    Misconception(
        id="adds_what_former_calls_left",
        exercise="AttentionHead",
        swaps=(
            (
                "return weights @ v",
                'self.n = getattr(self, "n", -1) + 1; return weights @ v + 0.1 * self.n',
            ),
        ),
        explanation="A part of each call is stored and added to the next one.",
        question="Does the same input give the same result twice?",
    ),
    Misconception(
        id="detaches_the_weights",
        exercise="AttentionHead",
        swaps=(("return weights @ v", "return weights.detach() @ v"),),
        explanation=(
            "The weights are detached from the graph, so the key and query layers never learn."
        ),
        question="Through which tensors must the gradient of the loss reach the key layer?",
    ),
    Misconception(
        id="calls_the_ready_made_attention",
        exercise="AttentionHead",
        swaps=(
            (
                "return weights @ v",
                "return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
            ),
        ),
        explanation="PyTorch's own attention does the work, but you should write it yourself here.",
        question="Which four steps does that function do for you?",
    ),
    Misconception(
        id="loops_over_tokens",
        exercise="AttentionHead",
        swaps=(
            (
                "return weights @ v",
                "return torch.stack([(weights[:, t, None] @ v)[:, 0] for t in range(T)], dim=1)",
            ),
        ),
        explanation=(
            "The tokens are processed one after the other: the number of operations grows with "
            "the length of the input."
        ),
        question="Which single product computes the same as your loop?",
    ),
    Misconception(
        id="makes_layers_in_every_call",
        exercise="AttentionHead",
        swaps=(
            ("k = self.key(x)", "k = nn.Linear(x.shape[-1], self.key.out_features, bias=False)(x)"),
        ),
        explanation=(
            "A new key layer is created in every call, so it can't be trained and the results "
            "differ."
        ),
        question="Where must a layer be created so that the next call uses the same layer?",
    ),
)
