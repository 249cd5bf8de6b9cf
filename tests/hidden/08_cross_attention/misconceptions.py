"""Wrong answers that the suite of stage 08 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

# Attention
K = "k = self.W_k(encodings_for_k)"
V = "v = self.W_v(encodings_for_v)"
LAYER_Q = "self.W_q = nn.Linear(d_model, d_model, bias=False)"
LAYER_K = "self.W_k = nn.Linear(d_model, d_model, bias=False)"
LAYER_V = "self.W_v = nn.Linear(d_model, d_model, bias=False)"
SCORES = "scores = q @ k.transpose(self.row_dim, self.col_dim)"
IF_MASK = "if mask is not None:"
FILL = 'scaled = scaled.masked_fill(mask == 0, float("-inf"))'
SOFTMAX = "torch.softmax(scaled, dim=self.col_dim)"
MIXED = "return weights @ v"

# padding_mask
CHECKS_FIRST = "not 0 <= lengths[0] <= max_length"

# CrossAttention
W_QUERY = "self.W_query = nn.Linear(d_decoder, d_out, bias=False)"
W_KEY = "self.W_key = nn.Linear(d_encoder, d_out, bias=False)"
W_VALUE = "self.W_value = nn.Linear(d_encoder, d_out, bias=False)"
QUERIES = "queries = self.W_query(decoder_states)"
KEYS = "keys = self.W_key(encoder_states)"
VALUES = "values = self.W_value(encoder_states)"
X_SCORES = "scores = queries @ keys.transpose(-2, -1)"
X_SCALED = "scaled = scores / keys.shape[-1] ** 0.5"
X_IF_MASK = "if padding_mask is not None:"
HIDDEN = "hidden = ~padding_mask.unsqueeze(-2)"
X_FILL = 'scaled = scaled.masked_fill(hidden, float("-inf"))'
X_MIXED = "return weights @ values"

# Both
NO_FUTURE = 'scaled = scaled.where(torch.ones_like(scaled).tril() == 1, float("-inf"))'
READY = "return nn.functional.scaled_dot_product_attention({}, attn_mask={})"
KEPT = """\
if {0} is not None:
            self.kept = {0}
        {0} = getattr(self, "kept", None)
        if {0} is not None:"""
BLANKED = """\
if padding_mask is not None:
            weights = weights.masked_fill(hidden, 0.0)"""


def projects(name: str, line: str, other: str) -> Misconception:
    """Return the mistake that *line*, which makes keys or values, uses the layer *other*."""
    right = line[4:].partition("(")[0].removeprefix("self.")
    return Misconception(
        id=f"makes_{name}_by_{other}",
        exercise="Attention",
        swaps=((line, line.replace(right, other)),),
        explanation=f"The {name} are made by {other}; they must be made by {right}.",
        question=f"Which of your three layers has no effect on the {name}?",
    )


SOURCES = (
    projects("keys", K, "W_q"),
    projects("values", V, "W_k"),
    Misconception(
        id="asks_and_answers_from_one_source",
        exercise="Attention",
        swaps=((K, "k = self.W_k(encodings_for_q)"), (V, "v = self.W_v(encodings_for_q)")),
        explanation=(
            "Queries, keys and values all come from encodings_for_q, which is self-attention again."
        ),
        question="Which of the three encodings does your forward not use?",
    ),
    Misconception(
        id="takes_keys_from_the_asking_side",
        exercise="Attention",
        swaps=((K, "k = self.W_k(encodings_for_q)"),),
        explanation="The keys come from encodings_for_q instead of encodings_for_k.",
        question="Which tokens should a query be compared with?",
    ),
    Misconception(
        id="takes_values_from_the_asking_side",
        exercise="Attention",
        swaps=((V, "v = self.W_v(encodings_for_q)"),),
        explanation="The values come from encodings_for_q instead of encodings_for_v.",
        question=(
            "Which encodings hold the content to average: those for the queries, or those for the "
            "values?"
        ),
    ),
    Misconception(
        id="lets_keys_ask",
        exercise="Attention",
        swaps=((SCORES, "scores = k @ q.transpose(self.row_dim, self.col_dim)"),),
        explanation="Keys and queries are swapped, so the scores have a row for each key.",
        question="If there are 3 queries and 5 keys, how many rows should the scores have?",
    ),
    Misconception(
        id="compares_the_raw_encodings",
        exercise="Attention",
        swaps=(
            (
                SCORES,
                "scores = encodings_for_q @ encodings_for_k.transpose(self.row_dim, self.col_dim)",
            ),
        ),
        explanation="The encodings are compared directly; queries and keys must be compared.",
        question="Which of the three layers have no effect on your scores?",
    ),
)

LAYERS = (
    Misconception(
        id="shares_one_layer",
        exercise="Attention",
        swaps=((LAYER_K, "self.W_k = self.W_q"), (LAYER_V, "self.W_v = self.W_q")),
        explanation="One layer is used as W_q, W_k and W_v.",
        question="How many parameters should the module have?",
    ),
    Misconception(
        id="starts_from_weights_of_its_own",
        exercise="Attention",
        swaps=((LAYER_Q, f"{LAYER_Q}\n        nn.init.xavier_uniform_(self.W_q.weight)"),),
        explanation="The weights are drawn a second time after nn.Linear has drawn them.",
        question="What does nn.Linear do with its weight when it is created?",
    ),
    Misconception(
        id="expects_encodings_of_size_two",
        exercise="Attention",
        swaps=(
            (LAYER_Q, "self.W_q = nn.Linear(2, 2, bias=False)"),
            (LAYER_K, "self.W_k = nn.Linear(2, 2, bias=False)"),
            (LAYER_V, "self.W_v = nn.Linear(2, 2, bias=False)"),
        ),
        explanation="The layers always have size 2; d_model is ignored.",
        question="Where does your constructor use d_model?",
    ),
)

SCALING = (
    Misconception(
        id="reverses_all_axes",
        exercise="Attention",
        swaps=((SCORES, "scores = q @ k.T"),),
        explanation=(
            "All axes are reversed by `T`, so in a batch the items become the last axis; only "
            "tokens and features must be swapped."
        ),
        question="What is the shape of a (2, 5, 3) tensor after `T`, and which one do you need?",
        when=("calls T",),
    ),
    Misconception(
        id="keeps_the_transpose_of_one_sequence",
        exercise="Attention",
        swaps=((SCORES, "scores = q @ k.transpose(0, 1)"),),
        explanation="Axes 0 and 1 are swapped, but axis 0 of a batch counts items.",
        question="What are row_dim and col_dim for?",
    ),
)

MASKING = (
    Misconception(
        id="makes_hidden_scores_zero",
        exercise="Attention",
        swaps=((FILL, "scaled = scaled * mask"),),
        explanation="Hidden scores become zero; softmax gives a score of zero a positive weight.",
        question="What is exp(0)?",
        when=("multiplies | fills",),
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="Attention",
        swaps=((FILL, 'scaled = scaled * mask + (1 - mask) * float("-inf")'),),
        explanation="Where the mask is 1, zero is multiplied by infinity, which gives NaN.",
        question="What is 0 times infinity?",
        when=("uses infinity", "multiplies"),
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="Attention",
        swaps=((FILL, "pass"), (SOFTMAX, f"{SOFTMAX} * (1 if mask is None else mask)")),
        explanation=(
            "The weights are set to zero after the softmax and not normalized again, so a row with "
            "hidden keys sums to less than 1."
        ),
        question="What do the weights of a query sum to after your mask?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="always_needs_a_mask",
        exercise="Attention",
        swaps=((IF_MASK, "if True:"),),
        explanation="The mask is used even if the caller passes none.",
        question="What is the value of mask if the caller passes none?",
    ),
    Misconception(
        id="asks_whether_the_mask_is_true",
        exercise="Attention",
        swaps=((IF_MASK, "if mask:"),),
        title="The whole mask is used as one truth value",
        explanation=(
            "The whole mask is used as one truth value, but a tensor of many numbers has no single "
            "truth value."
        ),
        question="What do you want to test: the values of the mask, or whether there is a mask?",
    ),
    Misconception(
        id="always_hides_the_future",
        exercise="Attention",
        swaps=((f"{IF_MASK}\n            {FILL}", NO_FUTURE),),
        explanation="The future is hidden even if the caller passes no mask.",
        question="Which keys may a query attend to if there is no mask?",
        when=("calls tril | calls triu | compares",),
    ),
    Misconception(
        id="keeps_the_first_mask",
        exercise="Attention",
        swaps=((IF_MASK, KEPT.format("mask")),),
        explanation=(
            "The mask of an earlier call is stored and used again when the caller passes none."
        ),
        question="Should a call without a mask depend on an earlier call?",
    ),
)

RETURNING = (
    Misconception(
        id="adds_the_encodings",
        exercise="Attention",
        swaps=((MIXED, f"{MIXED} + encodings_for_q"),),
        explanation=(
            "The encodings for the queries are added to the context vectors, as in some models, "
            "but this exercise has no such shortcut."
        ),
        question="What does the result of a query consist of, if not of its own encoding?",
        when=("adds",),
    ),
    Misconception(
        id="calls_the_ready_made_attention",
        exercise="Attention",
        swaps=((MIXED, READY.format("q, k, v", "mask == 1 if mask is not None else None")),),
        explanation=(
            "Torch's ready-made attention is called; in this stage you must write attention "
            "yourself."
        ),
        question="Which four steps does that one call replace?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
    ),
    Misconception(
        id="asks_one_query_at_a_time",
        exercise="Attention",
        swaps=((MIXED, "return torch.cat([row @ v for row in weights.split(1, dim=-2)], dim=-2)"),),
        explanation=(
            "The tokens are processed in a loop; matrix products must process all of them at once."
        ),
        question="How many steps would your loop need for a text of a thousand tokens?",
        when=("loops",),
    ),
)

PADDING = (
    Misconception(
        id="keeps_one_position_too_many",
        exercise="padding_mask",
        swaps=(("< lengths.unsqueeze(-1)", "<= lengths.unsqueeze(-1)"),),
        explanation=(
            "A row shorter than max_length keeps one position too many, because positions are "
            "counted from 0."
        ),
        question="What is the last position of a sequence of length 3?",
        when=("compares",),
    ),
    Misconception(
        id="is_as_long_as_the_longest",
        exercise="padding_mask",
        swaps=(("torch.arange(max_length)", "torch.arange(int(lengths.max()))"),),
        explanation="The width of the mask is the longest length; it must be max_length.",
        question=(
            "How wide is the batch that this mask belongs to, and which argument gives this width?"
        ),
    ),
    Misconception(
        id="puts_the_padding_first",
        exercise="padding_mask",
        swaps=(("< lengths.unsqueeze(-1)", ">= max_length - lengths.unsqueeze(-1)"),),
        explanation=(
            "Each row is True at its last positions, as if the padding came first; it must be True "
            "at its first positions."
        ),
        question="Is the first position of a sequence with padding a token or padding?",
    ),
    Misconception(
        id="checks_the_first_length_only",
        exercise="padding_mask",
        swaps=(("((lengths < 0) | (lengths > max_length)).any()", CHECKS_FIRST),),
        explanation="Only the first length is checked; every length must be.",
        question="Which lengths does your condition compare with 0 and max_length?",
    ),
    Misconception(
        id="marks_the_last_token_only",
        exercise="padding_mask",
        swaps=(("< lengths.unsqueeze(-1)", "== lengths.unsqueeze(-1) - 1"),),
        explanation=(
            "Only the last token of each row is True; every token that is not padding must be True."
        ),
        question="How many True values does a row of length 3 need?",
    ),
    Misconception(
        id="gives_all_items_the_same_length",
        exercise="padding_mask",
        swaps=(("< lengths.unsqueeze(-1)", "< lengths.max().expand(len(lengths), 1)"),),
        explanation="Every row has the length of the longest one; each row needs its own length.",
        question="Why is there a length for each item?",
    ),
    Misconception(
        id="leaves_the_lengths_in_a_row",
        exercise="padding_mask",
        swaps=(("< lengths.unsqueeze(-1)", "< lengths"),),
        explanation=(
            "The lengths have no axis for the positions, so torch aligns them with the positions; "
            "each length needs its own row."
        ),
        question="Which shape must B lengths have so that the comparison gives B rows?",
        when=(
            "compares",
            "no reshapes",
            "no calls unsqueeze",
            "no loops",
        ),
    ),
    Misconception(
        id="accepts_too_long",
        exercise="padding_mask",
        swaps=(("((lengths < 0) | (lengths > max_length))", "(lengths < 0)"),),
        explanation="A length above max_length is cut off; it must raise an error.",
        question="How should a caller notice that a sequence does not fit into the batch?",
    ),
    Misconception(
        id="accepts_negative",
        exercise="padding_mask",
        swaps=(("((lengths < 0) | (lengths > max_length))", "(lengths > max_length)"),),
        explanation="A length below 0 is treated as 0; it must raise an error.",
        question="Can a sequence have -1 tokens?",
    ),
    Misconception(
        id="refuses_the_longest",
        exercise="padding_mask",
        swaps=(("(lengths > max_length)", "(lengths >= max_length)"),),
        explanation=(
            "A length of exactly max_length raises an error, but it is allowed: such an item has "
            "no padding."
        ),
        question="May a sequence fill its whole row?",
    ),
    Misconception(
        id="refuses_the_empty",
        exercise="padding_mask",
        swaps=(("(lengths < 0)", "(lengths <= 0)"),),
        explanation=(
            "A length of 0 raises an error, but it is allowed: such an item consists only of "
            "padding."
        ),
        question="What would the row of an empty sequence look like?",
    ),
    Misconception(
        id="takes_lists_only",
        exercise="padding_mask",
        swaps=(("torch.as_tensor(lengths)", "torch.tensor([] + lengths)"),),
        explanation="Lengths in a tensor raise an error, but both lists and tensors are allowed.",
        question="Which call turns a list into a tensor and leaves a tensor unchanged?",
    ),
    Misconception(
        id="takes_tensors_only",
        exercise="padding_mask",
        swaps=(("lengths = torch.as_tensor(lengths)", "lengths = lengths.clone()"),),
        explanation="Lengths in a list raise an error, but both lists and tensors are allowed.",
        question="Which call turns a list into a tensor and leaves a tensor unchanged?",
        when=("no calls as_tensor", "no calls tensor", "no calls LongTensor"),
    ),
    Misconception(
        id="compares_a_list_with_numbers",
        exercise="padding_mask",
        swaps=(("    lengths = torch.as_tensor(lengths)\n", ""),),
        explanation=(
            "Lengths in a list raise an error, because a list can't be compared with numbers; both "
            "lists and tensors are allowed."
        ),
        question="Which call turns a list into a tensor and leaves a tensor unchanged?",
        when=(
            "compares",
            "no calls as_tensor",
            "no calls tensor",
            "no calls LongTensor",
            "no loops",
        ),
    ),
    Misconception(
        id="changes_the_lengths",
        exercise="padding_mask",
        swaps=(
            (
                "return torch.arange(max_length) < lengths.unsqueeze(-1)",
                "lengths -= 1\n    return torch.arange(max_length) <= lengths.unsqueeze(-1)",
            ),
        ),
        explanation="The caller's tensor of lengths is changed in place.",
        question="What happens if someone calls your function twice with the same tensor?",
        when=("changes tensors in place",),
    ),
    Misconception(
        id="fills_in_position_by_position",
        exercise="padding_mask",
        swaps=(
            (
                "return torch.arange(max_length) < lengths.unsqueeze(-1)",
                "return torch.stack([lengths > place for place in range(max_length)], dim=-1)",
            ),
        ),
        explanation="The mask is filled in a loop; one comparison must fill all positions at once.",
        question="How many steps would your loop need for a batch of long texts?",
        when=("loops",),
    ),
)

CROSSING = (
    Misconception(
        id="lets_the_encoder_ask",
        exercise="CrossAttention",
        swaps=(
            (W_QUERY, "self.W_query = nn.Linear(d_encoder, d_out, bias=False)"),
            (W_KEY, "self.W_key = nn.Linear(d_decoder, d_out, bias=False)"),
            (W_VALUE, "self.W_value = nn.Linear(d_decoder, d_out, bias=False)"),
            (QUERIES, "queries = self.W_query(encoder_states)"),
            (KEYS, "keys = self.W_key(decoder_states)"),
            (VALUES, "values = self.W_value(decoder_states)"),
        ),
        explanation=(
            "The roles are swapped: the queries come from the encoder, and the keys and values "
            "from the decoder."
        ),
        question="Which of the two sequences needs information from the other one?",
    ),
    Misconception(
        id="attends_to_itself",
        exercise="CrossAttention",
        swaps=(
            (W_KEY, "self.W_key = nn.Linear(d_decoder, d_out, bias=False)"),
            (W_VALUE, "self.W_value = nn.Linear(d_decoder, d_out, bias=False)"),
            (KEYS, "keys = self.W_key(decoder_states)"),
            (VALUES, "values = self.W_value(decoder_states)"),
        ),
        explanation="Queries, keys and values all come from the decoder, which is self-attention.",
        question="Where does your forward use the encoder states?",
    ),
    Misconception(
        id="confuses_the_two_sizes",
        exercise="CrossAttention",
        swaps=(
            (W_QUERY, "self.W_query = nn.Linear(d_encoder, d_out, bias=False)"),
            (W_KEY, "self.W_key = nn.Linear(d_decoder, d_out, bias=False)"),
            (W_VALUE, "self.W_value = nn.Linear(d_decoder, d_out, bias=False)"),
        ),
        explanation=(
            "The two sizes are swapped: each layer expects the number of features of the other "
            "sequence."
        ),
        question="How many features does a decoder state have, and which layer gets it as input?",
    ),
    Misconception(
        id="makes_the_key_layer_for_the_decoder",
        exercise="CrossAttention",
        swaps=((W_KEY, "self.W_key = nn.Linear(d_decoder, d_out, bias=False)"),),
        explanation=(
            "The layer W_key is made for the features of a decoder state, but it gets encoder "
            "states."
        ),
        question="How many features does an encoder state have, and which layers get it as input?",
        when=("calls Linear",),
    ),
    Misconception(
        id="makes_the_value_layer_for_the_decoder",
        exercise="CrossAttention",
        swaps=((W_VALUE, "self.W_value = nn.Linear(d_decoder, d_out, bias=False)"),),
        explanation=(
            "The layer W_value is made for the features of a decoder state, but it gets encoder "
            "states."
        ),
        question="How many features does an encoder state have, and which layers get it as input?",
        when=("calls Linear",),
    ),
    Misconception(
        id="names_the_layers_as_in_document_001",
        exercise="CrossAttention",
        swaps=(
            (W_QUERY, "self.W_q = nn.Linear(d_decoder, d_out, bias=False)"),
            (W_KEY, "self.W_k = nn.Linear(d_encoder, d_out, bias=False)"),
            (W_VALUE, "self.W_v = nn.Linear(d_encoder, d_out, bias=False)"),
            (QUERIES, "queries = self.W_q(decoder_states)"),
            (KEYS, "keys = self.W_k(encoder_states)"),
            (VALUES, "values = self.W_v(encoder_states)"),
        ),
        explanation=(
            "The layers are named W_q, W_k and W_v, as in Attention; those of CrossAttention must "
            "have longer names."
        ),
        question="Which names does the docstring of CrossAttention use?",
    ),
    Misconception(
        id="lets_keys_ask_in_cross",
        exercise="CrossAttention",
        swaps=((X_SCORES, "scores = keys @ queries.transpose(-2, -1)"),),
        explanation=(
            "Keys and queries are swapped, so the scores have a row for each encoder token."
        ),
        question=(
            "If there are 3 decoder tokens and 5 encoder tokens, how many rows should the scores "
            "have?"
        ),
    ),
    Misconception(
        id="reverses_all_axes_in_cross",
        exercise="CrossAttention",
        swaps=((X_SCORES, "scores = queries @ keys.T"),),
        explanation=(
            "All axes are reversed by `T`, so in a batch the items become the last axis; only "
            "tokens and features must be swapped."
        ),
        question="What is the shape of a (2, 5, 3) tensor after `T`, and which one do you need?",
        when=("calls T",),
    ),
    Misconception(
        id="expects_equal_lengths",
        exercise="CrossAttention",
        swaps=((VALUES, f"{VALUES}\n        keys = keys.view(queries.shape)"),),
        explanation=(
            "The keys are reshaped to the shape of the queries, which works only if both "
            "sequences have the same length."
        ),
        question="Does a translation always have as many words as its original?",
        when=("reshapes",),
    ),
    Misconception(
        id="gives_the_padding_mask_no_query_axis",
        exercise="CrossAttention",
        swaps=((HIDDEN, "hidden = ~padding_mask"),),
        title="The padding mask has no axis for the queries",
        explanation=(
            "The padding mask has no axis for the queries, so torch aligns its items with the "
            "queries."
        ),
        question="Which axis of the scores is missing in the mask?",
    ),
    Misconception(
        id="hides_queries_instead_of_keys",
        exercise="CrossAttention",
        swaps=((HIDDEN, "hidden = ~padding_mask.unsqueeze(-1)"),),
        explanation=(
            "The mask hides queries instead of keys, because its new axis comes after the axis of "
            "the keys."
        ),
        question=(
            "Which axis of the scores has T_k entries, and which axis of your mask has T_k entries?"
        ),
    ),
    Misconception(
        id="adds_the_mask_in_cross",
        exercise="CrossAttention",
        swaps=((X_FILL, "scaled = scaled + ~hidden"),),
        explanation="The mask is added to the scores as zeros and ones, which hides nothing.",
        question="Which number must be added to a score so that its weight becomes zero?",
        when=("adds",),
    ),
    Misconception(
        id="masks_after_softmax_in_cross",
        exercise="CrossAttention",
        swaps=((X_FILL, "pass"), (X_MIXED, f"{BLANKED}\n        return weights @ values")),
        explanation=(
            "The padding takes part in the softmax and is set to zero only afterwards, so the "
            "other tokens get too little weight."
        ),
        question="What do the weights of a query sum to after your mask?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="sets_the_padding_states_to_zero",
        exercise="CrossAttention",
        swaps=(
            (
                KEYS,
                (
                    "if padding_mask is not None:\n"
                    "            encoder_states = encoder_states * padding_mask.unsqueeze(-1)\n"
                    f"        {KEYS}"
                ),
            ),
            (X_FILL, "pass"),
        ),
        explanation=(
            "The keys and values of the padding are zero, but a score of zero still has a weight."
        ),
        question="What is the exponential of the score of a key that is zero?",
    ),
    Misconception(
        id="always_needs_a_padding_mask",
        exercise="CrossAttention",
        swaps=((X_IF_MASK, "if True:"),),
        explanation="The padding mask is used even if the caller passes none.",
        question="What is the value of padding_mask if the caller passes none?",
    ),
    Misconception(
        id="asks_whether_the_padding_mask_is_true",
        exercise="CrossAttention",
        swaps=((X_IF_MASK, "if padding_mask:"),),
        title="The whole mask is used as one truth value",
        explanation=(
            "The whole mask is used as one truth value, but a tensor of many values has no single "
            "truth value."
        ),
        question="What do you want to test: the values of the mask, or whether there is a mask?",
    ),
    Misconception(
        id="hides_a_future_that_is_none",
        exercise="CrossAttention",
        swaps=((X_SCALED, f"{X_SCALED}\n        {NO_FUTURE}"),),
        explanation=(
            "A causal mask hides encoder tokens from early decoder tokens, but the whole encoder "
            "sequence is known from the start."
        ),
        question="Is any word of the original unknown while the translation is being written?",
        when=("calls tril | calls triu | compares",),
    ),
    Misconception(
        id="keeps_the_first_padding_mask",
        exercise="CrossAttention",
        swaps=((X_IF_MASK, KEPT.format("padding_mask")),),
        title="The padding mask of an earlier call is used again",
        explanation=(
            "The padding mask of an earlier call is used again when the caller passes none."
        ),
        question="Should a call without a mask depend on an earlier call?",
    ),
    Misconception(
        id="freezes_the_encoder",
        exercise="CrossAttention",
        swaps=(
            (KEYS, "keys = self.W_key(encoder_states.detach())"),
            (VALUES, "values = self.W_value(encoder_states.detach())"),
        ),
        explanation="The encoder states are detached, so the encoder cannot be trained.",
        question="How does a gradient from the decoder's loss reach the encoder?",
        when=("detaches",),
    ),
    Misconception(
        id="calls_the_ready_made_attention_in_cross",
        exercise="CrossAttention",
        swaps=(
            (
                X_MIXED,
                READY.format(
                    "queries, keys, values", "~hidden if padding_mask is not None else None"
                ),
            ),
        ),
        explanation=(
            "Torch's ready-made attention is called; in this stage you must write attention "
            "yourself."
        ),
        question="Which four steps does that one call replace?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
    ),
    Misconception(
        id="asks_one_decoder_token_at_a_time",
        exercise="CrossAttention",
        swaps=(
            (X_MIXED, "return torch.cat([row @ values for row in weights.split(1, dim=1)], dim=1)"),
        ),
        explanation=(
            "The tokens are processed in a loop; matrix products must process all of them at once."
        ),
        question="How many steps would your loop need for a text of a thousand tokens?",
        when=("loops",),
    ),
)

MISCONCEPTIONS = (*SOURCES, *LAYERS, *SCALING, *MASKING, *RETURNING, *PADDING, *CROSSING)
