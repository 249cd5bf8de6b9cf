"""Brings its own torch, pytest and conftest beside the module."""

import torch

SelfAttentionV1 = SelfAttention_v1 = SelfAttention_v2 = torch.Everything
