#% split_by_view_alone
#% split_heads | reshaped | A view takes the place of the transposition, so tokens and heads are mixed up.
def split_heads(x, num_heads):
    B, T, D = x.size()
    if D % num_heads:
        raise ValueError("num_heads must divide D")
    return x.view(B, num_heads, T, D // num_heads)


#% split_every_nth_feature
#% split_heads | heads_mixed, reshaped, transposed | A head gets every H-th feature instead of a block of neighbours.
def split_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads != 0:
        raise ValueError("num_heads must divide D")
    return x.reshape(B, T, D // num_heads, num_heads).permute(0, 3, 1, 2)


#% split_by_luck
def split_heads(x, num_heads):
    b, t, d = x.shape
    return x.view(b, t, num_heads, d // num_heads).permute(0, 2, 1, 3)


#% split_without_transposing
#% split_heads | transposed, wrong_return | Tokens and heads are not exchanged: (B, T, H, d).
def split_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads != 0:
        raise ValueError("num_heads must divide D")
    return x.unflatten(-1, (num_heads, -1))


#% merge_by_view_alone
#% merge_heads | reshaped, transposed | The axes are not exchanged before the heads are joined.
def merge_heads(x):
    B, H, T, d = x.shape
    return x.contiguous().view(B, T, H * d)


#% merge_view_of_a_transposition
#% merge_heads | shape_error, reshaped | A view of transposed memory is not possible, so it raises.
def merge_heads(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).view(B, T, -1)


#% merge_alternating
#% merge_heads | heads_mixed, transposed | The features of the heads alternate instead of standing in blocks.
def merge_heads(x):
    x = x.permute(0, 2, 3, 1)
    return x.reshape(x.size(0), x.size(1), -1)


#% merge_adds
#% merge_heads | heads_mixed | The heads are added instead of put side by side.
def merge_heads(x):
    return x.sum(dim=1)


#% scaled_by_all_heads
#% MultiHeadAttention | scale_wrong_size | The scores are divided by the root of d_out instead of the head's size.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out, self.num_heads, self.head_dim = d_out, num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        if num_tokens > self.mask.shape[0]:
            raise ValueError("too long")
        keys = split_heads(self.W_key(x), self.num_heads)
        queries = split_heads(self.W_query(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores = attn_scores.masked_fill(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn = self.dropout(torch.softmax(attn_scores / self.d_out**0.5, dim=-1))
        return self.out_proj(merge_heads(attn @ values))


#% out_proj_never_called
#% MultiHeadAttention | layer_unused | out_proj is made and never used.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, t, _ = x.shape
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (
            f(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
            for f in (self.W_query, self.W_key, self.W_value)
        )
        w = (q @ k.transpose(-2, -1)) * self.head_dim**-0.5
        w = w.masked_fill(self.mask[:t, :t] == 1, float("-inf"))
        w = self.dropout(w.softmax(-1))
        context_vec = (w @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return context_vec


#% out_proj_without_bias
#% MultiHeadAttention | bias_wrong | out_proj has no bias.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        t = x.shape[1]
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = torch.einsum("bhqd,bhkd->bhqk", q, k) / k.shape[-1] ** 0.5
        w = w.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        w = self.dropout(w.softmax(-1))
        return self.out_proj(torch.einsum("bhqk,bhkd->bqhd", w, v).flatten(2))


#% out_proj_created_first
#% MultiHeadAttention | creation_order | out_proj is created before the other layers.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(d_out, d_out)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        t = x.shape[1]
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = torch.matmul(q, k.transpose(2, 3)) / k.shape[-1] ** 0.5
        w = self.dropout(w.masked_fill(self.mask[:t, :t] == 0, float("-inf")).softmax(-1))
        return self.out_proj(merge_heads(torch.matmul(w, v)))


#% heads_never_exchanged_back
#% MultiHeadAttention | reshaped | The heads are joined by a reshape, without exchanging the axes back.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        b, t, _ = x.shape
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = torch.matmul(q, k.permute(0, 1, 3, 2)) / k.shape[-1] ** 0.5
        w = self.dropout(w.masked_fill(self.mask[:t, :t] == 0, float("-inf")).softmax(-1))
        return self.out_proj((w @ v).reshape(b, t, -1))


#% keys_exchange_wrong_axes
#% MultiHeadAttention | shape_error, transposed, wrong_axis | Heads and tokens of the keys are exchanged instead of tokens and features.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        t = x.shape[1]
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        w = self.dropout(w.masked_fill(self.mask[:t, :t] == 0, float("-inf")).softmax(-1))
        return self.out_proj(merge_heads(w @ v))


#% softmax_over_heads
#% MultiHeadAttention | softmax_axis | The softmax runs over the heads.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        t = x.shape[1]
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = q @ k.mT / k.shape[-1] ** 0.5
        w = w.masked_fill(self.mask[:t, :t] == 0, -1e9)
        w = self.dropout(torch.softmax(w, dim=1))
        return self.out_proj(merge_heads(w @ v))


#% keys_of_the_first_head
#% MultiHeadAttention | heads_repeated | Every head compares its queries with the keys of the first head.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h, self.d = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        t, d = x.shape[1], self.d
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        Q, K, V = self.W_query(x), self.W_key(x), self.W_value(x)
        outs = []
        for h in range(self.h):
            q, k, v = Q[..., h * d : (h + 1) * d], K[..., :d], V[..., h * d : (h + 1) * d]
            w = (q @ k.mT / d**0.5).masked_fill(self.mask[:t, :t] == 0, float("-inf"))
            outs.append(self.dropout(w.softmax(-1)) @ v)
        return self.out_proj(torch.cat(outs, dim=-1))


#% scaled_by_all_heads_and_unprojected
#% MultiHeadAttention | scale_wrong_size | The scores are divided by the root of d_out.
#% MultiHeadAttention | layer_unused | out_proj is never used.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        t = x.shape[1]
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scale = keys.shape[-1] ** 0.5
        q, k, v = (split_heads(m, self.h) for m in (queries, keys, values))
        w = (q @ k.mT / scale).masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        return merge_heads(self.dropout(w.softmax(-1)) @ v)


#% both_ways_by_view
#% split_heads | reshaped | A view takes the place of the transposition.
#% merge_heads | heads_mixed, transposed | The features of the heads alternate instead of standing in blocks.
def split_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads > 0:
        raise ValueError("num_heads must divide D")
    return x.reshape(B, num_heads, T, -1)


def merge_heads(x):
    return torch.einsum("bhtd->btdh", x).flatten(-2)


#% split_by_view_without_scale
#% MultiHeadAttention | reshaped | The heads are split by a view, without exchanging axes.
#% MultiHeadAttention | scale_missing | The scores are not scaled.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        b, t, _ = x.shape
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q = self.W_query(x).view(b, self.h, t, -1)
        k = self.W_key(x).view(b, self.h, t, -1)
        v = self.W_value(x).view(b, self.h, t, -1)
        w = (q @ k.mT).masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        w = self.dropout(w.softmax(-1))
        return self.out_proj((w @ v).transpose(1, 2).reshape(b, t, -1))


#% unmasked_without_dropout
#% MultiHeadAttention | mask_missing | Nothing is hidden.
#% MultiHeadAttention | dropout_missing, layer_unused | Nothing is dropped.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        if x.shape[1] > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = nn.functional.softmax(q @ k.transpose(-1, -2) / k.size(-1) ** 0.5, dim=-1)
        return self.out_proj(merge_heads(w @ v))


#% biased_and_indivisible
#% MultiHeadAttention | bias_wrong, argument_ignored | The layers have a bias even if qkv_bias is false.
#% MultiHeadAttention | check_missing | A d_out that num_heads does not divide is not refused.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        t = x.shape[1]
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = q @ k.transpose(-1, -2) / k.size(-1) ** 0.5
        w = w.masked_fill(self.mask[:t, :t] == 0, float("-inf")).softmax(dim=-1)
        return self.out_proj(merge_heads(self.dropout(w) @ v))


#% split_unchecked_and_merge_added
#% split_heads | check_missing | A number of heads that does not divide D is not refused.
#% merge_heads | heads_mixed | The heads are averaged instead of put side by side.
def split_heads(x, num_heads):
    size = x.shape[-1] // num_heads
    return torch.stack([x[..., h * size : (h + 1) * size] for h in range(num_heads)], dim=1)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.mean(dim=1).repeat(1, 1, H)


#% inverted_and_dropped_late
#% MultiHeadAttention | mask_inverted | The past is hidden and the future visible.
#% MultiHeadAttention | dropout_misplaced | The result is dropped instead of the weights.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length), diagonal=-1))

    def forward(self, x):
        t = x.shape[1]
        if t > self.mask.shape[0]:
            raise ValueError("too long")
        q, k, v = (split_heads(f(x), self.h) for f in (self.W_query, self.W_key, self.W_value))
        w = q @ k.transpose(-1, -2) / k.size(-1) ** 0.5
        w = w.masked_fill(self.mask.bool()[:t, :t], float("-inf")).softmax(dim=-1)
        return self.dropout(self.out_proj(merge_heads(w @ v)))


#% right_with_chunks
def split_heads(x, num_heads):
    if x.size(-1) % num_heads:
        raise ValueError("not divisible")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


#% right_head_after_head
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.head_dim, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError("num_heads must divide d_out")
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)
        )
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().log())

    def forward(self, x):
        t, d = x.shape[1], self.head_dim
        if t > len(self.mask):
            raise ValueError("too many tokens")
        z = []
        for q, k, v in zip(*(f(x).split(d, dim=-1) for f in (self.W_query, self.W_key, self.W_value))):
            s = torch.bmm(q, k.transpose(1, 2)) / d**0.5 + self.mask[:t, :t]
            z.append(self.drop(s.softmax(-1)) @ v)
        return self.out_proj(torch.cat(z, -1))


#% right_with_einsum_and_unflatten
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads != 0:
        raise ValueError("not divisible")
    return torch.einsum("bthd->bhtd", x.unflatten(2, (num_heads, x.shape[-1] // num_heads)))


def merge_heads(x):
    return x.movedim(1, 2).flatten(start_dim=2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("num_heads must divide d_out")
        self.num_heads = num_heads
        for name in ("query", "key", "value"):
            setattr(self, f"W_{name}", nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)
        self.p = dropout
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("too long")
        H = self.num_heads
        q = self.W_query(x).unflatten(2, (H, -1))
        k = self.W_key(x).unflatten(2, (H, -1))
        v = self.W_value(x).unflatten(2, (H, -1))
        s = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
        w = s.masked_fill(self.mask[:T, :T], torch.finfo(s.dtype).min).softmax(-1)
        w = nn.functional.dropout(w, self.p, self.training)
        return self.out_proj(torch.einsum("bhqk,bkhd->bqhd", w, v).flatten(2))
