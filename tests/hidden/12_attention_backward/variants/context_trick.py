"""A correct solution in a different idiom: lists as results, and steps that follow the scores."""

import torch
import torch.nn.functional as F


def cross_entropy_backward(logits, targets):
    grad = torch.exp(F.log_softmax(logits, dim=-1))
    grad = grad.index_put((torch.arange(len(targets)), targets), grad.new_tensor(-1.0), True)
    return grad.div(logits.shape[0])


def softmax_jacobian(weights):
    return weights[:, None] * (torch.eye(len(weights), dtype=weights.dtype) - weights[None])


def softmax_backward(weights, grad_weights):
    shape = weights.shape
    w, g = weights.reshape(-1, shape[-1]), grad_weights.reshape(-1, shape[-1])
    return (w * g - w * torch.linalg.vecdot(w, g)[:, None]).reshape(shape)


def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    root = queries.new_tensor(queries.shape[-1]).sqrt()
    scale = torch.reciprocal(root) if scale is None else scale
    visible = 1 if hidden is None else (~hidden).to(queries.dtype)
    scores = queries @ keys.swapaxes(-1, -2) * scale
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True)) * visible
    weights = exponentials / exponentials.sum(-1, keepdim=True)
    along = grad_context @ values.swapaxes(-1, -2)
    context = weights @ values
    # The weighted mean of the gradients is the context times its own gradient.
    grad_scores = weights * (along - (context * grad_context).sum(-1, keepdim=True))
    grad_q = (grad_scores * scale) @ keys
    grad_k = (grad_scores * scale).swapaxes(-1, -2) @ queries
    return [grad_q, grad_k, weights.swapaxes(-1, -2) @ grad_context]


def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    matrices = torch.stack((W_query, W_key, W_value))  # (3, d_in, d)
    batch = x if x.ndim == 3 else x[None]
    back = grad_context if x.ndim == 3 else grad_context[None]
    q, k, v = batch @ matrices[:, None]  # (3, B, T, d)
    grads = torch.stack(attention_backward(q, k, v, back, scale))
    grad_x = (grads @ matrices[:, None].mT).sum(0)
    grad_W = (batch.mT @ grads).sum(1)  # (3, d_in, d)
    return [grad_x.view_as(x), *grad_W]
