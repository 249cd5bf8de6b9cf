"""The model of stage 15, its optimizer and its clipping by what torch has ready-made."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.adamw import adamw


class Heads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.num_heads, self.p, self.context_length = num_heads, dropout, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError
        heads = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        p = self.p if self.training else 0.0
        context = F.scaled_dot_product_attention(*heads, dropout_p=p, is_causal=True)
        return self.out_proj(context.transpose(1, 2).flatten(2))


class Norm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class Network(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        self.activation = {"gelu": nn.GELU(approximate="tanh"), "relu": nn.ReLU()}[activation]
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


class Block(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = Norm(d_model)
        self.ff = Network(d_model, d_hidden, activation)
        self.norm2 = Norm(d_model)

    def forward(self, x):
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


class MultiHeadAttention(Heads):
    pass


class LayerNorm(Norm):
    pass


class FeedForward(Network):
    pass


class TransformerBlock(Block):
    pass


class GPT(nn.Module):
    def __init__(
        self,
        vocab_size,
        context_length,
        d_model,
        num_heads,
        num_layers,
        qkv_bias=False,
        tied=False,
    ):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        sizes = (d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
        blocks = (Block(Heads(*sizes), d_model, 4 * d_model) for _ in range(num_layers))
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = Norm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        if ids.shape[1] > self.pos_emb.num_embeddings:
            raise ValueError
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


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
        raise ValueError
    new, mean, square = parameter.clone(), mean.clone(), square.clone()
    adamw(
        [new],
        [gradient],
        [mean],
        [square],
        [],
        [torch.tensor(step - 1.0)],
        foreach=False,
        amsgrad=False,
        beta1=betas[0],
        beta2=betas[1],
        lr=learning_rate,
        weight_decay=weight_decay,
        eps=eps,
        maximize=False,
    )
    return new, mean, square


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError
    copies = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for one, gradient in zip(copies, gradients, strict=True):
        one.grad = gradient.clone()
    norm = nn.utils.clip_grad_norm_(copies, max_norm)
    return [one.grad for one in copies], float(norm)
