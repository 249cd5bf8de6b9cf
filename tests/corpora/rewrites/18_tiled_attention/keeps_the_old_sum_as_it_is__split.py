def online_max_and_sum(scores, tile_size):
    m, z = scores[:1].max(), scores.new_zeros(())
    for part in torch.split(scores, tile_size):
        m = torch.stack((m, part.max())).max()
        z += (part - m).exp().sum()
    return m, z
