#% heads_below_each_other
#% MultiHeadAttention | concat_axis | The heads' results are concatenated along the tokens.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.row_dim, self.col_dim = row_dim, col_dim
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(Attention(d_model, row_dim, col_dim))

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        outs = [h(encodings_for_q, encodings_for_k, encodings_for_v, mask) for h in self.heads]
        return torch.cat(outs, dim=self.row_dim)


#% heads_always_on_axis_one
#% MultiHeadAttention | concat_axis, argument_ignored | The results are concatenated along axis 1, which counts tokens in a batch.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList(Attention(d_model, row_dim, col_dim) for _ in range(num_heads))

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        args = encodings_for_q, encodings_for_k, encodings_for_v, mask
        return torch.hstack([head(*args) for head in self.heads])


#% heads_added
#% MultiHeadAttention | heads_mixed | The heads' results are added instead of put side by side.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for i in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        total = 0
        for head in self.heads:
            total = total + head(encodings_for_q, encodings_for_k, encodings_for_v, mask=mask)
        return total


#% one_head_several_times
#% MultiHeadAttention | heads_repeated | All heads are the same module, with the same weights.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim)] * num_heads)
        self.col_dim = col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        out = tuple(h(encodings_for_q, encodings_for_k, encodings_for_v, mask) for h in self.heads)
        return torch.cat(out, self.col_dim)


#% heads_in_a_plain_list
#% MultiHeadAttention | parameter_kind | The heads stand in a plain list, so the module does not know their parameters.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = [Attention(d_model, row_dim, col_dim) for _ in range(num_heads)]
        self.col_dim = col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        return torch.cat(
            [h(encodings_for_q, encodings_for_k, encodings_for_v, mask) for h in self.heads],
            dim=self.col_dim,
        )


#% heads_without_the_mask
#% MultiHeadAttention | argument_ignored, mask_missing | The mask is not handed on to the heads.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        z = [h(encodings_for_q, encodings_for_k, encodings_for_v) for h in self.heads]
        return torch.concat(z, dim=-1)


#% heads_with_default_axes
#% MultiHeadAttention | argument_ignored | row_dim and col_dim are not handed on to the heads.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model) for _ in range(num_heads)])
        self.col_dim = col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        z = [h(encodings_for_q, encodings_for_k, encodings_for_v, mask) for h in self.heads]
        return torch.cat(z, dim=self.col_dim)


#% first_head_for_all
#% MultiHeadAttention | heads_repeated, layer_unused | The first head's result is repeated; the other heads are never used.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.num_heads = num_heads
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        res = []
        for i in range(self.num_heads):
            res.append(self.heads[0](encodings_for_q, encodings_for_k, encodings_for_v, mask))
        return torch.cat(res, dim=-1)


#% heads_interleaved
#% MultiHeadAttention | heads_mixed, concat_axis, reshaped | The features of the heads alternate instead of standing in blocks.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        z = [h(encodings_for_q, encodings_for_k, encodings_for_v, mask) for h in self.heads]
        return torch.stack(z, dim=-1).flatten(start_dim=-2)


#% values_from_key_encodings
#% MultiHeadAttention | operand_repeated, argument_ignored, projection_exchanged | The encodings for the keys are handed on as those for the values.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])
        self.col_dim = col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        run = lambda h: h(encodings_for_q, encodings_for_k, encodings_for_k, mask)
        return torch.cat(list(map(run, self.heads)), dim=self.col_dim)


#% wrapper_divides_the_size
#% MultiHeadAttentionWrapper | wrong_size | Each head gets d_out / num_heads features instead of d_out.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        head_dim = max(1, d_out // num_heads)
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, head_dim, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


#% wrapper_keeps_the_bias
#% MultiHeadAttentionWrapper | argument_ignored, bias_wrong | qkv_bias is not handed on to the heads.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat(tuple(head(x) for head in self.heads), dim=2)


#% wrapper_never_drops
#% MultiHeadAttentionWrapper | argument_ignored, dropout_missing | The heads are created with a dropout of 0.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        mk = lambda: CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias)
        self.heads = nn.ModuleList([mk() for _ in range(num_heads)])

    def forward(self, x):
        context_vecs = [head(x) for head in self.heads]
        return torch.cat(context_vecs, -1)


#% wrapper_projects_the_result
#% MultiHeadAttentionWrapper | layer_extra | The heads' results go through an output layer that must not be there.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )
        self.out_proj = nn.Linear(d_out * num_heads, d_out * num_heads)

    def forward(self, x):
        return self.out_proj(torch.cat([head(x) for head in self.heads], dim=-1))


#% wrapper_in_reverse
#% MultiHeadAttentionWrapper | heads_mixed | The last head's features come first.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        out = self.heads[0](x)
        for head in self.heads[1:]:
            out = torch.cat([head(x), out], dim=-1)
        return out


#% wrapper_forgets_a_head
#% MultiHeadAttentionWrapper | boundary, wrong_size | The range that creates the heads begins at 1, so one is missing.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = []
        for _ in range(1, num_heads):
            heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


#% carried_attention_over_queries
#% Attention | softmax_axis | The softmax runs over the queries.
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.scale = d_model**-0.5

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        att = torch.einsum("...qd,...kd->...qk", q, k) * self.scale
        if mask is not None:
            att = att.masked_fill(mask == 0, float("-inf"))
        return torch.softmax(att, dim=-2) @ v


#% mask_lost_and_heads_added
#% MultiHeadAttention | argument_ignored, mask_missing | The mask is not handed on to the heads.
#% MultiHeadAttention | heads_mixed | The heads' results are averaged instead of put side by side.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        z = torch.stack([h(encodings_for_q, encodings_for_k, encodings_for_v) for h in self.heads])
        return z.mean(dim=0)


#% same_head_and_wrong_axis
#% MultiHeadAttention | heads_repeated, layer_unused | The first head's result is repeated.
#% MultiHeadAttention | concat_axis | The results are concatenated along the tokens.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        z = self.heads[0](encodings_for_q, encodings_for_k, encodings_for_v, mask)
        return torch.cat([z for _ in self.heads], dim=-2)


#% wrapper_unbiased_and_added
#% MultiHeadAttentionWrapper | argument_ignored, bias_wrong | qkv_bias is not handed on to the heads.
#% MultiHeadAttentionWrapper | heads_mixed | The heads' results are added instead of put side by side.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)]
        )

    def forward(self, x):
        return sum(head(x) for head in self.heads)


#% wrapper_biased_without_dropout
#% MultiHeadAttentionWrapper | default_changed, bias_wrong | qkv_bias is true unless it is given.
#% MultiHeadAttentionWrapper | argument_ignored, dropout_missing | The heads are created with a dropout of 0.
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=True):
        super().__init__()
        self.heads = nn.ModuleList(
            [
                CausalAttention(d_in, d_out, context_length, dropout=0, qkv_bias=qkv_bias)
                for _ in range(num_heads)
            ]
        )

    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], dim=-1)


#% attention_unscaled_and_heads_below
#% Attention | scale_missing | The scores are not scaled.
#% MultiHeadAttention | concat_axis | The results are concatenated along the tokens.
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        sims = torch.matmul(q, k.transpose(self.row_dim, self.col_dim))
        if mask is not None:
            sims = sims.masked_fill(mask == 0, -1e9)
        return torch.matmul(sims.softmax(dim=self.col_dim), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])
        self.row_dim = row_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        z = [h(encodings_for_q, encodings_for_k, encodings_for_v, mask) for h in self.heads]
        return torch.cat(z, dim=self.row_dim)


#% causal_without_dropout_and_wrapper_reversed
#% CausalAttention | dropout_missing, layer_unused | The dropout layer is never used.
#% MultiHeadAttentionWrapper | heads_mixed | The last head's features come first.
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
            raise ValueError("too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = q @ k.transpose(1, 2)
        s = s.masked_fill(self.mask.bool()[:T, :T], -torch.inf)
        return torch.softmax(s / k.shape[-1] ** 0.5, dim=-1) @ v


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([h(x) for h in reversed(self.heads)], dim=-1)


#% mask_inverted_and_interleaved
#% MultiHeadAttention | mask_inverted | The heads get the mask with ones and zeros exchanged.
#% MultiHeadAttention | heads_mixed, reshaped, concat_axis | The features of the heads alternate instead of standing in blocks.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])
        self.H, self.d = num_heads, d_model

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = encodings_for_q, encodings_for_k, encodings_for_v
        if mask is not None:
            mask = 1 - mask
        z = torch.stack([h(q, k, v, mask) for h in self.heads], dim=-1)
        return z.reshape(*z.shape[:-2], self.H * self.d)


#% right_into_a_prepared_tensor
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.d_model = d_model
        self.heads = nn.ModuleList()
        for i in range(num_heads):
            self.heads.add_module(str(i), Attention(d_model, row_dim, col_dim))

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        d, H = self.d_model, len(self.heads)
        out = encodings_for_q.new_zeros(*encodings_for_q.shape[:-1], H * d)
        for h, head in enumerate(self.heads):
            out[..., h * d : (h + 1) * d] = head(encodings_for_q, encodings_for_k, encodings_for_v, mask)
        return out


#% right_by_stack_and_flatten
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        settings = dict(d_in=d_in, d_out=d_out, context_length=context_length, dropout=dropout)
        self.heads = nn.ModuleList(
            CausalAttention(**settings, qkv_bias=qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=2).flatten(2)


#% right_with_one_base_class
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        s = torch.einsum("...qd,...kd->...qk", q, k).div(k.shape[-1] ** 0.5)
        if mask is not None:
            s = torch.where(mask > 0, s, s.new_tensor(-torch.inf))
        return torch.einsum("...qk,...kd->...qd", s.softmax(dim=-1), v)


class SideBySide(nn.Module):
    def forward(self, *args, **kwargs):
        return torch.concatenate([head(*args, **kwargs) for head in self.heads], dim=-1)


class MultiHeadAttention(SideBySide):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])


class MultiHeadAttentionWrapper(SideBySide):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )


#% same_head_s1_of_09
#% MultiHeadAttention | heads_repeated | MultiHeadAttention puts the same head num_heads times into the list, so all heads share their weights.
class MultiHeadAttention(nn.Module):

    def __init__(self, d_model: int=2, row_dim: int=0, col_dim: int=1, num_heads: int=1) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim)] * num_heads)
        self.col_dim = col_dim

    def forward(self, encodings_for_q: Tensor, encodings_for_k: Tensor, encodings_for_v: Tensor, mask: Tensor | None=None) -> Tensor:
        contexts = [head(encodings_for_q, encodings_for_k, encodings_for_v, mask) for head in self.heads]
        return torch.cat(contexts, dim=self.col_dim)


#% mean_of_heads_s2_of_09
#% MultiHeadAttention | heads_mixed, rank_ignored | MultiHeadAttention averages the heads instead of concatenating them.
class MultiHeadAttention(nn.Module):

    def __init__(self, d_model: int=2, row_dim: int=0, col_dim: int=1, num_heads: int=1) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])
        self.col_dim = col_dim

    def forward(self, encodings_for_q: Tensor, encodings_for_k: Tensor, encodings_for_v: Tensor, mask: Tensor | None=None) -> Tensor:
        results = torch.stack([h(encodings_for_q, encodings_for_k, encodings_for_v, mask=mask) for h in self.heads])
        return results.mean(dim=0)


#% mask_lost_s3_of_09
#% MultiHeadAttention | mask_axis | MultiHeadAttention gives the mask only to the first head.
class MultiHeadAttention(nn.Module):

    def __init__(self, d_model: int=2, row_dim: int=0, col_dim: int=1, num_heads: int=1) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])
        self.col_dim = col_dim

    def forward(self, encodings_for_q: Tensor, encodings_for_k: Tensor, encodings_for_v: Tensor, mask: Tensor | None=None) -> Tensor:
        out = self.heads[0](encodings_for_q, encodings_for_k, encodings_for_v, mask)
        for i in range(1, len(self.heads)):
            out = torch.cat((out, self.heads[i](encodings_for_q, encodings_for_k, encodings_for_v)), dim=-1)
        return out


#% d_out_divided_s4_of_09
#% MultiHeadAttentionWrapper | wrong_size | MultiHeadAttentionWrapper divides d_out by the number of heads.
class MultiHeadAttentionWrapper(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out // num_heads, context_length, dropout, qkv_bias) for _ in range(num_heads)])

    def forward(self, x: Tensor) -> Tensor:
        contexts = [head(x) for head in self.heads]
        return torch.cat(contexts, dim=-1)


#% mha_d1_of_09
#% MultiHeadAttention | mask_missing | MultiHeadAttention does not pass the mask to its heads.
#% MultiHeadAttention | projection_exchanged | MultiHeadAttention gives the keys' encodings as the values' encodings.
class MultiHeadAttention(nn.Module):

    def __init__(self, d_model: int=2, row_dim: int=0, col_dim: int=1, num_heads: int=1) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])
        self.col_dim = col_dim

    def forward(self, encodings_for_q: Tensor, encodings_for_k: Tensor, encodings_for_v: Tensor, mask: Tensor | None=None) -> Tensor:
        contexts = [head(encodings_for_q, encodings_for_k, encodings_for_k) for head in self.heads]
        return torch.cat(contexts, dim=self.col_dim)


#% wrapper_d2_of_09
#% MultiHeadAttentionWrapper | argument_ignored | MultiHeadAttentionWrapper does not pass qkv_bias to its heads.
#% MultiHeadAttentionWrapper | argument_ignored | MultiHeadAttentionWrapper gives its heads a dropout of 0 instead of dropout.
class MultiHeadAttentionWrapper(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, 0.0) for _ in range(num_heads)])

    def forward(self, x: Tensor) -> Tensor:
        contexts = [head(x) for head in self.heads]
        return torch.cat(contexts, dim=-1)


#% attention_mha_d3_of_09
#% Attention | softmax_axis, wrong_axis | Attention takes the softmax over the queries (row_dim).
#% MultiHeadAttention | heads_mixed, rank_ignored | MultiHeadAttention concatenates the heads in reverse order.
class Attention(nn.Module):

    def __init__(self, d_model: int=2, row_dim: int=0, col_dim: int=1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, encodings_for_q: Tensor, encodings_for_k: Tensor, encodings_for_v: Tensor, mask: Tensor | None=None) -> Tensor:
        q = self.W_q(encodings_for_q)
        k = self.W_k(encodings_for_k)
        v = self.W_v(encodings_for_v)
        scores = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = scores / k.shape[self.col_dim] ** 0.5
        if mask is not None:
            scaled = scaled.masked_fill(mask == 0, float('-inf'))
        weights = torch.softmax(scaled, dim=self.row_dim)
        return weights @ v


class MultiHeadAttention(nn.Module):

    def __init__(self, d_model: int=2, row_dim: int=0, col_dim: int=1, num_heads: int=1) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])
        self.col_dim = col_dim

    def forward(self, encodings_for_q: Tensor, encodings_for_k: Tensor, encodings_for_v: Tensor, mask: Tensor | None=None) -> Tensor:
        contexts = [head(encodings_for_q, encodings_for_k, encodings_for_v, mask) for head in reversed(self.heads)]
        return torch.cat(contexts, dim=self.col_dim)


#% causal_wrapper_d4_of_09
#% CausalAttention | dropout_missing | CausalAttention does not apply dropout.
#% MultiHeadAttentionWrapper | heads_mixed | MultiHeadAttentionWrapper interleaves the heads' features (stack on the last axis) instead of putting them side by side.
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
        weights = torch.softmax(masked / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class MultiHeadAttentionWrapper(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)])

    def forward(self, x: Tensor) -> Tensor:
        contexts = [head(x) for head in self.heads]
        return torch.stack(contexts, dim=-1).flatten(-2)
