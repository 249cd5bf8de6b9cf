"""Wrong answers that the suite of stage 19 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

ENDS_WITH_NORM = "return self.norm{0}(x) + self.ff(self.norm{0}(x))"
BLOCK_OF_THE_DECODER = """
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
"""
SCALED_SOURCE = (
    "self.source_emb(source) +",
    "self.source_emb(source) * self.source_emb.embedding_dim**0.5 +",
)
SCALED_TARGET = (
    "self.target_emb(inputs) +",
    "self.target_emb(inputs) * self.target_emb.embedding_dim**0.5 +",
)
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
# The steps after the last end would give the same ids, but choose among nearly equal logits.
AS_IF_IT_WENT_ON = """
    rest = 0 if (next_ids == end).all() else max_length + 1 - ids.shape[1]
    return torch.nn.functional.pad(ids[:, 1:], (0, rest), value=padding)
""".strip()
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
        id="pads_shifted_rows_with_zero",
        exercise="teacher_forcing",
        when=("no reads padding",),
        swaps=(
            (
                "inputs, _ = pad_batch([[start, *sequence] for sequence in sequences], padding)",
                (
                    "rows = [[start, *sequence, end] for sequence in sequences]\n"
                    "    inputs = pad_batch(rows)[0][:, :-1]"
                ),
            ),
            (
                "for sequence in sequences], padding)\n    return",
                "for sequence in sequences])\n    return",
            ),
        ),
        explanation="The argument *padding* has no effect: the padding is 0.",
        question="Which id must pad_batch get from your function?",
    ),
    Misconception(
        id="repeats_the_start_in_the_targets",
        exercise="teacher_forcing",
        swaps=(("[*sequence, end] for", "[start, *sequence, end] for"),),
        explanation="The targets begin with the start id; they must begin with the first token.",
        question="What must the model predict when it has read only the start id?",
    ),
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
                "visible = None if mask is None else mask.unsqueeze(1)",
                (
                    "past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()\n"
                    "        visible = past if mask is None else mask.unsqueeze(1) & past"
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
            "In pre-norm, the output of the attention is added to the normalized features; the "
            "shortcut must start before the norm."
        ),
        question="What must a pre-norm block return if its parts return zeros?",
    ),
    Misconception(
        id="adds_ff_to_the_normalized",
        exercise="EncoderBlock",
        swaps=(
            (
                "return x + self.ff(self.norm2(x))",
                "return self.norm2(x) + self.ff(self.norm2(x))",
            ),
        ),
        explanation=(
            "In pre-norm, the output of ff is added to the normalized features; the shortcut must "
            "start before norm2."
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
    # Both blocks
    *(
        Misconception(
            id=f"adds_each_part_to_the_normalized_in_{name}",
            exercise=name,
            swaps=swaps,
            explanation=(
                "In pre-norm, each part is added to the normalized features; the shortcuts must "
                "start before the norms."
            ),
            question="What must a pre-norm block return if its parts return zeros?",
        )
        for name, swaps in (
            (
                "EncoderBlock",
                (
                    ("x = x + self.att(normalized", "x = normalized + self.att(normalized"),
                    ("return x + self.ff(self.norm2(x))", ENDS_WITH_NORM.format(2)),
                ),
            ),
            (
                "DecoderBlock",
                (
                    ("x = x + self.self_att(norm", "x = normalized + self.self_att(norm"),
                    ("x = x + self.cross_att(self", "x = self.norm2(x) + self.cross_att(self"),
                    ("return x + self.ff(self.norm3(x))", ENDS_WITH_NORM.format(3)),
                ),
            ),
        )
    ),
    *(
        Misconception(
            id=f"swaps_pre_norm_and_post_norm_in_{name}",
            exercise=name,
            swaps=(("if self.norm_first:", "if not self.norm_first:"),),
            explanation="Pre-norm and post-norm are swapped; norm_first must mean pre-norm.",
            question="If norm_first is true, does the norm come before its part or after the sum?",
        )
        for name in ("EncoderBlock", "DecoderBlock")
    ),
    *(
        Misconception(
            id=f"normalizes_before_the_sums_in_{name}",
            exercise=name,
            swaps=swaps,
            explanation=(
                "In post-norm, the norms are applied to the outputs of the parts; they must "
                "normalize the sums."
            ),
            question="What is added first in post-norm, and what is normalized then?",
        )
        for name, swaps in (
            (
                "EncoderBlock",
                (
                    (
                        "self.norm1(x + self.att(x, x, visible))",
                        "x + self.norm1(self.att(x, x, visible))",
                    ),
                    ("self.norm2(x + self.ff(x))", "x + self.norm2(self.ff(x))"),
                ),
            ),
            (
                "DecoderBlock",
                (
                    (
                        "self.norm1(x + self.self_att(x, x, past))",
                        "x + self.norm1(self.self_att(x, x, past))",
                    ),
                    (
                        "self.norm2(x + self.cross_att(x, memory, visible))",
                        "x + self.norm2(self.cross_att(x, memory, visible))",
                    ),
                    ("self.norm3(x + self.ff(x))", "x + self.norm3(self.ff(x))"),
                ),
            ),
        )
    ),
    # DecoderBlock
    *(
        Misconception(
            id=f"adds_the_{part}_to_the_normalized",
            exercise="DecoderBlock",
            swaps=(swap,),
            explanation=(
                f"In pre-norm, the output of {part} is added to the normalized features; the "
                f"shortcut must start before {norm}."
            ),
            question="What must a pre-norm block return if its parts return zeros?",
        )
        for part, norm, swap in (
            (
                "self_att",
                "norm1",
                ("x = x + self.self_att(norm", "x = normalized + self.self_att(norm"),
            ),
            (
                "cross_att",
                "norm2",
                ("x = x + self.cross_att(self", "x = self.norm2(x) + self.cross_att(self"),
            ),
            (
                "ff",
                "norm3",
                ("return x + self.ff(self.norm3(x))", ENDS_WITH_NORM.format(3)),
            ),
        )
    ),
    Misconception(
        id="normalizes_the_last_sum_of_the_decoder",
        exercise="DecoderBlock",
        swaps=(("return x + self.ff(self.norm3(x))", "return self.norm3(x + self.ff(x))"),),
        explanation=(
            "In pre-norm, norm3 normalizes the last sum; it must normalize the input of ff alone."
        ),
        question="What must a pre-norm block return if its parts return zeros?",
    ),
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
                "visible = None if memory_mask is None else memory_mask.unsqueeze(1)",
                (
                    "steps = torch.ones(T_t, memory.shape[1], dtype=torch.bool).tril()\n"
                    "        visible = steps if memory_mask is None else memory_mask.unsqueeze(1) "
                    "& steps"
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
            "In pre-norm, the memory is normalized once more; it must be used as it comes, because "
            "the encoder's last norm has done it."
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
    *(
        Misconception(
            id=f"scales_the_embeddings_of_the_{which}",
            exercise="Translator",
            when=("multiplies",),
            swaps=swaps,
            explanation=(
                f"The embeddings of the {which.replace('_', ' ')} are multiplied by √d_model; here "
                "they must be added to the positions as they are."
            ),
            question="Which two rows does the docstring add, and does a factor belong to one?",
        )
        for which, swaps in (
            ("source", (SCALED_SOURCE,)),
            ("target", (SCALED_TARGET,)),
            ("source_and_target", (SCALED_SOURCE, SCALED_TARGET)),
        )
    ),
    Misconception(
        id="repeats_one_block",
        exercise="Translator",
        swaps=(
            (
                "self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))",
                (
                    "self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))\n"
                    "        self.encoder = nn.ModuleList([self.encoder[0]] * num_blocks)"
                ),
            ),
            (
                "self.decoder.append(block)",
                (
                    "self.decoder.append(block)\n"
                    "        self.decoder = nn.ModuleList([self.decoder[0]] * num_blocks)"
                ),
            ),
        ),
        explanation="One block is repeated; each of the num_blocks blocks needs its own weights.",
        question="How many different modules do encoder and decoder contain?",
    ),
    Misconception(
        id="normalizes_after_each_block",
        exercise="Translator",
        swaps=(
            ("x = block(x, source_mask)", "x = self.encoder_norm(block(x, source_mask))"),
            ("return self.encoder_norm(x)", "return x"),
            (
                "x = block(x, memory, source_mask)",
                "x = self.decoder_norm(block(x, memory, source_mask))",
            ),
            ("self.out_head(self.decoder_norm(x))", "self.out_head(x)"),
        ),
        explanation=(
            "Both norms come after each block, encoder_norm and decoder_norm; they must come once, "
            "after the last block."
        ),
        question="How often is encoder_norm called with three blocks?",
    ),
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
        id="divides_by_the_number_of_items",
        exercise="smoothed_cross_entropy",
        swaps=(
            (
                "losses[targets != padding].mean()",
                "losses[targets != padding].sum() / len(targets)",
            ),
        ),
        explanation="The sum is divided by the number of items; it must be that of the targets.",
        question="How does your loss change if each text becomes twice as long?",
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
    Misconception(
        id="takes_the_logarithm_of_zero",
        exercise="smoothed_cross_entropy",
        swaps=(("torch.log_softmax(logits, dim=-1)", "torch.softmax(logits, dim=-1).log()"),),
        explanation=(
            "Very small probabilities become 0, and their logarithm is minus infinity, so the loss "
            "is not finite."
        ),
        question="What is the softmax of 0 and 1000 in float32, and what is its logarithm?",
        when=("calls softmax | takes a maximum",),
    ),
    # greedy_translate
    Misconception(
        id="goes_on_after_the_last_end",
        exercise="greedy_translate",
        swaps=(("return ids[:, 1:]", AS_IF_IT_WENT_ON),),
        explanation=(
            "The loop goes on after every item has ended; it must stop then, even if the items end "
            "in different steps."
        ),
        title="The loop goes on after every item has ended",
        question="Two items ended in the second and in the third step. Is there a fourth one?",
    ),
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
        id="decodes_without_the_source_mask",
        exercise="greedy_translate",
        swaps=(("model.decode(ids, memory, source_mask)", "model.decode(ids, memory)"),),
        explanation=(
            "The decoder attends to the padding of the source, as it does without the source mask; "
            "decode needs this mask as well."
        ),
        question="Which calls of the model use vectors of the source?",
    ),
    Misconception(
        id="encodes_without_the_source_mask",
        exercise="greedy_translate",
        swaps=(("model.encode(source, source_mask)", "model.encode(source, None)"),),
        explanation=(
            "The encoder attends to the padding of the source, as it does without the source mask; "
            "encode needs this mask as well."
        ),
        question="Which calls of the model use vectors of the source?",
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
