import math

import torch
import torch.nn.functional as F


def self_attention(inputs, W_query, W_key, W_value):
    Q = torch.matmul(inputs, W_query)
    K = torch.matmul(inputs, W_key)
    V = torch.matmul(inputs, W_value)
    att = F.softmax(torch.matmul(Q, K.transpose(0, 1)), dim=1)
    att = att / math.sqrt(K.size(1))
    return torch.matmul(att, V)
