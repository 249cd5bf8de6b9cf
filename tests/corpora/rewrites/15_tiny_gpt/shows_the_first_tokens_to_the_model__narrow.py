import torch


def generate(model, idx, max_new_tokens, block_size, temperature=0.0, top_k=None):
    with torch.inference_mode():
        while max_new_tokens > 0:
            window = idx.narrow(1, 0, min(block_size, idx.size(1)))
            logits = model(window)[:, -1, :]
            idx = torch.hstack((idx, sample_next(logits, temperature, top_k)))
            max_new_tokens -= 1
    return idx
