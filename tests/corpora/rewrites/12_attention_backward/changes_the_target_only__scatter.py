def cross_entropy_backward(logits, targets):
    p = torch.softmax(logits, dim=1).gather(1, targets[:, None])
    return torch.zeros_like(logits).scatter(1, targets[:, None], (p - 1) / len(targets))
