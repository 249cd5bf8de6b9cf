"""Tools that look inside a trained model: read what its parts compute, replace it, and measure.

A *name* is one of those in ``model.named_modules()``, such as "layers.0.heads"; the name "" is the
whole model. The *activation* of a name is what its module returns: one tensor.

Shapes in this stage: B items in the batch, T tokens in each, H heads with d features each, so
D = H · d features side by side, d_model features in the residual stream, V tokens in the
vocabulary. A model turns ids (B, T) or features into logits (B, T, V).

Rules for this stage, which are graded like the results:

- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Tools that look inside a model for you (TransformerLens, nnsight, captum, baukit, `torch.fx`,
  torchvision's feature extraction) are not allowed; torch's hooks are.
- Documented values and properties count only if the results are right for other inputs too.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Call *model* once on *inputs*: return (output, activations), a dictionary by name.

    The dictionary holds the activation of each of *names* in this call, and no others. The tensors
    stay in the graph of the output. Raises ``ValueError`` for a name that the model does not have.
    After a call the model has no hook that it did not have before, also if the call raised an
    error.
    """
    raise NotImplementedError


def induction_pattern(ids: Tensor) -> Tensor:
    """Mark the tokens after earlier copies of each token: (B, T) -> (B, T, T) of float 0 and 1.

    *ids* are int64. Entry [b, i, j] is 1 if token j comes directly after an earlier occurrence of
    token i: ids[b, j - 1] equals ids[b, i], and j - 1 < i. The rows are queries, and the columns
    are keys.
    """
    raise NotImplementedError


def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    """Read each residual stream as if the model ended there: return logits (L, B, T, V).

    *streams* is a list of L tensors (B, T, d_model), for example the embeddings and the output of
    each layer. *norm* is the norm that the model applies to its last stream before *out_head*,
    which turns features into logits.
    """
    raise NotImplementedError


def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    """Call *model* once with other activations: return its output.

    *patches* maps names to tensors. Each named module returns its tensor in place of its own
    output, and the modules after it continue with that. Without patches, the result is the output
    of the model. Raises ``ValueError`` for a name that the model does not have, and for a tensor
    whose shape differs from that of the output that it replaces, even if torch could expand it.
    After a call the model has no hook that it did not have before, also if the call raised an
    error.
    """
    raise NotImplementedError


def ablate_heads(
    merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool = False
) -> Tensor:
    """Remove some heads from their merged results: (B, T, D) -> (B, T, D).

    *merged* holds the results of *num_heads* heads side by side: the first d features belong to
    head 0, the next d to head 1, and so on. The features of *heads*, a list of numbers from 0,
    become 0. With *mean*, they become their mean over the items, position by position. The other
    features keep their values. Raises ``ValueError`` if *num_heads* does not divide D, or if one of
    *heads* is not from 0 to num_heads - 1. Results keep the dtype of the inputs: float32 stays
    float32, and float64 stays float64.
    """
    raise NotImplementedError


def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    """Split what attention adds to the residual stream into heads: return (B, H, T, d_model).

    *merged* (B, T, D) holds the results of *num_heads* heads side by side, and *out_weight*
    (d_model, D) is the weight of the ``nn.Linear`` out_proj that mixes them. Its bias belongs to no
    head, so the sum over the heads is what out_proj returns without its bias. Raises ``ValueError``
    if *num_heads* does not divide D.
    """
    raise NotImplementedError


def logit_attribution(
    parts: Tensor, scale: Tensor, directions: Tensor, eps: float = 1e-5
) -> Tensor:
    """Split *directions* · LayerNorm(stream) into what each part of the stream adds to it.

    Shapes: parts (P, ..., d), whose sum over the first axis is the stream; scale (d,), the scale of
    the norm; directions (..., d), for example the output weights of one token minus those of
    another; result (P, ...). The mean over its features is subtracted from each part. All parts are
    divided by the same number, the root of the variance of the stream plus *eps*: the mean square
    of the centered features, divided by d, with *eps* under the root. Then *scale* multiplies. The
    shift of the norm belongs to no part and is left out.
    """
    raise NotImplementedError


def patching_map(
    model: nn.Module,
    clean: Tensor,
    corrupted: Tensor,
    names: Sequence[str],
    right: Tensor,
    wrong: Tensor,
) -> Tensor:
    """Measure which single activations of the clean text restore its answer: (len(names), T).

    *clean* and *corrupted* are ids (B, T). *right* and *wrong* are ids (B,): the answers to the
    clean and to the corrupted text. The difference of a run is the mean over the items of
    logit(right) - logit(wrong) at the last position, where item b has its own right[b] and
    wrong[b].

    Entry [n, t] is (patched - corrupted) / (clean - corrupted), a quotient of such differences. In
    its run, the model reads the corrupted text, but the activation of names[n] at position t alone
    is that of the clean text. No graph is built. Raises ``ValueError`` if the texts differ in
    shape.
    """
    raise NotImplementedError
