import torch
from torch import nn
import torch.nn.functional as F


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        a, b = F.linear(x, torch.cat([self.gate.weight, self.up.weight])).chunk(2, -1)
        return F.linear(a * b * torch.sigmoid(b), self.down.weight)
