"""Helpers, prints, a list of columns, and a demo."""

import math

import torch
from torch import Tensor, nn

print("stage 15")
ROOT = torch.tensor(2 / torch.pi).sqrt().item()


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError(f"{D} % {num_heads} != 0")
    return x.view(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        T = x.shape[1]
        assert T <= self.mask.shape[0]
        q, k, v = (split_heads(w(x), self.num_heads) for w in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(-1, -2) / k.size(-1) ** 0.5
        exponentials = torch.exp(scores - scores.amax(-1, keepdim=True)) * self.mask[:T, :T]
        weights = self.dropout(exponentials / exponentials.sum(-1, keepdim=True))
        return self.out_proj(merge_heads(weights @ v))


class Norm(nn.Module):
    """Divides by the root of the mean square, after *center*."""

    def __init__(self, d_model, eps):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def center(self, x):
        return x

    def forward(self, x):
        x = self.center(x)
        return x * self.scale / (x.pow(2).mean(dim=-1, keepdim=True) + self.eps).pow(0.5)


class LayerNorm(Norm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
        self.shift = nn.Parameter(torch.zeros(d_model))

    def center(self, x):
        return x - x.mean(dim=-1, keepdim=True)

    def forward(self, x):
        return super().forward(x) + self.shift


def gelu(x: Tensor) -> Tensor:
    argument = ROOT * (x + 0.044715 * x.pow(3))
    up, down = torch.exp(argument.clamp(max=40)), torch.exp(-argument.clamp(max=40))
    return 0.5 * x * (1 + (up - down) / (up + down))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in {"relu", "gelu"}:
            raise ValueError(f"{activation=}")
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)
        self.activation = activation

    def forward(self, x):
        x = self.linear1(x)
        x = gelu(x) if self.activation == "gelu" else x * (x > 0)
        return self.linear2(x)


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        return self._pre(x) if self.norm_first else self._post(x)

    def _pre(self, x):
        attended = self.att(self.norm1(x))
        middle = x + attended
        return middle + self.ff(self.norm2(middle))

    def _post(self, x):
        middle = self.norm1(x + self.att(x))
        return self.norm2(middle + self.ff(middle))


if __name__ == "__main__":
    print(TransformerBlock(MultiHeadAttention(4, 4, 8, 0.0, 2), 4, 16)(torch.randn(1, 8, 4)))


class BigramModel(nn.Module):
    def __init__(self, vocab_size: int):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        return torch.stack([self.table(row) for row in ids])


def new_block(d_model: int, context_length: int, num_heads: int, qkv_bias: bool) -> nn.Module:
    heads = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
    return TransformerBlock(heads, d_model, 4 * d_model, norm_first=True, activation="gelu")


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for i in range(num_layers):
            self.blocks.append(new_block(d_model, context_length, num_heads, qkv_bias))
            print("built block", i)
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def vectors(self, ids: Tensor) -> Tensor:
        places = torch.ones_like(ids).cumsum(dim=1) - 1
        return self.pos_emb(places) + self.tok_emb(ids)

    def forward(self, ids: Tensor) -> Tensor:
        if ids.shape[1] > self.pos_emb.num_embeddings:
            raise ValueError("too many tokens")
        x = self.vectors(ids)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        return self.final_norm(x) @ self.out_head.weight.T


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    sizes = {
        "tokens": vocab_size * d_model,
        "positions": context_length * d_model,
        "blocks": num_layers * (12 * d_model * d_model + 10 * d_model),
        "qkv biases": 3 * d_model * num_layers * qkv_bias,
        "last norm": 2 * d_model,
    }
    if tied is False:
        sizes["head"] = vocab_size * d_model
    print(sizes)
    return sum(sizes.values())


def average(old, new, beta):
    return beta * old + (1 - beta) * new


def unbiased(average_, beta, step):
    return average_ / (1 - beta**step)


def adamw_step(
    parameter,
    gradient,
    mean,
    square,
    step,
    learning_rate,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.01,
):
    if step < 1:
        raise ValueError("step counts from 1")
    mean = average(mean, gradient, betas[0])
    square = average(square, gradient * gradient, betas[1])
    change = unbiased(mean, betas[0], step) / (unbiased(square, betas[1], step).sqrt() + eps)
    print("largest change:", change.abs().max())
    return parameter - learning_rate * (change + weight_decay * parameter), mean, square


def joint_norm(gradients):
    return math.sqrt(sum(float(gradient.norm()) ** 2 for gradient in gradients))


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be above 0")
    norm = joint_norm(gradients)
    print("norm:", norm)
    factor = max_norm / norm if norm > max_norm else 1
    return tuple(factor * gradient for gradient in gradients), norm


def rate_at(step, steps, peak, warmup=0, floor=0.0):
    if not (0 <= warmup < steps):
        raise ValueError("the warm-up does not fit")
    if step < warmup:
        rate = peak * step / warmup
    elif step < steps:
        share = (step - warmup) / (steps - warmup)
        rate = floor + 0.5 * (peak - floor) * (1 + math.cos(share * math.pi))
    else:
        rate = floor
    print("rate:", rate)
    return rate


def pieces_of(ids, length):
    count = (len(ids) - 1) // length
    if not count:
        raise ValueError("the text is too short")
    return ids[: count * length].view(-1, length), ids[1 : count * length + 1].view(-1, length)


def estimate_loss(model, ids, length):
    inputs, targets = pieces_of(ids, length)
    training = model.training
    model.eval()
    with torch.no_grad():
        logits = model(inputs)
    if training:
        model.train()
    V = logits.shape[-1]
    return nn.functional.cross_entropy(logits.reshape(-1, V), targets.reshape(-1)).item()


def top_k_logits(logits: Tensor, k: int) -> Tensor:
    if k < 1 or k > logits.shape[-1]:
        raise ValueError("wrong k")
    rows = logits.reshape(-1, logits.shape[-1])
    result = []
    for row in rows:
        limit = sorted(row.tolist())[-k]
        result.append(row.masked_fill(row < limit, float("-inf")))
    return torch.stack(result).reshape(logits.shape)


def sample_next(logits: Tensor, temperature: float = 1.0, top_k: int | None = None) -> Tensor:
    if temperature < 0:
        raise ValueError("too cold")
    logits = top_k_logits(logits, logits.shape[-1] if top_k is None else top_k)
    if temperature == 0:
        return logits.argmax(1, keepdim=True)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1)


def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    columns = list(ids.unbind(dim=1))
    while len(columns) < ids.shape[1] + new_tokens:
        seen = torch.stack(columns[-context_length:], dim=1)
        with torch.no_grad():
            guesses = model(seen)
        columns.append(sample_next(guesses[:, seen.shape[1] - 1], temperature, top_k).squeeze(1))
    return torch.stack(columns, dim=1)


if __name__ == "__main__":
    print(count_parameters(50257, 1024, 768, 12, tied=True))
