from torch import nn


def residual(part, norm, x):
    x = norm(x)
    return part(x) + x


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm1, self.norm2 = (LayerNorm(d_model) for _ in range(2))
        self.norm_first = norm_first

    def forward(self, x):
        for part, norm in ((self.att, self.norm1), (self.ff, self.norm2)):
            x = residual(part, norm, x) if self.norm_first else norm(part(x) + x)
        return x
