import math

import torch


def mask_with_infinity(scores, d_k):
    n = scores.size(0)
    hidden = torch.triu(torch.ones(n, n), 1).bool()
    s = scores.clone()
    s[hidden] = -math.inf
    w = torch.nn.functional.softmax(s, dim=1)
    w = w * (1 / math.sqrt(d_k))
    return w
