import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super(Attention, self).__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.batched = row_dim == 1

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        if not self.batched:
            q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
        scores = torch.bmm(q, k.permute(0, 2, 1))
        if mask is not None:
            scores = scores.masked_fill(torch.logical_not(mask), -torch.inf)
        scores = scores / k.shape[2] ** 0.5
        context = torch.bmm(nn.functional.softmax(scores, dim=2), v)
        return context if self.batched else context.squeeze(0)


def padding_mask(lengths, max_length):
    lengths = torch.as_tensor(lengths).reshape(-1, 1)
    if bool((lengths < 0).any()):
        raise ValueError("negative length")
    if bool((lengths > max_length).any()):
        raise ValueError("length above max_length")
    positions = torch.arange(1, max_length + 1).repeat(len(lengths), 1)
    return positions <= lengths


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super(CrossAttention, self).__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        queries = self.W_query(decoder_states)
        keys = self.W_key(encoder_states)
        values = self.W_value(encoder_states)
        bias = queries.new_zeros(queries.shape[0], queries.shape[1], keys.shape[1])
        if padding_mask is not None:
            bias = bias.masked_fill(padding_mask.unsqueeze(1) == False, float("-inf"))
        scores = torch.baddbmm(bias, queries, keys.transpose(1, 2), alpha=keys.shape[-1] ** -0.5)
        return torch.bmm(self.softmax(scores), values)
