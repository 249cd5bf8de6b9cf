"""Has a base class, helpers, its own softmax, more attributes than needed, and a demo."""

import torch
from torch import nn

inputs = torch.tensor([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64]])


def my_softmax(scores):
    """Compute a stable softmax by hand."""
    shifted = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return shifted / shifted.sum(dim=-1, keepdim=True)


class Base(nn.Module):
    def attend(self, queries, keys, values):
        self.last_scores = (queries * keys.shape[-1] ** -0.5).mm(keys.t())
        self.last_weights = my_softmax(self.last_scores)
        return self.last_weights.mm(values)


class SelfAttentionV1(Base):
    def __init__(self, dimension_inputs, dimension_outputs, verbose=False):
        super().__init__()
        self.verbose = verbose
        self.W_q = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs))
        self.W_k = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs))
        self.W_v = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs))
        for parameter in self.parameters():
            parameter.requires_grad = False

    def forward(self, input_vectors):
        print("shape:", input_vectors.shape)
        return self.attend(
            input_vectors.mm(self.W_q), input_vectors.mm(self.W_k), input_vectors.mm(self.W_v)
        )


class SelfAttention_v1(Base):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        self.W_query = self.draw()
        self.W_key = self.draw()
        self.W_value = self.draw()
        self.register_buffer("root", torch.tensor(d_out**0.5))

    def draw(self):
        return nn.Parameter(torch.rand(self.d_in, self.d_out))

    def forward(self, x):
        return self.attend(x.matmul(self.W_query), x.matmul(self.W_key), x.matmul(self.W_value))


class SelfAttention_v2(Base):
    def __init__(self, d_in, d_out, qkv_bias=False, dropout=0.0):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.attend(self.W_query(x), self.W_key(x), self.W_value(x)))


@torch.no_grad()
def transfer_weights(source, target):
    for name, parameter in target.named_parameters():
        layer = source.get_submodule(name)
        if layer.bias is not None:
            raise ValueError(f"{name} has a bias")
        parameter.data.copy_(layer.weight.data.transpose(0, 1))
    return target


torch.manual_seed(123)
print(SelfAttention_v1(3, 2)(inputs))
print(nn.functional.scaled_dot_product_attention(inputs, inputs, inputs))
