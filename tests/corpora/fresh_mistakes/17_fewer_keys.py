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
