"""Wrong answers that the suite of stage 15 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # BigramModel
    Misconception(
        id="reads_the_columns_of_the_table",
        exercise="BigramModel",
        swaps=(("return self.table(ids)", "return self.table.weight.T[ids]"),),
        explanation=(
            "The logits are read from the columns of the table; the logits of the next token are "
            "in the row of the current one."
        ),
        question="Which entries of the table are the logits of the tokens that may follow token i?",
    ),
    # GPT
    Misconception(
        id="copies_the_numbers_of_the_embedding",
        exercise="GPT",
        swaps=(
            (
                "self.out_head.weight = self.tok_emb.weight",
                "self.out_head.weight.data = self.tok_emb.weight.data.clone()",
            ),
        ),
        explanation=(
            "The head of a tied model gets a copy of the embedding's weight: there are still two "
            "parameters, and training makes them differ."
        ),
        question="How many parameters does model.parameters() list if tied is true?",
    ),
    Misconception(
        id="shares_the_numbers_but_not_the_parameter",
        exercise="GPT",
        swaps=(
            (
                "self.out_head.weight = self.tok_emb.weight",
                "self.out_head.weight.data = self.tok_emb.weight.data",
            ),
        ),
        title="The tied weights are two parameters",
        explanation=(
            "The tied weights are two parameters that share memory: each collects only its own "
            "part of the gradient."
        ),
        question=(
            "Which object must out_head.weight be, so that both layers have one parameter with "
            "one gradient?"
        ),
    ),
    Misconception(
        id="keeps_the_blocks_in_a_list",
        exercise="GPT",
        swaps=(("self.blocks = nn.ModuleList()", "self.blocks = []"),),
        explanation=(
            "The blocks are in a Python list: torch does not find their parameters, so they are "
            "not trained."
        ),
        question="Which container of torch registers the layers in it?",
    ),
    Misconception(
        id="uses_one_block_many_times",
        exercise="GPT",
        swaps=(
            (
                "self.blocks.append(TransformerBlock(attention, d_model, 4 * d_model))",
                (
                    "block = TransformerBlock(attention, d_model, 4 * d_model)\n"
                    "            self.blocks.append(self.blocks[0] if len(self.blocks) else block)"
                ),
            ),
        ),
        explanation="All layers use the same block; each layer needs a block with its own weights.",
        question="How often is TransformerBlock called in your constructor, and where?",
    ),
    Misconception(
        id="looks_up_positions_by_token",
        exercise="GPT",
        swaps=(("self.pos_emb(positions)", "self.pos_emb(ids)"),),
        explanation=(
            "The position vectors are looked up by the ids of the tokens, so they do not depend "
            "on the positions."
        ),
        question="Which row of pos_emb must the third token get, for any id?",
    ),
    Misconception(
        id="returns_probabilities",
        exercise="GPT",
        swaps=(
            (
                "return self.out_head(self.final_norm(x))",
                "return torch.softmax(self.out_head(self.final_norm(x)), dim=-1)",
            ),
        ),
        explanation="The result goes through a softmax; the exercise asks for logits.",
        question="Which function of this stage turns logits into probabilities?",
    ),
    Misconception(
        id="returns_the_last_position_only",
        exercise="GPT",
        swaps=(
            (
                "return self.out_head(self.final_norm(x))",
                "return self.out_head(self.final_norm(x[:, -1:]))",
            ),
        ),
        explanation=(
            "Only the last position gets logits, but training needs them at every position."
        ),
        question="How many predictions does a text of T tokens give for training?",
    ),
    Misconception(
        id="adds_no_positions",
        exercise="GPT",
        swaps=(("self.tok_emb(ids) + self.pos_emb(positions)", "self.tok_emb(ids)"),),
        explanation=(
            "The position vectors are not added, so a token has the same vector at every position."
        ),
        question=(
            "How can your blocks tell the first token from the second if both have the same id?"
        ),
    ),
    Misconception(
        id="gives_attention_no_qkv_bias",
        exercise="GPT",
        when=("no reads qkv_bias",),
        swaps=(("0.0, num_heads, qkv_bias", "0.0, num_heads"),),
        explanation=(
            "The argument `qkv_bias` is not passed to the attention of the blocks, so it has no "
            "effect."
        ),
        question=(
            "Which call in your constructor needs to know whether the projections have a bias?"
        ),
    ),
    Misconception(
        id="gives_every_block_the_embeddings",
        exercise="GPT",
        when=("loops",),
        swaps=(
            ("        for block", "        start = x\n        for block"),
            ("block(x)", "block(start)"),
        ),
        explanation=(
            "Every block gets the embeddings, so only the last block has an effect; each block "
            "must get the output of the block before it."
        ),
        question="What is the input of the second block?",
    ),
    Misconception(
        id="normalizes_the_end_with_one_feature_less",
        exercise="GPT",
        when=("takes a variance",),
        swaps=(
            (
                "return self.out_head(self.final_norm(x))",
                (
                    "norm = self.final_norm\n"
                    "        spread = (x.var(dim=-1, keepdim=True) + norm.eps).sqrt()\n"
                    "        x = norm.scale * (x - x.mean(dim=-1, keepdim=True)) / spread\n"
                    "        return self.out_head(x + norm.shift)"
                ),
            ),
        ),
        explanation="The variance before out_head divides by one less than the number of features.",
        question="By which number does the variance of your LayerNorm divide?",
    ),
    Misconception(
        id="draws_the_weights_again",
        exercise="GPT",
        seen=(
            "calls normal_ | calls xavier_uniform_ | calls kaiming_normal_ | calls trunc_normal_",
        ),
        swaps=(
            (
                "        if tied:",
                (
                    "        for weight in self.parameters():\n"
                    "            nn.init.normal_(weight, std=0.02)\n"
                    "        if tied:"
                ),
            ),
        ),
        explanation=(
            "The weights are drawn again after the layers have drawn them; the model must keep the "
            "numbers with which torch creates its layers."
        ),
        question="Does the docstring ask for other initial weights than those of the layers?",
    ),
    # count_parameters
    Misconception(
        id="counts_no_biases",
        exercise="count_parameters",
        swaps=(
            ("4 * d_model**2 + d_model", "4 * d_model**2"),
            ("8 * d_model**2 + 5 * d_model", "8 * d_model**2"),
        ),
        explanation=(
            "The biases are not counted: out_proj, linear1 and linear2 have one each, with "
            "d_model, 4 · d_model and d_model parameters."
        ),
        question="Which linear layers of a block have a bias?",
    ),
    Misconception(
        id="forgets_the_bias_of_out_proj",
        exercise="count_parameters",
        swaps=(("4 * d_model**2 + d_model", "4 * d_model**2"),),
        explanation="The bias of out_proj in each block is not counted.",
        question="What does out_proj have that W_query does not have if qkv_bias is false?",
    ),
    Misconception(
        id="counts_no_norms",
        exercise="count_parameters",
        swaps=(("norm = 2 * d_model", "norm = 0"),),
        explanation=(
            "The norms are not counted: there are two in each block and one at the end, each with "
            "a scale and a shift."
        ),
        question="How many parameters does a LayerNorm have, and how many norms are there?",
    ),
    Misconception(
        id="counts_one_norm_in_a_block",
        exercise="count_parameters",
        swaps=(("feed_forward + 2 * norm", "feed_forward + norm"),),
        explanation="Only one norm is counted in each block; there are two.",
        question="Do norm1 and norm2 share their parameters?",
    ),
    Misconception(
        id="counts_scales_without_shifts",
        exercise="count_parameters",
        swaps=(("norm = 2 * d_model", "norm = d_model"),),
        explanation="Each norm is counted with its scale alone; it has a shift as well.",
        question="Which parameters did your LayerNorm create?",
    ),
    Misconception(
        id="forgets_the_final_norm",
        exercise="count_parameters",
        swaps=(("block + norm + out_head", "block + out_head"),),
        explanation="The norm after the last block is not counted.",
        question="What is between the last block and the head?",
    ),
    Misconception(
        id="counts_no_positions",
        exercise="count_parameters",
        swaps=(("(vocab_size + context_length) * d_model", "vocab_size * d_model"),),
        explanation="The position embedding is not counted: context_length · d_model parameters.",
        question="Which two tables turn ids into vectors?",
    ),
    Misconception(
        id="counts_no_biases_of_the_feed_forward_network",
        exercise="count_parameters",
        swaps=(("8 * d_model**2 + 5 * d_model", "8 * d_model**2"),),
        explanation=(
            "The biases of the feed-forward network are not counted: linear1 has 4 · d_model of "
            "them, and linear2 has d_model."
        ),
        question="Which parameters does an nn.Linear have besides its matrix?",
    ),
    Misconception(
        id="counts_equal_biases_of_the_feed_forward_network",
        exercise="count_parameters",
        swaps=(("+ 5 * d_model", "+ 2 * d_model"),),
        explanation=(
            "The bias of linear1 is counted with d_model numbers, but it has one for each of its "
            "4 · d_model features."
        ),
        question="How many numbers does the bias of nn.Linear(8, 32) have?",
    ),
    Misconception(
        id="counts_one_bias_for_queries_keys_and_values",
        exercise="count_parameters",
        swaps=(("attention += 3 * d_model", "attention += d_model"),),
        explanation=(
            "If qkv_bias is true, d_model biases are counted in each block; queries, keys and "
            "values have d_model each."
        ),
        question="How many layers does qkv_bias give a bias?",
    ),
    # top_k_logits
    Misconception(
        id="keeps_exactly_k",
        exercise="top_k_logits",
        code="""
            def top_k_logits(logits, k):
                if not 1 <= k <= logits.shape[-1]:
                    raise ValueError(k)
                kept = torch.topk(logits, k, dim=-1)
                nothing = torch.full_like(logits, float("-inf"))
                return nothing.scatter(-1, kept.indices, kept.values)
        """,
        title="Ties with the k-th largest logit are dropped",
        explanation=(
            "Ties with the k-th largest logit are dropped: exactly k logits are kept, so the "
            "choice among equal logits is arbitrary."
        ),
        question="What happens to four equal logits if k is 2?",
    ),
    Misconception(
        id="replaces_logits_by_zero",
        exercise="top_k_logits",
        when=("fills | calls zeros_like | calls scatter",),
        swaps=(('float("-inf")', "0.0"),),
        explanation=(
            "The logits that are not kept become 0, whose exponential is 1; they must become minus "
            "infinity, so that their tokens get the probability 0."
        ),
        question="Which logit gives a token the probability 0?",
    ),
    Misconception(
        id="loses_the_axis_of_the_limit",
        exercise="top_k_logits",
        when=("indexes", "no calls unsqueeze", "no passes keepdim"),
        swaps=((".values[..., -1:]", ".values[..., -1]"),),
        explanation=(
            "The k-th largest logit of each row has no axis for the vocabulary: it is compared "
            "with the logits of other rows, or the shapes do not fit."
        ),
        question="Which shape must the limits of B rows have to be compared with (B, V) logits?",
    ),
    Misconception(
        id="refuses_to_keep_all_logits",
        exercise="top_k_logits",
        when=("compares",),
        swaps=(("1 <= k <= V", "1 <= k < V"),),
        explanation=(
            "The size of the vocabulary is refused as the number of logits to keep, but it is "
            "allowed."
        ),
        question="What must happen if all logits are to be kept?",
    ),
    Misconception(
        id="compares_with_all_k_logits",
        exercise="top_k_logits",
        when=("calls topk", "no slices", "no calls min", "no calls amin"),
        swaps=((".values[..., -1:]", ".values"),),
        explanation=(
            "The logits are compared with all k largest ones; the limit is the smallest of these "
            "alone."
        ),
        question="How many numbers of each row does topk return, and which of them is the limit?",
    ),
    # sample_next
    Misconception(
        id="checks_top_k_only_when_it_draws",
        exercise="sample_next",
        swaps=(("if top_k is not None:", "if top_k is not None and temperature > 0:"),),
        explanation=(
            "At temperature 0, a wrong top_k is accepted; it must raise an error at every "
            "temperature."
        ),
        question="What does your code do with top_k = 0 at temperature 0?",
    ),
    Misconception(
        id="drops_the_result_of_top_k",
        exercise="sample_next",
        swaps=(("logits = top_k_logits(logits, top_k)", "top_k_logits(logits, top_k)"),),
        explanation=(
            "The limit top_k has no effect on the draw: every token can be drawn, including those "
            "below the k-th largest logit."
        ),
        question="Which variable does your softmax read, and does top_k change it?",
    ),
    Misconception(
        id="divides_by_a_temperature_of_zero",
        exercise="sample_next",
        when=("divides by temperature", "no calls argmax", "no calls max"),
        swaps=(
            ("    if temperature == 0:\n        return logits.argmax(dim=-1, keepdim=True)\n", ""),
        ),
        explanation=(
            "Temperature 0 is not treated separately, so the logits are divided by 0; at "
            "temperature 0, the token with the largest logit must be chosen without drawing."
        ),
        question="What is 2 / 0 in a tensor, and what does softmax make of it?",
    ),
    Misconception(
        id="divides_after_the_softmax",
        exercise="sample_next",
        when=("divides by temperature",),
        swaps=(
            (
                "torch.softmax(logits / temperature, dim=-1)",
                "torch.softmax(logits, dim=-1) / temperature",
            ),
        ),
        explanation=(
            "The temperature does not change the draw: the logits that go into the softmax must be "
            "divided by it."
        ),
        question=(
            "What does the draw depend on if all probabilities are divided by the same number?"
        ),
    ),
    Misconception(
        id="chooses_ids_without_an_axis",
        exercise="sample_next",
        when=("calls argmax | calls max | calls topk",),
        swaps=(("logits.argmax(dim=-1, keepdim=True)", "logits.argmax(dim=-1)"),),
        explanation=(
            "At temperature 0, the ids have the shape (B,), but each item needs one row: (B, 1)."
        ),
        question="Which shape do the ids have that multinomial draws?",
    ),
    Misconception(
        id="takes_a_top_k_of_zero_for_none",
        exercise="sample_next",
        swaps=(("if top_k is not None:", "if top_k:"),),
        explanation=(
            "A top_k of 0 counts as no top_k, because 0 is false in a condition; it must raise a "
            "ValueError."
        ),
        question="Is `if top_k` true for the number 0?",
    ),
    Misconception(
        id="refuses_a_top_k_of_all_logits",
        exercise="sample_next",
        when=("compares", "raises"),
        swaps=(
            (
                "        logits = top_k_logits(logits, top_k)",
                (
                    "        if top_k >= logits.shape[-1]:\n"
                    "            raise ValueError(top_k)\n"
                    "        logits = top_k_logits(logits, top_k)"
                ),
            ),
        ),
        explanation="A top_k equal to the size of the vocabulary is refused, but it is allowed.",
        question="Which tokens can be drawn if top_k is the size of the vocabulary?",
    ),
    # generate
    Misconception(
        id="builds_a_graph",
        exercise="generate",
        swaps=(("with torch.no_grad():", "if True:"),),
        title="The model runs outside torch.no_grad()",
        explanation=(
            "The model runs outside torch.no_grad(), so torch stores every step for gradients that "
            "are not needed."
        ),
        question="Will anyone call backward on a generated text?",
    ),
    Misconception(
        id="returns_only_the_new_tokens",
        exercise="generate",
        swaps=(
            ("    with torch.no_grad():", "    T = ids.shape[1]\n    with torch.no_grad():"),
            ("return ids", "return ids[:, T:]"),
        ),
        explanation="Only the new tokens are returned; the result must begin with the given ids.",
        question="How long is the result for 3 given and 4 new tokens?",
    ),
    Misconception(
        id="forgets_the_beginning",
        exercise="generate",
        swaps=(
            (
                "logits = model(ids[:, -context_length:])",
                ("ids = ids[:, -context_length:]\n            logits = model(ids)"),
            ),
        ),
        explanation=(
            "The ids themselves are cropped, so the result loses its beginning; only the input "
            "of the model may be cropped."
        ),
        question="Which variable must keep all tokens, and which one may be cropped?",
    ),
    Misconception(
        id="chooses_from_the_first_position",
        exercise="generate",
        swaps=(("sample_next(logits[:, -1], ", "sample_next(logits[:, 0], "),),
        explanation=(
            "The token is chosen from the logits of the first position; only the last position has "
            "seen the whole text."
        ),
        question="Which position of the logits predicts the token after the last one?",
    ),
    Misconception(
        id="shows_all_tokens_to_the_model",
        exercise="generate",
        swaps=(("model(ids[:, -context_length:])", "model(ids)"),),
        explanation=(
            "The model gets the whole text, not only the last context_length tokens; a GPT has "
            "only context_length positions."
        ),
        question="How many tokens does the model get if the text is longer than context_length?",
    ),
    Misconception(
        id="shows_the_first_tokens_to_the_model",
        exercise="generate",
        swaps=(("model(ids[:, -context_length:])", "model(ids[:, :context_length])"),),
        explanation=(
            "The model gets the first context_length tokens; it must get the last ones, which "
            "are nearest to the next token."
        ),
        question="Which tokens does your slice keep if the text is longer than context_length?",
    ),
    Misconception(
        id="asks_with_the_last_token_only",
        exercise="generate",
        swaps=(("model(ids[:, -context_length:])", "model(ids[:, -1:])"),),
        explanation=(
            "The model gets the last token only, which is enough for a bigram model; a GPT must "
            "get the last context_length tokens."
        ),
        question="How many tokens does your model get in the third step?",
    ),
)
