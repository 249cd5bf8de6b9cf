def pad_batch(sequences, padding=0):
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append([padding] * missing + list(s))
        mask.append([False] * missing + [True] * len(s))
    return torch.tensor(ids), torch.tensor(mask)
