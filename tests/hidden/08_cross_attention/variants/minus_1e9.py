import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.d_model = d_model
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        scores = self.W_q(encodings_for_q) @ self.W_k(encodings_for_k).mT
        scores = scores / self.d_model**0.5
        if mask is not None:
            scores = scores + (1.0 - mask) * -1e9
        return scores.softmax(dim=-1) @ self.W_v(encodings_for_v)


def padding_mask(lengths, max_length):
    lengths = [int(length) for length in lengths]
    if any(length not in range(max_length + 1) for length in lengths):
        raise ValueError("length out of range")
    return torch.tensor([[True] * n + [False] * (max_length - n) for n in lengths])


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        queries = self.W_query(decoder_states)
        keys = self.W_key(encoder_states)
        scores = queries @ keys.mT / keys.size(-1) ** 0.5
        if padding_mask is not None:
            lowest = torch.finfo(scores.dtype).min
            scores = scores.masked_fill(padding_mask.logical_not()[:, None], lowest)
        return scores.softmax(dim=-1) @ self.W_value(encoder_states)
