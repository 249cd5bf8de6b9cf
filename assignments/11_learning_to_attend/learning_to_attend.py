"""A head that learns: a loss that measures its predictions, and training steps that lower the loss.

Shapes in this stage: B items in the batch, T tokens in each item, V tokens in the vocabulary, N
predictions, d_model features per token. Each token has an id, an int64 number from 0 to V - 1. A
prediction is a row of V *logits*. Logits can be any numbers, and the most likely token has the
largest one. Softmax turns logits into probabilities. Autograd computes the gradients:
``loss.backward()`` or ``torch.autograd.grad``.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def log_softmax(logits: Tensor) -> Tensor:
    """Return the logarithms of the probabilities over the last axis: (..., V) -> (..., V).

    Entry v is logit v minus the logarithm of the sum of all V exponentials. Subtract the largest
    logit of each row first. This does not change the result, and it keeps the result finite for
    logits of 1000 or -1000. Torch's own softmax and logsumexp are not allowed here.
    """
    raise NotImplementedError


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean loss of the predictions: (N, V), (N,) or (B, T, V), (B, T) -> ().

    *targets* are the ids of the right tokens. The loss of one prediction is minus the logarithm of
    the probability of its target. The result is the mean over all predictions, a scalar tensor.
    Raises ``ValueError`` unless *targets* has the shape of *logits* without the last axis. Torch's
    own softmax and logsumexp are not allowed here. Torch's own losses, such as `F.cross_entropy`,
    are not allowed here.
    """
    raise NotImplementedError


class Reader(nn.Module):
    """Embeddings, one attention head that sees all tokens, and a prediction for each position.

    Layers, created in this order: tok_emb, an ``nn.Embedding`` of *vocab_size* vectors; pos_emb,
    an ``nn.Embedding`` of *context_length* vectors; W_query, W_key, W_value, each an ``nn.Linear``
    from d_model to d_model features; out_head, an ``nn.Linear`` from d_model to *vocab_size*
    features. All vectors have d_model features, and no linear layer has a bias. The layers keep the
    initial values that torch draws. Your code must not set a seed: the caller sets it. Torch's own
    attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
    """

    def __init__(self, vocab_size: int, d_model: int, context_length: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, ids: Tensor) -> Tensor:
        """Predict a token at each position: (B, T) -> (B, T, V), as logits.

        The vector of a token is its row of tok_emb plus the row of pos_emb for its position.
        Positions start at 0. The head has no mask: each token attends to all T tokens. The scores
        are divided by the square root of the key size before the softmax. out_head turns the
        context vectors into logits. Works for any T up to context_length. The number of tensor
        operations does not grow with T. Raises ``ValueError`` if T is larger than context_length.
        """
        raise NotImplementedError


def train_step(model: nn.Module, ids: Tensor, targets: Tensor, learning_rate: float) -> float:
    """Move the parameters of *model* one step downhill, and return the loss before the step.

    *model* is a ``Reader``, or any other module that turns *ids* into logits. The loss is the
    ``cross_entropy`` of these logits and *targets*, returned as a Python float. Then each parameter
    p becomes p - learning_rate · gradient, in place: the model keeps the same tensors, with new
    values. Gradients left by an earlier call have no effect. A parameter that is not trained, or
    that the loss does not depend on, does not change. Torch's own losses, such as
    `F.cross_entropy`, are not allowed here. Torch's own optimizers (`torch.optim`) are not allowed
    here.
    """
    raise NotImplementedError


def train(
    model: nn.Module, batches: Sequence[tuple[Tensor, Tensor]], learning_rate: float
) -> list[float]:
    """Take one step for each batch, in order, and return a list with the loss before each step.

    A batch is a pair (ids, targets). Each step changes *model* as ``train_step`` does. Without
    batches the model does not change, and the list is empty. Torch's own losses, such as
    `F.cross_entropy`, are not allowed here. Torch's own optimizers (`torch.optim`) are not allowed
    here.
    """
    raise NotImplementedError
