"""An encoder and a decoder, which translate from one way of writing into another.

Shapes in this stage: B items in the batch, T_s source tokens, T_t target tokens, T_q queries, T_k
keys, d_model features per token, V tokens in the target's vocabulary. A token is an id, a whole
number. All items of a batch get the same number of ids: padding follows the tokens of the shorter
ones. A mask is a bool tensor that is ``True`` at tokens, or where a query may look.
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


### BEGIN SOLUTION
def gelu(x: Tensor) -> Tensor:
    """Return the tanh approximation of GELU for each number, in a tensor of the same shape."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(inner))


### END SOLUTION


class FeedForward(nn.Module):
    """Your feed-forward network from stage 14, which the kit copies with your ``gelu``.

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


def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    """Put lists of ids into one tensor: B lists -> ids (B, T) int64 and mask (B, T) bool.

    T is the length of the longest list, and each list has at least one id. The ids of a list are at
    the left of its row, and the id *padding* fills the rest. The mask is ``True`` at tokens and
    ``False`` at padding. It depends on the lengths only: a token may have the same id as the
    padding.
    """
    ### BEGIN SOLUTION
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max(len(sequence) for sequence in sequences)

    ids = torch.full((len(sequences), longest), padding)  # (B, T)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence)
    mask = torch.arange(longest) < lengths.unsqueeze(-1)  # (B, T)
    return ids, mask
    ### END SOLUTION


def teacher_forcing(
    sequences: Sequence[Sequence[int]], start: int, end: int, padding: int = 0
) -> tuple[Tensor, Tensor]:
    """Return what a decoder reads in training, and what it must predict, both (B, T + 1) int64.

    T is the length of the longest of the B lists of ids. A row of the inputs is *start* and then
    the ids of the list. A row of the targets is the ids of the list and then *end*, so the target
    of each position is the next token. Padding follows in both. Inputs are graded only at positions
    that have a target.
    """
    ### BEGIN SOLUTION
    inputs, _ = pad_batch([[start, *sequence] for sequence in sequences], padding)
    targets, _ = pad_batch([[*sequence, end] for sequence in sequences], padding)
    return inputs, targets
    ### END SOLUTION


class MultiHeadCrossAttention(nn.Module):
    """Attention from the tokens of one sequence to those of another one, in several heads.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_model to
    d_model features with a bias only if *qkv_bias* is true; out_proj, an ``nn.Linear`` from d_model
    to d_model features with a bias. Each of the *num_heads* heads works on a block of
    d_model / num_heads consecutive features. Raises ``ValueError`` if *num_heads* does not divide
    *d_model*.
    """

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        """Mix the values of the memory: (B, T_q, d_model), (B, T_k, d_model) -> (B, T_q, d_model).

        Queries come from *x*, keys and values from *memory*. In each head, the scores are divided
        by the square root of the size of a head. *visible* is a bool tensor, ``True`` where a query
        may look, and the same for all heads. Its shape is (B, T_q, T_k), (B, 1, T_k), (1, T_q, T_k)
        or (T_q, T_k). Each query sees at least one key. Without *visible*, each query sees all
        keys.
        """
        ### BEGIN SOLUTION
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)  # (B, H, T_q, d)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)  # (B, H, T_k, d)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1) / d**0.5  # (B, H, T_q, T_k)
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values  # (B, H, T_q, d)

        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)
        ### END SOLUTION


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
        ### BEGIN SOLUTION
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix the tokens, then transform each of them: (B, T, d_model) -> (B, T, d_model).

        Every token sees every token, also those after it. *mask* (B, T) is ``True`` at tokens and
        ``False`` at padding: no token sees padding. Results at padding are not graded. If
        *norm_first* is true (pre-norm), norm1 normalizes the input of att, and norm2 normalizes the
        input of ff. The result of each is added to the features before the norm. Otherwise
        (post-norm), the result of each is added to its input, and norm1 and norm2 normalize the two
        sums.
        """
        ### BEGIN SOLUTION
        visible = None if mask is None else mask.unsqueeze(1)  # (B, 1, T), the same for every query
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))

        x = self.norm1(x + self.att(x, x, visible))
        return self.norm2(x + self.ff(x))
        ### END SOLUTION


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
        ### BEGIN SOLUTION
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()  # (T_t, T_t)
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)  # (B, 1, T_s)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return x + self.ff(self.norm3(x))

        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))
        ### END SOLUTION


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
        ### BEGIN SOLUTION
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)

        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)

        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)
        ### END SOLUTION

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Turn the source into the memory: (B, T_s) -> (B, T_s, d_model).

        The vector of a token is the row of source_emb for its id plus the row of source_pos for its
        position. The vectors pass through the blocks of the encoder and then through encoder_norm.
        *source_mask* (B, T_s) is ``True`` at tokens. Raises ``ValueError`` if T_s is greater than
        max_source.
        """
        ### BEGIN SOLUTION
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")

        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))  # (B, T_s, d_model)
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)
        ### END SOLUTION

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Predict the token after each input: (B, T_t), (B, T_s, d_model) -> (B, T_t, V).

        The vector of a token is the row of target_emb for its id plus the row of target_pos for its
        position. The vectors pass through the blocks of the decoder, which read the *memory*, then
        through decoder_norm and out_head. *source_mask* (B, T_s) is ``True`` at the source's
        tokens. Raises ``ValueError`` if T_t is greater than max_target.
        """
        ### BEGIN SOLUTION
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")

        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))  # (B, T_t, d_model)
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))  # (B, T_t, V)
        ### END SOLUTION

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Encode the source, and decode the inputs with its memory: -> (B, T_t, V)."""
        ### BEGIN SOLUTION
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)
        ### END SOLUTION


def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, padding: int = 0
) -> Tensor:
    """Return the mean loss of all targets that are not *padding*: (B, T, V), (B, T) -> ().

    The loss of one target is -Σ q log p over the V tokens. p is the softmax of the logits. q is
    smoothing / V for every token, the target included, and the target gets 1 - smoothing in
    addition. All targets of all items count the same. The loss is finite for logits of ±1000.
    ``torch.log_softmax`` and ``torch.logsumexp`` are allowed.
    """
    ### BEGIN SOLUTION
    log_probabilities = torch.log_softmax(logits, dim=-1)  # (B, T, V)
    right = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (B, T)
    even = -log_probabilities.mean(dim=-1)  # (B, T), the loss of equal probabilities
    losses = (1 - smoothing) * right + smoothing * even
    return losses[targets != padding].mean()
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)  # (B, T_s, d_model)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]  # (B, V)
            next_ids = logits.argmax(dim=-1).masked_fill(done, padding)  # (B,)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids[:, 1:]
    ### END SOLUTION
