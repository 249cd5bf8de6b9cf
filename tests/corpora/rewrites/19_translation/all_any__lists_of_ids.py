def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    ids = [[start] for _ in source]
    done = [False] * len(ids)
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        while not any(done) and len(ids[0]) <= max_length:
            logits = model.decode(torch.tensor(ids), memory, source_mask)
            for row in range(len(ids)):
                best = logits[row, -1].argmax().item()
                if done[row]:
                    best = padding
                ids[row].append(best)
                if best == end:
                    done[row] = True
    return torch.tensor(ids)[:, 1:]
