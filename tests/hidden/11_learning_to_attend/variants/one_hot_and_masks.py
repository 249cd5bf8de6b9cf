"""A correct solution in a different idiom: one-hot targets, einsum, and autograd.grad."""

import torch
import torch.nn.functional as F
from torch import nn


def log_softmax(logits):
    largest = logits.max(dim=-1, keepdim=True).values.detach()
    exponentials = torch.exp(logits - largest)
    return logits - largest - torch.log(exponentials.sum(-1, keepdim=True))


def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    wanted = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return -(wanted * log_softmax(logits)).sum(-1).mean()


class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        self.context_length = context_length

    def forward(self, ids):
        if ids.size(1) > self.context_length:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb.weight[: ids.size(1)]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bqd,bkd->bqk", q, k) * k.size(-1) ** -0.5
        return self.out_head(torch.einsum("bqk,bkd->bqd", scores.softmax(-1), v))


def train_step(model, ids, targets, learning_rate):
    trained = [p for p in model.parameters() if p.requires_grad]
    loss = cross_entropy(model(ids), targets)
    gradients = torch.autograd.grad(loss, trained, allow_unused=True)
    for p, gradient in zip(trained, gradients):
        if gradient is not None:
            p.data.sub_(learning_rate * gradient)
    return float(loss)


def train(model, batches, learning_rate):
    return [train_step(model, ids, targets, learning_rate) for ids, targets in batches]
