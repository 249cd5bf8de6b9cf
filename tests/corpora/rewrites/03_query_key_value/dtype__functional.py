import math

import torch
import torch.nn.functional as F


def attention_weights(scores, d_k):
    return F.softmax(scores * (1 / math.sqrt(d_k)), dim=-1, dtype=torch.float64)
