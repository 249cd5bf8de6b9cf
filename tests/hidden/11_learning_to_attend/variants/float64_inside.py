"""A correct solution that computes in float64 and returns the dtype of its inputs."""

import torch
from torch import nn


def log_softmax(logits):
    wide = logits.double()
    wide = wide - wide.max(dim=-1, keepdim=True)[0]
    return (wide - wide.exp().sum(dim=-1, keepdim=True).log()).to(logits.dtype)


def cross_entropy(logits, targets):
    if targets.dim() != logits.dim() - 1 or targets.size() != logits.size()[:-1]:
        raise ValueError("one target for each prediction")
    right = torch.take_along_dim(log_softmax(logits.double()), targets[..., None], dim=-1)
    return right.mean().neg().to(logits.dtype)


class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, False)
        self.W_key = nn.Linear(d_model, d_model, False)
        self.W_value = nn.Linear(d_model, d_model, False)
        self.out_head = nn.Linear(d_model, vocab_size, False)

    def forward(self, ids):
        x = self.embed(ids)
        weights = self.attend(x)
        return self.out_head(weights @ self.W_value(x))

    def embed(self, ids):
        count = ids.shape[-1]
        if count > len(self.pos_emb.weight):
            raise ValueError("the text is too long")
        return self.tok_emb(ids) + self.pos_emb(torch.arange(count).expand_as(ids))

    def attend(self, x):
        queries, keys = self.W_query(x).double(), self.W_key(x).double()
        scores = queries.matmul(keys.mT).div(keys.shape[-1] ** 0.5)
        return torch.softmax(scores, dim=-1).to(x.dtype)


def train_step(model, ids, targets, learning_rate):
    model.zero_grad(set_to_none=False)
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in filter(lambda p: p.requires_grad and p.grad is not None, model.parameters()):
        p.data = p.data - learning_rate * p.grad
    return loss.detach().item()


def train(model, batches, learning_rate):
    return list(map(lambda batch: train_step(model, *batch, learning_rate), batches))
