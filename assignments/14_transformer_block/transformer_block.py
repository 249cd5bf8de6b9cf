"""A transformer block: attention and a feed-forward network, each with a norm and a shortcut.

Shapes in this stage: B items in the batch, T tokens in each, d_model features per token, d_hidden
features inside a feed-forward network. Norms, activations and feed-forward networks treat each
token separately. Only attention mixes tokens. A shortcut adds the input of a part of the network to
the output of that part.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Your code must not set a seed: the caller sets it.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Your causal attention from stage 10, which the kit copies once it has passed there.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_in to d_out
    features with a bias only if *qkv_bias* is true; out_proj, an ``nn.Linear`` from d_out to d_out
    features with a bias. Each of the *num_heads* heads works on a block of d_out / num_heads
    consecutive features. In training, dropout follows the softmax: each attention weight is set to
    zero with the probability *dropout*, and the other weights are divided by 1 - dropout. Raises
    ``ValueError`` if *num_heads* does not divide *d_out*.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return the context vector of each token: (B, T, d_in) -> (B, T, d_out).

        In every head, each token attends to itself and to the tokens before it. Raises
        ``ValueError`` if T is greater than context_length. In eval mode, no weight is dropped.
        """
        raise NotImplementedError


class LayerNorm(nn.Module):
    """Normalizes the features of each token to mean 0 and variance 1, then scales and shifts them.

    There are two parameters of shape (d_model,): scale, initially all ones, and shift, initially
    all zeros. The variance is the mean squared distance from the mean, so the sum of the squares is
    divided by d_model. *eps* is added to the variance under the square root. The norm works on the
    last axis of a tensor with any number of axes. Write out norms with means and roots: torch's own
    norms (`nn.LayerNorm`, `nn.RMSNorm`, `F.layer_norm`, `F.rms_norm` and the like) are not allowed.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last axis: (..., d_model) -> (..., d_model)."""
        raise NotImplementedError


class RMSNorm(nn.Module):
    """Divides the features of each token by their root mean square, then scales them.

    The only parameter is scale, of shape (d_model,), initially all ones. No mean is subtracted, and
    nothing is shifted. *eps* is added to the mean square under the square root. The norm works on
    the last axis of a tensor with any number of axes. Write out norms with means and roots: torch's
    own norms (`nn.LayerNorm`, `nn.RMSNorm`, `F.layer_norm`, `F.rms_norm` and the like) are not
    allowed.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last axis: (..., d_model) -> (..., d_model)."""
        raise NotImplementedError


def gelu(x: Tensor) -> Tensor:
    """Return the tanh approximation of GELU for each number, in a tensor of the same shape.

    GELU(x) = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))). Write out GELU and gates: `F.gelu`,
    `nn.GELU` and `F.glu` are not allowed; `torch.tanh`, `torch.relu`, `torch.sigmoid` and `F.silu`
    are.
    """
    raise NotImplementedError


class DeepNetwork(nn.Module):
    """Linear layers in sequence, each followed by GELU, with or without shortcuts.

    *layer_sizes* lists the numbers of features from input to output: [3, 5, 1] means two layers,
    from 3 to 5 and from 5 to 1 features. layers is an ``nn.ModuleList`` of ``nn.Linear`` with
    biases, in this order. Write out GELU and gates: `F.gelu`, `nn.GELU` and `F.glu` are not
    allowed; `torch.tanh`, `torch.relu`, `torch.sigmoid` and `F.silu` are.
    """

    def __init__(self, layer_sizes: Sequence[int], use_shortcut: bool) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Apply all layers: (..., layer_sizes[0]) -> (..., layer_sizes[-1]).

        GELU follows each layer, including the last one. If *use_shortcut* is true, the input of
        each layer is added to the result of its GELU if both have the same shape.
        """
        raise NotImplementedError


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, applied to each token separately.

    Layers, created in this order, both ``nn.Linear`` with a bias: linear1 from d_model to d_hidden
    features, and linear2 from d_hidden to d_model features. *activation* is "gelu" (your ``gelu``)
    or "relu". Raises ``ValueError`` for any other activation. Write out GELU and gates: `F.gelu`,
    `nn.GELU` and `F.glu` are not allowed; `torch.tanh`, `torch.relu`, `torch.sigmoid` and `F.silu`
    are.
    """

    def __init__(self, d_model: int, d_hidden: int, activation: str = "gelu") -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token: (..., d_model) -> (..., d_model)."""
        raise NotImplementedError


class SwiGLU(nn.Module):
    """A feed-forward network in which one layer gates the features of another.

    Layers, created in this order, all ``nn.Linear`` without a bias: gate and up, each from d_model
    to d_hidden features, and down, from d_hidden to d_model features. Write out GELU and gates:
    `F.gelu`, `nn.GELU` and `F.glu` are not allowed; `torch.tanh`, `torch.relu`, `torch.sigmoid` and
    `F.silu` are.
    """

    def __init__(self, d_model: int, d_hidden: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token: (..., d_model) -> (..., d_model).

        The result is down(silu(gate(x)) · up(x)), where the product is elementwise and
        silu(z) = z · sigmoid(z).
        """
        raise NotImplementedError


class TransformerBlock(nn.Module):
    """Attention and a feed-forward network, each with a norm and a shortcut around it.

    Parts: att is the module *attention* itself, which maps (B, T, d_model) to (B, T, d_model);
    norm1 and norm2 are your ``LayerNorm`` with the default eps; ff is your ``FeedForward`` with
    *d_hidden* hidden features and *activation*. Write out norms with means and roots: torch's own
    norms (`nn.LayerNorm`, `nn.RMSNorm`, `F.layer_norm`, `F.rms_norm` and the like) are not allowed.
    Write out GELU and gates: `F.gelu`, `nn.GELU` and `F.glu` are not allowed; `torch.tanh`,
    `torch.relu`, `torch.sigmoid` and `F.silu` are.
    """

    def __init__(
        self,
        attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Mix the tokens, then transform each of them: (B, T, d_model) -> (B, T, d_model).

        If *norm_first* is true (pre-norm), norm1 normalizes the input of att, and norm2 normalizes
        the input of ff. The result of att is added to the input of norm1, and that of ff to the
        input of norm2. Otherwise (post-norm), att and ff get the features without a norm. The
        result of each is added to its input, and norm1 and norm2 normalize the two sums.
        """
        raise NotImplementedError
