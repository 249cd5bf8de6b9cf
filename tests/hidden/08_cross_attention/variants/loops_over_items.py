import torch
from torch import nn


class Attention(nn.Module):
    """Processes the items of a batch one by one, and the tokens of an item at once."""

    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.row_dim, self.col_dim = row_dim, col_dim
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        if encodings_for_q.ndim == 3:
            items = zip(encodings_for_q, encodings_for_k, encodings_for_v)
            return torch.stack([self.one(*item, mask) for item in items], dim=0)
        return self.one(encodings_for_q, encodings_for_k, encodings_for_v, mask)

    def one(self, x_q, x_k, x_v, mask):
        q, k, v = self.W_q(x_q), self.W_k(x_k), self.W_v(x_v)
        scores = q @ k.T / k.shape[1] ** 0.5
        if mask is not None:
            scores = scores.clone()
            scores[mask == 0] = float("-inf")
        return torch.softmax(scores, dim=1) @ v


def padding_mask(lengths, max_length):
    mask = torch.zeros((len(lengths), max_length), dtype=torch.bool)
    for i in range(len(lengths)):
        if lengths[i] < 0 or lengths[i] > max_length:
            raise ValueError("bad length")
        mask[i, : lengths[i]] = True
    return mask


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        contexts = []
        for b in range(decoder_states.shape[0]):
            kept = encoder_states[b]
            if padding_mask is not None:
                kept = kept[padding_mask[b]]
            q, k, v = self.W_query(decoder_states[b]), self.W_key(kept), self.W_value(kept)
            contexts.append(torch.softmax(q @ k.T / k.shape[1] ** 0.5, dim=-1) @ v)
        return torch.stack(contexts)
