"""Right names, shapes and errors, but no computation: earns a fifth of the points at most."""

import torch


def record_activations(model, inputs, names):
    output = model(inputs)
    return torch.zeros_like(output), {name: torch.zeros_like(output) for name in names}


def induction_pattern(ids):
    return torch.zeros(*ids.shape, ids.shape[1])


def logit_lens(streams, norm, out_head):
    return torch.stack([torch.zeros_like(out_head(stream)) for stream in streams])


def run_with_patches(model, inputs, patches):
    for name in patches:
        model.get_submodule(name)
    return torch.zeros_like(model(inputs))


def ablate_heads(merged, num_heads, heads, mean=False):
    if merged.shape[-1] % num_heads or any(not 0 <= head < num_heads for head in heads):
        raise ValueError
    return torch.zeros_like(merged)


def head_contributions(merged, out_weight, num_heads):
    if merged.shape[-1] % num_heads:
        raise ValueError
    return torch.zeros(len(merged), num_heads, merged.shape[1], len(out_weight))


def logit_attribution(parts, scale, directions, eps=1e-5):
    return torch.zeros(parts.shape[:-1])


def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError
    with torch.no_grad():
        return torch.zeros(len(names), clean.shape[1])
