def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    V = logits.size(-1)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / V)
    one_hot = nn.functional.one_hot(targets, V).to(log_p.dtype)
    q = q + (1 - smoothing) * one_hot
    loss = -(q * log_p).sum(dim=-1)
    keep = (targets != padding).to(loss.dtype)
    return (loss * keep).mean()
