import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(Attention(d_model=d_model, row_dim=row_dim, col_dim=col_dim))
        self.num_heads = num_heads

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        total = 0
        for head in self.heads:
            total = total + head(encodings_for_q, encodings_for_k, encodings_for_v, mask)
        return total / self.num_heads
