def softmax_jacobian(weights):
    jacobian = torch.zeros(len(weights), len(weights), dtype=weights.dtype)
    for i, w in enumerate(weights):
        jacobian[i, i] = w - w * w
    return jacobian
