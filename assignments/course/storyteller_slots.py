"""Puts your code into the slots of the storyteller; ``companion.toml`` says which stage fills what.

``m`` is your module of the stage, and ``story`` the storyteller. A class gets the trained weights
under the names that its exercise gives.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.sandbox.module_parameters import MissingError, load

from .storyteller import BLIND, Unusable, usable


def made(story, m, name: str, size: tuple, weights: dict[str, Tensor] | None = None) -> nn.Module:
    """Make the learner's class *name*, and copy *weights* into it, as the checks do."""
    story.making = name
    module = getattr(m, name)(*size)
    try:
        load(module, weights or {}, (), {})
    except MissingError as error:
        raise Unusable(f"can't hold the trained weights: {error}") from None
    return module.eval()


def matrices(story, layer, head=None, names=("W_query", "W_key", "W_value")):
    """Return the weights of three linear layers, of all heads or of one."""
    rows = slice(None) if head is None else slice(head * story.d, (head + 1) * story.d)
    parts = zip(names, ("query", "key", "value"), strict=True)
    return {f"{name}.weight": story.matrix(layer, part).T[rows] for name, part in parts}


def heads_of(story, make):
    """Return a head for each layer and number."""
    return {(n, h): make(n, h) for n in range(story.layers) for h in range(story.H)}


def shortcut(story, m):
    """A shortcut adds two vectors: twice their mean."""

    def add(x, y):
        mean = story.call("add", "mix", (x.numel(),), m.mix, x.flatten(), y.flatten())
        return 2 * mean.reshape(x.shape)

    story.fill("mix", add=add)


def one_query(story, m):
    """Scores, softmax and mixing, once for each head and new character."""

    def each(slot, name, rows, size, function):
        return torch.stack([story.call(slot, name, (size,), function, row) for row in rows])

    def scores(q, k):
        return each("scores", "scores_for_query", q, len(k), lambda row: m.scores_for_query(k, row))

    def mix(w, v):
        size = v.shape[1]
        return each("mix", "context_vector", w, size, lambda row: m.context_vector(row, v))

    story.fill("scores_for_query", scores=scores)
    story.fill("softmax_stable", softmax=lambda scores: m.softmax_stable(scores, -1))
    story.fill("context_vector", mix=mix)


def triangle(story, m):
    """Which characters a character may see."""
    name = "masked_softmax_weights"

    def visible(T):
        return mask_of(story, name, (T, T), lambda: m.masked_softmax_weights(T), slot="visible") > 0

    story.fill(name, visible=visible)


def only_the_mean(story, m):
    """The causal mean in place of attention."""
    story.fill(
        "causal_mean_matmul", attend=lambda q, _, v: m.causal_mean_matmul(v)[:, -q.shape[1] :]
    )


def queries_keys_values(story, m):
    """Projections, scores, weights and mixing."""
    story.fill("project", project=m.project)
    story.fill("attention_scores", scores=m.attention_scores)
    story.fill("attention_weights", weights=m.attention_weights)
    story.fill("context_vectors", mix=m.context_vectors)


def unmasked_heads(story, m):
    """A class without a mask: it gets only what is written so far."""

    def make(layer, head):
        size = story.D, story.d
        two = made(story, m, "SelfAttention_v2", size, matrices(story, layer, head))
        if layer < story.layers - 1:
            return two
        one = made(story, m, "SelfAttention_v1", size)
        story.making = "transfer_weights"
        m.transfer_weights(two, one)
        for name in ("W_query", "W_key", "W_value"):
            usable(getattr(one, name), size, f"left {name} with")
        return one

    own = heads_of(story, make)

    def head(x, first, layer, h):
        one = own[layer, h]
        name = "SelfAttention_v1" if layer == story.layers - 1 else "SelfAttention_v2"
        found = [
            story.call("head", name, (i, story.d), one, x[:i]) for i in range(first + 1, len(x) + 1)
        ]
        return torch.stack([rows[-1] for rows in found])

    story.fill("SelfAttention_v2", head=head)


def masked_heads(story, m):
    """Heads of 56 features, of which 14 are used: W_q is doubled, as √56 divides the scores."""

    def make(layer, head):
        wide = {}
        names = ("W_q", "W_k", "W_v")
        for name, value in matrices(story, layer, head, names).items():
            factor = story.H**0.5 if name == "W_q.weight" else 1
            wide[name] = F.pad(value * factor, (0, 0, 0, story.D - story.d))
        return made(story, m, "MaskedSelfAttention", (story.D,), wide)

    own = heads_of(story, make)
    story.remembers = False

    def head(x, first, layer, h):
        T = len(x)
        mask = mask_of(story, "causal_mask", (T, T), lambda: m.causal_mask(T))
        found = story.call("head", "MaskedSelfAttention", x.shape, own[layer, h], x, mask)
        return found[first:, : story.d]

    story.fill("MaskedSelfAttention", head=head)


def mask_of(story, name, shape, function, slot="head"):
    """Return the mask that the learner's *function* makes; its numbers may have any type."""

    def numbers():
        mask = function()
        is_other = isinstance(mask, Tensor) and mask.dtype != torch.bool
        return mask.float() if is_other else mask

    mask = story.call(slot, name, shape, numbers)
    if (mask == 0).all(-1).any():
        raise Unusable(BLIND)
    return mask


def batched_heads(story, m, name, size, names=("W_query", "W_key", "W_value")):
    """Heads of the class *name*, which takes a batch."""
    own = heads_of(story, lambda n, h: made(story, m, name, size, matrices(story, n, h, names)))
    story.remembers = False

    def head(x, first, layer, h):
        found = story.call("head", name, (1, len(x), story.d), own[layer, h], x[None])
        return found[0, first:]

    story.fill(name, head=head)


def attention_heads(story, m):
    """The head of stage 06."""
    size = story.D, story.d, story.L
    batched_heads(story, m, "AttentionHead", size, ("query", "key", "value"))


def causal_heads(story, m):
    """The head of stage 07, without dropout."""
    batched_heads(story, m, "CausalAttention", (story.D, story.d, story.L, 0.0))


def no_mask(story, m):  # noqa: ARG001  # it needs nothing of the learner's
    """Heads in which every character sees all of the text."""

    def head(x, first, layer, h):
        part = matrices(story, layer, h).values()
        q, k, v = (F.linear(x, weight) for weight in part)
        return (q[first:].mm(k.T) * story.d**-0.5).softmax(-1).mm(v)

    story.fill("the mask", head=head)


def cross_heads(story, m):
    """Each new character asks the text so far; what comes later counts as padding."""
    size, name = (story.D, story.D, story.d), "CrossAttention"
    own = heads_of(story, lambda n, h: made(story, m, name, size, matrices(story, n, h)))
    story.remembers = True

    def head(x, first, layer, h):
        T = len(x)
        lengths, n = list(range(first + 1, T + 1)), T - first
        written = mask_of(story, "padding_mask", (n, T), lambda: m.padding_mask(lengths, T))
        if written.dtype != torch.bool:
            raise Unusable("returned numbers, not torch.bool")
        args = x[first:, None], x.expand(n, -1, -1), written
        return story.call("head", name, (n, 1, story.d), own[layer, h], *args)[:, 0]

    story.fill(name, head=head)


def of_layers(story, slot, name, own):
    """Fill *slot* with the class *name*, of which *own* has an object for each layer."""
    story.remembers = False

    def run(x, first, layer):
        return story.call(slot, name, (1, *x.shape), own[layer], x[None])[0, first:]

    story.fill(name, **{slot: run})


def all_heads(story, m):
    """All heads of a layer in one object."""
    name, size = "MultiHeadAttentionWrapper", (story.D, story.d, story.L, 0.0, story.H)

    def make(layer):
        names = [(h, matrices(story, layer, h)) for h in range(story.H)]
        weights = {f"heads.{h}.{name}": one for h, part in names for name, one in part.items()}
        return made(story, m, name, size, weights)

    own = [make(layer) for layer in range(story.layers)]
    story.filled.pop("head", None)  # which is slow without memory
    of_layers(story, "heads", name, own)


def whole_attention(story, m):
    """All attention of a layer, with its output layer."""
    name, size = "MultiHeadAttention", (story.D, story.D, story.L, 0.0, story.H)
    parts = (story.part(f"blocks.{layer}.att.") for layer in range(story.layers))
    own = [made(story, m, name, size, part) for part in parts]

    def split(x):
        shape = 1, story.H, len(x), story.d
        return story.call("split", "split_heads", shape, m.split_heads, x[None], story.H)[0]

    def merge(x):
        shape = 1, x.shape[1], story.D
        return story.call("merge", "merge_heads", shape, m.merge_heads, x[None])[0]

    story.fill("split_heads", split=split)
    story.fill("merge_heads", merge=merge)
    of_layers(story, "attention", name, own)


def training(story, m):
    """Teaching: steps on the loss of a sentence."""
    story.fill("train", train=m.train)


def gradients(story, m):
    """Teaching with the learner's gradients of attention and of the loss."""
    story.fill("attention_backward", backward=m.attention_backward)
    story.fill("cross_entropy_backward", loss_backward=m.cross_entropy_backward)


def sines(story, m):
    """The positions of the characters."""
    story.fill("sinusoidal_positions", positions=lambda T: m.sinusoidal_positions(T, story.D))


def no_positions(story, m):  # noqa: ARG001  # it needs nothing of the learner's
    """No positions at all."""
    story.fill("the positions", positions=lambda T: torch.zeros(T, story.D))


def blocks(story, m):
    """Whole blocks, and the last norm."""

    def make(layer):
        size = story.D, story.D, story.L, 0.0, story.H
        attention = made(story, m, "MultiHeadAttention", size)
        size = attention, story.D, 4 * story.D
        return made(story, m, "TransformerBlock", size, story.part(f"blocks.{layer}."))

    own = [make(layer) for layer in range(story.layers)]
    last = made(story, m, "LayerNorm", (story.D,), story.part("final_norm."))
    of_layers(story, "block", "TransformerBlock", own)
    story.fill(
        "LayerNorm", norm=lambda x, name: last(x) if "final" in name else story.own_norm(x, name)
    )


def whole_model(story, m):
    """The model, the choice of a character, and the loop."""
    of_ids(story, "GPT", gpt_of(story, m))

    def choose(row, heat):
        found = story.call(
            "choose", "sample_next", (1, 1), m.sample_next, row[None], heat, ids=True
        )
        return found[0, 0]

    def loop(model, ids, n, heat):
        shape, huge = (1, len(ids) + n), 10**6  # the window jumps inside the model
        args = model, ids[None], n, huge, heat
        return story.call("loop", "generate", shape, m.generate, *args, ids=True)[0]

    story.fill("sample_next", choose=choose)
    story.fill("generate", loop=loop)


def of_ids(story, name, gpt):
    """Fill the slot of the model with *gpt*, which computes the rows of all characters."""
    story.remembers = False

    def model(ids, first):
        return story.call("model", name, (1, len(ids), story.V), gpt, ids[None])[0, first:]

    story.fill(name, model=model)


def gpt_of(story, m):
    """Return the learner's model with the trained weights and the table of positions."""
    weights = story.part("") | {"pos_emb.weight": story.own_positions(story.L)}
    return made(story, m, "GPT", (story.V, story.L, story.D, story.H, story.layers), weights)


class Remembers(nn.Module):
    """The learner's attention with its cache, in the place of a block's attention."""

    def __init__(self, attention):
        super().__init__()
        self.attention, self.cache = attention, None

    def forward(self, x):
        """(B, n, D) -> (B, n, D)."""
        found = self.attention(x, self.cache)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Unusable("did not return two results: context vectors and a cache")
        self.cache = found[1]
        return usable(found[0], x.shape)


def cached(story, m):
    """Attention that remembers keys and values, inside the model of stage 15."""
    gpt = gpt_of(story, story.modules["15_tiny_gpt"])
    for layer, block in enumerate(gpt.blocks):
        size, part = (story.D, story.D, story.H), story.part(f"blocks.{layer}.att.")
        block.att = Remembers(made(story, m, "CachedMultiHeadAttention", size, part))

    def model(ids, first):
        for block in gpt.blocks:
            block.att.cache = block.att.cache if first else None
        x = gpt.tok_emb(ids[None, first:]) + gpt.pos_emb.weight[first : len(ids)]
        for layer in gpt.blocks:
            x = layer(x)
        return gpt.out_head(gpt.final_norm(x))[0]

    story.remembers = True
    story.fill("CachedMultiHeadAttention", model=model)


def grouped(story, m):
    """Attention with as many key heads as query heads, inside the model of stage 15."""
    gpt = gpt_of(story, story.modules["15_tiny_gpt"])
    for layer, block in enumerate(gpt.blocks):
        size, part = (
            (story.D, story.D, story.L, story.H, story.H),
            story.part(f"blocks.{layer}.att."),
        )
        block.att = made(story, m, "GroupedQueryAttention", size, part)
        block.att.register_forward_hook(lambda _, given, result: usable(result, given[0].shape))
    of_ids(story, "GroupedQueryAttention", gpt)


class Tiled(nn.Module):
    """The layers of a block's attention, with the learner's tiles between them."""

    def __init__(self, layers, story, m):
        super().__init__()
        self.layers, self.story, self.m = layers, story, m

    def forward(self, x):
        """(1, T, D) -> (1, T, D)."""
        layers = (self.layers.W_query, self.layers.W_key, self.layers.W_value)
        q, k, v = (self.story.own_split(layer(x[0])) for layer in layers)
        context = usable(self.m.tiled_attention(q, k, v, 16, True), v.shape)
        return self.layers.out_proj(self.story.own_merge(context))[None]


def tiles(story, m):
    """Attention in tiles of 16 characters, inside the model of stage 15."""
    gpt = gpt_of(story, story.modules["15_tiny_gpt"])
    for block in gpt.blocks:
        block.att = Tiled(block.att, story, m)
    story.length = 80
    of_ids(story, "tiled_attention", gpt)
