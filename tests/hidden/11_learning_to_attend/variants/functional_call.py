"""A correct solution in a functional style: the loss as a function of the parameters."""

from functools import reduce
from operator import matmul

import torch
from torch import nn
from torch.func import functional_call, grad_and_value


def log_softmax(logits):
    c = logits.amax(-1, keepdim=True)
    return logits - c - (logits - c).exp().sum(-1, keepdim=True).log()


def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shape")
    return (-log_softmax(logits)).gather(-1, targets[..., None]).squeeze(-1).mean()


class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb, self.pos_emb = (nn.Embedding(n, d_model) for n in (vocab_size, context_length))
        sizes = {"W_query": d_model, "W_key": d_model, "W_value": d_model, "out_head": vocab_size}
        for name, size in sizes.items():
            self.add_module(name, nn.Linear(d_model, size, bias=False))

    def forward(self, ids):
        positions = torch.ones_like(ids).cumsum(-1) - 1
        x = self.tok_emb(ids) + self.pos_emb(positions)
        weights = (self.W_query(x) @ self.W_key(x).mT / x.shape[-1] ** 0.5).softmax(dim=-1)
        return reduce(matmul, (weights, x, self.W_value.weight.T, self.out_head.weight.T))


def train_step(model, ids, targets, learning_rate):
    trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def loss_of(parameters):
        return cross_entropy(functional_call(model, parameters, (ids,)), targets)

    gradients, loss = grad_and_value(loss_of)(trained)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name in trained:
                p -= learning_rate * gradients[name]
    return loss.item()


def train(model, batches, learning_rate):
    return [train_step(model, *batch, learning_rate) for batch in batches]
