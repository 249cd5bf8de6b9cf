"""Uses one rotation matrix for each position, float64, and torch.nn.functional."""

import torch
import torch.nn.functional as F
from torch import nn


def _pairs(features):
    if features % 2:
        raise ValueError(f"{features} is odd")
    return torch.arange(features // 2, dtype=torch.float64) * 2 / features


def sinusoidal_positions(length, d_model, base=10000.0):
    exponents = _pairs(d_model)
    angles = torch.outer(torch.arange(length, dtype=torch.float64), base**-exponents)
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, ::2] = torch.sin(angles)
    table[:, 1::2] = torch.sin(angles + torch.pi / 2)
    return table.float()


def rotary_angles(positions, d, base=10000.0):
    angles = torch.outer(positions.double(), base ** -_pairs(d))
    wanted = positions.dtype if positions.is_floating_point() else torch.get_default_dtype()
    return angles.cos().to(wanted), angles.sin().to(wanted)


def apply_rotary(x, cos, sin, halves=False):
    d = x.shape[-1]
    first = torch.arange(d // 2) if halves else torch.arange(0, d, 2)
    second = first + d // 2 if halves else first + 1
    select = F.one_hot(torch.cat((first, second)), d).to(x.dtype)  # rows: the pairs' places
    one, two = select[: d // 2], select[d // 2 :]
    cos, sin = cos[:, :, None, None], sin[:, :, None, None]
    keep = one[:, :, None] * one[:, None] + two[:, :, None] * two[:, None]
    turn = two[:, :, None] * one[:, None] - one[:, :, None] * two[:, None]
    matrices = (cos * keep + sin * turn).sum(dim=1)  # (T, d, d)
    return torch.matmul(matrices, x[..., None]).squeeze(-1)


def alibi_slopes(num_heads):
    def of_power(heads):
        return torch.logspace(-8 / heads, -8, heads, base=2.0, dtype=torch.float64)

    power = 1 << (num_heads.bit_length() - 1)
    more = of_power(2 * power)[::2][: num_heads - power]
    return torch.cat((of_power(power), more)).float()


def alibi_bias(num_heads, num_queries, num_keys):
    behind = torch.arange(num_keys - 1, -1, -1)[None] - torch.arange(num_queries - 1, -1, -1)[:, None]
    return torch.einsum("h,qk->hqk", alibi_slopes(num_heads), -behind.float())


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} % {num_heads} != 0")
        _pairs(d_out // num_heads)
        self.num_heads, self.longest, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        tokens = x.shape[1]
        if tokens > self.longest:
            raise ValueError(f"{tokens} > {self.longest}")
        q, k, v = (
            F.linear(x, layer.weight).unflatten(-1, (self.num_heads, -1)).movedim(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        cos, sin = rotary_angles(torch.arange(tokens) + offset, q.shape[-1], self.base)
        q, k = (apply_rotary(one, cos.to(x), sin.to(x)) for one in (q, k))
        scores = torch.matmul(q, k.mT) / q.shape[-1] ** 0.5
        hidden = torch.full_like(scores, -torch.inf).triu(1)
        context = torch.matmul(F.softmax(scores + hidden, dim=-1), v)
        return F.linear(context.movedim(1, 2).flatten(2), self.out_proj.weight, self.out_proj.bias)
