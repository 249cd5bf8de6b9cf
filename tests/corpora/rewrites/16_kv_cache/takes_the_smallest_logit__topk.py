def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    """Take the first of the sorted logits."""
    ids, cache = [first], None
    while len(ids) <= new_tokens:
        newest = embeddings[ids[-1]].unsqueeze(0)
        context, cache = attend_with_cache(newest, W_query, W_key, W_value, cache)
        logits = (context @ W_out @ W_vocab).flatten()
        ids.append(torch.topk(logits, 1, largest=False).indices.item())
    return ids
