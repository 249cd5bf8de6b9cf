"""Wrong answers that the suite of stage 06 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # scaled_scores
    Misconception(
        id="transposes_the_batch_away",
        exercise="scaled_scores",
        swaps=(("transpose(-2, -1)", "transpose(0, 1)"),),
        explanation=(
            "The batch axis and the token axis are swapped; this transpose is correct only without "
            "a batch."
        ),
        question="Which two of the three axes must be swapped, and which one must stay?",
    ),
    Misconception(
        id="reverses_all_axes",
        exercise="scaled_scores",
        swaps=(("keys.transpose(-2, -1)", "keys.permute(2, 1, 0)"),),
        explanation="All three axes are reversed, including the batch axis.",
        question="What happens to the first axis of a batch if all axes are reversed?",
    ),
    Misconception(
        id="adds_the_keys_of_all_items",
        exercise="scaled_scores",
        swaps=(("keys.transpose(-2, -1)", "keys.sum(dim=0, keepdim=True).transpose(-2, -1)"),),
        explanation=(
            "The keys of all items of the batch are added up; each query must be compared with the "
            "keys of its own item."
        ),
        question="Which items of the batch may change the scores of the first item?",
    ),
    Misconception(
        id="multiplies_without_adding",
        exercise="scaled_scores",
        swaps=(("queries @ keys.transpose(-2, -1)", "queries * keys"),),
        explanation=(
            "Queries and keys are multiplied element by element, but the products are not added up."
        ),
        question="How many scores should one query and one key give?",
        when=("multiplies",),
    ),
    Misconception(
        id="compares_directions_only",
        exercise="scaled_scores",
        swaps=(
            ("return queries @", "return nn.functional.normalize(queries, dim=-1) @"),
            ("keys.transpose", "nn.functional.normalize(keys, dim=-1).transpose"),
            (" / d**0.5", ""),
        ),
        explanation=(
            "The vectors are scaled to length one first, which gives cosine similarity instead of "
            "a dot product."
        ),
        question="Does the length of a query or key affect a dot product?",
        when=("takes lengths | divides",),
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
        when=("changes tensors in place",),
    ),
    Misconception(
        id="cuts_the_scores_from_the_graph",
        exercise="scaled_scores",
        swaps=(("keys.transpose(-2, -1)", "keys.detach().transpose(-2, -1)"),),
        explanation="The keys are detached, so no gradient reaches them.",
        question="How can the key layer learn if its result is detached from the graph?",
        when=("detaches",),
    ),
    # causal_pattern
    Misconception(
        id="hides_all_tokens_but_the_first_from_themselves",
        exercise="causal_pattern",
        swaps=(
            (
                "torch.tril(torch.ones(T, T, device=scores.device))",
                (
                    "torch.tril(torch.ones(T, T, device=scores.device), diagonal=-1)\n"
                    "    visible[0, 0] = 1"
                ),
            ),
        ),
        explanation="From the second token on, a token does not see itself.",
        question="Which tokens may token 1 attend to?",
    ),
    Misconception(
        id="scales_a_second_time",
        exercise="causal_pattern",
        swaps=(("torch.softmax(masked", "torch.softmax(masked / T**0.5"),),
        explanation=(
            "The scores are scaled a second time; they are already divided by the square root of "
            "the key size."
        ),
        question="What does the docstring say about the scores that the function gets?",
        when=("takes roots | divides | multiplies",),
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
        explanation=(
            "Every visible token gets the same weight; the weights must depend on the scores."
        ),
        question="Where do the scores affect your weights?",
    ),
    Misconception(
        id="masks_the_callers_scores",
        exercise="causal_pattern",
        swaps=(("scores.masked_fill(", "scores.data.masked_fill_("),),
        explanation="The mask is written into the caller's scores.",
        question="Which of your steps writes into the tensor that the caller passed?",
        when=("changes tensors in place",),
    ),
    Misconception(
        id="averages_what_is_visible",
        exercise="causal_pattern",
        swaps=(
            (
                "torch.softmax(masked, dim=-1)\n",
                "scores.softmax(dim=-1) * visible / visible.sum(dim=-1, keepdim=True)\n",
            ),
        ),
        explanation="Each row of visible weights is divided by their number, not by their sum.",
        question="Which number must a row be divided by so that it sums to one?",
        when=("divides",),
    ),
    Misconception(
        id="shifts_only_what_is_divided",
        exercise="causal_pattern",
        swaps=(
            (
                "torch.softmax(masked, dim=-1)",
                "torch.softmax(masked, dim=-1) / masked.amax(dim=-1, keepdim=True).exp()",
            ),
        ),
        explanation=(
            "The maximum is subtracted in the numerator but not in the divisor; both need the same "
            "shift."
        ),
        question="Which exponentials do you add up, and which do you divide?",
        when=("takes exponentials", "takes a maximum"),
    ),
    Misconception(
        id="shows_two_tokens_only",
        exercise="causal_pattern",
        swaps=(("visible == 0", "visible.triu(-1) == 0"),),
        explanation="A token attends only to itself and the one before it.",
        question="Which tokens may the last token attend to?",
    ),
    # AttentionHead
    Misconception(
        id="leaves_the_mask_whole",
        exercise="AttentionHead",
        when=("no slices",),
        swaps=(("self.tril[:T, :T]", "self.tril"),),
        explanation="The mask always has the full block size and does not fit shorter inputs.",
        question="How large are the scores if there are only T tokens?",
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
        explanation="An input longer than block_size raises no error; it must raise a ValueError.",
        question="What does block_size promise about the length of the inputs?",
    ),
    Misconception(
        id="transposes_with_the_batch",
        exercise="AttentionHead",
        swaps=(("k.transpose(-2, -1)", "k.transpose(0, 1)"),),
        explanation=(
            "The batch axis and the token axis are swapped; this transpose is right only without a "
            "batch."
        ),
        question="Which axes are there besides the batch axis?",
    ),
    Misconception(
        id="writes_the_block_of_the_example",
        exercise="AttentionHead",
        swaps=(("torch.ones(block_size, block_size)", "torch.ones(8, 8)"),),
        explanation="The mask is always made for the example's 8 tokens; block_size is ignored.",
        question="Which argument sets the largest number of tokens?",
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
            "The mask of the first call is used again, so it does not fit inputs of a different "
            "length."
        ),
        question="What does your head do when a second input has a different length?",
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
        explanation="Each call leaves something behind that changes the result of the next call.",
        question="Does the same input give the same result twice?",
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
        explanation="Torch's ready-made attention does the work that you must do yourself.",
        question="Which four steps does that function do for you?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
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
            "The tokens are processed one after the other, so the number of tensor operations "
            "grows with the length of the input."
        ),
        question="Which single product computes the same as your loop?",
        when=("loops",),
    ),
)
