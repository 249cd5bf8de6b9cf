"""Wrong answers that the suite of stage 11 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

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
    ),
    Misconception(
        id="subtracts_the_maximum_only_inside",
        exercise="log_softmax",
        swaps=(("return shifted - ", "return logits - "),),
        explanation=(
            "The maximum is subtracted inside the exponentials only, so the result is too large "
            "by the maximum."
        ),
        question="The two terms of the difference must come from the same logits. Do they?",
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
    ),
    Misconception(
        id="forgets_the_logarithm",
        exercise="cross_entropy",
        swaps=(("log_softmax(logits)", "log_softmax(logits).exp()"),),
        explanation="The loss is minus the mean probability; the logarithm is missing.",
        question=(
            "How large is the loss of a prediction that gives its target a probability near 0?"
        ),
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
        id="averages_over_the_vocabulary",
        exercise="cross_entropy",
        swaps=(("return -chosen.mean()", "return -chosen.sum() / log_probabilities.numel()"),),
        explanation=("The mean also runs over the vocabulary, so the loss is V times too small."),
        question="How many predictions are there, and how many logits?",
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
    ),
    Misconception(
        id="takes_the_ready_log_softmax",
        exercise="cross_entropy",
        swaps=(("log_softmax(logits)", "torch.log_softmax(logits, dim=-1)"),),
        explanation="The loss uses torch's own log_softmax, but it must use yours.",
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
    # train_step
    Misconception(
        id="goes_uphill",
        exercise="train_step",
        swaps=(("parameter -= ", "parameter += "),),
        explanation=(
            "The step goes uphill: the parameters move along the gradient, so the loss grows with "
            "each step."
        ),
        question="In which direction does the gradient point: towards a larger or a smaller loss?",
    ),
    Misconception(
        id="keeps_old_gradients",
        exercise="train_step",
        swaps=(("    model.zero_grad()\n", ""),),
        explanation=(
            "Gradients of earlier steps are not cleared: `backward` adds to them, so only the "
            "first step is right."
        ),
        question="What is in p.grad before your second call of backward?",
    ),
    Misconception(
        id="moves_nothing",
        exercise="train_step",
        swaps=(
            (
                "parameter -= learning_rate * parameter.grad",
                "parameter = parameter - learning_rate * parameter.grad",
            ),
        ),
        title="The parameters of the model stay as they were",
        explanation=(
            "The parameters of the model stay as they were: the new numbers are written to a "
            "different tensor, or the gradients are cleared before the step."
        ),
        question="Does your line change the tensor that the model holds, or make a new one?",
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
        explanation="The loss after the step is returned, not the one before it.",
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
        id="trains_a_copy",
        exercise="train",
        swaps=(
            (
                "losses = []\n",
                "import copy\n\n    losses, model = [], copy.deepcopy(model)\n",
            ),
        ),
        explanation="A copy of the model is trained; the caller's model stays as it was.",
        question="Whose parameters does the caller look at after the training?",
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
        explanation=("One of torch's optimizers takes the steps, but train_step must take them."),
        question="Which exercise of this stage already takes one step?",
    ),
)
