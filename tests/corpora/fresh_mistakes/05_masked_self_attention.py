#% keys_transposed_by_fixed_axes
#% SelfAttention | argument_ignored, shape_error, transposed | The axes 0 and 1 are exchanged even where row_dim and col_dim are 1 and 2.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def forward(self, token_encodings):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        sims = torch.matmul(q, k.transpose(dim0=0, dim1=1))
        scaled_sims = sims / torch.tensor(k.size(self.col_dim) ** 0.5)
        return torch.matmul(nn.functional.softmax(scaled_sims, dim=self.col_dim), v)


#% scaled_by_tokens
#% SelfAttention | scale_wrong_size | The scores are divided by the root of the number of tokens.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, token_encodings):
        q = self.W_q(token_encodings)
        k = self.W_k(token_encodings)
        v = self.W_v(token_encodings)
        n = token_encodings.size(self.row_dim)
        attn = (q @ k.mT).div(n**0.5).softmax(-1)
        return attn @ v


#% softmax_over_row_dim
#% SelfAttention | softmax_axis | The softmax runs over the queries.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.d_k = d_model
        self.row_dim = row_dim
        self.col_dim = col_dim
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings):
        Q, K, V = (f(token_encodings) for f in (self.W_q, self.W_k, self.W_v))
        scores = torch.einsum("...id,...jd->...ij", Q, K) * self.d_k**-0.5
        return scores.softmax(dim=self.row_dim) @ V


#% keys_viewed_as_columns
#% SelfAttention | reshaped | The keys are reshaped to (d, T) instead of transposed.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        *batch, T, d = k.shape
        s = q @ k.reshape(*batch, d, T)
        return torch.softmax(s / d**0.5, dim=-1) @ v


#% values_are_the_inputs
#% SelfAttention | projection_missing, layer_unused | The encodings themselves are mixed; W_v is never used.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings):
        q = self.W_q(token_encodings)
        k = self.W_k(token_encodings)
        att = torch.softmax(q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5, dim=-1)
        return att @ token_encodings


#% mask_above_the_diagonal
#% causal_mask | mask_inverted | Ones stand where tokens must be hidden.
def causal_mask(size):
    return torch.triu(torch.ones(size, size), diagonal=1)


#% mask_without_the_diagonal
#% causal_mask | mask_shifted, boundary | A token may not attend to itself.
def causal_mask(size):
    idx = torch.arange(size)
    return (idx.view(-1, 1) > idx.view(1, -1)).float()


#% mask_of_the_past_upside_down
#% causal_mask | transposed, mask_inverted | Ones stand on and above the diagonal: the past is hidden.
def causal_mask(size):
    m = torch.zeros(size, size)
    for i in range(size):
        m[i, i:] = 1
    return m


#% mask_fills_the_visible
#% MaskedSelfAttention | mask_inverted | The visible tokens are hidden and the hidden ones visible.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.col_dim = col_dim

    def forward(self, token_encodings, mask=None):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        sims = q @ k.transpose(-2, -1) / k.size(-1) ** 0.5
        if mask is not None:
            sims = sims.masked_fill(mask=mask.bool(), value=-1e9)
        return sims.softmax(dim=self.col_dim) @ v


#% mask_multiplies_the_scores
#% MaskedSelfAttention | mask_fill | Hidden scores become zero before the softmax and still count.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings, mask):
        q = self.W_q(token_encodings)
        k = self.W_k(token_encodings)
        v = self.W_v(token_encodings)
        scores = torch.matmul(q, k.transpose(-2, -1)) * mask
        scores = scores / k.shape[-1] ** 0.5
        return torch.matmul(torch.softmax(scores, dim=-1), v)


#% mask_on_the_weights
#% MaskedSelfAttention | mask_after_softmax | The weights are masked after the softmax, so rows don't sum to one.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask):
        attn = torch.einsum("...qd,...kd->...qk", self.W_q(x), self.W_k(x)) / x.shape[-1] ** 0.5
        attn = nn.functional.softmax(attn, dim=-1).masked_fill(mask == 0, 0)
        return torch.einsum("...qk,...kd->...qd", attn, self.W_v(x))


#% mask_made_inside
#% MaskedSelfAttention | argument_ignored, mask_extra | The mask that is given is ignored; a causal one is made instead.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        T, d = k.shape[-2:]
        future = torch.ones(T, T).triu(1).bool()
        s = (q @ k.mT).masked_fill(future, float("-inf"))
        return torch.softmax(s / d**0.5, dim=-1) @ v


#% masked_result_not_assigned
#% MaskedSelfAttention | mask_missing, argument_ignored | The masked scores are computed and thrown away.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        scores.masked_fill(mask == 0, float("-inf"))
        return scores.softmax(-1) @ v


#% default_size_of_four
#% MaskedSelfAttention | default_changed | d_model is 4 unless it is given, instead of 2.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=4, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.r, self.c = row_dim, col_dim

    def forward(self, x, mask):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        s = torch.matmul(q, torch.transpose(k, self.r, self.c)) / k.shape[self.c] ** 0.5
        s = torch.where(mask.bool(), s, torch.full_like(s, float("-inf")))
        return torch.matmul(s.softmax(self.c), v)


#% masked_layers_keys_first
#% MaskedSelfAttention | creation_order | The keys' layer is created before that of the queries.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask):
        w = self.W_q(x).matmul(self.W_k(x).transpose(-2, -1)).div(x.shape[-1] ** 0.5)
        w = w + (1 - mask) * -1e9
        return w.softmax(dim=-1).matmul(self.W_v(x))


#% unscaled_over_queries
#% SelfAttention | scale_missing | The scores are not scaled.
#% SelfAttention | softmax_axis | The softmax runs over the queries.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def forward(self, token_encodings):
        q, k, v = map(lambda f: f(token_encodings), [self.W_q, self.W_k, self.W_v])
        attn = torch.softmax(q @ k.transpose(self.row_dim, self.col_dim), dim=-2)
        return attn @ v


#% biased_and_keys_mixed
#% SelfAttention | bias_wrong | The layers have a bias.
#% SelfAttention | projection_exchanged, layer_unused | The keys are mixed instead of the values.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, token_encodings):
        q = self.W_q(token_encodings)
        k = self.W_k(token_encodings)
        scaled = q @ k.transpose(self.row_dim, self.col_dim) / k.size(self.col_dim) ** 0.5
        return scaled.softmax(dim=self.col_dim) @ k


#% first_item_for_all_unscaled
#% SelfAttention | batch_mixed | Every item is compared with the keys of the first one.
#% SelfAttention | scale_wrong_power | The scores are divided by the key's size itself.
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        first = k if k.dim() == 2 else k[0]
        s = q @ first.T / k.shape[-1]
        return s.softmax(-1) @ v


#% masked_inverted_and_unscaled
#% MaskedSelfAttention | mask_inverted | The visible tokens are hidden and the hidden ones visible.
#% MaskedSelfAttention | scale_missing | The scores are not scaled.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask):
        scores = self.W_q(x) @ self.W_k(x).transpose(-2, -1)
        scores = scores.masked_fill(mask == 1, -1e9)
        return nn.Softmax(dim=-1)(scores) @ self.W_v(x)


#% masked_after_and_tokens
#% MaskedSelfAttention | mask_after_softmax | The weights are masked after the softmax.
#% MaskedSelfAttention | scale_wrong_size | The scores are divided by the root of the number of tokens.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        s = q @ k.mT
        p = torch.softmax(s / s.shape[-1] ** 0.5, dim=-1)
        return (p * mask) @ v


#% masked_queries_repeated_soft_fill
#% MaskedSelfAttention | operand_repeated, projection_exchanged, layer_unused | The queries are compared with themselves.
#% MaskedSelfAttention | mask_fill | Hidden scores are -1, so hidden tokens still count.
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.sm = nn.Softmax(dim=-1)

    def forward(self, x, mask):
        q, v = self.W_q(x), self.W_v(x)
        s = torch.einsum("...id,...jd->...ij", q, q) / q.size(-1) ** 0.5
        return self.sm(s.masked_fill(mask == 0, -1)) @ v


#% shifted_mask_and_in_place_call
#% causal_mask | mask_shifted | Each token may also attend to the next one.
#% MaskedSelfAttention | in_place | The caller's mask is overwritten.
def causal_mask(size):
    return torch.ones(size, size).tril(diagonal=1)


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        mask[mask == 0] = float("-inf")
        mask[mask == 1] = 0.0
        s = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5 + mask
        return s.softmax(dim=-1) @ v


#% right_with_einsum_and_log_mask
class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model, False) for _ in range(3))

    def forward(self, token_encodings, mask):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        s = torch.einsum("...qd,...kd->...qk", q, k) / k.shape[-1] ** 0.5
        return torch.einsum("...qk,...kd->...qd", (s + mask.log()).softmax(-1), v)


#% right_with_masked_exponentials
def causal_mask(size):
    i = torch.arange(size)
    return (i[:, None] >= i).int()


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.dims = row_dim, col_dim

    def forward(self, x, mask):
        k = self.W_k(x) / x.shape[self.dims[1]] ** 0.5
        e = torch.exp(self.W_q(x) @ k.transpose(*self.dims)) * mask
        return (e / e.sum(self.dims[1], keepdim=True)) @ self.W_v(x)


#% right_with_one_product_for_all_layers
class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings):
        W = torch.cat([self.W_q.weight, self.W_k.weight, self.W_v.weight])
        q, k, v = nn.functional.linear(token_encodings, W).chunk(3, dim=-1)
        return ((q @ k.mT) / (k.shape[-1] ** 0.5)).softmax(-1) @ v
