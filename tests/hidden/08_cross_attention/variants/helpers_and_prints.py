from math import sqrt

import torch
from torch import nn
from torch.nn.functional import softmax


class Base(nn.Module):
    def mix(self, queries, keys, values, keep=None):
        weights = softmax(hide(queries @ keys.mT / sqrt(queries.shape[-1]), keep), dim=-1)
        self.last_weights = weights.detach()
        return weights @ values


def hide(scores, keep):
    return scores if keep is None else scores.masked_fill(~keep, -torch.inf)


class Attention(Base):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, verbose=False):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.row_dim = row_dim
        self.col_dim = col_dim
        self.register_buffer("scale", torch.tensor(float(d_model)).sqrt())
        self.verbose = verbose

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q = self.W_q(encodings_for_q)
        k = self.W_k(encodings_for_k)
        v = self.W_v(encodings_for_v)
        return self.mix(q, k, v, mask if mask is None else mask > 0.5)


def padding_mask(lengths, max_length):
    lengths = torch.as_tensor(lengths)
    for bad in (lengths < 0, lengths > max_length):
        if bad.any():
            raise ValueError("lengths out of range: " + str(lengths[bad].tolist()))
    return torch.arange(max_length).expand(lengths.shape[0], max_length) < lengths.view(-1, 1)


class CrossAttention(Base):
    def __init__(self, d_decoder, d_encoder, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_encoder, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_encoder, d_out, bias=qkv_bias)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        keep = None if padding_mask is None else padding_mask.unsqueeze(1)
        keys, values = self.W_key(encoder_states), self.W_value(encoder_states)
        return self.mix(self.W_query(decoder_states), keys, values, keep)


print(padding_mask([1, 3], 3))
torch.manual_seed(42)
encodings = torch.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
attention = Attention(d_model=2, row_dim=0, col_dim=1)
print(attention.forward(encodings, encodings, encodings))
