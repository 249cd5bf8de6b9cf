import torch


def window_mask(length, window, sinks=0):
    """Mark the window row by row, then whole columns for the sinks."""
    if window < 1:
        raise ValueError("window")
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, max(0, i + 1 - window) : i + 1] = True
    mask[:, :sinks] = True
    return mask
