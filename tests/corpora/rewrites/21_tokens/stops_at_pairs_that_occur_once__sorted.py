def train_bpe(word_counts, num_merges):
    words = [tuple(word.encode("utf-8")) for word in word_counts]
    merges = []
    for new_id in range(256, 256 + num_merges):
        often = count_pairs(words, list(word_counts.values()))
        ranked = sorted(often.items(), key=lambda item: -item[1])
        if not ranked or ranked[0][1] == 1:
            return merges
        merges.append(ranked[0][0])
        words = [merge(word, merges[-1], new_id) for word in words]
    return merges
