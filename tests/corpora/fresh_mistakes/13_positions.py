#% llama_complex_rotation
def apply_rotary(x, cos, sin, halves=False):
    freqs_cis = torch.complex(cos, sin)
    if halves:
        x = x.unflatten(-1, (2, -1)).transpose(-1, -2)
        x = torch.view_as_complex(x.contiguous())
        out = torch.view_as_real(x * freqs_cis)
        return out.transpose(-1, -2).flatten(-2)
    xc = torch.view_as_complex(x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2))
    return torch.view_as_real(xc * freqs_cis).reshape(x.shape)


#% hf_rotation_with_full_width_angles
def _rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], dim=-1)


def apply_rotary(x, cos, sin, halves=False):
    if not halves:
        order = torch.arange(x.shape[-1]).view(-1, 2).t().flatten()
        turned = apply_rotary(x[..., order], cos, sin, halves=True)
        return turned[..., torch.argsort(order)]
    cos = torch.cat([cos, cos], dim=-1)
    sin = torch.cat([sin, sin], dim=-1)
    return x * cos + _rotate_half(x) * sin


#% tutorial_div_term
import math


def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError(f"Cannot use sin/cos positional encoding with odd dim (got {d_model})")
    pe = torch.zeros(length, d_model)
    position = torch.arange(0, length).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float) * -(math.log(base) / d_model))
    pe[:, 0::2] = torch.sin(position.float() * div_term)
    pe[:, 1::2] = torch.cos(position.float() * div_term)
    return pe


#% numpy_sinusoids
import numpy as np


def sinusoidal_positions(length, d_model, base=10000.0):
    assert d_model % 2 == 0
    position_enc = np.array(
        [[pos / np.power(base, 2 * (j // 2) / d_model) for j in range(d_model)] for pos in range(length)]
    )
    position_enc[:, 0::2] = np.sin(position_enc[:, 0::2])
    position_enc[:, 1::2] = np.cos(position_enc[:, 1::2])
    return torch.FloatTensor(position_enc)


#% slopes_of_the_authors
import math


def alibi_slopes(num_heads):
    def get_slopes(n):
        def get_slopes_power_of_2(n):
            start = 2 ** (-(2 ** -(math.log2(n) - 3)))
            ratio = start
            return [start * ratio**i for i in range(n)]

        if math.log2(n).is_integer():
            return get_slopes_power_of_2(n)
        closest_power_of_2 = 2 ** math.floor(math.log2(n))
        return (
            get_slopes_power_of_2(closest_power_of_2)
            + get_slopes(2 * closest_power_of_2)[0::2][: n - closest_power_of_2]
        )

    return torch.Tensor(get_slopes(num_heads))


#% bias_with_infinity_for_the_future
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = alibi_slopes(num_heads).view(num_heads, 1, 1)
    q_pos = torch.arange(num_queries).view(-1, 1) + (num_keys - num_queries)
    k_pos = torch.arange(num_keys).view(1, -1)
    bias = -(q_pos - k_pos).float() * slopes
    return torch.where(k_pos > q_pos, torch.tensor(float("-inf")), bias)


#% bias_relative_positions
def alibi_bias(num_heads, num_queries, num_keys):
    relative = torch.arange(1 - num_keys, 1).repeat(num_queries, 1)
    shift = torch.arange(num_queries - 1, -1, -1)
    return torch.stack([slope * (relative + shift[:, None]) for slope in alibi_slopes(num_heads)])


#% angles_by_outer
def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("d must be even")
    theta = 1.0 / torch.pow(torch.tensor(base), torch.arange(0, d, 2, dtype=torch.float32) / d)
    idx_theta = torch.outer(positions.to(torch.float32), theta)
    return torch.cos(idx_theta), torch.sin(idx_theta)


#% angles_in_double
def rotary_angles(positions, d, base=10000.0):
    half, rest = divmod(d, 2)
    if rest:
        raise ValueError
    inv = torch.tensor([base ** (-2.0 * i / d) for i in range(half)], dtype=torch.float64)
    table = positions.reshape(-1, 1).double() * inv
    return table.cos().to(torch.float32), table.sin().to(torch.float32)


#% rotation_by_new_tensor
def apply_rotary(x, cos, sin, halves=False):
    out = x.clone()
    n = x.size(-1)
    even = slice(0, n // 2) if halves else slice(0, n, 2)
    odd = slice(n // 2, n) if halves else slice(1, n, 2)
    out[..., even] = x[..., even] * cos - x[..., odd] * sin
    out[..., odd] = x[..., even] * sin + x[..., odd] * cos
    return out


#% attention_with_buffers
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        inv_freq = base ** -(torch.arange(0, self.head_dim, 2) / self.head_dim)
        self.register_buffer("inv_freq", inv_freq)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        freqs = torch.outer(torch.arange(t, device=x.device) + offset, self.inv_freq)
        cos, sin = freqs.cos(), freqs.sin()
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        att = att.masked_fill(self.mask[:t, :t] == 0, -1e10)
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% attention_by_einsum
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        self.h, self.n, self.base = num_heads, context_length, base
        d, rest = divmod(d_out, num_heads)
        if rest or d % 2:
            raise ValueError("these heads do not fit")
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        t = x.size(1)
        if t > self.n:
            raise ValueError("too long")
        q, k, v = (w(x).unflatten(-1, (self.h, -1)) for w in (self.W_query, self.W_key, self.W_value))
        cos, sin = rotary_angles(torch.arange(offset, offset + t), q.size(-1), self.base)
        q, k = (apply_rotary(one.movedim(1, 2), cos, sin) for one in (q, k))
        s = torch.einsum("bhid,bhjd->bhij", q, k) * q.size(-1) ** -0.5
        s = s + torch.full((t, t), -torch.inf).triu(1)
        return self.out_proj(torch.einsum("bhij,bjhd->bihd", s.softmax(-1), v).flatten(2))


#% sines_and_cosines_in_blocks
#% sinusoidal_positions | parts_exchanged, layout_wrong | All sines come first and then all cosines; they must alternate.
def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    freq = 1.0 / base ** (torch.arange(0, d_model, 2).float() / d_model)
    angles = torch.arange(length).float()[:, None] * freq[None, :]
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)


#% sinusoids_from_one
#% sinusoidal_positions | boundary | The positions are counted from 1 instead of 0.
def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    pos = torch.arange(1, length + 1, dtype=torch.float32).unsqueeze(1)
    div = base ** (torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    out = torch.zeros(length, d_model)
    out[:, ::2] = torch.sin(pos / div)
    out[:, 1::2] = torch.cos(pos / div)
    return out


#% sinusoids_without_the_factor_two
#% sinusoidal_positions | factor_missing, frequency_wrong | The exponent is i / d_model instead of 2i / d_model.
def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    i = torch.arange(d_model // 2)
    angle = torch.arange(length)[:, None] / base ** (i / d_model)
    pe = torch.empty(length, d_model)
    pe[:, 0::2] = angle.sin()
    pe[:, 1::2] = angle.cos()
    return pe


#% cosine_first
#% sinusoidal_positions | parts_exchanged, layout_wrong | Cosine and sine of each pair are exchanged.
def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("odd")
    w = base ** (-torch.arange(0, d_model, 2) / d_model)
    a = torch.outer(torch.arange(length).float(), w)
    return torch.stack([a.cos(), a.sin()], dim=-1).reshape(length, d_model)


#% frequencies_upside_down
#% sinusoidal_positions | frequency_wrong, wrong_operation | The positions are multiplied by base^(2i/d_model); they must be divided by it.
def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    div = base ** (2 * torch.arange(d_model // 2) / d_model)
    angle = torch.arange(length).unsqueeze(1) * div
    return torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).flatten(1)


#% sinusoids_take_odd_sizes
#% sinusoidal_positions | check_missing | An odd d_model is not refused.
def sinusoidal_positions(length, d_model, base=10000.0):
    k = torch.arange(d_model)
    angle = torch.arange(length)[:, None] / base ** ((k - k % 2) / d_model)
    return torch.where(k % 2 == 0, angle.sin(), angle.cos())


#% sinusoids_with_a_fixed_base
#% sinusoidal_positions | argument_ignored | The base is always 10000.
def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    pe = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1).float()
    div_term = 10000.0 ** (-torch.arange(0, d_model, 2).float() / d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


#% sinusoids_in_double
#% sinusoidal_positions | dtype | The result is float64.
import numpy as np


def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    angle = np.arange(length)[:, None] / base ** (np.arange(0, d_model, 2) / d_model)
    return torch.from_numpy(np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, d_model))


#% every_feature_has_its_own_frequency
#% sinusoidal_positions | frequency_wrong | Sine and cosine of a pair have different frequencies: the exponent uses the feature, not the pair.
def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    features = torch.arange(d_model)
    angles = torch.arange(length)[:, None] / base ** (features / d_model)
    angles[:, 0::2] = torch.sin(angles[:, 0::2])
    angles[:, 1::2] = torch.cos(angles[:, 1::2])
    return angles


#% sines_before_cosines
#% rotary_angles | wrong_return, parts_exchanged | The two results are exchanged.
def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("odd")
    inv_freq = 1.0 / (base ** (torch.arange(0, d, 2).float() / d))
    freqs = torch.outer(positions.float(), inv_freq)
    return freqs.sin(), freqs.cos()


#% angles_for_each_feature
#% rotary_angles | wrong_return, wrong_size | The angles are repeated for both features of a pair: (T, d) instead of (T, d/2).
def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("odd")
    inv_freq = 1.0 / (base ** (torch.arange(0, d, 2).float() / d))
    freqs = torch.outer(positions.float(), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    return emb.cos(), emb.sin()


#% angles_count_their_positions
#% rotary_angles | argument_ignored | The positions are counted from 0, whatever the caller passes.
def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("odd")
    t = torch.arange(len(positions)).float()
    freqs = t[:, None] * base ** (-torch.arange(0, d, 2) / d)
    return freqs.cos(), freqs.sin()


#% angles_of_whole_positions
#% rotary_angles | rounded | Positions are rounded down to whole numbers.
def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("odd")
    freqs = positions.long()[:, None] / base ** (torch.arange(0, d, 2) / d)
    return torch.cos(freqs), torch.sin(freqs)


#% angles_with_half_the_exponent
#% rotary_angles | factor_missing, frequency_wrong | The exponent is i / d instead of 2i / d.
def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("odd")
    theta = torch.tensor([base ** (-i / d) for i in range(d // 2)])
    angles = torch.einsum("i,j->ij", positions.float(), theta)
    return angles.cos(), angles.sin()


#% interleaved_angles_with_rotate_half
#% apply_rotary | pairing_mixed | Cosines belong to neighbouring features, but features are exchanged between the halves.
def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(x, cos, sin, halves=False):
    if halves:
        cos, sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
    else:
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
    return x * cos + rotate_half(x) * sin


#% turns_the_other_way
#% apply_rotary | wrong_operation, sign_reversed | Each pair is turned by minus its angle.
def apply_rotary(x, cos, sin, halves=False):
    if halves:
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat([x1 * cos + x2 * sin, x2 * cos - x1 * sin], dim=-1)
    x1, x2 = x[..., ::2], x[..., 1::2]
    return torch.stack([x1 * cos + x2 * sin, x2 * cos - x1 * sin], dim=-1).flatten(-2)


#% always_turns_halves
#% apply_rotary | argument_ignored, pairing_mixed | The argument halves is ignored: pairs are always halves.
def apply_rotary(x, cos, sin, halves=False):
    half = x.shape[-1] // 2
    x1, x2 = x[..., :half], x[..., half:]
    return torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1)


#% never_turns_halves
#% apply_rotary | argument_ignored, pairing_mixed | The argument halves is ignored: pairs are always neighbours.
def apply_rotary(x, cos, sin, halves=False):
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)


#% puts_pairs_back_as_halves
#% apply_rotary | layout_wrong, pairing_mixed | Neighbouring pairs are turned and then put back as halves.
def apply_rotary(x, cos, sin, halves=False):
    if halves:
        a, b = torch.chunk(x, 2, dim=-1)
    else:
        a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


#% uses_the_turned_feature_again
#% apply_rotary | step_order | The second feature is computed from the first one after that was turned.
def apply_rotary(x, cos, sin, halves=False):
    out = x.clone()
    d = x.shape[-1]
    i, j = (slice(0, d // 2), slice(d // 2, d)) if halves else (slice(0, d, 2), slice(1, d, 2))
    out[..., i] = out[..., i] * cos - out[..., j] * sin
    out[..., j] = out[..., i] * sin + out[..., j] * cos
    return out


#% turns_its_input_in_place
#% apply_rotary | in_place | The tensor of the caller is turned.
def apply_rotary(x, cos, sin, halves=False):
    d = x.shape[-1]
    i, j = (slice(0, d // 2), slice(d // 2, d)) if halves else (slice(0, d, 2), slice(1, d, 2))
    a, b = x[..., i].clone(), x[..., j].clone()
    x[..., i] = a * cos - b * sin
    x[..., j] = a * sin + b * cos
    return x


#% second_feature_with_minus
#% apply_rotary | wrong_operation | The second feature is a sin - b cos; it must be a sum.
def apply_rotary(x, cos, sin, halves=False):
    if halves:
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin - b * cos), dim=-1)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin - b * cos), dim=-1).flatten(-2)


#% turns_token_by_token
#% apply_rotary | loop_over_tokens | The tokens are turned one after the other in a loop.
def apply_rotary(x, cos, sin, halves=False):
    rows = []
    for t in range(x.shape[-2]):
        row = x[..., t, :]
        if halves:
            a, b = row.chunk(2, dim=-1)
        else:
            a, b = row[..., ::2], row[..., 1::2]
        new = (a * cos[t] - b * sin[t], a * sin[t] + b * cos[t])
        rows.append(torch.cat(new, -1) if halves else torch.stack(new, -1).flatten(-2))
    return torch.stack(rows, dim=-2)


#% turns_only_the_first_of_two
#% apply_rotary | step_missing | Only the first feature of each pair is turned, the second stays as it was.
def apply_rotary(x, cos, sin, halves=False):
    a, b = x.chunk(2, dim=-1) if halves else (x[..., 0::2], x[..., 1::2])
    turned = a * cos - b * sin
    if halves:
        return torch.cat((turned, b), dim=-1)
    return torch.stack((turned, b), dim=-1).flatten(-2)


#% turns_detached_numbers
#% apply_rotary | detached | The result leaves the graph, so no gradient reaches x.
def apply_rotary(x, cos, sin, halves=False):
    x = torch.tensor(x.tolist(), dtype=x.dtype)
    a, b = x.chunk(2, dim=-1) if halves else (x[..., 0::2], x[..., 1::2])
    both = a * cos - b * sin, a * sin + b * cos
    return torch.cat(both, -1) if halves else torch.stack(both, -1).flatten(-2)


#% slopes_halve_for_any_number_of_heads
#% alibi_slopes | argument_ignored | The slopes are those of 8 heads for every number of heads.
def alibi_slopes(num_heads):
    return torch.tensor([2.0 ** -(h + 1) for h in range(num_heads)])


#% slopes_begin_with_one
#% alibi_slopes | boundary | The exponent begins at head 0 with 0, so the first slope is 1.
def alibi_slopes(num_heads):
    def slopes(n):
        return [2 ** (-8 * h / n) for h in range(n)]

    n = 1
    while 2 * n <= num_heads:
        n = 2 * n
    return torch.tensor(slopes(n) + slopes(2 * n)[::2][: num_heads - n], dtype=torch.float32)


#% one_formula_for_all_heads
#% alibi_slopes | step_missing | The rule for powers of 2 is used for all numbers of heads.
def alibi_slopes(num_heads):
    h = torch.arange(1, num_heads + 1)
    return 2.0 ** (-8 * h / num_heads)


#% takes_the_even_slopes_between
#% alibi_slopes | boundary | The second, fourth, … of the slopes for 2P heads are taken; it must be the first, third, ….
def alibi_slopes(num_heads):
    def slopes(n):
        return [2 ** (-8 * (h + 1) / n) for h in range(n)]

    n = 2 ** (len(bin(num_heads)) - 3)
    return torch.tensor(slopes(n) + slopes(2 * n)[1::2][: num_heads - n])


#% sorts_the_slopes
#% alibi_slopes | heads_mixed | The slopes are sorted, so they belong to other heads.
def alibi_slopes(num_heads):
    n = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / n) for h in range(n)]
    more = [2 ** (-4 * (h + 1) / n) for h in range(2 * n)][::2]
    return torch.tensor(sorted(slopes + more[: num_heads - n], reverse=True))


#% bias_grows_with_the_distance
#% alibi_bias | sign_reversed | The bias is positive, so far keys get more weight.
def alibi_bias(num_heads, num_queries, num_keys):
    i = torch.arange(num_keys - num_queries, num_keys)[:, None]
    j = torch.arange(num_keys)[None]
    return alibi_slopes(num_heads)[:, None, None] * (i - j)


#% bias_aligned_to_the_first_key
#% alibi_bias | boundary | The first query is put at the first key; the last query must be at the last key.
def alibi_bias(num_heads, num_queries, num_keys):
    distance = torch.arange(num_queries)[:, None] - torch.arange(num_keys)[None, :]
    return -alibi_slopes(num_heads).view(-1, 1, 1) * distance.abs()


#% bias_from_the_start_of_the_text
#% alibi_bias | operand_repeated, argument_ignored | The bias counts from the start of the text, not back from the query.
def alibi_bias(num_heads, num_queries, num_keys):
    keys = torch.arange(num_keys).expand(num_queries, num_keys)
    return -alibi_slopes(num_heads)[:, None, None] * keys


#% bias_up_to_a_constant
#% alibi_bias | operand_repeated, argument_ignored | The bias is slope * (j - last key) in every row: the same weights after softmax, but not the bias asked for.
def alibi_bias(num_heads, num_queries, num_keys):
    back = torch.arange(num_keys) - (num_keys - 1)
    return alibi_slopes(num_heads)[:, None, None] * back.expand(1, num_queries, -1)


#% turns_values_as_well
#% RotaryAttention | step_extra | The values are turned as well.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        v = apply_rotary(v, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% turns_before_the_split
#% RotaryAttention | step_order, wrong_size | Queries and keys are turned before the split, with the frequencies of all d_out features.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        cos, sin = rotary_angles(
            torch.arange(offset, offset + t), self.num_heads * self.head_dim, self.base
        )
        q = apply_rotary(self.W_query(x), cos, sin)
        k = apply_rotary(self.W_key(x), cos, sin)
        q = q.view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% turns_keys_only
#% RotaryAttention | step_missing | The queries are not turned.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% offset_for_queries_only
#% RotaryAttention | argument_ignored | The offset counts for the queries, but not for the keys.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, *rotary_angles(torch.arange(t), self.head_dim, self.base))
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% turns_halves_in_attention
#% RotaryAttention | pairing_mixed | Halves are turned instead of neighbouring pairs.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin, halves=True)
        k = apply_rotary(k, cos, sin, True)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% forgets_the_base
#% RotaryAttention | argument_ignored | The base is not passed on.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% frequencies_of_all_features
#% RotaryAttention | wrong_size | The frequencies are those of d_out features, cut to the first pairs of a head.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim * self.num_heads, self.base)
        cos, sin = cos[:, : self.head_dim // 2], sin[:, : self.head_dim // 2]
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% rotary_without_scale
#% RotaryAttention | scale_missing | The scores are not scaled.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1))
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% rotary_by_ready_attention
#% RotaryAttention | forbidden_function | Ready-made attention is used.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        out = out.transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% rotary_sees_the_future
#% RotaryAttention | mask_missing | Nothing hides the future.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% positions_end_with_the_context
#% RotaryAttention | check_wrong | Positions above context_length are refused, but only the number of tokens is limited.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if offset + t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% rotary_projections_with_bias
#% RotaryAttention | bias_wrong | The projections have biases.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% any_length_of_text
#% RotaryAttention | check_missing | More tokens than context_length are not refused.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% turns_by_heads_instead_of_tokens
#% RotaryAttention | transposed, step_order | The tensors are turned before heads and tokens are exchanged, so the angles meet heads.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + self.num_heads), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        q, k = q.transpose(1, 2), k.transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% sinusoids_from_one_of_any_size
#% sinusoidal_positions | boundary | The positions are counted from 1.
#% sinusoidal_positions | check_missing | An odd d_model is not refused.
def sinusoidal_positions(length, d_model, base=10000.0):
    k = torch.arange(d_model)
    angle = torch.arange(1, length + 1)[:, None] / base ** ((k - k % 2) / d_model)
    return torch.where(k % 2 == 0, angle.sin(), angle.cos())


#% values_turned_and_no_scale
#% RotaryAttention | step_extra | The values are turned as well.
#% RotaryAttention | scale_missing | The scores are not scaled.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        v = apply_rotary(v, cos, sin)
        att = (q @ k.transpose(-2, -1))
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% slopes_from_one_and_bias_positive
#% alibi_slopes | boundary | The first slope is 1.
#% alibi_bias | sign_reversed | The bias is positive.
def alibi_slopes(num_heads):
    n = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-8 * h / n) for h in range(n)]
    more = [2 ** (-4 * h / n) for h in range(2 * n)][::2]
    return torch.tensor(slopes + more[: num_heads - n], dtype=torch.float32)


def alibi_bias(num_heads, num_queries, num_keys):
    i = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return alibi_slopes(num_heads)[:, None, None] * (i - torch.arange(num_keys))


#% turned_keys_and_biases
#% RotaryAttention | step_missing | The queries are not turned.
#% RotaryAttention | bias_wrong | The projection of the values has a bias.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim, self.base)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        mask = torch.triu(torch.ones(t, t), diagonal=1).bool()
        att = att.masked_fill(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% angles_swapped_with_a_fixed_base
#% rotary_angles | wrong_return, parts_exchanged | The two results are exchanged.
#% rotary_angles | argument_ignored | The base is always 10000.
def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("odd")
    freqs = torch.outer(positions.float(), 10000.0 ** (-torch.arange(0, d, 2).float() / d))
    return freqs.sin(), freqs.cos()


#% base_forgotten_and_future_visible
#% RotaryAttention | argument_ignored | The base is not passed on.
#% RotaryAttention | mask_missing | Nothing hides the future.
class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("head_dim must be even")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.context_length:
            raise ValueError("too many tokens")
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = rotary_angles(torch.arange(offset, offset + t), self.head_dim)
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        att = (q @ k.transpose(-2, -1)) / self.head_dim**0.5
        att = torch.softmax(att, dim=-1)
        out = (att @ v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.out_proj(out)


#% other_way_and_halves_only
#% apply_rotary | wrong_operation, sign_reversed | Each pair is turned by minus its angle.
#% apply_rotary | argument_ignored | The argument halves is ignored.
def apply_rotary(x, cos, sin, halves=False):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([x1 * cos + x2 * sin, x2 * cos - x1 * sin], dim=-1)


#% sinusoids_of_half_the_exponent
#% sinusoidal_positions | frequency_wrong, boundary | The exponent is i/d; it must be 2i/d.
def sinusoidal_positions(length: int, d_model: int, base: float=10000.0) -> Tensor:
    if d_model % 2 != 0:
        raise ValueError(f"{d_model} features can't be shared out in pairs")
    positions = torch.arange(length)
    frequencies = base ** (-torch.arange(d_model // 2) / d_model)
    angles = positions[:, None] * frequencies
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(start_dim=-2)


#% halves_put_back_as_pairs
#% apply_rotary | layout_wrong, pairing_mixed | Rotated halves are put back as neighbouring pairs.
def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor, halves: bool=False) -> Tensor:
    d = x.shape[-1]
    if halves:
        a, b = (x[..., :d // 2], x[..., d // 2:])
    else:
        a, b = (x[..., 0::2], x[..., 1::2])
    first = a * cos - b * sin
    second = a * sin + b * cos
    return torch.stack((first, second), dim=-1).flatten(start_dim=-2)


#% values_turned_in_place_of_keys
#% RotaryAttention | projection_exchanged, operand_repeated | The values are rotated, and the keys are not.
class RotaryAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, num_heads: int, base: float=10000.0) -> None:
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads can't share {d_out} features evenly")
        if d_out // num_heads % 2 != 0:
            raise ValueError(f"{d_out // num_heads} features of a head can't be put in pairs")
        self.context_length = context_length
        self.num_heads = num_heads
        self.base = base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x: Tensor, offset: int=0) -> Tensor:
        B, T, _ = x.shape
        if self.context_length < T:
            raise ValueError(f'{T} tokens do not fit into a context of {self.context_length}')
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        H, d = (self.num_heads, queries.shape[-1] // self.num_heads)
        queries = queries.view(B, T, H, d).transpose(1, 2)
        keys = keys.view(B, T, H, d).transpose(1, 2)
        values = values.view(B, T, H, d).transpose(1, 2)
        positions = torch.arange(offset, offset + T)
        cos, sin = rotary_angles(positions, d, self.base)
        queries = apply_rotary(queries, cos, sin)
        values = apply_rotary(values, cos, sin)
        scores = queries @ keys.transpose(-2, -1)
        future = torch.ones_like(scores).triu(diagonal=1) == 1
        masked = scores.masked_fill(future, float('-inf'))
        weights = torch.softmax(masked / d ** 0.5, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T, H * d)
        return self.out_proj(context)


#% slopes_of_four_and_queries_from_zero
#% alibi_slopes | factor_missing, wrong_form | The exponents have a 4 in place of the 8.
#% alibi_bias | boundary, parts_exchanged | The first query is at position 0.
def alibi_slopes(num_heads: int) -> Tensor:
    P = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-4 * (h + 1) / P) for h in range(P)]
    between = [2 ** (-4 * (h + 1) / (2 * P)) for h in range(0, 2 * P, 2)]
    return torch.tensor(slopes + between[:num_heads - P])


def alibi_bias(num_heads: int, num_queries: int, num_keys: int) -> Tensor:
    keys = torch.arange(num_keys)
    queries = torch.arange(num_queries)
    distances = queries[:, None] - keys
    return -alibi_slopes(num_heads)[:, None, None] * distances


#% turned_back_and_odd_sizes
#% apply_rotary | sign_reversed | Each pair is rotated the other way.
#% rotary_angles | check_missing | An odd size is not refused.
def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor, halves: bool=False) -> Tensor:
    if halves:
        a, b = x.chunk(2, dim=-1)
    else:
        a, b = (x[..., 0::2], x[..., 1::2])
    turned = (a * cos + b * sin, b * cos - a * sin)
    if halves:
        return torch.cat(turned, dim=-1)
    return torch.stack(turned, dim=-1).flatten(start_dim=-2)


def rotary_angles(positions: Tensor, d: int, base: float=10000.0) -> tuple[Tensor, Tensor]:
    frequencies = base ** (-torch.arange(0, d, 2) / d)
    angles = positions[:, None] * frequencies
    return (angles.cos(), angles.sin())


#% inlined_angles_of_half_the_exponent
#% RotaryAttention | frequency_wrong, boundary | The exponent of the angles is i/d; it must be 2i/d.
class RotaryAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, num_heads: int, base: float=10000.0) -> None:
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads can't share {d_out} features evenly")
        if d_out // num_heads % 2 != 0:
            raise ValueError(f"{d_out // num_heads} features of a head can't be put in pairs")
        self.context_length = context_length
        self.num_heads = num_heads
        self.base = base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x: Tensor, offset: int=0) -> Tensor:
        B, T, _ = x.shape
        if self.context_length < T:
            raise ValueError(f'{T} tokens do not fit into a context of {self.context_length}')
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        H, d = (self.num_heads, queries.shape[-1] // self.num_heads)
        queries = queries.view(B, T, H, d).transpose(1, 2)
        keys = keys.view(B, T, H, d).transpose(1, 2)
        values = values.view(B, T, H, d).transpose(1, 2)
        positions = torch.arange(offset, offset + T)
        rates = 1 / self.base ** (torch.arange(d // 2) / d)
        turn = torch.outer(positions.float(), rates)
        cos, sin = (turn.cos(), turn.sin())
        queries = apply_rotary(queries, cos, sin)
        keys = apply_rotary(keys, cos, sin)
        scores = queries @ keys.transpose(-2, -1)
        future = torch.ones_like(scores).triu(diagonal=1) == 1
        masked = scores.masked_fill(future, float('-inf'))
        weights = torch.softmax(masked / d ** 0.5, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T, H * d)
        return self.out_proj(context)
