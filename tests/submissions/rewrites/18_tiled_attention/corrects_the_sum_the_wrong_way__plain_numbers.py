def online_max_and_sum(scores, tile_size):
    m, z = scores[0].item(), 0.0
    for start in range(0, len(scores), tile_size):
        part = scores[start : start + tile_size]
        new = max(m, part.max().item())
        z = z * torch.exp(torch.tensor(new - m)).item() + torch.exp(part - new).sum().item()
        m = new
    return scores.new_tensor(m), scores.new_tensor(z)
