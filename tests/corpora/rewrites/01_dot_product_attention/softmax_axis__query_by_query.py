import torch
import torch.nn.functional as F


def simple_self_attention(inputs):
    A = F.softmax(torch.einsum("id,jd->ij", inputs, inputs), dim=1)
    return torch.stack([torch.mv(inputs.t(), A[:, i]) for i in range(len(inputs))])
