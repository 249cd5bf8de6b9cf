#% right_mask_by_loops
def lower_right_mask(num_queries, num_keys):
    rows = []
    for query in range(num_queries):
        position = query + num_keys - num_queries
        rows.append([1 if key <= position else 0 for key in range(num_keys)])
    return torch.tensor(rows)


#% right_mask_by_triu_and_not
def lower_right_mask(num_queries, num_keys):
    future = torch.triu(torch.ones((num_queries, num_keys), dtype=torch.bool), num_keys - num_queries + 1)
    return ~future


#% right_mask_by_positions
def lower_right_mask(num_queries, num_keys):
    q_pos = torch.arange(num_queries).unsqueeze(1) + (num_keys - num_queries)
    k_pos = torch.arange(num_keys).unsqueeze(0)
    return (k_pos <= q_pos).to(torch.int32)


#% right_attend_like_the_walkthrough
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q = x_new @ W_query
    k_new = x_new @ W_key
    v_new = x_new @ W_value
    if cache is None:
        K, V = k_new, v_new
    else:
        K = torch.cat([cache[0], k_new], dim=0)
        V = torch.cat([cache[1], v_new], dim=0)
    d_k = K.shape[1]
    scores = q @ K.T / d_k**0.5
    T_new, T = scores.shape
    for i in range(T_new):
        scores[i, T - T_new + i + 1 :] = float("-inf")
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, (K, V)


#% right_attend_without_a_softmax_of_torch
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    queries, keys, values = (torch.matmul(x_new, W) for W in (W_query, W_key, W_value))
    if cache:
        keys, values = (torch.cat(both) for both in zip(cache, (keys, values)))
    logits = queries.mm(keys.t()).div(W_key.size(1) ** 0.5)
    n, t = logits.size()
    logits = logits + torch.full((n, t), -torch.inf, dtype=logits.dtype).triu(t - n + 1)
    exps = (logits - logits.max(1, keepdim=True)[0]).exp()
    return exps.div(exps.sum(1, keepdim=True)).mm(values), (keys, values)


#% right_attend_into_a_new_tensor
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    past = 0 if cache is None else cache[0].size(0)
    total = past + x_new.size(0)
    keys = x_new.new_empty(total, W_key.size(1))
    values = x_new.new_empty(total, W_value.size(1))
    if past:
        keys[:past], values[:past] = cache
    keys[past:] = x_new @ W_key
    values[past:] = x_new @ W_value
    scores = torch.einsum("qd,kd->qk", x_new @ W_query, keys) / keys.size(1) ** 0.5
    scores = scores.masked_fill(lower_right_mask(x_new.size(0), total) == 0, float("-inf"))
    return torch.einsum("qk,kd->qd", torch.softmax(scores, -1), values), (keys, values)


#% right_decode_beginner
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    result = []
    result.append(first)
    cache = None
    current = first
    for i in range(new_tokens):
        x = embeddings[current]
        x = x.reshape(1, -1)
        context, cache = attend_with_cache(x, W_query, W_key, W_value, cache)
        out = context @ W_out
        logits = out @ W_vocab
        current = torch.argmax(logits).item()
        result.append(current)
    return result


#% right_decode_with_tensors
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    idx = torch.LongTensor([first])
    kv = None
    with torch.inference_mode():
        while idx.numel() < 1 + new_tokens:
            ctx, kv = attend_with_cache(embeddings.index_select(0, idx[-1:]), W_query, W_key, W_value, kv)
            idx = torch.cat([idx, (ctx @ (W_out @ W_vocab)).argmax(1)])
    return [int(i) for i in idx]


#% right_decode_with_probabilities
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids, past = [first], None
    for _ in range(new_tokens):
        newest = torch.nn.functional.embedding(torch.tensor([ids[-1]]), embeddings)
        y, past = attend_with_cache(newest, W_query, W_key, W_value, cache=past)
        probs = torch.log_softmax(y.mm(W_out).mm(W_vocab), dim=-1)
        ids.append(probs.topk(1).indices.item())
    return ids


#% right_heads_like_nanogpt
class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("n_embd % n_head")
        self.n_head = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        B, T, C = x.size()
        q = self.W_query(x).view(B, T, self.n_head, -1).transpose(1, 2)
        k = self.W_key(x).view(B, T, self.n_head, -1).transpose(1, 2)
        v = self.W_value(x).view(B, T, self.n_head, -1).transpose(1, 2)
        if cache is not None:
            past_k, past_v = cache
            k = torch.cat((past_k, k), dim=-2)
            v = torch.cat((past_v, v), dim=-2)
        present = (k, v)
        att = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
        S = k.size(-2)
        bias = torch.tril(torch.ones(S, S)).view(1, 1, S, S)
        att = att.masked_fill(bias[:, :, S - T : S, :S] == 0, float("-inf"))
        att = torch.nn.functional.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, -1)
        return self.out_proj(y), present


#% right_heads_like_hugging_face
class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.head_dim, rest = divmod(d_out, num_heads)
        if rest != 0:
            raise ValueError(f"hidden size {d_out} and {num_heads} heads")
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        shape = (*x.shape[:-1], -1, self.head_dim)
        query_states = self.W_query(x).view(shape).transpose(1, 2)
        key_states = self.W_key(x).view(shape).transpose(1, 2)
        value_states = self.W_value(x).view(shape).transpose(1, 2)
        past_length = 0
        if cache is not None:
            past_length = cache[0].shape[-2]
            key_states = torch.cat([cache[0], key_states], dim=-2)
            value_states = torch.cat([cache[1], value_states], dim=-2)
        weights = torch.matmul(query_states, key_states.transpose(2, 3)) * self.head_dim**-0.5
        cache_position = torch.arange(past_length, past_length + x.shape[1])
        causal = torch.full((x.shape[1], key_states.shape[-2]), torch.finfo(x.dtype).min, dtype=x.dtype)
        causal *= torch.arange(key_states.shape[-2]) > cache_position.reshape(-1, 1)
        weights = torch.nn.functional.softmax(weights + causal[None, None], dim=-1, dtype=torch.float32)
        output = torch.matmul(weights.to(x.dtype), value_states)
        output = output.transpose(1, 2).reshape(*x.shape[:-1], -1).contiguous()
        return self.out_proj(output), (key_states, value_states)


#% right_heads_one_token_after_the_other
class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        outputs = []
        for t in range(x.shape[1]):
            token = x[:, t]
            q, k, v = (
                layer(token).reshape(x.shape[0], self.num_heads, 1, -1)
                for layer in (self.W_query, self.W_key, self.W_value)
            )
            cache = (k, v) if cache is None else (torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2))
            w = torch.softmax((q * cache[0]).sum(-1) / q.shape[-1] ** 0.5, dim=-1)
            outputs.append((w[..., None] * cache[1]).sum(2).reshape(x.shape[0], -1))
        return self.out_proj(torch.stack(outputs, dim=1)), cache


#% mask_upper_left
#% lower_right_mask | mask_shifted | The mask is aligned to the upper left corner.
def lower_right_mask(num_queries, num_keys):
    return torch.tril(torch.ones(num_queries, num_keys))


#% mask_positions_from_zero
#% lower_right_mask | mask_shifted | Queries are counted from the first key: aligned to the upper left corner.
def lower_right_mask(num_queries, num_keys):
    i = torch.arange(num_queries)[:, None]
    j = torch.arange(num_keys)[None, :]
    return (j <= i).float()


#% mask_true_where_hidden
#% lower_right_mask | mask_inverted | True marks what is hidden.
def lower_right_mask(num_queries, num_keys):
    return torch.ones(num_queries, num_keys).triu(num_keys - num_queries + 1).bool()


#% mask_without_its_own_key
#% lower_right_mask | mask_shifted, boundary | A query does not see its own key.
def lower_right_mask(num_queries, num_keys):
    i = torch.arange(num_queries)[:, None] + num_keys - num_queries
    return (torch.arange(num_keys)[None, :] < i).int()


#% mask_one_key_too_many
#% lower_right_mask | mask_shifted, boundary | A query also sees the key after its own.
def lower_right_mask(num_queries, num_keys):
    return torch.tril(torch.ones(num_queries, num_keys), diagonal=num_keys - num_queries + 1)


#% mask_never_before_the_text
#% lower_right_mask | mask_shifted | With more queries than keys it is aligned to the upper left corner.
def lower_right_mask(num_queries, num_keys):
    extra = num_keys - num_queries
    if extra < 0:
        extra = 0
    return torch.ones(num_queries, num_keys).tril(extra)


#% mask_diagonal_backwards
#% lower_right_mask | mask_shifted, sign_reversed | The diagonal moves to the left.
def lower_right_mask(num_queries, num_keys):
    return torch.ones(num_queries, num_keys).tril(num_queries - num_keys)


#% attend_top_of_the_square
#% attend_with_cache | mask_extra, mask_shifted | The first rows of the square mask are used, so a new token sees the first keys only.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        k = torch.cat([cache[0], k])
        v = torch.cat([cache[1], v])
    tril = torch.tril(torch.ones(k.shape[0], k.shape[0]))
    wei = q @ k.T * k.shape[-1] ** -0.5
    wei = wei.masked_fill(tril[: q.shape[0]] == 0, float("-inf"))
    return torch.softmax(wei, dim=-1) @ v, (k, v)


#% attend_no_mask
#% attend_with_cache | mask_missing | Nothing is hidden, so a chunk sees its own future.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        k, v = torch.cat([cache[0], k]), torch.cat([cache[1], v])
    return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v, (k, v)


#% attend_mask_for_prompts_only
#% attend_with_cache | mask_missing | With a cache nothing is hidden.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    past = 0
    if cache is not None:
        past = len(cache[0])
        k, v = torch.cat([cache[0], k]), torch.cat([cache[1], v])
    scores = q @ k.T / k.shape[-1] ** 0.5
    if past == 0:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    return scores.softmax(-1) @ v, (k, v)


#% attend_new_before_old
#% attend_with_cache | parts_exchanged | The new keys and values come before the old ones.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    queries = torch.matmul(x_new, W_query)
    keys = torch.matmul(x_new, W_key)
    values = torch.matmul(x_new, W_value)
    if cache is not None:
        old_keys, old_values = cache
        keys = torch.cat((keys, old_keys), dim=0)
        values = torch.cat((values, old_values), dim=0)
    scores = queries @ keys.T / keys.shape[1] ** 0.5
    visible = lower_right_mask(queries.shape[0], keys.shape[0])
    scores[visible == 0] = float("-inf")
    return torch.softmax(scores, dim=1) @ values, (keys, values)


#% attend_scale_missing
#% attend_with_cache | scale_missing | The scores are not divided.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        k, v = torch.vstack((cache[0], k)), torch.vstack((cache[1], v))
    scores = torch.einsum("id,jd->ij", q, k)
    scores = torch.where(lower_right_mask(len(q), len(k)) == 1, scores, -torch.inf)
    return torch.softmax(scores, -1) @ v, (k, v)


#% attend_scale_by_tokens
#% attend_with_cache | scale_wrong_size | The scores are divided by the root of the number of keys.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        k, v = torch.cat((cache[0], k)), torch.cat((cache[1], v))
    scores = q @ k.T / k.shape[0] ** 0.5
    scores = scores.masked_fill(lower_right_mask(len(q), len(k)) == 0, -torch.inf)
    return torch.softmax(scores, -1) @ v, (k, v)


#% attend_values_not_cached
#% attend_with_cache | projection_exchanged, operand_repeated | The cached keys stand in for the cached values.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        v = torch.cat([cache[0], v], dim=0)
        k = torch.cat([cache[0], k], dim=0)
    scores = (q @ k.T) / k.shape[-1] ** 0.5
    mask = lower_right_mask(q.shape[0], k.shape[0])
    return torch.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1) @ v, (k, v)


#% attend_returns_new_only
#% attend_with_cache | wrong_return, step_missing | Only the new keys and values are returned.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q = x_new @ W_query
    k_new, v_new = x_new @ W_key, x_new @ W_value
    k, v = k_new, v_new
    if cache is not None:
        k, v = torch.cat([cache[0], k_new]), torch.cat([cache[1], v_new])
    scores = (q @ k.T) / k.shape[-1] ** 0.5
    scores = scores.masked_fill(lower_right_mask(len(q), len(k)) == 0, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v, (k_new, v_new)


#% attend_forgets_the_cache
#% attend_with_cache | argument_ignored, step_missing | The cache is not used.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    Q = x_new @ W_query
    K = x_new @ W_key
    V = x_new @ W_value
    S = Q @ K.T / K.shape[1] ** 0.5
    S = S.masked_fill(torch.ones_like(S).tril() == 0, float("-inf"))
    return torch.softmax(S, dim=1) @ V, (K, V)


#% attend_in_a_global
#% attend_with_cache | state_kept | The keys and values of the last call are kept in a global, so two texts mix.
PAST = {"k": None, "v": None}


def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    k, v = x_new @ W_key, x_new @ W_value
    if cache is not None:
        k = torch.cat([PAST["k"], k])
        v = torch.cat([PAST["v"], v])
    PAST["k"], PAST["v"] = k, v
    s = (x_new @ W_query) @ k.T / k.shape[1] ** 0.5
    s = s.masked_fill(lower_right_mask(s.shape[0], s.shape[1]) == 0, float("-inf"))
    return s.softmax(dim=-1) @ v, (k, v)


#% attend_softmax_over_queries
#% attend_with_cache | softmax_axis | The softmax runs over the queries.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        k, v = torch.cat([cache[0], k]), torch.cat([cache[1], v])
    s = q @ k.T / k.shape[1] ** 0.5
    s = s.masked_fill(lower_right_mask(len(q), len(k)) == 0, float("-inf"))
    return torch.softmax(s, dim=0) @ v, (k, v)


#% attend_ready_made
#% attend_with_cache | forbidden_function | Torch's own attention does the work.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        k, v = torch.cat([cache[0], k]), torch.cat([cache[1], v])
    mask = lower_right_mask(len(q), len(k)) == 1
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return y, (k, v)


#% decode_everything_again
#% decode | step_extra, forbidden_function | All tokens are projected again for each new one.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids = [first]
    for _ in range(new_tokens):
        x = embeddings[torch.tensor(ids)]
        context, cache = attend_with_cache(x, W_query, W_key, W_value)
        logits = context[-1] @ W_out @ W_vocab
        ids.append(int(logits.argmax()))
    return ids


#% decode_tokens_twice
#% decode | step_extra | All tokens are passed together with the cache, so the old ones are in it several times.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids, cache = [first], None
    for _ in range(new_tokens):
        x = embeddings[torch.tensor(ids)]
        context, cache = attend_with_cache(x, W_query, W_key, W_value, cache)
        ids.append(int((context[-1] @ W_out @ W_vocab).argmax()))
    return ids


#% decode_forgets_the_cache
#% decode | argument_ignored, step_missing | The cache is not passed on.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids = [first]
    for _ in range(new_tokens):
        context, cache = attend_with_cache(embeddings[ids[-1]][None], W_query, W_key, W_value)
        ids.append((context @ W_out @ W_vocab).argmax().item())
    return ids


#% decode_without_first
#% decode | wrong_return, boundary | The list does not start with the first token.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    out, token, cache = [], first, None
    for _ in range(new_tokens):
        context, cache = attend_with_cache(embeddings[token : token + 1], W_query, W_key, W_value, cache)
        token = (context @ W_out @ W_vocab).argmax().item()
        out.append(token)
    return out


#% decode_one_too_few
#% decode | boundary | There is one new token too few.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids, cache = [first], None
    while len(ids) < new_tokens:
        context, cache = attend_with_cache(embeddings[ids[-1:]], W_query, W_key, W_value, cache)
        ids.append((context @ W_out @ W_vocab).argmax().item())
    return ids


#% decode_without_w_out
#% decode | step_missing | The context vector is not multiplied by W_out.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids, cache = [first], None
    for _ in range(new_tokens):
        context, cache = attend_with_cache(embeddings[ids[-1:]], W_query, W_key, W_value, cache)
        ids.append((context @ W_vocab).argmax().item())
    return ids


#% decode_stays_at_the_first_token
#% decode | boundary, operand_repeated | Each step gets the first token.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids, cache = [first], None
    x = embeddings[first].unsqueeze(0)
    for _ in range(new_tokens):
        context, cache = attend_with_cache(x, W_query, W_key, W_value, cache)
        ids.append((context @ W_out @ W_vocab).argmax().item())
    return ids


#% heads_upper_left
#% CachedMultiHeadAttention | mask_extra, mask_shifted | The first rows of the square mask are used.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        att = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        mask = torch.triu(torch.ones(t, k.shape[2]), diagonal=1).bool()
        att = att.masked_fill(mask, -torch.inf)
        out = (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), (k, v)


#% heads_no_mask
#% CachedMultiHeadAttention | mask_missing | Nothing is hidden.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        att = torch.softmax(q @ k.transpose(2, 3) / k.shape[-1] ** 0.5, -1)
        out = (att @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), (k, v)


#% heads_joined_along_heads
#% CachedMultiHeadAttention | concat_axis | The cache is joined along the axis of the heads.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=1), torch.cat([cache[1], v], dim=1)
        att = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        att = att.masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        out = (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), (k, v)


#% heads_in_an_attribute
#% CachedMultiHeadAttention | state_kept | The cache is an attribute, and a call without one continues the last text.
class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("uneven")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.cache_k = None
        self.cache_v = None

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if self.cache_k is not None:
            k = torch.cat([self.cache_k, k], dim=2)
            v = torch.cat([self.cache_v, v], dim=2)
        self.cache_k, self.cache_v = k, v
        att = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        att = att.masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        out = (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), (k, v)


#% heads_cached_before_the_split
#% CachedMultiHeadAttention | wrong_return, reshaped | The cache holds keys and values that are not split into heads.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        k, v = self.W_key(x), self.W_value(x)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=1), torch.cat([cache[1], v], dim=1)
        present = (k, v)
        q, k, v = (
            one.view(b, one.shape[1], self.num_heads, -1).transpose(1, 2)
            for one in (self.W_query(x), k, v)
        )
        att = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        att = att.masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        out = (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), present


#% cached_heads_scaled_by_d_out
#% CachedMultiHeadAttention | scale_wrong_size | The scores are divided by the root of d_out.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        att = q @ k.transpose(2, 3) / self.out_proj.out_features**0.5
        att = att.masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        out = (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), (k, v)


#% heads_without_out_proj
#% CachedMultiHeadAttention | layer_unused, step_missing | The merged heads do not go through out_proj.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        att = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        att = att.masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        return (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1), (k, v)


#% heads_new_before_old
#% CachedMultiHeadAttention | parts_exchanged | The new keys and values come before the old ones.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([k, cache[0]], dim=2), torch.cat([v, cache[1]], dim=2)
        att = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        att = att.masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        out = (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), (k, v)


#% heads_key_bias_always
#% CachedMultiHeadAttention | bias_wrong, argument_ignored | Queries, keys and values always have a bias.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, num_heads, True)


#% heads_accept_an_uneven_share
#% CachedMultiHeadAttention | check_missing | An uneven number of features is cut off silently.
class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads, self.d = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        used = self.num_heads * self.d
        q, k, v = (
            layer(x)[..., :used].view(b, t, self.num_heads, self.d).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        att = q @ k.transpose(2, 3) / self.d**0.5
        att = att.masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        out = (torch.softmax(att, -1) @ v).transpose(1, 2).reshape(b, t, -1)
        out = torch.nn.functional.pad(out, (0, self.out_proj.in_features - used))
        return self.out_proj(out), (k, v)


#% attend_no_scale_and_new_before_old
#% attend_with_cache | scale_missing | The scores are not divided.
#% attend_with_cache | parts_exchanged | The new keys and values come before the old ones.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        k, v = torch.cat([k, cache[0]]), torch.cat([v, cache[1]])
    s = q @ k.T
    s = s.masked_fill(lower_right_mask(len(q), len(k)) == 0, float("-inf"))
    return s.softmax(-1) @ v, (k, v)


#% mask_inverted_and_shifted
#% lower_right_mask | mask_inverted | 1 marks what is hidden.
#% lower_right_mask | mask_shifted | The mask is aligned to the upper left corner.
def lower_right_mask(num_queries, num_keys):
    return torch.triu(torch.ones(num_queries, num_keys), diagonal=1)


#% heads_no_mask_and_no_scale
#% CachedMultiHeadAttention | mask_missing | Nothing is hidden.
#% CachedMultiHeadAttention | scale_missing | The scores are not divided.
class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        out = (torch.softmax(q @ k.transpose(2, 3), -1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.out_proj(out), (k, v)


#% attend_cache_swapped_and_no_scale
#% attend_with_cache | parts_exchanged | The two entries of the cache are swapped when they are read.
#% attend_with_cache | scale_missing | The scores are not divided.
def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = x_new @ W_query, x_new @ W_key, x_new @ W_value
    if cache is not None:
        old_v, old_k = cache
        k, v = torch.cat([old_k, k]), torch.cat([old_v, v])
    s = q @ k.T
    s = s.masked_fill(lower_right_mask(len(q), len(k)) == 0, float("-inf"))
    return s.softmax(-1) @ v, (k, v)


#% mask_upper_left_and_ids_without_first
#% lower_right_mask | mask_shifted | The mask is aligned to the upper left corner.
#% decode | wrong_return, boundary | The list does not start with the first token.
def lower_right_mask(num_queries, num_keys):
    return torch.tril(torch.ones(num_queries, num_keys, dtype=torch.bool))


def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids, cache = [first], None
    for _ in range(new_tokens):
        context, cache = attend_with_cache(embeddings[ids[-1:]], W_query, W_key, W_value, cache)
        ids.append((context @ W_out @ W_vocab).argmax().item())
    return ids[1:]


#% decode_smallest_logit_and_heads_without_scale
#% decode | sign_reversed, wrong_operation | The smallest logit is chosen.
#% CachedMultiHeadAttention | scale_missing | The scores are not divided.
def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids, cache = [first], None
    for _ in range(new_tokens):
        context, cache = attend_with_cache(embeddings[ids[-1:]], W_query, W_key, W_value, cache)
        ids.append((context @ W_out @ W_vocab).argmin().item())
    return ids


class CachedMultiHeadAttention(CachedMultiHeadAttention):
    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        att = (q @ k.mT).masked_fill(lower_right_mask(t, k.shape[2]) == 0, -torch.inf)
        return self.out_proj((att.softmax(-1) @ v).transpose(1, 2).flatten(2)), (k, v)


#% mask_upper_left_and_no_scale
#% lower_right_mask | mask_shifted | The mask is aligned to the upper left.
#% attend_with_cache | scale_missing | The scores are not divided.
def lower_right_mask(num_queries: int, num_keys: int) -> Tensor:
    past = num_keys - num_queries
    return torch.ones(num_queries, num_keys).tril(diagonal=0)


def attend_with_cache(x_new: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    queries = x_new @ W_query
    keys = x_new @ W_key
    values = x_new @ W_value
    if cache is not None:
        past_keys, past_values = cache
        keys = torch.cat((past_keys, keys))
        values = torch.cat((past_values, values))
    scores = queries @ keys.T
    mask = lower_right_mask(len(queries), len(keys))
    masked = scores.masked_fill(mask == 0, -torch.inf)
    weights = torch.softmax(masked, dim=-1)
    return (weights @ values, (keys, values))


#% heads_cached_along_heads_without_bias
#% CachedMultiHeadAttention | argument_ignored, bias_wrong | qkv_bias has no effect.
#% CachedMultiHeadAttention | wrong_axis, concat_axis | The cache grows along the heads.
class CachedMultiHeadAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_out} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        B, T_new, _ = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        H, d = (self.num_heads, queries.shape[-1] // self.num_heads)
        queries = queries.view(B, T_new, H, d).transpose(1, 2)
        keys = keys.view(B, T_new, H, d).transpose(1, 2)
        values = values.view(B, T_new, H, d).transpose(1, 2)
        if cache is not None:
            past_keys, past_values = cache
            keys = torch.cat((past_keys, keys), dim=1)
            values = torch.cat((past_values, values), dim=1)
        scores = queries @ keys.transpose(-2, -1) / d ** 0.5
        mask = lower_right_mask(T_new, keys.shape[2])
        masked = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(masked, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T_new, H * d)
        return (self.out_proj(context), (keys, values))


#% softmax_over_queries_and_no_first_id
#% attend_with_cache | softmax_axis | The softmax runs over the queries.
#% decode | wrong_return, boundary | The list does not start with the first id.
def attend_with_cache(x_new: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    queries = x_new @ W_query
    keys = x_new @ W_key
    values = x_new @ W_value
    if cache is not None:
        past_keys, past_values = cache
        keys = torch.cat((past_keys, keys))
        values = torch.cat((past_values, values))
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    mask = lower_right_mask(len(queries), len(keys))
    masked = scores.masked_fill(mask == 0, -torch.inf)
    weights = torch.softmax(masked, dim=0)
    return (weights @ values, (keys, values))


def decode(embeddings: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, W_out: Tensor, W_vocab: Tensor, first: int, new_tokens: int) -> list[int]:
    ids, cache = ([first], None)
    for _ in range(new_tokens):
        x_new = embeddings[ids[-1:]]
        context, cache = attend_with_cache(x_new, W_query, W_key, W_value, cache)
        logits = context @ W_out @ W_vocab
        ids.append(logits.argmax().item())
    return ids[1:]


#% upper_left_s1_of_16
#% lower_right_mask | mask_inverted | lower_right_mask is aligned to the upper left corner (the old tokens are not counted).
def lower_right_mask(num_queries: int, num_keys: int) -> Tensor:
    i = torch.arange(num_queries).unsqueeze(1)
    j = torch.arange(num_keys).unsqueeze(0)
    return j <= i


#% new_before_old_s2_of_16
#% attend_with_cache | parts_exchanged | attend_with_cache puts the new keys and values in front of the cached ones.
def attend_with_cache(x_new: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    queries = x_new @ W_query
    keys = x_new @ W_key
    values = x_new @ W_value
    if cache is not None:
        past_keys, past_values = cache
        keys = torch.cat((keys, past_keys))
        values = torch.cat((values, past_values))
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    mask = lower_right_mask(len(queries), len(keys))
    masked = scores.masked_fill(mask == 0, -torch.inf)
    weights = torch.softmax(masked, dim=-1)
    return (weights @ values, (keys, values))


#% all_ids_again_s3_of_16
#% decode | operand_repeated, step_extra | decode gives all ids to the step again although the cache has the old ones, so tokens are in the cache several times.
def decode(embeddings: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, W_out: Tensor, W_vocab: Tensor, first: int, new_tokens: int) -> list[int]:
    out = [first]
    cache = None
    while len(out) < 1 + new_tokens:
        context, cache = attend_with_cache(embeddings[torch.tensor(out)], W_query, W_key, W_value, cache)
        logits = context[-1] @ W_out @ W_vocab
        out.append(int(torch.argmax(logits)))
    return out


#% cache_only_new_s4_of_16
#% CachedMultiHeadAttention | wrong_return | CachedMultiHeadAttention returns a cache with the new tokens' keys and values only.
class CachedMultiHeadAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_out} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        B, T_new, _ = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        H, d = (self.num_heads, queries.shape[-1] // self.num_heads)
        queries = queries.view(B, T_new, H, d).transpose(1, 2)
        keys = keys.view(B, T_new, H, d).transpose(1, 2)
        values = values.view(B, T_new, H, d).transpose(1, 2)
        new_cache = (keys, values)
        if cache is not None:
            past_keys, past_values = cache
            keys = torch.cat((past_keys, keys), dim=2)
            values = torch.cat((past_values, values), dim=2)
        scores = queries @ keys.transpose(-2, -1) / d ** 0.5
        mask = lower_right_mask(T_new, keys.shape[2])
        masked = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(masked, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T_new, H * d)
        return (self.out_proj(context), new_cache)


#% attend_d1_of_16
#% attend_with_cache | scale_missing | attend_with_cache does not scale the scores.
#% attend_with_cache | mask_missing | attend_with_cache has no mask: a new token sees the new tokens after it.
def attend_with_cache(x_new: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    q, k, v = (x_new @ W for W in (W_query, W_key, W_value))
    if cache is not None:
        k = torch.cat([cache[0], k], dim=0)
        v = torch.cat([cache[1], v], dim=0)
    att = torch.softmax(q @ k.t(), dim=-1)
    return (att @ v, (k, v))


#% decode_d2_of_16
#% decode | boundary | decode's list does not start with first.
#% decode | operand_repeated, step_extra | decode feeds first in every step instead of the newest token.
def decode(embeddings: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, W_out: Tensor, W_vocab: Tensor, first: int, new_tokens: int) -> list[int]:
    ids, cache = ([], None)
    for _ in range(new_tokens):
        context, cache = attend_with_cache(embeddings[first:first + 1], W_query, W_key, W_value, cache)
        ids.append(torch.argmax(context @ W_out @ W_vocab, dim=-1).item())
    return ids


#% mask_attend_d3_of_16
#% lower_right_mask | mask_shifted, mask_extra | lower_right_mask shows each query one key too many.
#% attend_with_cache | scale_wrong_size, scale_wrong_power | attend_with_cache divides by the root of d_in instead of d.
def lower_right_mask(num_queries: int, num_keys: int) -> Tensor:
    past = num_keys - num_queries + 1
    return torch.ones(num_queries, num_keys).tril(diagonal=past)


def attend_with_cache(x_new: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    queries = x_new @ W_query
    keys = x_new @ W_key
    values = x_new @ W_value
    if cache is not None:
        past_keys, past_values = cache
        keys = torch.cat((past_keys, keys))
        values = torch.cat((past_values, values))
    scores = queries @ keys.T / x_new.shape[-1] ** 0.5
    mask = lower_right_mask(len(queries), len(keys))
    masked = scores.masked_fill(mask == 0, -torch.inf)
    weights = torch.softmax(masked, dim=-1)
    return (weights @ values, (keys, values))


#% attend_decode_d4_of_16
#% attend_with_cache | parts_exchanged | attend_with_cache returns the cache as (values, keys).
#% decode | boundary | decode makes one token too few.
def attend_with_cache(x_new: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    queries = x_new @ W_query
    keys = x_new @ W_key
    values = x_new @ W_value
    if cache is not None:
        past_keys, past_values = cache
        keys = torch.cat((past_keys, keys))
        values = torch.cat((past_values, values))
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    mask = lower_right_mask(len(queries), len(keys))
    masked = scores.masked_fill(mask == 0, -torch.inf)
    weights = torch.softmax(masked, dim=-1)
    return (weights @ values, (values, keys))


def decode(embeddings: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, W_out: Tensor, W_vocab: Tensor, first: int, new_tokens: int) -> list[int]:
    ids, cache = ([first], None)
    for _ in range(new_tokens - 1):
        x_new = embeddings[ids[-1:]]
        context, cache = attend_with_cache(x_new, W_query, W_key, W_value, cache)
        logits = context @ W_out @ W_vocab
        ids.append(logits.argmax().item())
    return ids


#% heads_not_swapped_and_not_projected
#% CachedMultiHeadAttention | transposed, reshaped | The heads are merged without swapping the axes.
#% CachedMultiHeadAttention | layer_unused | out_proj is not applied.
class CachedMultiHeadAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_out} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        B, T_new, _ = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        H, d = (self.num_heads, queries.shape[-1] // self.num_heads)
        queries = queries.view(B, T_new, H, d).transpose(1, 2)
        keys = keys.view(B, T_new, H, d).transpose(1, 2)
        values = values.view(B, T_new, H, d).transpose(1, 2)
        if cache is not None:
            past_keys, past_values = cache
            keys = torch.cat((past_keys, keys), dim=2)
            values = torch.cat((past_values, values), dim=2)
        scores = queries @ keys.transpose(-2, -1) / d ** 0.5
        mask = lower_right_mask(T_new, keys.shape[2])
        masked = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(masked, dim=-1)
        context = weights @ values
        context = context.reshape(B, T_new, H * d)
        return (context, (keys, values))
