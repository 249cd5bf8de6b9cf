def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = 1 / queries.size(-1) ** 0.5 if scale is None else scale
    logits = torch.einsum("...qd,...kd->...qk", queries, keys) * scale
    if hidden is not None:
        logits = torch.where(hidden, torch.finfo(torch.float32).min, logits)
    top = logits.amax(-1)
    e = (logits - top[..., None]).exp()
    return torch.einsum("...qk,...kv->...qv", e, values) / e.sum(-1)[..., None], top + e.sum(-1).log()
