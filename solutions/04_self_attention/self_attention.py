"""Self-attention as a module: from three frozen matrices to three linear layers.

Shapes in this stage: T tokens, d_in features per token, d_out features per query, key and value.
There is no batch axis yet: inputs are (T, d_in), and context vectors are (T, d_out). Row i belongs
to token i. In the attention weights, (T, T), row i holds the weights that token i gives to every
token.

The caller sets the seed before it creates a module, so nothing in this file sets a seed.
"""

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    """Scaled dot-product self-attention with frozen random weights.

    The parameters W_q, W_k and W_v are drawn in this order, each with its own call of
    ``torch.randn``. Each has shape (dimension_inputs, dimension_outputs) and
    ``requires_grad=False``.
    """

    def __init__(self, dimension_inputs: int, dimension_outputs: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        shape = (dimension_inputs, dimension_outputs)
        self.W_q = nn.Parameter(torch.randn(shape), requires_grad=False)
        self.W_k = nn.Parameter(torch.randn(shape), requires_grad=False)
        self.W_v = nn.Parameter(torch.randn(shape), requires_grad=False)
        ### END SOLUTION

    def forward(self, input_vectors: Tensor) -> Tensor:
        """Mix the values of all tokens for each token: (T, d_in) -> (T, d_out)."""
        ### BEGIN SOLUTION
        queries = input_vectors @ self.W_q  # (T, d_out)
        keys = input_vectors @ self.W_k
        values = input_vectors @ self.W_v

        scores = queries @ keys.T  # (T, T), one row per query
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values  # (T, d_out)
        ### END SOLUTION


class SelfAttention_v1(nn.Module):
    """Self-attention with trainable weights.

    The parameters W_query, W_key and W_value are drawn in this order, each with its own call of
    ``torch.rand``. Each has shape (d_in, d_out).
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values of all tokens for each token: (T, d_in) -> (T, d_out)."""
        ### BEGIN SOLUTION
        queries = x @ self.W_query  # (T, d_out)
        keys = x @ self.W_key
        values = x @ self.W_value

        scores = queries @ keys.T  # (T, T), one row per query
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values  # (T, d_out)
        ### END SOLUTION


class SelfAttention_v2(nn.Module):
    """Self-attention with ``nn.Linear``, whose initial weights make training easier.

    The layers W_query, W_key and W_value are created in this order, each from d_in to d_out
    features. They have a bias only if *qkv_bias* is true.
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values of all tokens for each token: (T, d_in) -> (T, d_out)."""
        ### BEGIN SOLUTION
        queries = self.W_query(x)  # (T, d_out)
        keys = self.W_key(x)
        values = self.W_value(x)

        scores = queries @ keys.T  # (T, T), one row per query
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values  # (T, d_out)
        ### END SOLUTION


def transfer_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    """Copy the weights of *source* into *target*, in place, so that both give the same output.

    An ``nn.Linear`` stores its weight as (d_out, d_in), and the target stores it as (d_in, d_out).
    The target keeps its own trainable parameters: training it later does not change *source*.
    Raises ``ValueError`` if *source* has a bias, because the target has none.
    """
    ### BEGIN SOLUTION
    layers = (source.W_query, source.W_key, source.W_value)
    if any(layer.bias is not None for layer in layers):
        raise ValueError("the source has a bias, but the target cannot hold one")

    with torch.no_grad():
        target.W_query.copy_(source.W_query.weight.T)  # (d_in, d_out)
        target.W_key.copy_(source.W_key.weight.T)
        target.W_value.copy_(source.W_value.weight.T)
    ### END SOLUTION
