import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, token_encodings, mask):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        sims = torch.matmul(q, k.transpose(dim0=self.row_dim, dim1=self.col_dim))
        percents = F.softmax(sims / torch.tensor(k.size(self.col_dim)) ** 0.5, dim=self.col_dim)
        percents = torch.where(mask.bool(), percents, torch.zeros_like(percents))
        return torch.matmul(percents, v)
