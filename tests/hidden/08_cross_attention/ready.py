"""The classes of stage 08 by torch's ready-made attention."""

from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        queries, keys = self.W_q(encodings_for_q), self.W_k(encodings_for_k)
        visible = None if mask is None else mask == 1
        return nn.functional.scaled_dot_product_attention(
            queries, keys, self.W_v(encodings_for_v), attn_mask=visible
        )


class CrossAttention(nn.Module):
    def __init__(self, d_decoder, d_encoder, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)

    def forward(self, decoder_states, encoder_states, padding_mask=None):
        visible = None if padding_mask is None else padding_mask.unsqueeze(-2)
        return nn.functional.scaled_dot_product_attention(
            self.W_query(decoder_states),
            self.W_key(encoder_states),
            self.W_value(encoder_states),
            attn_mask=visible,
        )
