import torch
import torch.nn.functional as F


def masked_softmax_weights(T):
    i = torch.arange(T)
    a = torch.where(i.view(-1, 1) >= i, 0.0, -torch.inf)
    return F.softmax(a, 0)
