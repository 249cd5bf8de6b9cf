"""Gradients by hand: the backward pass from a loss through softmax and attention.

The gradient of a tensor has the tensor's shape. Each entry of the gradient is the rate at which the
loss grows with that entry of the tensor. ``grad_context`` is the gradient of the context vectors,
and so on. A step of the backward pass gets the gradient of the step's result, and returns the
gradients of the step's arguments.

Shapes: N predictions, V tokens in the vocabulary, B items in the batch, T tokens, Tq queries, Tk
keys, d features of a query or key, d_v features of a value; "..." are any leading axes, the same
for all arguments. You may use any forward operation, including ``torch.softmax``.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- You compute every gradient yourself: autograd (`backward`, `requires_grad_`, `torch.autograd`,
  `torch.func`) is not allowed, nor are torch's own backward operators.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor


def cross_entropy_backward(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the gradient of the mean cross-entropy loss: (N, V), (N,) -> (N, V).

    *targets* are the ids of the right tokens. Each of the N predictions is a row of V logits, and
    the loss is the mean of -log p(target) over them. Entry [n, v] is the rate at which the loss
    grows with logit v of prediction n. Logits of 1000 or -1000 give finite gradients.
    """
    raise NotImplementedError


def softmax_jacobian(weights: Tensor) -> Tensor:
    """Return the Jacobian of one softmax, a matrix of all its derivatives: (V,) -> (V, V).

    *weights* are the results of the softmax. Entry [i, j] is the derivative of weight i with
    respect to score j.
    """
    raise NotImplementedError


def softmax_backward(weights: Tensor, grad_weights: Tensor) -> Tensor:
    """Return the gradient of the scores of a softmax: (..., T), (..., T) -> (..., T).

    The softmax runs over the last axis: *weights* are its results, and *grad_weights* is their
    gradient. For each row of weights, the result is the Jacobian of the row times the row of
    *grad_weights*. The T · T numbers of the Jacobian are never built, because one sum over the row
    is enough. Works for any T and any number of rows. The number of tensor operations grows with
    neither.
    """
    raise NotImplementedError


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
    raise NotImplementedError


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
    raise NotImplementedError
