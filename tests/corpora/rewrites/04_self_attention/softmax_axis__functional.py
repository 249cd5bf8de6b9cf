import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        for name in ["W_q", "W_k", "W_v"]:
            w = torch.randn(dimension_inputs, dimension_outputs)
            self.register_parameter(name, nn.Parameter(w, requires_grad=False))

    def forward(self, input_vectors):
        q = input_vectors.matmul(self.W_q)
        k = input_vectors.matmul(self.W_k)
        v = input_vectors.matmul(self.W_v)
        omega = torch.mm(q, k.t()).div(math.sqrt(self.W_k.size(1)))
        alpha = F.softmax(omega, 0)
        return torch.mm(alpha, v)
