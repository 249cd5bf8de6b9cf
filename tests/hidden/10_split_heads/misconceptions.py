"""Wrong answers that the suite of stage 10 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

SPLIT_QUERIES = "queries = queries.view(B, T, H, d).transpose(1, 2)"
SPLIT_KEYS = "keys = keys.view(B, T, H, d).transpose(1, 2)"
SPLIT_VALUES = "values = values.view(B, T, H, d).transpose(1, 2)"
MERGE = "context.transpose(1, 2).reshape(B, T, H * d)"
MASKED = 'masked = scores.masked_fill(self.mask[:T, :T], float("-inf"))'
SOFTMAX = "torch.softmax(masked / d**0.5, dim=-1)"

MISCONCEPTIONS = (
    # split_heads
    Misconception(
        id="views_without_moving_the_head_axis",
        exercise="split_heads",
        swaps=(
            ("x.view(B, T, num_heads, D // num_heads)", "x.view(B, num_heads, T, D // num_heads)"),
            ("heads.transpose(1, 2)", "heads"),
        ),
        explanation=(
            "The features are viewed as (B, H, T, d) at once, which keeps the order in memory: a "
            "head gets whole tokens, or parts of several tokens, instead of its block of every "
            "token."
        ),
        question=(
            "In memory the features of one token are neighbours. Which two axes may a view cut "
            "them into, before any axis is moved?"
        ),
    ),
    Misconception(
        id="interleaves_the_heads",
        exercise="split_heads",
        swaps=(
            ("x.view(B, T, num_heads, D // num_heads)", "x.view(B, T, D // num_heads, num_heads)"),
            ("heads.transpose(1, 2)", "heads.permute(0, 3, 1, 2)"),
        ),
        explanation=(
            "Head 0 gets features 0, H, 2H, ... and not the first block: the last axis was cut "
            "into (d, H) instead of (H, d)."
        ),
        question=(
            "If the last axis becomes two axes, which of the two counts neighbours: the first or "
            "the second?"
        ),
    ),
    Misconception(
        id="leaves_the_heads_behind_the_tokens",
        exercise="split_heads",
        swaps=(("heads.transpose(1, 2)", "heads"),),
        explanation=(
            "The heads stay after the tokens once the features are cut: the result is (B, T, H, d)."
        ),
        question=(
            "A matrix product works on the last two axes. Which two should these be in each head?"
        ),
    ),
    Misconception(
        id="swaps_heads_with_features",
        exercise="split_heads",
        swaps=(("heads.transpose(1, 2)", "heads.transpose(2, 3)"),),
        explanation="The last two axes are exchanged, (B, T, d, H), instead of heads and tokens.",
        question=(
            "After the cut the axes are B, T, H, d. Which two must be exchanged to give B, H, T, d?"
        ),
    ),
    Misconception(
        id="puts_the_heads_before_the_batch",
        exercise="split_heads",
        swaps=(("heads.transpose(1, 2)", "heads.permute(2, 0, 1, 3)"),),
        explanation="The heads come first, (H, B, T, d), but the batch must stay first.",
        question="Which axis is the first one of every tensor in the module?",
    ),
    Misconception(
        id="folds_the_heads_into_the_batch",
        exercise="split_heads",
        swaps=(("heads.transpose(1, 2)", "heads.transpose(1, 2).flatten(0, 1)"),),
        explanation=(
            "Heads and batch are one axis, (B · H, T, d), but the heads need their own axis."
        ),
        question="How would merge_heads know how many heads there are?",
    ),
    Misconception(
        id="takes_num_heads_for_the_head_size",
        exercise="split_heads",
        swaps=(
            ("x.view(B, T, num_heads, D // num_heads)", "x.view(B, T, D // num_heads, num_heads)"),
        ),
        explanation=(
            "There are D/num_heads heads of size num_heads: the number and the size of the heads "
            "are exchanged."
        ),
        question="If 12 features are split into 4 heads, how many does each head get?",
    ),
    Misconception(
        id="splits_the_tokens",
        exercise="split_heads",
        swaps=(
            (
                "x.view(B, T, num_heads, D // num_heads)",
                "x.view(B, num_heads, T // num_heads, D)",
            ),
            ("heads.transpose(1, 2)", "heads"),
        ),
        explanation=(
            "The tokens are split among the heads, but every head should get every token, with a "
            "part of its features."
        ),
        question="Should a head get some tokens whole, or a part of all tokens?",
    ),
    Misconception(
        id="gives_every_head_all_features",
        exercise="split_heads",
        swaps=(("x.view(B, T, num_heads, D // num_heads)", "torch.stack([x] * num_heads, dim=2)"),),
        explanation=(
            "Every head gets a copy of all D features, but the features should be split among "
            "the heads."
        ),
        question="How many features do all heads have together, and how many has x?",
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
        explanation="Every head gets the same first block of features.",
        question="Where does the block of head h begin, and where does it end?",
    ),
    Misconception(
        id="drops_what_is_left_over",
        exercise="split_heads",
        swaps=(
            (
                'raise ValueError(f"{num_heads} heads cannot share {D} features evenly")',
                "D = D // num_heads * num_heads",
            ),
            ("x.view(", "x[..., :D].reshape("),
        ),
        title="Features that fit into no head are dropped without an error",
        explanation=(
            "If num_heads does not divide the number of features, the remaining features are "
            "dropped without an error."
        ),
        question="What should happen to 5 features and 2 heads?",
    ),
    Misconception(
        id="splits_a_copy_without_history",
        exercise="split_heads",
        swaps=(("x.view(", "x.detach().view("),),
        explanation=(
            "The heads are detached from the graph, so no gradient flows back through the split."
        ),
        question="What does detach remove from a tensor?",
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
            "Each token is cut separately, so the number of tensor operations grows with the "
            "length of the text."
        ),
        question="Does the cut of one token differ from that of another?",
    ),
    # merge_heads
    Misconception(
        id="reshapes_without_moving_the_head_axis",
        exercise="merge_heads",
        swaps=(("x.transpose(1, 2)", "x"),),
        explanation=(
            "The heads are reshaped to (B, T, H · d) without moving an axis: neighbours in "
            "memory are then tokens of one head, so a row mixes several tokens."
        ),
        question="Which two axes must be neighbours before they can become one?",
    ),
    Misconception(
        id="merges_interleaved",
        exercise="merge_heads",
        swaps=(("x.transpose(1, 2)", "x.permute(0, 2, 3, 1)"),),
        explanation=(
            "The numbers of the heads alternate, one of each head after the other, but they "
            "belong in blocks."
        ),
        question="In which order must H and d be when they become one axis?",
    ),
    Misconception(
        id="stops_after_the_transpose",
        exercise="merge_heads",
        swaps=(("tokens.reshape(B, T, H * d)", "tokens"),),
        explanation="Heads and features are still two axes, (B, T, H, d).",
        question="How many axes did the tensor have before it was split?",
    ),
    Misconception(
        id="views_what_is_not_contiguous",
        exercise="merge_heads",
        swaps=(("tokens.reshape(", "tokens.view("),),
        title="A transposed tensor is passed to view",
        explanation=(
            "After a transpose the numbers in memory are no longer in the order of the axes, and "
            "view raises an error."
        ),
        question="What is the difference between view and reshape, and what does contiguous() do?",
    ),
    Misconception(
        id="averages_the_heads",
        exercise="merge_heads",
        swaps=(("tokens.reshape(B, T, H * d)", "tokens.mean(dim=2)"),),
        explanation=(
            "The heads are averaged, so their features can no longer be separated; they belong "
            "side by side."
        ),
        question="How many features must the result have to hold the results of all heads?",
    ),
    Misconception(
        id="adds_the_heads",
        exercise="merge_heads",
        swaps=(("tokens.reshape(B, T, H * d)", "tokens.sum(dim=2)"),),
        explanation="The heads are added up; they belong side by side.",
        question="How many features must the result have to hold the results of all heads?",
    ),
    Misconception(
        id="joins_the_heads_along_the_tokens",
        exercise="merge_heads",
        swaps=(("tokens.reshape(B, T, H * d)", "x.reshape(B, H * T, d)"),),
        explanation=(
            "The heads are joined one after the other, as if they were more tokens: (B, H · T, d)."
        ),
        question="How many tokens should the result have, and how many features should each have?",
    ),
    Misconception(
        id="joins_the_heads_from_last_to_first",
        exercise="merge_heads",
        swaps=(("x.transpose(1, 2)", "x.flip(1).transpose(1, 2)"),),
        explanation="The blocks are in reverse order: the last head comes first.",
        question="Which head had the first features when x was split?",
    ),
    Misconception(
        id="keeps_the_first_head_only",
        exercise="merge_heads",
        swaps=(("tokens.reshape(B, T, H * d)", "tokens[:, :, 0]"),),
        explanation="Only head 0 is returned; the features of the other heads are lost.",
        question="How many features must the result have to hold the results of all heads?",
    ),
    Misconception(
        id="swaps_tokens_with_features",
        exercise="merge_heads",
        swaps=(("x.transpose(1, 2)", "x.transpose(1, 3)"),),
        explanation=(
            "Heads and features are exchanged instead of heads and tokens, so the reshape mixes "
            "the numbers of different tokens."
        ),
        question="The axes are B, H, T, d. Which two must be exchanged to give B, T, H, d?",
    ),
    Misconception(
        id="merges_a_copy_without_history",
        exercise="merge_heads",
        swaps=(("tokens.reshape(", "tokens.detach().reshape("),),
        explanation=(
            "The result is detached from the graph, so no gradient flows back through the merge."
        ),
        question="What does detach remove from a tensor?",
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
            "Each token is merged separately, so the number of tensor operations grows with the "
            "length of the text."
        ),
        question="Can you exchange tokens and heads for all tokens at once?",
    ),
    # MultiHeadAttention: layers
    Misconception(
        id="makes_the_key_layer_first",
        exercise="MultiHeadAttention",
        swaps=(
            ("self.W_query = nn.Linear", "self.W_first = nn.Linear"),
            ("self.W_key = nn.Linear", "self.W_query = nn.Linear"),
            ("self.W_first = nn.Linear", "self.W_key = nn.Linear"),
        ),
        explanation="W_key is created before W_query and so gets its random numbers.",
        question=(
            "In which order does the assignment name the layers, and why does the order matter "
            "with a seed?"
        ),
    ),
    Misconception(
        id="makes_out_proj_first",
        exercise="MultiHeadAttention",
        swaps=(
            ("        self.out_proj = nn.Linear(d_out, d_out)\n", ""),
            (
                "        self.W_query = nn.Linear",
                "        self.out_proj = nn.Linear(d_out, d_out)\n        self.W_query = nn.Linear",
            ),
        ),
        title="The layer out_proj is created first",
        explanation=(
            "out_proj is created before the other layers and gets the random numbers that belong "
            "to W_query."
        ),
        question=(
            "In which order does the assignment name the layers, and why does the order matter "
            "with a seed?"
        ),
    ),
    Misconception(
        id="gives_query_key_value_a_bias",
        exercise="MultiHeadAttention",
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
        title="The bias of nn.Linear is not switched off",
        explanation=(
            "nn.Linear has a bias by default: queries, keys and values have one although "
            "qkv_bias is false."
        ),
        question="What does nn.Linear add by default?",
    ),
    Misconception(
        id="ignores_qkv_bias",
        exercise="MultiHeadAttention",
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
        question="Which layers should qkv_bias be passed to?",
    ),
    Misconception(
        id="makes_out_proj_without_bias",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "self.out_proj = nn.Linear(d_out, d_out)",
                "self.out_proj = nn.Linear(d_out, d_out, bias=False)",
            ),
        ),
        explanation=(
            "The layer out_proj has no bias, but only queries, keys and values may have none."
        ),
        question="Which of the four layers does qkv_bias apply to?",
    ),
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
            "The layer out_proj has a bias only if qkv_bias is true, but it should always have one."
        ),
        question="Which of the four layers does qkv_bias apply to?",
        ties=("makes_out_proj_without_bias",),
        why_tied="If qkv_bias is false, the same bias is missing in both.",
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
            "Every head has d_out features, as in the wrapper of stage 09; here d_out is split "
            "among the heads."
        ),
        question=(
            "If d_out is 12 and there are 4 heads, how many features does one head have in this "
            "design?"
        ),
    ),
    Misconception(
        id="seeds_in_the_constructor",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "        self.W_query = nn.Linear",
                "        torch.manual_seed(123)\n        self.W_query = nn.Linear",
            ),
        ),
        explanation=(
            "The constructor sets torch's seed, so every module has the same weights and the "
            "caller's seed has no effect."
        ),
        question="Who should set the seed if two modules should differ?",
    ),
    Misconception(
        id="seeds_in_forward",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "        B, T, _ = x.shape",
                "        torch.manual_seed(123)\n        B, T, _ = x.shape",
            ),
        ),
        explanation=(
            "Every call sets torch's seed: dropout then always drops the same weights, and the "
            "caller's random numbers start again."
        ),
        question="Which other code in a training run uses torch's generator?",
    ),
    # MultiHeadAttention: heads
    Misconception(
        id="views_heads_without_transposing",
        exercise="MultiHeadAttention",
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, H, T, d)"),
            (SPLIT_KEYS, "keys = keys.view(B, H, T, d)"),
            (SPLIT_VALUES, "values = values.view(B, H, T, d)"),
        ),
        explanation=(
            "Queries, keys and values are viewed as (B, H, T, d) at once: a head then holds "
            "whole tokens, or parts of several tokens, instead of its block of every token."
        ),
        question=(
            "In memory the features of one token are neighbours. Which two axes may a view cut "
            "them into, before any axis is moved?"
        ),
    ),
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
            "In memory the features of one token are neighbours. Which two axes may a view cut "
            "them into, before any axis is moved?"
        ),
    ),
    Misconception(
        id="interleaves_the_heads_of_attention",
        exercise="MultiHeadAttention",
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, T, d, H).permute(0, 3, 1, 2)"),
            (SPLIT_KEYS, "keys = keys.view(B, T, d, H).permute(0, 3, 1, 2)"),
            (SPLIT_VALUES, "values = values.view(B, T, d, H).permute(0, 3, 1, 2)"),
        ),
        explanation=(
            "A head gets every H-th feature instead of a block of neighbours: the last axis was "
            "cut into (d, H) instead of (H, d)."
        ),
        question=(
            "If the last axis becomes two axes, which of the two counts neighbours: the first or "
            "the second?"
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
            "Split and merge fit each other, but a head works on every H-th feature instead of a "
            "block of neighbours."
        ),
        question=(
            "If the last axis becomes two axes, which of the two counts neighbours: the first or "
            "the second?"
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
        question="Which two axes must be neighbours before they can become one?",
    ),
    Misconception(
        id="merges_heads_interleaved",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "context.permute(0, 2, 3, 1).reshape(B, T, H * d)"),),
        explanation=(
            "The numbers of the heads alternate before out_proj, but they belong in blocks."
        ),
        question="In which order must H and d be when they become one axis?",
    ),
    Misconception(
        id="views_the_transposed_context",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "context.transpose(1, 2).view(B, T, H * d)"),),
        title="A transposed tensor is passed to view",
        explanation=(
            "After a transpose the numbers in memory are no longer in the order of the axes, and "
            "view raises an error."
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
        id="shares_the_weights_of_the_first_head",
        exercise="MultiHeadAttention",
        swaps=(("context = weights @ values", "context = weights[:, :1] @ values"),),
        explanation="All heads mix their values with the attention weights of head 0.",
        question=(
            "What could a second head add if it had the same attention weights as the first one?"
        ),
    ),
    Misconception(
        id="averages_the_heads_of_attention",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "context.mean(dim=1).repeat(1, 1, H)"),),
        explanation="The heads are averaged before out_proj; they belong side by side.",
        question="Can out_proj still separate the heads after an average?",
    ),
    Misconception(
        id="merges_the_values_in_place_of_the_context",
        exercise="MultiHeadAttention",
        swaps=((MERGE, "values.transpose(1, 2).reshape(B, T, H * d)"),),
        explanation="The values are merged, not the context vectors: no token uses another token.",
        question="Which tensor holds the result of the attention?",
    ),
    # MultiHeadAttention: out_proj
    Misconception(
        id="forgets_out_proj",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return context"),),
        explanation="The merged heads are returned directly; out_proj exists but is never called.",
        question="Which layer combines the features of different heads?",
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
            "nn.Linear stores its weight as (out, in); a product with this weight needs a "
            "transpose."
        ),
        question=(
            "Which matrix product does nn.Linear compute, and in which shape does it store its "
            "weight?"
        ),
    ),
    Misconception(
        id="leaves_the_bias_of_out_proj_out",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return context @ self.out_proj.weight.T"),),
        explanation="The weight of out_proj is used, but its bias is not.",
        question="What does calling the layer do apart from the matrix product?",
    ),
    Misconception(
        id="adds_the_context_to_its_projection",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return context + self.out_proj(context)"),),
        explanation=(
            "The context is added to its projection; such a residual connection is not part of "
            "this module."
        ),
        question="What should the module return if all parameters of out_proj are zero?",
    ),
    # MultiHeadAttention: scores and scale
    Misconception(
        id="forgets_to_scale",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked, dim=-1)"),),
        explanation="The scores are not divided by the root of the head size.",
        question="How does the variance of a dot product grow with the size of its vectors?",
    ),
    Misconception(
        id="scales_by_d_out",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / (H * d) ** 0.5, dim=-1)"),),
        explanation=(
            "The scores are divided by the root of d_out, but a dot product in one head adds up "
            "only d_out / num_heads terms."
        ),
        question="How many products does one entry of the scores of one head add up?",
    ),
    Misconception(
        id="scales_by_the_number_of_heads",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / H**0.5, dim=-1)"),),
        title="The scores are divided by the root of the number of heads",
        explanation=(
            "The scores are divided by the root of the number of heads instead of the root of "
            "their size."
        ),
        question=(
            "After the split the axes are B, H, T, d. Which of them does a dot product add up over?"
        ),
    ),
    Misconception(
        id="scales_by_the_number_of_tokens",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / T**0.5, dim=-1)"),),
        title="The scores are divided by the root of the number of tokens",
        explanation=(
            "The scores are divided by the root of the number of tokens instead of the root of "
            "the key size."
        ),
        question=(
            "After the split the axes are B, H, T, d. Which of them does a dot product add up over?"
        ),
    ),
    Misconception(
        id="scales_by_d_in",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / x.shape[-1] ** 0.5, dim=-1)"),),
        explanation=(
            "The scores are divided by the root of d_in, the size of the input, but keys in a "
            "head have another size."
        ),
        question="How many features does a key have in one head?",
    ),
    Misconception(
        id="divides_by_the_size_itself",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / d, dim=-1)"),),
        explanation="The scores are divided by the head size, not by its root.",
        question=(
            "The variance of a dot product grows like d; how does its standard deviation grow?"
        ),
    ),
    Misconception(
        id="multiplies_by_the_root",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked * d**0.5, dim=-1)"),),
        explanation=(
            "The scores are multiplied by the root of the head size, which makes softmax even "
            "sharper."
        ),
        question=(
            "Should the scores of long vectors become larger or smaller, so that they have the "
            "same variance as those of short ones?"
        ),
    ),
    Misconception(
        id="scales_after_softmax",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked, dim=-1) / d**0.5"),),
        explanation="The weights are scaled after softmax, so they no longer sum to one.",
        question="Which should the scale make smaller, the scores or the weights?",
    ),
    Misconception(
        id="swaps_queries_and_keys",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "scores = queries @ keys.transpose(-2, -1)",
                "scores = keys @ queries.transpose(-2, -1)",
            ),
        ),
        explanation=(
            "The rows belong to keys and the columns to queries: the scores are transposed."
        ),
        question=(
            "Row i of the scores should belong to query i. To which token do your rows belong?"
        ),
    ),
    Misconception(
        id="projects_queries_with_w_key",
        exercise="MultiHeadAttention",
        swaps=(("queries = self.W_query(x)", "queries = self.W_key(x)"),),
        explanation="Queries and keys come from the same layer; W_query is never used.",
        question="Which layer belongs to which of the three roles?",
    ),
    Misconception(
        id="takes_keys_for_values",
        exercise="MultiHeadAttention",
        swaps=(("values = self.W_value(x)", "values = self.W_key(x)"),),
        explanation="The keys are mixed instead of the values; W_value is never used.",
        question="What is a key for, and what is a value for?",
    ),
    Misconception(
        id="normalises_over_heads",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / d**0.5, dim=1)"),),
        title="Softmax runs over the heads",
        explanation=(
            "Softmax runs over axis 1, which now holds the heads: the weights sum to one over "
            "the heads, and where all are hidden they become NaN."
        ),
        question=(
            "The weights of one query in one head should sum to one over the keys; which axis "
            "holds the keys?"
        ),
    ),
    Misconception(
        id="normalises_over_queries",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / d**0.5, dim=-2)"),),
        explanation="Softmax runs over the queries: the columns sum to one, the rows do not.",
        question="Which weights must sum to one: those of one query, or those of one key?",
    ),
    Misconception(
        id="forgets_softmax",
        exercise="MultiHeadAttention",
        swaps=(
            (MASKED, "masked = scores.masked_fill(self.mask[:T, :T], 0.0)"),
            (SOFTMAX, "masked / d**0.5"),
        ),
        explanation=(
            "The scaled scores mix the values without softmax; they can be negative and do not "
            "sum to one."
        ),
        question="What must the weights of one query sum to?",
    ),
    Misconception(
        id="transposes_the_weights",
        exercise="MultiHeadAttention",
        swaps=(("context = weights @ values", "context = weights.transpose(-2, -1) @ values"),),
        explanation=(
            "The values are mixed by columns of the weights: a token then gets the weights that "
            "others give to it."
        ),
        question="Row i of the weights belongs to query i. Which product uses rows?",
    ),
    # MultiHeadAttention: mask
    Misconception(
        id="forgets_the_mask",
        exercise="MultiHeadAttention",
        swaps=((MASKED, "masked = scores"),),
        explanation="Nothing hides the future: every token attends to all tokens.",
        question="Which tokens may token 0 attend to?",
        ties=("throws_the_masked_scores_away",),
        why_tied="If the masked scores are not used, the result is the same as without a mask.",
    ),
    Misconception(
        id="throws_the_masked_scores_away",
        exercise="MultiHeadAttention",
        swaps=(
            (MASKED, 'scores.masked_fill(self.mask[:T, :T], float("-inf"))'),
            (SOFTMAX, "torch.softmax(scores / d**0.5, dim=-1)"),
        ),
        explanation=(
            "The result of masked_fill, a new tensor, is not used: the scores stay unmasked."
        ),
        question="What does masked_fill return, and which tensor does it leave unchanged?",
        ties=("forgets_the_mask",),
        why_tied="If the masked scores are not used, the result is the same as without a mask.",
    ),
    Misconception(
        id="hides_with_zero",
        exercise="MultiHeadAttention",
        swaps=((MASKED, "masked = scores.masked_fill(self.mask[:T, :T], 0.0)"),),
        explanation=(
            "Hidden scores are set to 0, whose exponential is 1: the future still gets weight."
        ),
        question="Which score gets a weight of exactly zero from softmax?",
    ),
    Misconception(
        id="hides_with_plus_infinity",
        exercise="MultiHeadAttention",
        swaps=((MASKED, 'masked = scores.masked_fill(self.mask[:T, :T], float("inf"))'),),
        explanation="Hidden scores are set to plus infinity, which softmax turns into NaN.",
        question="Which of the two infinities has the exponential zero?",
    ),
    Misconception(
        id="hides_the_token_itself",
        exercise="MultiHeadAttention",
        swaps=(("triu(diagonal=1)", "triu(diagonal=0)"),),
        explanation=(
            "The diagonal is hidden as well: no token attends to itself, and for the first all "
            "tokens are hidden, which gives NaN."
        ),
        question="May a token attend to itself?",
    ),
    Misconception(
        id="lets_the_next_token_through",
        exercise="MultiHeadAttention",
        swaps=(("triu(diagonal=1)", "triu(diagonal=2)"),),
        explanation=(
            "Each token still attends to the one after it: the hidden triangle begins one "
            "diagonal too late."
        ),
        question="Where does the future of token i begin: at i, i + 1 or i + 2?",
    ),
    Misconception(
        id="hides_the_past",
        exercise="MultiHeadAttention",
        swaps=(("triu(diagonal=1)", "tril(diagonal=-1)"),),
        explanation=(
            "The wrong triangle is hidden: tokens attend to the future and not to the past."
        ),
        question="Rows are queries, columns are keys. On which side of the diagonal is the future?",
    ),
    Misconception(
        id="turns_the_mask_around",
        exercise="MultiHeadAttention",
        swaps=(("scores.masked_fill(self.mask[:T, :T]", "scores.masked_fill(~self.mask[:T, :T]"),),
        explanation=(
            "Visible tokens are hidden and the future is visible: for the last token all tokens "
            "are hidden, which gives NaN."
        ),
        question=(
            "In your mask, does a 1 mean keep or hide? And which of the two does masked_fill fill?"
        ),
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="MultiHeadAttention",
        swaps=(
            (MASKED, "masked = scores"),
            (SOFTMAX, SOFTMAX + ".masked_fill(self.mask[:T, :T], 0.0)"),
        ),
        explanation=(
            "The future is removed after softmax, so the remaining weights of a row no longer "
            "sum to one."
        ),
        question="What do the weights of the first token sum to after the mask?",
    ),
    Misconception(
        id="uses_the_whole_mask",
        exercise="MultiHeadAttention",
        swaps=(("scores.masked_fill(self.mask[:T, :T]", "scores.masked_fill(self.mask"),),
        title="The mask does not fit fewer tokens than context_length",
        explanation=(
            "The mask always has context_length rows and columns and does not fit fewer tokens."
        ),
        question="Which part of the mask belongs to the first T tokens?",
    ),
    Misconception(
        id="cuts_long_texts_off",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "        B, T, _ = x.shape\n        context_length = self.mask.shape[0]",
                (
                    "        context_length = self.mask.shape[0]\n"
                    "        x = x[:, :context_length]\n        B, T, _ = x.shape"
                ),
            ),
        ),
        explanation=(
            "Tokens beyond context_length are dropped without an error, and the caller gets "
            "fewer vectors than tokens."
        ),
        question="How would the caller notice that tokens are missing?",
    ),
    Misconception(
        id="keeps_the_mask_as_a_plain_attribute",
        exercise="MultiHeadAttention",
        swaps=(('self.register_buffer("mask", future == 1)', "self.mask = future == 1"),),
        explanation=(
            "There is no buffer mask; an ordinary attribute would not move with the module to a "
            "GPU."
        ),
        question="How does a module register tensors that are not parameters?",
    ),
    Misconception(
        id="trains_the_mask",
        exercise="MultiHeadAttention",
        swaps=(
            ('self.register_buffer("mask", future == 1)', "self.mask = nn.Parameter(future)"),
            ("self.mask[:T, :T], float", "self.mask[:T, :T] == 1, float"),
        ),
        explanation="The mask is a parameter, so an optimizer would train it.",
        question="Should training change which tokens are hidden?",
    ),
    # MultiHeadAttention: dropout
    Misconception(
        id="forgets_dropout",
        exercise="MultiHeadAttention",
        swaps=(("weights = self.dropout(weights)", "weights = weights * 1"),),
        explanation="Dropout has no effect: training uses every weight in every call.",
        question=(
            "What happens to the attention weights between softmax and the values in training?"
        ),
    ),
    Misconception(
        id="drops_scores",
        exercise="MultiHeadAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            (SOFTMAX, "torch.softmax(self.dropout(masked / d**0.5), dim=-1)"),
        ),
        explanation=(
            "Dropout is applied to the scores, where 0 does not mean no attention: softmax still "
            "gives those tokens weight."
        ),
        question="Which zeros remain zeros: those before softmax, or those after it?",
    ),
    Misconception(
        id="drops_the_context",
        exercise="MultiHeadAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            ("context = weights @ values", "context = self.dropout(weights @ values)"),
        ),
        explanation="Dropout is applied to the context vectors, not to the attention weights.",
        question=(
            "Should dropout remove connections between tokens, or features of a context vector?"
        ),
    ),
    Misconception(
        id="drops_the_projected_output",
        exercise="MultiHeadAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            ("return self.out_proj(context)", "return self.dropout(self.out_proj(context))"),
        ),
        explanation="Dropout is applied to the output, not to the attention weights.",
        question=(
            "Should dropout remove connections between tokens, or features of a context vector?"
        ),
    ),
    Misconception(
        id="drops_values",
        exercise="MultiHeadAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            ("values = self.W_value(x)", "values = self.dropout(self.W_value(x))"),
        ),
        explanation=(
            "Dropout is applied to the values, so a dropped number is missing for all tokens at "
            "once."
        ),
        question="Should one random draw decide for all tokens at once?",
    ),
    Misconception(
        id="drops_in_eval_mode_too",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                "weights = nn.functional.dropout(weights, self.dropout.p)",
            ),
        ),
        explanation="F.dropout also drops in eval mode, unless you pass it the mode.",
        question=(
            "How does nn.Dropout know whether the module is in training, and how does F.dropout?"
        ),
    ),
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
            "The weights that are kept are not divided by 1 - dropout, so context vectors are "
            "too small in training."
        ),
        question="If a tenth of the weights is dropped, how does the sum keep its average?",
    ),
    Misconception(
        id="keeps_as_many_as_it_should_drop",
        exercise="MultiHeadAttention",
        swaps=(("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Dropout(1 - dropout)"),),
        title="The dropout probability is used as that of keeping a weight",
        explanation=(
            "dropout is used as the share that is kept, but it is the share that is dropped."
        ),
        question="With dropout=0.1, how many of a hundred weights should be dropped?",
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
            "One pattern of dropped weights is used for all heads, but each weight should be "
            "dropped independently."
        ),
        question=(
            "If two heads always drop the same token, can one head still use what the other misses?"
        ),
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
            "Whole columns of weights are dropped, a token for all queries at once, but each "
            "weight should be dropped independently."
        ),
        question="How many weights does one random draw decide about?",
    ),
    # MultiHeadAttention: the rest
    Misconception(
        id="accepts_an_uneven_share",
        exercise="MultiHeadAttention",
        swaps=(
            ("        if d_out % num_heads != 0:", "        if d_out < num_heads:"),
            ("queries.shape[-1] // self.num_heads", "max(1, queries.shape[-1] // self.num_heads)"),
            (SPLIT_QUERIES, "queries = queries[..., : H * d].reshape(B, T, H, d).transpose(1, 2)"),
            (SPLIT_KEYS, "keys = keys[..., : H * d].reshape(B, T, H, d).transpose(1, 2)"),
            (SPLIT_VALUES, "values = values[..., : H * d].reshape(B, T, H, d).transpose(1, 2)"),
            (
                "return self.out_proj(context)",
                (
                    "spare = self.out_proj.in_features - H * d\n"
                    "        return self.out_proj(nn.functional.pad(context, (0, spare)))"
                ),
            ),
        ),
        title="Features that fit into no head stay unused without an error",
        explanation=(
            "If num_heads does not divide d_out, the remaining features stay unused without an "
            "error."
        ),
        question="What should happen to d_out = 5 and 2 heads?",
    ),
    Misconception(
        id="reuses_the_first_item",
        exercise="MultiHeadAttention",
        swaps=(("context = weights @ values", "context = weights[:1] @ values"),),
        explanation=(
            "All items of the batch are mixed with the attention weights of the first item."
        ),
        question="Which axes does a matrix product treat as separate items?",
    ),
    Misconception(
        id="averages_the_batch",
        exercise="MultiHeadAttention",
        swaps=(("context = weights @ values", "context = weights.mean(dim=0) @ values"),),
        explanation=(
            "The attention weights are averaged over the batch, so independent texts influence "
            "each other."
        ),
        question="Should the result of an item depend on the other items in its batch?",
    ),
    Misconception(
        id="cuts_the_graph",
        exercise="MultiHeadAttention",
        swaps=(("context = weights @ values", "context = weights.detach() @ values"),),
        explanation=(
            "The attention weights are detached from the graph: W_query and W_key never learn."
        ),
        question="Through which steps should a gradient flow from the result back to W_query?",
    ),
    Misconception(
        id="computes_without_gradients",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return self.out_proj(context).detach()"),),
        explanation="The result is detached from the graph, so nothing can be trained.",
        question="What does training need from this result?",
    ),
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
            "The input is scaled in place: the projections get other numbers, and the caller's "
            "tensor is changed."
        ),
        question="Which tensor does x *= ... change?",
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
            "Torch's ready-made attention does the work that you should write in this stage."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
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
            "Each token's context vector is computed separately, so the number of tensor "
            "operations grows with the length of the text."
        ),
        question="Which product mixes the values for all queries of all heads at once?",
    ),
    Misconception(
        id="returns_the_weights_as_well",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return self.out_proj(context), weights"),),
        explanation=(
            "A pair of context vectors and weights is returned, but the result should be one "
            "tensor."
        ),
        question="What would the next layer do with a tuple?",
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
            "The number and the size of the heads are exchanged: there are d_out / num_heads "
            "heads of size num_heads."
        ),
        question=(
            "If d_out is 12 and num_heads is 4, how many heads are there, and how many features "
            "has each?"
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
        explanation="The layer out_proj gets other initial weights than nn.Linear draws.",
        question="Which numbers should out_proj hold after the caller's seed?",
    ),
    Misconception(
        id="freezes_out_proj",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "self.out_proj = nn.Linear(d_out, d_out)",
                "self.out_proj = nn.Linear(d_out, d_out).requires_grad_(False)",
            ),
        ),
        explanation=(
            "The layer out_proj is frozen, so training never changes how the heads are mixed."
        ),
        question="Which of the four layers should learn?",
    ),
    Misconception(
        id="scales_by_a_fixed_size",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax(masked / 8, dim=-1)"),),
        explanation="The root of 64, the head size of well-known models, is fixed in the code.",
        question="What does your code compute if a head has another size?",
    ),
    Misconception(
        id="takes_the_root_of_the_scores",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.softmax((masked / d) ** 0.5, dim=-1)"),),
        explanation=(
            "The root of the whole score is taken, which is NaN wherever a score is negative."
        ),
        question="To which part of the expression does the exponent belong?",
        ties=("multiplies_zero_by_infinity",),
        why_tied="In both cases every context vector is NaN.",
    ),
    Misconception(
        id="squashes_by_sigmoid",
        exercise="MultiHeadAttention",
        swaps=((SOFTMAX, "torch.sigmoid(masked / d**0.5)"),),
        explanation=(
            "A sigmoid treats each score separately, so the weights of a query do not sum to one."
        ),
        question="What must the weights of one query sum to, and which function guarantees this?",
    ),
    Misconception(
        id="hides_with_minus_one",
        exercise="MultiHeadAttention",
        swaps=((MASKED, "masked = scores.masked_fill(self.mask[:T, :T], -1.0)"),),
        explanation=(
            "Hidden scores are set to -1, whose exponential is far from zero: the future still "
            "gets weight."
        ),
        question="Which score gets a weight of exactly zero from softmax?",
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="MultiHeadAttention",
        swaps=((MASKED, 'masked = scores + self.mask[:T, :T] * float("-inf")'),),
        title="Zero is multiplied by minus infinity",
        explanation=(
            "Where the mask is 0, it is multiplied by minus infinity, which gives NaN and not 0."
        ),
        question="What is 0 times infinity?",
        ties=("takes_the_root_of_the_scores",),
        why_tied="In both cases every context vector is NaN.",
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
        explanation=(
            "Heads and tokens of the keys are exchanged, but with a head axis the last two axes "
            "must be."
        ),
        question=(
            "Which two axes of the keys, (B, H, T, d), must be exchanged for the product with "
            "the queries?"
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
            "In eval mode the dropout probability is set to zero permanently: back in training, "
            "nothing is dropped."
        ),
        question=(
            "Training and evaluation alternate. What remains in your module from the last "
            "evaluation?"
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
            "One pattern of dropped weights is used for all items of the batch, but each weight "
            "should be dropped independently."
        ),
        question="How many weights does one random draw decide about?",
    ),
    Misconception(
        id="answers_in_double_precision",
        exercise="MultiHeadAttention",
        swaps=(("return self.out_proj(context)", "return self.out_proj(context).double()"),),
        explanation="The result is float64 although the input is float32.",
        question="Which dtype does the layer after this one expect?",
    ),
)
