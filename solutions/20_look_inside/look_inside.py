"""Tools that look inside a trained model: read what its parts compute, replace it, and measure.

A *name* is one of those in ``model.named_modules()``, such as "layers.0.heads"; the name "" is the
whole model. The *activation* of a name is what its module returns: one tensor.

Shapes in this stage: B items in the batch, T tokens in each, H heads with d features each, so
D = H · d features side by side, d_model features in the residual stream, V tokens in the
vocabulary. A model turns ids (B, T) or features into logits (B, T, V).
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
    """
    ### BEGIN SOLUTION
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return output, activations
    ### END SOLUTION


def induction_pattern(ids: Tensor) -> Tensor:
    """Mark the tokens after earlier copies of each token: (B, T) -> (B, T, T) of float 0 and 1.

    *ids* are int64. Entry [b, i, j] is 1 if token j comes directly after an earlier occurrence of
    token i: ids[b, j - 1] equals ids[b, i], and j - 1 < i. The rows are queries, and the columns
    are keys.
    """
    ### BEGIN SOLUTION
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)  # (B, T, T)
    earlier = torch.tril(same, diagonal=-1).float()
    none = torch.zeros_like(earlier[..., :1])  # no token comes before the first one
    return torch.cat((none, earlier[..., :-1]), dim=-1)
    ### END SOLUTION


def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    """Read each residual stream as if the model ended there: return logits (L, B, T, V).

    *streams* is a list of L tensors (B, T, d_model), for example the embeddings and the output of
    each layer. *norm* is the norm that the model applies to its last stream before *out_head*,
    which turns features into logits.
    """
    ### BEGIN SOLUTION
    return torch.stack([out_head(norm(stream)) for stream in streams])
    ### END SOLUTION


def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    """Call *model* once with other activations: return its output.

    *patches* maps names to tensors. Each named module returns its tensor in place of its own
    output, and the modules after it continue with that. Without patches, the result is the output
    of the model. Raises ``ValueError`` for a name that the model does not have, and for a tensor
    whose shape differs from that of the output that it replaces, even if torch could expand it.
    """
    ### BEGIN SOLUTION
    modules = dict(model.named_modules())
    if unknown := [name for name in patches if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")

    def replacer(patch):
        def replace(_module, _given, made):
            if patch.shape != made.shape:
                raise ValueError(f"{tuple(patch.shape)} cannot replace {tuple(made.shape)}")
            return patch

        return replace

    hooks = [
        modules[name].register_forward_hook(replacer(patch)) for name, patch in patches.items()
    ]
    try:
        return model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    ### END SOLUTION


def ablate_heads(
    merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool = False
) -> Tensor:
    """Remove some heads from their merged results: (B, T, D) -> (B, T, D).

    *merged* holds the results of *num_heads* heads side by side: the first d features belong to
    head 0, the next d to head 1, and so on. The features of *heads*, a list of numbers from 0,
    become 0. With *mean*, they become their mean over the items, position by position. The other
    features keep their values. Raises ``ValueError`` if *num_heads* does not divide D, or if one of
    *heads* is not from 0 to num_heads - 1.
    """
    ### BEGIN SOLUTION
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    if any(head not in range(num_heads) for head in heads):
        raise ValueError(f"there are only the heads 0 to {num_heads - 1}, not all of {heads}")
    ablated = merged.unflatten(-1, (num_heads, -1)).clone()  # (B, T, H, d)
    for head in heads:
        ablated[:, :, head] = ablated[:, :, head].mean(dim=0) if mean else 0.0
    return ablated.flatten(start_dim=2)
    ### END SOLUTION


def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    """Split what attention adds to the residual stream into heads: return (B, H, T, d_model).

    *merged* (B, T, D) holds the results of *num_heads* heads side by side, and *out_weight*
    (d_model, D) is the weight of the ``nn.Linear`` out_proj that mixes them. Its bias belongs to no
    head, so the sum over the heads is what out_proj returns without its bias. Raises ``ValueError``
    if *num_heads* does not divide D.
    """
    ### BEGIN SOLUTION
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    heads = merged.unflatten(-1, (num_heads, -1)).transpose(1, 2)  # (B, H, T, d)
    columns = out_weight.unflatten(-1, (num_heads, -1)).permute(1, 2, 0)  # (H, d, d_model)
    return heads @ columns
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    stream = parts.sum(dim=0)  # (..., d)
    variance = stream.var(dim=-1, keepdim=True, correction=0)  # (..., 1)
    centered = parts - parts.mean(dim=-1, keepdim=True)  # (P, ..., d)
    normalized = centered / torch.sqrt(variance + eps)
    return (normalized * scale * directions).sum(dim=-1)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    if clean.shape != corrupted.shape:
        raise ValueError(f"the texts differ in shape: {clean.shape} and {corrupted.shape}")
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]  # (B, V)
        return (last[items, right] - last[items, wrong]).mean()

    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = difference(corrupted_logits), difference(clean_logits)

        restored = torch.zeros(len(names), clean.shape[1])  # (len(names), T)
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)
    ### END SOLUTION
