def softmax_backward(weights, grad_weights):
    derivative = weights - weights.square()
    return torch.einsum("...t,...t->...t", derivative, grad_weights)
