import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.scale = d_decoder**-0.5
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        Q = self.W_query(decoder_states)
        K, V = self.W_key(encoder_states), self.W_value(encoder_states)
        add = Q.new_zeros(K.size(0), 1, K.size(1))
        if padding_mask is not None:
            add = add.masked_fill(padding_mask[:, None].logical_not(), -torch.inf)
        att = torch.baddbmm(add, Q, K.mT, alpha=self.scale)
        return torch.bmm(F.softmax(att, -1), V)
