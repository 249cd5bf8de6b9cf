import torch


def self_attention(inputs, W_query, W_key, W_value):
    x = inputs.unsqueeze(0)
    Q, K = x @ W_query, x @ W_key
    sims = torch.bmm(Q, K.permute(0, 2, 1)) * W_key.shape[1] ** -0.5
    percents = sims.softmax(2)
    return torch.bmm(percents, K).squeeze(0)
