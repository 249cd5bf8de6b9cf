import torch


def alibi_bias(num_heads, num_queries, num_keys):
    """Count the distance from the last key in every row."""
    row = torch.arange(num_keys).flip(0)
    return torch.einsum("h,q,k->hqk", -alibi_slopes(num_heads), torch.ones(num_queries), row * 1.0)
