"""Writes Attention as document 001 does, and the rest in the same style."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_k = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_v = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        queries = self.W_q(encodings_for_q)
        keys = self.W_k(encodings_for_k)
        values = self.W_v(encodings_for_v)
        sims = torch.matmul(queries, keys.transpose(dim0=self.row_dim, dim1=self.col_dim))
        sims = sims / torch.tensor(keys.size(self.col_dim) ** 0.5)
        if mask is not None:
            sims = sims.masked_fill(mask == 0, float("-inf"))
        percents = F.softmax(sims, dim=self.col_dim)
        return torch.matmul(percents, values)


def padding_mask(lengths, max_length):
    mask = torch.zeros(len(lengths), max_length)
    for row, length in enumerate(lengths):
        if length < 0 or length > max_length:
            raise ValueError("a length does not fit")
        mask[row, :length] = 1
    return mask == 1


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(in_features=d_decoder, out_features=d_out, bias=False)
        self.W_key = nn.Linear(in_features=d_encoder, out_features=d_out, bias=False)
        self.W_value = nn.Linear(in_features=d_encoder, out_features=d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        queries = self.W_query(decoder_states)
        keys = self.W_key(encoder_states)
        values = self.W_value(encoder_states)
        sims = torch.matmul(queries, keys.transpose(dim0=1, dim1=2))
        sims = sims / torch.tensor(keys.size(2) ** 0.5)
        if padding_mask is not None:
            sims = sims.masked_fill(padding_mask[:, None, :] == 0, float("-inf"))
        return torch.matmul(F.softmax(sims, dim=2), values)
