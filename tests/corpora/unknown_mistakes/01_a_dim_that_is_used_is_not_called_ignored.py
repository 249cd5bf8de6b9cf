# The code reads dim, and normalises along the last axis all the same.
def softmax_stable(scores, dim):
    dim = max(dim, scores.ndim - 1)
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)
