"""Wrong answers that the suite of stage 12 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

LOSS = "return (probabilities - wanted) / N"
JACOBIAN = "return torch.diag(weights) - torch.outer(weights, weights)"
MEAN = "mean = (weights * grad_weights).sum(dim=-1, keepdim=True)  # (..., 1), weighted"
SCORES_BACK = "return weights * (grad_weights - mean)"
FORWARD = "scores = queries @ keys.transpose(-2, -1) * scale  # (..., Tq, Tk)"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
MASK = (
    "    if hidden is not None:\n        scores = scores.masked_fill(hidden, -torch.inf)\n"
    f"    {SOFTMAX}"
)
GRAD_SCORES = "grad_scores = softmax_backward(weights, grad_weights) * scale"
UNSCALED = GRAD_SCORES.removesuffix(" * scale")
GRAD_KEYS = "grad_keys = grad_scores.transpose(-2, -1) @ queries"
GRAD_QUERIES = "grad_queries = grad_scores @ keys"
DEFAULT = "scale = queries.shape[-1] ** -0.5"
GRAD_VALUES = "grad_values = weights.transpose(-2, -1) @ grad_context"
ATTENTION_GRADIENTS = ("grad_queries", "grad_keys", "grad_values")
ALL_GRADIENTS = ("grad_x", "grad_W_query", "grad_W_key", "grad_W_value")
WAYS = {
    "queries": "grad_queries @ W_query.T",
    "keys": "grad_keys @ W_key.T",
    "values": "grad_values @ W_value.T",
}
ALL_WAYS = " + ".join(WAYS.values())
ALL_WAYS_SWAPPED = "grad_queries @ W_key.T + grad_keys @ W_query.T"
SUMMED = " @ grad_{name}.flatten(0, -2)"
OF_SIZE = ("takes roots | divides | calls shape | calls size",)


def misses(missing: tuple[str, ...]) -> Misconception:
    """Return the mistake that some of the three paths back to x are missing."""
    left = " + ".join(way for name, way in WAYS.items() if name not in missing)
    many = len(missing) > 1
    verb = "are" if many else "is"
    return Misconception(
        id=f"misses_the_way_through_{'_and_'.join(missing)}",
        exercise="self_attention_backward",
        swaps=((ALL_WAYS, left),),
        title=f"In the gradient of x, the {'paths' if many else 'path'} through the "
        f"{' and the '.join(missing)} {verb} missing",
        explanation=(
            f"In the gradient of x, the {'paths' if many else 'path'} through the "
            f"{' and the '.join(missing)} {verb} missing: x is used three times, so three "
            "gradients must be added."
        ),
        question="Along which paths does one token of x affect the loss?",
    )


def takes_another_matrix(name: str, other: str) -> Misconception:
    """Return the mistake that the gradient of *name* reaches x by W_*other*."""
    right = WAYS[name].partition(" @ ")[2].removesuffix(".T")
    return Misconception(
        id=f"multiplies_the_gradient_of_{name}_by_W_{other}",
        exercise="self_attention_backward",
        swaps=((WAYS[name], f"grad_{name} @ W_{other}.T"),),
        explanation=(
            f"In the gradient of x, the gradient of the {name} is multiplied by W_{other}; it must "
            f"be multiplied by {right}."
        ),
        question=f"By which matrix was x multiplied to get the {name}?",
    )


def swapped(exercise: str, right: tuple[str, ...], first: str, second: str) -> Misconception:
    """Return the mistake that two of the gradients *right* are swapped in the result."""
    names = {f"grad_{first}": f"grad_{second}", f"grad_{second}": f"grad_{first}"}
    wrong = [names.get(name, name) for name in right]
    return Misconception(
        id=f"swaps_gradients_of_{first}_and_{second}",
        exercise=exercise,
        swaps=((f"return {', '.join(right)}", f"return {', '.join(wrong)}"),),
        explanation=f"The gradients of {first} and {second} are swapped in the result.",
        question="In which order does the function get its arguments?",
    )


def default_scale(size: str, value: str, *when: str) -> Misconception:
    """Return the mistake that the scale is *size* by default, in code *value*."""
    return Misconception(
        id=f"scales_by_{size.replace(' ', '_')}_by_default",
        exercise="attention_backward",
        swaps=((DEFAULT, f"scale = {value}"),),
        explanation=f"By default, the scale is {size}; it must be one divided by the root of d.",
        question="By which number are the scores divided if nobody gives a scale?",
        when=when,
    )


def reversed_in(name: str, line: str) -> Misconception:
    """Return the mistake that all axes are reversed in the gradient of the keys or values."""
    return Misconception(
        id=f"reverses_all_axes_for_the_{name}",
        exercise="attention_backward",
        swaps=((line, line.replace(".transpose(-2, -1)", ".T")),),
        explanation=(
            f"In the gradient of the {name}, `T` reverses all axes, so in a batch the items become "
            "the last axis; only the last two axes must be swapped."
        ),
        question="What is the shape of a (2, 5, 3) tensor after `T`, and which one do you need?",
        when=("calls T",),
    )


def unscaled(name: str, line: str) -> Misconception:
    """Return the mistake that one of two gradients lacks the scale."""
    other = "keys" if name == "queries" else "queries"
    return Misconception(
        id=f"scales_the_gradient_of_{other}_only",
        exercise="attention_backward",
        swaps=(
            (GRAD_SCORES, GRAD_SCORES.removesuffix(" * scale")),
            (line, f"{line} * scale"),
        ),
        explanation=(
            f"Only the gradient of the {other} is multiplied by the scale; "
            f"that of the {name} must be too."
        ),
        question=(
            "A score is a dot product of a query and a key, times the scale. What is its "
            "derivative with respect to each?"
        ),
    )


MISCONCEPTIONS = (
    # cross_entropy_backward
    Misconception(
        id="forgets_the_mean",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return probabilities - wanted"),),
        explanation=(
            "The gradient is not divided by N: it belongs to the sum of the losses, not to their "
            "mean."
        ),
        question="How much does the loss of one prediction among N contribute to the mean?",
    ),
    Misconception(
        id="divides_the_targets_only",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return probabilities - wanted / N"),),
        explanation="The 1 at the target is divided by N; the probabilities must be, too.",
        question="Which terms does the mean of the losses divide by N?",
    ),
    Misconception(
        id="divides_the_probabilities_only",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return probabilities / N - wanted"),),
        explanation="The probabilities are divided by N; the 1 at the target must be, too.",
        question="Which terms does the mean of the losses divide by N?",
    ),
    Misconception(
        id="divides_by_the_vocabulary",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return (probabilities - wanted) / V"),),
        explanation=(
            "The gradient is divided by the size of the vocabulary, but the mean is over the "
            "predictions."
        ),
        question="Over how many losses is the mean taken: N or V?",
        when=("divides",),
    ),
    Misconception(
        id="divides_by_all_logits",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return (probabilities - wanted) / logits.numel()"),),
        explanation="The gradient is divided by N · V, but there are only N losses in the mean.",
        question="Over how many losses is the mean taken?",
        when=("divides",),
    ),
    Misconception(
        id="points_downhill",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return (wanted - probabilities) / N"),),
        title="The gradient has the wrong sign",
        explanation=(
            "The gradient has the wrong sign: it points towards a smaller loss, but a gradient "
            "points towards a larger one."
        ),
        question="Does the loss grow or fall if the logit of the target grows?",
    ),
    Misconception(
        id="changes_the_target_only",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return (probabilities - 1) * wanted / N"),),
        explanation=(
            "Only the logit of the target has a gradient, but the other logits are in the sum of "
            "the exponentials, so they change the loss too."
        ),
        question="What happens to the loss if the logit of a wrong token grows?",
    ),
    Misconception(
        id="forgets_the_targets",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return probabilities / N"),),
        explanation=(
            "The 1 at the target is not subtracted, so the gradient does not depend on the targets."
        ),
        question="What does the term -logit[target] of the loss add to its derivative?",
    ),
    Misconception(
        id="subtracts_at_the_targets_of_all_rows",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "probabilities[:, targets] -= 1\n    return probabilities / N"),),
        explanation=(
            "In every row, 1 is subtracted at the targets of all predictions; each row has only "
            "its own target."
        ),
        question="Which pairs of a row and a column must change, and how many are there?",
        when=("indexes",),
    ),
    Misconception(
        id="takes_the_softmax_over_the_predictions",
        exercise="cross_entropy_backward",
        swaps=(("torch.softmax(logits, dim=-1)", "torch.softmax(logits, dim=0)"),),
        explanation=(
            "The softmax runs over the predictions; it must run over the vocabulary, within each "
            "row."
        ),
        question="Which numbers must sum to one: a row of probabilities, or a column?",
    ),
    Misconception(
        id="subtracts_from_the_logits",
        exercise="cross_entropy_backward",
        swaps=((LOSS, "return (logits - wanted) / N"),),
        explanation=(
            "The 1 at the target is subtracted from the logits, not from the probabilities."
        ),
        question="What is the derivative of log(sum of exponentials) with respect to one logit?",
        when=("subtracts",),
    ),
    Misconception(
        id="overflows_for_large_logits",
        exercise="cross_entropy_backward",
        swaps=(
            (
                "probabilities = torch.softmax(logits, dim=-1)",
                "probabilities = logits.exp() / logits.exp().sum(dim=-1, keepdim=True)",
            ),
        ),
        explanation="The exponentials of large logits overflow, so the gradient contains `nan`.",
        question="Which number may you subtract from all logits of a row before you start?",
        when=("takes exponentials", "no takes a maximum"),
    ),
    Misconception(
        id="changes_the_logits",
        exercise="cross_entropy_backward",
        swaps=(
            (
                "probabilities = torch.softmax(logits, dim=-1)",
                (
                    "logits -= logits.amax(dim=-1, keepdim=True)\n"
                    "    probabilities = torch.softmax(logits, dim=-1)"
                ),
            ),
        ),
        explanation="The caller's logits are changed in place.",
        question=(
            "Which of your lines changes its argument, and which code still needs the old numbers?"
        ),
        when=("changes tensors in place",),
    ),
    Misconception(
        id="lets_autograd_find_the_loss_gradient",
        exercise="cross_entropy_backward",
        code="""
            def cross_entropy_backward(logits, targets):
                with torch.enable_grad():
                    given = logits.clone().requires_grad_()
                    loss = torch.nn.functional.cross_entropy(given, targets)
                return torch.autograd.grad(loss, given)[0]
        """,
        explanation=(
            "Autograd computes the gradient, but in this stage you must compute it yourself."
        ),
        question="What are the derivatives of log(sum of exponentials), and of minus one logit?",
        when=("calls autograd | calls grad | calls backward", "no calls Function"),
    ),
    # softmax_jacobian
    Misconception(
        id="fills_the_diagonal_only",
        exercise="softmax_jacobian",
        swaps=((JACOBIAN, "return torch.diag(weights * (1 - weights))"),),
        explanation=(
            "Only the diagonal is filled, but each score changes all weights: if one score "
            "grows, the other weights fall."
        ),
        question="What happens to weight 0 if score 1 grows?",
    ),
    Misconception(
        id="subtracts_no_products",
        exercise="softmax_jacobian",
        swaps=((JACOBIAN, "return torch.diag(weights)"),),
        explanation=(
            "The products of two weights are not subtracted: the diagonal holds the weights, and "
            "all other entries are 0."
        ),
        question="What happens to weight 0 if score 1 grows?",
    ),
    Misconception(
        id="subtracts_one_number_everywhere",
        exercise="softmax_jacobian",
        swaps=((JACOBIAN, "return torch.diag(weights) - weights @ weights"),),
        explanation=(
            "The product of the weights with themselves is one number, which is subtracted from "
            "all entries; each entry needs the product of its own two weights."
        ),
        question="What is the shape of your product, and which shape must it have?",
        when=("subtracts", "multiplies matrices | takes a sum"),
    ),
    Misconception(
        id="subtracts_the_squares_from_each_row",
        exercise="softmax_jacobian",
        swaps=(("torch.outer(weights, weights)", "weights * weights"),),
        explanation=(
            "The squares of the weights are subtracted from each row; entry [i, j] needs the "
            "product of two weights, w_i w_j."
        ),
        question="Which two weights does the derivative of weight 0 by score 1 contain?",
        when=("subtracts",),
    ),
    Misconception(
        id="subtracts_the_weights_from_each_row",
        exercise="softmax_jacobian",
        swaps=(("torch.outer(weights, weights)", "weights"),),
        explanation=(
            "The weights themselves are subtracted from each row; they must be multiplied by the "
            "weight of the row first."
        ),
        question="How many different numbers are w_i w_j for 3 weights, and how many are w_j?",
    ),
    Misconception(
        id="subtracts_the_weights_from_each_column",
        exercise="softmax_jacobian",
        swaps=(("torch.outer(weights, weights)", "weights[:, None]"),),
        explanation=(
            "The weights themselves are subtracted from each column; they must be multiplied by "
            "the weight of the column first."
        ),
        question="How many different numbers are w_i w_j for 3 weights, and how many are w_i?",
    ),
    Misconception(
        id="multiplies_by_one_minus_the_weight_everywhere",
        exercise="softmax_jacobian",
        swaps=((JACOBIAN, "return torch.outer(weights, 1 - weights)"),),
        explanation=(
            "Entry [i, j] is w_i (1 - w_j), which is right on the diagonal only; off it, the "
            "derivative is -w_i w_j."
        ),
        question="What happens to weight 0 if score 1 grows?",
    ),
    Misconception(
        id="subtracts_the_squares_twice",
        exercise="softmax_jacobian",
        swaps=(("torch.diag(weights)", "torch.diag(weights * (1 - weights))"),),
        explanation=(
            "On the diagonal, the square of the weight is subtracted twice: it is w - 2w², and it "
            "must be w - w²."
        ),
        question="What do you get if you multiply out w (1 - w)?",
    ),
    Misconception(
        id="forgets_the_weights_on_the_diagonal",
        exercise="softmax_jacobian",
        swaps=((JACOBIAN, "return -torch.outer(weights, weights)"),),
        explanation="The diagonal lacks the weight itself: it is -w², and it must be w - w².",
        question="If a score grows, does its own weight grow or fall?",
    ),
    Misconception(
        id="lets_the_others_grow",
        exercise="softmax_jacobian",
        swaps=(
            (
                " - torch.outer(weights, weights)",
                " + torch.outer(weights, weights) - 2 * torch.diag(weights**2)",
            ),
        ),
        title="The entries off the diagonal have the wrong sign",
        explanation=(
            "The entries off the diagonal have the wrong sign: if one score grows, the other "
            "weights fall."
        ),
        question="All weights sum to 1. What must one column of the Jacobian sum to?",
    ),
    Misconception(
        id="puts_the_weight_on_the_diagonal",
        exercise="softmax_jacobian",
        swaps=(("torch.diag(weights)", "torch.diag(weights + weights**2)"),),
        explanation=(
            "The diagonal holds the weight itself without the factor 1 - weight; a weight's own "
            "score is also in the sum of the exponentials."
        ),
        question="What is the derivative of e^s / Z with respect to s, if Z also contains e^s?",
    ),
    Misconception(
        id="takes_one_for_the_weight",
        exercise="softmax_jacobian",
        swaps=(
            (
                JACOBIAN,
                "return torch.eye(len(weights)).to(weights) - torch.outer(weights, weights)",
            ),
        ),
        explanation=(
            "The diagonal starts from 1, but it must start from the weight: w - w², not 1 - w²."
        ),
        question="What do you get if you multiply out w (1 - w)?",
    ),
    Misconception(
        id="takes_the_softmax_of_weights",
        exercise="softmax_jacobian",
        swaps=((JACOBIAN, f"weights = torch.softmax(weights, dim=-1)\n    {JACOBIAN}"),),
        explanation=(
            "The softmax of the weights is taken, but the weights are already the results of a "
            "softmax, not scores."
        ),
        question="What does the function get: scores, or numbers that sum to one?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="subtracts_the_weight_of_the_row",
        exercise="softmax_jacobian",
        swaps=(("torch.outer(weights, weights)", "weights[:, None] ** 2"),),
        title="Off the diagonal, each entry is -w_i², but it must be -w_i w_j",
        explanation=(
            "Off the diagonal, each entry is -w_i², but it must be -w_i w_j: one weight is that "
            "of the row, the other that of the column."
        ),
        question="Which two weights does the derivative of weight 0 by score 1 contain?",
    ),
    # softmax_backward
    Misconception(
        id="uses_the_diagonal_only",
        exercise="softmax_backward",
        swaps=((SCORES_BACK, "return weights * (1 - weights) * grad_weights"),),
        explanation=(
            "Only the diagonal of the Jacobian is used, weight · (1 - weight): this is right for a "
            "sigmoid, but a score of a softmax changes all weights of its row."
        ),
        question="Which gradients of the row does the gradient of score 0 depend on?",
        when=("subtracts", "multiplies"),
    ),
    Misconception(
        id="subtracts_nothing",
        exercise="softmax_backward",
        swaps=((SCORES_BACK, "return weights * grad_weights"),),
        explanation=(
            "The weighted mean of the gradients is not subtracted, but a score also changes the "
            "other weights of its row."
        ),
        question="What happens to the other weights of the row if one score grows?",
    ),
    Misconception(
        id="subtracts_the_mean_unweighted",
        exercise="softmax_backward",
        swaps=((SCORES_BACK, "return weights * grad_weights - mean"),),
        explanation=(
            "The weights multiply the gradients only; they must also multiply the mean that is "
            "subtracted from these."
        ),
        question="In w_i g_i - w_i Σ_j w_j g_j, how many terms have the factor w_i?",
        when=("subtracts",),
    ),
    Misconception(
        id="subtracts_the_unweighted_sum",
        exercise="softmax_backward",
        swaps=(("(weights * grad_weights).sum", "grad_weights.sum"),),
        explanation=(
            "The sum of the gradients is subtracted; each gradient must be multiplied by its "
            "weight first."
        ),
        question="In Σ w_i w_j g_j, which factors stay inside the sum over j?",
        when=("subtracts",),
    ),
    Misconception(
        id="subtracts_the_squares_of_the_weights",
        exercise="softmax_backward",
        swaps=(("(weights * grad_weights).sum", "(weights * weights).sum"),),
        explanation=(
            "The sum of the squared weights is subtracted; each weight must be multiplied by its "
            "gradient, not by itself."
        ),
        question="In Σ w_i w_j g_j, which factors stay inside the sum over j?",
    ),
    Misconception(
        id="multiplies_by_one_minus_the_weights",
        exercise="softmax_backward",
        swaps=(
            (
                "return weights * (grad_weights - mean)",
                "return weights * (1 - weights) * (grad_weights - mean)",
            ),
        ),
        explanation=(
            "The gradient is also multiplied by 1 - weights, as for a sigmoid; for a softmax, the "
            "subtracted mean is enough."
        ),
        title="The gradient is also multiplied by 1 - weights",
        question="Which entries of the Jacobian are w_i (1 - w_i), and which are not?",
        when=("subtracts",),
    ),
    Misconception(
        id="subtracts_the_squares_of_weights_twice",
        exercise="softmax_backward",
        swaps=(("(grad_weights - mean)", "(grad_weights * (1 - weights) - mean)"),),
        explanation=(
            "The square of each weight is subtracted twice on the diagonal of the Jacobian: it is "
            "w - 2w², and it must be w - w²."
        ),
        question="What do you get if you multiply out w (1 - w)?",
        when=("subtracts",),
    ),
    Misconception(
        id="subtracts_the_unweighted_mean",
        exercise="softmax_backward",
        swaps=(("(weights * grad_weights).sum", "grad_weights.mean"),),
        explanation=(
            "The plain mean of the gradients is subtracted; it must be their mean weighted by "
            "the attention weights."
        ),
        question="In Σ w_i w_j g_j, which factors stay inside the sum over j?",
        when=("takes a mean | divides",),
    ),
    Misconception(
        id="divides_the_weighted_sum",
        exercise="softmax_backward",
        swaps=(("(weights * grad_weights).sum", "(weights * grad_weights).mean"),),
        explanation=(
            "The products are averaged, but the weights already sum to one: the sum of the "
            "products is the weighted mean."
        ),
        question="What do the weights in Σ w_j g_j sum to, and does a division follow the sum?",
        when=("takes a mean | divides",),
    ),
    Misconception(
        id="sums_over_all_rows",
        exercise="softmax_backward",
        swaps=((MEAN, "mean = (weights * grad_weights).sum()"),),
        explanation="One sum is taken over all rows, but each row is a softmax with its own sum.",
        question="Do the scores of one query change the weights of another?",
        when=("takes a sum",),
    ),
    Misconception(
        id="forgets_the_outer_weights",
        exercise="softmax_backward",
        swaps=((SCORES_BACK, "return grad_weights - mean"),),
        explanation=(
            "The differences are not multiplied by the weights, so the gradient is not 0 where a "
            "weight is 0."
        ),
        question="Which factor do both terms, w_i g_i and w_i Σ w_j g_j, have in common?",
        when=("subtracts",),
    ),
    Misconception(
        id="forgets_the_weights_of_the_first_term",
        title="The first term lacks its weight",
        exercise="softmax_backward",
        swaps=((SCORES_BACK, "return grad_weights - weights * mean"),),
        explanation=(
            "The first term lacks its weight: the result is g_i - w_i Σ_j w_j g_j for the "
            "gradients g and the weights w."
        ),
        question="Which factor do both terms, w_i g_i and w_i Σ w_j g_j, have in common?",
    ),
    Misconception(
        id="loses_the_axis_of_the_sum",
        exercise="softmax_backward",
        swaps=((MEAN, "mean = (weights * grad_weights).sum(dim=-1)"),),
        explanation=(
            "The sum over each row of weights loses its axis, so with several rows broadcasting "
            "aligns it with the wrong axis, or the shapes do not fit."
        ),
        question="What is the shape of your sum, and with which entries is each number combined?",
        when=("takes a sum", "loses an axis"),
    ),
    Misconception(
        id="adds_the_weighted_mean",
        exercise="softmax_backward",
        swaps=(("(grad_weights - mean)", "(grad_weights + mean)"),),
        explanation=(
            "The weighted mean is added, but it must be subtracted: the other weights fall if one "
            "score grows."
        ),
        question="What is the sign of the entries of the Jacobian off the diagonal?",
        when=("adds",),
    ),
    Misconception(
        id="reverses_the_difference",
        exercise="softmax_backward",
        swaps=(("(grad_weights - mean)", "(mean - grad_weights)"),),
        explanation=(
            "The gradients are subtracted from their weighted mean; the mean must be subtracted "
            "from them."
        ),
        question=(
            "If only one weight has a gradient above the mean, must its score grow or fall for a "
            "larger loss?"
        ),
        when=("subtracts",),
    ),
    Misconception(
        id="builds_a_jacobian_for_each_row",
        exercise="softmax_backward",
        swaps=(
            (
                MEAN,
                "jacobians = weights.diag_embed() - weights[..., :, None] * weights[..., None, :]",
            ),
            (SCORES_BACK, "return (jacobians @ grad_weights[..., None])[..., 0]"),
        ),
        explanation=(
            "A matrix of T · T numbers is built for each row: the result is right, but the "
            "memory grows with the cube of T."
        ),
        question="What remains of Σ (w_i [i = j] - w_i w_j) g_j if you multiply it out?",
    ),
    Misconception(
        id="goes_through_the_rows",
        exercise="softmax_backward",
        code="""
            def softmax_backward(weights, grad_weights):
                rows = zip(weights.flatten(0, -2), grad_weights.flatten(0, -2)) \\
                    if weights.ndim > 1 else [(weights, grad_weights)]
                found = [row * (back - (row * back).sum()) for row, back in rows]
                return torch.stack(found).view_as(weights)
        """,
        explanation=(
            "The rows are computed one after the other, so the number of tensor operations grows "
            "with the number of rows."
        ),
        question="Which argument of `sum` adds within each row, and which one keeps the axis?",
        when=("loops",),
    ),
    Misconception(
        id="calls_torchs_softmax_backward",
        exercise="softmax_backward",
        code="""
            def softmax_backward(weights, grad_weights):
                return torch.ops.aten._softmax_backward_data(
                    grad_weights, weights, -1, weights.dtype
                )
        """,
        explanation=(
            "Torch's own backward function of softmax computes the gradient, but you must compute "
            "it yourself."
        ),
        question="What does row i of the Jacobian times a vector give?",
        when=("calls _softmax_backward_data | calls aten",),
    ),
    Misconception(
        id="changes_the_gradients",
        exercise="softmax_backward",
        swaps=((SCORES_BACK, "return weights * grad_weights.sub_(mean)"),),
        explanation="The caller's gradients are changed in place.",
        question=(
            "Which of your lines changes its argument, and which code still needs the old numbers?"
        ),
        when=("changes tensors in place",),
    ),
    # attention_backward
    Misconception(
        id="scales_forward_only",
        exercise="attention_backward",
        swaps=((GRAD_SCORES, GRAD_SCORES.removesuffix(" * scale")),),
        explanation=(
            "The scale is used in the forward pass only, but a step that multiplies by a number "
            "must also multiply the gradient by it."
        ),
        question="If the scores are the products times 0.5, how fast do they grow with a product?",
        when=("takes a softmax", "multiplies | divides"),
    ),
    unscaled("queries", GRAD_KEYS),
    unscaled("keys", GRAD_QUERIES),
    Misconception(
        id="scales_backward_only",
        exercise="attention_backward",
        swaps=((FORWARD, "scores = queries @ keys.transpose(-2, -1)"),),
        explanation=(
            "The scores are not scaled when the weights are computed again, so the weights differ "
            "from those of the forward pass."
        ),
        question="From which scores did the forward pass compute its weights?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="never_scales",
        exercise="attention_backward",
        swaps=(
            (FORWARD, "scores = queries @ keys.transpose(-2, -1)"),
            (GRAD_SCORES, UNSCALED),
        ),
        explanation="Neither the scores nor their gradient are multiplied by the scale.",
        question="In which two steps of the backward pass does the scale occur?",
        when=(
            "takes a softmax",
            "multiplies matrices",
        ),
    ),
    Misconception(
        id="scales_twice_on_the_way_back",
        exercise="attention_backward",
        swaps=((GRAD_SCORES, f"{GRAD_SCORES} * scale"),),
        explanation=(
            "The gradient of the scores is scaled twice in the backward pass, but it must be "
            "scaled once."
        ),
        question="How often does the scale occur between the products and the scores?",
        when=("takes a softmax", "multiplies | divides"),
    ),
    Misconception(
        id="takes_zero_for_none",
        exercise="attention_backward",
        swaps=(
            (
                "if scale is None:\n        scale = queries.shape[-1] ** -0.5",
                "scale = scale or queries.shape[-1] ** -0.5",
            ),
        ),
        explanation=(
            "A scale of 0 is replaced by the default, as with `or` and `if not`, which treat 0 "
            "like None."
        ),
        question="What is `0.0 or 0.5` in Python?",
    ),
    default_scale("the root of d", "queries.shape[-1] ** 0.5", *OF_SIZE),
    default_scale("one divided by d", "1 / queries.shape[-1]", *OF_SIZE),
    default_scale("one divided by the root of d_v", "values.shape[-1] ** -0.5", *OF_SIZE),
    default_scale("1", "1.0"),
    Misconception(
        id="scales_by_the_default_on_the_way_back",
        exercise="attention_backward",
        swaps=((GRAD_SCORES, f"{UNSCALED} * queries.shape[-1] ** -0.5"),),
        explanation=(
            "On the way back, the scale is the default even if another one is given: one divided "
            "by the root of d."
        ),
        title="On the way back, the scale is the default even if another one is given",
        question="By which number must the gradient of the scores be multiplied?",
    ),
    Misconception(
        id="scales_by_the_default_on_the_way_forward",
        exercise="attention_backward",
        swaps=((FORWARD, "scores = queries @ keys.transpose(-2, -1) * queries.shape[-1] ** -0.5"),),
        explanation=(
            "The weights come from scores with the default scale, even if the caller gives another "
            "one."
        ),
        title="The weights come from scores with the default scale",
        question="From which scores did the forward pass compute its weights?",
    ),
    Misconception(
        id="hides_gradients_only",
        exercise="attention_backward",
        swaps=(
            (MASK, f"    {SOFTMAX}"),
            (
                GRAD_SCORES,
                (
                    f"{GRAD_SCORES}\n"
                    "    if hidden is not None:\n"
                    "        grad_scores = grad_scores.masked_fill(hidden, 0.0)"
                ),
            ),
        ),
        explanation=(
            "Only the gradients of hidden scores are set to 0, but hidden keys still get a "
            "weight: their weights must be 0 in the forward pass."
        ),
        question="What does a row of weights sum to over the visible keys?",
        when=("fills | multiplies | indexes",),
    ),
    Misconception(
        id="hides_weights_after_the_softmax",
        exercise="attention_backward",
        swaps=(
            (
                MASK,
                (
                    f"    {SOFTMAX}\n"
                    "    if hidden is not None:\n"
                    "        weights = weights.masked_fill(hidden, 0.0)"
                ),
            ),
        ),
        explanation=(
            "Hidden weights are set to 0 after the softmax, so the visible weights no longer sum "
            "to one."
        ),
        question="Which step makes a row sum to one, and is the mask before or after it?",
        when=("fills | multiplies | indexes",),
    ),
    Misconception(
        id="skips_the_softmax",
        exercise="attention_backward",
        swaps=((GRAD_SCORES, "grad_scores = grad_weights * scale"),),
        explanation=(
            "The gradient of the weights is used as that of the scores: the backward pass skips "
            "the softmax."
        ),
        question="Which function of this stage turns grad_weights into grad_scores?",
        when=("takes a softmax", "multiplies matrices"),
    ),
    Misconception(
        id="skips_the_softmax_but_not_the_mask",
        exercise="attention_backward",
        swaps=(
            (
                GRAD_SCORES,
                (
                    "grad_scores = grad_weights * scale\n"
                    "    if hidden is not None:\n"
                    "        grad_scores = grad_scores.masked_fill(hidden, 0.0)"
                ),
            ),
        ),
        explanation=(
            "The gradient of the weights is used as that of the scores, apart from the mask: the "
            "backward pass skips the softmax."
        ),
        question="Which function of this stage turns grad_weights into grad_scores?",
        when=("takes a softmax", "multiplies matrices"),
    ),
    Misconception(
        id="lacks_a_weight_but_not_the_mask",
        exercise="attention_backward",
        swaps=(
            (
                GRAD_SCORES,
                (
                    "mean = (weights * grad_weights).sum(dim=-1, keepdim=True)\n"
                    "    grad_scores = (grad_weights - weights * mean) * scale\n"
                    "    if hidden is not None:\n"
                    "        grad_scores = grad_scores.masked_fill(hidden, 0.0)"
                ),
            ),
        ),
        title="The first term lacks its weight",
        explanation=(
            "The first term lacks its weight: apart from the mask, the gradient of the scores is "
            "g_i - w_i Σ_j w_j g_j for the gradients g of the weights w."
        ),
        question="On the diagonal of the Jacobian, from which numbers are the products subtracted?",
    ),
    Misconception(
        id="gives_the_scores_to_softmax_backward",
        exercise="attention_backward",
        swaps=(
            ("softmax_backward(weights, grad_weights)", "softmax_backward(scores, grad_weights)"),
        ),
        explanation=(
            "The scores are passed to softmax_backward, but it needs the weights, the results of "
            "the softmax."
        ),
        question="Which does softmax_backward take: the inputs of the softmax, or its results?",
        when=("calls softmax_backward",),
    ),
    Misconception(
        id="loses_the_axis_of_the_sum_in_attention",
        exercise="attention_backward",
        swaps=(
            (
                "softmax_backward(weights, grad_weights)",
                "weights * (grad_weights - (weights * grad_weights).sum(dim=-1))",
            ),
        ),
        explanation=(
            "The sum over each row of weights loses its axis, so broadcasting aligns it with the "
            "wrong axis, or the shapes do not fit."
        ),
        question="What is the shape of your sum, and with which entries is each number combined?",
        when=("takes a sum", "loses an axis"),
    ),
    Misconception(
        id="swaps_the_arguments_of_softmax_backward",
        exercise="attention_backward",
        swaps=(
            ("softmax_backward(weights, grad_weights)", "softmax_backward(grad_weights, weights)"),
        ),
        explanation=(
            "The weights and their gradient are passed to softmax_backward in the wrong order."
        ),
        question="In which order does softmax_backward take its two arguments?",
        when=("calls softmax_backward",),
    ),
    Misconception(
        id="takes_scores_for_the_gradient_of_values",
        exercise="attention_backward",
        swaps=((GRAD_VALUES, "grad_values = scores.transpose(-2, -1) @ grad_context"),),
        explanation=(
            "The gradient of the values is computed from the scores; it must be computed from the "
            "weights."
        ),
        question="By which numbers were the values multiplied in the forward pass?",
        when=(
            "takes a softmax",
            "multiplies matrices",
        ),
    ),
    Misconception(
        id="subtracts_the_sum_of_grad_context",
        exercise="attention_backward",
        swaps=(
            (
                "softmax_backward(weights, grad_weights)",
                "(weights * (grad_weights - grad_context.sum(dim=-1, keepdim=True)))",
            ),
        ),
        explanation=(
            "The sum of a row of grad_context is subtracted; its entries must be multiplied by "
            "those of the context vector first."
        ),
        question="Why does the mean of the gradients, weighted by a row, equal one dot product?",
        when=("subtracts",),
    ),
    Misconception(
        id="transposes_the_gradient_of_the_weights",
        exercise="attention_backward",
        swaps=(
            (
                "grad_context @ values.transpose(-2, -1)",
                "values @ grad_context.transpose(-2, -1)",
            ),
        ),
        explanation=(
            "The gradient of the weights has a row for each key; it must have a row for each query."
        ),
        question="Which axis of the weights counts the queries, and which the keys?",
        when=("multiplies matrices",),
    ),
    Misconception(
        id="scales_the_gradient_of_the_values",
        exercise="attention_backward",
        swaps=((GRAD_VALUES, f"{GRAD_VALUES} * scale"),),
        explanation=(
            "The gradient of the values is multiplied by the scale, which does not occur between "
            "the weights and the context."
        ),
        question="Through which steps does a change of one value reach the context?",
        when=("multiplies | divides",),
    ),
    Misconception(
        id="multiplies_each_by_itself",
        exercise="attention_backward",
        swaps=(
            (GRAD_QUERIES, "grad_queries = grad_scores @ queries"),
            (GRAD_KEYS, "grad_keys = grad_scores.transpose(-2, -1) @ keys"),
        ),
        explanation=(
            "The gradient of the queries is computed from the queries, and that of the keys from "
            "the keys; each needs the other factor of the product."
        ),
        question=(
            "In the product of a query and a key, what is the derivative with respect to the query?"
        ),
        when=(
            "takes a softmax",
            "multiplies matrices",
        ),
    ),
    swapped("attention_backward", ATTENTION_GRADIENTS, "queries", "keys"),
    swapped("attention_backward", ATTENTION_GRADIENTS, "queries", "values"),
    swapped("attention_backward", ATTENTION_GRADIENTS, "keys", "values"),
    Misconception(
        id="returns_the_values_first",
        exercise="attention_backward",
        swaps=(
            (
                "return grad_queries, grad_keys, grad_values",
                "return grad_values, grad_queries, grad_keys",
            ),
        ),
        explanation=(
            "The gradients are returned in the wrong order; the right order is queries, keys, "
            "values."
        ),
        question="Does the first gradient that you return have the shape of the queries?",
    ),
    Misconception(
        id="keeps_the_weights_for_values",
        exercise="attention_backward",
        swaps=(("weights.transpose(-2, -1) @ grad_context", "weights @ grad_context"),),
        explanation=(
            "In the gradient of the values, the weights are not transposed: row k must be a sum "
            "over all queries that attended to key k."
        ),
        question="In which row or column of the weights are those that key k got from all queries?",
        when=("takes a softmax", "multiplies matrices"),
    ),
    Misconception(
        id="keeps_the_scores_for_keys",
        exercise="attention_backward",
        swaps=((GRAD_KEYS, "grad_keys = grad_scores @ queries"),),
        explanation=(
            "In the gradient of the keys, grad_scores is not transposed: row k must be a sum "
            "over all queries that were compared with key k."
        ),
        question="In which row or column of grad_scores are the scores of key k?",
        when=("takes a softmax", "multiplies matrices"),
    ),
    Misconception(
        id="reverses_all_axes",
        exercise="attention_backward",
        swaps=(
            (FORWARD, "scores = queries @ keys.T * scale"),
            (GRAD_VALUES, "grad_values = weights.T @ grad_context"),
            ("values.transpose(-2, -1)", "values.T"),
            (GRAD_KEYS, "grad_keys = grad_scores.T @ queries"),
        ),
        explanation=(
            "All axes are reversed by `T`, so in a batch the items become the last axis; only "
            "the last two axes must be swapped."
        ),
        question="What is the shape of a (2, 5, 3) tensor after `T`, and which one do you need?",
        when=("calls T",),
    ),
    reversed_in("keys", GRAD_KEYS),
    reversed_in("values", GRAD_VALUES),
    Misconception(
        id="lets_autograd_go_back",
        exercise="attention_backward",
        code="""
            def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
                with torch.enable_grad():
                    given = [one.clone().requires_grad_() for one in (queries, keys, values)]
                    scale = queries.shape[-1] ** -0.5 if scale is None else scale
                    scores = given[0] @ given[1].mT * scale
                    if hidden is not None:
                        scores = scores.masked_fill(hidden, -torch.inf)
                    context = torch.softmax(scores, dim=-1) @ given[2]
                return torch.autograd.grad(context, given, grad_context)
        """,
        explanation=(
            "Autograd computes the gradients, but in this stage you must compute them yourself."
        ),
        question=(
            "Which step of the forward pass is the last, and which two gradients does it pass back?"
        ),
        when=("calls autograd | calls grad | calls backward", "no calls Function"),
    ),
    Misconception(
        id="goes_query_by_query",
        exercise="attention_backward",
        swaps=(
            (
                GRAD_QUERIES,
                (
                    "rows = grad_scores.unbind(dim=-2)\n"
                    "    grad_queries = torch.stack(\n"
                    "        [(row[..., None] * keys).sum(dim=-2) for row in rows], dim=-2\n"
                    "    )"
                ),
            ),
        ),
        explanation=(
            "The queries are processed one after the other, so the number of tensor operations "
            "grows with the number of queries."
        ),
        question="Which product of matrices gives all rows at once?",
        when=("loops",),
    ),
    Misconception(
        id="changes_the_queries",
        exercise="attention_backward",
        swaps=(
            (
                FORWARD,
                "queries *= scale\n    scores = queries @ keys.transpose(-2, -1)",
            ),
            (GRAD_KEYS, "grad_keys = grad_scores.transpose(-2, -1) @ queries / scale"),
        ),
        explanation="The caller's queries are scaled in place.",
        question=(
            "Which of your lines changes its argument, and which code still needs the old numbers?"
        ),
        when=("changes tensors in place",),
    ),
    Misconception(
        id="makes_the_gradients_float32",
        exercise="attention_backward",
        swaps=(
            (
                "return grad_queries, grad_keys, grad_values",
                "return grad_queries.float(), grad_keys.float(), grad_values.float()",
            ),
        ),
        explanation="The gradients become float32, even if the arguments are float64.",
        question="Which dtype do the gradients of float64 tensors have in your code?",
    ),
    # self_attention_backward
    Misconception(
        id="averages_over_the_tokens",
        exercise="self_attention_backward",
        swaps=(("rows = x.flatten(0, -2)", "rows = x.flatten(0, -2) / (x.numel() / x.shape[-1])"),),
        explanation=(
            "The gradients of the matrices are means over all tokens; they must be sums, because "
            "every token adds its part."
        ),
        question="How does the gradient of a matrix change if the same tokens come twice?",
        when=("divides",),
    ),
    Misconception(
        id="averages_the_ways_to_x",
        exercise="self_attention_backward",
        swaps=((f"grad_x = {ALL_WAYS}", f"grad_x = ({ALL_WAYS}) / 3"),),
        explanation=(
            "The gradient of x is the mean of its three paths; it must be their sum, because x is "
            "used three times."
        ),
        question="What is the derivative of f(x) + g(x) + h(x)?",
        when=("divides",),
    ),
    Misconception(
        id="transposes_the_gradients_of_the_matrices",
        exercise="self_attention_backward",
        swaps=(
            (
                f"return {', '.join(ALL_GRADIENTS)}",
                "return grad_x, grad_W_query.T, grad_W_key.T, grad_W_value.T",
            ),
        ),
        explanation=(
            "The gradients of the matrices are transposed, but each must have the shape of its "
            "matrix, (d_in, d)."
        ),
        question="Which axis of W_query belongs to the features of x?",
    ),
    takes_another_matrix("keys", "query"),
    takes_another_matrix("queries", "key"),
    Misconception(
        id="swaps_the_matrices_of_queries_and_keys",
        exercise="self_attention_backward",
        swaps=((f"{WAYS['queries']} + {WAYS['keys']}", ALL_WAYS_SWAPPED),),
        explanation="In the gradient of x, W_query and W_key are swapped.",
        question="By which matrix was x multiplied to get the keys?",
    ),
    Misconception(
        id="takes_the_gradient_of_the_context_for_W_value",
        exercise="self_attention_backward",
        swaps=(
            (f"rows.T{SUMMED.format(name='values')}", f"rows.T{SUMMED.format(name='context')}"),
        ),
        explanation=(
            "The gradient of W_value is computed from that of the context; it must be computed "
            "from that of the values."
        ),
        question="Which step of the forward pass comes between the values and the context?",
    ),
    misses(("keys", "values")),
    misses(("queries", "values")),
    misses(("queries", "keys")),
    misses(("queries",)),
    misses(("keys",)),
    misses(("values",)),
    Misconception(
        id="forgets_to_transpose_the_matrices",
        exercise="self_attention_backward",
        swaps=((ALL_WAYS, ALL_WAYS.replace(".T", "")),),
        explanation="In the gradient of x, the matrices are not transposed.",
        question=(
            "Which shape must the gradient of x have, and which product of a (T, d) gradient gives "
            "it?"
        ),
        when=("multiplies matrices",),
    ),
    Misconception(
        id="averages_over_the_batch",
        exercise="self_attention_backward",
        swaps=tuple(
            (
                f"rows.T{SUMMED.format(name=name)}",
                f"rows.T{SUMMED.format(name=name)} / (len(x) if x.ndim > 2 else 1)",
            )
            for name in WAYS
        ),
        explanation=(
            "The gradients of the matrices are means over the batch, but every item uses the "
            "same matrices, so the gradients of the items must be added."
        ),
        question="The loss is one number for the whole batch. What does each item add to it?",
        when=("divides",),
    ),
    Misconception(
        id="keeps_a_gradient_for_each_item",
        exercise="self_attention_backward",
        swaps=(
            ("rows = x.flatten(0, -2)", "rows = x"),
            *((f"rows.T{SUMMED.format(name=name)}", f"rows.mT @ grad_{name}") for name in WAYS),
        ),
        explanation=(
            "The gradients of the matrices still have an axis for the items of the batch; they "
            "must be summed over that axis."
        ),
        question="What is the shape of W_query, and which shape must its gradient have?",
    ),
    Misconception(
        id="sums_over_the_first_axis",
        exercise="self_attention_backward",
        swaps=(
            ("rows = x.flatten(0, -2)", "rows = x"),
            *(
                (f"rows.T{SUMMED.format(name=name)}", f"(rows.mT @ grad_{name}).sum(dim=0)")
                for name in WAYS
            ),
        ),
        explanation=(
            "The gradients of the matrices are always summed over the first axis; x may have no "
            "axis for items."
        ),
        question="What does the first axis of your gradient count if x has the shape (T, d_in)?",
        when=("takes a sum",),
    ),
    Misconception(
        id="takes_the_first_item_only",
        exercise="self_attention_backward",
        swaps=(
            ("rows = x.flatten(0, -2)", "rows = x[0] if x.ndim > 2 else x"),
            *(
                (
                    SUMMED.format(name=name),
                    f" @ (grad_{name}[0] if x.ndim > 2 else grad_{name})",
                )
                for name in WAYS
            ),
        ),
        explanation=(
            "The gradients of the matrices come from the first item of the batch only, but all "
            "items use the matrices."
        ),
        question="Which items of the batch change the loss if W_query changes?",
    ),
    Misconception(
        id="scales_by_the_size_of_the_tokens",
        exercise="self_attention_backward",
        swaps=(
            (
                "queries, keys, values = x @",
                (
                    "scale = x.shape[-1] ** -0.5 if scale is None else scale\n"
                    "    queries, keys, values = x @"
                ),
            ),
        ),
        explanation=(
            "The default scale is computed from d_in, the size of a token; it must come from d, "
            "the size of a query."
        ),
        question="Which vectors are multiplied with each other in a score?",
    ),
    Misconception(
        id="returns_gradients_of_queries_keys_values",
        exercise="self_attention_backward",
        swaps=(
            (
                "return grad_x, grad_W_query, grad_W_key, grad_W_value",
                "return grad_x, grad_queries, grad_keys, grad_values",
            ),
        ),
        explanation=(
            "The gradients of queries, keys and values are returned, not those of the matrices: "
            "one step is missing."
        ),
        question="The queries are x @ W_query. What is the gradient of the second factor?",
    ),
    swapped("self_attention_backward", ALL_GRADIENTS, "W_query", "W_key"),
    swapped("self_attention_backward", ALL_GRADIENTS, "W_query", "W_value"),
    swapped("self_attention_backward", ALL_GRADIENTS, "W_key", "W_value"),
    Misconception(
        id="returns_x_last",
        exercise="self_attention_backward",
        swaps=(
            (
                "return grad_x, grad_W_query, grad_W_key, grad_W_value",
                "return grad_W_query, grad_W_key, grad_W_value, grad_x",
            ),
        ),
        explanation="The gradient of x is returned last; it must come first.",
        question="In which order does the function get its arguments?",
    ),
    Misconception(
        id="makes_all_gradients_float32",
        exercise="self_attention_backward",
        swaps=(
            (
                "return grad_x, grad_W_query, grad_W_key, grad_W_value",
                (
                    "found = grad_x, grad_W_query, grad_W_key, grad_W_value\n"
                    "    return tuple(gradient.float() for gradient in found)"
                ),
            ),
        ),
        explanation="The gradients become float32, even if the arguments are float64.",
        question="Which dtype do the gradients of float64 tensors have in your code?",
    ),
    Misconception(
        id="lets_autograd_project_back",
        exercise="self_attention_backward",
        code="""
            def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
                with torch.enable_grad():
                    matrices = W_query, W_key, W_value
                    given = [one.clone().requires_grad_() for one in (x, *matrices)]
                    queries, keys, values = (given[0] @ W for W in given[1:])
                    scale = keys.shape[-1] ** -0.5 if scale is None else scale
                    scores = queries @ keys.mT * scale
                    context = torch.softmax(scores, dim=-1) @ values
                return torch.autograd.grad(context, given, grad_context)
        """,
        explanation=(
            "Autograd computes the gradients, but in this stage you must compute them yourself."
        ),
        question="Which rule gives both gradients of a product x @ W?",
        when=("calls autograd | calls grad | calls backward", "no calls Function"),
    ),
)
