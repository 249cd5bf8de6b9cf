import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q = self.W_query(decoder_states)
        k = self.W_value(encoder_states)
        v = self.W_key(encoder_states)
        att = torch.einsum("bqd,bkd->bqk", q, k).div(q.size(-1) ** 0.5)
        if padding_mask is not None:
            att[~padding_mask[:, None, :].expand_as(att)] = float("-inf")
        return torch.einsum("bqk,bkd->bqd", torch.softmax(att, -1), v)
