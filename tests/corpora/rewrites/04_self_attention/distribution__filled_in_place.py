import torch
from torch import nn


def scaled_attention(q, k, v):
    logits = (q @ k.mT) * (1.0 / k.shape[1] ** 0.5)
    return logits.softmax(dim=1) @ v


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = [
            nn.Parameter(torch.empty(d_in, d_out).normal_()) for _ in range(3)
        ]

    def forward(self, x):
        return scaled_attention(x @ self.W_query, x @ self.W_key, x @ self.W_value)
