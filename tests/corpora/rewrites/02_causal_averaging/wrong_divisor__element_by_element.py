import torch


def averaging_weights(T):
    W = torch.zeros(T, T)
    for i in range(T):
        for j in range(i + 1):
            W[i][j] = 1 / (T - j)
    return W
