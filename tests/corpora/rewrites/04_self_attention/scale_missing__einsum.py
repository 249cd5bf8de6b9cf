import torch
from torch import nn


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        q, k, v = (torch.einsum("ti,io->to", x, w) for w in (self.W_query, self.W_key, self.W_value))
        e = torch.einsum("io,jo->ij", q, k).exp()
        w = e / e.sum(dim=1, keepdim=True)
        return torch.einsum("ij,jo->io", w, v)
