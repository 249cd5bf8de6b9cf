def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("one target for each row")
    exponentials = torch.exp(logits - logits.max(dim=-1, keepdim=True).values)
    probabilities = exponentials / exponentials.sum(dim=-1, keepdim=True)
    rows = log_softmax(probabilities).flatten(0, -2)
    return -rows[torch.arange(len(rows)), targets.flatten()].mean()
