"""Multi-head attention with shared products: project once, split into heads, attend, merge.

Shapes in this stage: B items in the batch, T tokens in each, d_in features per token, H heads of
size d, d_out = H · d features per query, key, value and context vector. Block h of d features
belongs to head h. The rows of a (T, T) matrix are queries, and its columns are keys.
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
    ### BEGIN SOLUTION
    B, T, D = x.shape
    if D % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {D} features evenly")

    heads = x.view(B, T, num_heads, D // num_heads)  # (B, T, H, D/H)
    return heads.transpose(1, 2)  # (B, H, T, D/H)
    ### END SOLUTION


def merge_heads(x: Tensor) -> Tensor:
    """Concatenate the features of all heads: (B, H, T, d) -> (B, T, H · d).

    This is the inverse of ``split_heads``: each token gets the d features of head 0, then those of
    head 1, and so on. The number of tensor operations does not grow with T.
    """
    ### BEGIN SOLUTION
    B, H, T, d = x.shape
    tokens = x.transpose(1, 2)  # (B, T, H, d)
    return tokens.reshape(B, T, H * d)
    ### END SOLUTION


class MultiHeadAttention(nn.Module):
    """Causal attention with several heads that share one matrix product per step.

    Create the layers W_query, W_key, W_value and out_proj in this order. W_query, W_key and W_value
    are each an ``nn.Linear`` from d_in to d_out features, with a bias only if *qkv_bias* is true.
    The layer out_proj is an ``nn.Linear`` from d_out to d_out features with a bias. Each of the
    *num_heads* heads works on d_out / num_heads features. In training, each attention weight is set
    to zero after softmax with probability *dropout*, and the remaining weights are divided by
    1 - dropout. Also register a buffer ``mask``. You choose its contents, for example ones above
    the diagonal of a (context_length, context_length) matrix. Raises ``ValueError`` if *num_heads*
    does not divide *d_out*.
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
        """Mix the values up to each token in every head: (B, T, d_in) -> (B, T, d_out).

        Queries, keys and values are split into heads. In each head, the context vector of token i
        is the sum of the values of tokens 0 to i, weighted by its causal attention weights. The
        scores of a head are divided by the square root of the head size. The heads are merged, and
        out_proj mixes their features. Works for any T up to context_length. The number of tensor
        operations does not grow with T. Raises ``ValueError`` if T is above context_length. In eval
        mode, nothing is dropped.
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
