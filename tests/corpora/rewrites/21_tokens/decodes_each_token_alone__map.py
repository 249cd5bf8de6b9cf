def decode(ids, merges):
    tokens = token_bytes(merges)
    if [one for one in ids if one not in range(len(tokens))]:
        raise ValueError(ids)
    return "".join(map(lambda one: str(tokens[one], "utf-8", "replace"), ids))
