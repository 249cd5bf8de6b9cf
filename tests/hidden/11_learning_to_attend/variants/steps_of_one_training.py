"""A correct solution whose train has its own loop, with gradients that are cleared after a step."""

import torch
from torch import nn
from torch.nn import Embedding, Linear


def log_softmax(logits):
    top, _ = torch.max(logits, dim=-1)
    top = top.unsqueeze(-1)
    sums = torch.exp(logits - top).sum(dim=-1)
    return logits - top - torch.log(sums).unsqueeze(-1)


def cross_entropy(logits, targets):
    if targets.shape != logits.shape[:-1]:
        raise ValueError
    if logits.dim() == 3:
        logits, targets = logits.flatten(0, 1), targets.flatten()
    return torch.mean(-log_softmax(logits)[range(len(targets)), targets])


class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.vocab_size, self.d_model, self.context_length = vocab_size, d_model, context_length
        self.tok_emb = Embedding(vocab_size, d_model)
        self.pos_emb = Embedding(context_length, d_model)
        self.W_query = Linear(d_model, d_model, bias=False)
        self.W_key = Linear(d_model, d_model, bias=False)
        self.W_value = Linear(d_model, d_model, bias=False)
        self.out_head = Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        batch, length = ids.shape
        if length > self.context_length:
            raise ValueError("too many tokens")
        where = torch.arange(length).repeat(batch, 1)
        x = self.tok_emb(ids) + self.pos_emb(where)
        keys = self.W_key(x) / self.d_model**0.25
        queries = self.W_query(x) / self.d_model**0.25
        mixed = torch.softmax(torch.matmul(queries, keys.permute(0, 2, 1)), -1)
        return self.out_head(torch.matmul(mixed, self.W_value(x)))


def gradient_step(model, ids, targets, learning_rate):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0 if p.grad is None else learning_rate * p.grad
    model.zero_grad()
    return loss.detach().cpu().numpy().item()


def train_step(model, ids, targets, learning_rate):
    return gradient_step(model, ids, targets, learning_rate)


def train(model, batches, learning_rate):
    losses = [0.0] * len(batches)
    for i in range(len(batches)):
        losses[i] = gradient_step(model, batches[i][0], batches[i][1], learning_rate)
    return losses
