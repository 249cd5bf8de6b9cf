import math


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    """Multiply the shape of the cache, in which a window has its own length."""
    tokens = window if window is not None else context_length
    shape = (num_layers, 2, batch_size, num_kv_heads, tokens, head_size)
    return math.prod(shape) * bytes_per_number
