"""Gradients by hand: the backward pass from a loss through softmax and attention.

The gradient of a tensor has the tensor's shape. Each entry of the gradient is the rate at which the
loss grows with that entry of the tensor. ``grad_context`` is the gradient of the context vectors,
and so on. A step of the backward pass gets the gradient of the step's result, and returns the
gradients of the step's arguments.

Shapes: N predictions, V tokens in the vocabulary, B items in the batch, T tokens, Tq queries, Tk
keys, d features of a query or key, d_v features of a value; "..." are any leading axes, the same
for all arguments. You may use any forward operation, including ``torch.softmax``.
"""

import torch
from torch import Tensor


def cross_entropy_backward(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the gradient of the mean cross-entropy loss: (N, V), (N,) -> (N, V).

    *targets* are the ids of the right tokens. Each of the N predictions is a row of V logits, and
    the loss is the mean of -log p(target) over them. Entry [n, v] is the rate at which the loss
    grows with logit v of prediction n. Logits of 1000 or -1000 give finite gradients.
    """
    ### BEGIN SOLUTION
    N, V = logits.shape
    probabilities = torch.softmax(logits, dim=-1)  # (N, V)
    wanted = torch.nn.functional.one_hot(targets, V)
    return (probabilities - wanted) / N
    ### END SOLUTION


def softmax_jacobian(weights: Tensor) -> Tensor:
    """Return the Jacobian of one softmax, a matrix of all its derivatives: (V,) -> (V, V).

    *weights* are the results of the softmax. Entry [i, j] is the derivative of weight i with
    respect to score j.
    """
    ### BEGIN SOLUTION
    return torch.diag(weights) - torch.outer(weights, weights)
    ### END SOLUTION


def softmax_backward(weights: Tensor, grad_weights: Tensor) -> Tensor:
    """Return the gradient of the scores of a softmax: (..., T), (..., T) -> (..., T).

    The softmax runs over the last axis: *weights* are its results, and *grad_weights* is their
    gradient. For each row of weights, the result is the Jacobian of the row times the row of
    *grad_weights*. The T · T numbers of the Jacobian are never built, because one sum over the row
    is enough. Works for any T and any number of rows. The number of tensor operations grows with
    neither.
    """
    ### BEGIN SOLUTION
    mean = (weights * grad_weights).sum(dim=-1, keepdim=True)  # (..., 1), weighted
    return weights * (grad_weights - mean)
    ### END SOLUTION


def attention_backward(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    grad_context: Tensor,
    scale: float | None = None,
    hidden: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of queries, keys and values, as a tuple in this order.

    Shapes: (..., Tq, d), (..., Tk, d), (..., Tk, d_v) and *grad_context* (..., Tq, d_v) give
    gradients of (..., Tq, d), (..., Tk, d) and (..., Tk, d_v).

    In the forward pass, the scores are the dot products of queries and keys times *scale*, and the
    context vectors are softmax(scores) times the values. If *scale* is None, it is 1/√d. Where
    *hidden* is True, a query does not see a key: the weight of this pair, and the gradient of its
    score, are exactly 0. *hidden* is a boolean tensor that can be broadcast to (..., Tq, Tk). None
    hides nothing, and no row is hidden entirely.

    Compute the weights again, and then go back one step at a time. Works for any Tq and Tk. The
    number of tensor operations does not grow with them.
    """
    ### BEGIN SOLUTION
    if scale is None:
        scale = queries.shape[-1] ** -0.5

    scores = queries @ keys.transpose(-2, -1) * scale  # (..., Tq, Tk)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, dim=-1)

    grad_values = weights.transpose(-2, -1) @ grad_context  # (..., Tk, d_v)
    grad_weights = grad_context @ values.transpose(-2, -1)  # (..., Tq, Tk)
    grad_scores = softmax_backward(weights, grad_weights) * scale

    grad_queries = grad_scores @ keys  # (..., Tq, d)
    grad_keys = grad_scores.transpose(-2, -1) @ queries  # (..., Tk, d)
    return grad_queries, grad_keys, grad_values
    ### END SOLUTION


def self_attention_backward(
    x: Tensor,
    W_query: Tensor,
    W_key: Tensor,
    W_value: Tensor,
    grad_context: Tensor,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of x, W_query, W_key and W_value, as a tuple in this order.

    Shapes: x (T, d_in) or (B, T, d_in), three matrices (d_in, d), and *grad_context* (T, d) or
    (B, T, d). Each gradient has the shape of its tensor. The gradients of the matrices are sums
    over all tokens and all items of the batch.

    In the forward pass, the queries are x @ W_query, the keys x @ W_key and the values x @ W_value.
    Attention follows, with *scale* as in ``attention_backward`` and without a mask. Works for any
    T. The number of tensor operations does not grow with T.
    """
    ### BEGIN SOLUTION
    queries, keys, values = x @ W_query, x @ W_key, x @ W_value
    gradients = attention_backward(queries, keys, values, grad_context, scale)
    grad_queries, grad_keys, grad_values = gradients  # (..., T, d) each

    # x is used three times, so three gradients are added.
    grad_x = grad_queries @ W_query.T + grad_keys @ W_key.T + grad_values @ W_value.T

    rows = x.flatten(0, -2)  # (B · T, d_in)
    grad_W_query = rows.T @ grad_queries.flatten(0, -2)  # (d_in, d)
    grad_W_key = rows.T @ grad_keys.flatten(0, -2)
    grad_W_value = rows.T @ grad_values.flatten(0, -2)
    return grad_x, grad_W_query, grad_W_key, grad_W_value
    ### END SOLUTION
