import math

import torch
from torch import einsum, nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.scale = math.sqrt(d_model)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        scores = einsum("...qd,...kd->...qk", q, k) / self.scale
        if mask is not None:
            scores = torch.where(mask.bool(), scores, float("-inf"))
        return einsum("...qk,...kd->...qd", scores.softmax(-1), v)


def padding_mask(lengths, max_length):
    lengths = lengths if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)
    assert lengths.min() >= 0 and lengths.max() <= max_length
    return torch.arange(max_length)[None, :].lt(lengths[:, None])


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        queries = einsum("bqi,oi->bqo", decoder_states, self.W_query.weight)
        keys = einsum("bki,oi->bko", encoder_states, self.W_key.weight)
        values = einsum("bki,oi->bko", encoder_states, self.W_value.weight)
        scores = einsum("bqo,bko->bqk", queries, keys) * queries.size(-1) ** -0.5
        if padding_mask is not None:
            keep = padding_mask.unsqueeze(1).expand_as(scores)
            scores = torch.where(keep, scores, torch.tensor(float("-inf")))
        return einsum("bqk,bko->bqo", torch.softmax(scores, dim=2), values)
