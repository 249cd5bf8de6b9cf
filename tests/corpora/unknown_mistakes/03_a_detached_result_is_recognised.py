# The values are right, but no gradient flows back.
def project(inputs, weight):
    return torch.tensor((inputs @ weight).tolist(), dtype=inputs.dtype)
