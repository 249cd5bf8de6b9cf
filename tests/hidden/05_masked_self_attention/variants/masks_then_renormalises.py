"""Masks the weights after softmax and divides each row by its remaining sum; prints; has a demo."""

import torch
from torch import nn


def weights_of(q, k):
    scores = q @ k.mT / k.shape[-1] ** 0.5
    scores = scores - scores.amax(dim=-1, keepdim=True)
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, verbose=False):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.verbose = verbose
        self.register_buffer("root", torch.tensor(d_model**0.5))

    def forward(self, token_encodings):
        self.weights = weights_of(self.W_q(token_encodings), self.W_k(token_encodings))
        print(self.weights.shape)
        return self.weights @ self.W_v(token_encodings)


def causal_mask(size, device=None):
    return torch.ones((size, size), device=device).cumsum(0).ge(torch.arange(1, size + 1)).long()


class MaskedSelfAttention(SelfAttention):
    def forward(self, token_encodings, mask=None):
        weights = weights_of(self.W_q(token_encodings), self.W_k(token_encodings))
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ self.W_v(token_encodings)


torch.manual_seed(42)
print(MaskedSelfAttention()(torch.rand(3, 2), causal_mask(3)))
