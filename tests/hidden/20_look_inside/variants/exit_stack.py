"""Hooks from functools.partial in an ExitStack; patches are put together with cat."""

from contextlib import ExitStack
from functools import partial

import torch


def part(model, name):
    try:
        return model.get_submodule(name)
    except AttributeError:
        raise ValueError(f"{name} is not a part of the model") from None


def store(activations, name, module, args, output):
    activations[name] = output


def swap(patch, module, args, output):
    if patch.shape != output.shape:
        raise ValueError(f"{patch.shape} in place of {output.shape}")
    return patch


def with_hooks(model, inputs, hooks):
    with ExitStack() as stack:
        for name, hook in hooks.items():
            stack.enter_context(part(model, name).register_forward_hook(hook))
        return model(inputs)


def record_activations(model, inputs, names):
    kept = {}
    output = with_hooks(model, inputs, {name: partial(store, kept, name) for name in names})
    return output, kept


def run_with_patches(model, inputs, patches):
    return with_hooks(model, inputs, {name: partial(swap, patch) for name, patch in patches.items()})


def induction_pattern(ids):
    T = ids.shape[-1]
    shifted = torch.cat((torch.full_like(ids[:, :1], -1), ids[:, :-1]), dim=1)
    return (shifted.unsqueeze(1) == ids.unsqueeze(2)).to(torch.float32) * torch.ones(T, T).tril()


def logit_lens(streams, norm, out_head):
    logits = []
    for stream in streams:
        normalized = norm(stream)
        logits.append(out_head(normalized))
    return torch.stack(logits, dim=0)


def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.shape
    if D % num_heads != 0:
        raise ValueError("D / num_heads")
    d = D // num_heads
    result = merged.clone()
    for head in heads:
        if not 0 <= head <= num_heads - 1:
            raise ValueError("head")
        features = slice(head * d, (head + 1) * d)
        result[:, :, features] = merged[:, :, features].mean(0) if mean else 0
    return result


def head_contributions(merged, out_weight, num_heads):
    B, T, D = merged.shape
    if D % num_heads != 0:
        raise ValueError("D / num_heads")
    d = D // num_heads
    result = []
    for head in range(num_heads):
        alone = torch.zeros_like(merged)
        alone[:, :, head * d : (head + 1) * d] = merged[:, :, head * d : (head + 1) * d]
        result.append(torch.nn.functional.linear(alone, out_weight))
    return torch.stack(result, dim=1)


def logit_attribution(parts, scale, directions, eps=1e-5):
    whole = parts.sum(0)
    mean = whole.mean(-1, keepdim=True)
    std = (((whole - mean) ** 2).mean(-1, keepdim=True) + eps).sqrt()
    rows = []
    for one in parts:
        rows.append(((one - one.mean(-1, keepdim=True)) / std * scale * directions).sum(-1))
    return torch.stack(rows)


def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    B, T = clean.shape
    rows = torch.arange(B)

    def difference(logits):
        logits = logits[:, -1, :]
        return (logits[rows, right] - logits[rows, wrong]).mean().item()

    with torch.no_grad():
        clean_out, clean_parts = record_activations(model, clean, names)
        corrupted_out, corrupted_parts = record_activations(model, corrupted, names)
        low, high = difference(corrupted_out), difference(clean_out)
        found = []
        for name in names:
            row = []
            for t in range(T):
                patch = torch.cat(
                    [corrupted_parts[name][:, :t], clean_parts[name][:, t, None], corrupted_parts[name][:, t + 1 :]],
                    dim=1,
                )
                patched = difference(run_with_patches(model, corrupted, {name: patch}))
                row.append((patched - low) / (high - low))
            found.append(row)
    return torch.tensor(found)
