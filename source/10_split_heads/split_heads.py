"""Multi-head attention with shared products: project once, split into heads, attend, merge.

Shapes in this stage: B items in the batch, T tokens in each, d_in features per token, H heads of
size d, d_out = H · d features per query, key, value and context vector. Block h of d features
belongs to head h. The rows of a (T, T) matrix are queries, and its columns are keys.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Give every head its block of features: (B, T, D) -> (B, H, T, D/H).

    The features of each token are split into *num_heads* blocks: head 0 gets the first D/H features
    of every token, head 1 the next D/H, and so on. The order of the tokens stays the same. The
    number of tensor operations does not grow with T. Raises ``ValueError`` if *num_heads* does not
    divide D.
    """
    raise NotImplementedError


def merge_heads(x: Tensor) -> Tensor:
    """Concatenate the features of all heads: (B, H, T, d) -> (B, T, H · d).

    This is the inverse of ``split_heads``: each token gets the d features of head 0, then those of
    head 1, and so on. The number of tensor operations does not grow with T.
    """
    raise NotImplementedError


class MultiHeadAttention(nn.Module):
    """Causal attention with several heads that share one matrix product per step.

    Create the layers W_query, W_key, W_value and out_proj in this order. W_query, W_key and W_value
    are each an ``nn.Linear`` from d_in to d_out features, with a bias only if *qkv_bias* is true.
    The layer out_proj is an ``nn.Linear`` from d_out to d_out features with a bias. Each of the
    *num_heads* heads works on d_out / num_heads features. In training, each attention weight is set
    to zero after softmax with probability *dropout*, and the remaining weights are divided by
    1 - dropout. Also register a buffer ``mask``. You choose its contents, for example ones above
    the diagonal of a (context_length, context_length) matrix. Raises ``ValueError`` if *num_heads*
    does not divide *d_out*. Your code must not set a seed: the caller sets it. Torch's own
    attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed. The mask is a
    buffer: it moves with the module and is not trained.
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
        """Mix the values up to each token in every head: (B, T, d_in) -> (B, T, d_out).

        Queries, keys and values are split into heads. In each head, the context vector of token i
        is the sum of the values of tokens 0 to i, weighted by its causal attention weights. The
        scores of a head are divided by the square root of the head size. The heads are merged, and
        out_proj mixes their features. Works for any T up to context_length. The number of tensor
        operations does not grow with T. Raises ``ValueError`` if T is above context_length. In eval
        mode, nothing is dropped.
        """
        raise NotImplementedError
