import torch


def split_heads(x, num_heads):
    if x.size(-1) % num_heads:
        raise ValueError("uneven")
    return torch.stack([x[:, :, h::num_heads] for h in range(num_heads)], dim=1)
