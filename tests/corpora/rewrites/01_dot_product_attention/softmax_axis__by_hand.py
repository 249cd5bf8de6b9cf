import torch


def attention_weights(scores):
    e = (scores - scores.amax()).exp()
    return torch.div(e, e.sum(0))
