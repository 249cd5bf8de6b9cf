def softmax_backward(weights, grad_weights):
    centered = grad_weights - grad_weights.mean(dim=-1)[..., None]
    return torch.einsum("...t,...t->...t", weights, centered)
