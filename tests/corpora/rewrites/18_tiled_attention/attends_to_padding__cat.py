def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    missing = -Tk % tile_size
    keys = torch.cat((keys, torch.zeros_like(keys[..., :1, :]).repeat_interleave(missing, -2)), -2)
    values = torch.cat((values, torch.zeros_like(values[..., :1, :]).repeat_interleave(missing, -2)), -2)
    result = None
    for j in range(0, Tk + missing, tile_size):
        hidden = None
        if causal:
            hidden = torch.arange(j, j + tile_size) > torch.arange(Tq).unsqueeze(1) + Tk - Tq
        tile = attend_tile(
            queries, keys[..., j : j + tile_size, :], values[..., j : j + tile_size, :], hidden=hidden
        )
        result = tile if result is None else merge_tiles(*result, *tile)
    return result[0]
