import torch


def scaled_scores(queries, keys):
    B, T, head_size = keys.shape
    wei = torch.bmm(queries, keys.permute(0, 2, 1))
    return wei * head_size**-1
