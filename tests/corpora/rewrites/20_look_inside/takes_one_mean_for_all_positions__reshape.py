def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.shape
    if D % num_heads:
        raise ValueError("the heads cannot share the features evenly")
    if not set(heads) <= set(range(num_heads)):
        raise ValueError("there is no such head")
    d = D // num_heads
    out = merged.reshape(B, T, num_heads, d).clone()
    for h in heads:
        out[:, :, h, :] = out[:, :, h, :].mean(dim=(0, 1)) if mean else torch.zeros(d)
    return out.reshape(B, T, D)
