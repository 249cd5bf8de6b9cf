import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        return torch.zeros(encodings_for_q.shape)


def padding_mask(lengths, max_length):
    if max(lengths) > max_length or min(lengths) < 0:
        raise ValueError
    return torch.zeros(len(lengths), max_length, dtype=torch.bool)


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)
        self.d_out = d_out

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        return torch.zeros(*decoder_states.shape[:-1], self.d_out)
