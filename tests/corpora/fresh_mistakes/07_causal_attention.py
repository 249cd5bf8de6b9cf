#% renormalise_forgotten
#% mask_then_renormalize | wrong_divisor, mask_after_softmax | The rows are not divided by their remaining sum.
def mask_then_renormalize(weights):
    T = weights.shape[0]
    simple_mask = torch.tril(torch.ones(T, T))
    return weights * simple_mask


#% renormalise_columns
#% mask_then_renormalize | wrong_divisor, wrong_axis | The columns are divided by their sums instead of the rows.
def mask_then_renormalize(weights):
    kept = weights.tril()
    col = kept.sum(0)
    return kept / col


#% renormalise_with_softmax
#% mask_then_renormalize | softmax_twice, wrong_divisor | The masked weights go through a second softmax, so hidden tokens count again.
def mask_then_renormalize(weights):
    n = len(weights)
    keep = torch.ones(n, n).tril()
    return nn.functional.softmax(weights * keep, dim=1)


#% renormalise_in_place
#% mask_then_renormalize | in_place | The caller's weights are overwritten.
def mask_then_renormalize(weights):
    for i in range(1):
        weights *= torch.tril(torch.ones_like(weights))
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights


#% infinity_scaled_by_tokens
#% mask_with_infinity | scale_wrong_size, argument_ignored | The scores are divided by the root of the number of tokens.
def mask_with_infinity(scores, d_k):
    T = scores.size(0)
    mask = torch.triu(torch.ones(T, T), diagonal=1)
    masked = scores.masked_fill(mask.bool(), -torch.inf)
    return torch.softmax(masked / masked.shape[-1] ** 0.5, dim=-1)


#% infinity_hides_the_diagonal
#% mask_with_infinity | mask_shifted, boundary | A token does not see itself, and the first one sees nothing.
def mask_with_infinity(scores, d_k):
    mask = torch.triu(torch.ones_like(scores))
    out = scores.masked_fill(mask.bool(), -torch.inf)
    return torch.softmax(out / d_k**0.5, dim=-1)


#% infinity_is_one_thousandth
#% mask_with_infinity | mask_fill | Hidden scores become tiny positive numbers instead of minus infinity.
def mask_with_infinity(scores, d_k):
    T = scores.shape[-1]
    later = torch.arange(T)[None] > torch.arange(T)[:, None]
    s = torch.where(later, torch.full_like(scores, 1e-9), scores)
    return (s / d_k**0.5).softmax(dim=-1)


#% infinity_plus_upper_product
#% mask_with_infinity | mask_fill | Minus infinity is multiplied with zeros, so every row is NaN.
def mask_with_infinity(scores, d_k):
    m = torch.triu(torch.ones_like(scores), diagonal=1)
    s = scores + m * float("-inf")
    return torch.softmax(s / d_k**0.5, dim=-1)


#% causal_dropout_always_on
#% CausalAttention | dropout_always | Weights are dropped in eval mode too.
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.p = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        b, num_tokens, _ = x.shape
        if num_tokens > self.mask.shape[0]:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = torch.bmm(q, k.transpose(1, 2)) / k.size(-1) ** 0.5
        att = att.masked_fill(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        att = F.dropout(F.softmax(att, dim=-1), self.p)
        return torch.bmm(att, v)


#% causal_dropout_on_the_result
#% CausalAttention | dropout_misplaced | The context vectors are dropped instead of the weights.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = (q @ k.mT) * (1.0 / k.size(-1) ** 0.5)
        att = att.masked_fill(self.mask[:T, :T] == 0, float("-inf")).softmax(dim=-1)
        return self.drop(att @ v)


#% causal_dropout_never_called
#% CausalAttention | dropout_missing, layer_unused | The dropout layer is made and never used.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("context too long")
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        scores = torch.einsum("bqd,bkd->bqk", queries, keys)
        scores = scores.masked_fill(self.mask[:T, :T], -1e9)
        weights = torch.softmax(scores / self.d_out**0.5, dim=-1)
        return torch.einsum("bqk,bkd->bqd", weights, values)


#% causal_mask_is_a_parameter
#% CausalAttention | parameter_kind | The mask is a parameter and no buffer.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = nn.Parameter(
            torch.triu(torch.ones(context_length, context_length), diagonal=1), requires_grad=False
        )

    def forward(self, x):
        T = x.size(1)
        if T > self.mask.size(0):
            raise ValueError("context too long")
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(self.mask.bool()[:T, :T], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return weights @ values


#% causal_mask_never_cut
#% CausalAttention | shape_error | The whole mask is applied, which does not fit shorter sequences.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        if x.shape[1] > self.mask.shape[0]:
            raise ValueError("context too long")
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = torch.where(self.mask == 1, float("-inf"), scores)
        return self.dropout((scores / keys.shape[-1] ** 0.5).softmax(-1)) @ values


#% causal_without_length_check
#% CausalAttention | check_missing | Sequences above context_length are not refused.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.zeros(1))

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        hide = torch.ones(n, n, device=x.device).triu(1).bool()
        s = (q @ k.transpose(1, 2)).masked_fill(hide, -torch.inf)
        return self.dropout(torch.softmax(s / k.shape[-1] ** 0.5, dim=-1)) @ v


#% causal_dropout_before_softmax
#% CausalAttention | dropout_misplaced | The scores are dropped before the softmax, so dropped tokens still count.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = self.dropout(q @ k.transpose(1, 2) / k.shape[-1] ** 0.5)
        s = s.masked_fill(self.mask[:T, :T].bool(), -torch.inf)
        return torch.softmax(s, dim=-1) @ v


#% causal_by_ready_attention
#% CausalAttention | forbidden_function | Torch's ready attention does all the steps.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.p = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.ones(context_length, context_length))

    def forward(self, x):
        if x.shape[1] > len(self.mask):
            raise ValueError("too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        p = self.p if self.training else 0.0
        return nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)


#% causal_unscaled_without_dropout
#% CausalAttention | scale_missing | The scores are not scaled.
#% CausalAttention | dropout_missing, argument_ignored | Nothing is dropped.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)) == 0)

    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = q @ k.transpose(1, 2)
        s[:, self.mask[:T, :T]] = float("-inf")
        return s.softmax(-1) @ v


#% causal_shifted_and_biased
#% CausalAttention | mask_shifted | Each token also sees the one after it.
#% CausalAttention | argument_ignored, bias_wrong | qkv_bias is not handed on to the values' layer.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=2))

    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.shape[0]:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = torch.matmul(q, k.permute(0, 2, 1)) / k.shape[-1] ** 0.5
        s = s.masked_fill(self.mask[:T, :T] > 0, -torch.inf)
        return torch.matmul(self.dropout(s.softmax(dim=-1)), v)


#% infinity_unscaled_over_queries
#% mask_with_infinity | scale_missing, argument_ignored | The scores are not scaled.
#% mask_with_infinity | softmax_axis | The softmax runs over the queries.
def mask_with_infinity(scores, d_k):
    neg = torch.full_like(scores, float("-inf")).triu(1)
    return nn.Softmax(dim=0)(scores + neg)


#% infinity_power_and_late_mask
#% mask_with_infinity | scale_wrong_power | The scores are divided by d_k itself.
#% mask_with_infinity | mask_after_softmax | The weights are masked after the softmax.
def mask_with_infinity(scores, d_k):
    w = torch.softmax(scores / d_k, dim=-1)
    return w.tril()


#% renormalised_detached_and_infinity_in_place
#% mask_then_renormalize | detached | The sum of a row is detached, so gradients are wrong.
#% mask_with_infinity | in_place | The caller's scores are overwritten.
def mask_then_renormalize(weights):
    masked = torch.tril(weights)
    row_sums = masked.detach().sum(dim=1, keepdim=True)
    return masked / row_sums


def mask_with_infinity(scores, d_k):
    T = scores.shape[0]
    hide = torch.triu(torch.ones(T, T), diagonal=1).bool()
    scores = scores.masked_fill_(hide, -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


#% causal_rolled_dropout_and_scale
#% CausalAttention | dropout_not_rescaled | The remaining weights are not divided by 1 - dropout.
#% CausalAttention | scale_wrong_size | The scores are divided by the root of the input's size.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, T, d_in = x.shape
        if T > self.mask.shape[0]:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = (q @ k.transpose(1, 2)).masked_fill(self.mask[:T, :T].bool(), -torch.inf)
        w = torch.softmax(s / d_in**0.5, dim=-1)
        if self.training:
            w = w * (torch.rand_like(w) >= self.p)
        return w @ v


#% causal_order_and_limit
#% CausalAttention | creation_order | The values' layer is created first.
#% CausalAttention | boundary, check_wrong | A sequence of exactly context_length tokens is refused.
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        _, T, _ = x.shape
        if not T < self.context_length:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = torch.einsum("bid,bjd->bij", q, k) / k.shape[2] ** 0.5
        s = s.masked_fill(self.mask[:T, :T] != 0, float("-inf"))
        return self.dropout(nn.functional.softmax(s, dim=2)) @ v


#% right_with_exponentials
def mask_then_renormalize(weights):
    i, j = torch.tril_indices(*weights.shape)
    kept = torch.zeros_like(weights).index_put((i, j), weights[i, j])
    return nn.functional.normalize(kept, p=1.0, dim=-1)


def mask_with_infinity(scores, d_k):
    e = torch.exp((scores - scores.max(-1, keepdim=True).values) / d_k**0.5)
    return mask_then_renormalize(e)


#% right_with_functional_dropout
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = [
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)
        ]
        self.p = dropout
        self.register_buffer("mask", torch.arange(context_length)[None, :], persistent=False)

    def forward(self, x):
        n = x.shape[-2]
        if n > self.mask.numel():
            raise ValueError("too many tokens")
        pos = self.mask[:, :n]
        bias = torch.where(pos > pos.T, float("-inf"), 0.0).to(x.dtype)
        w = torch.softmax(bias + self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5, -1)
        return nn.functional.dropout(w, self.p, training=self.training) @ self.W_value(x)


#% right_with_dropout_mask_by_hand
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.keep = 1 - dropout
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.mask.shape[0]:
            raise ValueError("context too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        w = mask_then_renormalize_batch(torch.einsum("bqd,bkd->bqk", q, k) / k.shape[-1] ** 0.5, self.mask[:T, :T])
        if self.training and self.keep < 1:
            w = w * torch.bernoulli(torch.full_like(w, self.keep)) / self.keep
        return torch.einsum("bqk,bkd->bqd", w, v)


def mask_then_renormalize_batch(s, keep):
    w = torch.softmax(s, dim=-1) * keep
    return w / w.sum(dim=-1, keepdim=True)


#% in_place_s1_of_07
#% mask_then_renormalize | in_place | mask_then_renormalize changes the caller's weights.
def mask_then_renormalize(weights: Tensor) -> Tensor:
    n = weights.shape[0]
    later = torch.triu(torch.ones(n, n), diagonal=1).bool()
    weights[later] = 0.0
    return weights / weights.sum(-1, keepdim=True)


#% scale_after_softmax_s2_of_07
#% mask_with_infinity | scale_misplaced | mask_with_infinity divides by the root after the softmax.
def mask_with_infinity(scores: Tensor, d_k: int) -> Tensor:
    future = torch.ones_like(scores).triu(diagonal=1) == 1
    masked = scores.masked_fill(future, float('-inf'))
    return torch.softmax(masked, dim=-1) / d_k ** 0.5


#% dropout_on_context_s3_of_07
#% CausalAttention | dropout_misplaced | CausalAttention drops features of the context vectors instead of attention weights.
class CausalAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer('mask', future == 1)

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(1)
        if n > self.mask.size(0):
            raise ValueError('too many tokens')
        q, k, v = (self.W_query(x), self.W_key(x), self.W_value(x))
        att = torch.einsum('bid,bjd->bij', q, k) * k.size(-1) ** (-0.5)
        att = att.masked_fill(self.mask[:n, :n], -torch.inf).softmax(dim=2)
        return self.dropout(torch.einsum('bij,bjd->bid', att, v))


#% too_long_equal_s4_of_07
#% CausalAttention | check_wrong, boundary | CausalAttention raises already when T equals context_length.
class CausalAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer('mask', future == 1)

    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[1]
        context_length = self.mask.shape[0]
        if context_length <= T:
            raise ValueError(f'{T} tokens do not fit into a context of {context_length}')
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        masked = scores.masked_fill(self.mask[:T, :T], float('-inf'))
        weights = torch.softmax(masked / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return weights @ values


#% renormalize_d1_of_07
#% mask_then_renormalize | mask_inverted | mask_then_renormalize keeps the later tokens (triu instead of tril).
#% mask_then_renormalize | wrong_divisor, wrong_reduction | mask_then_renormalize does not divide by the remaining sum.
def mask_then_renormalize(weights: Tensor) -> Tensor:
    return weights * torch.triu(torch.ones_like(weights))


#% module_d2_of_07
#% CausalAttention | scale_wrong_size, scale_wrong_power | CausalAttention divides by the root of d_in instead of the key's size.
#% CausalAttention | dropout_misplaced | CausalAttention applies dropout to the scores before the softmax.
class CausalAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer('mask', future == 1)

    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[1]
        context_length = self.mask.shape[0]
        if context_length < T:
            raise ValueError(f'{T} tokens do not fit into a context of {context_length}')
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        masked = scores.masked_fill(self.mask[:T, :T], float('-inf'))
        weights = torch.softmax(self.dropout(masked / x.shape[-1] ** 0.5), dim=-1)
        return weights @ values


#% infinity_d3_of_07
#% mask_with_infinity | mask_shifted, mask_extra | mask_with_infinity hides the token itself (except token 0).
#% mask_with_infinity | scale_wrong_power | mask_with_infinity divides by d_k instead of its root.
def mask_with_infinity(scores: Tensor, d_k: int) -> Tensor:
    n = scores.size(0)
    hide = torch.ones(n, n).triu().bool()
    hide[0, 0] = False
    out = scores.clone()
    out[hide] = -torch.inf
    return torch.softmax(out / d_k, dim=1)


#% infinity_module_d4_of_07
#% mask_with_infinity | mask_fill | mask_with_infinity fills hidden scores with 0 instead of minus infinity.
#% CausalAttention | scale_wrong_size, scale_wrong_power | CausalAttention passes d_in instead of the key's size for the scale.
def mask_with_infinity(scores: Tensor, d_k: int) -> Tensor:
    future = torch.ones_like(scores).triu(diagonal=1) == 1
    masked = scores.masked_fill(future, 0.0)
    return torch.softmax(masked / d_k ** 0.5, dim=-1)


class CausalAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer('mask', future == 1)

    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[1]
        context_length = self.mask.shape[0]
        if context_length < T:
            raise ValueError(f'{T} tokens do not fit into a context of {context_length}')
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        weights = mask_with_infinity(scores, x.shape[-1])
        weights = self.dropout(weights)
        return weights @ values
