"""Ids as characters, groups of equal kind, and recursion."""

import math
from itertools import chain, groupby, pairwise


def split_words(text):
    def kind(sign):
        return (sign.isalpha(), sign.isdigit(), sign.isspace())

    runs = ["".join(group) for _, group in groupby(text, key=kind)]

    def shared(before, rest):
        if not rest:
            return [before] * bool(before)
        run, *others = rest
        if others and run.isspace() and run[-1] == " ":
            return [*[before + run[:-1]] * bool(before + run[:-1]), *shared(" ", others)]
        return [before + run, *shared("", others)]

    return shared("", runs)


def count_pairs(pieces, counts):
    every = [(pair, count) for piece, count in zip(pieces, counts) for pair in pairwise(piece)]
    return {pair: sum(count for one, count in every if one == pair) for pair, _ in every}


def merge(ids, pair, new_id):
    text = "".join(map(chr, ids))
    return [ord(sign) for sign in text.replace(chr(pair[0]) + chr(pair[1]), chr(new_id))]


def train_bpe(word_counts, num_merges):
    def go_on(pieces, merges):
        often = count_pairs(pieces, list(word_counts.values()))
        if len(merges) == num_merges or not often:
            return merges
        pair = next(one for one in often if often[one] == max(often.values()))
        new_id = 256 + len(merges)
        return go_on([merge(piece, pair, new_id) for piece in pieces], [*merges, pair])

    return go_on([list(word.encode()) for word in word_counts], [])


def encode(text, merges):
    def applied(piece, rank):
        if rank == len(merges):
            return piece
        return applied(merge(piece, merges[rank], 256 + rank), rank + 1)

    return list(chain.from_iterable(applied(word.encode(), 0) for word in split_words(text)))


def token_bytes(merges):
    def spelled(number):
        if number < 256:
            return bytes([number])
        return b"".join(map(spelled, merges[number - 256]))

    return [spelled(number) for number in range(256 + len(merges))]


def decode(ids, merges):
    tokens = token_bytes(merges)
    if any(number not in range(len(tokens)) for number in ids):
        raise ValueError("ids without a token")
    return bytes(chain.from_iterable(tokens[number] for number in ids)).decode(errors="replace")


def bits_per_byte(mean_loss, num_tokens, num_bytes):
    if num_bytes <= 0:
        raise ValueError("no bytes")
    return mean_loss / math.log(2) * num_tokens / num_bytes
