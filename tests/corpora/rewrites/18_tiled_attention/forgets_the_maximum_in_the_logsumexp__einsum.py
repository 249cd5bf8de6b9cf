def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = 1 / queries.size(-1) ** 0.5 if scale is None else scale
    logits = torch.einsum("...qd,...kd->...qk", queries, keys) * scale
    if hidden is not None:
        logits = torch.where(hidden, -torch.inf, logits)
    e = (logits - logits.amax(-1, keepdim=True).clamp(min=-1e30)).exp()
    z = e.sum(-1)
    return torch.einsum("...qk,...kv->...qv", e, values) / z.clamp(min=1e-30)[..., None], z.log()
