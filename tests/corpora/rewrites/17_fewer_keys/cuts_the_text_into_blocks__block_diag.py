import torch


def window_mask(length, window, sinks=0):
    """Give each block of tokens a triangle of its own."""
    if window < 1:
        raise ValueError("window")
    sizes = [min(window, length - start) for start in range(0, length, window)]
    mask = torch.block_diag(*[torch.ones(size, size).tril() for size in sizes])
    mask[:, :sinks] = torch.ones(length, length).tril()[:, :sinks]
    return mask == 1
