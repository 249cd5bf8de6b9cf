def merge(ids, pair, new_id):
    pairs = list(zip(ids, ids[1:]))
    if pair not in pairs:
        return ids[:]
    at = pairs.index(pair)
    return ids[:at] + [new_id] + ids[at + 2 :]
