import torch
from torch import nn


def attend(q, k, v, hidden=None):
    scores = q.double() @ k.double().transpose(-2, -1) / k.shape[-1] ** 0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    return (torch.softmax(scores, dim=-1) @ v.double()).to(v.dtype)


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        hidden = None if mask is None else mask == 0
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        return attend(q, k, v, hidden)


def padding_mask(lengths, max_length):
    positions = torch.arange(max_length)
    keep = []
    for length in lengths:
        if not 0 <= length <= max_length:
            raise ValueError(f"{length} is not between 0 and {max_length}")
        keep.append(positions < length)
    return torch.stack(keep)


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        hidden = None if padding_mask is None else ~padding_mask[:, None]
        keys, values = self.W_key(encoder_states), self.W_value(encoder_states)
        return attend(self.W_query(decoder_states), keys, values, hidden)
