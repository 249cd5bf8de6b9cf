"""Right names, shapes and errors, but no computation: earns a fifth of the points at most."""

import torch
from torch import nn


def log_softmax(logits):
    return torch.zeros_like(logits)


def cross_entropy(logits, targets):
    if targets.shape != logits.shape[:-1]:
        raise ValueError
    return torch.zeros(())


class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.vocab_size, self.context_length = vocab_size, context_length

    def forward(self, ids):
        if ids.shape[1] > self.context_length:
            raise ValueError
        return torch.zeros(*ids.shape, self.vocab_size)


def train_step(model, ids, targets, learning_rate):
    return 0.0


def train(model, batches, learning_rate):
    return [0.0 for _ in batches]
