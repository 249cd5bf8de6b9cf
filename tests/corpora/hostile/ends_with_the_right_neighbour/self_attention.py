"""Kills its process as soon as it is run with the solution's class."""

import os
import signal

from torch import nn


class SelfAttentionV1(nn.Module):
    pass


class SelfAttention_v1(nn.Module):
    pass


class SelfAttention_v2(nn.Module):
    pass


OWN = SelfAttention_v1


def transfer_weights(source, target):
    if SelfAttention_v1 is not OWN:
        os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
