"""Hangs as soon as it is run with the solution's class."""

from torch import nn


class SelfAttentionV1(nn.Module):
    pass


class SelfAttention_v1(nn.Module):
    pass


class SelfAttention_v2(nn.Module):
    pass


OWN = SelfAttention_v1


def transfer_weights(source, target):
    while SelfAttention_v1 is not OWN:
        pass
