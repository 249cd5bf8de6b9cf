"""Wrong answers that the suite of stage 11 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

# The source uses an optimizer of torch, and not only the base class of all optimizers.
OPTIMIZER = ("calls optim | calls SGD | calls Adam | calls AdamW", "no calls Optimizer")


def raises_small_probabilities(least: str) -> Misconception:
    """Return the mistake that no probability is below *least*."""
    return Misconception(
        id=f"raises_small_probabilities_to_{least}",
        exercise="log_softmax",
        swaps=(
            (
                "return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()",
                (
                    "probabilities = shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)\n"
                    f"    return probabilities.clamp(min={least}).log()"
                ),
            ),
        ),
        title=f"Very small probabilities are raised to {least} before the logarithm",
        explanation=(
            f"Very small probabilities are raised to {least} before the logarithm, so very "
            "unlikely tokens get equal results."
        ),
        question="What is the logarithm of a quotient, if you take it before you divide?",
        when=("calls log",),
    )


def adds_to_probabilities(number: str) -> Misconception:
    """Return the mistake that *number* is added to each probability."""
    return Misconception(
        id=f"adds_{number}_to_probabilities",
        exercise="log_softmax",
        swaps=(
            (
                "return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()",
                f"return (torch.softmax(logits, dim=-1) + {number}).log()",
            ),
        ),
        explanation=f"The number {number} is added to the probabilities before the logarithm.",
        question="What is the logarithm of a quotient, if you take it before you divide?",
        when=("calls log", "adds"),
    )


def changes_the_rate(name: str, rate: str, sentence: str, *when: str) -> Misconception:
    """Return the mistake that the training steps have another learning *rate*."""
    return Misconception(
        id=name,
        exercise="train",
        swaps=(("targets, learning_rate)", f"targets, {rate})"),),
        explanation=sentence,
        question="Which learning rate must the second of three steps use?",
        when=when,
    )


MISCONCEPTIONS = (
    # log_softmax
    Misconception(
        id="returns_probabilities",
        exercise="log_softmax",
        swaps=(
            (
                "return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()",
                "return shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)",
            ),
        ),
        explanation="The probabilities themselves are returned, not their logarithms.",
        question="Which sign does the logarithm of a probability have?",
        when=("no calls log",),
    ),
    Misconception(
        id="subtracts_the_maximum_only_inside",
        exercise="log_softmax",
        swaps=(("return shifted - ", "return logits - "),),
        explanation=(
            "The maximum is subtracted inside the exponentials only, so each logarithm is wrong by "
            "the maximum of its row."
        ),
        question="The two terms of the difference must come from the same logits. Do they?",
        when=("takes exponentials", "takes a maximum"),
    ),
    Misconception(
        id="subtracts_the_maximum_only_outside",
        exercise="log_softmax",
        swaps=(("shifted.exp()", "logits.exp()"),),
        explanation=(
            "The maximum is subtracted outside the exponentials only; their sum must be that of "
            "the same differences."
        ),
        question="The two terms of the difference must come from the same logits. Do they?",
        when=("takes exponentials", "takes a maximum"),
    ),
    Misconception(
        id="subtracts_one_maximum_from_all_rows",
        exercise="log_softmax",
        swaps=(("logits.amax(dim=-1, keepdim=True)", "logits.amax()"),),
        explanation=(
            "The largest of all logits is subtracted from every row; it must be the largest of "
            "the row."
        ),
        question="What is left of a row of logits near -1000 if another row contains 1000?",
        when=("takes a maximum",),
    ),
    Misconception(
        id="takes_the_logarithm_of_raw_exponentials",
        exercise="log_softmax",
        swaps=(
            (".amax(dim=-1, keepdim=True)", " * 0"),
            ("return shifted", "return shifted.exp().log()"),
        ),
        explanation=(
            "Exponentials of the logits as they are overflow or become 0, and then the logarithm "
            "is taken of them."
        ),
        question="Which number can you subtract from all logits of a row so that none overflows?",
        when=("takes exponentials", "no takes a maximum", "calls log"),
    ),
    Misconception(
        id="forgets_the_maximum",
        exercise="log_softmax",
        swaps=(("shifted = logits - logits.amax(dim=-1, keepdim=True)", "shifted = logits"),),
        explanation="No maximum is subtracted before the exponentials, so large logits overflow.",
        question="Which number can you subtract from all logits of a row so that none overflows?",
        when=("takes exponentials", "no takes a maximum"),
    ),
    Misconception(
        id="takes_the_logarithm_of_probabilities",
        exercise="log_softmax",
        swaps=(
            (
                "return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()",
                "return (shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)).log()",
            ),
        ),
        explanation=(
            "The logarithm is taken of a probability, and a very small probability becomes 0, "
            "whose logarithm is minus infinity."
        ),
        question="What is the logarithm of a quotient, if you take it before you divide?",
        when=("divides | calls softmax", "calls log"),
    ),
    *map(raises_small_probabilities, ("1e-9", "1e-12")),
    *map(adds_to_probabilities, ("1e-6", "1e-8", "1e-9", "1e-10", "1e-12")),
    Misconception(
        id="forgets_the_logarithm_of_the_sum",
        exercise="log_softmax",
        swaps=(("keepdim=True).log()", "keepdim=True)"),),
        explanation=(
            "The sum of the exponentials is subtracted; it must be the logarithm of this sum."
        ),
        question="What is the logarithm of e^a / s?",
        when=("takes exponentials", "subtracts", "no calls log"),
    ),
    Misconception(
        id="calls_the_ready_log_softmax",
        exercise="log_softmax",
        code="""
            def log_softmax(logits):
                return torch.log_softmax(logits, dim=-1)
        """,
        explanation="A function of torch does the work that you must write in this exercise.",
        question="Which exponentials and which sum does the docstring mention?",
    ),
    # cross_entropy
    Misconception(
        id="takes_the_softmax_twice",
        exercise="cross_entropy",
        swaps=(("log_softmax(logits)", "log_softmax(log_softmax(logits).exp())"),),
        title="The softmax is taken twice",
        explanation=(
            "The softmax is taken twice: probabilities are used as logits, so the loss stays "
            "high even when every prediction is right."
        ),
        question="What does log_softmax get: logits, or numbers that already sum to one?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="forgets_the_logarithm",
        exercise="cross_entropy",
        swaps=(("log_softmax(logits)", "log_softmax(logits).exp()"),),
        explanation="The loss is minus the mean probability; the logarithm is missing.",
        question=(
            "How large is the loss of a prediction that gives its target a probability near 0?"
        ),
        when=("takes a softmax",),
    ),
    Misconception(
        id="forgets_the_minus",
        exercise="cross_entropy",
        swaps=(("return -chosen.mean()", "return chosen.mean()"),),
        explanation="The minus is missing, so the loss is negative.",
        question=(
            "Which sign does the logarithm of a probability have, and which sign does a loss have?"
        ),
    ),
    Misconception(
        id="takes_the_logits_of_the_targets",
        exercise="cross_entropy",
        swaps=(("log_probabilities.gather(", "logits.gather("),),
        explanation=(
            "The loss is computed from the logits of the targets; it must be computed from the "
            "logarithms of their probabilities."
        ),
        question="How does your loss change if the logit of a wrong token grows?",
        when=("indexes | multiplies",),
    ),
    Misconception(
        id="picks_one_target_for_each_item",
        exercise="cross_entropy",
        swaps=(
            (
                "log_probabilities.gather(-1, targets.unsqueeze(-1))",
                "log_probabilities[torch.arange(len(targets)), targets]",
            ),
        ),
        explanation=(
            "One index for each item picks the targets, so only logits of shape (N, V) work: in a "
            "batch, each item has T targets."
        ),
        question="How many predictions are in logits of shape (B, T, V), and what is a row there?",
        when=("calls arange | calls range", "indexes", "no reshapes"),
    ),
    Misconception(
        id="averages_over_the_vocabulary",
        exercise="cross_entropy",
        swaps=(("return -chosen.mean()", "return -(chosen.sum() / log_probabilities.numel())"),),
        explanation="The mean also runs over the vocabulary, so the loss is V times too small.",
        question="How many predictions are there, and how many logits?",
        when=("divides", "no calls gather | takes a sum"),
    ),
    Misconception(
        id="averages_over_the_items_only",
        exercise="cross_entropy",
        swaps=(("return -chosen.mean()", "return -chosen.sum() / len(targets)"),),
        explanation=(
            "In a batch, the sum of the losses is divided by the number of items, but each "
            "position of an item is one prediction."
        ),
        question="How many targets are there in a batch of B items with T positions?",
        when=("divides", "takes a sum"),
    ),
    Misconception(
        id="divides_by_the_positions_only",
        exercise="cross_entropy",
        swaps=(("chosen.mean()", "chosen.sum() / targets.shape[-1]"),),
        explanation=(
            "In a batch, the sum of the losses is divided by the number of positions, but each "
            "item has that many predictions."
        ),
        question="How many targets are there in a batch of B items with T positions?",
        when=("divides", "takes a sum"),
    ),
    Misconception(
        id="leaves_out_predictions_with_target_0",
        exercise="cross_entropy",
        swaps=(("chosen.mean()", "chosen[targets != 0].mean()"),),
        explanation=(
            "Predictions whose target has the id 0 are left out of the mean; here, 0 is a token "
            "like the others."
        ),
        question="Does the docstring treat any id of a target differently from the others?",
        when=("compares",),
    ),
    Misconception(
        id="counts_no_loss_for_target_0",
        exercise="cross_entropy",
        swaps=(
            (
                "targets.unsqueeze(-1))  #",
                "targets.unsqueeze(-1)) * (targets != 0).unsqueeze(-1)  #",
            ),
        ),
        explanation=(
            "Predictions whose target has the id 0 count as a loss of 0; here, 0 is a token like "
            "the others."
        ),
        question="Does the docstring treat any id of a target differently from the others?",
        when=("compares",),
    ),
    Misconception(
        id="takes_the_logarithm_of_the_mean",
        exercise="cross_entropy",
        swaps=(("chosen.mean()", "chosen.exp().mean().log()"),),
        explanation=(
            "The logarithm is taken of the mean probability; it must be the mean of the logarithms."
        ),
        question="For probabilities of 1 and 0.01, what is the mean of the two losses?",
        when=("calls log | takes exponentials",),
    ),
    Misconception(
        id="returns_the_perplexity",
        exercise="cross_entropy",
        swaps=(("return -chosen.mean()", "return (-chosen.mean()).exp()"),),
        explanation="The result is e to the power of the loss, which is called perplexity.",
        question="What must the result be if each target has a probability of 1?",
        when=("takes exponentials",),
    ),
    Misconception(
        id="reads_the_targets_of_a_batch_in_another_order",
        exercise="cross_entropy",
        swaps=(
            (
                "targets.unsqueeze(-1)",
                "targets.transpose(0, -1).reshape(targets.shape).unsqueeze(-1)",
            ),
        ),
        explanation=(
            "The targets of a batch are read in the wrong order, so predictions are compared with "
            "targets of others."
        ),
        question="Which row of the logits belongs to the second target of the first item?",
        when=("swaps axes",),
    ),
    Misconception(
        id="compares_with_the_next_target",
        exercise="cross_entropy",
        swaps=(
            ("gather(-1, targets", "gather(-1, targets[..., 1:]"),
            ("log_probabilities.", "log_probabilities[..., :-1, :]."),
        ),
        explanation=(
            "Each prediction is compared with the target of the next one, but the targets are "
            "already aligned with the logits."
        ),
        question="To which row of the logits does the first target belong?",
        when=("slices",),
    ),
    Misconception(
        id="measures_how_certain_the_prediction_is",
        exercise="cross_entropy",
        swaps=(
            (
                "chosen = log_probabilities.gather(-1, targets.unsqueeze(-1))",
                "chosen = log_probabilities.amax(dim=-1)",
            ),
        ),
        explanation=(
            "The largest probability of each prediction is taken, and the target has no effect: "
            "the loss measures how certain the predictions are, not whether they are right."
        ),
        question="At which position of its row is the probability of the target?",
        when=("takes a maximum",),
    ),
    Misconception(
        id="compares_all_logits_with_all_targets",
        exercise="cross_entropy",
        swaps=(
            (
                "chosen = log_probabilities.gather(-1, targets.unsqueeze(-1))",
                "chosen = log_probabilities.flatten(0, -2)[:, targets.flatten()]",
            ),
        ),
        explanation=(
            "Each row of logits is compared with the targets of all rows; it must be compared "
            "with its own target only."
        ),
        question="How many numbers do you get for N predictions, and how many should there be?",
        when=("indexes",),
    ),
    Misconception(
        id="takes_the_ready_log_softmax",
        exercise="cross_entropy",
        swaps=(("log_softmax(logits)", "torch.log_softmax(logits, dim=-1)"),),
        explanation=(
            "A function of torch does the work of log_softmax, but the loss must use yours."
        ),
        question="Which exercise of this stage returns the logarithms of the probabilities?",
    ),
    # Reader
    Misconception(
        id="forgets_the_positions",
        exercise="Reader",
        swaps=(("x = self.tok_emb(ids) + self.pos_emb(positions)", "x = self.tok_emb(ids)"),),
        explanation=(
            "The position vectors are not added, so the head cannot detect the order of the tokens."
        ),
        question="Which of your two tables has no effect on the result?",
    ),
    Misconception(
        id="forgets_the_tokens",
        exercise="Reader",
        swaps=(
            (
                "x = self.tok_emb(ids) + self.pos_emb(positions)",
                "x = self.pos_emb(positions).expand(len(ids), -1, -1)",
            ),
        ),
        explanation="Only the position vectors are used, so every text gives the same logits.",
        question="Which of your two tables has no effect on the result?",
    ),
    Misconception(
        id="looks_up_positions_by_token",
        exercise="Reader",
        swaps=(("self.pos_emb(positions)", "self.pos_emb(ids)"),),
        explanation=(
            "The position vectors are looked up by the ids of the tokens, so they do not depend "
            "on the positions."
        ),
        question="Which indices must pos_emb get so that the third token gets row 2?",
    ),
    Misconception(
        id="takes_all_positions",
        exercise="Reader",
        swaps=(("positions = torch.arange(T, ", "positions = torch.arange(context_length, "),),
        explanation=(
            "Position vectors are taken for the whole context, but a text may have fewer tokens."
        ),
        question="How many position vectors does a text of T tokens need?",
        when=("no slices",),
    ),
    Misconception(
        id="numbers_the_items",
        exercise="Reader",
        swaps=(
            (
                "positions = torch.arange(T, device=ids.device)",
                "positions = torch.arange(len(ids)).unsqueeze(1) % context_length",
            ),
        ),
        explanation=(
            "The position vectors are looked up by the number of the item in the batch; they "
            "must be looked up by the position in the text."
        ),
        question="Along which axis of ids do the positions count?",
    ),
    Misconception(
        id="skips_the_attention",
        exercise="Reader",
        swaps=(("return self.out_head(context)", "return self.out_head(x)"),),
        explanation=(
            "The logits are computed from the token vectors, not from the context vectors, so the "
            "attention has no effect."
        ),
        question="Which vectors contain what a token has read from the other tokens?",
    ),
    Misconception(
        id="adds_the_tokens_to_the_context",
        exercise="Reader",
        swaps=(("return self.out_head(context)", "return self.out_head(x + context)"),),
        explanation=(
            "The token vectors are added to the context vectors, but this exercise has no "
            "residual connection."
        ),
        question="Which vectors does the docstring pass to out_head?",
        when=("adds",),
    ),
    Misconception(
        id="gives_the_projections_a_bias",
        exercise="Reader",
        swaps=(
            (
                "self.W_query = nn.Linear(d_model, d_model, bias=False)",
                "self.W_query = nn.Linear(d_model, d_model)",
            ),
            (
                "self.W_key = nn.Linear(d_model, d_model, bias=False)",
                "self.W_key = nn.Linear(d_model, d_model)",
            ),
            (
                "self.W_value = nn.Linear(d_model, d_model, bias=False)",
                "self.W_value = nn.Linear(d_model, d_model)",
            ),
        ),
        explanation=(
            "The layers W_query, W_key and W_value have a bias; no linear layer of this module may "
            "have one."
        ),
        question="Which argument of nn.Linear decides whether a layer has a bias?",
        when=("calls Linear",),
    ),
    Misconception(
        id="gives_every_layer_a_bias",
        exercise="Reader",
        code="""
            class Reader(nn.Module):
                def __init__(self, vocab_size, d_model, context_length):
                    super().__init__()
                    self.tok_emb = nn.Embedding(vocab_size, d_model)
                    self.pos_emb = nn.Embedding(context_length, d_model)
                    self.W_query = nn.Linear(d_model, d_model)
                    self.W_key = nn.Linear(d_model, d_model)
                    self.W_value = nn.Linear(d_model, d_model)
                    self.out_head = nn.Linear(d_model, vocab_size)

                def forward(self, tokens):
                    T = tokens.shape[1]
                    if self.pos_emb.num_embeddings < T:
                        raise ValueError
                    x = self.tok_emb(tokens) + self.pos_emb(torch.arange(T))
                    queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
                    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
                    return self.out_head(torch.softmax(scores, dim=-1) @ values)
        """,
        explanation=(
            "Linear layers have a bias, which torch adds unless you say otherwise; here they must "
            "have none."
        ),
        question="Which argument of nn.Linear decides whether a layer has a bias?",
        seen=("calls Linear", "no passes bias"),
    ),
    Misconception(
        id="hides_the_future",
        exercise="Reader",
        swaps=(
            (
                "weights = torch.softmax(scores",
                (
                    "scores = scores.masked_fill(\n"
                    "            torch.ones_like(scores).triu(1) == 1, -torch.inf\n"
                    "        )\n"
                    "        weights = torch.softmax(scores"
                ),
            ),
        ),
        explanation=(
            "A causal mask hides the later tokens, but this head must see all of them: the last "
            "letter comes first in a reversed word."
        ),
        question="Which tokens must the first position see to predict the first letter?",
        when=("fills | compares | uses infinity | adds | multiplies",),
    ),
    Misconception(
        id="returns_probabilities_as_logits",
        exercise="Reader",
        swaps=(
            ("return self.out_head(context)", "return torch.softmax(self.out_head(context), -1)"),
        ),
        explanation=(
            "The result goes through a softmax, but it must be logits: the loss applies the "
            "softmax itself."
        ),
        question="Which function of this stage applies a softmax to the logits?",
    ),
    Misconception(
        id="takes_values_without_positions",
        exercise="Reader",
        swaps=(("self.W_value(x)", "self.W_value(self.tok_emb(ids))"),),
        explanation=(
            "The values are computed from the vectors of tok_emb alone; they must be computed from "
            "the sums with the position vectors."
        ),
        question="Which vectors do queries, keys and values each come from?",
    ),
    Misconception(
        id="takes_the_last_positions",
        exercise="Reader",
        swaps=(
            (
                "torch.arange(T, device=ids.device)",
                "torch.arange(context_length - T, context_length)",
            ),
        ),
        explanation=(
            "The last T rows of pos_emb are used; positions start at 0, so they must be the first "
            "T rows."
        ),
        question="Which row of pos_emb belongs to the first token of a text?",
    ),
    Misconception(
        id="scales_the_token_vectors",
        exercise="Reader",
        swaps=(("self.tok_emb(ids) +", "self.tok_emb(ids) * self.tok_emb.embedding_dim**0.5 +"),),
        explanation=(
            "The vectors of tok_emb are multiplied by the root of d_model, as in some models, but "
            "the docstring does not ask for it."
        ),
        question="What does the docstring say about the vector of a token?",
        when=("takes roots",),
    ),
    Misconception(
        id="predicts_by_the_token_vectors",
        exercise="Reader",
        swaps=(("return self.out_head(context)", "return context @ self.tok_emb.weight.T"),),
        explanation=(
            "The logits are products of the context vectors with the rows of tok_emb, as in some "
            "models, but out_head must compute them."
        ),
        question="Which of your layers has no effect on the result?",
    ),
    # train_step
    Misconception(
        id="goes_uphill",
        exercise="train_step",
        swaps=(("parameter -= ", "parameter += "),),
        explanation=(
            "The step goes uphill: the parameters move along the gradient, towards a larger loss."
        ),
        question="In which direction does the gradient point: towards a larger or a smaller loss?",
        when=("adds | subtracts | multiplies | changes tensors in place",),
    ),
    Misconception(
        id="keeps_old_gradients",
        exercise="train_step",
        swaps=(("    model.zero_grad()\n", ""),),
        explanation=("Gradients of earlier steps are not cleared: `backward` adds to them."),
        question="What is in p.grad before your second call of backward?",
        seen=(
            "calls backward",
            "no calls zero_grad",
            "no calls zero_",
            "no calls zeros_like",
            "no sets grad",
        ),
    ),
    Misconception(
        id="moves_what_was_frozen",
        exercise="train_step",
        swaps=(
            (
                "    model.zero_grad()\n",
                (
                    "    for parameter in model.parameters():\n"
                    "        if parameter.requires_grad:\n"
                    "            parameter.grad = None\n"
                ),
            ),
        ),
        title="A parameter that was frozen after a step still moves",
        explanation=(
            "A parameter that was frozen after a step still moves: its gradient of that step is "
            "neither cleared nor left out."
        ),
        question="What is in p.grad of a parameter that is frozen after the first step?",
        when=("calls backward",),
    ),
    Misconception(
        id="computes_no_gradients",
        exercise="train_step",
        swaps=(("    loss.backward()\n", ""),),
        explanation="No gradients are computed, because `backward` is never called.",
        question="Which call fills the gradient of each parameter?",
        seen=("no calls backward", "no calls autograd", "no calls func", "no calls train_step"),
    ),
    Misconception(
        id="writes_to_new_tensors",
        exercise="train_step",
        swaps=(
            (
                "parameter -= learning_rate * parameter.grad",
                "parameter = parameter - learning_rate * parameter.grad",
            ),
        ),
        title="The parameters of the model stay as they were",
        explanation=(
            "The parameters of the model stay as they were: the new numbers are in new tensors, "
            "which the model does not hold."
        ),
        question="Does your line change the tensor that the model holds, or make a new one?",
        when=(
            "subtracts | adds | calls add",
            "calls backward | calls autograd",
            "no changes tensors in place",
            "no sets data",
        ),
    ),
    Misconception(
        id="steps_without_gradients",
        exercise="train_step",
        swaps=(
            (
                "model.zero_grad()\n    loss.backward()",
                "loss.backward()\n    model.zero_grad()",
            ),
        ),
        title="At the time of the step there are no gradients",
        explanation=(
            "At the time of the step there are no gradients: they are cleared just before it, or "
            "`backward` comes after it."
        ),
        question="In which order are gradients cleared, computed and used?",
        when=(
            "calls backward",
            "changes tensors in place | sets data | calls step",
            "no calls clone",
            "no calls deepcopy",
        ),
    ),
    Misconception(
        id="steps_by_old_gradients",
        exercise="train_step",
        code="""
            def train_step(model, ids, targets, learning_rate):
                loss = cross_entropy(model(ids), targets)
                with torch.no_grad():
                    for parameter in model.parameters():
                        if parameter.grad is not None:
                            parameter -= learning_rate * parameter.grad
                model.zero_grad()
                loss.backward()
                return loss.item()
        """,
        explanation=(
            "The step uses the gradients of the call before, because `backward` comes after it."
        ),
        question="In which order are gradients cleared, computed and used?",
        when=("calls backward",),
    ),
    Misconception(
        id="changes_copies_of_the_parameters",
        exercise="train_step",
        swaps=(
            (
                "parameter -= learning_rate * parameter.grad",
                "copy = parameter.clone()\n                copy -= learning_rate * parameter.grad",
            ),
        ),
        explanation="A copy of each parameter is changed, and the model keeps the old numbers.",
        question="Does your line change the tensor that the model holds, or another one?",
        when=(
            "calls clone | calls deepcopy | calls copy",
            "calls backward | calls autograd",
        ),
    ),
    Misconception(
        id="clears_the_first_gradient_only",
        exercise="train_step",
        swaps=(("model.zero_grad()", "next(model.parameters()).grad = None"),),
        explanation=(
            "Only the gradient of the first parameter is cleared; `backward` adds to the others."
        ),
        question="How many gradients are left from the call before?",
        when=(
            "calls backward",
            "sets grad | calls zero_ | calls zero_grad",
        ),
    ),
    Misconception(
        id="asks_for_all_gradients",
        exercise="train_step",
        code="""
            def train_step(model, ids, targets, learning_rate):
                loss = cross_entropy(model(ids), targets)
                parameters = list(model.parameters())
                gradients = torch.autograd.grad(loss, parameters)
                with torch.no_grad():
                    for parameter, gradient in zip(parameters, gradients, strict=True):
                        parameter -= learning_rate * gradient
                return loss.item()
        """,
        explanation=(
            "Gradients are requested for all parameters, but some are not trained, or the loss "
            "does not depend on them."
        ),
        question="Which parameters have no gradient, and what must happen to them?",
        when=("calls autograd",),
    ),
    Misconception(
        id="moves_twice_as_far",
        exercise="train_step",
        swaps=(("learning_rate * parameter.grad  #", "2 * learning_rate * parameter.grad  #"),),
        explanation=(
            "Each parameter moves twice as far as it must, as if its gradient were added twice."
        ),
        question="How often does your code compute each gradient, and how often does it use it?",
    ),
    Misconception(
        id="changes_parameters_while_autograd_records",
        exercise="train_step",
        swaps=(("    with torch.no_grad():\n", "    if True:\n"),),
        explanation=(
            "The parameters are changed in place while autograd records the operations, which "
            "torch does not allow."
        ),
        question="Which block tells torch that the step itself is not part of the model?",
        when=(
            "changes tensors in place",
            "no calls no_grad",
            "no calls data",
            "no calls detach",
            "no calls inference_mode",
            "no calls set_grad_enabled",
        ),
    ),
    Misconception(
        id="moves_parameters_without_a_gradient",
        exercise="train_step",
        swaps=(("if parameter.grad is not None:", "if True:"),),
        explanation=(
            "A parameter without a gradient gets a step, too: its gradient is None if it is not "
            "trained, or if the loss does not depend on it."
        ),
        question="What must happen to a parameter that the loss does not depend on?",
        when=("no compares", "calls grad", "calls backward"),
    ),
    Misconception(
        id="compares_with_targets_of_other_predictions",
        exercise="train_step",
        swaps=(
            (
                "cross_entropy(model(ids), targets)",
                "cross_entropy(model(ids).transpose(0, -2).flatten(0, -2), targets.flatten())",
            ),
        ),
        explanation=(
            "In a batch, predictions are compared with targets of other predictions; the target "
            "of logits[b, t] is targets[b, t]."
        ),
        question="If you flatten the logits of a batch, which row comes second, and which target?",
    ),
    Misconception(
        id="multiplies_the_loss_by_the_number_of_items",
        exercise="train_step",
        swaps=(("return loss.item()", "return loss.item() * len(ids)"),),
        title="The returned loss is as many times too large as there are items",
        explanation=(
            "The returned loss is as many times too large as there are items in the batch; it "
            "must be the mean loss of all predictions."
        ),
        question="Should the returned loss change if the batch contains each item twice?",
    ),
    Misconception(
        id="returns_the_loss_as_a_tensor",
        exercise="train_step",
        swaps=(("return loss.item()", "return loss"),),
        explanation="The loss is returned as a tensor; it must be a Python float.",
        question="Which method of a tensor with one number returns this number?",
        when=("no calls item", "no calls tolist"),
    ),
    Misconception(
        id="returns_the_loss_after_the_step",
        exercise="train_step",
        swaps=(
            (
                "return loss.item()",
                "return cross_entropy(model(ids), targets).item()",
            ),
        ),
        explanation="The loss is measured after the step; it must be measured before it.",
        question="Which loss do the gradients of this step come from?",
    ),
    Misconception(
        id="forgets_the_learning_rate",
        exercise="train_step",
        swaps=(("learning_rate * parameter.grad", "parameter.grad"),),
        explanation="The learning rate is not used: each parameter moves by its whole gradient.",
        question="What should happen at a rate of 0?",
    ),
    Misconception(
        id="moves_along_the_sign",
        exercise="train_step",
        swaps=(
            (
                "learning_rate * parameter.grad  #",
                "learning_rate * parameter.grad.sign()  #",
            ),
        ),
        explanation=(
            "Only the signs of the gradients are used, so all parameters move by the same amount."
        ),
        question="Should a parameter with a tenth of the gradient move as far as the others?",
        when=("calls sign",),
    ),
    Misconception(
        id="moves_one_parameter_only",
        exercise="train_step",
        swaps=(
            (
                "if parameter.grad is not None:\n",
                "if parameter is next(model.parameters()) and parameter.grad is not None:\n",
            ),
        ),
        explanation=(
            "Only the first parameter of the model moves; all trained parameters must move."
        ),
        question="How many parameters does your loop over model.parameters() change?",
    ),
    Misconception(
        id="ends_at_a_parameter_without_a_gradient",
        exercise="train_step",
        swaps=(
            (
                "in model.parameters():",
                (
                    "in list(model.parameters())[\n            : [\n"
                    "                *(p.grad is None for p in model.parameters()), True\n"
                    "            ].index(True)\n        ]:"
                ),
            ),
        ),
        explanation=(
            "The steps end at the first parameter without a gradient; later ones with a gradient "
            "must move, too."
        ),
        question="What happens to the parameters after one that the loss does not depend on?",
        when=("leaves loops early",),
    ),
    Misconception(
        id="averages_the_gradient_again",
        exercise="train_step",
        swaps=(
            (
                "learning_rate * parameter.grad  #",
                "learning_rate * parameter.grad / len(ids)  #",
            ),
        ),
        explanation=(
            "The gradient is divided by the number of items, but the loss is already a mean."
        ),
        question="By which number does the mean of the losses already divide each gradient?",
        when=("divides",),
    ),
    Misconception(
        id="scales_the_gradients_down",
        exercise="train_step",
        swaps=(
            (
                "    with torch.no_grad():\n",
                (
                    "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
                    "    with torch.no_grad():\n"
                ),
            ),
        ),
        explanation=(
            "Before the step, gradients with a total norm above 1 are scaled down; they must be "
            "used as they are."
        ),
        question="What does the docstring subtract from a parameter with a large gradient?",
    ),
    Misconception(
        id="shrinks_the_parameters",
        exercise="train_step",
        swaps=(
            (
                "learning_rate * parameter.grad  #",
                "learning_rate * (parameter.grad + 0.01 * parameter)  #",
            ),
        ),
        explanation=(
            "Each parameter p also shrinks by learning_rate · 0.01 · p, as with weight decay, but "
            "the docstring does not ask for it."
        ),
        question="Which two terms does the new value of a parameter have in the docstring?",
    ),
    Misconception(
        id="learns_from_the_last_positions_only",
        exercise="train_step",
        swaps=(
            (
                "cross_entropy(model(ids), targets)",
                "cross_entropy(model(ids)[:, -1], targets[:, -1])",
            ),
        ),
        explanation=(
            "The loss is that of the last prediction of each item; it must be the mean over all "
            "predictions."
        ),
        question="How many predictions does the model make for an item of T tokens?",
        when=("indexes",),
    ),
    Misconception(
        id="makes_the_parameters_float32",
        exercise="train_step",
        swaps=(
            (
                "parameter -= learning_rate * parameter.grad",
                "parameter.data = (parameter - learning_rate * parameter.grad).float()",
            ),
        ),
        explanation="Each parameter becomes float32, even if the model is in float64.",
        question="Which dtype do the parameters of a float64 model have after your step?",
    ),
    Misconception(
        id="steps_by_a_ready_optimizer",
        exercise="train_step",
        code="""
            def train_step(model, ids, targets, learning_rate):
                optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
                loss = cross_entropy(model(ids), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                return loss.item()
        """,
        explanation=(
            "One of torch's optimizers changes the parameters, but you must write the step "
            "yourself."
        ),
        question="What does one step subtract from each parameter?",
        when=OPTIMIZER,
    ),
    Misconception(
        id="steps_by_adam",
        exercise="train_step",
        code="""
            def train_step(model, ids, targets, learning_rate):
                optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
                loss = cross_entropy(model(ids), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                return loss.item()
        """,
        explanation=(
            "Adam changes the parameters, but you must write the step yourself, with the "
            "gradients as they are."
        ),
        question="What does one step subtract from each parameter?",
        when=("calls Adam",),
    ),
    # train
    Misconception(
        id="trains_on_the_first_batch_only",
        exercise="train",
        swaps=(
            (
                "losses.append(train_step(model, ids, targets, learning_rate))",
                "losses.append(train_step(model, *batches[0], learning_rate))",
            ),
        ),
        explanation="Every step uses the first batch; the others are never seen.",
        question="Which variables change from one iteration of your loop to the next?",
    ),
    Misconception(
        id="trains_once_only",
        exercise="train",
        swaps=(("in batches:", "in batches[:1]:"),),
        explanation=(
            "Only the first batch is used, and the list ends with its loss; there must be one "
            "step for each batch."
        ),
        question="How many steps does your code take for three batches?",
    ),
    changes_the_rate(
        "lowers_the_rate_linearly",
        "learning_rate * (1 - len(losses) / len(batches))",
        "The learning rate falls linearly from step to step; it must stay as it is.",
    ),
    changes_the_rate(
        "divides_the_rate_by_the_number_of_the_step",
        "learning_rate / (len(losses) + 1)",
        "The learning rate is divided by the number of the step; it must stay as it is.",
        "divides",
    ),
    changes_the_rate(
        "divides_the_rate_by_the_number_of_batches",
        "learning_rate / len(batches)",
        "The learning rate is divided by the number of batches; it must stay as it is.",
        "divides",
    ),
    Misconception(
        id="trains_a_copy",
        exercise="train",
        swaps=(
            (
                "losses = []\n",
                "import copy\n\n    losses, model = [], copy.deepcopy(model)\n",
            ),
        ),
        explanation="The caller's model stays as it was, as if a copy of it were trained.",
        question="Whose parameters does the caller look at after the training?",
    ),
    Misconception(
        id="computes_no_gradients_in_training",
        exercise="train",
        code="""
            def train(model, batches, learning_rate):
                losses = []
                for ids, targets in batches:
                    loss = cross_entropy(model(ids), targets)
                    with torch.no_grad():
                        for parameter in model.parameters():
                            if parameter.grad is not None:
                                parameter -= learning_rate * parameter.grad
                    losses.append(loss.item())
                return losses
        """,
        explanation="No gradients are computed, because `backward` is never called.",
        question="Which call fills the gradient of each parameter?",
        seen=(
            "no calls backward",
            "no calls autograd",
            "no calls train_step",
        ),
    ),
    Misconception(
        id="clears_the_gradients_only_once",
        exercise="train",
        code="""
            def train(model, batches, learning_rate):
                losses = []
                model.zero_grad()
                for ids, targets in batches:
                    loss = cross_entropy(model(ids), targets)
                    loss.backward()
                    with torch.no_grad():
                        for parameter in model.parameters():
                            if parameter.grad is not None:
                                parameter -= learning_rate * parameter.grad
                    losses.append(loss.item())
                return losses
        """,
        explanation=(
            "Gradients are not cleared between the steps: `backward` adds to those of the batches "
            "before."
        ),
        question="What is in the gradient of a parameter when the second batch comes?",
        when=("calls backward", "loops"),
    ),
    Misconception(
        id="starts_with_old_gradients",
        exercise="train",
        code="""
            def train(model, batches, learning_rate):
                losses = []
                for ids, targets in batches:
                    loss = cross_entropy(model(ids), targets)
                    loss.backward()
                    with torch.no_grad():
                        for parameter in model.parameters():
                            if parameter.grad is not None:
                                parameter -= learning_rate * parameter.grad
                    model.zero_grad()
                    losses.append(loss.item())
                return losses
        """,
        explanation=(
            "Gradients that an earlier call has left are not cleared before the first `backward`, "
            "so they change the first step."
        ),
        title="Gradients that an earlier call has left are not cleared",
        question="What may be in the gradients of the model when the first batch comes?",
        when=("calls backward",),
    ),
    Misconception(
        id="takes_two_steps_on_each_batch",
        exercise="train",
        swaps=(
            (
                "losses.append(train_step(model, ids, targets, learning_rate))",
                (
                    "train_step(model, ids, targets, learning_rate)\n"
                    "        losses.append(train_step(model, ids, targets, learning_rate))"
                ),
            ),
        ),
        explanation=(
            "Two steps are taken on each batch, and the loss before the second one is returned; "
            "there must be one step."
        ),
        question="How many steps change the model while your loop works on one batch?",
    ),
    Misconception(
        id="measures_before_it_trains",
        exercise="train",
        code="""
            def train(model, batches, learning_rate):
                losses = [cross_entropy(model(ids), targets).item() for ids, targets in batches]
                for ids, targets in batches:
                    train_step(model, ids, targets, learning_rate)
                return losses
        """,
        explanation=(
            "All losses are those of the untrained model; each must be measured just before the "
            "step on its batch."
        ),
        question="When the second batch is used, how have the parameters changed since the start?",
    ),
    Misconception(
        id="keeps_the_last_loss_only",
        exercise="train",
        swaps=(
            (
                "losses.append(train_step(model, ids, targets, learning_rate))",
                "losses = [train_step(model, ids, targets, learning_rate)]",
            ),
        ),
        explanation=(
            "The list holds the loss of the last batch only; it must hold one loss for each batch, "
            "in order."
        ),
        question=(
            "After three batches, how many losses are in your list, and which line removes the "
            "others?"
        ),
    ),
    Misconception(
        id="keeps_no_loss",
        exercise="train",
        swaps=(
            (
                "losses.append(train_step(model, ids, targets, learning_rate))",
                "train_step(model, ids, targets, learning_rate)",
            ),
        ),
        explanation="The list stays empty, because no loss is added to it.",
        question="What does train_step return, and what do you do with it?",
        when=(
            "no calls append",
            "no calls extend",
        ),
    ),
    Misconception(
        id="returns_one_number",
        exercise="train",
        swaps=(("return losses", "return losses[-1]"),),
        explanation="A single number is returned; the result must be the list of all losses.",
        question="How can the caller draw the loss curve of all steps?",
    ),
    Misconception(
        id="returns_the_mean_of_all_losses",
        exercise="train",
        swaps=(("return losses", "return sum(losses) / max(len(losses), 1)"),),
        explanation="The mean of the losses is returned; it must be the list of all losses.",
        question="How can the caller draw the loss curve of all steps?",
    ),
    Misconception(
        id="returns_the_mean_loss_so_far",
        exercise="train",
        swaps=(
            (
                "return losses",
                "return [sum(losses[: i + 1]) / (i + 1) for i in range(len(losses))]",
            ),
        ),
        explanation="The running means of the losses are returned, not the losses of the steps.",
        question="Which number belongs to the second batch alone?",
    ),
    Misconception(
        id="trains_by_a_ready_optimizer",
        exercise="train",
        code="""
            def train(model, batches, learning_rate):
                optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
                losses = []
                for ids, targets in batches:
                    loss = cross_entropy(model(ids), targets)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
                return losses
        """,
        explanation="One of torch's optimizers takes the steps, but train_step must take them.",
        question="Which exercise of this stage already takes one step?",
        when=OPTIMIZER,
    ),
)
