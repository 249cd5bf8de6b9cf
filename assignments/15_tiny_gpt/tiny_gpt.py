"""A GPT in one file: embeddings, a stack of blocks, logits, its training, and text from it.

Shapes in this stage: B items in the batch, T tokens in each, V tokens in the vocabulary, d_model
features per token. The id of a token is an int64 number from 0 to V - 1. Each position has a logit
for each token of the vocabulary, and the token with the largest logit is the most likely to come
next. The caller sets the seed.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
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
    """Your norm from stage 14, which the kit copies once it has passed there.

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


class FeedForward(nn.Module):
    """Your feed-forward network from stage 14, which the kit copies with your ``gelu``.

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


class TransformerBlock(nn.Module):
    """Your block from stage 14, which the kit copies once it has passed there.

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


class BigramModel(nn.Module):
    """Predicts the next token from the current token alone.

    The only layer is table, an ``nn.Embedding`` of *vocab_size* rows with *vocab_size* numbers
    each: row i holds the logits for the token after token i.
    """

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits for the token after each token: (B, T) -> (B, T, V)."""
        raise NotImplementedError


class GPT(nn.Module):
    """Predicts the next token from all tokens so far, with a stack of blocks.

    Layers, created in this order: tok_emb, an ``nn.Embedding`` of *vocab_size* vectors; pos_emb, an
    ``nn.Embedding`` of *context_length* vectors; blocks, an ``nn.ModuleList`` of *num_layers*
    instances of your ``TransformerBlock``; final_norm, your ``LayerNorm``; out_head, an
    ``nn.Linear`` from d_model to *vocab_size* features without a bias. All vectors have d_model
    features. Each block is pre-norm, with GELU and 4 · d_model hidden features. Its attention is
    your ``MultiHeadAttention`` from d_model to d_model features with *num_heads* heads, *qkv_bias*
    and a dropout of 0. If *tied* is true, tok_emb and out_head share one parameter as their weight,
    so training one trains both. Write out norms with means and roots: torch's own norms
    (`nn.LayerNorm`, `nn.RMSNorm`, `F.layer_norm`, `F.rms_norm` and the like) are not allowed. Write
    out GELU and gates: `F.gelu`, `nn.GELU` and `F.glu` are not allowed; `torch.tanh`, `torch.relu`,
    `torch.sigmoid` and `F.silu` are.
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
        """Return the logits for the token after each token: (B, T) -> (B, T, V).

        The vector of a token is the row of tok_emb for its id plus the row of pos_emb for its
        position. Positions start at 0. The vectors pass through all blocks in order, then through
        final_norm and out_head. T can be any number up to context_length. Raises ``ValueError`` if
        T is greater than context_length.
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

    Compute the number by a formula, without building a module or a tensor. A parameter that two
    layers share counts once. The number of heads makes no difference.
    """
    raise NotImplementedError


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
    quotient, plus *eps*), is subtracted. Raises ``ValueError`` if *step* is below 1. Torch's own
    optimizers (`torch.optim`) are not allowed here.
    """
    raise NotImplementedError


def clip_gradients(gradients: Sequence[Tensor], max_norm: float) -> tuple[list[Tensor], float]:
    """Return the gradients with a joint norm of at most *max_norm*, and their norm before.

    *gradients* is a list of tensors of any shapes. Their joint norm is the root of the sum of the
    squares of all numbers of all tensors. If it is greater than *max_norm*, each tensor is
    multiplied by max_norm / norm. Otherwise the tensors keep their values, so zeros stay zeros. The
    first result is a list of as many tensors, and the second is the norm of the given gradients as
    a Python float. Raises ``ValueError`` if *max_norm* is not above 0. Torch's own clipping
    (`clip_grad_norm_`, `clip_grad_value_`, `get_total_norm`) is not allowed here.
    """
    raise NotImplementedError


def rate_at(step: int, steps: int, peak: float, warmup: int = 0, floor: float = 0.0) -> float:
    """Return the learning rate of a *step*, as a Python float.

    It rises on a straight line from 0 at step 0 to *peak* at step *warmup*. From there it falls to
    *floor* at step *steps*, on the first half of a cosine wave: slowly, then fast, then slowly.
    After step *steps* it stays at *floor*. Without a warm-up, the rate of step 0 is *peak*. Raises
    ``ValueError`` unless 0 <= warmup < steps.
    """
    raise NotImplementedError


def estimate_loss(model: nn.Module, ids: Tensor, length: int) -> float:
    """Return the mean loss of *model* for all predictions in a text of *ids* (N,), as a float.

    The text is cut into as many pieces of *length* tokens as have a token after them. Piece k
    consists of the tokens k · length to (k + 1) · length - 1, and *model* turns the pieces into
    logits: (B, T) -> (B, T, V). The target of each position is the token after it. The loss is the
    mean cross-entropy of all positions of all pieces. ``F.cross_entropy`` is allowed. The model
    runs in eval mode, and afterwards it is in the mode in which it was before. No graph is built:
    the code runs under ``torch.no_grad()`` or similar. Raises ``ValueError`` if no piece fits.
    """
    raise NotImplementedError


def top_k_logits(logits: Tensor, k: int) -> Tensor:
    """Keep the *k* largest logits of each row, and set all others to minus infinity.

    Rows are along the last axis: (..., V) -> (..., V). Logits equal to the k-th largest one are
    kept too, so a tie can keep more than k logits. Raises ``ValueError`` if *k* is not between 1
    and V. ``torch.topk`` is allowed. A score of minus infinity gets the weight 0.
    """
    raise NotImplementedError


def sample_next(logits: Tensor, temperature: float = 1.0, top_k: int | None = None) -> Tensor:
    """Choose the next token of each item: (B, V) -> (B, 1), with int64 ids.

    With a *temperature* of 0, the token with the largest logit is chosen without drawing.
    Otherwise the logits are divided by the temperature, and one call of ``torch.multinomial`` draws
    one token per item with the probabilities of their softmax. If *top_k* is given, only tokens
    whose logits ``top_k_logits`` keeps can be drawn. Raises ``ValueError`` if *temperature* is
    below 0, or if *top_k* is not between 1 and V, even at temperature 0.
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

    *model* is any module that turns ids into logits, such as a ``GPT`` or a ``BigramModel``. It is
    called once for each new token, with only the last *context_length* ids. ``sample_next`` chooses
    the token from the logits at the last position. The result begins with *ids*. No graph is built:
    the code runs under ``torch.no_grad()`` or similar.
    """
    raise NotImplementedError
