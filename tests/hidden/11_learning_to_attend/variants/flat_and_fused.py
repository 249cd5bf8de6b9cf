"""A correct solution in a different idiom: flat logits, indexing, one fused projection, add_."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def log_softmax(logits):
    shifted = logits - torch.amax(logits, -1, True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), -1, True))


def cross_entropy(logits, targets):
    assert logits.ndim == targets.ndim + 1 and logits.shape[:-1] == targets.shape
    C = logits.shape[-1]
    flat, labels = log_softmax(logits.reshape(-1, C)), targets.reshape(-1)
    N = labels.shape[0]
    return -flat[torch.arange(N), labels].sum() / N


class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        pos = torch.arange(0, T, dtype=torch.long)
        x = F.embedding(ids, self.tok_emb.weight) + self.pos_emb(pos).unsqueeze(0)  # raises if too long
        fused = torch.cat([self.W_query.weight, self.W_key.weight, self.W_value.weight])
        q, k, v = F.linear(x, fused).chunk(3, dim=-1)
        att = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(k.shape[-1])
        att = F.softmax(att, dim=2)
        return F.linear(torch.bmm(att, v), self.out_head.weight)


def train_step(model, ids, targets, learning_rate):
    for p in model.parameters():
        p.grad = None
    logits = model(ids)
    loss = cross_entropy(logits, targets)
    value = loss.item()
    loss.backward()
    for p in model.parameters():
        if p.grad is None:
            continue
        p.data.add_(p.grad, alpha=-learning_rate)
    return value


def train(model, batches, learning_rate):
    history = []
    for batch in batches:
        x, y = batch
        history += [train_step(model, x, y, learning_rate)]
    return history
