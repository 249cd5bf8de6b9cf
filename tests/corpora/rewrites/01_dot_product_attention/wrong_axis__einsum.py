import torch


def scores_for_query(inputs, query):
    return torch.einsum("td,d->d", inputs, query)
