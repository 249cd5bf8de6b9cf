def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    return torch.lerp(context_a, context_b, 0.5), torch.logaddexp(logsumexp_a, logsumexp_b)
