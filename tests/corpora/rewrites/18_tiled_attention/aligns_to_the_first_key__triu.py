def tiled_attention(queries, keys, values, tile_size, causal=False):
    result = None
    tiles = zip(keys.split(tile_size, -2), values.split(tile_size, -2))
    for number, (k, v) in enumerate(tiles):
        hidden = None
        if causal:
            hidden = torch.ones(queries.size(-2), k.size(-2)).triu(1 - number * tile_size).bool()
        tile = attend_tile(queries, k, v, hidden=hidden)
        result = tile if result is None else merge_tiles(*result, *tile)
    return result[0]
