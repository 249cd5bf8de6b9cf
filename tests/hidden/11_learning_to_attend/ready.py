"""Ready-made softmax, loss, attention and optimizer."""

import torch
import torch.nn.functional as F
from torch import nn


def log_softmax(logits):
    return torch.log_softmax(logits, dim=-1)


def cross_entropy(logits, targets):
    if targets.shape != logits.shape[:-1]:
        raise ValueError
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


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
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        context = F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))
        return self.out_head(context)


def train_step(model, ids, targets, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loss = F.cross_entropy(model(ids).flatten(0, -2), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model, batches, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    for ids, targets in batches:
        loss = F.cross_entropy(model(ids).flatten(0, -2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
