import torch


def draw_weights(d_in, d_out, distribution="rand"):
    if distribution == "rand":
        W = torch.rand(3, d_in, d_out)
    elif distribution == "randn":
        W = torch.randn(3, d_in, d_out)
    else:
        raise ValueError(distribution)
    q, k, v = [torch.nn.Parameter(w.clone(), requires_grad=False) for w in W.unbind(0)]
    return q, k, v
