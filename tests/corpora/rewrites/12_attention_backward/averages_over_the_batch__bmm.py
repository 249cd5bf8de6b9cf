def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    tokens, back = (x, grad_context) if x.dim() == 3 else (x[None], grad_context[None])
    dq, dk, dv = attention_backward(
        tokens @ W_query, tokens @ W_key, tokens @ W_value, back, scale
    )
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    dWs = [torch.bmm(tokens.mT, d).mean(dim=0) for d in (dq, dk, dv)]
    return dx.view_as(x), *dWs
