def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    rows = []
    for i in range(0, Tq, tile_size):
        q = queries[..., i : i + tile_size, :]
        own = torch.arange(i, i + q.shape[-2]).unsqueeze(1) + Tk - Tq
        parts = []
        for j in range(0, Tk, tile_size):
            if causal and j > own[-1]:
                continue
            k, v = keys[..., j : j + tile_size, :], values[..., j : j + tile_size, :]
            hidden = torch.arange(j, j + k.shape[-2]) > own if causal else None
            parts.append(attend_tile(q, k, v, hidden=hidden)[0])
        rows.append(torch.stack(parts).mean(0))
    return torch.cat(rows, -2)
