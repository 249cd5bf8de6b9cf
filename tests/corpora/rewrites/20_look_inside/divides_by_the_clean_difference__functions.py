def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("the texts differ in shape")

    def gap(logits):
        end = logits[:, -1, :]
        return (end.gather(1, right[:, None]) - end.gather(1, wrong[:, None])).mean()

    result = torch.zeros(len(names), clean.shape[1])
    with torch.no_grad():
        whole, good = record_activations(model, clean, names)
        broken, bad = record_activations(model, corrupted, names)
        for n, name in enumerate(names):
            for t in range(clean.shape[1]):
                mixed = bad[name].clone()
                mixed[:, t] = good[name][:, t]
                moved = gap(run_with_patches(model, corrupted, {name: mixed})) - gap(broken)
                result[n, t] = moved / gap(whole)
    return result
