import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        q, k = self.W_query(decoder_states), self.W_key(encoder_states)
        att = torch.bmm(q, k.mT) / k.size(-1) ** 0.5
        att = att.masked_fill(padding_mask[:, None] == 0, -torch.inf) if padding_mask else att
        return torch.bmm(att.softmax(-1), self.W_value(encoder_states))
