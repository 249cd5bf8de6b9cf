"""An encoder and a decoder, which translate from one way of writing into another.

Shapes in this stage: B items in the batch, T_s source tokens, T_t target tokens, T_q queries, T_k
keys, d_model features per token, V tokens in the target's vocabulary. A token is an id, a whole
number. All items of a batch get the same number of ids: padding follows the tokens of the shorter
ones. A mask is a bool tensor that is ``True`` at tokens, or where a query may look.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """Your norm from stage 14, which the kit copies once it has passed there.

    There are two parameters of shape (d_model,): scale, initially all ones, and shift, initially
    all zeros. The variance is the mean squared distance from the mean, so the sum of the squares is
    divided by d_model. *eps* is added to the variance under the square root. The norm works on the
    last axis of a tensor with any number of axes.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last axis: (..., d_model) -> (..., d_model)."""
        raise NotImplementedError


class FeedForward(nn.Module):
    """Your feed-forward network from stage 14, which the kit copies with your ``gelu``.

    Layers, created in this order, both ``nn.Linear`` with a bias: linear1 from d_model to d_hidden
    features, and linear2 from d_hidden to d_model features. *activation* is "gelu" (your ``gelu``)
    or "relu". Raises ``ValueError`` for any other activation.
    """

    def __init__(self, d_model: int, d_hidden: int, activation: str = "gelu") -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token: (..., d_model) -> (..., d_model)."""
        raise NotImplementedError


def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    """Put lists of ids into one tensor: B lists -> ids (B, T) int64 and mask (B, T) bool.

    T is the length of the longest list, and each list has at least one id. The ids of a list are at
    the left of its row, and the id *padding* fills the rest. The mask is ``True`` at tokens and
    ``False`` at padding. It depends on the lengths only: a token may have the same id as the
    padding.
    """
    raise NotImplementedError


def teacher_forcing(
    sequences: Sequence[Sequence[int]], start: int, end: int, padding: int = 0
) -> tuple[Tensor, Tensor]:
    """Return what a decoder reads in training, and what it must predict, both (B, T + 1) int64.

    T is the length of the longest of the B lists of ids. A row of the inputs is *start* and then
    the ids of the list. A row of the targets is the ids of the list and then *end*, so the target
    of each position is the next token. Padding follows in both. Inputs are graded only at positions
    that have a target.
    """
    raise NotImplementedError


class MultiHeadCrossAttention(nn.Module):
    """Attention from the tokens of one sequence to those of another one, in several heads.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_model to
    d_model features with a bias only if *qkv_bias* is true; out_proj, an ``nn.Linear`` from d_model
    to d_model features with a bias. Each of the *num_heads* heads works on a block of
    d_model / num_heads consecutive features. Raises ``ValueError`` if *num_heads* does not divide
    *d_model*. Your code must not set a seed: the caller sets it. Torch's own attention functions
    and layers (`nn.MultiheadAttention`, ...) are not allowed.
    """

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        """Mix the values of the memory: (B, T_q, d_model), (B, T_k, d_model) -> (B, T_q, d_model).

        Queries come from *x*, keys and values from *memory*. In each head, the scores are divided
        by the square root of the size of a head. *visible* is a bool tensor, ``True`` where a query
        may look, and the same for all heads. Its shape is (B, T_q, T_k), (B, 1, T_k), (1, T_q, T_k)
        or (T_q, T_k). Each query sees at least one key. Without *visible*, each query sees all
        keys.
        """
        raise NotImplementedError


class EncoderBlock(nn.Module):
    """Self-attention without a mask over the future, and a feed-forward network.

    Parts: att is the module *attention* itself, a ``MultiHeadCrossAttention``; norm1 and norm2 are
    your ``LayerNorm`` with the default eps; ff is your ``FeedForward`` with *d_hidden* hidden
    features and *activation*.
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

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix the tokens, then transform each of them: (B, T, d_model) -> (B, T, d_model).

        Every token sees every token, also those after it. *mask* (B, T) is ``True`` at tokens and
        ``False`` at padding: no token sees padding. Results at padding are not graded. If
        *norm_first* is true (pre-norm), norm1 normalizes the input of att, and norm2 normalizes the
        input of ff. The result of each is added to the features before the norm. Otherwise
        (post-norm), the result of each is added to its input, and norm1 and norm2 normalize the two
        sums.
        """
        raise NotImplementedError


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the encoder's memory, and a feed-forward network.

    Parts: self_att is the module *self_attention* itself, and cross_att the module
    *cross_attention*, both a ``MultiHeadCrossAttention``; norm1, norm2 and norm3 are your
    ``LayerNorm`` with the default eps; ff is your ``FeedForward`` with *d_hidden* hidden features
    and *activation*.
    """

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Mix the target's tokens, read the memory, then transform each token.

        (B, T_t, d_model), (B, T_s, d_model) -> (B, T_t, d_model). First, each target token attends
        to itself and to the target tokens before it. Then it attends to all tokens of the memory,
        except for those at which *memory_mask* (B, T_s) is ``False``. ff comes last. If
        *norm_first* is true (pre-norm), norm1, norm2 and norm3 normalize the inputs of the three
        parts, and the result of each part is added to the features before the norm. Otherwise
        (post-norm), the result of each part is added to its input, and norm1, norm2 and norm3
        normalize the three sums. The memory comes as it is: the block does not normalize it.
        """
        raise NotImplementedError


class Translator(nn.Module):
    """An encoder, which reads the source, and a decoder, which predicts the target.

    Layers, created in this order: source_emb and source_pos, target_emb and target_pos, each an
    ``nn.Embedding``, of *source_vocab*, *max_source*, *target_vocab* and *max_target* vectors with
    d_model features; encoder, an ``nn.ModuleList`` of *num_blocks* ``EncoderBlock``; encoder_norm,
    your ``LayerNorm``; decoder, an ``nn.ModuleList`` of *num_blocks* ``DecoderBlock``;
    decoder_norm, your ``LayerNorm``; out_head, an ``nn.Linear`` from d_model to *target_vocab*
    features with a bias. All blocks are pre-norm, with GELU and 4 · d_model hidden features. Every
    attention is a ``MultiHeadCrossAttention`` with *num_heads* heads and without qkv_bias. The
    self-attention of a DecoderBlock is created before its attention to the memory.
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        max_source: int,
        max_target: int,
        d_model: int,
        num_heads: int,
        num_blocks: int = 1,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Turn the source into the memory: (B, T_s) -> (B, T_s, d_model).

        The vector of a token is the row of source_emb for its id plus the row of source_pos for its
        position. The vectors pass through the blocks of the encoder and then through encoder_norm.
        *source_mask* (B, T_s) is ``True`` at tokens. Raises ``ValueError`` if T_s is greater than
        max_source.
        """
        raise NotImplementedError

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Predict the token after each input: (B, T_t), (B, T_s, d_model) -> (B, T_t, V).

        The vector of a token is the row of target_emb for its id plus the row of target_pos for its
        position. The vectors pass through the blocks of the decoder, which read the *memory*, then
        through decoder_norm and out_head. *source_mask* (B, T_s) is ``True`` at the source's
        tokens. Raises ``ValueError`` if T_t is greater than max_target.
        """
        raise NotImplementedError

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Encode the source, and decode the inputs with its memory: -> (B, T_t, V)."""
        raise NotImplementedError


def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, padding: int = 0
) -> Tensor:
    """Return the mean loss of all targets that are not *padding*: (B, T, V), (B, T) -> ().

    The loss of one target is -Σ q log p over the V tokens. p is the softmax of the logits. q is
    smoothing / V for every token, the target included, and the target gets 1 - smoothing in
    addition. All targets of all items count the same. The loss is finite for logits of ±1000.
    ``torch.log_softmax`` and ``torch.logsumexp`` are allowed. Torch's own losses, such as
    `F.cross_entropy`, are not allowed here.
    """
    raise NotImplementedError


def greedy_translate(
    model: nn.Module,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_length: int,
    padding: int = 0,
) -> Tensor:
    """Translate each item with a ``Translator``: (B, T_s) -> ids (B, T) int64, T ≤ max_length.

    The decoder starts with the id *start*. In each step it gets all ids so far, and the id with the
    largest logit at the last position is appended. The result contains *end*, which the model
    predicts, and not *start*. After the *end* of an item follows padding. The loop stops when all
    items have ended, or after *max_length* steps; the model has at least as many positions. The
    source is encoded once, however long the translation is. No graph is built: the code runs under
    ``torch.no_grad()`` or similar.
    """
    raise NotImplementedError
