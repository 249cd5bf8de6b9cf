#% scores_without_scale
#% scaled_scores | scale_missing | The scores are not divided by the root of d.
def scaled_scores(queries, keys):
    return torch.bmm(queries, keys.permute(0, 2, 1))


#% scores_divided_by_tokens
#% scaled_scores | scale_wrong_size | The scores are divided by the root of the number of tokens.
def scaled_scores(queries, keys):
    B, T, d = queries.shape
    return torch.einsum("bid,bjd->bij", queries, keys) * T**-0.5


#% scores_of_keys
#% scaled_scores | transposed, operand_repeated | Rows belong to keys instead of queries.
import math


def scaled_scores(queries, keys):
    att = keys @ queries.transpose(1, 2)
    return att / math.sqrt(keys.shape[-1])


#% scores_by_reshape
#% scaled_scores | reshaped | The keys are reshaped to (B, d, T) instead of transposed.
def scaled_scores(queries, keys):
    B, T, d = keys.shape
    return queries @ keys.reshape(B, d, T) / d**0.5


#% scores_with_capital_T
#% scaled_scores | shape_error, wrong_axis, transposed | All axes of the keys are reversed, the one of the batch too.
def scaled_scores(queries, keys):
    d = keys.size(-1)
    return torch.matmul(queries, keys.permute(2, 1, 0)) / d**0.5


#% pattern_scaled_again
#% causal_pattern | scale_extra | The scores, scaled already, are divided again.
def causal_pattern(scores):
    T = scores.shape[-1]
    future = torch.triu(torch.ones(T, T), 1).bool()
    s = scores.masked_fill(future, -torch.inf) / T**0.5
    return s.softmax(-1)


#% pattern_in_place
#% causal_pattern | in_place | The caller's scores are filled with minus infinity.
def causal_pattern(scores):
    T = scores.size(-1)
    tril = torch.tril(torch.ones(T, T))
    scores.masked_fill_(tril == 0, float("-inf"))
    return nn.functional.softmax(scores, dim=-1)


#% pattern_hides_itself
#% causal_pattern | mask_shifted | From the second token on, a token does not see itself.
def causal_pattern(scores):
    T = scores.shape[1]
    keep = torch.tril(torch.ones(T, T), diagonal=-1)
    keep[0, 0] = 1
    return scores.masked_fill(keep == 0, -1e10).softmax(2)


#% pattern_tril_of_scores
#% causal_pattern | mask_fill | Scores of later tokens become zero and still count.
def causal_pattern(scores):
    lower = torch.tril(scores)
    return torch.softmax(lower, dim=-1)


#% pattern_over_the_batch
#% causal_pattern | softmax_axis | The softmax runs over the items of the batch.
def causal_pattern(scores):
    T = scores.shape[-1]
    m = torch.ones(T, T).tril()
    hidden = torch.where(m > 0, scores, torch.tensor(-1e9))
    return hidden.softmax(dim=0) * m


#% head_queries_created_first
#% AttentionHead | creation_order | The queries' layer is created before that of the keys.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.block_size = block_size

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError("sequence too long")
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")).softmax(dim=-1)
        return wei @ v


#% head_scaled_by_embedding
#% AttentionHead | scale_wrong_size | The scores are divided by the root of the embedding's size.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        if T > len(self.tril):
            raise ValueError("sequence too long")
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.softmax(wei, dim=-1) @ self.value(x)


#% head_mask_is_an_attribute
#% AttentionHead | parameter_kind | The mask is a plain attribute and no buffer.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.tril = torch.tril(torch.ones(block_size, block_size))

    def forward(self, x):
        T = x.size(1)
        if T > self.tril.size(0):
            raise ValueError
        k, q, v = self.key(x), self.query(x), self.value(x)
        w = torch.einsum("btd,bsd->bts", q, k) / k.size(2) ** 0.5
        w = w.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.einsum("bts,bsd->btd", w.softmax(2), v)


#% head_masks_too_late
#% AttentionHead | mask_after_softmax | The weights are masked after the softmax.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())
        self.head_size = head_size

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError("too many tokens")
        q, k, v = self.query(x), self.key(x), self.value(x)
        p = nn.functional.softmax(q @ k.mT / self.head_size**0.5, dim=-1)
        p = p * self.tril[:T, :T]
        return p @ v


#% head_limit_off_by_one
#% AttentionHead | boundary, check_wrong | A sequence of exactly block_size tokens is refused.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        if T >= self.tril.shape[0]:
            raise ValueError("too long")
        q, k, v = self.query(x), self.key(x), self.value(x)
        w = (q @ k.transpose(1, 2)) / (k.shape[2] ** 0.5)
        w[:, self.tril[:T, :T] == 0] = float("-inf")
        return w.softmax(dim=2) @ v


#% head_token_after_token
#% AttentionHead | loop_over_tokens | Each token is attended to in its own step of a loop.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        if T > self.tril.shape[0]:
            raise ValueError("too long")
        k, q, v = self.key(x), self.query(x), self.value(x)
        outs = []
        for t in range(T):
            past_k, past_v = k[:, : t + 1], v[:, : t + 1]
            a = (past_k @ q[:, t].unsqueeze(-1)).squeeze(-1) / k.shape[-1] ** 0.5
            outs.append((a.softmax(-1).unsqueeze(1) @ past_v).squeeze(1))
        return torch.stack(outs, dim=1)


#% head_exchanges_keys_and_queries
#% AttentionHead | projection_exchanged, transposed | The key layer gives the queries and the query layer the keys.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError("too long")
        q, k, v = self.key(x), self.query(x), self.value(x)
        w = q @ k.transpose(1, 2) / k.shape[2] ** 0.5
        w = w.masked_fill(~self.tril[:T, :T].bool(), float("-inf"))
        return w.softmax(dim=-1) @ v


#% head_with_bias_and_no_scale
#% AttentionHead | bias_wrong | The layers have a bias.
#% AttentionHead | scale_missing | The scores are not scaled.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size)
        self.query = nn.Linear(embedding_dim, head_size)
        self.value = nn.Linear(embedding_dim, head_size)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError("too long")
        w = self.query(x) @ self.key(x).transpose(1, 2)
        w = w.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return w.softmax(dim=-1) @ self.value(x)


#% head_unscaled_and_masked_late
#% AttentionHead | scale_missing | The scores are not scaled.
#% AttentionHead | mask_after_softmax | The weights are masked after the softmax.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        b, t, c = x.size()
        if t > self.tril.size(0):
            raise ValueError("too long")
        att = torch.bmm(self.query(x), self.key(x).permute(0, 2, 1))
        att = torch.softmax(att, dim=-1).masked_fill(self.tril[:t, :t] == 0, 0.0)
        return torch.bmm(att, self.value(x))


#% head_sees_next_and_accepts_all
#% AttentionHead | mask_shifted | Each token also sees the one after it.
#% AttentionHead | check_missing | Longer sequences than block_size are not refused.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        k, q, v = self.key(x), self.query(x), self.value(x)
        w = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        hide = torch.triu(torch.ones(T, T), diagonal=2) > 0
        return w.masked_fill(hide, float("-inf")).softmax(-1) @ v


#% pattern_shifted_over_queries
#% causal_pattern | mask_shifted | Each token also sees the one after it.
#% causal_pattern | softmax_axis | The softmax runs over the queries.
def causal_pattern(scores):
    n = scores.shape[-1]
    ok = torch.ones(n, n, dtype=torch.bool).tril(1)
    return torch.softmax(torch.where(ok, scores, -torch.inf), dim=1)


#% scores_multiplied_and_pattern_inverted
#% scaled_scores | scale_wrong_power | The scores are multiplied by the root of d.
#% causal_pattern | mask_inverted | The past is hidden, and the future visible.
def scaled_scores(queries, keys):
    return queries @ keys.mT * keys.shape[-1] ** 0.5


def causal_pattern(scores):
    T = scores.shape[-1]
    tril = torch.tril(torch.ones(T, T), diagonal=-1)
    return scores.masked_fill(tril == 1, float("-inf")).softmax(-1)


#% head_mixes_keys_of_first_item
#% AttentionHead | projection_exchanged, layer_unused | The keys are mixed instead of the values.
#% AttentionHead | batch_mixed | The weights of the first item are used for every item.
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError("too long")
        k, q = self.key(x), self.query(x)
        w = q[0] @ k[0].T / k.shape[-1] ** 0.5
        w = w.masked_fill(self.tril[:T, :T] == 0, float("-inf")).softmax(dim=-1)
        return w @ k


#% scores_detached_and_head_twice
#% scaled_scores | detached | The keys are detached.
#% AttentionHead | softmax_twice | The softmax is taken of weights.
def scaled_scores(queries, keys):
    return queries @ keys.data.transpose(-2, -1) / queries.shape[-1] ** 0.5


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError("too long")
        k, q, v = self.key(x), self.query(x), self.value(x)
        w = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        w = w.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        w = torch.softmax(torch.softmax(w, -1), -1)
        return w @ v


#% right_with_einsum_and_where
def scaled_scores(queries, keys):
    d = queries.size(-1)
    return torch.einsum("bqd,bkd->bqk", queries / d**0.5, keys)


def causal_pattern(scores):
    n = scores.shape[-1]
    i = torch.arange(n, device=scores.device)
    s = torch.where(i[None, :] <= i[:, None], scores, float("-inf"))
    return nn.functional.softmax(s, dim=-1, dtype=scores.dtype)


#% right_with_additive_buffer
class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        bias = torch.full((block_size, block_size), float("-inf")).triu(1)
        self.register_buffer("tril", bias, persistent=False)
        self.block_size = block_size

    def forward(self, x):
        _, T, _ = x.size()
        if T > self.block_size:
            raise ValueError("T > block_size")
        k, q, v = [layer(x) for layer in (self.key, self.query, self.value)]
        att = torch.baddbmm(self.tril[:T, :T].expand(len(x), T, T), q, k.mT, alpha=k.shape[-1] ** -0.5)
        return torch.bmm(att.softmax(-1), v)


#% right_by_own_functions
def scaled_scores(queries, keys):
    return (keys @ queries.permute(0, 2, 1)).permute(0, 2, 1) / keys.shape[2] ** 0.5


def causal_pattern(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True)).tril()
    return e / e.sum(-1, keepdim=True)


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key, self.query, self.value = (
            nn.Linear(embedding_dim, head_size, bias=False) for _ in range(3)
        )
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        if x.shape[1] > self.tril.shape[1]:
            raise ValueError("too long")
        return causal_pattern(scaled_scores(self.query(x), self.key(x))) @ self.value(x)
