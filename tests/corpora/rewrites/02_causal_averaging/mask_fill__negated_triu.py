import torch
import torch.nn.functional as F


def causal_mean_softmax(x):
    B, T, C = x.size()
    wei = -torch.triu(torch.ones((T, T)), 1)
    wei = F.softmax(wei, dim=-1)
    return torch.bmm(wei.expand(B, T, T), x)
