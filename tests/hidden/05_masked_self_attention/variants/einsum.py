"""Uses einsum over the last two axes, without row_dim and col_dim, a bool mask and torch.where."""

import torch
from torch import einsum, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, token_encodings):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        scores = einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
        return einsum("...qk,...kd->...qd", scores.softmax(-1), v)


def causal_mask(size):
    positions = torch.arange(size)
    return positions[:, None] >= positions  # the mask may have any dtype


class MaskedSelfAttention(SelfAttention):
    def forward(self, token_encodings, mask):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        scores = einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
        scores = torch.where(mask.bool(), scores, torch.tensor(float("-inf")))
        return einsum("...qk,...kd->...qd", scores.softmax(-1), v)
