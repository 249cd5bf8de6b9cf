import torch


def mask_then_renormalize(weights):
    n = weights.shape[0]
    keep = torch.tensor([[float(j <= i) for j in range(n)] for i in range(n)])
    left = weights.mul(keep)
    total = 0.0
    for row in left:
        total = total + row.sum()
    return left / total
