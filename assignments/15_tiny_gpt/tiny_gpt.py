"""A GPT in one file: embeddings, a stack of blocks, logits, and a loop that writes text.

Shapes in this stage: B items in the batch, T tokens in each, V tokens in the vocabulary, d_model
features per token. A token is a number from 0 to V - 1, its id, and ids are int64. Logits are
numbers, one for each token of the vocabulary: the largest is that of the token that is most likely
to come next. The caller sets the seed.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Documented values and properties count only if the results are right for other inputs too.
"""

import math

import torch
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Your causal attention of stage 10: copy the class, and the functions it uses, to this file.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_in to d_out
    features with a bias only if *qkv_bias* is true; out_proj, an ``nn.Linear`` from d_out to d_out
    features with a bias. Each of the *num_heads* heads works on a block of d_out / num_heads
    neighbouring features. *dropout* is the probability with which an attention weight, after
    softmax, is set to zero in training; the others are divided by 1 - dropout. Raises
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
        """Mix the values of tokens up to each token in every head: (B, T, d_in) -> (B, T, d_out).

        Raises ``ValueError`` if T is above context_length. In eval mode nothing is dropped.
        """
        raise NotImplementedError


class LayerNorm(nn.Module):
    """Your norm of stage 14: copy the class to this file.

    Parameters, each of size (d_model,): scale, which starts with ones, and shift, with zeros. The
    variance is the mean of the squared distances from the mean: their sum is divided by d_model.
    *eps* is added to the variance, under the root. Works on the last axis of any tensor.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis: (..., d_model) -> (..., d_model)."""
        raise NotImplementedError


class FeedForward(nn.Module):
    """Your feed-forward network of stage 14: copy the class, and your ``gelu``, to this file.

    Layers, created in this order, both ``nn.Linear`` with a bias: linear1 from d_model to d_hidden
    features, linear2 from d_hidden to d_model features. *activation* is "gelu" (your ``gelu``) or
    "relu". Raises ``ValueError`` for any other activation.
    """

    def __init__(self, d_model: int, d_hidden: int, activation: str = "gelu") -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token: (..., d_model) -> (..., d_model)."""
        raise NotImplementedError


class TransformerBlock(nn.Module):
    """Your block of stage 14: copy the class to this file.

    Parts: att is the module *attention* itself, which maps (B, T, d_model) to (B, T, d_model);
    norm1 and norm2 are your ``LayerNorm``, with their default eps; ff is your ``FeedForward`` with
    *d_hidden* features and *activation*.
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

        If *norm_first* is true (pre-norm), att gets the features after norm1, and ff gets them
        after norm2; each result is added to the features as they were before that norm. Otherwise
        (post-norm) att and ff get the features as they are, and norm1 and norm2 normalise the two
        sums.
        """
        raise NotImplementedError


class BigramModel(nn.Module):
    """Predicts the next token from the current one alone.

    The only layer is table, an ``nn.Embedding`` of *vocab_size* rows with *vocab_size* numbers
    each: row i holds the logits of the token after token i.
    """

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the token after each token: (B, T) -> (B, T, V)."""
        raise NotImplementedError


class GPT(nn.Module):
    """Predicts the next token from all tokens so far, with a stack of blocks.

    Layers, created in this order: tok_emb, an ``nn.Embedding`` of *vocab_size* vectors; pos_emb, an
    ``nn.Embedding`` of *context_length* vectors; blocks, an ``nn.ModuleList`` of *num_layers* of
    your ``TransformerBlock``; final_norm, your ``LayerNorm``; out_head, an ``nn.Linear`` from
    d_model to *vocab_size* features without a bias. All vectors have d_model features. Each block
    is pre-norm with GELU and 4 · d_model hidden features, around your ``MultiHeadAttention`` from
    d_model to d_model features with *num_heads* heads, *qkv_bias* and a dropout of 0. If *tied* is
    true, tok_emb and out_head share one tensor as their weight, so that training one trains both.
    Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
    Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed. Write
    norms out with means and roots: torch's own norms (`nn.LayerNorm`, `nn.RMSNorm`, `F.layer_norm`,
    `F.rms_norm` and the like) are not allowed. Write GELU and gates out: `F.gelu`, `nn.GELU` and
    `F.glu` are not allowed; `torch.tanh`, `torch.relu`, `torch.sigmoid` and `F.silu` are.
    """

    def __init__(
        self,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        qkv_bias: bool = False,
        tied: bool = False,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the token after each token: (B, T) -> (B, T, V).

        The vector of a token is its row of tok_emb plus the row of pos_emb for its position, which
        counts from 0. The vectors pass through all blocks in order, then through final_norm and
        out_head. Works for any T up to context_length. Raises ``ValueError`` if T is above it.
        """
        raise NotImplementedError


def count_parameters(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    qkv_bias: bool = False,
    tied: bool = False,
) -> int:
    """Return the number of trainable parameters of a ``GPT`` of these sizes, as an int.

    Count them by formula, without building a module or a tensor. A tensor that two layers share
    counts once. The number of heads makes no difference.
    """
    raise NotImplementedError


def top_k_logits(logits: Tensor, k: int) -> Tensor:
    """Keep the *k* largest logits of each row, and set all others to minus infinity.

    A row is the last axis: (..., V) -> (..., V). Logits that equal the k-th largest one are kept
    too, so ties can keep more than k. Raises ``ValueError`` if *k* is not between 1 and V.
    ``torch.topk`` is allowed. A score of minus infinity gets the weight 0.
    """
    raise NotImplementedError


def sample_next(logits: Tensor, temperature: float = 1.0, top_k: int | None = None) -> Tensor:
    """Choose the next token of each item: (B, V) -> (B, 1), ids in int64.

    A *temperature* of 0 chooses the largest logit, without drawing. Any other one divides the
    logits, and one call of ``torch.multinomial`` draws one token per item with the probabilities of
    their softmax. If *top_k* is given, only the *top_k* largest logits of each item can be drawn,
    as in ``top_k_logits``. Raises ``ValueError`` if *temperature* is below 0, and, at every
    temperature, if *top_k* is not between 1 and V.
    """
    raise NotImplementedError


def generate(
    model: nn.Module,
    ids: Tensor,
    new_tokens: int,
    context_length: int,
    temperature: float = 0.0,
    top_k: int | None = None,
) -> Tensor:
    """Continue each text by *new_tokens* tokens: (B, T) -> (B, T + new_tokens).

    *model* turns ids into logits: a ``GPT``, a ``BigramModel``, or any other module that does. It
    is called once for each new token, with the last *context_length* ids only, and ``sample_next``
    chooses the token from its logits at the last position. The result begins with *ids*. No graph
    is built: the code runs under ``torch.no_grad()`` or similar.
    """
    raise NotImplementedError
