"""All gradients by autograd."""

import torch
import torch.nn.functional as F


def back_by_autograd(forward, tensors, back):
    with torch.enable_grad():
        given = [one.detach().clone().requires_grad_() for one in tensors]
        return torch.autograd.grad(forward(*given), given, back)


def attend(queries, keys, values, scale, hidden=None):
    visible = None if hidden is None else ~hidden
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible, scale=scale)


def cross_entropy_backward(logits, targets):
    one = logits.new_ones(())
    return back_by_autograd(lambda given: F.cross_entropy(given, targets), [logits], one)[0]


def softmax_jacobian(weights):
    forward = lambda scores: torch.softmax(scores, dim=-1)
    return torch.autograd.functional.jacobian(forward, weights.log())


def softmax_backward(weights, grad_weights):
    forward = lambda scores: torch.softmax(scores, dim=-1)
    return back_by_autograd(forward, [weights.log()], grad_weights)[0]


def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    forward = lambda *given: attend(*given, scale, hidden)
    return back_by_autograd(forward, [queries, keys, values], grad_context)


def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    def forward(x, W_query, W_key, W_value):
        return attend(x @ W_query, x @ W_key, x @ W_value, scale)

    return back_by_autograd(forward, [x, W_query, W_key, W_value], grad_context)
