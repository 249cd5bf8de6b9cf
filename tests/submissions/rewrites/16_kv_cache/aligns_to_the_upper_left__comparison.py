def lower_right_mask(num_queries, num_keys):
    """Compare the numbers of queries and keys, as in a square mask."""
    return torch.arange(num_keys)[None] <= torch.arange(num_queries)[:, None]
