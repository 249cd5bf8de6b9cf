"""Wrong answers that the suite of stage 10 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

SPLIT_QUERIES = "queries = queries.view(B, T, H, d).transpose(1, 2)"
SPLIT_KEYS = "keys = keys.view(B, T, H, d).transpose(1, 2)"
SPLIT_VALUES = "values = values.view(B, T, H, d).transpose(1, 2)"
MERGE = "context.transpose(1, 2).reshape(B, T, H * d)"
MASKED = 'masked = scores.masked_fill(self.mask[:T, :T], float("-inf"))'
SOFTMAX = "torch.softmax(masked / d**0.5, dim=-1)"


def left_behind(name: str, split: str) -> Misconception:
    """Return the mistake that the heads of one of the three stay after the tokens."""
    return Misconception(
        id=f"leaves_the_heads_of_the_{name}_behind_the_tokens",
        exercise="MultiHeadAttention",
        swaps=((split, split.removesuffix(".transpose(1, 2)")),),
        explanation=(
            f"The heads of the {name} stay after the tokens, (B, T, H, d); they must come before "
            "the tokens, (B, H, T, d)."
        ),
        question="Which two axes of each tensor must be last in a product of matrices?",
        when=("reshapes",),
    )


MISCONCEPTIONS = (
    Misconception(
        id="cuts_heads_that_overlap",
        exercise="MultiHeadAttention",
        when=("slices",),
        swaps=(
            (
                "queries = queries.view(B, T, H, d).transpose(1, 2)",
                "queries = torch.stack([queries[..., h : h + d] for h in range(H)], dim=1)",
            ),
            (
                "keys = keys.view(B, T, H, d).transpose(1, 2)",
                "keys = torch.stack([keys[..., h : h + d] for h in range(H)], dim=1)",
            ),
            (
                "values = values.view(B, T, H, d).transpose(1, 2)",
                "values = torch.stack([values[..., h : h + d] for h in range(H)], dim=1)",
            ),
        ),
        explanation=(
            "The slices of the heads overlap: each starts one feature after the start of the "
            "previous slice; it must start one head size after it."
        ),
        question="Which features belong to head 0, and which is the first feature of head 1?",
    ),
    # split_heads
    Misconception(
        id="views_without_moving_the_head_axis",
        exercise="split_heads",
        swaps=(
            ("x.view(B, T, num_heads, D // num_heads)", "x.view(B, num_heads, T, D // num_heads)"),
            ("heads.transpose(1, 2)", "heads"),
        ),
        explanation=(
            "The features are viewed as (B, H, T, d) without moving an axis, so a head gets "
            "numbers that are together in memory, such as whole tokens, instead of its block of "
            "each token."
        ),
        question=(
            "In memory, the features of one token are next to each other. Into which two axes can "
            "a view split them, before any axis is moved?"
        ),
        when=("reshapes",),
    ),
    Misconception(
        id="leaves_the_heads_behind_the_tokens",
        exercise="split_heads",
        swaps=(("heads.transpose(1, 2)", "heads"),),
        explanation=(
            "The heads stay after the tokens, (B, T, H, d); they must come before the tokens, (B, "
            "H, T, d)."
        ),
        question=(
            "A matrix product works on the last two axes. Which two axes must these be in each "
            "head?"
        ),
    ),
    Misconception(
        id="swaps_heads_with_features",
        exercise="split_heads",
        swaps=(("heads.transpose(1, 2)", "heads.transpose(2, 3)"),),
        explanation="The last two axes are swapped; those of heads and tokens must be swapped.",
        question=(
            "After the split, the axes are B, T, H, d. Which two must be swapped to give B, H, T, "
            "d?"
        ),
    ),
    Misconception(
        id="puts_the_heads_before_the_batch",
        exercise="split_heads",
        swaps=(("heads.transpose(1, 2)", "heads.permute(2, 0, 1, 3)"),),
        explanation="The heads come first, (H, B, T, d); the batch must stay first.",
        question="Which axis comes first in x, and which must come first in the heads?",
    ),
    Misconception(
        id="takes_num_heads_for_the_head_size",
        exercise="split_heads",
        swaps=(
            ("x.view(B, T, num_heads, D // num_heads)", "x.view(B, T, D // num_heads, num_heads)"),
        ),
        explanation=(
            "The number and the size of the heads are swapped, so `D` features give D/num_heads "
            "heads."
        ),
        question="If 12 features are split into 4 heads, how many does each head get?",
    ),
    Misconception(
        id="splits_the_tokens",
        exercise="split_heads",
        swaps=(
            ("x.view(B, T, num_heads, D // num_heads)", "x.view(B, num_heads, T // num_heads, D)"),
            ("heads.transpose(1, 2)", "heads"),
        ),
        explanation=(
            "The tokens are split between the heads; every head must get every token, with a part "
            "of its features."
        ),
        question="Does a head need some whole tokens, or a part of every token?",
    ),
    Misconception(
        id="gives_every_head_all_features",
        exercise="split_heads",
        swaps=(("x.view(B, T, num_heads, D // num_heads)", "torch.stack([x] * num_heads, dim=2)"),),
        explanation=(
            "Every head gets a copy of all D features; the features must be split between the "
            "heads."
        ),
        question="How many features do all heads have together, and how many does x have?",
    ),
    Misconception(
        id="gives_every_head_the_first_block",
        exercise="split_heads",
        swaps=(
            (
                "x.view(B, T, num_heads, D // num_heads)",
                "torch.stack([x[..., : D // num_heads]] * num_heads, dim=2)",
            ),
        ),
        explanation=(
            "Every head gets the first block of features; each head must get its own block."
        ),
        question="Where does the block of head h begin, and where does it end?",
    ),
    Misconception(
        id="splits_in_a_loop_over_tokens",
        exercise="split_heads",
        swaps=(
            (
                "heads = x.view(B, T, num_heads, D // num_heads)",
                (
                    "rows = [x[:, t].view(B, num_heads, D // num_heads) for t in range(T)]\n"
                    "    heads = torch.stack(rows, dim=1)"
                ),
            ),
        ),
        explanation=(
            "Each token of the result is split separately, so the number of tensor operations "
            "grows with the length of the text."
        ),
        question="Is one token split differently from the next?",
    ),
    # merge_heads
    Misconception(
        id="reshapes_without_moving_the_head_axis",
        exercise="merge_heads",
        swaps=(("x.transpose(1, 2)", "x"),),
        explanation=(
            "The heads are reshaped to (B, T, H · d) without moving an axis, so a token gets "
            "numbers of other tokens."
        ),
        question="Which two axes must be next to each other before they can be merged?",
    ),
    Misconception(
        id="views_what_is_not_contiguous",
        exercise="merge_heads",
        swaps=(("tokens.reshape(", "tokens.view("),),
        title="A transposed tensor is passed to view",
        explanation=(
            "A transposed tensor is passed to view, which raises an error because the numbers of "
            "the result of a transpose are not in the order of its axes."
        ),
        question="What is the difference between view and reshape, and what does contiguous() do?",
    ),
    Misconception(
        id="swaps_tokens_with_features",
        exercise="merge_heads",
        swaps=(("x.transpose(1, 2)", "x.transpose(1, 3)"),),
        explanation=(
            "Heads and features are swapped instead of heads and tokens, so the reshape mixes the "
            "numbers of different tokens."
        ),
        question="The axes are B, H, T, d. Which two must be swapped to give B, T, H, d?",
    ),
    Misconception(
        id="reads_tokens_for_heads",
        exercise="merge_heads",
        swaps=(("B, H, T, d = x.shape", "B, T, H, d = x.shape"),),
        explanation=(
            "The result has H rows of T · d features for each item; it must have T rows of H · d "
            "features."
        ),
        question="Which axis of (B, H, T, d) counts the heads?",
    ),
    Misconception(
        id="merges_in_a_loop_over_tokens",
        exercise="merge_heads",
        swaps=(
            (
                "tokens = x.transpose(1, 2)",
                "tokens = torch.stack([x[:, :, t] for t in range(T)], dim=1)",
            ),
        ),
        explanation=(
            "Each token of the result is merged separately, so the number of tensor operations "
            "grows with the length of the text."
        ),
        question="Can you swap tokens and heads for all tokens at once?",
    ),
    # MultiHeadAttention: layers
    Misconception(
        id="ties_the_bias_of_out_proj_to_qkv_bias",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "self.out_proj = nn.Linear(d_out, d_out)",
                "self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)",
            ),
        ),
        explanation=(
            "The layer out_proj has a bias only if qkv_bias is true; it must always have one."
        ),
        question="Which of the four layers does qkv_bias apply to?",
    ),
    Misconception(
        id="makes_each_head_d_out_wide",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)",
                (
                    "d_all = d_out * num_heads\n"
                    "        self.W_query = nn.Linear(d_in, d_all, bias=qkv_bias)"
                ),
            ),
            (
                "self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_key = nn.Linear(d_in, d_all, bias=qkv_bias)",
            ),
            (
                "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_value = nn.Linear(d_in, d_all, bias=qkv_bias)",
            ),
            ("nn.Linear(d_out, d_out)", "nn.Linear(d_all, d_out)"),
        ),
        explanation=(
            "Every head has d_out features, as in the wrapper of stage 09; d_out must be split "
            "between the heads."
        ),
        question=(
            "If d_out is 12 and there are 4 heads, how many features does one head have in this "
            "design?"
        ),
    ),
    # MultiHeadAttention: heads
    Misconception(
        id="views_heads_and_back_without_transposing",
        exercise="MultiHeadAttention",
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, H, T, d)"),
            (SPLIT_KEYS, "keys = keys.view(B, H, T, d)"),
            (SPLIT_VALUES, "values = values.view(B, H, T, d)"),
            (MERGE, "context.reshape(B, T, H * d)"),
        ),
        explanation=(
            "Neither the split nor the merge moves an axis: the shapes fit, but tokens and heads "
            "are mixed up."
        ),
        question=(
            "In memory, the features of one token are next to each other. Into which two axes can "
            "a view split them, before any axis is moved?"
        ),
    ),
    left_behind("queries", SPLIT_QUERIES),
    left_behind("keys", SPLIT_KEYS),
    left_behind("values", SPLIT_VALUES),
    Misconception(
        id="interleaves_the_heads_of_attention",
        exercise="MultiHeadAttention",
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, T, d, H).permute(0, 3, 1, 2)"),
            (SPLIT_KEYS, "keys = keys.view(B, T, d, H).permute(0, 3, 1, 2)"),
            (SPLIT_VALUES, "values = values.view(B, T, d, H).permute(0, 3, 1, 2)"),
        ),
        explanation=(
            "A head gets every H-th feature instead of one block: the last axis is split into (d, "
            "H) instead of (H, d)."
        ),
        question=(
            "If the last axis becomes two axes, which of the two runs over neighboring features: "
            "the first or the second?"
        ),
    ),
    Misconception(
        id="interleaves_split_and_merge",
        exercise="MultiHeadAttention",
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, T, d, H).permute(0, 3, 1, 2)"),
            (SPLIT_KEYS, "keys = keys.view(B, T, d, H).permute(0, 3, 1, 2)"),
            (SPLIT_VALUES, "values = values.view(B, T, d, H).permute(0, 3, 1, 2)"),
            (MERGE, "context.permute(0, 2, 3, 1).reshape(B, T, H * d)"),
        ),
        title="A head works on every H-th feature instead of a block",
        explanation=(
            "A head works on every H-th feature instead of a block; split and merge fit each "
            "other, but the heads are wrong."
        ),
        question=(
            "If the last axis becomes two axes, which of the two runs over neighboring features: "
            "the first or the second?"
        ),
    ),
    Misconception(
        id="merges_without_transposing",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "context.reshape(B, T, H * d)"),),
        explanation=(
            "The heads are reshaped to (B, T, d_out) without moving an axis, so a token gets "
            "numbers of other tokens."
        ),
        question="Which two axes must be next to each other before they can be merged?",
        when=("reshapes",),
    ),
    Misconception(
        id="views_the_transposed_context",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "context.transpose(1, 2).view(B, T, H * d)"),),
        title="A transposed tensor is passed to view",
        explanation=(
            "A transposed tensor is passed to view, which raises an error because the numbers in "
            "memory are no longer in the order of the axes."
        ),
        question="What is the difference between view and reshape, and what does contiguous() do?",
    ),
    Misconception(
        id="attends_across_heads",
        exercise="MultiHeadAttention",
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, T, 1, H * d).transpose(1, 2)"),
            (SPLIT_KEYS, "keys = keys.view(B, T, 1, H * d).transpose(1, 2)"),
            (SPLIT_VALUES, "values = values.view(B, T, 1, H * d).transpose(1, 2)"),
        ),
        explanation=(
            "There is only one large head: queries and keys are compared over all d_out features "
            "at once."
        ),
        question="How many different sets of attention weights should one token have with H heads?",
    ),
    Misconception(
        id="averages_the_heads_of_attention",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "context.mean(dim=1).repeat(1, 1, H)"),),
        explanation="The heads are averaged before out_proj; they must be concatenated.",
        question="Can out_proj still separate the heads after an average?",
    ),
    Misconception(
        id="merges_the_values_in_place_of_the_context",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "values.transpose(1, 2).reshape(B, T, H * d)"),),
        explanation=(
            "The values are merged instead of the context vectors, so no token uses the other "
            "tokens."
        ),
        question="Which tensor holds the result of the attention?",
    ),
    # MultiHeadAttention: out_proj
    Misconception(
        id="never_calls_out_proj",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return context"),),
        explanation="The merged heads are returned without out_proj, which mixes their features.",
        question="Which layer mixes the features of the heads before the result is returned?",
    ),
    Misconception(
        id="multiplies_by_the_weight_of_out_proj",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "return self.out_proj(context)",
                "return context @ self.out_proj.weight + self.out_proj.bias",
            ),
        ),
        title="The weight of out_proj is not transposed",
        explanation=(
            "The weight of out_proj is not transposed; nn.Linear stores it as (out, in), and a "
            "product with it needs a transpose."
        ),
        question=(
            "Which matrix product does nn.Linear compute, and in which shape does it store its "
            "weight?"
        ),
        when=("calls weight",),
    ),
    # MultiHeadAttention: scores and scale
    Misconception(
        id="forgets_softmax",
        exercise="MultiHeadAttention",
        swaps=(
            (MASKED, "masked = scores.masked_fill(self.mask[:T, :T], 0.0)"),
            (SOFTMAX, "masked / d**0.5"),
        ),
        explanation=(
            "The scaled scores are used as weights without a softmax; they can be negative and do "
            "not sum to one."
        ),
        question="What must the weights of one query sum to?",
        when=("no takes a softmax",),
    ),
    # MultiHeadAttention: mask
    Misconception(
        id="uses_the_whole_mask",
        exercise="MultiHeadAttention",
        swaps=(("scores.masked_fill(self.mask[:T, :T]", "scores.masked_fill(self.mask"),),
        title="The mask does not fit fewer tokens than context_length",
        explanation=(
            "The mask does not fit fewer tokens than context_length, because it always has "
            "context_length rows and columns."
        ),
        question="Which part of the mask belongs to the first T tokens?",
        when=("fills", "no slices"),
    ),
    # MultiHeadAttention: dropout
    Misconception(
        id="drops_without_making_up_for_it",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = weights * (torch.rand_like(weights) >= self.dropout.p * self.training)",
            ),
        ),
        explanation=(
            "The weights that are kept are not divided by 1 - dropout, so context vectors are too "
            "small on average in training."
        ),
        question=(
            "If a tenth of the weights is dropped, which factor keeps the mean of the row sums the "
            "same?"
        ),
    ),
    Misconception(
        id="drops_the_result_too",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return self.dropout(self.out_proj(context))"),),
        explanation=(
            "Dropout is applied twice: to the weights, and again to the result of out_proj, as in "
            "some models."
        ),
        question="How many times is dropout applied on the way to one number of your result?",
        when=("calls Dropout | calls dropout",),
    ),
    Misconception(
        id="drops_alike_in_all_heads",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = weights * self.dropout(torch.ones(B, 1, T, T))",
            ),
        ),
        explanation=(
            "One pattern of dropped weights is used for all heads; each weight must be dropped "
            "independently."
        ),
        question="If all heads drop the same weights, can any head still use a dropped token?",
    ),
    Misconception(
        id="drops_whole_tokens",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = weights * self.dropout(torch.ones(B, H, 1, T))",
            ),
        ),
        explanation=(
            "A token is dropped for all queries of a head at once; each weight must be dropped "
            "independently."
        ),
        question="How many weights does one random number drop?",
    ),
    # MultiHeadAttention: the rest
    Misconception(
        id="scales_its_input_in_place",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "queries = self.W_query(x)",
                "x *= x.shape[-1] ** 0.5\n        queries = self.W_query(x)",
            ),
        ),
        explanation=(
            "The input is scaled in place, so the projections get scaled numbers and the caller's "
            "tensor changes."
        ),
        question="Which of your steps writes into the tensor that the caller passed?",
        when=("changes tensors in place",),
    ),
    Misconception(
        id="calls_ready_made_attention",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "context = weights @ values",
                (
                    "context = nn.functional.scaled_dot_product_attention(\n"
                    "            queries, keys, values, is_causal=True,\n"
                    "            dropout_p=self.dropout.p if self.training else 0.0\n        )"
                ),
            ),
        ),
        explanation=(
            "Torch's ready-made attention is called; in this stage you must write attention "
            "yourself."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
    ),
    Misconception(
        id="loops_over_queries",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "context = weights @ values",
                (
                    "context = torch.stack(\n"
                    "            [(w[..., None] * values).sum(2) for w in weights.unbind(2)], 2\n"
                    "        )"
                ),
            ),
        ),
        explanation=(
            "The tokens are processed one after the other, so the number of tensor operations "
            "grows with the length of the text."
        ),
        question="Which of your steps could work on all tokens at once?",
        when=("loops",),
    ),
    Misconception(
        id="exchanges_number_and_size_of_heads",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "H, d = self.num_heads, queries.shape[-1] // self.num_heads",
                "H, d = queries.shape[-1] // self.num_heads, self.num_heads",
            ),
        ),
        explanation=(
            "The number and the size of the heads are swapped: there are d_out / num_heads heads "
            "of size num_heads."
        ),
        question=(
            "If d_out is 12 and num_heads is 4, how many heads are there, and how many features "
            "does each have?"
        ),
    ),
    Misconception(
        id="initialises_out_proj_otherwise",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "self.out_proj = nn.Linear(d_out, d_out)",
                (
                    "self.out_proj = nn.Linear(d_out, d_out)\n"
                    "        nn.init.xavier_uniform_(self.out_proj.weight)"
                ),
            ),
        ),
        explanation="The layer out_proj has the wrong initial weights; nn.Linear must draw them.",
        question="Which call must draw the initial weights of out_proj?",
    ),
    Misconception(
        id="scales_by_the_number_of_heads",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / H**0.5, dim=-1)"),),
        title="The scores are divided by the root of the number of heads",
        explanation=(
            "The scores are divided by the root of the number of heads; it must be the root of the "
            "head size."
        ),
        question=(
            "After the split, the axes are B, H, T, d. Along which of them does a dot product sum?"
        ),
        when=("takes roots",),
    ),
    Misconception(
        id="compares_with_the_keys_of_the_first_head",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "scores = queries @ keys.transpose(-2, -1)",
                "scores = queries @ keys[:, :1].transpose(-2, -1)",
            ),
        ),
        explanation="The queries of every head are compared with the keys of the first head.",
        question="Which of the keys, (B, H, T, d), belong to the queries of head h?",
    ),
    Misconception(
        id="transposes_heads_and_tokens_of_the_keys",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "scores = queries @ keys.transpose(-2, -1)",
                "scores = queries @ keys.transpose(1, 2)",
            ),
        ),
        explanation="Heads and tokens of the keys are swapped; the last two axes must be swapped.",
        question=(
            "Which two axes of the keys, (B, H, T, d), must be swapped for the product with the "
            "queries?"
        ),
    ),
    Misconception(
        id="never_drops_again_after_eval",
        exercise="MultiHeadAttention",
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
        explanation=(
            "After a call in eval mode, nothing is dropped when training continues, as if that "
            "call set the dropout probability to zero permanently."
        ),
        question=(
            "Suppose that training and evaluation alternate. Which setting of your module does an "
            "evaluation change?"
        ),
    ),
    Misconception(
        id="drops_alike_in_all_items",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = weights * self.dropout(torch.ones(H, T, T))",
            ),
        ),
        explanation=(
            "One pattern of dropped weights is used for all items of the batch; each weight must "
            "be dropped independently."
        ),
        question="How many weights does one random number drop?",
    ),
)
