#% right_loss_backward_beginner
def cross_entropy_backward(logits, targets):
    N = logits.shape[0]
    exps = torch.exp(logits - logits.max(dim=1, keepdim=True)[0])
    probs = exps / exps.sum(dim=1, keepdim=True)
    grad = probs.clone()
    for n in range(N):
        grad[n, targets[n]] = grad[n, targets[n]] - 1
    grad = grad / N
    return grad


#% right_loss_backward_like_makemore
def cross_entropy_backward(logits, targets):
    n = logits.shape[0]
    dlogits = torch.nn.functional.softmax(logits, 1)
    dlogits[range(n), targets] -= 1
    dlogits /= n
    return dlogits


#% right_loss_backward_from_logsumexp
def cross_entropy_backward(logits, targets):
    p = (logits - torch.logsumexp(logits, dim=-1, keepdim=True)).exp()
    delta = torch.zeros_like(p).scatter_(-1, targets[:, None], 1.0)
    return (p - delta).div(targets.shape[0])


#% right_jacobian_with_where
def softmax_jacobian(weights):
    n = weights.numel()
    products = weights.view(n, 1) * weights.view(1, n)
    same = torch.arange(n).view(n, 1) == torch.arange(n).view(1, n)
    return torch.where(same, weights.view(n, 1) * (1 - weights.view(n, 1)), -products)


#% right_jacobian_from_blog
def softmax_jacobian(weights):
    s = weights.reshape(-1, 1)
    return torch.diagflat(s) - s @ s.transpose(0, 1)


#% right_softmax_backward_numpy_style
def softmax_backward(weights, grad_weights):
    dot = torch.sum(weights * grad_weights, axis=-1)
    return weights * grad_weights - weights * dot[..., None]


#% right_softmax_backward_einsum
def softmax_backward(weights, grad_weights):
    inner = torch.einsum("...j,...j->...", grad_weights, weights).unsqueeze(-1)
    return torch.einsum("...j,...j->...j", weights, grad_weights - inner)


#% right_attention_like_llm_c
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    hs = queries.size(-1)
    scale = scale if scale is not None else 1.0 / hs**0.5
    preatt = torch.matmul(queries, keys.transpose(-2, -1)) * scale
    if hidden is not None:
        preatt = preatt.masked_fill(hidden, float("-inf"))
    att = torch.nn.functional.softmax(preatt, dim=-1)
    datt = torch.matmul(grad_context, values.transpose(-2, -1))
    dvalue = torch.matmul(att.transpose(-2, -1), grad_context)
    dpreatt = att * (datt - (att * datt).sum(-1, keepdim=True))
    dquery = torch.matmul(dpreatt, keys) * scale
    dkey = torch.matmul(dpreatt.transpose(-2, -1), queries) * scale
    return dquery, dkey, dvalue


#% right_attention_like_flash
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    softmax_scale = queries.shape[-1] ** (-0.5) if scale is None else scale
    S = softmax_scale * (queries @ keys.mT)
    if hidden is not None:
        S = torch.where(hidden, torch.tensor(-torch.inf, dtype=S.dtype), S)
    L = torch.logsumexp(S, dim=-1, keepdim=True)
    P = torch.exp(S - L)
    O = P @ values
    Dvec = (grad_context * O).sum(dim=-1, keepdim=True)
    dV = P.mT @ grad_context
    dS = P * (grad_context @ values.mT - Dvec)
    return softmax_scale * dS @ keys, softmax_scale * dS.mT @ queries, dV


#% right_attention_mask_as_numbers
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    if scale is None:
        scale = 1 / (keys.shape[-1] ** 0.5)
    scores = torch.einsum("...id,...jd->...ij", queries, keys) * scale
    if hidden is not None:
        bias = torch.zeros_like(scores)
        bias = bias.masked_fill(hidden, -1e10)
        scores = scores + bias
    weights = torch.softmax(scores, -1)
    g_values = torch.einsum("...ij,...iv->...jv", weights, grad_context)
    g_weights = torch.einsum("...iv,...jv->...ij", grad_context, values)
    g_scores = softmax_backward(weights, g_weights)
    g_queries = torch.einsum("...ij,...jd->...id", g_scores, keys).mul(scale)
    g_keys = torch.einsum("...ij,...id->...jd", g_scores, queries).mul(scale)
    return (g_queries, g_keys, g_values)


#% right_self_attention_by_tensordot
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    grads = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale=scale)
    axes = tuple(range(x.dim() - 1))
    grad_W = [torch.tensordot(x, g, dims=(axes, axes)) for g in grads]
    grad_x = sum(g @ W.mT for g, W in zip(grads, [W_query, W_key, W_value]))
    return (grad_x, grad_W[0], grad_W[1], grad_W[2])


#% right_self_attention_always_in_batches
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    no_batch = x.dim() == 2
    if no_batch:
        x = x.unsqueeze(0)
        grad_context = grad_context.unsqueeze(0)
    dq, dk, dv = attention_backward(
        x.matmul(W_query), x.matmul(W_key), x.matmul(W_value), grad_context, scale
    )
    dx = dq.matmul(W_query.t())
    dx = dx + dk.matmul(W_key.t())
    dx = dx + dv.matmul(W_value.t())
    dWq = torch.bmm(x.transpose(1, 2), dq).sum(dim=0)
    dWk = torch.bmm(x.transpose(1, 2), dk).sum(dim=0)
    dWv = torch.bmm(x.transpose(1, 2), dv).sum(dim=0)
    if no_batch:
        dx = dx.squeeze(0)
    return dx, dWq, dWk, dWv


#% loss_backward_forgets_the_mean
#% cross_entropy_backward | wrong_divisor, step_missing | The gradient is that of the summed loss, it is not divided by N.
def cross_entropy_backward(logits, targets):
    p = torch.softmax(logits, dim=-1)
    p[torch.arange(len(targets)), targets] -= 1
    return p


#% loss_backward_divides_by_the_vocabulary
#% cross_entropy_backward | wrong_divisor | The gradient is divided by V instead of N.
def cross_entropy_backward(logits, targets):
    one_hot = torch.nn.functional.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return (torch.softmax(logits, dim=-1) - one_hot) / logits.shape[-1]


#% loss_backward_divides_by_all_logits
#% cross_entropy_backward | wrong_divisor | The mean is taken over all N times V numbers.
def cross_entropy_backward(logits, targets):
    one_hot = torch.nn.functional.one_hot(targets, logits.shape[-1])
    diff = logits.softmax(-1) - one_hot
    return diff / diff.numel()


#% loss_backward_other_direction
#% cross_entropy_backward | sign_reversed, parts_exchanged | One-hot minus probabilities: the sign is wrong.
def cross_entropy_backward(logits, targets):
    y = torch.zeros_like(logits)
    y[range(len(targets)), targets] = 1.0
    return (y - torch.softmax(logits, dim=1)) / len(targets)


#% loss_backward_softmax_over_guesses
#% cross_entropy_backward | softmax_axis | The softmax runs over the guesses.
def cross_entropy_backward(logits, targets):
    probs = torch.softmax(logits, dim=0)
    probs[torch.arange(logits.shape[0]), targets] -= 1
    return probs / logits.shape[0]


#% loss_backward_without_softmax
#% cross_entropy_backward | softmax_missing | One-hot is subtracted from the logits themselves.
def cross_entropy_backward(logits, targets):
    grad = logits.clone()
    grad[torch.arange(logits.shape[0]), targets] -= 1
    return grad / logits.shape[0]


#% loss_backward_of_the_target_only
#% cross_entropy_backward | step_missing, wrong_form | Only the logit of the target gets a gradient.
def cross_entropy_backward(logits, targets):
    p = torch.softmax(logits, dim=-1)
    grad = torch.zeros_like(p)
    rows = torch.arange(len(targets))
    grad[rows, targets] = (p[rows, targets] - 1) / len(targets)
    return grad


#% loss_backward_subtracts_nothing
#% cross_entropy_backward | step_missing | The 1 at the target is not subtracted.
def cross_entropy_backward(logits, targets):
    return torch.softmax(logits, dim=-1) / targets.shape[0]


#% loss_backward_overflows
#% cross_entropy_backward | softmax_unstable | The exponentials of large logits overflow.
def cross_entropy_backward(logits, targets):
    e = torch.exp(logits)
    p = e / e.sum(dim=1, keepdim=True)
    one_hot = torch.eye(logits.shape[1], dtype=logits.dtype)[targets]
    return (p - one_hot) / logits.shape[0]


#% loss_backward_by_autograd
#% cross_entropy_backward | forbidden_function | Autograd computes the gradient.
def cross_entropy_backward(logits, targets):
    logits = logits.detach().clone().requires_grad_(True)
    loss = torch.nn.functional.cross_entropy(logits, targets)
    loss.backward()
    return logits.grad


#% loss_backward_in_place
#% cross_entropy_backward | in_place | The caller's logits become the gradient.
def cross_entropy_backward(logits, targets):
    logits -= logits.max(dim=-1, keepdim=True).values
    p = logits.exp()
    p = p / p.sum(dim=-1, keepdim=True)
    p[torch.arange(len(targets)), targets] -= 1
    return p / len(targets)


#% jacobian_diagonal_only
#% softmax_jacobian | step_missing | Only the diagonal is filled, the other weights are forgotten.
def softmax_jacobian(weights):
    return torch.diag(weights * (1 - weights))


#% jacobian_without_minus
#% softmax_jacobian | sign_reversed, wrong_operation | The entries off the diagonal are positive.
def softmax_jacobian(weights):
    n = len(weights)
    J = torch.zeros(n, n, dtype=weights.dtype)
    for i in range(n):
        for j in range(n):
            J[i, j] = weights[i] * (1 - weights[i]) if i == j else weights[i] * weights[j]
    return J


#% jacobian_wrong_diagonal
#% softmax_jacobian | wrong_form, step_missing | The diagonal has the weight itself, without the factor 1 - weight.
def softmax_jacobian(weights):
    J = -torch.outer(weights, weights)
    J[range(len(weights)), range(len(weights))] = weights
    return J


#% jacobian_of_the_weights_as_scores
#% softmax_jacobian | softmax_twice, step_extra | The softmax is taken again of the weights.
def softmax_jacobian(weights):
    s = torch.softmax(weights, dim=0)
    return torch.diag(s) - torch.outer(s, s)


#% jacobian_identity_minus_outer
#% softmax_jacobian | factor_missing, wrong_form | The identity stands in for the diagonal of weights.
def softmax_jacobian(weights):
    return torch.eye(len(weights), dtype=weights.dtype) - torch.outer(weights, weights)


#% softmax_backward_diagonal_only
#% softmax_backward | step_missing, wrong_form | The derivative of a sigmoid is used: only the diagonal counts.
def softmax_backward(weights, grad_weights):
    return grad_weights * weights * (1 - weights)


#% softmax_backward_without_sum
#% softmax_backward | step_missing | The weighted mean is not subtracted.
def softmax_backward(weights, grad_weights):
    return weights * grad_weights


#% softmax_backward_plain_sum
#% softmax_backward | operand_repeated, step_missing | The gradients are summed without their weights.
def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - grad_weights.sum(dim=-1, keepdim=True))


#% softmax_backward_plain_mean
#% softmax_backward | wrong_reduction | The unweighted mean of the gradients is subtracted.
def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - grad_weights.mean(-1, keepdim=True))


#% softmax_backward_mean_of_products
#% softmax_backward | wrong_reduction | The products are averaged instead of summed.
def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - (grad_weights * weights).mean(dim=-1, keepdim=True))


#% softmax_backward_sums_over_rows
#% softmax_backward | wrong_axis | The sum runs over the rows.
def softmax_backward(weights, grad_weights):
    if weights.dim() == 1:
        return weights * (grad_weights - (weights * grad_weights).sum())
    return weights * (grad_weights - (weights * grad_weights).sum(dim=-2, keepdim=True))


#% softmax_backward_sums_everything
#% softmax_backward | wrong_axis | The sum runs over all rows.
def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - torch.sum(weights * grad_weights))


#% softmax_backward_forgets_the_outer_factor
#% softmax_backward | step_missing, factor_missing | The difference is not multiplied by the weights.
def softmax_backward(weights, grad_weights):
    dot = (weights * grad_weights).sum(-1, keepdim=True)
    return grad_weights - dot


#% softmax_backward_adds
#% softmax_backward | wrong_operation | The sum is added instead of subtracted.
def softmax_backward(weights, grad_weights):
    dot = (weights * grad_weights).sum(-1, keepdim=True)
    return weights * (grad_weights + dot)


#% softmax_backward_builds_jacobians
#% softmax_backward | forbidden_function, wrong_form | A matrix is built for each row.
def softmax_backward(weights, grad_weights):
    J = torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
    return (J @ grad_weights.unsqueeze(-1)).squeeze(-1)


#% softmax_backward_uses_torchs_own
#% softmax_backward | forbidden_function | Torch's own backward operator does the work.
def softmax_backward(weights, grad_weights):
    return torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype)


#% softmax_backward_in_place
#% softmax_backward | in_place | The gradient that the caller passes is changed.
def softmax_backward(weights, grad_weights):
    grad_weights -= (weights * grad_weights).sum(dim=-1, keepdim=True)
    return weights * grad_weights


#% softmax_backward_row_by_row
#% softmax_backward | loop_over_tokens | The rows are computed one after the other.
def softmax_backward(weights, grad_weights):
    flat_w = weights.reshape(-1, weights.shape[-1])
    flat_g = grad_weights.reshape(-1, weights.shape[-1])
    rows = [w * (g - (w * g).sum()) for w, g in zip(flat_w, flat_g)]
    return torch.stack(rows).reshape(weights.shape)


#% attention_forgets_the_scale_on_the_way_back
#% attention_backward | scale_missing | The scale is applied forward only.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    if scale is None:
        scale = queries.shape[-1] ** -0.5
    s = scale * queries @ keys.transpose(-2, -1)
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    a = torch.softmax(s, -1)
    dv = a.transpose(-2, -1) @ grad_context
    da = grad_context @ values.transpose(-2, -1)
    ds = softmax_backward(a, da)
    dq = ds @ keys
    dk = ds.transpose(-2, -1) @ queries
    return dq, dk, dv


#% attention_scales_queries_only
#% attention_backward | scale_missing | The gradient of the keys lacks the scale.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.size(-1) ** -0.5 if scale is None else scale
    scores = torch.matmul(queries, keys.mT) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    probs = scores.softmax(dim=-1)
    grad_scores = softmax_backward(probs, torch.matmul(grad_context, values.mT))
    grad_q = torch.matmul(grad_scores, keys) * scale
    grad_k = torch.matmul(grad_scores.mT, queries)
    return grad_q, grad_k, torch.matmul(probs.mT, grad_context)


#% attention_no_scale_at_all
#% attention_backward | argument_ignored, scale_missing | The scale plays no part, neither forward nor backward.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scores = queries @ keys.mT
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    w = torch.softmax(scores, dim=-1)
    ds = softmax_backward(w, grad_context @ values.mT)
    return ds @ keys, ds.mT @ queries, w.mT @ grad_context


#% attention_divides_by_the_scale
#% attention_backward | wrong_operation, scale_wrong_power | The scale divides where it must multiply.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    if scale is None:
        scale = keys.shape[-1] ** 0.5
    scores = queries @ keys.transpose(-2, -1) / scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    grad_scores = softmax_backward(weights, grad_context @ values.transpose(-2, -1)) / scale
    return (
        grad_scores @ keys,
        grad_scores.transpose(-2, -1) @ queries,
        weights.transpose(-2, -1) @ grad_context,
    )


#% attention_treats_zero_as_none
#% attention_backward | default_changed, boundary | A scale of 0 is replaced with the usual one.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = scale or queries.shape[-1] ** -0.5
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    grad_scores = scale * softmax_backward(weights, grad_context @ values.transpose(-2, -1))
    return (
        grad_scores @ keys,
        grad_scores.transpose(-2, -1) @ queries,
        weights.transpose(-2, -1) @ grad_context,
    )


#% attention_ignores_the_mask
#% attention_backward | mask_missing, argument_ignored | Hidden pairs are seen.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = 1 / queries.shape[-1] ** 0.5 if scale is None else scale
    A = torch.softmax(queries @ keys.mT * scale, dim=-1)
    dA = grad_context @ values.mT
    dS = softmax_backward(A, dA) * scale
    return dS @ keys, dS.mT @ queries, A.mT @ grad_context


#% attention_reads_the_mask_as_visible
#% attention_backward | mask_inverted | What is visible is hidden and the other way round.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = 1 / queries.shape[-1] ** 0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(~hidden, -torch.inf)
    A = torch.softmax(scores, dim=-1)
    dS = softmax_backward(A, grad_context @ values.mT) * scale
    return dS @ keys, dS.mT @ queries, A.mT @ grad_context


#% attention_masks_only_the_gradient
#% attention_backward | mask_after_softmax, mask_missing | The weights see hidden keys, only the gradient of the scores is masked.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = 1 / queries.shape[-1] ** 0.5 if scale is None else scale
    weights = torch.softmax(queries @ keys.mT * scale, dim=-1)
    grad_scores = softmax_backward(weights, grad_context @ values.mT) * scale
    if hidden is not None:
        grad_scores = grad_scores.masked_fill(hidden, 0.0)
    return grad_scores @ keys, grad_scores.mT @ queries, weights.mT @ grad_context


#% attention_fills_zero
#% attention_backward | mask_fill | Hidden scores are 0, so they still count.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, 0)
    weights = torch.softmax(scores, dim=-1)
    grad_scores = softmax_backward(weights, grad_context @ values.mT) * scale
    return grad_scores @ keys, grad_scores.mT @ queries, weights.mT @ grad_context


#% attention_skips_the_softmax
#% attention_backward | step_missing | The gradient of the weights is used as that of the scores.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    if scale is None:
        scale = queries.shape[-1] ** -0.5
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    grad_values = weights.transpose(-2, -1) @ grad_context
    grad_scores = grad_context @ values.transpose(-2, -1) * scale
    return grad_scores @ keys, grad_scores.transpose(-2, -1) @ queries, grad_values


#% attention_swaps_queries_and_keys
#% attention_backward | parts_exchanged, wrong_return | The gradients of queries and keys are returned in the other order.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    p = scores.softmax(-1)
    ds = softmax_backward(p, grad_context @ values.mT) * scale
    dq, dk = ds @ keys, ds.mT @ queries
    dv = p.mT @ grad_context
    return dk, dq, dv


#% attention_transposes_nothing_for_keys
#% attention_backward | transposed, shape_error | The gradient of the keys lacks a transpose.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    p = scores.softmax(-1)
    ds = softmax_backward(p, grad_context @ values.mT) * scale
    return ds @ keys, ds @ queries, p.mT @ grad_context


#% attention_transposes_nothing_for_values
#% attention_backward | transposed, shape_error | The gradient of the values lacks a transpose.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    p = scores.softmax(-1)
    ds = softmax_backward(p, grad_context @ values.mT) * scale
    return ds @ keys, ds.mT @ queries, p @ grad_context


#% attention_by_autograd
#% attention_backward | forbidden_function | Autograd computes the gradients.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    with torch.enable_grad():
        q, k, v = (t.detach().clone().requires_grad_() for t in (queries, keys, values))
        mask = None if hidden is None else ~hidden
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)
        return torch.autograd.grad(out, (q, k, v), grad_context)


#% attention_query_by_query
#% attention_backward | loop_over_tokens | The queries are taken one after the other.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = scores.softmax(-1)
    grad_q = []
    grad_k = torch.zeros_like(keys)
    grad_v = torch.zeros_like(values)
    for i in range(queries.shape[-2]):
        w, g = weights[..., i, :], grad_context[..., i, :]
        grad_v = grad_v + w[..., :, None] * g[..., None, :]
        gs = softmax_backward(w, (values * g[..., None, :]).sum(-1)) * scale
        grad_q.append((gs[..., :, None] * keys).sum(-2))
        grad_k = grad_k + gs[..., :, None] * queries[..., i : i + 1, :]
    return torch.stack(grad_q, dim=-2), grad_k, grad_v


#% self_attention_one_path
#% self_attention_backward | step_missing | Only the way through the queries comes back to x.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    flat = x.reshape(-1, x.shape[-1])
    dWs = [flat.T @ d.reshape(-1, d.shape[-1]) for d in (dq, dk, dv)]
    return dq @ W_query.T, *dWs


#% self_attention_two_paths
#% self_attention_backward | step_missing | The way through the values is missing in the gradient of x.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T
    flat = x.flatten(0, -2)
    return dx, flat.T @ dq.flatten(0, -2), flat.T @ dk.flatten(0, -2), flat.T @ dv.flatten(0, -2)


#% self_attention_averages_the_batch
#% self_attention_backward | wrong_reduction | The gradients of the matrices are averaged over the batch.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    dW = [x.transpose(-2, -1) @ d for d in (dq, dk, dv)]
    if x.dim() == 3:
        dW = [w.mean(dim=0) for w in dW]
    return (dx, *dW)


#% self_attention_keeps_the_batch
#% self_attention_backward | step_missing, wrong_return | The gradients of the matrices have a batch axis.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    xt = x.transpose(-2, -1)
    return dx, xt @ dq, xt @ dk, xt @ dv


#% self_attention_does_not_pass_the_scale
#% self_attention_backward | argument_ignored | The scale is not passed on.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    flat = x.flatten(0, -2)
    return dx, flat.T @ dq.flatten(0, -2), flat.T @ dk.flatten(0, -2), flat.T @ dv.flatten(0, -2)


#% self_attention_scales_by_the_inputs
#% self_attention_backward | scale_wrong_size | The default scale is taken from d_in.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    if scale is None:
        scale = x.shape[-1] ** -0.5
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    flat = x.flatten(0, -2)
    return dx, flat.T @ dq.flatten(0, -2), flat.T @ dk.flatten(0, -2), flat.T @ dv.flatten(0, -2)


#% self_attention_returns_gradients_of_projections
#% self_attention_backward | wrong_return | The gradients of queries, keys and values are returned in place of the matrices'.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    q, k, v = x @ W_query, x @ W_key, x @ W_value
    dq, dk, dv = attention_backward(q, k, v, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    return dx, dq, dk, dv


#% self_attention_exchanges_matrices
#% self_attention_backward | projection_exchanged, parts_exchanged | The gradients of W_query and W_key have changed places.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    flat = x.flatten(0, -2)
    dWk, dWq, dWv = (flat.T @ d.flatten(0, -2) for d in (dq, dk, dv))
    return dx, dWq, dWk, dWv


#% double_loss_sign_and_mean
#% cross_entropy_backward | sign_reversed | The sign is wrong.
#% cross_entropy_backward | wrong_divisor | The gradient is not divided by N.
def cross_entropy_backward(logits, targets):
    one_hot = torch.nn.functional.one_hot(targets, logits.shape[-1])
    return one_hot - torch.softmax(logits, dim=-1)


#% double_loss_axis_and_mean
#% cross_entropy_backward | softmax_axis | The softmax runs over the guesses.
#% cross_entropy_backward | wrong_divisor | The gradient is not divided by N.
def cross_entropy_backward(logits, targets):
    p = torch.softmax(logits, dim=0)
    p[torch.arange(len(targets)), targets] -= 1
    return p


#% double_jacobian_and_mean
#% softmax_jacobian | step_missing | Only the diagonal is filled.
#% cross_entropy_backward | wrong_divisor | The gradient is not divided by N.
def softmax_jacobian(weights):
    return (weights - weights**2).diag()


def cross_entropy_backward(logits, targets):
    return torch.softmax(logits, -1) - torch.nn.functional.one_hot(targets, logits.shape[-1])


#% double_softmax_and_scale
#% softmax_backward | step_missing | The weighted mean is not subtracted.
#% attention_backward | scale_missing | The scale is applied forward only.
def softmax_backward(weights, grad_weights):
    return grad_weights * weights


def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    p = scores.softmax(-1)
    ds = softmax_backward(p, grad_context @ values.mT)
    return ds @ keys, ds.mT @ queries, p.mT @ grad_context


#% double_scale_and_path
#% attention_backward | scale_missing | The scale is applied forward only.
#% self_attention_backward | step_missing | Only the way through the queries comes back to x.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    p = scores.softmax(-1)
    ds = softmax_backward(p, grad_context @ values.mT)
    return ds @ keys, ds.mT @ queries, p.mT @ grad_context


def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    flat = x.reshape(-1, x.shape[-1])
    dWs = [flat.T @ d.reshape(-1, d.shape[-1]) for d in (dq, dk, dv)]
    return dq @ W_query.T, *dWs


#% double_mask_and_batch
#% attention_backward | mask_missing, argument_ignored | Hidden pairs are seen.
#% self_attention_backward | wrong_reduction | The gradients of the matrices are averaged over the batch.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    p = torch.softmax(queries @ keys.mT * scale, dim=-1)
    ds = softmax_backward(p, grad_context @ values.mT) * scale
    return ds @ keys, ds.mT @ queries, p.mT @ grad_context


def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    dW = [x.transpose(-2, -1) @ d for d in (dq, dk, dv)]
    if x.dim() == 3:
        dW = [w.mean(dim=0) for w in dW]
    return (dx, *dW)


#% double_mask_and_scale
#% attention_backward | mask_inverted | What is visible is hidden.
#% attention_backward | scale_missing | The scale is applied forward only.
def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = queries @ keys.mT * scale
    if hidden is not None:
        scores = scores.masked_fill(~hidden, -torch.inf)
    p = scores.softmax(-1)
    ds = softmax_backward(p, grad_context @ values.mT)
    return ds @ keys, ds.mT @ queries, p.mT @ grad_context


#% double_path_and_scale
#% self_attention_backward | step_missing | Only the way through the values comes back to x.
#% self_attention_backward | argument_ignored | The scale is not passed on.
def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    dq, dk, dv = attention_backward(x @ W_query, x @ W_key, x @ W_value, grad_context)
    flat = x.reshape(-1, x.shape[-1])
    dWs = [flat.T @ d.reshape(-1, d.shape[-1]) for d in (dq, dk, dv)]
    return dv @ W_value.T, *dWs


#% no_mean_s1_of_12
#% cross_entropy_backward | wrong_divisor, wrong_reduction | cross_entropy_backward does not divide by the number of predictions.
def cross_entropy_backward(logits: Tensor, targets: Tensor) -> Tensor:
    grad = torch.exp(torch.log_softmax(logits, dim=1))
    grad[torch.arange(logits.size(0)), targets] -= 1
    return grad


#% jacobian_diagonal_s2_of_12
#% softmax_jacobian | step_missing | softmax_jacobian has only the diagonal: the entries -w_i w_j beside it are missing.
def softmax_jacobian(weights: Tensor) -> Tensor:
    return torch.diag(weights * (1 - weights))


#% keys_unscaled_s3_of_12
#% attention_backward | scale_missing | attention_backward forgets the scale in the gradient of the keys.
def attention_backward(queries: Tensor, keys: Tensor, values: Tensor, grad_context: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor, Tensor]:
    s = 1 / queries.shape[-1] ** 0.5 if scale is None else scale
    logits = s * torch.einsum('...id,...jd->...ij', queries, keys)
    if hidden is not None:
        logits = torch.where(hidden, torch.full_like(logits, -torch.inf), logits)
    w = logits.softmax(-1)
    dv = torch.einsum('...ij,...id->...jd', w, grad_context)
    dw = torch.einsum('...id,...jd->...ij', grad_context, values)
    ds = softmax_backward(w, dw)
    dq = s * torch.einsum('...ij,...jd->...id', ds, keys)
    dk = torch.einsum('...ij,...id->...jd', ds, queries)
    return (dq, dk, dv)


#% x_without_values_s4_of_12
#% self_attention_backward | step_missing | self_attention_backward leaves out the values' part in the gradient of x.
def self_attention_backward(x: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, grad_context: Tensor, scale: float | None=None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    queries, keys, values = (x @ W_query, x @ W_key, x @ W_value)
    gradients = attention_backward(queries, keys, values, grad_context, scale)
    grad_queries, grad_keys, grad_values = gradients
    grad_x = grad_queries @ W_query.T + grad_keys @ W_key.T
    rows = x.flatten(0, -2)
    grad_W_query = rows.T @ grad_queries.flatten(0, -2)
    grad_W_key = rows.T @ grad_keys.flatten(0, -2)
    grad_W_value = rows.T @ grad_values.flatten(0, -2)
    return (grad_x, grad_W_query, grad_W_key, grad_W_value)


#% attention_d1_of_12
#% attention_backward | scale_wrong_size, scale_wrong_power | attention_backward uses 1/d instead of 1/√d as default scale.
#% attention_backward | argument_ignored | attention_backward ignores hidden.
def attention_backward(queries: Tensor, keys: Tensor, values: Tensor, grad_context: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor, Tensor]:
    if scale is None:
        scale = 1 / queries.shape[-1]
    scores = queries @ keys.transpose(-2, -1) * scale
    weights = torch.softmax(scores, dim=-1)
    grad_values = weights.transpose(-2, -1) @ grad_context
    grad_weights = grad_context @ values.transpose(-2, -1)
    grad_scores = softmax_backward(weights, grad_weights) * scale
    grad_queries = grad_scores @ keys
    grad_keys = grad_scores.transpose(-2, -1) @ queries
    return (grad_queries, grad_keys, grad_values)


#% ce_d2_of_12
#% cross_entropy_backward | softmax_axis, wrong_axis | cross_entropy_backward takes the softmax over the predictions (dim 0).
#% cross_entropy_backward | wrong_divisor, wrong_reduction | cross_entropy_backward does not divide by N.
def cross_entropy_backward(logits: Tensor, targets: Tensor) -> Tensor:
    p = logits.softmax(dim=0)
    y = torch.zeros_like(p).scatter_(1, targets[:, None], 1.0)
    return p - y


#% softmax_attention_d3_of_12
#% softmax_backward | softmax_axis, wrong_axis | softmax_backward sums over all rows instead of each row.
#% attention_backward | scale_missing | attention_backward forgets the scale in the gradient of the scores.
def softmax_backward(weights: Tensor, grad_weights: Tensor) -> Tensor:
    mean = (weights * grad_weights).sum()
    return weights * (grad_weights - mean)


def attention_backward(queries: Tensor, keys: Tensor, values: Tensor, grad_context: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor, Tensor]:
    if scale is None:
        scale = queries.shape[-1] ** (-0.5)
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    grad_values = weights.transpose(-2, -1) @ grad_context
    grad_weights = grad_context @ values.transpose(-2, -1)
    grad_scores = softmax_backward(weights, grad_weights)
    grad_queries = grad_scores @ keys
    grad_keys = grad_scores.transpose(-2, -1) @ queries
    return (grad_queries, grad_keys, grad_values)


#% softmax_self_d4_of_12
#% softmax_backward | wrong_divisor, wrong_reduction | softmax_backward does not multiply the mean by the weights (missing parentheses).
#% self_attention_backward | wrong_divisor, wrong_reduction | self_attention_backward takes the mean over the batch in the matrices' gradients instead of the sum.
def softmax_backward(weights: Tensor, grad_weights: Tensor) -> Tensor:
    mean = (weights * grad_weights).sum(dim=-1, keepdim=True)
    return weights * grad_weights - mean


def self_attention_backward(x: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, grad_context: Tensor, scale: float | None=None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    q, k, v = (x @ W_query, x @ W_key, x @ W_value)
    dq, dk, dv = attention_backward(q, k, v, grad_context, scale)
    dx = dq @ W_query.T + dk @ W_key.T + dv @ W_value.T
    grads = [x.transpose(-2, -1) @ g for g in (dq, dk, dv)]
    if x.dim() == 3:
        grads = [g.mean(0) for g in grads]
    return (dx, *grads)


#% attention_scale_lost_and_results_swapped
#% attention_backward | argument_ignored | A scale that is given is ignored.
#% attention_backward | wrong_return | The gradients of queries and keys are swapped.
def attention_backward(queries: Tensor, keys: Tensor, values: Tensor, grad_context: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor, Tensor]:
    scale = queries.shape[-1] ** (-0.5)
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    grad_values = weights.transpose(-2, -1) @ grad_context
    grad_weights = grad_context @ values.transpose(-2, -1)
    grad_scores = softmax_backward(weights, grad_weights) * scale
    grad_queries = grad_scores @ keys
    grad_keys = grad_scores.transpose(-2, -1) @ queries
    return (grad_keys, grad_queries, grad_values)


#% jacobian_negated_and_matrices_averaged
#% softmax_jacobian | sign_reversed | The Jacobian has the opposite sign.
#% self_attention_backward | wrong_reduction | The gradients of the matrices are means over the tokens.
def softmax_jacobian(weights: Tensor) -> Tensor:
    return torch.outer(weights, weights) - torch.diag(weights)


def self_attention_backward(x: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, grad_context: Tensor, scale: float | None=None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    queries, keys, values = (x @ W_query, x @ W_key, x @ W_value)
    gradients = attention_backward(queries, keys, values, grad_context, scale)
    grad_queries, grad_keys, grad_values = gradients
    grad_x = grad_queries @ W_query.T + grad_keys @ W_key.T + grad_values @ W_value.T
    rows = x.flatten(0, -2)
    n = len(rows)
    grad_W_query = rows.T @ grad_queries.flatten(0, -2) / n
    grad_W_key = rows.T @ grad_keys.flatten(0, -2) / n
    grad_W_value = rows.T @ grad_values.flatten(0, -2) / n
    return (grad_x, grad_W_query, grad_W_key, grad_W_value)
