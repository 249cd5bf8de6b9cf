import torch


def attention_weights(scores, d_k):
    s = scores.div(d_k)
    e = torch.exp(s - s.max(dim=-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)
