"""The forward of each named module is replaced for the time of the call."""

from contextlib import contextmanager

import torch


@contextmanager
def replaced(model, changes):
    modules = dict(model.named_modules())
    if not modules.keys() >= changes.keys():
        raise ValueError("unknown name")
    try:
        for name, change in changes.items():
            modules[name].forward = change(modules[name].forward)
        yield
    finally:
        for name in changes:
            vars(modules[name]).pop("forward", None)


def record_activations(model, inputs, names):
    activations = {}

    def keeping(name):
        def change(forward):
            def changed(*args, **kwargs):
                activations[name] = forward(*args, **kwargs)
                return activations[name]

            return changed

        return change

    with replaced(model, {name: keeping(name) for name in names}):
        return model(inputs), activations


def run_with_patches(model, inputs, patches):
    def giving(patch):
        def change(forward):
            def changed(*args, **kwargs):
                own = forward(*args, **kwargs)
                if own.shape != patch.shape:
                    raise ValueError("another shape")
                return patch

            return changed

        return change

    with replaced(model, {name: giving(patch) for name, patch in patches.items()}):
        return model(inputs)


def induction_pattern(ids):
    length = ids.shape[1]
    before = torch.roll(ids, 1, dims=1)
    marks = before[:, None, :] == ids[:, :, None]
    places = torch.arange(length)
    allowed = (places[None, :] <= places[:, None]) & (places[None, :] > 0)
    return torch.where(marks & allowed, 1.0, 0.0)


def logit_lens(streams, norm, out_head):
    logits = [out_head(norm(x))[None] for x in streams]
    return torch.cat(logits, dim=0)


def ablate_heads(merged, num_heads, heads, mean=False):
    size, rest = divmod(merged.shape[2], num_heads)
    if rest != 0:
        raise ValueError("heads of unequal size")
    pieces = list(merged.split(size, dim=2))
    for head in heads:
        if head < 0 or head >= num_heads:
            raise ValueError(f"no head {head}")
        average = pieces[head].mean(dim=0, keepdim=True).expand_as(pieces[head])
        pieces[head] = average if mean else torch.zeros_like(pieces[head])
    return torch.cat(pieces, dim=2)


def head_contributions(merged, out_weight, num_heads):
    size, rest = divmod(merged.shape[-1], num_heads)
    if rest:
        raise ValueError("heads of unequal size")
    pairs = zip(merged.split(size, dim=-1), out_weight.split(size, dim=1))
    return torch.stack([features @ weight.T for features, weight in pairs], dim=1)


def logit_attribution(parts, scale, directions, eps=1e-5):
    stream = parts.sum(0)
    stream = stream - stream.mean(-1, keepdim=True)
    factors = scale * directions / (stream.pow(2).mean(-1, keepdim=True) + eps) ** 0.5
    return (parts * factors).sum(-1) - parts.mean(-1) * factors.sum(-1)


@torch.no_grad()
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("the texts must have the same shape")

    def gap(output):
        pairs = [row[r] - row[w] for row, r, w in zip(output[:, -1], right, wrong)]
        return sum(pairs) / len(pairs)

    good, clean_parts = record_activations(model, clean, names)
    bad, parts = record_activations(model, corrupted, names)
    result = torch.empty(len(names), clean.shape[1])
    for n, name in enumerate(names):
        for t in range(clean.shape[1]):
            mixed = torch.cat(
                (parts[name][:, :t], clean_parts[name][:, t : t + 1], parts[name][:, t + 1 :]), 1
            )
            result[n, t] = gap(run_with_patches(model, corrupted, {name: mixed})) - gap(bad)
    return result / (gap(good) - gap(bad))
