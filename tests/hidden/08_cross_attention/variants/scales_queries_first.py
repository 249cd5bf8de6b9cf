import torch
from torch import nn


class Attention(nn.Module):
    """Masks the weights after softmax and normalizes them again."""

    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, False)
        self.W_k = nn.Linear(d_model, d_model, False)
        self.W_v = nn.Linear(d_model, d_model, False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q = self.W_q(encodings_for_q) * self.W_q.in_features**-0.5
        weights = torch.softmax(q @ self.W_k(encodings_for_k).transpose(-1, -2), -1)
        if mask is not None:
            weights = weights * mask
            weights = weights / weights.sum(-1, keepdim=True)
        return weights @ self.W_v(encodings_for_v)


def padding_mask(lengths, max_length):
    lengths = torch.as_tensor(lengths, dtype=torch.long)
    if not torch.equal(lengths, lengths.clamp(0, max_length)):
        raise ValueError("no such length")
    edges = torch.ones(max_length + 1, max_length).tril(-1).bool()
    return edges[lengths]


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, False)
        self.W_key = nn.Linear(d_encoder, d_out, False)
        self.W_value = nn.Linear(d_encoder, d_out, False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q = self.W_query(decoder_states)
        q = q / q.shape[-1] ** 0.5
        shares = (q @ self.W_key(encoder_states).transpose(-1, -2)).exp()
        if padding_mask is not None:
            shares = shares * padding_mask[:, None, :]
        shares = shares / shares.sum(dim=-1, keepdim=True)
        return shares @ self.W_value(encoder_states)
