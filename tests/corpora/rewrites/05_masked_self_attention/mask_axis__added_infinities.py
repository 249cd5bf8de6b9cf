import torch
import torch.nn as nn


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.scale = d_model**-0.5

    def forward(self, token_encodings, mask):
        k = self.W_k(token_encodings) * self.scale
        q = self.W_q(token_encodings)
        hide = torch.zeros_like(mask)
        hide[mask.t() < 0.5] = float("-inf")
        return (q @ k.mT + hide).softmax(-1) @ self.W_v(token_encodings)
