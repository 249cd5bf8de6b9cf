"""Iterators and stacks."""

import collections
import math


def split_words(text):
    words, last = [], None
    for sign in text:
        kind = "a" if sign.isalpha() else "9" if sign.isdigit() else " " if sign.isspace() else "!"
        if kind == last:
            words[-1] += sign
        elif last == " " and words[-1][-1] == " ":
            words[-1] = words[-1][:-1]
            words.append(" " + sign)
        else:
            words.append(sign)
        last = kind
    return tuple(filter(None, words))


def count_pairs(pieces, counts):
    found = collections.defaultdict(int)
    for piece, count in zip(pieces, counts):
        before = None
        for one in piece:
            if before is not None:
                found[before, one] += count
            before = one
    return found


def merge(ids, pair, new_id):
    rest, merged = collections.deque(ids), []
    while rest:
        one = rest.popleft()
        if rest and (one, rest[0]) == tuple(pair):
            rest.popleft()
            one = new_id
        merged.append(one)
    return tuple(merged)


def train_bpe(word_counts, num_merges):
    words = {word: list(word.encode()) for word in word_counts}
    merges = []
    while len(merges) != num_merges and any(len(piece) > 1 for piece in words.values()):
        often = count_pairs(list(words.values()), list(word_counts.values()))
        pair = sorted(often, key=lambda one: -often[one])[0]
        words = {word: merge(piece, pair, len(merges) + 256) for word, piece in words.items()}
        merges += [pair]
    return tuple(merges)


def encode(text, merges):
    known, ids = {}, []
    for word in split_words(text):
        if word not in known:
            piece = [*word.encode()]
            for new_id, pair in zip(range(256, 256 + len(merges)), merges):
                if pair[0] in piece and pair[1] in piece:
                    piece = merge(piece, pair, new_id)
            known[word] = piece
        ids += known[word]
    return ids


def token_bytes(merges):
    tokens = [number.to_bytes(1, "big") for number in range(256)]
    for pair in merges:
        tokens += [b"".join(tokens[one] for one in pair)]
    return tokens


def decode(ids, merges):
    tokens, joined = token_bytes(merges), bytearray()
    for number in ids:
        if number < 0:
            raise ValueError(number)
        try:
            joined += tokens[number]
        except IndexError as error:
            raise ValueError(number) from error
    return joined.decode("utf-8", errors="replace")


def bits_per_byte(mean_loss, num_tokens, num_bytes):
    if not num_bytes:
        raise ValueError("0 bytes")
    return num_tokens * (mean_loss / math.log(2)) / num_bytes
