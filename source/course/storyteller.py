"""The storyteller: a small trained language model whose parts are slots for your code.

A slot that is not filled runs the code below, a filled one runs yours. It writes sentences of tiny
stories, one character after the other; whole stories it does not write.

Shapes: T characters so far, n new ones, V symbols, D = 56 features, H = 4 heads of d = 14 features.
Rows *first* to T - 1 are new, and the rows of earlier characters are remembered. When a text
outgrows the window of L = 96 characters, the window jumps by half, so that positions stay valid.
"""

import math
import re
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .story_texts import made_in

LENGTH = 150  # characters of a text
BLIND = "let a character see nothing"  # what a wrong mask does
SECONDS = 2.0  # of the processor for one text with the learner's code
BEFORE = 32  # characters that are read before the loss of a character counts
READ = 289  # characters of the held-out stories whose loss is measured: four windows
HEAD = {"project", "scale", "scores", "softmax", "mix"}
BLOCK = {*HEAD, "norm", "out_proj", "add", "feed"}
COVERS = {  # the work of each slot; a slot without a row multiplies nothing
    "add": {"add"},
    "positions": {"positions"},
    "norm": {"norm", "last_norm"},
    "project": {"project"},
    "scores": {"scores"},
    "softmax": {"softmax"},
    "weights": {"scale", "softmax"},
    "mix": {"mix"},
    "head": HEAD,
    "heads": HEAD,
    "attention": {*HEAD, "out_proj"},
    "block": BLOCK,
    "model": {*BLOCK, "positions", "last_norm", "out_head"},
}


class Again(Exception):  # no error: a slot was replaced, so the window starts again
    """Raised after the course's code has replaced a slot."""


class Unusable(Exception):
    """Raised with what is wrong with a result of the learner's code."""


class Last(nn.Module):
    """The storyteller as a model whose logits only the last character needs."""

    def __init__(self, story) -> None:
        super().__init__()
        self.story = [story]  # in a list, so that it is not a part of the module

    def forward(self, ids):
        """(1, T) -> (1, T, V), of which only the last row holds logits."""
        if ids.dtype != torch.int64:
            raise Unusable(f"asked its model about {ids.dtype}, not about ids")
        found = torch.zeros(1, ids.shape[1], self.story[0].V)
        found[0, -1] = self.story[0].last(ids[0])
        return found


class Storyteller:
    """A trained model with *weights* by name, and the learner's code in some of its slots."""

    def __init__(self, weights: dict[str, Tensor], symbols: str, heads: int, window: int) -> None:
        self.weights, self.symbols, self.H, self.L = weights, symbols, heads, window
        self.V, self.D = weights["tok_emb.weight"].shape
        self.d = self.D // heads
        self.layers = sum(name.endswith(".norm1.scale") for name in weights)
        self.stage = self.running = ""  # the stage that is filled, and the slot that runs
        self.making = ""  # the exercise of the stage that is being filled
        self.modules: dict[str, object] = {}  # the learner's, by stage
        self.remembers = True  # whether the rows of earlier characters are remembered
        self.length = LENGTH
        self.filled: dict[str, tuple] = {}  # exercise, stage and function of each slot
        self.replaced: dict[str, str] = {}  # what happened in each slot that was replaced
        self.seconds: dict[str, float] = {}
        self.forget()

    def fill(self, exercise: str, **slots) -> None:
        """Fill *slots* with functions that use the learner's *exercise*; later ones win."""
        for name, function in slots.items():
            self.filled.pop(name, None)
            self.filled[name] = exercise, self.stage, function

    def call(self, slot: str, exercise: str, shape: tuple, function, *args, ids=False) -> Tensor:
        """Run *exercise*, one of those that fill *slot*; what it does wrong gets its name."""
        self.filled[slot] = exercise, *self.filled[slot][1:]
        return usable(function(*args), shape, symbols=self.V if ids else 0)

    def forget(self) -> None:
        """Forget the rows of earlier characters."""
        self.seen, self.rows = [], [None] * self.layers

    def use(self, name: str, shape: tuple, *args):
        """Run the slot *name*; if the learner's code is unusable, replace it."""
        if name not in self.filled or name in self.replaced:
            return getattr(self, f"own_{name}")(*args)
        function = self.filled[name][-1]
        outer, self.running, began = self.running, name, time.process_time()
        try:
            result = function(*(one.clone() if type(one) is Tensor else one for one in args))
            problem = unusable(result, shape, symbols=self.V if name in {"choose", "loop"} else 0)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the learner's code may raise anything
            problem = raised(error)
        self.running = outer
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - began
        if not problem:
            return result.detach()
        self.replaced[name] = problem
        raise Again

    # The course's own parts.

    def own_add(self, x, y):
        """(n, D), (n, D) -> (n, D)."""
        return x + y

    def own_positions(self, T):
        """T -> (T, D): sines in even columns, cosines in odd ones."""
        angles = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, self.D, 2) / self.D)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)

    def own_norm(self, x, name):
        """(n, D) -> (n, D), with the scale and shift of *name*."""
        scale, shift = self.weights[f"{name}.scale"], self.weights[f"{name}.shift"]
        return F.layer_norm(x, (self.D,), scale, shift)

    def own_project(self, x, weight):
        """(T, D), (D, D) -> (T, D)."""
        return x.mm(weight)

    def own_split(self, x):
        """(T, D) -> (H, T, d)."""
        return x.unflatten(-1, (self.H, self.d)).movedim(-2, 0)

    def own_merge(self, x):
        """(H, n, d) -> (n, D)."""
        return x.movedim(0, -2).flatten(-2)

    def own_scores(self, q, k):
        """(n, d), (T, d) -> (n, T)."""
        return q.mm(k.T)

    def own_visible(self, T):
        """T -> (T, T): whether row i sees column j."""
        return torch.arange(T)[:, None] >= torch.arange(T)

    def own_softmax(self, scores):
        """(n, T) -> (n, T)."""
        return scores.softmax(-1)

    def own_weights(self, scores, d):
        """(n, T), d -> (n, T)."""
        return self.use("softmax", scores.shape, scores * d**-0.5)

    def own_mix(self, weights, v):
        """(n, T), (T, d) -> (n, d)."""
        return weights.mm(v)

    def own_attend(self, q, k, v):
        """(H, n, d), (H, T, d), (H, T, d) -> (H, n, d)."""
        n, T = q.shape[1], k.shape[1]
        hidden = self.use("visible", (T, T), T)[T - n :] == 0
        rows = []
        for head in range(len(q)):
            scores = self.use("scores", (n, T), q[head], k[head]).masked_fill(hidden, -math.inf)
            weights = self.use("weights", (n, T), scores, self.d)
            rows.append(self.use("mix", (n, self.d), weights, v[head]))
        return torch.stack(rows)

    def own_head(self, x, first, layer, head):
        """(T, D) -> (n, d)."""
        part = slice(head * self.d, (head + 1) * self.d)
        q, k, v = (
            x.mm(self.matrix(layer, name)[:, part])[None] for name in ("query", "key", "value")
        )
        return self.own_attend(q[:, first:], k, v)[0]

    def own_heads(self, x, first, layer):
        """(T, D) -> (n, D), the heads concatenated."""
        n = len(x) - first
        if "head" in self.filled and "head" not in self.replaced:
            heads = range(self.H)
            return torch.cat([self.use("head", (n, self.d), x, first, layer, h) for h in heads], -1)
        parts = []
        for name, rows in (("query", x[first:]), ("key", x), ("value", x)):
            y = self.use("project", tuple(rows.shape), rows, self.matrix(layer, name))
            parts.append(self.use("split", (self.H, len(rows), self.d), y))
        return self.use("merge", (n, self.D), self.use("attend", (self.H, n, self.d), *parts))

    def own_attention(self, x, first, layer):
        """(T, D) -> (n, D), with the output layer."""
        out = self.part(f"blocks.{layer}.att.out_proj.")
        return F.linear(self.use("heads", (len(x) - first, self.D), x, first, layer), **out)

    def own_feed(self, x, layer):
        """(n, D) -> (n, D), the feed-forward network."""
        one, two = (self.part(f"blocks.{layer}.ff.linear{number}.") for number in (1, 2))
        return F.linear(F.gelu(F.linear(x, **one), approximate="tanh"), **two)

    def own_block(self, rows, first, layer):
        """(T, D) -> (n, D)."""
        shape, norm = (len(rows) - first, self.D), f"blocks.{layer}.norm"
        normal = self.use("norm", tuple(rows.shape), rows, f"{norm}1")
        mixed = self.use("attention", shape, normal, first, layer)
        x = self.use("add", shape, rows[first:], mixed)
        normal = self.use("norm", shape, x, f"{norm}2")
        return self.use("add", shape, x, self.own_feed(normal, layer))

    def own_model(self, ids, first):
        """(T,) -> (n, V)."""
        T = len(ids)
        x = (self.weights["tok_emb.weight"][ids] + self.use("positions", (T, self.D), T))[first:]
        for layer in range(self.layers):
            self.rows[layer] = torch.cat((self.rows[layer], x)) if first else x
            x = self.use("block", (T - first, self.D), self.rows[layer], first, layer)
        x = self.use("norm", tuple(x.shape), x, "final_norm")
        return x.mm(self.weights["out_head.weight"].T)

    def own_choose(self, logits, temperature):
        """(V,) -> (), a number."""
        if not temperature:
            return logits.argmax()
        return (logits / temperature).softmax(-1).multinomial(1)[0]

    # What the glue needs.

    def matrix(self, layer, name):
        """Return W_query, W_key or W_value of *layer*, as (D, D) for x @ W."""
        return self.weights[f"blocks.{layer}.att.W_{name}.weight"].T

    def part(self, prefix):
        """Return the weights whose names begin with *prefix*, without it."""
        found = self.weights.items()
        return {name.removeprefix(prefix): one for name, one in found if name.startswith(prefix)}

    # Reading and writing.

    def logits(self, ids):
        """Return the logits of the rows that are new since the last call: (T,) -> (n, V)."""
        known = ids.tolist()
        while True:
            first = len(self.seen) if known[: len(self.seen)] == self.seen else 0
            if not self.remembers or first in {0, len(known)}:
                self.forget()
                first = 0
            try:
                found = self.use("model", (len(ids) - first, self.V), ids, first)
                self.seen = known
                if found.isfinite().all():
                    return found
                newest = [name for name in self.filled if name not in self.replaced][-1]
                self.replaced[newest] = "led to numbers that are not finite"
            except Again:
                pass
            self.forget()

    @torch.no_grad()
    def write(self, prompt: str, length: int = LENGTH, temperature: float = 0.0, margins=None):
        """Continue *prompt* by *length* characters; *margins* gets how clear each choice was."""
        self.forget()
        self.seconds, self.began, self.margins = {}, time.process_time(), margins
        ids = self.encode(prompt)
        try:
            ids = self.use("loop", (len(ids) + length,), Last(self), ids, length, temperature)
        except Again:
            ids = self.own_loop(Last(self), ids, length, temperature)
        return self.decode(ids[len(prompt) :])

    def own_loop(self, model, ids, length, temperature):
        """(T,) -> (T + length,)."""
        for _ in range(length):
            last = model(ids[None])[0, -1]
            if self.margins is not None:
                self.margins.append(-last.topk(2).values.diff().item())
            try:
                chosen = self.use("choose", (), last, temperature)
            except Again:
                chosen = self.own_choose(last, temperature)
            ids = torch.cat((ids, chosen.view(1)))
        return ids

    def last(self, ids):
        """Return the logits at the last of *ids*: (T,) -> (V,)."""
        half = self.L // 2
        found = self.logits(ids[max(0, math.ceil((len(ids) - self.L) / half)) * half :])[-1]
        late = time.process_time() - self.began > SECONDS
        if late and self.seconds and self.filled.keys() - self.replaced:
            self.give_up()
        return found

    def give_up(self) -> None:
        """Let the course's parts take over, and name the slot that took the longest."""
        spent = time.process_time() - self.began - sum(self.seconds.values())
        self.seconds.setdefault("loop", spent)
        times = {
            name: one
            for name, one in self.seconds.items()
            if name in self.filled.keys() - self.replaced
        }
        slowest = max(times, key=times.get)
        rest = {name: "" for name in self.filled if name not in self.replaced}
        self.replaced |= rest | {slowest: f"took more than {SECONDS:g} s"}
        self.forget()

    @torch.no_grad()
    def loss(self, text: str) -> float:
        """Return the mean loss of reading *text* in nats, of characters with others before."""
        ids, losses = self.encode(text), []
        for start in range(0, len(ids) - self.L, self.L - BEFORE):
            piece = ids[start : start + self.L + 1]
            self.forget()
            found = F.cross_entropy(self.logits(piece[:-1]), piece[1:], reduction="none")
            losses.append(found[BEFORE:])
        self.forget()
        return torch.cat(losses).mean().item()

    def share(self) -> float:
        """Return the learner's share of the multiplications for one character.

        An element-wise step counts 1 for each number of its result. The window is half full of new
        characters, so its mean length counts.
        """
        D, H, N, T = self.D, self.H, self.layers, self.L * 3 // 4
        prices = {"project": 3 * N * D * D, "scores": N * D * T, "scale": N * H * T}
        prices |= {"softmax": N * H * T, "mix": N * D * T, "out_proj": N * D * D, "add": 2 * N * D}
        prices |= {"norm": 2 * N * D, "feed": 8 * N * D * D + 4 * N * D, "positions": D}
        prices |= {"last_norm": D, "out_head": D * self.V}
        mine = [COVERS.get(name, set()) for name in self.filled if name not in self.replaced]
        return sum(prices[name] for name in set().union(*mine)) / sum(prices.values())

    def encode(self, text: str) -> Tensor:
        """Return the numbers of the characters; raise ``ValueError`` for an unknown one."""
        for one in text:
            if one not in self.symbols:
                known = "".join(self.symbols).strip()
                raise ValueError(f"The stories have no character {one!r}. They have: {known}")
        return torch.tensor([self.symbols.index(one) for one in text])

    def decode(self, ids: Tensor) -> str:
        """Return the characters of the numbers."""
        return "".join(self.symbols[number] for number in ids.tolist())


def unusable(result: object, shape: tuple, symbols: int = 0) -> str:
    """Return why a slot can't use *result*, numbers or ids of *symbols*; empty if it can."""
    if not isinstance(result, Tensor):
        return f"returned {type(result).__name__}, not a tensor"
    if tuple(result.shape) != tuple(shape):
        return f"returned the shape {tuple(result.shape)}, not {tuple(shape)}"
    wanted = [torch.int64] if symbols else [torch.float32, torch.bool]
    if result.dtype not in wanted:
        return f"returned {result.dtype}, not {wanted[0]}"
    if symbols and not ((result >= 0) & (result < symbols)).all():
        return "returned a number that stands for no symbol"
    return "" if result.isfinite().all() else "returned numbers that are not finite"


def usable(result: object, shape: tuple, did: str = "returned", symbols: int = 0) -> Tensor:
    """Return *result*; raise ``Unusable`` with what the code *did* if a slot can't use it."""
    if problem := unusable(result, shape, symbols):
        raise Unusable(problem.replace("returned", did, 1))
    return result


def raised(error: BaseException) -> str:
    """Describe *error* in a few words."""
    if isinstance(error, NotImplementedError):
        return "is not written yet"
    if isinstance(error, Unusable):
        return str(error)
    first = str(error).strip().split("\n")[0]
    return f"raised {type(error).__name__}{f': {first}' if first else ''}"


def read(folder: Path) -> Storyteller:
    """Return the storyteller with the weights in *folder*: int8, with a scale for each row."""
    with np.load(made_in(folder) / "storyteller.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    facts = [arrays.pop(name) for name in ("symbols", "heads", "window")]
    weights = {
        name: torch.from_numpy(one.astype(np.float32) * arrays.get(f"{name}/scale", 1))
        for name, one in arrays.items()
        if not name.endswith("/scale")
    }
    return Storyteller(weights, str(facts[0]), int(facts[1]), int(facts[2]))


def cut(text: str) -> str:
    """Return *text* up to the end of its story, or else of its last whole sentence."""
    story, end, _ = text.partition("\n")
    ends = [found.end() for found in re.finditer(r'[.?]"?(?=\s|$)', story)]
    return story if end or not ends else story[: ends[-1]]
