def logit_lens(streams, norm, out_head):
    rows = []
    for stream in streams:
        rows.append(out_head(stream)[None])
    return torch.cat(rows)
