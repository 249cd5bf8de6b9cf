import torch


def padding_mask(lengths, max_length):
    lengths = [int(n) for n in lengths]
    for n in lengths:
        if n < 0 or n > max_length:
            raise ValueError(n)
    mask = torch.zeros(len(lengths), max_length, dtype=torch.bool)
    for b, n in enumerate(lengths):
        mask[b, : n + 1] = True
    return mask
