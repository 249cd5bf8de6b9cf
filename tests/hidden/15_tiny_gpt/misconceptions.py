"""Wrong answers that the suite of stage 15 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # BigramModel
    Misconception(
        id="reads_the_columns_of_the_table",
        exercise="BigramModel",
        swaps=(("return self.table(ids)", "return self.table.weight.T[ids]"),),
        explanation=(
            "The logits are read from the columns of the table; they must be read from the row of "
            "the current token."
        ),
        question="Which entries of the table are the logits of the tokens that may follow token i?",
    ),
    # GPT
    Misconception(
        id="copies_the_numbers_of_the_embedding",
        exercise="GPT",
        when=("reads data | calls clone | calls copy_ | calls detach | calls Parameter",),
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
        when=("reads data | calls set_ | calls detach | calls Parameter",),
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
            "The blocks are not registered, for example because they are in a plain list: torch "
            "does not find their parameters, so they are not trained."
        ),
        question="Which container of torch registers the layers in it?",
    ),
    Misconception(
        id="shares_one_attention",
        exercise="GPT",
        swaps=(
            (
                "TransformerBlock(attention, d_model",
                "TransformerBlock(self.blocks[0].att if len(self.blocks) else attention, d_model",
            ),
        ),
        explanation="The blocks share one attention module; each block must have its own.",
        question="How many attention modules does a model with three blocks have?",
        when=("calls MultiHeadAttention",),
    ),
    Misconception(
        id="makes_one_block_only",
        exercise="GPT",
        swaps=(
            ("for _ in range(num_layers):", "for _ in range(min(num_layers, 1)):"),
            (
                "self.final_norm = ",
                (
                    "self.blocks = nn.ModuleList([*self.blocks] * num_layers)\n"
                    "        self.final_norm = "
                ),
            ),
        ),
        explanation=(
            "All layers are one and the same block; each layer needs a block with its own weights."
        ),
        question="How many blocks does your constructor make if num_layers is 3?",
    ),
    Misconception(
        id="uses_one_block_many_times",
        exercise="GPT",
        swaps=(
            (
                "TransformerBlock(attention, d_model, 4 * d_model)",
                "[TransformerBlock(attention, d_model, 4 * d_model), *self.blocks][-1]",
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
        swaps=(("block(x)", "block(self.tok_emb(ids) + self.pos_emb(positions))"),),
        explanation=(
            "Every block gets the embeddings, so only the last block has an effect; each block "
            "must get the output of the block before it."
        ),
        question="What is the input of the second block?",
    ),
    Misconception(
        id="normalizes_after_each_block",
        exercise="GPT",
        swaps=(
            ("x = block(x)", "x = self.final_norm(block(x))"),
            ("self.out_head(self.final_norm(x))", "self.out_head(x)"),
        ),
        explanation=(
            "The final_norm is applied after each block; it must be applied once, after the last "
            "block."
        ),
        question="How often does your forward apply final_norm in a model with three blocks?",
    ),
    Misconception(
        id="normalizes_before_the_blocks",
        exercise="GPT",
        swaps=(
            (
                "self.tok_emb(ids) + self.pos_emb(positions)",
                "self.final_norm(self.tok_emb(ids) + self.pos_emb(positions))",
            ),
            ("self.out_head(self.final_norm(x))", "self.out_head(x)"),
        ),
        explanation=(
            "The final_norm is applied before the blocks; it must be applied after the last block."
        ),
        question="Which layer does out_head get its vectors from?",
    ),
    Misconception(
        id="scales_the_embeddings",
        exercise="GPT",
        swaps=(("self.tok_emb(ids) +", "self.tok_emb(ids) * self.tok_emb.embedding_dim**0.5 +"),),
        explanation=(
            "The rows of tok_emb are multiplied by the root of d_model, as in the original "
            "transformer; a GPT adds them as they are."
        ),
        question="By which factor does the docstring multiply the row of tok_emb?",
    ),
    Misconception(
        id="adds_the_input_of_each_block_again",
        exercise="GPT",
        swaps=(("x = block(x)", "x = x + block(x)"),),
        explanation=(
            "The input of each block is added to its result; the block itself already adds its "
            "input."
        ),
        question="Which sums does the forward of TransformerBlock contain?",
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
        explanation=(
            "A bias of d_model numbers in each block is not counted: that of out_proj, or that of "
            "the feed-forward network's second layer."
        ),
        question="Which layers of a block have a bias if qkv_bias is false, and of which sizes?",
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
        id="counts_one_vector_less",
        exercise="count_parameters",
        swaps=(("+ norm + out_head", "+ d_model + out_head"),),
        title="One vector of d_model numbers is not counted",
        explanation=(
            "One vector of d_model numbers is not counted, such as the scale or the shift of "
            "final_norm; this norm has both."
        ),
        question="Which parameters does final_norm have?",
    ),
    Misconception(
        id="counts_no_positions",
        exercise="count_parameters",
        swaps=(("(vocab_size + context_length) * d_model", "vocab_size * d_model"),),
        explanation="The position embedding is not counted: context_length · d_model parameters.",
        question="Which two tables turn ids into vectors?",
    ),
    Misconception(
        id="counts_attention_without_out_proj",
        exercise="count_parameters",
        swaps=(("4 * d_model**2 + d_model", "3 * d_model**2"),),
        explanation=(
            "The layer out_proj is not counted in each block: d_model² weights and d_model biases."
        ),
        question="Which four layers does your attention create?",
    ),
    Misconception(
        id="counts_a_bias_of_the_head",
        exercise="count_parameters",
        swaps=(("vocab_size * d_model\n", "(d_model + 1) * vocab_size\n"),),
        explanation="A bias of out_head is counted, vocab_size numbers; this layer has no bias.",
        question="Does out_head have a bias?",
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
        id="counts_two_wide_biases_of_the_feed_forward_network",
        exercise="count_parameters",
        swaps=(("+ 5 * d_model", "+ 8 * d_model"),),
        explanation=(
            "The bias of linear2 is counted with 4 · d_model numbers, but this layer returns "
            "d_model features."
        ),
        question="How many numbers has the bias of a layer that returns d_model features?",
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
    Misconception(
        id="counts_the_biases_of_one_layer",
        exercise="count_parameters",
        swaps=(("        attention += 3 * d_model", "        embeddings += 3 * d_model"),),
        explanation="The biases of query, key and value are counted once; each layer has them.",
        question="How many biases does qkv_bias add to a GPT with 12 layers?",
    ),
    # adamw_step
    Misconception(
        id="adds_the_decay_to_the_gradient",
        exercise="adamw_step",
        swaps=(
            (
                "    beta1, beta2 = betas",
                "    beta1, beta2 = betas\n    gradient = gradient + weight_decay * parameter",
            ),
            ("(1 - learning_rate * weight_decay) * parameter", "1 * parameter"),
        ),
        explanation=(
            "The decay is part of the gradient, as in Adam with an L2 penalty, so the two means "
            "contain it. AdamW must multiply the parameter itself."
        ),
        question="Which of the three results may depend on weight_decay?",
    ),
    Misconception(
        id="forgets_the_decay_of_the_weights",
        exercise="adamw_step",
        when=("no reads weight_decay",),
        swaps=(("(1 - learning_rate * weight_decay) * parameter", "1 * parameter"),),
        explanation="The parameter does not decay: `weight_decay` has no effect.",
        question="What happens to a parameter whose gradient is 0?",
    ),
    Misconception(
        id="decays_after_the_step",
        exercise="adamw_step",
        swaps=(
            ("(1 - learning_rate * weight_decay) * parameter", "1 * parameter"),
            (
                "    return parameter, mean, square",
                "    return (1 - learning_rate * weight_decay) * parameter, mean, square",
            ),
        ),
        explanation=(
            "The decay also shrinks the step: the parameter must decay first, and the step is "
            "subtracted afterwards."
        ),
        question="Which numbers does your code multiply by 1 - learning_rate · weight_decay?",
    ),
    Misconception(
        id="decays_without_the_rate",
        exercise="adamw_step",
        swaps=(("(1 - learning_rate * weight_decay)", "(1 - weight_decay)"),),
        explanation=(
            "The decay does not depend on the learning rate: a step must multiply the parameter by "
            "1 - learning_rate · weight_decay."
        ),
        question="How much should a parameter decay in a step with a learning rate of 0?",
    ),
    Misconception(
        id="steps_with_the_uncorrected_means",
        exercise="adamw_step",
        swaps=(
            ("direction = mean / (1 - beta1**step)", "direction = mean"),
            ("torch.sqrt(square / (1 - beta2**step))", "torch.sqrt(square)"),
        ),
        explanation=(
            "The means are used without their correction: they began at zero, so in the first "
            "steps both are too small, and by different factors."
        ),
        question="After step 1, how large is the mean if it was 0 and the gradient is 1?",
    ),
    Misconception(
        id="corrects_only_the_mean",
        exercise="adamw_step",
        swaps=(("torch.sqrt(square / (1 - beta2**step))", "torch.sqrt(square)"),),
        explanation=(
            "The mean of the squares is used without its correction, so the first steps are too "
            "long."
        ),
        question="Which of the two means began at zero?",
    ),
    Misconception(
        id="returns_the_corrected_means",
        exercise="adamw_step",
        swaps=(
            (
                "return parameter, mean, square",
                "return parameter, mean / (1 - beta1**step), square / (1 - beta2**step)",
            ),
        ),
        explanation=(
            "The corrected means are returned, so the next step corrects them once more. The "
            "correction must be for the step only."
        ),
        question="From which number does the next step continue its mean?",
    ),
    Misconception(
        id="returns_the_corrected_mean",
        exercise="adamw_step",
        swaps=(
            (
                "return parameter, mean, square",
                "return parameter, mean / (1 - beta1**step), square",
            ),
        ),
        explanation=(
            "The corrected mean of the gradients is returned, so the next step corrects it once "
            "more; the correction must be for the step only."
        ),
        question="From which number does the next step continue its mean?",
    ),
    Misconception(
        id="adds_eps_under_the_root",
        exercise="adamw_step",
        swaps=(
            (
                "torch.sqrt(square / (1 - beta2**step))",
                "torch.sqrt(square / (1 - beta2**step) + eps)",
            ),
            ("(size + eps)", "size"),
        ),
        explanation="The term eps is added under the root: it must be added to the root.",
        question="What is the root of eps, if eps is 0.0001?",
    ),
    Misconception(
        id="adds_eps_before_the_correction",
        exercise="adamw_step",
        swaps=(
            (
                "size = torch.sqrt(square / (1 - beta2**step))",
                "size = (torch.sqrt(square) + eps) / (1 - beta2**step) ** 0.5",
            ),
            ("(size + eps)", "size"),
        ),
        explanation=(
            "The term eps is added before the correction of the squares, as in some libraries: "
            "here it must be added to the corrected root."
        ),
        question="Is eps divided by anything in the docstring?",
    ),
    Misconception(
        id="squares_the_mean",
        exercise="adamw_step",
        swaps=(("(1 - beta2) * gradient**2", "(1 - beta2) * mean**2"),),
        explanation=(
            "The new square contains the square of the mean; it must contain the square of the "
            "gradient."
        ),
        question=(
            "The gradients are 1 and -1. What is the square of their mean, and what is the mean of "
            "their squares?"
        ),
    ),
    Misconception(
        id="exchanges_the_shares_of_the_means",
        exercise="adamw_step",
        swaps=(
            (
                "beta1 * mean + (1 - beta1) * gradient",
                "(1 - beta1) * mean + beta1 * gradient",
            ),
            (
                "beta2 * square + (1 - beta2) * gradient**2",
                "(1 - beta2) * square + beta2 * gradient**2",
            ),
        ),
        explanation=(
            "The shares of the means are swapped: the old mean must count with beta, and the new "
            "gradient with 1 - beta."
        ),
        question="With a beta of 0.9, should the mean change quickly or slowly?",
    ),
    Misconception(
        id="exchanges_the_betas",
        exercise="adamw_step",
        swaps=(("beta1, beta2 = betas", "beta2, beta1 = betas"),),
        explanation="The two betas are swapped: the first one must belong to the mean.",
        question="Which of the two means should follow the gradient faster?",
    ),
    Misconception(
        id="counts_steps_from_0",
        exercise="adamw_step",
        swaps=(("beta1**step", "beta1 ** (step + 1)"), ("beta2**step", "beta2 ** (step + 1)")),
        explanation=(
            "The corrections are those of the next step, but the first step already has the number "
            "1."
        ),
        question="By which number must a mean of one gradient be divided, if beta is 0.9?",
    ),
    Misconception(
        id="divides_by_the_squares",
        exercise="adamw_step",
        swaps=(("torch.sqrt(square / (1 - beta2**step))", "square / (1 - beta2**step)"),),
        explanation=(
            "The step is divided by the mean of the squares, not by its root, so its length "
            "depends on the size of the gradient."
        ),
        question="If all gradients are 10 times as large, how much longer should the step be?",
    ),
    Misconception(
        id="steps_uphill",
        exercise="adamw_step",
        swaps=(("parameter - learning_rate * direction", "parameter + learning_rate * direction"),),
        explanation="The step goes along the gradient, towards a larger loss.",
        question="In which direction does the loss fall?",
    ),
    Misconception(
        id="steps_in_float32",
        exercise="adamw_step",
        swaps=(
            (
                "return parameter, mean, square",
                "return parameter.float(), mean.float(), square.float()",
            ),
        ),
        explanation=(
            "The results are always float32: float64 tensors lose their precision in each step."
        ),
        question="Which dtype should the result have if the parameter is float64?",
    ),
    Misconception(
        id="uses_torchs_own_step",
        exercise="adamw_step",
        when=("calls adamw | calls AdamW | calls Adam",),
        swaps=(
            (
                "    beta1, beta2 = betas\n",
                (
                    "    beta1, beta2 = betas\n"
                    "    moved = [parameter.clone(), mean.clone(), square.clone()]\n"
                    "    count = torch.tensor(step - 1.0)\n"
                    "    from torch.optim.adamw import adamw\n"
                    "    adamw(\n"
                    "        moved[:1], [gradient], moved[1:2], moved[2:], [], [count],\n"
                    "        foreach=False, amsgrad=False, beta1=beta1, beta2=beta2,\n"
                    "        lr=learning_rate, weight_decay=weight_decay, eps=eps,\n"
                    "        maximize=False,\n"
                    "    )\n"
                    "    return tuple(moved)\n"
                ),
            ),
        ),
        explanation=(
            "The step is made by torch's own optimizer; this exercise asks for the step itself."
        ),
        question="Which two running means does the optimizer keep, and what does it do with them?",
    ),
    # clip_gradients
    Misconception(
        id="clips_each_tensor_alone",
        exercise="clip_gradients",
        swaps=(
            (
                "        gradients = [gradient * (max_norm / norm) for gradient in gradients]",
                (
                    "        gradients = [\n"
                    "            gradient * min(1.0, max_norm / (float(gradient.norm()) + 1e-30))\n"
                    "            for gradient in gradients\n"
                    "        ]"
                ),
            ),
        ),
        explanation=(
            "Each tensor is clipped by its own norm, which can change the direction of the whole "
            "gradient; there must be one norm of all numbers of all tensors."
        ),
        question="By which factor should a short tensor be multiplied if a long one is next to it?",
    ),
    Misconception(
        id="clips_each_number",
        exercise="clip_gradients",
        swaps=(
            (
                "gradient * (max_norm / norm) for",
                "gradient.clamp(-max_norm, max_norm) for",
            ),
        ),
        explanation=(
            "Single numbers are cut off at max_norm; all numbers must be multiplied by the same "
            "factor."
        ),
        question="What happens to the direction of (3, 4) if both numbers are cut off at 1?",
    ),
    Misconception(
        id="lengthens_short_gradients",
        exercise="clip_gradients",
        swaps=(("    if norm > max_norm:", "    if norm > 0:"),),
        explanation="Short gradients are made longer: a norm below max_norm must stay.",
        question="What should happen to a gradient whose norm is half of max_norm?",
    ),
    Misconception(
        id="adds_the_norms",
        exercise="clip_gradients",
        swaps=(
            ("float((gradient**2).sum())", "float((gradient**2).sum()) ** 0.5"),
            ("norm = math.sqrt(sum(squares))", "norm = sum(squares)"),
        ),
        explanation=(
            "The norms of the tensors are added; the joint norm must be the root of the sum of all "
            "squares."
        ),
        question="What is the norm of (3, 4), and is it the sum of the norms of 3 and 4?",
    ),
    Misconception(
        id="takes_no_root_of_the_squares",
        exercise="clip_gradients",
        swaps=(("norm = math.sqrt(sum(squares))", "norm = sum(squares)"),),
        explanation="The sum of the squares is used as the norm, without the root.",
        question="How much larger is the norm if all numbers are twice as large?",
    ),
    Misconception(
        id="returns_the_norm_afterwards",
        exercise="clip_gradients",
        swaps=(("return list(gradients), norm", "return list(gradients), min(norm, max_norm)"),),
        explanation="The norm afterwards is returned; the exercise asks for the norm before.",
        question="Which of the two norms shows that a batch was unusual?",
    ),
    Misconception(
        id="divides_zeros_by_their_norm",
        exercise="clip_gradients",
        swaps=(
            (
                (
                    "    if norm > max_norm:\n"
                    "        gradients = [gradient * (max_norm / norm) for gradient in gradients]"
                ),
                (
                    "    factor = (max_norm / torch.tensor(norm)).clamp(max=1.0)\n"
                    "    gradients = [gradient * factor for gradient in gradients]\n"
                    "    gradients = [g / g.norm() * g.norm() for g in gradients]"
                ),
            ),
        ),
        explanation="A gradient of zeros becomes NaN, as after a division by its norm of 0.",
        question="What is the norm of a gradient of zeros?",
    ),
    Misconception(
        id="forgets_the_largest_norm",
        exercise="clip_gradients",
        swaps=(("gradient * (max_norm / norm)", "gradient / norm"),),
        explanation="Long gradients get a norm of 1; they must get the norm max_norm.",
        question="Which norm do your clipped gradients have if max_norm is 5?",
    ),
    Misconception(
        id="clips_the_callers_gradients",
        exercise="clip_gradients",
        when=("changes tensors in place",),
        swaps=(
            (
                "        gradients = [gradient * (max_norm / norm) for gradient in gradients]",
                "        for gradient in gradients:\n            gradient.mul_(max_norm / norm)",
            ),
        ),
        explanation=(
            "The caller's gradients are changed in place; the clipped ones must be new tensors."
        ),
        question="What are the caller's gradients after your function has returned?",
    ),
    Misconception(
        id="uses_torchs_own_clipping",
        exercise="clip_gradients",
        when=("calls clip_grad_norm_ | calls get_total_norm | calls clip_grads_with_norm_",),
        swaps=(
            (
                "    squares = [",
                (
                    "    copies = [nn.Parameter(torch.zeros_like(one)) for one in gradients]\n"
                    "    for copy, gradient in zip(copies, gradients):\n"
                    "        copy.grad = gradient.clone()\n"
                    "    norm = nn.utils.clip_grad_norm_(copies, max_norm)\n"
                    "    return [copy.grad for copy in copies], float(norm)\n"
                    "    squares = ["
                ),
            ),
        ),
        explanation=(
            "The gradients are clipped by torch's own function; this exercise asks for its steps."
        ),
        question="Of which numbers is the norm taken, and when does a factor apply?",
    ),
    # rate_at
    Misconception(
        id="counts_the_warmup_in_the_cosine",
        exercise="rate_at",
        swaps=(("(step - warmup) / (steps - warmup)", "step / steps"),),
        explanation=(
            "The cosine begins at step 0, so the rate is below the peak after the warm-up; it must "
            "begin where the warm-up ends."
        ),
        question="Which share of the cosine has passed at step `warmup`?",
    ),
    Misconception(
        id="divides_the_fall_by_all_steps",
        exercise="rate_at",
        swaps=(("(step - warmup) / (steps - warmup)", "(step - warmup) / steps"),),
        explanation=(
            "The fall is as long as the whole training, so after a warm-up the rate does not reach "
            "the floor; the fall must have steps - warmup steps."
        ),
        question="How many steps are left after the warm-up?",
    ),
    Misconception(
        id="takes_the_whole_wave",
        exercise="rate_at",
        swaps=(("math.cos(math.pi * share)", "math.cos(2 * math.pi * share)"),),
        explanation="The rate follows a whole wave and rises again in the second half.",
        question="What is the cosine of π, and what is that of 2π?",
    ),
    Misconception(
        id="adds_the_floor",
        exercise="rate_at",
        swaps=(("floor + (peak - floor) *", "floor + peak *"),),
        explanation=(
            "The floor is added to the whole curve, so with a floor above 0 the rate goes above "
            "the peak; the curve must have the height peak - floor."
        ),
        question="Which rate does your code give at the end of the warm-up, if the floor is 0.1?",
    ),
    Misconception(
        id="cuts_the_curve_at_the_floor",
        exercise="rate_at",
        when=("takes a maximum",),
        swaps=(
            (
                "return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2",
                "return max(floor, peak * (1 + math.cos(math.pi * share)) / 2)",
            ),
        ),
        explanation=(
            "The curve falls to 0 and is cut off at the floor; it must fall from the peak to the "
            "floor, and reach it in the last step."
        ),
        question="At which step does your rate reach the floor?",
    ),
    Misconception(
        id="rises_again_after_the_end",
        exercise="rate_at",
        swaps=(("    if step > steps:\n        return floor\n", ""),),
        explanation="After the last step the rate rises again; it must stay at the floor.",
        question="What does a cosine do after its lowest point?",
    ),
    Misconception(
        id="warms_up_from_step_1",
        exercise="rate_at",
        swaps=(("return peak * step / warmup", "return peak * (step + 1) / warmup"),),
        explanation="The warm-up is one step ahead; step 0 must have the rate 0.",
        question="At which step does the rate reach the peak, and at which is it 0?",
    ),
    Misconception(
        id="shares_the_warmup_among_one_step_more",
        exercise="rate_at",
        swaps=(("peak * step / warmup", "peak * (step + 1) / (warmup + 1)"),),
        explanation="Step 0 of a warm-up has the rate peak / (warmup + 1); it must have 0.",
        question="At which step does the rate reach the peak, and at which is it 0?",
    ),
    Misconception(
        id="falls_on_a_straight_line",
        exercise="rate_at",
        swaps=(("(1 + math.cos(math.pi * share)) / 2", "(1 - share)"),),
        explanation="The rate falls on a straight line; it must fall on half a cosine wave.",
        question="Where does half a cosine wave fall slowest, and where fastest?",
    ),
    Misconception(
        id="warms_up_from_the_floor",
        exercise="rate_at",
        swaps=(("return peak * step / warmup", "return floor + (peak - floor) * step / warmup"),),
        explanation="The warm-up begins at the floor; it must begin at 0.",
        question="Which rate does step 0 have?",
    ),
    Misconception(
        id="takes_a_quarter_of_the_wave",
        exercise="rate_at",
        swaps=(("(1 + math.cos(math.pi * share)) / 2", "math.cos(math.pi / 2 * share)"),),
        explanation=(
            "The rate follows a quarter of a cosine wave, so it falls fastest at the end; it must "
            "follow half a wave, which falls slowly at both ends."
        ),
        question="What is (1 + cos(π · share)) / 2 in the middle, where share is 0.5?",
    ),
    # estimate_loss
    Misconception(
        id="predicts_the_current_token",
        exercise="estimate_loss",
        swaps=(("ids[1 : count * length + 1]", "ids[: count * length]"),),
        explanation=(
            "The targets are the inputs themselves; the target must be the token after each input."
        ),
        question="Which token should the model predict at the last position of a piece?",
    ),
    Misconception(
        id="takes_the_first_token_of_a_piece_for_its_last_target",
        exercise="estimate_loss",
        swaps=(("ids[1 : count * length + 1].view(count, length)", "inputs.roll(-1, 1)"),),
        title="The last target of a piece is the first token of the same piece",
        explanation=(
            "The last target of a piece is the first token of the same piece; it must be the token "
            "that follows the piece in the text."
        ),
        question="Which token of the text follows the last token of the first piece?",
    ),
    Misconception(
        id="measures_with_dropout",
        exercise="estimate_loss",
        when=("no calls eval",),
        swaps=(("    model.eval()\n", ""),),
        explanation=(
            "The model is measured in training mode, so dropout, if the model has any, changes the "
            "loss."
        ),
        question="Which method of the model switches dropout off?",
    ),
    Misconception(
        id="leaves_the_model_in_eval_mode",
        exercise="estimate_loss",
        swaps=(("    model.train(was_training)\n", ""),),
        explanation=(
            "The model stays in eval mode, so the rest of its training runs without dropout."
        ),
        question="In which mode was the model before your function was called?",
    ),
    Misconception(
        id="always_returns_to_training",
        exercise="estimate_loss",
        swaps=(("model.train(was_training)", "model.train()"),),
        explanation="The model is in training mode afterwards, even if it was in eval mode before.",
        question="What does `model.training` tell you, and when must you ask?",
    ),
    Misconception(
        id="measures_with_a_graph",
        exercise="estimate_loss",
        when=("no calls no_grad", "no calls inference_mode"),
        swaps=(("with torch.no_grad():", "with torch.enable_grad():"),),
        explanation="The measurement builds a graph, which costs memory and time for nothing.",
        question="Do you call `backward` on this loss?",
    ),
    Misconception(
        id="forgets_the_last_prediction",
        exercise="estimate_loss",
        swaps=(
            (
                "logits.flatten(0, 1), targets.flatten()",
                "logits[:, :-1].flatten(0, 1), targets[:, :-1].flatten()",
            ),
        ),
        explanation=(
            "The last prediction of each piece is left out; its target is the token after the "
            "piece."
        ),
        question="How many predictions does a piece of 6 tokens give?",
    ),
    Misconception(
        id="adds_the_losses",
        exercise="estimate_loss",
        swaps=(("targets.flatten())", 'targets.flatten(), reduction="sum")'),),
        explanation="The losses are added; the result must be their mean.",
        question="How does your loss change if the text is twice as long?",
    ),
    Misconception(
        id="measures_one_piece",
        exercise="estimate_loss",
        when=("no multiplies",),
        swaps=(
            ("ids[: count * length].view(count, length)", "ids[:length].view(1, length)"),
            (
                "ids[1 : count * length + 1].view(count, length)",
                "ids[1 : length + 1].view(1, length)",
            ),
        ),
        explanation="Only the first piece is measured; the loss must be the mean over all pieces.",
        question="How many pieces of 6 tokens, each with a token after it, are in 25 ids?",
    ),
    Misconception(
        id="leaves_out_the_last_piece",
        exercise="estimate_loss",
        swaps=(("(len(ids) - 1) // length", "(len(ids) - 2) // length"),),
        explanation="A last piece that still fits is left out; it must be measured, too.",
        question="How many pieces of 6 tokens, each with a token after it, are in 25 ids?",
    ),
    Misconception(
        id="divides_by_the_number_of_pieces",
        exercise="estimate_loss",
        swaps=(
            (
                "targets.flatten())\n    model.train",
                'targets.flatten(), reduction="sum") / count\n    model.train',
            ),
        ),
        explanation=(
            "The sum of the losses is divided by the number of pieces; it must be divided by the "
            "number of tokens in them."
        ),
        question="How many predictions does a piece of *length* tokens hold?",
    ),
    Misconception(
        id="measures_the_rest_as_well",
        exercise="estimate_loss",
        swaps=(
            (
                "logits.flatten(0, 1), targets.flatten()",
                (
                    "*(\n"
                    "            (logits.flatten(0, 1), targets.flatten())\n"
                    "            if (len(ids) - 1) % length == 0\n"
                    "            else (\n"
                    "                torch.cat((logits.flatten(0, 1), "
                    "model(ids[None, count * length : -1])[0])),\n"
                    "                ids[1:],\n"
                    "            )\n"
                    "        )"
                ),
            ),
        ),
        explanation=(
            "The rest of the text is measured as a shorter piece; it must be left out, because "
            "each piece has *length* tokens."
        ),
        question="Which of 18 tokens are in pieces of 9 tokens with a token after them?",
    ),
    Misconception(
        id="adds_the_losses_of_the_pieces",
        exercise="estimate_loss",
        swaps=(("loss.item()", "loss.item() * count"),),
        explanation="The losses of the pieces are added; the result must be their mean.",
        question="How does your loss change if the text is twice as long?",
    ),
    Misconception(
        id="cuts_overlapping_pieces",
        exercise="estimate_loss",
        swaps=(
            ("ids[: count * length].view(count, length)", "ids[:-1].unfold(0, length, 1)"),
            ("ids[1 : count * length + 1].view(count, length)", "ids[1:].unfold(0, length, 1)"),
        ),
        explanation="The pieces overlap: one starts at every token, not at every length-th one.",
        question="With which token does the second piece begin?",
    ),
    # top_k_logits
    Misconception(
        id="keeps_one_more",
        exercise="top_k_logits",
        swaps=(("torch.topk(logits, k, dim=-1)", "torch.topk(logits, min(k + 1, V), dim=-1)"),),
        explanation=(
            "One logit too many is kept: the limit is the one after the k-th largest logit; it "
            "must be the k-th largest."
        ),
        question="With k = 1, which logit is the smallest one that is kept?",
        when=("indexes | slices",),
    ),
    Misconception(
        id="keeps_exactly_k",
        exercise="top_k_logits",
        code="""
            def top_k_logits(logits, k):
                if not 1 <= k <= logits.shape[-1]:
                    raise ValueError(k)
                kept = torch.topk(logits, k, dim=-1)
                nothing = torch.full_like(logits, -torch.inf)
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
            "The logits are compared with all k largest ones; the limit must be the smallest of "
            "these alone."
        ),
        question="How many numbers of each row does topk return, and which of them is the limit?",
    ),
    Misconception(
        id="takes_one_limit_for_all_rows",
        exercise="top_k_logits",
        swaps=(
            (
                "smallest = torch.topk(logits, k, dim=-1)",
                "smallest = torch.topk(logits.flatten(), k)",
            ),
        ),
        explanation="One limit is used for all rows; each row has its own k-th largest logit.",
        question="How many limits do logits of shape (B, V) need?",
    ),
    Misconception(
        id="keeps_the_largest_only",
        exercise="top_k_logits",
        swaps=((".values[..., -1:]", ".values[..., :1]"),),
        explanation=(
            "Only the largest logit of a row is kept, for every k; the k largest logits must be "
            "kept."
        ),
        question="How many of five different logits are kept if k is 3?",
    ),
    Misconception(
        id="keeps_logits_above_the_next_one",
        exercise="top_k_logits",
        swaps=(
            ("torch.topk(logits, k, dim=-1)", "torch.topk(logits, min(k + 1, V), dim=-1)"),
            ("logits < smallest", "logits <= smallest"),
        ),
        title="Only logits greater than the (k + 1)-th largest are kept",
        explanation=(
            "Only logits greater than the (k + 1)-th largest are kept (if k is V, those greater "
            "than the smallest); all logits equal to the k-th largest must be kept, too."
        ),
        question="Which logits are kept if all logits of a row are equal?",
    ),
    Misconception(
        id="takes_the_kth_smallest_for_the_limit",
        exercise="top_k_logits",
        swaps=(
            (
                "torch.topk(logits, k, dim=-1).values[..., -1:]",
                "torch.topk(logits, k, dim=-1, largest=False).values[..., -1:]",
            ),
        ),
        explanation=(
            "The limit is the k-th smallest logit, as in a list in ascending order; it must be the "
            "k-th largest."
        ),
        question="With k = 1, which logit is the only one that is kept?",
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
            "Tokens below the k-th largest logit can be drawn; with top_k, the draw must leave "
            "them out."
        ),
        question="Which variable does your softmax read, and does top_k change it?",
    ),
    Misconception(
        id="takes_one_limit_for_the_batch",
        exercise="sample_next",
        when=("calls topk | calls sort | calls argsort | calls kthvalue",),
        swaps=(
            (
                "= top_k_logits(logits, top_k)",
                (
                    "= logits.masked_fill(\n"
                    "            logits < top_k_logits(logits, top_k).topk(top_k).values.min(),\n"
                    "            -torch.inf,\n"
                    "        )"
                ),
            ),
        ),
        explanation=(
            "The smallest limit of the batch is used for all items; each item has its own k-th "
            "largest logit."
        ),
        question="How many limits do logits of shape (B, V) need?",
    ),
    Misconception(
        id="takes_places_for_ids",
        exercise="sample_next",
        when=("calls topk | calls sort | calls argsort | calls kthvalue",),
        swaps=(
            (
                "top_k_logits(logits, top_k)",
                "top_k_logits(logits, top_k).topk(top_k, dim=-1).values",
            ),
        ),
        explanation=(
            "With top_k, the place of a token among the k largest logits is taken for its id; the "
            "indices of topk hold the ids."
        ),
        question="Which id does your code take for the largest of the k logits?",
    ),
    Misconception(
        id="draws_places_for_ids",
        exercise="sample_next",
        when=("calls topk | calls sort | calls argsort | calls kthvalue",),
        swaps=(
            (
                "torch.softmax(logits / temperature",
                (
                    "torch.softmax(\n"
                    "        (logits if top_k is None else logits.topk(top_k).values) / temperature"
                ),
            ),
        ),
        explanation=(
            "With top_k, the drawn place among the k largest logits is taken for an id; the "
            "indices of topk hold the ids."
        ),
        question="Which id does your code take for the largest of the k logits?",
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
        explanation="A top_k of 0 is treated like None; it must raise a ValueError.",
        question="What does your code do with a top_k of 0?",
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
    Misconception(
        id="multiplies_by_the_temperature",
        exercise="sample_next",
        when=("multiplies",),
        swaps=(("logits / temperature", "logits * temperature"),),
        explanation="The logits are multiplied by the temperature; they must be divided by it.",
        question="Should a high temperature make the probabilities more equal or less?",
    ),
    # generate
    Misconception(
        id="builds_a_graph",
        exercise="generate",
        swaps=(("with torch.no_grad():", "with torch.enable_grad():"),),
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
        swaps=(("return ids", "return ids[:, ids.shape[1] - new_tokens :]"),),
        explanation="Only the new tokens are returned; the result must begin with the given ids.",
        question="How long is the result for 3 given and 4 new tokens?",
    ),
    Misconception(
        id="forgets_the_beginning",
        exercise="generate",
        swaps=(("torch.cat((ids, next_ids)", "torch.cat((ids[:, -context_length:], next_ids)"),),
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
        id="cuts_the_text_only_once",
        exercise="generate",
        swaps=(("-context_length:]", "max(0, ids.shape[1] - _ - context_length) :]"),),
        explanation=(
            "Only the given text is cut to context_length tokens; with the new ones, the input of "
            "the model becomes longer."
        ),
        question="How many tokens does the model get when it chooses the last new one?",
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
    Misconception(
        id="shows_only_the_given_text",
        exercise="generate",
        swaps=(("model(ids[:,", "model(ids[:, : ids.shape[1] - _][:,"),),
        explanation=(
            "The model gets only the given text in each step; it must also get the new tokens."
        ),
        question="Which tokens does your model get in the third step?",
    ),
)
