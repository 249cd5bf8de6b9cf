def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    """Attend to old and new keys, which have other names than the new ones."""
    q, k, v = (x_new @ weight for weight in (W_query, W_key, W_value))
    all_k, all_v = k, v
    if cache is not None:
        all_k, all_v = torch.cat((cache[0], k)), torch.cat((cache[1], v))
    logits = torch.einsum("id,jd->ij", q, all_k) / W_key.size(1) ** 0.5
    shown = lower_right_mask(q.size(0), all_k.size(0)).bool()
    return logits.where(shown, float("-inf")).softmax(1) @ all_v, (k, v)
