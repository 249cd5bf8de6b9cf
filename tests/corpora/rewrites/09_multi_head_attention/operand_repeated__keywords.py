import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        heads = []
        for _ in range(num_heads):
            heads.append(Attention(d_model, row_dim, col_dim))
        self.heads = nn.ModuleList(heads)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        x = encodings_for_q
        out = self.heads[0](x, x, x, mask=mask)
        for h in self.heads[1:]:
            out = torch.cat((out, h(x, x, x, mask=mask)), dim=-1)
        return out
