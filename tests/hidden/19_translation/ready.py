"""The attention and the loss of stage 19 by what torch has ready-made."""

import torch.nn.functional as F
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, visible=None):
        queries, keys, values = (
            one.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for one in (self.W_query(x), self.W_key(memory), self.W_value(memory))
        )
        mask = None if visible is None else visible.unsqueeze(-3)
        context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        return self.out_proj(context.transpose(1, 2).flatten(2))


def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    return F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=padding,
        label_smoothing=smoothing,
    )
