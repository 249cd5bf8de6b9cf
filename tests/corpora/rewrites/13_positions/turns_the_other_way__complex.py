import torch


def apply_rotary(x, cos, sin, halves=False):
    """Turn each pair by minus its angle, as a complex number."""
    d = x.shape[-1]
    pairs = x.unflatten(-1, (2, d // 2)).transpose(-1, -2) if halves else x.unflatten(-1, (-1, 2))
    turned = torch.view_as_complex(pairs.contiguous()) * torch.complex(cos, sin).conj()
    both = torch.view_as_real(turned)
    return (both.transpose(-1, -2) if halves else both).flatten(-2)
