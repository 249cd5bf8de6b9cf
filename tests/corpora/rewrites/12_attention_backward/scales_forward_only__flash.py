def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    factor = 1 / queries.size(-1) ** 0.5 if scale is None else scale
    S = torch.einsum("...qd,...kd->...qk", queries * factor, keys)
    if hidden is not None:
        S = torch.where(hidden, -torch.inf, S)
    P = torch.exp(S - torch.logsumexp(S, dim=-1, keepdim=True))
    D = (grad_context * (P @ values)).sum(dim=-1, keepdim=True)
    dS = P * (grad_context @ values.mT - D)
    return dS @ keys, dS.mT @ queries, P.mT @ grad_context
