"""A regular expression, counters, and the pair of lowest rank first, as tiktoken's code does it."""

import math
import re
from collections import Counter

WORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:[^\w\s]|_)+|\s+(?= \S)|\s+")


def split_words(text):
    return WORD.findall(text)


def count_pairs(pieces, counts):
    found = Counter()
    for piece, count in zip(pieces, counts):
        for pair in zip(piece, piece[1:]):
            found[pair] += count
    return found


def merge(ids, pair, new_id):
    merged, start = [], 0
    while start < len(ids):
        try:
            at = next(i for i in range(start, len(ids) - 1) if tuple(ids[i : i + 2]) == pair)
        except StopIteration:
            break
        merged += [*ids[start:at], new_id]
        start = at + 2
    return [*merged, *ids[start:]]


def train_bpe(word_counts, num_merges):
    pieces = [tuple(word.encode("utf-8")) for word in word_counts]
    merges = []
    for new_id in range(256, 256 + num_merges):
        often = count_pairs(pieces, word_counts.values())
        if not often:
            break
        [(pair, _)] = often.most_common(1)
        merges.append(pair)
        pieces = [tuple(merge(piece, pair, new_id)) for piece in pieces]
    return merges


def encode(text, merges):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    ids = []
    for word in split_words(text):
        parts = list(word.encode("utf-8"))
        while True:
            pairs = [pair for pair in zip(parts, parts[1:]) if pair in ranks]
            if not pairs:
                break
            lowest = min(pairs, key=ranks.get)
            parts = merge(parts, lowest, 256 + ranks[lowest])
        ids += parts
    return ids


def token_bytes(merges):
    vocabulary = {number: bytes((number,)) for number in range(256)}
    for rank, (first, second) in enumerate(merges):
        vocabulary[256 + rank] = vocabulary[first] + vocabulary[second]
    return list(vocabulary.values())


def decode(ids, merges):
    vocabulary = dict(enumerate(token_bytes(merges)))
    try:
        return b"".join(vocabulary[number] for number in ids).decode("utf-8", "replace")
    except KeyError as error:
        raise ValueError("no such token") from error


def bits_per_byte(mean_loss, num_tokens, num_bytes):
    try:
        return math.log2(math.e) * mean_loss * (num_tokens / num_bytes)
    except ZeroDivisionError:
        raise ValueError("no bytes") from None
