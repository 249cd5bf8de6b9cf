"""A correct solution with helpers, prints and a loop over predictions, allowed in a loss."""

import torch
from torch import nn

VERBOSE = True


def log_sum_exp(row):
    top = row.max()
    return top + (row - top).exp().sum().log()


def log_softmax(logits):
    rows = logits.reshape(-1, logits.shape[-1])
    out = [row - log_sum_exp(row) for row in rows]
    return torch.stack(out).reshape(logits.shape)


def cross_entropy(logits, targets):
    """Mean loss."""
    if tuple(targets.shape) != tuple(logits.shape[:-1]):
        raise ValueError(f"bad shapes: {logits.shape}, {targets.shape}")
    total = 0
    rows = log_softmax(logits).flatten(0, -2)
    for row, target in zip(rows, targets.flatten()):
        total = total - row[target]
    return total / targets.numel()


class Head(nn.Module):
    def forward(self, q, k, v):
        exponentials = torch.exp((s := q @ k.transpose(1, 2) / q.size(-1) ** 0.5) - s.amax(-1, True))
        return exponentials / exponentials.sum(-1, keepdim=True) @ v


class Reader(nn.Module):
    def __init__(self, vocab_size: int, d_model: int, context_length: int, verbose: bool = VERBOSE):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        self.head = Head()
        self.register_buffer("positions", torch.arange(context_length), persistent=False)
        if verbose:
            print("Reader with", sum(p.numel() for p in self.parameters()), "parameters")

    def forward(self, ids):
        _, T = ids.shape
        if T > len(self.positions):
            raise ValueError(f"T = {T} is more than {len(self.positions)}")
        x = torch.add(self.tok_emb(ids), self.pos_emb(self.positions[:T])[None])
        return self.out_head(self.head(self.W_query(x), self.W_key(x), self.W_value(x)))


def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for name, param in model.named_parameters():
            if param.grad is None:
                print(name, "is not trained")
                continue
            param.copy_(param - learning_rate * param.grad)
            param.grad.zero_()
    return loss.item()


def train(model, batches, learning_rate):
    losses = []
    for step, (ids, targets) in enumerate(batches):
        losses.append(train_step(model, ids, targets, learning_rate))
        if step % 10 == 0:
            print(step, losses[-1])
    return losses
