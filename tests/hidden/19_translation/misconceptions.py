"""Wrong answers that the suite of stage 19 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

BLOCK_OF_THE_DECODER = """
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
"""
ONE_ATTENTION_FOR_BOTH = """
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(attention, attention, d_model, 4 * d_model)
            self.decoder.append(block)
"""
OWN_TOKENS_FIRST = """
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
"""
MEMORY_FIRST = """
            x = x + self.cross_att(self.norm2(x), memory, visible)
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
"""
OWN_TOKENS_FIRST_IN_POST_NORM = """
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
"""
MEMORY_FIRST_IN_POST_NORM = """
        x = self.norm2(x + self.cross_att(x, memory, visible))
        x = self.norm1(x + self.self_att(x, x, past))
"""
ALL_STEPS_OF_THE_LOOP = """
            next_ids = logits.argmax(dim=-1).masked_fill(done, padding)  # (B,)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
"""
DONE_BEFORE_THE_FILL = """
            next_ids = logits.argmax(dim=-1)
            done = done | (next_ids == end)
            next_ids = next_ids.masked_fill(done, padding)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
"""

# The programs of these kinds would make the records larger, and learners hardly write them here.
# A mask is equal in several dtypes, so the sentence about a wrong one names none.
OPERATORS = {
    "seeded_inside": None,
    "batch_mixed": None,
    "heads_repeated": None,
    "parameter_kind": None,
    "softmax_extra": None,
    "transposed": None,
    "detached": None,
    "dtype": (
        "The result has the wrong dtype.",
        "Which dtype do the inputs have, and which one must the result have?",
    ),
    "all_any": (
        "The loop stops when the first item has ended; it must go on until all items have.",
        "Two items are finished, and the third one is not. Is there another step?",
    ),
}

MISCONCEPTIONS = (
    # pad_batch
    Misconception(
        id="reads_the_mask_off_the_ids",
        exercise="pad_batch",
        swaps=(("mask = torch.arange(longest) < lengths.unsqueeze(-1)", "mask = ids != padding"),),
        explanation=(
            "The mask is read off the ids: a token with the same id as the padding is hidden, but "
            "only the lengths say where tokens are."
        ),
        question="Which mask belongs to the list [7, 0, 7] if the padding is 0?",
    ),
    Misconception(
        id="pads_in_front",
        exercise="pad_batch",
        swaps=(
            ("row[: len(sequence)] = ", "row[longest - len(sequence) :] = "),
            (
                "torch.arange(longest) < lengths.unsqueeze(-1)",
                "torch.arange(longest) >= longest - lengths.unsqueeze(-1)",
            ),
        ),
        explanation=(
            "The padding is in front of the tokens, so the position of a token depends on its "
            "neighbours in the batch."
        ),
        question="In which column is the first id of each list?",
    ),
    Misconception(
        id="cuts_to_the_shortest",
        exercise="pad_batch",
        when=("takes a minimum",),
        swaps=(
            ("longest = max(", "longest = min("),
            ("torch.tensor(sequence)", "torch.tensor(sequence)[:longest]"),
        ),
        explanation="The lists are cut to the length of the shortest one, so ids are lost.",
        question="How many columns does a batch of lists of 2 and 5 ids have?",
    ),
    # teacher_forcing
    Misconception(
        id="never_ends",
        exercise="teacher_forcing",
        swaps=(
            (
                "pad_batch([[*sequence, end] for sequence in sequences], padding)",
                "pad_batch([[*sequence, padding] for sequence in sequences], padding)",
            ),
        ),
        explanation="The targets have no end id, so the model never learns to stop.",
        question="What must the model predict after the last id of a text?",
    ),
    Misconception(
        id="ends_after_the_padding",
        exercise="teacher_forcing",
        swaps=(
            (
                "targets, _ = pad_batch([[*sequence, end] for sequence in sequences], padding)",
                (
                    "targets, _ = pad_batch(sequences, padding)\n"
                    "    ends = torch.full((len(sequences), 1), end)\n"
                    "    targets = torch.cat((targets, ends), dim=1)"
                ),
            ),
        ),
        explanation=(
            "The end id comes after the padding; it must follow the last token of each row."
        ),
        question="What is the target after the last id of the shortest list?",
    ),
    # MultiHeadCrossAttention
    Misconception(
        id="attends_to_itself",
        exercise="MultiHeadCrossAttention",
        swaps=(
            ("T_k = memory.shape[1]", "T_k = T_q"),
            ("self.W_key(memory)", "self.W_key(x)"),
            ("self.W_value(memory)", "self.W_value(x)"),
        ),
        explanation="Keys and values come from x, so the memory has no effect.",
        question="Which of the three projections read the other sequence?",
    ),
    Misconception(
        id="uses_the_first_mask_for_all",
        exercise="MultiHeadCrossAttention",
        swaps=(
            (
                "visible = visible.unsqueeze(-3)  # one axis more, for the heads",
                "visible = visible.unsqueeze(-3)[:1]",
            ),
        ),
        explanation="The mask of the first item is used for all items.",
        question="Two items have different padding. Which mask hides that of the second one?",
    ),
    # EncoderBlock
    Misconception(
        id="does_not_look_ahead",
        exercise="EncoderBlock",
        swaps=(
            (
                "if self.norm_first:",
                (
                    "past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()\n"
                    "        visible = past if visible is None else visible & past\n"
                    "        if self.norm_first:"
                ),
            ),
        ),
        explanation=(
            "The encoder does not look ahead, but it may read the whole text; only the decoder "
            "must not see what follows."
        ),
        question="Is any word of the source unknown while it is read?",
    ),
    Misconception(
        id="reads_keys_without_the_norm",
        exercise="EncoderBlock",
        swaps=(("self.att(normalized, normalized, visible)", "self.att(normalized, x, visible)"),),
        explanation=(
            "Queries are normalized, but keys and values are not; in pre-norm the norm must come "
            "before all three."
        ),
        question="Which two tensors does the attention get in a pre-norm block?",
    ),
    Misconception(
        id="adds_to_the_normalized",
        exercise="EncoderBlock",
        swaps=(
            (
                "x = x + self.att(normalized, normalized, visible)",
                "x = normalized + self.att(normalized, normalized, visible)",
            ),
        ),
        explanation=(
            "The result of the attention is added to the normalized features; the shortcut must "
            "start before the norm."
        ),
        question="What must a pre-norm block return if its parts return zeros?",
    ),
    Misconception(
        id="adds_ff_to_the_normalized",
        exercise="EncoderBlock",
        swaps=(
            (
                "return x + self.ff(self.norm2(x))",
                "x = self.norm2(x)\n            return x + self.ff(x)",
            ),
        ),
        explanation=(
            "The result of ff is added to the normalized features; the shortcut must start before "
            "norm2."
        ),
        question="What must a pre-norm block return if its parts return zeros?",
    ),
    Misconception(
        id="normalizes_the_last_sum",
        exercise="EncoderBlock",
        swaps=(("return x + self.ff(self.norm2(x))", "return self.norm2(x + self.ff(x))"),),
        explanation=(
            "In pre-norm, norm2 normalizes the last sum; it must normalize the input of ff alone."
        ),
        question="What must a pre-norm block return if its parts return zeros?",
    ),
    # DecoderBlock
    Misconception(
        id="hides_targets_at_the_padding_of_the_source",
        exercise="DecoderBlock",
        swaps=(
            (
                "if self.norm_first:",
                (
                    "if memory_mask is not None:\n"
                    "            fits = torch.ones(len(x), T_t, dtype=torch.bool)\n"
                    "            T = min(T_t, memory.shape[1])\n"
                    "            fits[:, 1:T] = memory_mask[:, 1:T]\n"
                    "            past = past & fits.unsqueeze(1)\n"
                    "        if self.norm_first:"
                ),
            ),
        ),
        explanation=(
            "The mask of the source hides tokens of the target; it must be used in the attention "
            "to the memory alone."
        ),
        question="Which of the two attentions has tokens of the source as its keys?",
    ),
    Misconception(
        id="reads_the_memory_step_by_step",
        exercise="DecoderBlock",
        swaps=(
            (
                "if self.norm_first:",
                (
                    "steps = torch.ones(T_t, memory.shape[1], dtype=torch.bool).tril()\n"
                    "        visible = steps if visible is None else visible & steps\n"
                    "        if self.norm_first:"
                ),
            ),
        ),
        explanation=(
            "The causal mask is also used on the memory, but the source is complete, so every "
            "target token may read all of it."
        ),
        question="The decoder writes the first id. Which tokens of the source may it read?",
    ),
    Misconception(
        id="normalizes_the_memory_again",
        exercise="DecoderBlock",
        swaps=(
            (
                "self.cross_att(self.norm2(x), memory, visible)",
                "self.cross_att(self.norm2(x), self.norm2(memory), visible)",
            ),
        ),
        explanation=(
            "The memory is normalized once more; it must be used as it comes, because the "
            "encoder's last norm has done it."
        ),
        question="Which tensors does norm2 normalize?",
    ),
    Misconception(
        id="reads_the_memory_first",
        exercise="DecoderBlock",
        swaps=(
            (OWN_TOKENS_FIRST, MEMORY_FIRST),
            (OWN_TOKENS_FIRST_IN_POST_NORM, MEMORY_FIRST_IN_POST_NORM),
        ),
        explanation="The memory is read before the target's own tokens; self_att must come first.",
        question="In which order does the docstring list the three parts?",
    ),
    Misconception(
        id="reads_own_keys_without_the_norm",
        exercise="DecoderBlock",
        swaps=(
            ("self.self_att(normalized, normalized, past)", "self.self_att(normalized, x, past)"),
        ),
        explanation=(
            "In the self-attention, queries are normalized, but keys and values are not; in "
            "pre-norm the norm must come before all three."
        ),
        question="Which two tensors does the self-attention get in a pre-norm block?",
    ),
    *(
        Misconception(
            id=f"always_has_relu_in_{name}",
            exercise=name,
            swaps=(
                (
                    "FeedForward(d_model, d_hidden, activation)",
                    "FeedForward(d_model, d_hidden, 'relu')",
                ),
            ),
            explanation='The block has ReLU for each activation, also for "gelu".',
            question="Which part of the block must know the activation?",
        )
        for name in ("EncoderBlock", "DecoderBlock")
    ),
    # Translator
    Misconception(
        id="shares_one_attention",
        exercise="Translator",
        swaps=((BLOCK_OF_THE_DECODER, ONE_ATTENTION_FOR_BOTH),),
        explanation=(
            "Both attentions of a DecoderBlock are one module; each needs its own weights."
        ),
        question="How many attentions does a Translator of one block have?",
    ),
    Misconception(
        id="keeps_the_decoder_in_a_list",
        exercise="Translator",
        when=("no calls append | sets decoder",),
        swaps=(("self.decoder = nn.ModuleList()", "self.decoder = []"),),
        explanation=(
            "The blocks of the decoder are not registered, for example because they are in a plain "
            "list: torch does not find their parameters, so they are not trained."
        ),
        question="Which names of the decoder does named_parameters list?",
    ),
    # smoothed_cross_entropy
    Misconception(
        id="smooths_over_the_others",
        exercise="smoothed_cross_entropy",
        swaps=(
            (
                "losses = (1 - smoothing) * right",
                (
                    "V = logits.shape[-1]\n"
                    "    even = (even * V - right) / (V - 1)\n"
                    "    losses = (1 - smoothing) * right"
                ),
            ),
        ),
        explanation=(
            "The smoothing is spread over the other tokens; smoothing / V must go to every token, "
            "the target included."
        ),
        question="Which probability does the target have if smoothing is 1?",
    ),
    Misconception(
        id="leaves_the_target_all_of_its_own",
        exercise="smoothed_cross_entropy",
        swaps=(("(1 - smoothing) * right + smoothing * even", "right + smoothing * even"),),
        explanation=(
            "The probabilities of the smoothed target sum to more than one: nothing is "
            "taken from the target."
        ),
        question="What is the sum of q over all V tokens?",
    ),
    Misconception(
        id="counts_padding_as_zero",
        exercise="smoothed_cross_entropy",
        swaps=(
            (
                "losses[targets != padding].mean()",
                "losses.masked_fill(targets == padding, 0).mean()",
            ),
        ),
        explanation=(
            "The losses at padding are zero, but they are still counted: the sum is divided by the "
            "number of all positions."
        ),
        question="By which number is the sum divided if half of the targets are padding?",
    ),
    Misconception(
        id="averages_the_items",
        exercise="smoothed_cross_entropy",
        swaps=(
            (
                "return losses[targets != padding].mean()",
                (
                    "kept = (targets != padding).to(losses.dtype)\n"
                    "    return ((losses * kept).sum(dim=-1) / kept.sum(dim=-1)).mean()"
                ),
            ),
        ),
        explanation="Each item counts the same; each target must count the same.",
        question="Does a target of a short item count more than one of a long item?",
    ),
    Misconception(
        id="overflows",
        exercise="smoothed_cross_entropy",
        when=("takes exponentials", "no calls logsumexp", "no calls log_softmax"),
        swaps=(
            (
                "torch.log_softmax(logits, dim=-1)",
                "logits - logits.exp().sum(dim=-1, keepdim=True).log()",
            ),
        ),
        explanation="The exponentials of large logits overflow, so the loss is not finite.",
        question="What is the exponential of 1000 in float32?",
    ),
    # greedy_translate
    Misconception(
        id="goes_on_after_the_end",
        exercise="greedy_translate",
        swaps=(("logits.argmax(dim=-1).masked_fill(done, padding)", "logits.argmax(dim=-1)"),),
        explanation=(
            "Items that have ended go on writing; after the end of an item there must be padding."
        ),
        question="What does an item write while the others are not finished?",
    ),
    Misconception(
        id="forgets_earlier_ends",
        exercise="greedy_translate",
        swaps=(("done = done | (next_ids == end)", "done = next_ids == end"),),
        explanation=(
            "Only its newest id decides whether an item has ended, so it goes on after one padding."
        ),
        question="What is the newest id of an item that ended two steps ago?",
    ),
    Misconception(
        id="replaces_the_end",
        exercise="greedy_translate",
        swaps=((ALL_STEPS_OF_THE_LOOP, DONE_BEFORE_THE_FILL),),
        explanation="The end id itself is replaced by padding; only the ids after it must be.",
        question="Is the end id part of the result?",
    ),
    Misconception(
        id="shows_the_last_id_alone",
        exercise="greedy_translate",
        swaps=(("model.decode(ids, memory", "model.decode(ids[:, -1:], memory"),),
        explanation=(
            "Each step passes the last id alone; the decoder keeps nothing between calls, so it "
            "needs all ids so far."
        ),
        question="What does decode know about the ids of earlier calls?",
    ),
    Misconception(
        id="encodes_in_each_step",
        exercise="greedy_translate",
        swaps=(
            (
                "logits = model.decode(ids, memory, source_mask)[:, -1]",
                "logits = model(source, ids, source_mask)[:, -1]",
            ),
        ),
        explanation=(
            "The source is encoded again in each step; its memory is the same, so it needs to be "
            "computed once."
        ),
        question="Which part of the work depends on the ids that have been written?",
    ),
    Misconception(
        id="builds_a_graph",
        exercise="greedy_translate",
        swaps=(("with torch.no_grad():", "if True:"),),
        title="The model runs outside torch.no_grad()",
        explanation=(
            "The model runs outside torch.no_grad(), so torch stores every step for gradients that "
            "are not needed."
        ),
        question="Will anyone call backward on a translation?",
    ),
)
