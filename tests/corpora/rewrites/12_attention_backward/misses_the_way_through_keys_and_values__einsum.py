def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    projected = [x @ W for W in (W_query, W_key, W_value)]
    dq, dk, dv = attention_backward(*projected, grad_context, scale=scale)
    flat = x.reshape(-1, x.size(-1))
    dWs = [torch.einsum("ti,to->io", flat, d.reshape(-1, d.size(-1))) for d in (dq, dk, dv)]
    return torch.einsum("...o,io->...i", dq, W_query), *dWs
