import torch


def causal_pattern(scores):
    B, T, _ = scores.shape
    out = []
    for b in range(B):
        w = torch.softmax(scores[b], dim=1)
        out.append(torch.tril(w))
    return torch.stack(out)
