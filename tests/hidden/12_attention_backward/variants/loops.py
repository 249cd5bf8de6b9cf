"""A correct solution with allowed loops: over predictions, entries, items and heads."""

import torch


def cross_entropy_backward(logits, targets):
    grad = torch.zeros_like(logits)
    for i, target in enumerate(targets.tolist()):
        row = torch.exp(logits[i] - logits[i].max())
        grad[i] = row / row.sum()
        grad[i, target] -= 1
    return grad / len(targets)


def softmax_jacobian(weights):
    V = weights.shape[0]
    jacobian = torch.empty(V, V, dtype=weights.dtype)
    for i in range(V):
        for j in range(V):
            if i == j:
                jacobian[i, j] = weights[i] * (1 - weights[i])
            else:
                jacobian[i, j] = -weights[i] * weights[j]
    return jacobian


def softmax_backward(weights, grad_weights):
    total = torch.sum(weights * grad_weights, -1)
    return weights * (grad_weights - total.unsqueeze(-1))


def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    if queries.dim() > 2:
        shape = (*queries.shape[:-1], keys.shape[-2])
        items = []
        for item in range(len(queries)):
            mask = None if hidden is None else torch.broadcast_to(hidden, shape)[item]
            args = (queries[item], keys[item], values[item], grad_context[item])
            items.append(attention_backward(*args, scale, mask))
        return tuple(torch.stack(grads) for grads in zip(*items))
    if scale is None:
        scale = queries.shape[1] ** -0.5
    scores = torch.mm(queries, keys.t()) * scale
    if hidden is not None:
        scores[hidden.expand_as(scores)] = -torch.inf
    weights = torch.softmax(scores, dim=1)
    grad_scores = softmax_backward(weights, torch.mm(grad_context, values.t()))
    grad_scores *= scale
    return grad_scores.mm(keys), grad_scores.t().mm(queries), weights.t().mm(grad_context)


def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    if x.dim() == 2:
        dq, dk, dv = attention_backward(
            x @ W_query, x @ W_key, x @ W_value, grad_context, scale
        )
        dx = dq @ W_query.t()
        dx += dk @ W_key.t()
        dx += dv @ W_value.t()
        return dx, x.t() @ dq, x.t() @ dk, x.t() @ dv
    grad_x = torch.zeros_like(x)
    sums = [torch.zeros_like(W) for W in (W_query, W_key, W_value)]
    for item in range(x.shape[0]):
        grad_x[item], *grads = self_attention_backward(
            x[item], W_query, W_key, W_value, grad_context[item], scale
        )
        for total, grad in zip(sums, grads):
            total += grad
    return grad_x, *sums
