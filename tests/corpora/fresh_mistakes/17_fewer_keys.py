#% llama_repeat_kv
def repeat_heads(x, num_heads):
    bs, n_kv_heads, slen, head_dim = x.shape
    if num_heads % n_kv_heads != 0:
        raise ValueError("n_heads must be a multiple of n_kv_heads")
    n_rep = num_heads // n_kv_heads
    if n_rep == 1:
        return x
    x = x[:, :, None, :, :].expand(bs, n_kv_heads, n_rep, slen, head_dim)
    return x.reshape(bs, n_kv_heads * n_rep, slen, head_dim)


#% heads_by_index
def repeat_heads(x, num_heads):
    per_group, rest = divmod(num_heads, x.size(1))
    if rest or per_group == 0:
        raise ValueError(num_heads)
    return x[:, [h // per_group for h in range(num_heads)]]


#% heads_by_kron
def repeat_heads(x, num_heads):
    assert num_heads % x.shape[1] == 0, "uneven groups"
    ones = torch.ones(num_heads // x.shape[1], 1, dtype=x.dtype)
    return torch.einsum("bgtd,rk->bgrtd", x, ones).flatten(1, 2)


#% mask_of_two_triangles
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window must be at least 1")
    full = torch.ones(length, length)
    mask = torch.tril(full) * torch.triu(full, diagonal=-(window - 1))
    if sinks:
        mask[:, :sinks] = torch.tril(full)[:, :sinks]
    return mask


#% mask_by_lists
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError
    return torch.tensor(
        [[j <= i and (i - j < window or j < sinks) for j in range(length)] for i in range(length)]
    )


#% mask_of_hidden_ones_inverted
def window_mask(length, window, sinks=0):
    if not window > 0:
        raise ValueError("empty window")
    i = torch.arange(length).unsqueeze(-1)
    j = torch.arange(length).unsqueeze(0)
    too_late = j > i
    too_old = (j <= i - window) & (j >= sinks)
    return torch.logical_not(torch.logical_or(too_late, too_old))


#% bytes_step_by_step
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    kept = context_length
    if window is not None and kept > window:
        kept = window
    keys = batch_size * num_layers * num_kv_heads * kept * head_size
    values = keys
    return int((keys + values) * bytes_per_number)


#% bytes_of_a_meta_tensor
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = min(context_length, context_length if window is None else window)
    shape = (num_layers, 2, batch_size, num_kv_heads, tokens, head_size)
    return torch.empty(shape, device="meta").numel() * bytes_per_number


#% gqa_from_the_book
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_heads must be divisible by num_kv_groups")
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.num_kv_groups = num_kv_heads
        self.group_size = num_heads // num_kv_heads
        self.sliding_window_size = window
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        mask = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("mask", mask)

    def forward(self, x):
        b, num_tokens, _ = x.shape
        if num_tokens > self.mask.shape[0]:
            raise ValueError("too many tokens")
        queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim)
        keys = self.W_key(x).view(b, num_tokens, self.num_kv_groups, self.head_dim)
        values = self.W_value(x).view(b, num_tokens, self.num_kv_groups, self.head_dim)
        queries, keys, values = (each.transpose(1, 2) for each in (queries, keys, values))
        keys = keys.repeat_interleave(self.group_size, dim=1)
        values = values.repeat_interleave(self.group_size, dim=1)
        attn_scores = queries @ keys.transpose(2, 3)
        mask_bool = self.mask.bool()[:num_tokens, :num_tokens]
        if self.sliding_window_size is not None:
            old = torch.tril(torch.ones_like(self.mask), diagonal=-self.sliding_window_size)
            mask_bool = mask_bool | old.bool()[:num_tokens, :num_tokens]
        attn_scores.masked_fill_(mask_bool, -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        context_vec = (attn_weights @ values).transpose(1, 2)
        context_vec = context_vec.contiguous().view(b, num_tokens, self.d_out)
        return self.out_proj(context_vec)


#% gqa_by_broadcasting
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads or num_heads % num_kv_heads:
            raise ValueError("heads do not fit")
        self.shape = (num_kv_heads, num_heads // num_kv_heads, d_out // num_heads)
        self.context_length, self.window = context_length, window
        d_kv = num_kv_heads * (d_out // num_heads)
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_kv, bias=False)
        self.W_value = nn.Linear(d_in, d_kv, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.context_length:
            raise ValueError("text too long")
        G, R, d = self.shape
        q = self.W_query(x).reshape(B, T, G, R, d).permute(0, 2, 3, 1, 4)
        k = self.W_key(x).reshape(B, T, G, 1, d).permute(0, 2, 3, 1, 4)
        v = self.W_value(x).reshape(B, T, G, 1, d).permute(0, 2, 3, 1, 4)
        att = (q @ k.mT) * d**-0.5
        visible = window_mask(T, self.window or T).bool()
        att = att.where(visible, torch.full_like(att, float("-inf"))).softmax(-1)
        return self.out_proj((att @ v).permute(0, 3, 1, 2, 4).reshape(B, T, G * R * d))


#% decoder_of_llama
class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        head_dim = d_model // num_heads
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0 or head_dim % 2 != 0:
            raise ValueError("sizes do not fit")
        self.n_heads, self.n_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.window, self.theta = window, base
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model)

    def rope(self, x, freqs_cis):
        x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(x_ * freqs_cis).flatten(-2).type_as(x)

    def forward(self, x, cache=None):
        bsz, seqlen, _ = x.shape
        xq = self.W_query(x).view(bsz, seqlen, self.n_heads, self.head_dim).transpose(1, 2)
        xk = self.W_key(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)
        xv = self.W_value(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)
        start_pos = 0
        if cache is not None:
            start_pos = cache[2]
        freqs = 1.0 / self.theta ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        t = torch.arange(start_pos, start_pos + seqlen).float()
        angles = torch.outer(t, freqs)
        freqs_cis = torch.polar(torch.ones_like(angles), angles)
        xq, xk = self.rope(xq, freqs_cis), self.rope(xk, freqs_cis)
        if cache is not None:
            xk = torch.cat([cache[0], xk], dim=2)
            xv = torch.cat([cache[1], xv], dim=2)
        total = xk.shape[2]
        mask = torch.full((seqlen, total), float("-inf")).triu(total - seqlen + 1)
        if self.window is not None:
            old = torch.ones(seqlen, total).tril(total - seqlen - self.window)
            mask = mask.masked_fill(old == 1, float("-inf"))
        rep = self.n_heads // self.n_kv_heads
        scores = xq @ xk.repeat_interleave(rep, 1).transpose(2, 3) / self.head_dim**0.5
        scores = torch.softmax(scores + mask.to(scores.dtype), dim=-1)
        output = scores @ xv.repeat_interleave(rep, 1)
        output = output.transpose(1, 2).reshape(bsz, seqlen, -1)
        if self.window is not None:
            keep = min(self.window - 1, total)
            xk, xv = xk[:, :, total - keep :], xv[:, :, total - keep :]
        return self.out_proj(output), (xk, xv, start_pos + seqlen)


#% decoder_with_a_rolling_buffer
class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads != 0")
        if num_heads % num_kv_heads:
            raise ValueError("num_heads % num_kv_heads != 0")
        self.hd = d_model // num_heads
        if self.hd % 2:
            raise ValueError("head size is odd")
        self.nh, self.ng, self.window = num_heads, num_kv_heads, window
        self.inv_freq = [base ** (-2 * i / self.hd) for i in range(self.hd // 2)]
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, self.ng * self.hd, bias=False)
        self.W_value = nn.Linear(d_model, self.ng * self.hd, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, T, C = x.shape
        past_k, past_v, n = cache if cache is not None else (None, None, 0)
        theta = (n + torch.arange(T)).view(T, 1) * torch.tensor(self.inv_freq)
        sin, cos = theta.sin().repeat_interleave(2, 1), theta.cos().repeat_interleave(2, 1)

        def spin(z):
            flipped = torch.stack([-z[..., 1::2], z[..., ::2]], -1).flatten(-2)
            return z * cos + flipped * sin

        q = spin(self.W_query(x).view(B, T, self.nh, self.hd).transpose(1, 2))
        k = spin(self.W_key(x).view(B, T, self.ng, self.hd).transpose(1, 2))
        v = self.W_value(x).view(B, T, self.ng, self.hd).transpose(1, 2)
        if past_k is not None:
            k, v = torch.cat((past_k, k), -2), torch.cat((past_v, v), -2)
        S = k.size(-2)
        where_q = torch.arange(S - T, S)[:, None]
        where_k = torch.arange(S)[None, :]
        ok = where_k <= where_q
        if self.window:
            ok &= where_k > where_q - self.window
        kk, vv = repeat_heads(k, self.nh), repeat_heads(v, self.nh)
        att = (q @ kk.transpose(-1, -2)) * (1.0 / self.hd**0.5)
        att = att.masked_fill(~ok, float("-inf")).softmax(-1)
        y = self.out_proj((att @ vv).transpose(1, 2).contiguous().view(B, T, C))
        if self.window:
            first = max(S - self.window + 1, 0)
            k, v = k[..., first:, :], v[..., first:, :]
        return y, (k, v, n + T)


#% heads_repeated_as_a_row
#% repeat_heads | parts_exchanged, heads_mixed, wrong_form | The row of heads is copied as a whole, so neighbours get different heads.
def repeat_heads(x, num_heads):
    G = x.shape[1]
    if num_heads % G != 0:
        raise ValueError("G must divide num_heads")
    return x.repeat(1, num_heads // G, 1, 1)


#% heads_by_modulo
#% repeat_heads | parts_exchanged, heads_mixed, wrong_form | Head h gets head h % G instead of h // (H/G).
def repeat_heads(x, num_heads):
    if num_heads % x.size(1):
        raise ValueError
    return torch.stack([x[:, h % x.size(1)] for h in range(num_heads)], 1)


#% heads_along_the_tokens
#% repeat_heads | wrong_axis | The tokens are repeated instead of the heads.
def repeat_heads(x, num_heads):
    B, G, T, d = x.shape
    if num_heads % G:
        raise ValueError("uneven")
    return x.repeat_interleave(num_heads // G, dim=2)


#% heads_all_of_the_first
#% repeat_heads | heads_repeated, batch_mixed | All heads get the first head of the keys.
def repeat_heads(x, num_heads):
    if num_heads % x.shape[1] != 0:
        raise ValueError("uneven")
    return x[:, :1].expand(-1, num_heads, -1, -1)


#% heads_without_a_check
#% repeat_heads | check_missing | An uneven number of heads gives fewer heads instead of an error.
def repeat_heads(x, num_heads):
    return torch.repeat_interleave(x, max(1, num_heads // x.shape[1]), dim=1)


#% window_counts_without_itself
#% window_mask | boundary, mask_shifted | The window reaches one token too far back.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    i = torch.arange(length)[:, None]
    j = torch.arange(length)[None, :]
    return (j <= i) & ((i - j <= window) | (j < sinks))


#% window_one_too_short
#% window_mask | boundary, mask_shifted | The window is one token too short.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    causal = torch.tril(torch.ones(length, length))
    near = torch.triu(causal, -(window - 2))
    near[:, :sinks] = causal[:, :sinks]
    return near


#% window_sees_the_future
#% window_mask | step_missing, mask_missing | Later keys are visible.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    i = torch.arange(length).view(-1, 1)
    j = torch.arange(length).view(1, -1)
    return (i - j < window) | (j < sinks)


#% sinks_for_everybody
#% window_mask | step_missing, mask_missing | The sinks are visible to the tokens before them.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    ones = torch.ones(length, length)
    mask = torch.tril(ones) - torch.tril(ones, -window)
    mask[:, :sinks] = 1
    return mask


#% mask_marks_the_hidden
#% window_mask | mask_inverted | The mask marks what is hidden instead of what is visible.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    i, j = torch.arange(length)[:, None], torch.arange(length)
    return (j > i) | ((i - j >= window) & (j >= sinks))


#% sinks_ignored
#% window_mask | argument_ignored, step_missing | Sinks have no effect.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    ones = torch.ones(length, length)
    return torch.tril(ones).triu(1 - window)


#% keys_ask
#% window_mask | transposed, parts_exchanged | Rows are keys and columns are queries.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    i = torch.arange(length)
    j = torch.arange(length)[:, None]
    return (j <= i) & ((i - j < window) | (j < sinks))


#% bytes_of_keys_alone
#% cache_bytes | step_missing, factor_missing | Only the keys are counted, not the values.
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    n = context_length if window is None else min(window, context_length)
    return n * head_size * num_kv_heads * num_layers * bytes_per_number * batch_size


#% bytes_of_one_text
#% cache_bytes | argument_ignored | The number of texts has no effect.
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = min(context_length, window) if window else context_length
    return 2 * tokens * num_layers * num_kv_heads * head_size * bytes_per_number


#% bytes_of_half_precision
#% cache_bytes | argument_ignored | The bytes of a number are always 2.
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = min(context_length, window) if window else context_length
    return 2 * batch_size * tokens * num_layers * num_kv_heads * head_size * 2


#% bytes_without_the_window
#% cache_bytes | argument_ignored, step_missing | The window has no effect.
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    per_layer = 2 * batch_size * context_length * num_kv_heads * head_size
    return per_layer * num_layers * bytes_per_number


#% bytes_of_a_window_that_is_never_full
#% cache_bytes | boundary, step_missing, wrong_form | A window counts in full even if the text is shorter.
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = window or context_length
    return 2 * batch_size * tokens * num_layers * num_kv_heads * head_size * bytes_per_number


#% bytes_as_a_float
#% cache_bytes | wrong_return, dtype | The number of bytes is a float.
def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = min(context_length, window) if window else context_length
    bits = 2 * batch_size * tokens * num_layers * num_kv_heads * head_size * bytes_per_number * 8
    return bits / 8


#% gqa_full_size_keys
#% GroupedQueryAttention | wrong_size | Keys and values have as many features as the queries.
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("heads")
        self.h, self.g, self.d = num_heads, num_kv_heads, d_out // num_heads
        self.n, self.window = context_length, window
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.n:
            raise ValueError("T")
        q = self.W_query(x).view(B, T, self.h, self.d).transpose(1, 2)
        k = self.W_key(x).view(B, T, self.h, self.d).transpose(1, 2)
        v = self.W_value(x).view(B, T, self.h, self.d).transpose(1, 2)
        seen = window_mask(T, self.window or T).bool()
        w = (q @ k.mT / self.d**0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        return self.out_proj((w @ v).transpose(1, 2).reshape(B, T, -1))


#% gqa_scale_of_all_keys
#% GroupedQueryAttention | scale_wrong_size | The scores are divided by the root of G * d.
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("heads")
        self.h, self.g, self.d = num_heads, num_kv_heads, d_out // num_heads
        self.n, self.window = context_length, window
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, self.g * self.d, bias=False)
        self.W_value = nn.Linear(d_in, self.g * self.d, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.n:
            raise ValueError("T")
        keys = self.W_key(x)
        q = self.W_query(x).view(B, T, self.h, self.d).transpose(1, 2)
        k = repeat_heads(keys.view(B, T, self.g, self.d).transpose(1, 2), self.h)
        v = repeat_heads(self.W_value(x).view(B, T, self.g, self.d).transpose(1, 2), self.h)
        seen = window_mask(T, self.window or T).bool()
        w = (q @ k.mT / keys.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        return self.out_proj((w @ v).transpose(1, 2).reshape(B, T, -1))


#% gqa_without_a_window
#% GroupedQueryAttention | argument_ignored, step_missing | The window has no effect.
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("heads")
        self.h, self.g, self.d, self.n = num_heads, num_kv_heads, d_out // num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, self.g * self.d, bias=False)
        self.W_value = nn.Linear(d_in, self.g * self.d, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.n:
            raise ValueError("T")
        q = self.W_query(x).view(B, T, self.h, self.d).transpose(1, 2)
        k = repeat_heads(self.W_key(x).view(B, T, self.g, self.d).transpose(1, 2), self.h)
        v = repeat_heads(self.W_value(x).view(B, T, self.g, self.d).transpose(1, 2), self.h)
        future = torch.triu(torch.ones(T, T), 1).bool()
        w = (q @ k.mT / self.d**0.5).masked_fill(future, -torch.inf).softmax(-1)
        return self.out_proj((w @ v).transpose(1, 2).reshape(B, T, -1))


#% gqa_keys_for_values
#% GroupedQueryAttention | projection_exchanged, operand_repeated | The repeated keys are mixed instead of the values.
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("heads")
        self.h, self.g, self.d = num_heads, num_kv_heads, d_out // num_heads
        self.n, self.window = context_length, window
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, self.g * self.d, bias=False)
        self.W_value = nn.Linear(d_in, self.g * self.d, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.n:
            raise ValueError("T")
        queries = self.W_query(x).view(B, T, self.h, self.d).transpose(1, 2)
        keys = self.W_key(x).view(B, T, self.g, self.d).transpose(1, 2)
        keys = repeat_heads(keys, self.h)
        values = repeat_heads(keys, self.h)
        seen = window_mask(T, self.window or T).bool()
        w = (queries @ keys.mT / self.d**0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        return self.out_proj((w @ values).transpose(1, 2).reshape(B, T, -1))


#% decoder_positions_of_the_chunk
#% DecoderAttention | step_missing, argument_ignored, wrong_form | Positions start at 0 in each call.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        q = self.W_query(x).view(B, T, H, d).transpose(1, 2)
        k = self.W_key(x).view(B, T, G, d).transpose(1, 2)
        v = self.W_value(x).view(B, T, G, d).transpose(1, 2)
        pos = torch.arange(T)
        q, k = rotate(q, pos, self.base), rotate(k, pos, self.base)
        seen = T
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            seen = cache[2] + T
        K = k.shape[2]
        back = torch.arange(K - T, K)[:, None] - torch.arange(K)
        bad = back < 0
        if self.window is not None:
            bad |= back >= self.window
        s = q @ repeat_heads(k, H).mT / d**0.5
        w = s.masked_fill(bad, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen)


#% decoder_counts_the_cache
#% DecoderAttention | wrong_form, boundary | Positions are counted from the shortened cache.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        q = self.W_query(x).view(B, T, H, d).transpose(1, 2)
        k = self.W_key(x).view(B, T, G, d).transpose(1, 2)
        v = self.W_value(x).view(B, T, G, d).transpose(1, 2)
        offset = cache[0].shape[2] if cache is not None else 0
        seen = cache[2] if cache is not None else 0
        pos = torch.arange(offset, offset + T)
        q, k = rotate(q, pos, self.base), rotate(k, pos, self.base)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        back = pos[:, None] - torch.arange(K)
        bad = back < 0
        if self.window is not None:
            bad |= back >= self.window
        s = q @ repeat_heads(k, H).mT / d**0.5
        w = s.masked_fill(bad, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen + T)


#% decoder_caches_copies
#% DecoderAttention | step_order, heads_repeated, wrong_size | The repeated keys and values are cached, so nothing is saved.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        seen = 0 if cache is None else cache[2]
        pos = torch.arange(seen, seen + T)
        q = rotate(self.W_query(x).view(B, T, H, d).transpose(1, 2), pos, self.base)
        k = rotate(self.W_key(x).view(B, T, G, d).transpose(1, 2), pos, self.base)
        k = repeat_heads(k, H)
        v = repeat_heads(self.W_value(x).view(B, T, G, d).transpose(1, 2), H)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        back = torch.arange(K - T, K)[:, None] - torch.arange(K)
        bad = back < 0
        if self.window is not None:
            bad |= back >= self.window
        w = (q @ k.mT / d**0.5).masked_fill(bad, -torch.inf).softmax(-1)
        y = (w @ v).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen + T)


#% decoder_turns_everything_again
#% DecoderAttention | step_order, step_extra, step_misplaced | Cached keys are turned again in each call.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        seen = 0 if cache is None else cache[2]
        q = self.W_query(x).view(B, T, H, d).transpose(1, 2)
        k = self.W_key(x).view(B, T, G, d).transpose(1, 2)
        v = self.W_value(x).view(B, T, G, d).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        q = rotate(q, torch.arange(seen, seen + T), self.base)
        k = rotate(k, torch.arange(seen + T - K, seen + T), self.base)
        back = torch.arange(K - T, K)[:, None] - torch.arange(K)
        bad = back < 0
        if self.window is not None:
            bad |= back >= self.window
        w = (q @ repeat_heads(k, H).mT / d**0.5).masked_fill(bad, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen + T)


#% decoder_new_before_old
#% DecoderAttention | parts_exchanged | The new keys and values come before the cached ones.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        seen = 0 if cache is None else cache[2]
        pos = torch.arange(seen, seen + T)
        q = rotate(self.W_query(x).view(B, T, H, d).transpose(1, 2), pos, self.base)
        k = rotate(self.W_key(x).view(B, T, G, d).transpose(1, 2), pos, self.base)
        v = self.W_value(x).view(B, T, G, d).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat((k, cache[0]), 2), torch.cat((v, cache[1]), 2)
        K = k.shape[2]
        back = torch.arange(K - T, K)[:, None] - torch.arange(K)
        bad = back < 0
        if self.window is not None:
            bad |= back >= self.window
        w = (q @ repeat_heads(k, H).mT / d**0.5).masked_fill(bad, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen + T)


#% decoder_keeps_a_whole_window
#% DecoderAttention | boundary | The cache keeps window tokens, one more than the next token needs.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        seen = 0 if cache is None else cache[2]
        pos = torch.arange(seen, seen + T)
        q = rotate(self.W_query(x).view(B, T, H, d).transpose(1, 2), pos, self.base)
        k = rotate(self.W_key(x).view(B, T, G, d).transpose(1, 2), pos, self.base)
        v = self.W_value(x).view(B, T, G, d).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        back = torch.arange(K - T, K)[:, None] - torch.arange(K)
        bad = back < 0
        if self.window is not None:
            bad |= back >= self.window
        w = (q @ repeat_heads(k, H).mT / d**0.5).masked_fill(bad, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        if self.window is not None:
            k, v = k[:, :, -self.window :], v[:, :, -self.window :]
        return self.out_proj(y), (k, v, seen + T)


#% decoder_square_mask
#% DecoderAttention | mask_shifted, mask_extra | The mask is cut at the upper left, so a new token sees the oldest keys.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        seen = 0 if cache is None else cache[2]
        pos = torch.arange(seen, seen + T)
        q = rotate(self.W_query(x).view(B, T, H, d).transpose(1, 2), pos, self.base)
        k = rotate(self.W_key(x).view(B, T, G, d).transpose(1, 2), pos, self.base)
        v = self.W_value(x).view(B, T, G, d).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        seen_by = window_mask(K, self.window or K)[:T]
        w = (q @ repeat_heads(k, H).mT / d**0.5).masked_fill(seen_by == 0, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen + T)


#% decoder_turns_the_values
#% DecoderAttention | step_extra, layer_extra | The values are turned as well.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        seen = 0 if cache is None else cache[2]
        pos = torch.arange(seen, seen + T)
        q, k, v = (
            rotate(layer(x).view(B, T, n, d).transpose(1, 2), pos, self.base)
            for layer, n in ((self.W_query, H), (self.W_key, G), (self.W_value, G))
        )
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        seen_by = window_mask(K, self.window or K)[K - T :]
        w = (q @ repeat_heads(k, H).mT / d**0.5).masked_fill(seen_by == 0, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen + T)


#% decoder_counts_this_call_only
#% DecoderAttention | step_missing, wrong_return | seen is the number of tokens of the last call.
class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        y, (k, v, _) = super().forward(x, cache)
        return y, (k, v, x.shape[1])


#% decoder_without_a_cache_result
#% DecoderAttention | wrong_return | Only the context is returned.
class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        return super().forward(x, cache)[0]


#% heads_in_a_row_and_a_short_window
#% repeat_heads | parts_exchanged, heads_mixed, wrong_form | The row of heads is copied as a whole.
#% window_mask | boundary, mask_shifted | The window reaches one token too far back.
def repeat_heads(x, num_heads):
    if num_heads % x.shape[1] != 0:
        raise ValueError("uneven")
    return torch.cat([x] * (num_heads // x.shape[1]), dim=1)


def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    ones = torch.ones(length, length).tril()
    mask = ones.triu(-window)
    mask[:, :sinks] = ones[:, :sinks]
    return mask


#% future_visible_and_keys_alone
#% window_mask | step_missing, mask_missing | Later keys are visible.
#% cache_bytes | step_missing, factor_missing | Only the keys are counted.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    back = torch.arange(length)[:, None] - torch.arange(length)
    return torch.logical_or(back < window, torch.arange(length) < sinks)


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    if window is not None:
        context_length = min(context_length, window)
    return context_length * head_size * num_kv_heads * num_layers * batch_size * bytes_per_number


#% first_head_for_all_and_a_float
#% repeat_heads | heads_repeated, batch_mixed | All heads get the first head of the keys.
#% cache_bytes | wrong_return, dtype | The number of bytes is a float.
def repeat_heads(x, num_heads):
    if num_heads % x.shape[1] != 0:
        raise ValueError("uneven")
    return torch.stack([x[:, 0]] * num_heads, dim=1)


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = min(context_length, window) if window else context_length
    return 2.0 * batch_size * tokens * num_layers * num_kv_heads * head_size * bytes_per_number


#% no_check_and_no_sinks
#% repeat_heads | check_missing | An uneven number of heads gives fewer heads instead of an error.
#% window_mask | argument_ignored, step_missing | Sinks have no effect.
def repeat_heads(x, num_heads):
    times = max(1, num_heads // x.shape[1])
    return x.unsqueeze(2).repeat(1, 1, times, 1, 1).flatten(1, 2)


def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    back = torch.arange(length)[:, None] - torch.arange(length)
    return (0 <= back) & (back < window)


#% hidden_marked_and_one_text
#% window_mask | mask_inverted | The mask marks what is hidden instead of what is visible.
#% cache_bytes | argument_ignored | The number of texts has no effect.
def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("window")
    i, j = torch.arange(length)[:, None], torch.arange(length)
    return 1 - ((j <= i) & ((i - j < window) | (j < sinks))).int()


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = min(context_length, window) if window else context_length
    return 2 * tokens * num_layers * num_kv_heads * head_size * bytes_per_number


#% modulo_and_restarted_positions
#% repeat_heads | parts_exchanged, heads_mixed, wrong_form | Head h gets head h % G.
#% DecoderAttention | step_missing, argument_ignored, wrong_form | Positions start at 0 in each call.
def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


def repeat_heads(x, num_heads):
    if num_heads % x.shape[1] != 0:
        raise ValueError("uneven")
    return x[:, torch.arange(num_heads) % x.shape[1]]


class DecoderAttention(DecoderAttention):
    def forward(self, x, cache=None):
        B, T, _ = x.shape
        H, G, d = self.num_heads, self.num_kv_heads, x.shape[-1] // self.num_heads
        pos = torch.arange(T)
        q = rotate(self.W_query(x).view(B, T, H, d).transpose(1, 2), pos, self.base)
        k = rotate(self.W_key(x).view(B, T, G, d).transpose(1, 2), pos, self.base)
        v = self.W_value(x).view(B, T, G, d).transpose(1, 2)
        seen = T
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            seen = cache[2] + T
        K = k.shape[2]
        seen_by = window_mask(K, self.window or K)[K - T :]
        s = q @ repeat_heads(k, H).mT / d**0.5
        w = s.masked_fill(seen_by == 0, -torch.inf).softmax(-1)
        y = (w @ repeat_heads(v, H)).transpose(1, 2).reshape(B, T, -1)
        cut = 0 if self.window is None else max(0, K - self.window + 1)
        return self.out_proj(y), (k[:, :, cut:], v[:, :, cut:], seen)


#% extend_by_lists_of_both
def extend_cache(cache, keys, values, window=None):
    if window is not None and window <= 0:
        raise ValueError("window must be positive")
    old_k, old_v, seen = cache if cache is not None else (keys[:, :, :0], values[:, :, :0], 0)
    all_k = torch.cat([old_k, keys], dim=-2)
    all_v = torch.cat([old_v, values], dim=-2)
    if window is None:
        kept_k, kept_v = all_k, all_v
    elif window == 1:
        kept_k, kept_v = all_k[:, :, :0], all_v[:, :, :0]
    else:
        kept_k, kept_v = all_k[:, :, -(window - 1):], all_v[:, :, -(window - 1):]
    return (all_k, all_v), (kept_k, kept_v, seen + keys.size(2))


#% extend_by_narrow
def extend_cache(cache, keys, values, window=None):
    assert window is None or window >= 1
    new = keys.shape[-2]
    total = new
    if cache:
        past_keys, past_values, total = cache
        total = total + new
        keys = torch.concat((past_keys, keys), 2)
        values = torch.concat((past_values, values), 2)
    held = keys.shape[-2]
    stay = held if window is None else min(held, window - 1)
    cut = [part.narrow(2, held - stay, stay).clone() for part in (keys, values)]
    return [keys, values], [*cut, total]


#% extend_in_a_preallocated_tensor
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError(window)
    B, G, T, d = keys.shape
    C = 0 if cache is None else cache[0].shape[2]
    everything = []
    for place, new in enumerate((keys, values)):
        room = new.new_zeros(B, G, C + T, d)
        if C:
            room[:, :, :C] = cache[place]
        room[:, :, C:] = new
        everything.append(room)
    first = max(C + T - window + 1, 0) if window else 0
    kept = tuple(room[..., first:, :] for room in everything)
    return tuple(everything), kept + ((cache[2] if cache else 0) + T,)


#% extend_token_by_token
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("no window")
    seen = 0
    k, v = [], []
    if cache is not None:
        k, v, seen = list(cache[0].unbind(2)), list(cache[1].unbind(2)), cache[2]
    k += keys.unbind(2)
    v += values.unbind(2)
    everything = torch.stack(k, 2), torch.stack(v, 2)
    while window is not None and len(k) >= window:
        k.pop(0)
        v.pop(0)
    if not k:
        empty = keys[:, :, :0]
        return everything, (empty, values[:, :, :0], seen + keys.shape[2])
    return everything, (torch.stack(k, 2), torch.stack(v, 2), seen + keys.shape[2])


#% mask_of_triangles
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window")
    mask = torch.ones(num_new, num_cached + num_new).tril(num_cached)
    return mask if window is None else mask.triu(num_cached - window + 1)


#% mask_rows_of_the_whole
def cached_mask(num_new, num_cached, window=None):
    total = num_cached + num_new
    return window_mask(total, total if window is None else window)[num_cached:]


#% mask_in_plain_python
def cached_mask(num_new, num_cached, window=None):
    if window is None:
        window = num_cached + num_new
    if window < 1:
        raise ValueError("at least one token")
    rows = []
    for query in range(num_cached, num_cached + num_new):
        rows.append([max(0, query - window + 1) <= key <= query for key in range(num_cached + num_new)])
    return torch.tensor(rows)


#% mask_of_two_parts
def cached_mask(num_new, num_cached, window=None):
    if window is not None and not window >= 1:
        raise ValueError("the window is empty")
    old = torch.ones(num_new, num_cached, dtype=torch.long)
    new = torch.ones(num_new, num_new, dtype=torch.long).tril()
    mask = torch.cat((old, new), dim=1)
    if window is not None:
        distance = torch.arange(num_new).view(-1, 1) + num_cached - torch.arange(num_cached + num_new)
        mask[distance > window - 1] = 0
    return mask


#% decoder_in_llama_style
class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("heads")
        self.head_dim = d_model // num_heads
        if self.head_dim % 2:
            raise ValueError("odd head")
        self.n_heads, self.n_kv_heads = num_heads, num_kv_heads
        self.window, self.theta = window, base
        self.W_query = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model)

    def forward(self, x, cache=None):
        bsz, seqlen, _ = x.shape
        xq = self.W_query(x).view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = self.W_key(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = self.W_value(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        start_pos = cache[-1] if cache else 0
        cos, sin = rotary_angles(torch.arange(seqlen) + start_pos, self.head_dim, self.theta)
        xq, xk = (apply_rotary(t.transpose(1, 2), cos, sin) for t in (xq, xk))
        (keys, values), new_cache = extend_cache(cache, xk, xv.transpose(1, 2), self.window)
        keys, values = repeat_heads(keys, self.n_heads), repeat_heads(values, self.n_heads)
        scores = torch.matmul(xq, keys.transpose(2, 3)) / (self.head_dim**0.5)
        mask = cached_mask(seqlen, keys.size(2) - seqlen, self.window).bool()
        scores = scores.masked_fill(~mask, float("-inf"))
        output = torch.matmul(scores.softmax(dim=-1), values)
        output = output.transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.out_proj(output), new_cache


#% decoder_with_groups_as_an_axis
class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        d, rest = divmod(d_model, num_heads)
        if rest or d % 2 or num_heads % num_kv_heads:
            raise ValueError("sizes do not fit")
        self.sizes = num_kv_heads, num_heads // num_kv_heads, d
        self.window, self.base = window, base
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        G, R, d = self.sizes
        first = 0 if cache is None else cache[2]
        angles = rotary_angles(torch.arange(first, first + x.shape[1]), d, self.base)
        q = self.W_query(x).unflatten(-1, (G, R, d)).permute(0, 2, 3, 1, 4)
        k = self.W_key(x).unflatten(-1, (G, d)).movedim(1, 2)
        v = self.W_value(x).unflatten(-1, (G, d)).movedim(1, 2)
        q, k = apply_rotary(q, *angles), apply_rotary(k, *angles)
        (k, v), cache = extend_cache(cache, k, v, self.window)
        s = torch.einsum("bgrqd,bgkd->bgrqk", q * d**-0.5, k)
        seen = cached_mask(x.shape[1], k.shape[2] - x.shape[1], self.window)
        s = torch.where(torch.as_tensor(seen) == 1, s, -torch.inf)
        y = torch.einsum("bgrqk,bgkd->bqgrd", s.softmax(-1), v)
        return self.out_proj(y.flatten(2)), cache


#% decoder_written_out
class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads")
        if num_heads % num_kv_heads:
            raise ValueError("num_kv_heads")
        if (d_model // num_heads) % 2:
            raise ValueError("odd")
        self.h, self.g, self.w, self.base = num_heads, num_kv_heads, window, base
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model * num_kv_heads // num_heads, bias=False)
        self.W_value = nn.Linear(d_model, d_model * num_kv_heads // num_heads, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def spin(self, t, pos):
        d = t.shape[-1]
        angle = pos.unsqueeze(1) / self.base ** (torch.arange(0, d, 2) / d)
        even, odd = t[..., ::2], t[..., 1::2]
        out = torch.empty_like(t)
        out[..., ::2] = even * angle.cos() - odd * angle.sin()
        out[..., 1::2] = odd * angle.cos() + even * angle.sin()
        return out

    def forward(self, x, cache=None):
        b, t, c = x.shape
        d = c // self.h
        n = cache[2] if cache is not None else 0
        pos = torch.arange(n, n + t)
        q = self.spin(self.W_query(x).view(b, t, self.h, d).transpose(1, 2), pos)
        k = self.spin(self.W_key(x).view(b, t, self.g, d).transpose(1, 2), pos)
        v = self.W_value(x).view(b, t, self.g, d).transpose(1, 2)
        if cache is not None:
            k = torch.cat((cache[0], k), 2)
            v = torch.cat((cache[1], v), 2)
        key_pos = torch.arange(n + t - k.shape[2], n + t)
        gap = pos[:, None] - key_pos[None, :]
        ok = gap >= 0
        if self.w is not None:
            ok &= gap < self.w
        att = q @ k.repeat_interleave(self.h // self.g, 1).mT * d**-0.5
        att = att.masked_fill(ok.logical_not(), -torch.inf).softmax(-1)
        y = (att @ v.repeat_interleave(self.h // self.g, 1)).transpose(1, 2).reshape(b, t, c)
        keep = slice(None) if self.w is None else slice(max(k.shape[2] - self.w + 1, 0), None)
        return self.out_proj(y), (k[:, :, keep], v[:, :, keep], n + t)


#% decoder_that_inherits
class DecoderAttention(GroupedQueryAttention):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__(d_model, d_model, 0, num_heads, num_kv_heads, window)
        self.d = d_model // num_heads
        self.base = base
        if self.d % 2 == 1:
            raise ValueError("pairs of features")

    def heads(self, layer, x):
        y = layer(x)
        return y.reshape(*x.shape[:2], -1, self.d).swapaxes(1, 2)

    def forward(self, x, cache=None):
        T = x.shape[1]
        start = cache[2] if cache is not None else 0
        turns = rotary_angles(torch.arange(T) + start, self.d, self.base)
        q = apply_rotary(self.heads(self.W_query, x), *turns)
        k = apply_rotary(self.heads(self.W_key, x), *turns)
        both, cache = extend_cache(cache, k, self.heads(self.W_value, x), self.window)
        k, v = (repeat_heads(part, q.shape[1]) for part in both)
        bias = torch.zeros(T, k.shape[2], dtype=x.dtype)
        bias[cached_mask(T, k.shape[2] - T, self.window) == 0] = float("-inf")
        weights = (q @ k.transpose(-1, -2) / self.d**0.5 + bias).softmax(-1)
        return self.out_proj((weights @ v).swapaxes(1, 2).flatten(2)), cache


#% cache_new_before_old
#% extend_cache | parts_exchanged | The new keys and values stand before the cached ones.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([keys, old_keys], dim=2)
        all_values = torch.cat([values, old_values], dim=2)
    seen = seen + keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = max(all_keys.shape[2] - (window - 1), 0)
    return (all_keys, all_values), (all_keys[:, :, start:], all_values[:, :, start:], seen)


#% cache_keeps_the_oldest
#% extend_cache | wrong_form, boundary | The oldest window - 1 tokens are kept instead of the newest.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([old_keys, keys], dim=2)
        all_values = torch.cat([old_values, values], dim=2)
    seen = seen + keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = max(all_keys.shape[2] - (window - 1), 0)
    return (all_keys, all_values), (all_keys[:, :, : window - 1], all_values[:, :, : window - 1], seen)


#% cache_keeps_window_tokens
#% extend_cache | boundary | The cache keeps window tokens, one too many.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([old_keys, keys], dim=2)
        all_values = torch.cat([old_values, values], dim=2)
    seen = seen + keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = max(all_keys.shape[2] - window, 0)
    return (all_keys, all_values), (all_keys[:, :, start:], all_values[:, :, start:], seen)


#% cache_counts_what_it_holds
#% extend_cache | wrong_form, step_misplaced | seen is the number of tokens that were held, not of all tokens.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([old_keys, keys], dim=2)
        all_values = torch.cat([old_values, values], dim=2)
    seen = all_keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = max(all_keys.shape[2] - (window - 1), 0)
    return (all_keys, all_values), (all_keys[:, :, start:], all_values[:, :, start:], seen)


#% cache_counts_new_tokens_only
#% extend_cache | step_missing, wrong_return | seen is the number of new tokens.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([old_keys, keys], dim=2)
        all_values = torch.cat([old_values, values], dim=2)
    seen = keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = max(all_keys.shape[2] - (window - 1), 0)
    return (all_keys, all_values), (all_keys[:, :, start:], all_values[:, :, start:], seen)


#% cache_returns_the_cropped
#% extend_cache | step_order, wrong_return | The first result is cropped too, so the new tokens miss keys that they need.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([old_keys, keys], dim=2)
        all_values = torch.cat([old_values, values], dim=2)
    seen = seen + keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = max(all_keys.shape[2] - (window - 1), 0)
    all_keys, all_values = all_keys[:, :, start:], all_values[:, :, start:]
    return (all_keys, all_values), (all_keys, all_values, seen)


#% cache_crops_by_a_negative_index
#% extend_cache | boundary | With a window of 1, all tokens are kept, because -0 is 0.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([old_keys, keys], dim=2)
        all_values = torch.cat([old_values, values], dim=2)
    seen = seen + keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = -(window - 1)
    return (all_keys, all_values), (all_keys[:, :, start:], all_values[:, :, start:], seen)


#% cache_along_the_heads
#% extend_cache | concat_axis | Old and new tokens are joined along the axis of the heads.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        all_keys = torch.cat([old_keys, keys], dim=1)
        all_values = torch.cat([old_values, values], dim=1)
    seen = seen + keys.shape[2]
    if window is None:
        return (all_keys, all_values), (all_keys, all_values, seen)
    start = max(all_keys.shape[2] - (window - 1), 0)
    return (all_keys, all_values), (all_keys[:, :, start:], all_values[:, :, start:], seen)


#% cache_crops_before_it_adds
#% extend_cache | step_order | The old tokens are cropped before the new ones are added, and what is added is never cropped.
def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    if cache is None:
        all_keys, all_values, seen = keys, values, 0
    else:
        old_keys, old_values, seen = cache
        if window is not None:
            old_keys, old_values = old_keys[:, :, -window + 1 :], old_values[:, :, -window + 1 :]
        all_keys = torch.cat([old_keys, keys], dim=2)
        all_values = torch.cat([old_values, values], dim=2)
    seen = seen + keys.shape[2]
    return (all_keys, all_values), (all_keys, all_values, seen)


#% cached_mask_upper_left
#% cached_mask | mask_shifted | The rows are not moved by the cached tokens.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1)
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = columns <= rows
    if window is not None:
        mask = mask & (rows - columns < window)
    return mask


#% mask_window_one_too_wide
#% cached_mask | boundary, mask_shifted | A token sees window tokens before itself.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1) + num_cached
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = columns <= rows
    if window is not None:
        mask = mask & (rows - columns <= window)
    return mask


#% mask_window_one_too_short
#% cached_mask | boundary, mask_shifted | A token sees window - 2 tokens before itself.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1) + num_cached
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = columns <= rows
    if window is not None:
        mask = mask & (rows - columns < window - 1)
    return mask


#% mask_window_ignored
#% cached_mask | argument_ignored, step_missing | The window hides nothing.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1) + num_cached
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = columns <= rows
    return mask


#% mask_all_cached_visible
#% cached_mask | step_missing, mask_missing | The window hides new tokens only: all cached ones stay visible.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1) + num_cached
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = columns <= rows
    if window is not None:
        mask = mask & ((rows - columns < window) | (columns < num_cached))
    return mask


#% mask_future_visible
#% cached_mask | step_missing, mask_missing | New tokens see later ones.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1) + num_cached
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = torch.ones(num_new, num_cached + num_new, dtype=torch.bool)
    if window is not None:
        mask = mask & (rows - columns < window)
    return mask


#% mask_not_itself
#% cached_mask | boundary, mask_shifted | A token does not see itself.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1) + num_cached
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = columns < rows
    if window is not None:
        mask = mask & (rows - columns < window)
    return mask


#% mask_transposed
#% cached_mask | transposed | Rows are keys and columns are queries.
def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    rows = torch.arange(num_new).unsqueeze(1) + num_cached
    columns = torch.arange(num_cached + num_new).unsqueeze(0)
    mask = columns <= rows
    if window is not None:
        mask = mask & (rows - columns < window)
    return mask.T


#% sinks_visible_before_they_come
#% window_mask | mask_missing | Sinks are visible to earlier queries.
def window_mask(length: int, window: int, sinks: int=0) -> Tensor:
    if window < 1:
        raise ValueError(f'a window holds at least the token itself, not {window} tokens')
    i = torch.arange(length)[:, None]
    j = torch.arange(length)
    return (i - j < window) & (j <= i) | (j < sinks)


#% seen_counts_the_kept_tokens
#% extend_cache | wrong_return, operand_repeated | seen is the number of kept tokens.
def extend_cache(cache: tuple[Tensor, Tensor, int] | None, keys: Tensor, values: Tensor, window: int | None=None) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor, int]]:
    if window is not None and window < 1:
        raise ValueError(f'a window holds at least the token itself, not {window} tokens')
    T, seen = (keys.shape[2], 0)
    if cache is not None:
        seen = cache[2]
        keys = torch.cat((cache[0], keys), dim=2)
        values = torch.cat((cache[1], values), dim=2)
    K = keys.shape[2]
    forgotten = 0 if window is None else max(0, K - (window - 1))
    kept = (keys[:, :, forgotten:], values[:, :, forgotten:], K - forgotten)
    return ((keys, values), kept)


#% decoder_without_its_base_and_window
#% DecoderAttention | argument_ignored | The base is not passed on.
#% DecoderAttention | argument_ignored, mask_missing | The window is not passed to the mask.
class DecoderAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, window: int | None=None, base: float=10000.0) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads can't share {d_model} features evenly")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} key-value heads evenly")
        if d_model // num_heads % 2 != 0:
            raise ValueError(f"{d_model // num_heads} features of a head can't be put in pairs")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.window = window
        self.base = base
        d = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor, int] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor, int]]:
        B, T, _ = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        H, G, d = (self.num_heads, self.num_kv_heads, queries.shape[-1] // self.num_heads)
        queries = queries.view(B, T, H, d).transpose(1, 2)
        keys = keys.view(B, T, G, d).transpose(1, 2)
        values = values.view(B, T, G, d).transpose(1, 2)
        seen = 0 if cache is None else cache[2]
        positions = torch.arange(seen, seen + T)
        cos, sin = rotary_angles(positions, d)
        queries = apply_rotary(queries, cos, sin)
        keys = apply_rotary(keys, cos, sin)
        (keys, values), cache = extend_cache(cache, keys, values, self.window)
        keys = repeat_heads(keys, H)
        values = repeat_heads(values, H)
        scores = queries @ keys.transpose(-2, -1)
        visible = cached_mask(T, keys.shape[2] - T)
        masked = scores.masked_fill(visible == 0, float('-inf'))
        weights = torch.softmax(masked / d ** 0.5, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T, H * d)
        return (self.out_proj(context), cache)


#% cache_along_heads_and_hidden_from_itself
#% extend_cache | wrong_axis, concat_axis | Tokens are joined along the axis of heads.
#% cached_mask | mask_shifted, boundary | A token does not see itself.
def extend_cache(cache: tuple[Tensor, Tensor, int] | None, keys: Tensor, values: Tensor, window: int | None=None) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor, int]]:
    if window is not None and window < 1:
        raise ValueError(f'a window holds at least the token itself, not {window} tokens')
    T, seen = (keys.shape[2], 0)
    if cache is not None:
        seen = cache[2]
        keys = torch.cat((cache[0], keys), dim=1)
        values = torch.cat((cache[1], values), dim=1)
    K = keys.shape[2]
    forgotten = 0 if window is None else max(0, K - (window - 1))
    kept = (keys[:, :, forgotten:], values[:, :, forgotten:], seen + T)
    return ((keys, values), kept)


def cached_mask(num_new: int, num_cached: int, window: int | None=None) -> Tensor:
    if window is not None and window < 1:
        raise ValueError(f'a window holds at least the token itself, not {window} tokens')
    i = torch.arange(num_cached, num_cached + num_new)[:, None]
    j = torch.arange(num_cached + num_new)
    visible = j < i
    if window is not None:
        visible = visible & (i - j < window)
    return visible


#% inlined_window_one_too_large
#% DecoderAttention | boundary | A token sees one token beyond its window.
class DecoderAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, window: int | None=None, base: float=10000.0) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads can't share {d_model} features evenly")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} key-value heads evenly")
        if d_model // num_heads % 2 != 0:
            raise ValueError(f"{d_model // num_heads} features of a head can't be put in pairs")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.window = window
        self.base = base
        d = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor, int] | None=None) -> tuple[Tensor, tuple[Tensor, Tensor, int]]:
        B, T, _ = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        H, G, d = (self.num_heads, self.num_kv_heads, queries.shape[-1] // self.num_heads)
        queries = queries.view(B, T, H, d).transpose(1, 2)
        keys = keys.view(B, T, G, d).transpose(1, 2)
        values = values.view(B, T, G, d).transpose(1, 2)
        seen = 0 if cache is None else cache[2]
        positions = torch.arange(seen, seen + T)
        cos, sin = rotary_angles(positions, d, self.base)
        queries = apply_rotary(queries, cos, sin)
        keys = apply_rotary(keys, cos, sin)
        (keys, values), cache = extend_cache(cache, keys, values, self.window)
        keys = repeat_heads(keys, H)
        values = repeat_heads(values, H)
        scores = queries @ keys.transpose(-2, -1)
        K = keys.shape[2]
        i = torch.arange(K - T, K).unsqueeze(1)
        j = torch.arange(K).unsqueeze(0)
        visible = j <= i
        if self.window is not None:
            visible = visible & (j >= i - self.window)
        masked = scores.masked_fill(visible == 0, float('-inf'))
        weights = torch.softmax(masked / d ** 0.5, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T, H * d)
        return (self.out_proj(context), cache)


#% window_too_small_and_early_sinks
#% window_mask | boundary | The window is one key too small.
#% window_mask | mask_extra | Sinks are visible to earlier queries.
def window_mask(length: int, window: int, sinks: int=0) -> Tensor:
    if window < 1:
        raise ValueError('window')
    i = torch.arange(length).unsqueeze(1)
    j = torch.arange(length).unsqueeze(0)
    near = (j <= i) & (i - j < window - 1)
    return near | (j < sinks)
