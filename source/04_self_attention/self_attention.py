"""Self-attention as a module: from three frozen matrices to three linear layers.

Shapes in this stage: T tokens, d_in features per token, d_out features per query, key and value.
There is no batch axis yet: inputs are (T, d_in), and context vectors are (T, d_out). Row i belongs
to token i. In the attention weights, (T, T), row i holds the weights that token i gives to every
token.

The caller sets the seed before it creates a module, so nothing in this file sets a seed.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
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
        raise NotImplementedError

    def forward(self, input_vectors: Tensor) -> Tensor:
        """Mix the values of all tokens for each token: (T, d_in) -> (T, d_out)."""
        raise NotImplementedError


class SelfAttention_v1(nn.Module):
    """Self-attention with trainable weights.

    The parameters W_query, W_key and W_value are drawn in this order, each with its own call of
    ``torch.rand``. Each has shape (d_in, d_out).
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values of all tokens for each token: (T, d_in) -> (T, d_out)."""
        raise NotImplementedError


class SelfAttention_v2(nn.Module):
    """Self-attention with ``nn.Linear``, whose initial weights make training easier.

    The layers W_query, W_key and W_value are created in this order, each from d_in to d_out
    features. They have a bias only if *qkv_bias* is true.
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values of all tokens for each token: (T, d_in) -> (T, d_out)."""
        raise NotImplementedError


def transfer_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    """Copy the weights of *source* into *target*, in place, so that both give the same output.

    An ``nn.Linear`` stores its weight as (d_out, d_in), and the target stores it as (d_in, d_out).
    The target keeps its own trainable parameters: training it later does not change *source*.
    Raises ``ValueError`` if *source* has a bias, because the target has none.
    """
    raise NotImplementedError
