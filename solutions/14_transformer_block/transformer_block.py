"""A transformer block: attention and a feed-forward network, each with a norm and a shortcut.

Shapes in this stage: B items in the batch, T tokens in each, d_model features per token, d_hidden
features inside a feed-forward network. Norms, activations and feed-forward networks treat each
token separately. Only attention mixes tokens. A shortcut adds the input of a part of the network to
the output of that part.
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
        ### BEGIN SOLUTION
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_out} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer("mask", future == 1)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Return the context vector of each token: (B, T, d_in) -> (B, T, d_out).

        In every head, each token attends to itself and to the tokens before it. Raises
        ``ValueError`` if T is greater than context_length. In eval mode, no weight is dropped.
        """
        ### BEGIN SOLUTION
        B, T, _ = x.shape
        context_length = self.mask.shape[0]
        if context_length < T:
            raise ValueError(f"{T} tokens do not fit into a context of {context_length}")

        queries = self.W_query(x)  # (B, T, d_out)
        keys = self.W_key(x)
        values = self.W_value(x)

        H, d = self.num_heads, queries.shape[-1] // self.num_heads
        queries = queries.view(B, T, H, d).transpose(1, 2)  # (B, H, T, d)
        keys = keys.view(B, T, H, d).transpose(1, 2)
        values = values.view(B, T, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1)  # (B, H, T, T), one row per query
        masked = scores.masked_fill(self.mask[:T, :T], float("-inf"))
        weights = torch.softmax(masked / d**0.5, dim=-1)
        weights = self.dropout(weights)
        context = weights @ values  # (B, H, T, d)

        context = context.transpose(1, 2).reshape(B, T, H * d)  # (B, T, d_out)
        return self.out_proj(context)
        ### END SOLUTION


class LayerNorm(nn.Module):
    """Normalizes the features of each token to mean 0 and variance 1, then scales and shifts them.

    There are two parameters of shape (d_model,): scale, initially all ones, and shift, initially
    all zeros. The variance is the mean squared distance from the mean, so the sum of the squares is
    divided by d_model. *eps* is added to the variance under the square root. The norm works on the
    last axis of a tensor with any number of axes.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last axis: (..., d_model) -> (..., d_model)."""
        ### BEGIN SOLUTION
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        normalized = (x - mean) / torch.sqrt(variance + self.eps)
        return self.scale * normalized + self.shift
        ### END SOLUTION


class RMSNorm(nn.Module):
    """Divides the features of each token by their root mean square, then scales them.

    The only parameter is scale, of shape (d_model,), initially all ones. No mean is subtracted, and
    nothing is shifted. *eps* is added to the mean square under the square root. The norm works on
    the last axis of a tensor with any number of axes.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last axis: (..., d_model) -> (..., d_model)."""
        ### BEGIN SOLUTION
        mean_square = (x**2).mean(dim=-1, keepdim=True)  # (..., 1)
        return self.scale * x / torch.sqrt(mean_square + self.eps)
        ### END SOLUTION


def gelu(x: Tensor) -> Tensor:
    """Return the tanh approximation of GELU for each number, in a tensor of the same shape.

    GELU(x) = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).
    """
    ### BEGIN SOLUTION
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(inner))
    ### END SOLUTION


class DeepNetwork(nn.Module):
    """Linear layers in sequence, each followed by GELU, with or without shortcuts.

    *layer_sizes* lists the numbers of features from input to output: [3, 5, 1] means two layers,
    from 3 to 5 and from 5 to 1 features. layers is an ``nn.ModuleList`` of ``nn.Linear`` with
    biases, in this order.
    """

    def __init__(self, layer_sizes: Sequence[int], use_shortcut: bool) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.use_shortcut = use_shortcut
        pairs = zip(layer_sizes[:-1], layer_sizes[1:], strict=True)  # noqa: RUF007  # readable
        self.layers = nn.ModuleList(nn.Linear(d_in, d_out) for d_in, d_out in pairs)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Apply all layers: (..., layer_sizes[0]) -> (..., layer_sizes[-1]).

        GELU follows each layer, including the last one. If *use_shortcut* is true, the input of
        each layer is added to the result of its GELU if both have the same shape.
        """
        ### BEGIN SOLUTION
        for layer in self.layers:
            output = gelu(layer(x))
            x = x + output if self.use_shortcut and x.shape == output.shape else output
        return x
        ### END SOLUTION


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, applied to each token separately.

    Layers, created in this order, both ``nn.Linear`` with a bias: linear1 from d_model to d_hidden
    features, and linear2 from d_hidden to d_model features. *activation* is "gelu" (your ``gelu``)
    or "relu". Raises ``ValueError`` for any other activation.
    """

    def __init__(self, d_model: int, d_hidden: int, activation: str = "gelu") -> None:
        super().__init__()
        ### BEGIN SOLUTION
        if activation not in ("gelu", "relu"):
            raise ValueError(f"the activation is gelu or relu, not {activation!r}")
        self.activation = gelu if activation == "gelu" else torch.relu
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token: (..., d_model) -> (..., d_model)."""
        ### BEGIN SOLUTION
        hidden = self.activation(self.linear1(x))  # (..., d_hidden)
        return self.linear2(hidden)
        ### END SOLUTION


class SwiGLU(nn.Module):
    """A feed-forward network in which one layer gates the features of another.

    Layers, created in this order, all ``nn.Linear`` without a bias: gate and up, each from d_model
    to d_hidden features, and down, from d_hidden to d_model features.
    """

    def __init__(self, d_model: int, d_hidden: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token: (..., d_model) -> (..., d_model).

        The result is down(silu(gate(x)) · up(x)), where the product is elementwise and
        silu(z) = z · sigmoid(z).
        """
        ### BEGIN SOLUTION
        gate = self.gate(x)  # (..., d_hidden)
        hidden = gate * torch.sigmoid(gate) * self.up(x)
        return self.down(hidden)
        ### END SOLUTION


class TransformerBlock(nn.Module):
    """Attention and a feed-forward network, each with a norm and a shortcut around it.

    Parts: att is the module *attention* itself, which maps (B, T, d_model) to (B, T, d_model);
    norm1 and norm2 are your ``LayerNorm`` with the default eps; ff is your ``FeedForward`` with
    *d_hidden* hidden features and *activation*.
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
        ### BEGIN SOLUTION
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Mix the tokens, then transform each of them: (B, T, d_model) -> (B, T, d_model).

        If *norm_first* is true (pre-norm), norm1 normalizes the input of att, and norm2 normalizes
        the input of ff. The result of att is added to the input of norm1, and that of ff to the
        input of norm2. Otherwise (post-norm), att and ff get the features without a norm. The
        result of each is added to its input, and norm1 and norm2 normalize the two sums.
        """
        ### BEGIN SOLUTION
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))

        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))
        ### END SOLUTION
