import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        deviation = x - x.sum(-1, keepdim=True) / self.d_model
        variance = torch.einsum("...d,...d->...", deviation, deviation) / (self.d_model - 1)
        return torch.addcmul(self.shift, deviation * (variance[..., None] + self.eps).rsqrt(), self.scale)
