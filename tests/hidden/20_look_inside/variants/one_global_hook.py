"""One hook of torch for all modules, and einsum."""

import torch
from torch.nn.modules.module import register_module_forward_hook


def called(model, inputs, names, react):
    """Call the model, and pass the output of each named module to *react*."""
    known = {module: name for name, module in model.named_modules()}
    if missing := set(names) - set(known.values()):
        raise ValueError(f"unknown: {missing}")

    def hook(module, given, made):
        name = known.get(module)
        return react(name, made) if name in names else None

    handle = register_module_forward_hook(hook)
    try:
        return model(inputs)
    finally:
        handle.remove()


def record_activations(model, inputs, names):
    found = {}
    return called(model, inputs, names, lambda name, made: found.update({name: made})), found


def run_with_patches(model, inputs, patches):
    def replaced(name, made):
        if made.shape != patches[name].shape:
            raise ValueError(f"wrong shape for {name}")
        return patches[name]

    return called(model, inputs, patches.keys(), replaced)


def induction_pattern(ids):
    B, T = ids.shape
    pattern = torch.zeros(B, T, T)
    for i in range(T):
        for j in range(1, i + 1):
            pattern[:, i, j] = (ids[:, j - 1] == ids[:, i]).float()
    return pattern


def logit_lens(streams, norm, out_head):
    return out_head(norm(torch.stack(tuple(streams))))


def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.shape
    if D % num_heads:
        raise ValueError("uneven")
    if any(head not in range(num_heads) for head in heads):
        raise ValueError("no such head")
    keep = torch.ones(num_heads, dtype=merged.dtype)
    keep[list(heads)] = 0
    keep = keep.repeat_interleave(D // num_heads)
    other = merged.mean(0, keepdim=True) if mean else torch.zeros_like(merged)
    return merged * keep + other * (1 - keep)


def head_contributions(merged, out_weight, num_heads):
    if merged.shape[-1] % num_heads:
        raise ValueError("uneven")
    split = (one.unflatten(-1, (num_heads, -1)) for one in (merged, out_weight))
    return torch.einsum("bthd,mhd->bhtm", *split)


def logit_attribution(parts, scale, directions, eps=1e-5):
    d = parts.shape[-1]
    centered = parts - parts.sum(-1, keepdim=True) / d
    deviation = (centered.sum(0).square().sum(-1) / d + eps).sqrt()
    return torch.einsum("p...d,d,...d->p...", centered, scale, directions) / deviation


def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.size() != corrupted.size():
        raise ValueError("texts of different shape")
    answers = torch.stack((right, wrong), dim=-1)

    def gap(logits):
        chosen = logits[:, -1].gather(-1, answers)
        return (chosen[:, 0] - chosen[:, 1]).mean(0)

    with torch.inference_mode():
        best, good = record_activations(model, clean, names)
        worst, bad = record_activations(model, corrupted, names)
        rows = [
            [
                gap(run_with_patches(model, corrupted, {name: put(bad[name], good[name], t)}))
                for t in range(clean.size(1))
            ]
            for name in names
        ]
        return (torch.tensor(rows) - gap(worst)) / (gap(best) - gap(worst))


def put(bad, good, position):
    here = torch.arange(bad.shape[1])[:, None] == position
    return torch.where(here, good, bad)
