def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    difference = (logsumexp_b - logsumexp_a).nan_to_num(0.0, torch.inf, -torch.inf)
    share = torch.sigmoid(difference).unsqueeze(-1)
    return share * context_a + (1 - share) * context_b, torch.logaddexp(logsumexp_a, logsumexp_b)
