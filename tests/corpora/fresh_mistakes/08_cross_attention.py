#% keys_and_values_exchanged
#% Attention | projection_exchanged, operand_repeated | Keys are computed from the encodings for the values and the other way round.
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def forward(self, encodings_for_q, encodings_for_v, encodings_for_k, mask=None):
        q = self.W_q(encodings_for_q)
        k = self.W_k(encodings_for_k)
        v = self.W_v(encodings_for_v)
        sims = torch.matmul(q, k.transpose(self.row_dim, self.col_dim)) / k.size(self.col_dim) ** 0.5
        if mask is not None:
            sims = sims.masked_fill(mask == 0, -1e9)
        return torch.matmul(torch.softmax(sims, dim=self.col_dim), v)


#% all_from_the_first_encodings
#% Attention | argument_ignored | Keys and values are computed from the encodings for the queries.
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        x = encodings_for_q
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        att = q @ k.transpose(self.row_dim, self.col_dim) / k.shape[self.col_dim] ** 0.5
        if mask is not None:
            att = att.masked_fill(mask == 0, float("-inf"))
        return att.softmax(self.col_dim) @ v


#% attention_forgets_its_mask
#% Attention | argument_ignored, mask_missing | The mask has no effect.
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        s = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
        return torch.einsum("...qk,...kd->...qd", s.softmax(-1), v)


#% attention_mask_with_plus
#% Attention | mask_fill | The mask of ones and zeros is added to the scores, so hidden keys still count.
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s + mask
        return nn.functional.softmax(s, dim=-1) @ v


#% padding_mask_marks_the_padding
#% padding_mask | mask_inverted | True stands at the padding instead of at the tokens.
def padding_mask(lengths, max_length):
    lengths = torch.as_tensor(lengths)
    if lengths.min() < 0 or lengths.max() > max_length:
        raise ValueError("bad length")
    pos = torch.arange(max_length).unsqueeze(0)
    return pos >= lengths.unsqueeze(1)


#% padding_mask_keeps_one_more
#% padding_mask | boundary, mask_shifted | One position of padding is kept.
def padding_mask(lengths, max_length):
    rows = []
    for n in lengths:
        n = int(n)
        if n < 0 or n > max_length:
            raise ValueError("bad length")
        rows.append([i <= n for i in range(max_length)])
    return torch.tensor(rows)


#% padding_mask_accepts_negative
#% padding_mask | check_missing | A length below zero is not refused.
def padding_mask(lengths, max_length):
    out = torch.zeros(len(lengths), max_length, dtype=torch.bool)
    for b, n in enumerate(lengths):
        if n > max_length:
            raise ValueError("too long")
        out[b, : max(int(n), 0)] = True
    return out


#% padding_mask_of_floats
#% padding_mask | dtype | The mask holds floats instead of booleans.
def padding_mask(lengths, max_length):
    lengths = torch.as_tensor(lengths)
    if (lengths < 0).any() or (lengths > max_length).any():
        raise ValueError
    return (torch.arange(max_length)[None, :] < lengths[:, None]).float()


#% cross_values_of_the_decoder
#% CrossAttention | operand_repeated, wrong_size, argument_ignored | The values are computed from the decoder, not from the encoder.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_decoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q, k, v = self.W_query(decoder_states), self.W_key(encoder_states), self.W_value(decoder_states)
        s = torch.bmm(q, k.transpose(1, 2)) / k.shape[-1] ** 0.5
        if padding_mask is not None:
            s = s.masked_fill(~padding_mask[:, None, :], float("-inf"))
        return torch.bmm(torch.softmax(s, dim=2), v)


#% cross_hides_the_tokens
#% CrossAttention | mask_inverted | The tokens are hidden and the padding is visible.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q, k, v = self.W_query(decoder_states), self.W_key(encoder_states), self.W_value(encoder_states)
        s = torch.einsum("bqd,bkd->bqk", q, k) * k.shape[-1] ** -0.5
        if padding_mask is not None:
            s = s.masked_fill(padding_mask.unsqueeze(1), -1e9)
        return torch.einsum("bqk,bkd->bqd", s.softmax(-1), v)


#% cross_mask_on_queries
#% CrossAttention | mask_axis, shape_error | The mask gets its new axis at the end, so it hides queries, and does not fit.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q, k, v = self.W_query(decoder_states), self.W_key(encoder_states), self.W_value(encoder_states)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask.unsqueeze(2) == 0, float("-inf"))
        return scores.softmax(-1) @ v


#% cross_causal_too
#% CrossAttention | mask_extra | A causal mask hides later encoder tokens, though every decoder token may see all.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q, k, v = self.W_query(decoder_states), self.W_key(encoder_states), self.W_value(encoder_states)
        scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones_like(scores).triu(1) == 1, float("-inf"))
        if padding_mask is not None:
            scores = scores.masked_fill(~padding_mask.unsqueeze(1), float("-inf"))
        return scores.softmax(-1) @ v


#% cross_scaled_by_decoder
#% CrossAttention | scale_wrong_size | The scores are divided by the root of the decoder's size.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.scale = d_decoder**-0.5
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        Q = self.W_query(decoder_states) * self.scale
        K = self.W_key(encoder_states)
        V = self.W_value(encoder_states)
        att = torch.matmul(Q, K.permute(0, 2, 1))
        if padding_mask is not None:
            att = att + torch.where(padding_mask, 0.0, float("-inf")).unsqueeze(1)
        return torch.matmul(torch.softmax(att, 2), V)


#% cross_one_mask_for_all
#% CrossAttention | batch_mixed | The padding of the first item is used for every item.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q, k, v = self.W_query(decoder_states), self.W_key(encoder_states), self.W_value(encoder_states)
        s = q @ k.mT / k.shape[-1] ** 0.5
        if padding_mask is not None:
            s = s.masked_fill(~padding_mask[0], float("-inf"))
        return s.softmax(-1) @ v


#% attention_without_scale_over_queries
#% Attention | scale_missing | The scores are not scaled.
#% Attention | softmax_axis | The softmax runs over the queries.
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
        return torch.matmul(torch.softmax(sims, dim=self.row_dim), v)


#% attention_biased_and_inverted
#% Attention | bias_wrong | The layers have a bias.
#% Attention | mask_inverted | The visible keys are hidden.
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        sims = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            sims = torch.where(mask.bool(), torch.full_like(sims, -1e9), sims)
        return sims.softmax(-1) @ v


#% padding_inverted_and_unchecked
#% padding_mask | mask_inverted | True stands at the padding.
#% padding_mask | check_missing | Lengths outside 0 to max_length are not refused.
def padding_mask(lengths, max_length):
    lens = torch.tensor(lengths) if not torch.is_tensor(lengths) else lengths
    return ~(torch.arange(max_length).expand(len(lens), max_length) < lens.view(-1, 1))


#% cross_ignores_padding_and_order
#% CrossAttention | argument_ignored, mask_missing | The padding mask has no effect.
#% CrossAttention | creation_order | The keys' layer is created before that of the queries.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        k, v = self.W_key(encoder_states), self.W_value(encoder_states)
        q = self.W_query(decoder_states)
        return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) @ v


#% cross_unscaled_and_masked_late
#% CrossAttention | scale_missing | The scores are not scaled.
#% CrossAttention | mask_after_softmax | The padding's weights are set to zero after the softmax.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q, k, v = self.W_query(decoder_states), self.W_key(encoder_states), self.W_value(encoder_states)
        p = torch.softmax(torch.einsum("bid,bjd->bij", q, k), dim=-1)
        if padding_mask is not None:
            p = p * padding_mask.unsqueeze(1)
        return torch.einsum("bij,bjd->bid", p, v)


#% cross_keys_mixed_and_scaled_twice
#% CrossAttention | projection_exchanged, layer_unused | The keys are mixed instead of the values.
#% CrossAttention | scale_extra, scale_wrong_power | The queries are scaled and the scores once more.
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)
        self.scale = d_out**0.5

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q = self.W_query(decoder_states) / self.scale
        kv = self.W_key(encoder_states)
        s = q @ kv.transpose(1, 2) / self.scale
        if padding_mask is not None:
            s = s.masked_fill(~padding_mask.unsqueeze(-2), -torch.inf)
        return s.softmax(dim=-1) @ kv


#% padding_shifted_and_cross_detached
#% padding_mask | boundary, mask_shifted | The last token of each sequence counts as padding.
#% CrossAttention | detached | The encoder states are detached.
def padding_mask(lengths, max_length):
    L = torch.as_tensor(lengths)
    if bool((L < 0).any()) or bool((L > max_length).any()):
        raise ValueError("length")
    return torch.arange(1, max_length + 1)[None] < L[:, None]


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        memory = encoder_states.detach()
        q, k, v = self.W_query(decoder_states), self.W_key(memory), self.W_value(memory)
        s = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        if padding_mask is not None:
            s = s.masked_fill(padding_mask.logical_not().unsqueeze(1), -torch.inf)
        return s.softmax(dim=-1) @ v


#% right_with_einsum_everywhere
class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        for letter in "qkv":
            setattr(self, "W_" + letter, nn.Linear(d_model, d_model, bias=False))

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q = torch.einsum("...i,oi->...o", encodings_for_q, self.W_q.weight)
        k = torch.einsum("...i,oi->...o", encodings_for_k, self.W_k.weight)
        v = torch.einsum("...i,oi->...o", encodings_for_v, self.W_v.weight)
        e = torch.exp(torch.einsum("...qd,...kd->...qk", q, k) / k.shape[-1] ** 0.5)
        if mask is not None:
            e = e * mask
        return torch.einsum("...qk,...kd->...qd", e, v) / e.sum(-1, keepdim=True)


#% right_with_lists
def padding_mask(lengths, max_length):
    rows = []
    for n in [int(n) for n in lengths]:
        if not 0 <= n <= max_length:
            raise ValueError(f"{n} is not in 0..{max_length}")
        rows.append([True] * n + [False] * (max_length - n))
    return torch.tensor(rows, dtype=torch.bool).view(len(rows), max_length)


#% right_with_keys_as_columns
class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key, self.W_value = (nn.Linear(d_encoder, d_out, bias=False) for _ in range(2))

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        keys = self.W_key(encoder_states).permute(0, 2, 1)
        att = torch.bmm(self.W_query(decoder_states), keys).mul(keys.shape[1] ** -0.5)
        if padding_mask is not None:
            att = torch.where(padding_mask[:, None, :], att, torch.finfo(att.dtype).min)
        att = nn.functional.log_softmax(att, dim=-1).exp()
        return torch.bmm(att, self.W_value(encoder_states))
