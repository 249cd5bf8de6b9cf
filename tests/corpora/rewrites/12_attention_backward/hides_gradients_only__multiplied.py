def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    weights = torch.softmax(torch.matmul(queries, keys.mT) * scale, -1)
    d_scores = scale * softmax_backward(weights, torch.matmul(grad_context, values.mT))
    if hidden is not None:
        d_scores = d_scores * (1 - hidden.to(d_scores.dtype))
    return d_scores @ keys, d_scores.mT @ queries, weights.mT @ grad_context
