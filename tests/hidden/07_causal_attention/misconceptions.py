"""Wrong answers that the suite of stage 07 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # mask_then_renormalize
    Misconception(
        id="forgets_to_mask_the_weights",
        exercise="mask_then_renormalize",
        swaps=((" * torch.ones_like(weights).tril()", ""),),
        explanation="The weights are not masked, so later tokens keep their weights.",
        question="Which entries of a row belong to later tokens?",
    ),
    Misconception(
        id="softmaxes_the_masked_weights",
        exercise="mask_then_renormalize",
        swaps=(("masked / masked.sum(dim=-1, keepdim=True)", "torch.softmax(masked, dim=-1)"),),
        explanation="The masked weights go through a softmax; each row must be divided by its sum.",
        question="What does softmax do with a zero, and what does a plain division do with it?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="divides_by_the_sums_before_the_mask",
        exercise="mask_then_renormalize",
        swaps=(("masked.sum(dim=-1, keepdim=True)", "weights.sum(dim=-1, keepdim=True)"),),
        explanation=(
            "Each row of the result is divided by the sum of its weights before the mask; it must "
            "be divided by the sum of those that are left."
        ),
        question="What do the visible weights of the first row sum to?",
        when=(
            "divides",
            "takes a sum",
        ),
    ),
    Misconception(
        id="averages_what_is_visible",
        exercise="mask_then_renormalize",
        swaps=(("masked.sum(dim=-1, keepdim=True)", "(masked > 0).sum(dim=-1, keepdim=True)"),),
        explanation=(
            "Each row is divided by the number of visible tokens; it must be divided by the sum of "
            "their weights."
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
        explanation="Minus infinity is written into the weights; hidden weights must be zero.",
        question="After a softmax, which weight means `no attention`?",
        when=("uses infinity",),
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
        question=(
            "Which step writes into an existing tensor (with *=, with an index, or with a method "
            "whose name ends in an underscore) instead of making a new one?"
        ),
        when=("changes tensors in place",),
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
            "The rows are processed one after the other, so the number of operations grows with "
            "the number of rows."
        ),
        question="Which of your steps could work on all rows at once?",
        when=("loops",),
    ),
    # mask_with_infinity
    Misconception(
        id="masks_the_callers_scores",
        exercise="mask_with_infinity",
        swaps=(("scores.masked_fill(", "scores.data.masked_fill_("),),
        explanation="Minus infinity is written into the caller's scores.",
        question="Which of your steps writes into the tensor that the caller passed?",
        when=("changes tensors in place",),
    ),
    # CausalAttention
    Misconception(
        id="leaves_the_mask_whole",
        exercise="CausalAttention",
        when=("no slices",),
        swaps=(("self.mask[:T, :T]", "self.mask"),),
        explanation="The mask always has the full context length and does not fit shorter inputs.",
        question="Which shape do the scores have if there are only T tokens?",
    ),
    Misconception(
        id="transposes_with_the_batch",
        exercise="CausalAttention",
        swaps=(("keys.transpose(-2, -1)", "keys.transpose(0, 1)"),),
        explanation=(
            "The batch axis and the token axis are swapped; this transpose is right only without a "
            "batch."
        ),
        question="Which axes do the keys have besides the batch axis?",
    ),
    Misconception(
        id="pools_the_scores_of_the_batch",
        exercise="CausalAttention",
        swaps=(("masked = scores.", "masked = scores.mean(dim=0, keepdim=True)."),),
        explanation="The scores are averaged over the batch, so every item has the same weights.",
        question="Would an item get the same result if it were alone in its batch?",
        when=("takes a mean | divides",),
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
        explanation=(
            "Dropout is applied in eval mode and not in training; it must be the other way around."
        ),
        question="What is the value of self.training after a call of eval()?",
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
            "The rows are normalized again after dropout; dropout must be the last change to the "
            "weights."
        ),
        question=(
            "By which number does dropout divide the remaining weights: by the sum of their row, "
            "or by one number for all rows?"
        ),
    ),
    Misconception(
        id="drops_alike_in_every_item",
        exercise="CausalAttention",
        swaps=(("self.dropout(weights)", "weights * self.dropout(torch.ones_like(weights[:1]))"),),
        explanation="One pattern of dropped weights is used for all items of the batch.",
        question="Which shape must the random numbers have so that each item gets its own pattern?",
    ),
    Misconception(
        id="drops_whole_rows",
        exercise="CausalAttention",
        swaps=(
            ("self.dropout(weights)", "weights * self.dropout(torch.ones_like(weights[:, :, :1]))"),
        ),
        explanation=(
            "All weights of a token are dropped together; each weight must be dropped "
            "independently."
        ),
        question=(
            "Which shape must the random numbers have so that each weight is dropped independently?"
        ),
    ),
    Misconception(
        id="drops_whole_tokens",
        exercise="CausalAttention",
        swaps=(
            ("self.dropout(weights)", "weights * self.dropout(torch.ones_like(weights[:, :1]))"),
        ),
        explanation=(
            "A token is dropped in all rows at once; each weight must be dropped independently."
        ),
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
        explanation="Every call in training drops the same weights; each call must draw its own.",
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
        title="Nothing is dropped in training after a call in eval mode",
        explanation=(
            "Nothing is dropped in training after a call in eval mode, as if that call set the "
            "dropout probability to zero permanently."
        ),
        question="What is the dropout probability in training after a call in eval mode?",
    ),
    Misconception(
        id="keeps_the_size_of_the_other_weights",
        exercise="CausalAttention",
        swaps=(
            (
                "weights = self.dropout(weights)",
                (
                    "if self.training:\n"
                    "            weights = weights * (torch.rand_like(weights) >= self.dropout.p)"
                ),
            ),
        ),
        explanation=(
            "Weights are dropped, but the other weights are not divided by the probability of "
            "keeping a weight."
        ),
        question="By which number must the other weights grow so that their mean stays the same?",
        when=("calls rand_like | calls rand | calls bernoulli | calls bernoulli_",),
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
        explanation=(
            "Torch's ready-made attention is called; in this stage you must write attention "
            "yourself."
        ),
        question="Which steps does that function do for you?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
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
            "The tokens are processed one after the other, so the number of operations grows with "
            "the length of the input."
        ),
        question="Which single product gives the same result as your loop?",
        when=("loops",),
    ),
)
