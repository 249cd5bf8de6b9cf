#% right_online_beginner
def online_max_and_sum(scores, tile_size):
    running_max = float("-inf")
    running_sum = 0.0
    i = 0
    while i < len(scores):
        chunk = scores[i:i + tile_size]
        chunk_max = chunk.max()
        if chunk_max > running_max:
            running_sum = running_sum * torch.exp(running_max - chunk_max)
            running_max = chunk_max
        running_sum = running_sum + torch.sum(torch.exp(chunk - running_max))
        i = i + tile_size
    return running_max, running_sum


#% right_online_two_sums_like_milakov
def online_max_and_sum(scores, tile_size):
    m_prev = torch.tensor(-torch.inf, dtype=scores.dtype)
    d_prev = torch.zeros((), dtype=scores.dtype)
    for x in torch.split(scores, tile_size):
        m_tile = x.amax()
        d_tile = (x - m_tile).exp().sum()
        m_j = torch.maximum(m_prev, m_tile)
        d_prev = d_prev * (m_prev - m_j).exp() + d_tile * (m_tile - m_j).exp()
        m_prev = m_j
    return m_prev, d_prev


#% right_online_chunks_and_zip
def online_max_and_sum(scores, tile_size):
    edges = list(range(0, scores.size(0), tile_size)) + [scores.size(0)]
    m = scores.new_full((), float("-inf"))
    l = scores.new_zeros(())
    for a, b in zip(edges[:-1], edges[1:]):
        new_m = torch.max(torch.stack([m, scores[a:b].max()]))
        l = l.mul((m - new_m).exp()).add((scores[a:b] - new_m).exp().sum())
        m = new_m
    return m, l


#% right_tile_like_flash_paper
def attend_tile(queries, keys, values, scale=None, hidden=None):
    tau = 1 / math.sqrt(queries.size(-1)) if scale is None else scale
    S = tau * queries @ keys.transpose(-1, -2)
    if hidden is not None:
        S = S.masked_fill(hidden, -float("inf"))
    m = torch.max(S, dim=-1)[0]
    m = torch.where(m == -float("inf"), torch.zeros_like(m), m)
    P = torch.exp(S - m.unsqueeze(-1))
    l = torch.sum(P, dim=-1)
    O = P @ values / torch.where(l > 0, l, torch.ones_like(l)).unsqueeze(-1)
    return O, m + torch.log(l)


import math


#% right_tile_einsum_with_weights
def attend_tile(queries, keys, values, scale=None, hidden=None):
    if scale is None:
        scale = queries.shape[-1] ** -0.5
    att = torch.einsum("...id,...jd->...ij", queries, keys) * scale
    if hidden is not None:
        att = torch.where(hidden, float("-inf"), att)
    biggest = att.amax(-1, keepdim=True).clamp_min(-1e30)
    e = torch.exp(att - biggest)
    z = e.sum(-1, keepdim=True)
    p = e / torch.clamp(z, min=1e-20)
    return torch.einsum("...ij,...jv->...iv", p, values), (biggest + z.log())[..., 0]


#% right_tile_multiplies_by_the_mask
def attend_tile(queries, keys, values, scale=None, hidden=None):
    d = keys.shape[-1]
    scores = (queries @ keys.mT) * (d ** -0.5 if scale is None else scale)
    visible = torch.ones_like(scores) if hidden is None else (~hidden).to(scores) + 0 * scores
    top = torch.max(torch.where(visible > 0, scores, -1e30), dim=-1, keepdim=True).values
    e = torch.exp(torch.where(visible > 0, scores, -1e30) - top) * visible
    total = e.sum(dim=-1, keepdim=True)
    empty = total == 0
    lse = torch.where(empty, -torch.inf, top + torch.log(total + empty))
    return (e / (total + empty)) @ values, lse.squeeze(-1)


#% right_merge_with_where
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    new = torch.logaddexp(logsumexp_a, logsumexp_b)
    wa = torch.where(logsumexp_a == -torch.inf, 0.0, torch.exp(logsumexp_a - new))
    wb = torch.where(logsumexp_b == -torch.inf, 0.0, torch.exp(logsumexp_b - new))
    return wa[..., None] * context_a + wb[..., None] * context_b, new


#% right_merge_by_softmax_of_two
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    lse = torch.stack([logsumexp_a, logsumexp_b], dim=-1)
    w = torch.nan_to_num(torch.softmax(lse, dim=-1))
    out = torch.stack([context_a, context_b], dim=-1) @ w.unsqueeze(-1)
    return out.squeeze(-1), torch.logsumexp(lse, dim=-1)


#% right_merge_like_ring_attention
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    out, lse = context_a, logsumexp_a.unsqueeze(-1)
    block_out, block_lse = context_b, logsumexp_b.unsqueeze(-1)
    both_empty = torch.isinf(lse) & torch.isinf(block_lse)
    diff = torch.where(both_empty, torch.zeros_like(lse), block_lse - lse)
    out = out - torch.sigmoid(diff) * (out - block_out)
    new_lse = torch.max(lse, block_lse) + torch.log1p(torch.exp(-torch.abs(diff)))
    return out, torch.where(both_empty, lse, new_lse).squeeze(-1)


#% right_tiled_keys_only
def tiled_attention(queries, keys, values, tile_size, causal=False):
    n_q, n_k = queries.size(-2), keys.size(-2)
    out = lse = None
    row = torch.arange(n_q)[:, None] + n_k - n_q
    for s in range(0, n_k, tile_size):
        e = min(s + tile_size, n_k)
        mask = (torch.arange(s, e)[None] > row) if causal else None
        o, l = attend_tile(queries, keys[..., s:e, :], values[..., s:e, :], hidden=mask)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% right_tiled_writes_into_the_result
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    out = torch.zeros(*queries.shape[:-1], values.shape[-1], dtype=queries.dtype)
    for i in range(0, Tq, tile_size):
        q = queries[..., i:i + tile_size, :]
        o = torch.zeros(*q.shape[:-1], values.shape[-1], dtype=q.dtype)
        lse = torch.full(q.shape[:-1], -torch.inf, dtype=q.dtype)
        for j in range(0, Tk, tile_size):
            k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
            hide = None
            if causal:
                rows = torch.arange(i, i + q.shape[-2]).reshape(-1, 1)
                cols = torch.arange(j, j + k.shape[-2]).reshape(1, -1)
                hide = cols - (Tk - Tq) > rows
            o, lse = merge_tiles(o, lse, *attend_tile(q, k, v, hidden=hide))
        out[..., i:i + tile_size, :] = o
    return out


#% right_tiled_with_offsets_of_triu
def tiled_attention(queries, keys, values, tile_size, causal=False):
    offset = keys.shape[-2] - queries.shape[-2]
    outs = []
    for qi, q in enumerate(queries.split(tile_size, dim=-2)):
        acc = None
        pairs = zip(keys.split(tile_size, dim=-2), values.split(tile_size, dim=-2))
        for ki, (k, v) in enumerate(pairs):
            shift = offset + (qi - ki) * tile_size
            mask = None
            if causal:
                mask = torch.ones(q.shape[-2], k.shape[-2]).triu(shift + 1).bool()
            part = attend_tile(q, k, v, None, mask)
            acc = part if acc is None else merge_tiles(*acc, *part)
        outs.append(acc[0])
    return torch.cat(outs, dim=-2)


#% online_no_rescale
#% online_max_and_sum | step_missing, factor_missing | The old sum is not multiplied by exp(old - new) when the maximum grows.
def online_max_and_sum(scores, tile_size):
    m = torch.tensor(-torch.inf, dtype=scores.dtype)
    z = torch.zeros((), dtype=scores.dtype)
    for tile in scores.split(tile_size):
        m = torch.maximum(m, tile.max())
        z = z + torch.exp(tile - m).sum()
    return m, z


#% online_rescales_upwards
#% online_max_and_sum | wrong_operation, sign_reversed | The old sum is multiplied by exp(new - old), the inverse of the right factor.
def online_max_and_sum(scores, tile_size):
    m = scores[0]
    z = scores.new_zeros(())
    for start in range(0, scores.shape[0], tile_size):
        t = scores[start:start + tile_size]
        n = torch.max(m, t.max())
        z = z * torch.exp(n - m) + (t - n).exp().sum()
        m = n
    return m, z


#% online_starts_at_zero
#% online_max_and_sum | wrong_operation, boundary | The maximum starts at 0, so scores below 0 have the maximum 0.
def online_max_and_sum(scores, tile_size):
    m, z = torch.zeros((), dtype=scores.dtype), torch.zeros((), dtype=scores.dtype)
    for tile in scores.split(tile_size):
        new = torch.maximum(m, tile.max())
        z = z * (m - new).exp() + (tile - new).exp().sum()
        m = new
    return m, z


#% online_drops_the_rest
#% online_max_and_sum | boundary | The shorter last tile is left out.
def online_max_and_sum(scores, tile_size):
    m, z = scores.new_tensor(-torch.inf), scores.new_tensor(0.0)
    for i in range(max(1, len(scores) // tile_size)):
        tile = scores[i * tile_size:(i + 1) * tile_size]
        new = torch.maximum(m, tile.max())
        z = z * (m - new).exp() + (tile - new).exp().sum()
        m = new
    return m, z


#% online_sums_of_own_maxima
#% online_max_and_sum | step_missing, factor_missing | Each tile's sum is taken with its own maximum and added without a correction.
def online_max_and_sum(scores, tile_size):
    maxima = [tile.max() for tile in scores.split(tile_size)]
    sums = [(tile - tile.max()).exp().sum() for tile in scores.split(tile_size)]
    return torch.stack(maxima).max(), sum(sums)


#% online_plain_exponentials
#% online_max_and_sum | softmax_unstable, step_missing | The maximum is not subtracted, so the sum is that of exp(score).
def online_max_and_sum(scores, tile_size):
    m, z = scores.new_tensor(-torch.inf), scores.new_tensor(0.0)
    for tile in scores.split(tile_size):
        m = torch.maximum(m, tile.max())
        z = z + tile.exp().sum()
    return m, z


#% online_whole_row
#% online_max_and_sum | forbidden_function, loop_over_tokens | All scores are used at once, and the tile size is ignored.
def online_max_and_sum(scores, tile_size):
    m = torch.max(scores)
    return m, torch.sum(torch.exp(scores - m))


#% tile_nan_for_hidden_rows
#% attend_tile | mask_fill, step_missing | A query that sees nothing gets NaN, because minus infinity is subtracted from itself.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-1, keepdim=True)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l, (m + l.log()).squeeze(-1)


#% tile_minus_ten_thousand
#% attend_tile | mask_fill | Hidden scores are -10000, so a query that sees nothing averages all values.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -10000.0)
    m = s.amax(-1, keepdim=True)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l, (m + l.log()).squeeze(-1)


#% tile_forgets_the_scale
#% attend_tile | scale_missing, argument_ignored | With scale=None the scores are not divided by the root of d.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    s = queries @ keys.transpose(-2, -1)
    if scale is not None:
        s = s * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.max(-1, keepdim=True).values
    m = torch.where(m == -torch.inf, torch.zeros_like(m), m)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / torch.where(l == 0, torch.ones_like(l), l), (m + torch.log(l))[..., 0]


#% tile_ignores_the_given_scale
#% attend_tile | argument_ignored | The scale that the caller gives is ignored.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    s = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.max(-1, keepdim=True).values
    m = torch.where(m == -torch.inf, torch.zeros_like(m), m)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / torch.where(l == 0, torch.ones_like(l), l), (m + torch.log(l))[..., 0]


#% tile_hides_the_visible
#% attend_tile | mask_inverted | The mask is inverted: visible keys are hidden.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden == 0, -torch.inf)
    m = s.amax(-1, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l.masked_fill(l == 0, 1), (m + l.log()).squeeze(-1)


#% tile_no_mask
#% attend_tile | mask_missing, argument_ignored | Nothing is hidden.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    m = s.amax(-1, keepdim=True)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l, (m + l.log()).squeeze(-1)


#% tile_returns_log_of_sum
#% attend_tile | step_missing | The maximum is not added to the log of the sum.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-1, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l.masked_fill(l == 0, 1), l.log().squeeze(-1)


#% tile_undivided
#% attend_tile | wrong_divisor, step_missing | The context is not divided by the sum of the exponentials.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-1, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    return p @ values, (m + p.sum(-1, keepdim=True).log()).squeeze(-1)


#% tile_softmax_over_queries
#% attend_tile | softmax_axis, wrong_axis | Maximum and sum run over the queries.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-2, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    l = p.sum(-2, keepdim=True)
    return (p / l.masked_fill(l == 0, 1)) @ values, (m + l.log()).squeeze(-2)


#% tile_swapped_results
#% attend_tile | parts_exchanged, wrong_return | The logsumexp is returned before the context.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-1, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return (m + l.log()).squeeze(-1), p @ values / l.masked_fill(l == 0, 1)


#% tile_context_only
#% attend_tile | wrong_return | Only the context is returned.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-1, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l.masked_fill(l == 0, 1)


#% tile_keeps_the_axis
#% attend_tile | step_missing, shape_error | The logsumexp keeps an axis of size 1.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = torch.where(hidden, -torch.inf, s)
    m = s.max(dim=-1, keepdim=True).values
    m = torch.where(m.isinf(), 0.0, m)
    p = (s - m).exp()
    l = p.sum(dim=-1, keepdim=True)
    return p @ values / torch.where(l == 0, 1.0, l), m + l.log()


#% tile_with_torch_softmax
#% attend_tile | forbidden_function | Torch's own softmax and logsumexp do the work.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    return s.softmax(-1).nan_to_num() @ values, s.logsumexp(-1)


#% tile_no_maximum
#% attend_tile | softmax_unstable | No maximum is subtracted, so large scores overflow.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    e = torch.exp(queries @ keys.mT * scale)
    if hidden is not None:
        e = e.masked_fill(hidden, 0.0)
    z = e.sum(-1)
    return e @ values / torch.where(z == 0, 1.0, z)[..., None], z.log()


#% merge_mean
#% merge_tiles | wrong_reduction, step_missing, factor_missing | The contexts are averaged with equal weights.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    return 0.5 * (context_a + context_b), torch.logaddexp(logsumexp_a, logsumexp_b)


#% merge_weights_are_logs
#% merge_tiles | softmax_missing, step_missing | The contexts are weighted with the logsumexps themselves.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    total = logsumexp_a + logsumexp_b
    a, b = (logsumexp_a / total)[..., None], (logsumexp_b / total)[..., None]
    return a * context_a + b * context_b, torch.logaddexp(logsumexp_a, logsumexp_b)


#% merge_nan_for_nothing
#% merge_tiles | step_missing, mask_fill | Two sides that saw nothing give NaN.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    lse = torch.logaddexp(logsumexp_a, logsumexp_b)
    a, b = torch.exp(logsumexp_a - lse)[..., None], torch.exp(logsumexp_b - lse)[..., None]
    return a * context_a + b * context_b, lse


#% merge_crossed
#% merge_tiles | parts_exchanged, operand_repeated | Each context is weighted with the share of the other side.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    share = torch.softmax(torch.stack((logsumexp_a, logsumexp_b)), dim=0).nan_to_num(0)
    context = share[1][..., None] * context_a + share[0][..., None] * context_b
    return context, torch.logaddexp(logsumexp_a, logsumexp_b)


#% merge_lse_is_a_sum
#% merge_tiles | wrong_operation | The logsumexps are added.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    share = torch.softmax(torch.stack((logsumexp_a, logsumexp_b)), dim=0).nan_to_num(0)
    context = share[0][..., None] * context_a + share[1][..., None] * context_b
    return context, logsumexp_a + logsumexp_b


#% merge_lse_is_a_maximum
#% merge_tiles | wrong_reduction, wrong_operation | The merged logsumexp is the larger of the two.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    share = torch.softmax(torch.stack((logsumexp_a, logsumexp_b)), dim=0).nan_to_num(0)
    context = share[0][..., None] * context_a + share[1][..., None] * context_b
    return context, torch.max(logsumexp_a, logsumexp_b)


#% merge_overflow
#% merge_tiles | softmax_unstable | Large logsumexps overflow, because none is subtracted.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    ea, eb = logsumexp_a.exp(), logsumexp_b.exp()
    z = ea + eb
    d = z.masked_fill(z == 0, 1.0)
    return (ea[..., None] * context_a + eb[..., None] * context_b) / d[..., None], z.log()


#% merge_not_divided
#% merge_tiles | wrong_divisor, step_missing | The weighted contexts are not divided by the total.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    m = torch.maximum(logsumexp_a, logsumexp_b)
    m = torch.where(m == -torch.inf, torch.zeros_like(m), m)
    a, b = torch.exp(logsumexp_a - m), torch.exp(logsumexp_b - m)
    return a[..., None] * context_a + b[..., None] * context_b, m + (a + b).log()


#% tiled_mean_of_tiles
#% tiled_attention | wrong_reduction, step_missing, wrong_form | Each tile is normalised alone, and the results are averaged.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    outs = []
    for j in range(0, Tk, tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        mask = None
        if causal:
            mask = torch.arange(j, j + k.shape[-2]) > torch.arange(Tq)[:, None] + Tk - Tq
        outs.append(attend_tile(queries, k, v, hidden=mask)[0])
    return sum(outs) / len(outs)


#% tiled_sum_of_tiles
#% tiled_attention | step_missing, wrong_divisor | The contexts of the tiles are added.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    out = 0
    for j in range(0, Tk, tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        mask = None
        if causal:
            mask = torch.arange(j, j + k.shape[-2]) > torch.arange(Tq)[:, None] + Tk - Tq
        out = out + attend_tile(queries, k, v, hidden=mask)[0]
    return out


#% tiled_upper_left
#% tiled_attention | mask_shifted | The first query is aligned with the first key.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    out, lse = None, None
    for j in range(0, keys.shape[-2], tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        mask = None
        if causal:
            mask = torch.arange(j, j + k.shape[-2])[None] > torch.arange(queries.shape[-2])[:, None]
        o, l = attend_tile(queries, k, v, hidden=mask)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% tiled_mask_within_tile
#% tiled_attention | mask_shifted, mask_extra | Keys and queries are counted from the start of their tile.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    outs = []
    for i in range(0, queries.shape[-2], tile_size):
        q = queries[..., i:i + tile_size, :]
        out, lse = torch.zeros_like(q[..., :1]) * values[..., :1, :], torch.full(q.shape[:-1], -torch.inf, dtype=q.dtype)
        for j in range(0, keys.shape[-2], tile_size):
            k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
            mask = torch.ones(q.shape[-2], k.shape[-2]).triu(1 + keys.shape[-2] - queries.shape[-2]).bool() if causal else None
            out, lse = merge_tiles(out, lse, *attend_tile(q, k, v, hidden=mask))
        outs.append(out)
    return torch.cat(outs, dim=-2)


#% tiled_without_causal
#% tiled_attention | mask_missing, argument_ignored | causal is ignored.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    outs = []
    for q in queries.split(tile_size, -2):
        out, lse = q.new_zeros(*q.shape[:-1], values.shape[-1]), q.new_full(q.shape[:-1], -torch.inf)
        for k, v in zip(keys.split(tile_size, -2), values.split(tile_size, -2)):
            out, lse = merge_tiles(out, lse, *attend_tile(q, k, v))
        outs.append(out)
    return torch.cat(outs, -2)


#% tiled_drops_the_rest
#% tiled_attention | boundary | The shorter last tile of keys is left out.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    out, lse = None, None
    for t in range(Tk // tile_size or 1):
        part = slice(t * tile_size, (t + 1) * tile_size)
        numbers = torch.arange(Tk)[part]
        mask = numbers > torch.arange(Tq)[:, None] + Tk - Tq if causal else None
        o, l = attend_tile(queries, keys[..., part, :], values[..., part, :], hidden=mask)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% tiled_zero_padding
#% tiled_attention | mask_missing, step_missing | The last tile is padded with keys of zeros, which get weight.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    pad = (tile_size - Tk % tile_size) % tile_size
    keys = torch.nn.functional.pad(keys, (0, 0, 0, pad))
    values = torch.nn.functional.pad(values, (0, 0, 0, pad))
    out, lse = None, None
    for j in range(0, Tk + pad, tile_size):
        mask = None
        if causal:
            mask = torch.arange(j, j + tile_size) > torch.arange(Tq)[:, None] + Tk - Tq
        o, l = attend_tile(queries, keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :], hidden=mask)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% tiled_full_scores
#% tiled_attention | forbidden_function | All scores are computed at once, and only the rest is done in tiles.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    scores = queries @ keys.mT * queries.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones(Tq, Tk).triu(1 + Tk - Tq).bool(), -torch.inf)
    m = scores.amax(-1, keepdim=True)
    z = torch.zeros_like(m)
    out = 0
    for j in range(0, Tk, tile_size):
        e = torch.exp(scores[..., j:j + tile_size] - m)
        z = z + e.sum(-1, keepdim=True)
        out = out + e @ values[..., j:j + tile_size, :]
    return out / z


#% tiled_full_mask
#% tiled_attention | forbidden_function | The mask of all queries and all keys is built.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    mask = torch.ones(Tq, Tk, dtype=torch.bool).triu(1 + Tk - Tq)
    out, lse = None, None
    for j in range(0, Tk, tile_size):
        part = slice(j, j + tile_size)
        hidden = mask[:, part] if causal else None
        o, l = attend_tile(queries, keys[..., part, :], values[..., part, :], hidden=hidden)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% tiled_lse_starts_at_zero
#% tiled_attention | wrong_operation, mask_fill, step_extra | The running logsumexp starts at 0, so the zeros of the start count.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    out = torch.zeros(*queries.shape[:-1], values.shape[-1], dtype=queries.dtype)
    lse = torch.zeros(queries.shape[:-1], dtype=queries.dtype)
    for j in range(0, Tk, tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        hidden = torch.arange(j, j + k.shape[-2]) > torch.arange(Tq)[:, None] + Tk - Tq if causal else None
        out, lse = merge_tiles(out, lse, *attend_tile(queries, k, v, hidden=hidden))
    return out


#% tiled_running_no_rescale
#% tiled_attention | step_missing, factor_missing | Sum and output are not corrected when the maximum grows.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    m = torch.full((*queries.shape[:-1], 1), -torch.inf, dtype=queries.dtype)
    l, o = 0, 0
    for j in range(0, Tk, tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        s = queries @ k.mT / queries.shape[-1] ** 0.5
        if causal:
            s = s.masked_fill(torch.arange(j, j + k.shape[-2]) > torch.arange(Tq)[:, None] + Tk - Tq, -torch.inf)
        m = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - m)
        l = l + p.sum(-1, keepdim=True)
        o = o + p @ v
    return o / l


#% tiled_running_sum_only
#% tiled_attention | step_missing, factor_missing | The sum is corrected when the maximum grows, the output is not.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    m = torch.full((*queries.shape[:-1], 1), -torch.inf, dtype=queries.dtype)
    l, o = 0, 0
    for j in range(0, Tk, tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        s = queries @ k.mT / queries.shape[-1] ** 0.5
        if causal:
            s = s.masked_fill(torch.arange(j, j + k.shape[-2]) > torch.arange(Tq)[:, None] + Tk - Tq, -torch.inf)
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = o + p @ v
        m = new
    return o / l


#% tiled_mask_hides_own_token
#% tiled_attention | mask_shifted, boundary | A query does not see its own token.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    out, lse = None, None
    for j in range(0, Tk, tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        hidden = torch.arange(j, j + k.shape[-2]) >= torch.arange(Tq)[:, None] + Tk - Tq if causal else None
        o, l = attend_tile(queries, k, v, hidden=hidden)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% tiled_forgets_to_keep_the_lse
#% tiled_attention | step_missing, state_kept | The running logsumexp is not updated after a merge.
def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    out, lse = attend_tile(queries, keys[..., :0, :], values[..., :0, :]) if False else (None, None)
    for j in range(0, Tk, tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        hidden = torch.arange(j, j + k.shape[-2]) > torch.arange(Tq)[:, None] + Tk - Tq if causal else None
        o, l = attend_tile(queries, k, v, hidden=hidden)
        if out is None:
            out, lse = o, l
        else:
            out = merge_tiles(out, lse, o, l)[0]
    return out


#% two_tile_scale_and_axis
#% attend_tile | scale_missing | The scores are not divided by the root of d.
#% attend_tile | step_missing | The maximum is not added to the log of the sum.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = 1.0 if scale is None else scale
    s = queries @ keys.mT * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-1, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l.masked_fill(l == 0, 1), l.log().squeeze(-1)


#% two_merge_mean_and_maximum
#% merge_tiles | wrong_reduction, step_missing | The contexts are averaged with equal weights.
#% merge_tiles | wrong_reduction, wrong_operation | The merged logsumexp is the larger of the two.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    return (context_a + context_b) / 2, torch.maximum(logsumexp_a, logsumexp_b)


#% two_online_zero_and_no_rescale
#% online_max_and_sum | wrong_operation | The maximum starts at 0.
#% online_max_and_sum | step_missing | The old sum is not corrected.
def online_max_and_sum(scores, tile_size):
    m, z = scores.new_zeros(()), scores.new_zeros(())
    for tile in scores.split(tile_size):
        m = torch.maximum(m, tile.max())
        z = z + (tile - m).exp().sum()
    return m, z


#% two_in_two_exercises
#% attend_tile | scale_missing | The scores are not divided by the root of d.
#% tiled_attention | mask_shifted | The first query is aligned with the first key.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    s = queries @ keys.mT
    if scale is not None:
        s = s * scale
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    m = s.amax(-1, keepdim=True)
    m = m.masked_fill(m == -torch.inf, 0)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l.masked_fill(l == 0, 1), (m + l.log()).squeeze(-1)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    out, lse = None, None
    for j in range(0, keys.shape[-2], tile_size):
        k, v = keys[..., j:j + tile_size, :], values[..., j:j + tile_size, :]
        hidden = torch.arange(j, j + k.shape[-2]) > torch.arange(queries.shape[-2])[:, None] if causal else None
        o, l = attend_tile(queries, k, v, hidden=hidden)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% two_tile_no_mask_and_no_scale
#% attend_tile | mask_missing, argument_ignored | Nothing is hidden.
#% attend_tile | scale_missing | The scores are not divided by the root of d.
def attend_tile(queries, keys, values, scale=None, hidden=None):
    s = queries @ keys.mT
    if scale is not None:
        s = s * scale
    m = s.amax(-1, keepdim=True)
    p = torch.exp(s - m)
    l = p.sum(-1, keepdim=True)
    return p @ values / l, (m + l.log()).squeeze(-1)


#% two_merge_crossed_and_added
#% merge_tiles | parts_exchanged, operand_repeated | Each context is weighted with the share of the other side.
#% merge_tiles | wrong_operation | The logsumexps are added.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    m = torch.maximum(logsumexp_a, logsumexp_b)
    m = m.masked_fill(m == -torch.inf, 0.0)
    a, b = (logsumexp_a - m).exp(), (logsumexp_b - m).exp()
    z = (a + b).masked_fill(a + b == 0, 1.0)
    context = (b / z)[..., None] * context_a + (a / z)[..., None] * context_b
    return context, logsumexp_a + logsumexp_b


#% two_in_merge_and_tiles
#% merge_tiles | wrong_reduction, step_missing | The contexts are averaged with equal weights.
#% tiled_attention | boundary | The shorter last tile of keys is left out.
def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    return (context_a + context_b) / 2, torch.logaddexp(logsumexp_a, logsumexp_b)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    out, lse = None, None
    for t in range(max(Tk // tile_size, 1)):
        part = slice(t * tile_size, (t + 1) * tile_size)
        numbers = torch.arange(Tk)[part]
        hidden = numbers > torch.arange(Tq)[:, None] + Tk - Tq if causal else None
        o, l = attend_tile(queries, keys[..., part, :], values[..., part, :], hidden=hidden)
        out, lse = (o, l) if out is None else merge_tiles(out, lse, o, l)
    return out


#% online_by_the_last_maximum
#% online_max_and_sum | step_missing | The old sum is not corrected.
#% online_max_and_sum | operand_repeated, first_only | The maximum is that of the last tile.
def online_max_and_sum(scores: Tensor, tile_size: int) -> tuple[Tensor, Tensor]:
    maximum = scores.new_tensor(-torch.inf)
    total = scores.new_tensor(0.0)
    for start in range(0, len(scores), tile_size):
        tile = scores[start:start + tile_size]
        new_maximum = tile.max()
        total = total + torch.exp(tile - new_maximum).sum()
        maximum = new_maximum
    return (maximum, total)


#% scale_ignored_and_shares_swapped
#% attend_tile | argument_ignored | The given scale has no effect.
#% merge_tiles | parts_exchanged | The shares are swapped.
def attend_tile(queries: Tensor, keys: Tensor, values: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor]:
    scale = queries.shape[-1] ** (-0.5)
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    maximum = scores.amax(dim=-1, keepdim=True)
    sees_nothing = maximum == -torch.inf
    maximum = maximum.masked_fill(sees_nothing, 0.0)
    exponentials = torch.exp(scores - maximum)
    total = exponentials.sum(dim=-1, keepdim=True)
    context = exponentials @ values / total.masked_fill(sees_nothing, 1.0)
    logsumexp = (maximum + torch.log(total)).squeeze(-1)
    return (context, logsumexp)


def merge_tiles(context_a: Tensor, logsumexp_a: Tensor, context_b: Tensor, logsumexp_b: Tensor) -> tuple[Tensor, Tensor]:
    maximum = torch.maximum(logsumexp_a, logsumexp_b)
    sees_nothing = maximum == -torch.inf
    maximum = maximum.masked_fill(sees_nothing, 0.0)
    sum_a = torch.exp(logsumexp_a - maximum)
    sum_b = torch.exp(logsumexp_b - maximum)
    total = sum_a + sum_b
    logsumexp = maximum + torch.log(total)
    share_b, share_a = torch.stack((sum_a, sum_b)) / total.masked_fill(sees_nothing, 1.0)
    context = share_a.unsqueeze(-1) * context_a + share_b.unsqueeze(-1) * context_b
    return (context, logsumexp)


#% merged_without_maximum_and_not_causal
#% merge_tiles | step_missing | The maximum is missing in the merged logsumexp.
#% tiled_attention | argument_ignored, mask_missing | Nothing is hidden.
def merge_tiles(context_a: Tensor, logsumexp_a: Tensor, context_b: Tensor, logsumexp_b: Tensor) -> tuple[Tensor, Tensor]:
    maximum = torch.maximum(logsumexp_a, logsumexp_b)
    sees_nothing = maximum == -torch.inf
    maximum = maximum.masked_fill(sees_nothing, 0.0)
    sum_a = torch.exp(logsumexp_a - maximum)
    sum_b = torch.exp(logsumexp_b - maximum)
    total = sum_a + sum_b
    logsumexp = torch.log(total)
    share_a, share_b = torch.stack((sum_a, sum_b)) / total.masked_fill(sees_nothing, 1.0)
    context = share_a.unsqueeze(-1) * context_a + share_b.unsqueeze(-1) * context_b
    return (context, logsumexp)


def tiled_attention(queries: Tensor, keys: Tensor, values: Tensor, tile_size: int, causal: bool=False) -> Tensor:
    Tq, Tk = (queries.shape[-2], keys.shape[-2])
    contexts = []
    for start in range(0, Tq, tile_size):
        some_queries = queries[..., start:start + tile_size, :]
        rows = some_queries.shape[:-1]
        context = queries.new_zeros(*rows, values.shape[-1])
        logsumexp = queries.new_full(rows, -torch.inf)
        last_seen = torch.arange(start, start + rows[-1]) + Tk - Tq
        for first in range(0, Tk, tile_size):
            if False and first > last_seen[-1]:
                break
            some_keys = keys[..., first:first + tile_size, :]
            some_values = values[..., first:first + tile_size, :]
            tokens = torch.arange(first, first + some_keys.shape[-2])
            hidden = tokens > last_seen.unsqueeze(-1) if False else None
            tile = attend_tile(some_queries, some_keys, some_values, hidden=hidden)
            context, logsumexp = merge_tiles(context, logsumexp, *tile)
        contexts.append(context)
    return torch.cat(contexts, dim=-2)


#% not_rescaled_s1_of_18
#% online_max_and_sum | softmax_unstable | online_max_and_sum does not rescale the old sum when the maximum grows.
def online_max_and_sum(scores: Tensor, tile_size: int) -> tuple[Tensor, Tensor]:
    m = torch.tensor(float('-inf'), dtype=scores.dtype)
    s = torch.tensor(0.0, dtype=scores.dtype)
    for part in scores.split(tile_size):
        m = torch.max(m, part.max())
        s = s + (part - m).exp().sum()
    return (m, s)


#% lse_without_max_s2_of_18
#% attend_tile | softmax_unstable | attend_tile's logsumexp lacks the maximum.
def attend_tile(queries: Tensor, keys: Tensor, values: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor]:
    if scale is None:
        scale = queries.shape[-1] ** (-0.5)
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    maximum = scores.amax(dim=-1, keepdim=True)
    sees_nothing = maximum == -torch.inf
    maximum = maximum.masked_fill(sees_nothing, 0.0)
    exponentials = torch.exp(scores - maximum)
    total = exponentials.sum(dim=-1, keepdim=True)
    context = exponentials @ values / total.masked_fill(sees_nothing, 1.0)
    logsumexp = torch.log(total).squeeze(-1)
    return (context, logsumexp)


#% plain_average_s3_of_18
#% merge_tiles | softmax_unstable | merge_tiles takes exp of the logsumexps without subtracting the maximum, so large ones overflow.
def merge_tiles(context_a: Tensor, logsumexp_a: Tensor, context_b: Tensor, logsumexp_b: Tensor) -> tuple[Tensor, Tensor]:
    lse = torch.logaddexp(logsumexp_a, logsumexp_b)
    a, b = (torch.exp(logsumexp_a), torch.exp(logsumexp_b))
    both = a + b
    both = torch.where(both == 0, torch.ones_like(both), both)
    mixed = (a / both).unsqueeze(-1) * context_a + (b / both).unsqueeze(-1) * context_b
    return (mixed, lse)


#% upper_left_s4_of_18
#% tiled_attention | mask_inverted | tiled_attention aligns the causal mask to the upper left corner (without + Tk - Tq).
def tiled_attention(queries: Tensor, keys: Tensor, values: Tensor, tile_size: int, causal: bool=False) -> Tensor:
    Tq, Tk = (queries.shape[-2], keys.shape[-2])
    contexts = []
    for start in range(0, Tq, tile_size):
        some_queries = queries[..., start:start + tile_size, :]
        rows = some_queries.shape[:-1]
        context = queries.new_zeros(*rows, values.shape[-1])
        logsumexp = queries.new_full(rows, -torch.inf)
        last_seen = torch.arange(start, start + rows[-1])
        for first in range(0, Tk, tile_size):
            if causal and first > last_seen[-1]:
                break
            some_keys = keys[..., first:first + tile_size, :]
            some_values = values[..., first:first + tile_size, :]
            tokens = torch.arange(first, first + some_keys.shape[-2])
            hidden = tokens > last_seen.unsqueeze(-1) if causal else None
            tile = attend_tile(some_queries, some_keys, some_values, hidden=hidden)
            context, logsumexp = merge_tiles(context, logsumexp, *tile)
        contexts.append(context)
    return torch.cat(contexts, dim=-2)


#% online_d1_of_18
#% online_max_and_sum | softmax_unstable | online_max_and_sum starts with a maximum of 0, wrong if all scores are negative.
#% online_max_and_sum | boundary | online_max_and_sum leaves out the last shorter tile.
def online_max_and_sum(scores: Tensor, tile_size: int) -> tuple[Tensor, Tensor]:
    m = scores.new_zeros(())
    total = scores.new_zeros(())
    for i in range(len(scores) // tile_size):
        tile = scores[i * tile_size:(i + 1) * tile_size]
        new = torch.maximum(m, tile.max())
        total = total * torch.exp(m - new) + torch.exp(tile - new).sum()
        m = new
    return (m, total)


#% tile_d2_of_18
#% attend_tile | scale_wrong_size, scale_wrong_power | attend_tile uses 1/d as the default scale.
#% attend_tile | softmax_unstable | attend_tile gives NaN for a query that sees no key.
def attend_tile(queries: Tensor, keys: Tensor, values: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor]:
    if scale is None:
        scale = 1 / queries.shape[-1]
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    maximum = scores.amax(dim=-1, keepdim=True)
    sees_nothing = maximum == -torch.inf
    exponentials = torch.exp(scores - maximum)
    total = exponentials.sum(dim=-1, keepdim=True)
    context = exponentials @ values / total.masked_fill(sees_nothing, 1.0)
    logsumexp = (maximum + torch.log(total)).squeeze(-1)
    return (context, logsumexp)


#% merge_tiled_d3_of_18
#% merge_tiles | step_missing | merge_tiles forgets the log of the sum in the logsumexp.
#% tiled_attention | mask_shifted, mask_extra | tiled_attention hides each query's own token (>= instead of >).
def merge_tiles(context_a: Tensor, logsumexp_a: Tensor, context_b: Tensor, logsumexp_b: Tensor) -> tuple[Tensor, Tensor]:
    maximum = torch.maximum(logsumexp_a, logsumexp_b)
    sees_nothing = maximum == -torch.inf
    maximum = maximum.masked_fill(sees_nothing, 0.0)
    sum_a = torch.exp(logsumexp_a - maximum)
    sum_b = torch.exp(logsumexp_b - maximum)
    total = sum_a + sum_b
    logsumexp = maximum + total
    share_a, share_b = torch.stack((sum_a, sum_b)) / total.masked_fill(sees_nothing, 1.0)
    context = share_a.unsqueeze(-1) * context_a + share_b.unsqueeze(-1) * context_b
    return (context, logsumexp)


def tiled_attention(queries: Tensor, keys: Tensor, values: Tensor, tile_size: int, causal: bool=False) -> Tensor:
    Tq, Tk = (queries.shape[-2], keys.shape[-2])
    contexts = []
    for start in range(0, Tq, tile_size):
        some_queries = queries[..., start:start + tile_size, :]
        rows = some_queries.shape[:-1]
        context = queries.new_zeros(*rows, values.shape[-1])
        logsumexp = queries.new_full(rows, -torch.inf)
        last_seen = torch.arange(start, start + rows[-1]) + Tk - Tq
        for first in range(0, Tk, tile_size):
            if causal and first > last_seen[-1]:
                break
            some_keys = keys[..., first:first + tile_size, :]
            some_values = values[..., first:first + tile_size, :]
            tokens = torch.arange(first, first + some_keys.shape[-2])
            hidden = tokens >= last_seen.unsqueeze(-1) if causal else None
            tile = attend_tile(some_queries, some_keys, some_values, hidden=hidden)
            context, logsumexp = merge_tiles(context, logsumexp, *tile)
        contexts.append(context)
    return torch.cat(contexts, dim=-2)


#% tile_tiled_d4_of_18
#% attend_tile | softmax_unstable | attend_tile does not subtract the maximum, so large scores overflow.
#% tiled_attention | mask_extra | tiled_attention stops too early: it compares with the first query of the tile, so later queries miss keys.
def attend_tile(queries: Tensor, keys: Tensor, values: Tensor, scale: float | None=None, hidden: Tensor | None=None) -> tuple[Tensor, Tensor]:
    if scale is None:
        scale = queries.shape[-1] ** (-0.5)
    scores = queries @ keys.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    maximum = scores.amax(dim=-1, keepdim=True)
    sees_nothing = maximum == -torch.inf
    maximum = maximum.masked_fill(sees_nothing, 0.0)
    maximum = torch.zeros_like(maximum)
    exponentials = torch.exp(scores)
    total = exponentials.sum(dim=-1, keepdim=True)
    context = exponentials @ values / total.masked_fill(sees_nothing, 1.0)
    logsumexp = (maximum + torch.log(total)).squeeze(-1)
    return (context, logsumexp)


def tiled_attention(queries: Tensor, keys: Tensor, values: Tensor, tile_size: int, causal: bool=False) -> Tensor:
    Tq, Tk = (queries.shape[-2], keys.shape[-2])
    contexts = []
    for start in range(0, Tq, tile_size):
        some_queries = queries[..., start:start + tile_size, :]
        rows = some_queries.shape[:-1]
        context = queries.new_zeros(*rows, values.shape[-1])
        logsumexp = queries.new_full(rows, -torch.inf)
        last_seen = torch.arange(start, start + rows[-1]) + Tk - Tq
        for first in range(0, Tk, tile_size):
            if causal and first > last_seen[0]:
                break
            some_keys = keys[..., first:first + tile_size, :]
            some_values = values[..., first:first + tile_size, :]
            tokens = torch.arange(first, first + some_keys.shape[-2])
            hidden = tokens > last_seen.unsqueeze(-1) if causal else None
            tile = attend_tile(some_queries, some_keys, some_values, hidden=hidden)
            context, logsumexp = merge_tiles(context, logsumexp, *tile)
        contexts.append(context)
    return torch.cat(contexts, dim=-2)


#% merge_keeps_the_old_weight_inlined
#% tiled_attention | step_missing | The merging, written out, keeps the whole weight of the old context.
def tiled_attention(queries: Tensor, keys: Tensor, values: Tensor, tile_size: int, causal: bool=False) -> Tensor:
    Tq, Tk = (queries.shape[-2], keys.shape[-2])
    contexts = []
    for start in range(0, Tq, tile_size):
        some_queries = queries[..., start:start + tile_size, :]
        rows = some_queries.shape[:-1]
        context = queries.new_zeros(*rows, values.shape[-1])
        logsumexp = queries.new_full(rows, -torch.inf)
        last_seen = torch.arange(start, start + rows[-1]) + Tk - Tq
        for first in range(0, Tk, tile_size):
            if causal and first > last_seen[-1]:
                break
            some_keys = keys[..., first:first + tile_size, :]
            some_values = values[..., first:first + tile_size, :]
            tokens = torch.arange(first, first + some_keys.shape[-2])
            hidden = tokens > last_seen.unsqueeze(-1) if causal else None
            new, lse = attend_tile(some_queries, some_keys, some_values, hidden=hidden)
            both = torch.logaddexp(logsumexp, lse)
            context = context + torch.exp(lse - both).nan_to_num().unsqueeze(-1) * new
            logsumexp = both
        contexts.append(context)
    return torch.cat(contexts, dim=-2)
