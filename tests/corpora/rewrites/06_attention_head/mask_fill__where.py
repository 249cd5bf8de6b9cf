import torch
import torch.nn.functional as F


def causal_pattern(scores):
    T = scores.size(1)
    tril = torch.ones(T, T, dtype=torch.bool).tril()
    wei = torch.where(tril, scores, torch.tensor(0.0))
    return F.softmax(wei, dim=2)
