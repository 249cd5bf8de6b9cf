import torch
from torch import nn


class SelfAttention(nn.Module):
    """Always reads the last two axes, so that a batch is nothing special."""

    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def scores(self, x):
        return self.W_q(x) @ self.W_k(x).mT / x.shape[-1] ** 0.5

    def forward(self, token_encodings):
        return self.scores(token_encodings).softmax(-1) @ self.W_v(token_encodings)


def causal_mask(size):
    positions = torch.arange(size)
    return (positions[:, None] >= positions).long()


class MaskedSelfAttention(SelfAttention):
    def forward(self, token_encodings, mask):
        scores = torch.where(mask == 1, self.scores(token_encodings), -1e9)
        return scores.softmax(-1) @ self.W_v(token_encodings)
