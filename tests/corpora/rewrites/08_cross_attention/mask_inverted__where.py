import math

import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        queries = self.W_query(decoder_states)
        keys = self.W_key(encoder_states)
        scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(keys.size(-1))
        if padding_mask is not None:
            scores = torch.where(padding_mask[:, None, :], float("-inf"), scores)
        return torch.einsum("bqk,bkd->bqd", scores.softmax(2), self.W_value(encoder_states))
