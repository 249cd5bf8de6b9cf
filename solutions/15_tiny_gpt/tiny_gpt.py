"""A GPT in one file: embeddings, a stack of blocks, logits, its training, and text from it.

Shapes in this stage: B items in the batch, T tokens in each, V tokens in the vocabulary, d_model
features per token. The id of a token is an int64 number from 0 to V - 1. Each position has a logit
for each token of the vocabulary, and the token with the largest logit is the most likely to come
next. The caller sets the seed.
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


class TransformerBlock(nn.Module):
    """Your block from stage 14, which the kit copies once it has passed there.

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


class BigramModel(nn.Module):
    """Predicts the next token from the current token alone.

    The only layer is table, an ``nn.Embedding`` of *vocab_size* rows with *vocab_size* numbers
    each: row i holds the logits for the token after token i.
    """

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.table = nn.Embedding(vocab_size, vocab_size)
        ### END SOLUTION

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits for the token after each token: (B, T) -> (B, T, V)."""
        ### BEGIN SOLUTION
        return self.table(ids)
        ### END SOLUTION


class GPT(nn.Module):
    """Predicts the next token from all tokens so far, with a stack of blocks.

    Layers, created in this order: tok_emb, an ``nn.Embedding`` of *vocab_size* vectors; pos_emb, an
    ``nn.Embedding`` of *context_length* vectors; blocks, an ``nn.ModuleList`` of *num_layers*
    instances of your ``TransformerBlock``; final_norm, your ``LayerNorm``; out_head, an
    ``nn.Linear`` from d_model to *vocab_size* features without a bias. All vectors have d_model
    features. Each block is pre-norm, with GELU and 4 · d_model hidden features. Its attention is
    your ``MultiHeadAttention`` from d_model to d_model features with *num_heads* heads, *qkv_bias*
    and a dropout of 0. If *tied* is true, tok_emb and out_head share one parameter as their weight,
    so training one trains both.
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
        ### BEGIN SOLUTION
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            attention = MultiHeadAttention(
                d_model, d_model, context_length, 0.0, num_heads, qkv_bias
            )
            self.blocks.append(TransformerBlock(attention, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight
        ### END SOLUTION

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits for the token after each token: (B, T) -> (B, T, V).

        The vector of a token is the row of tok_emb for its id plus the row of pos_emb for its
        position. Positions start at 0. The vectors pass through all blocks in order, then through
        final_norm and out_head. T can be any number up to context_length. Raises ``ValueError`` if
        T is greater than context_length.
        """
        ### BEGIN SOLUTION
        T = ids.shape[1]
        context_length = self.pos_emb.num_embeddings
        if context_length < T:
            raise ValueError(f"{T} tokens do not fit into a context of {context_length}")

        positions = torch.arange(T, device=ids.device)
        x = self.tok_emb(ids) + self.pos_emb(positions)  # (B, T, d_model)
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))  # (B, T, V)
        ### END SOLUTION


def count_parameters(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    qkv_bias: bool = False,
    tied: bool = False,
) -> int:
    """Return the number of trainable parameters of a ``GPT`` of these sizes, as an int.

    Compute the number by a formula, without building a module or a tensor. A parameter that two
    layers share counts once. The number of heads makes no difference.
    """
    ### BEGIN SOLUTION
    embeddings = (vocab_size + context_length) * d_model
    attention = 4 * d_model**2 + d_model  # four matrices, and the bias of out_proj
    if qkv_bias:
        attention += 3 * d_model
    feed_forward = 8 * d_model**2 + 5 * d_model  # two matrices, biases of 4 d_model and d_model
    norm = 2 * d_model  # scale and shift
    out_head = 0 if tied else vocab_size * d_model

    block = attention + feed_forward + 2 * norm
    return embeddings + num_layers * block + norm + out_head
    ### END SOLUTION


def adamw_step(
    parameter: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    step: int,
    learning_rate: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return *parameter*, *mean* and *square* after one step of AdamW, as new tensors.

    All five tensors have the same shape, and every number in them is changed independently of the
    others. The new mean is betas[0] times *mean* plus 1 - betas[0] times *gradient*. The new square
    is betas[1] times *square* plus 1 - betas[1] times the squared gradient. Both start at zero in
    step 1, so the step uses them divided by 1 - betas[0]**step and 1 - betas[1]**step. These two
    quotients are not returned. The parameter is first multiplied by 1 - learning_rate ·
    weight_decay. Then learning_rate times the first quotient, divided by (the root of the second
    quotient, plus *eps*), is subtracted. Raises ``ValueError`` if *step* is below 1.
    """
    ### BEGIN SOLUTION
    if step < 1:
        raise ValueError(f"steps count from 1, and this one is {step}")

    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient**2
    direction = mean / (1 - beta1**step)
    size = torch.sqrt(square / (1 - beta2**step))

    parameter = (1 - learning_rate * weight_decay) * parameter
    parameter = parameter - learning_rate * direction / (size + eps)
    return parameter, mean, square
    ### END SOLUTION


def clip_gradients(gradients: Sequence[Tensor], max_norm: float) -> tuple[list[Tensor], float]:
    """Return the gradients with a joint norm of at most *max_norm*, and their norm before.

    *gradients* is a list of tensors of any shapes. Their joint norm is the root of the sum of the
    squares of all numbers of all tensors. If it is greater than *max_norm*, each tensor is
    multiplied by max_norm / norm. Otherwise the tensors keep their values, so zeros stay zeros. The
    first result is a list of as many tensors, and the second is the norm of the given gradients as
    a Python float. Raises ``ValueError`` if *max_norm* is not above 0.
    """
    ### BEGIN SOLUTION
    if max_norm <= 0:
        raise ValueError(f"the largest norm must be above 0, and is {max_norm}")

    squares = [float((gradient**2).sum()) for gradient in gradients]
    norm = math.sqrt(sum(squares))
    if norm > max_norm:
        gradients = [gradient * (max_norm / norm) for gradient in gradients]
    return list(gradients), norm
    ### END SOLUTION


def rate_at(step: int, steps: int, peak: float, warmup: int = 0, floor: float = 0.0) -> float:
    """Return the learning rate of a *step*, as a Python float.

    It rises on a straight line from 0 at step 0 to *peak* at step *warmup*. From there it falls to
    *floor* at step *steps*, on the first half of a cosine wave: slowly, then fast, then slowly.
    After step *steps* it stays at *floor*. Without a warm-up, the rate of step 0 is *peak*. Raises
    ``ValueError`` unless 0 <= warmup < steps.
    """
    ### BEGIN SOLUTION
    if not 0 <= warmup < steps:
        raise ValueError(f"{warmup} steps of warm-up do not fit into {steps} steps")

    if step < warmup:
        return peak * step / warmup
    if step > steps:
        return floor
    share = (step - warmup) / (steps - warmup)  # from 0 to 1
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2
    ### END SOLUTION


def estimate_loss(model: nn.Module, ids: Tensor, length: int) -> float:
    """Return the mean loss of *model* for all predictions in a text of *ids* (N,), as a float.

    The text is cut into as many pieces of *length* tokens as have a token after them. Piece k
    consists of the tokens k · length to (k + 1) · length - 1, and *model* turns the pieces into
    logits: (B, T) -> (B, T, V). The target of each position is the token after it. The loss is the
    mean cross-entropy of all positions of all pieces. ``F.cross_entropy`` is allowed. The model
    runs in eval mode, and afterwards it is in the mode in which it was before. No graph is built:
    the code runs under ``torch.no_grad()`` or similar. Raises ``ValueError`` if no piece fits.
    """
    ### BEGIN SOLUTION
    count = (len(ids) - 1) // length
    if count < 1:
        raise ValueError(f"{len(ids)} tokens are too few for {length} and the token after them")

    inputs = ids[: count * length].view(count, length)
    targets = ids[1 : count * length + 1].view(count, length)
    was_training = model.training
    model.eval()
    with torch.no_grad():
        logits = model(inputs)  # (count, length, V)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    model.train(was_training)
    return loss.item()
    ### END SOLUTION


def top_k_logits(logits: Tensor, k: int) -> Tensor:
    """Keep the *k* largest logits of each row, and set all others to minus infinity.

    Rows are along the last axis: (..., V) -> (..., V). Logits equal to the k-th largest one are
    kept too, so a tie can keep more than k logits. Raises ``ValueError`` if *k* is not between 1
    and V. ``torch.topk`` is allowed.
    """
    ### BEGIN SOLUTION
    V = logits.shape[-1]
    if not 1 <= k <= V:
        raise ValueError(f"cannot keep {k} of {V} logits")

    smallest = torch.topk(logits, k, dim=-1).values[..., -1:]  # (..., 1)
    return logits.masked_fill(logits < smallest, float("-inf"))
    ### END SOLUTION


def sample_next(logits: Tensor, temperature: float = 1.0, top_k: int | None = None) -> Tensor:
    """Choose the next token of each item: (B, V) -> (B, 1), with int64 ids.

    With a *temperature* of 0, the token with the largest logit is chosen without drawing.
    Otherwise the logits are divided by the temperature, and one call of ``torch.multinomial`` draws
    one token per item with the probabilities of their softmax. If *top_k* is given, only tokens
    whose logits ``top_k_logits`` keeps can be drawn. Raises ``ValueError`` if *temperature* is
    below 0, or if *top_k* is not between 1 and V, even at temperature 0.
    """
    ### BEGIN SOLUTION
    if temperature < 0:
        raise ValueError(f"the temperature must not be below 0, and is {temperature}")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)

    probabilities = torch.softmax(logits / temperature, dim=-1)  # (B, V)
    return torch.multinomial(probabilities, num_samples=1)  # (B, 1)
    ### END SOLUTION


def generate(
    model: nn.Module,
    ids: Tensor,
    new_tokens: int,
    context_length: int,
    temperature: float = 0.0,
    top_k: int | None = None,
) -> Tensor:
    """Continue each text by *new_tokens* tokens: (B, T) -> (B, T + new_tokens).

    *model* is any module that turns ids into logits, such as a ``GPT`` or a ``BigramModel``. It is
    called once for each new token, with only the last *context_length* ids. ``sample_next`` chooses
    the token from the logits at the last position. The result begins with *ids*. No graph is built:
    the code runs under ``torch.no_grad()`` or similar.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(ids[:, -context_length:])  # (B, at most context_length, V)
            next_ids = sample_next(logits[:, -1], temperature, top_k)
            ids = torch.cat((ids, next_ids), dim=1)
    return ids
    ### END SOLUTION
