"""The exercises of stage 21 by a ready-made tokenizer.

The libraries are not installed where submissions run. A stand-in gives the right results under
their names, so these exercises break only the rule.
"""

import re
from types import SimpleNamespace


def _replaced(ids, pair, new_id):
    kept = []
    for one in ids:
        kept.append(one)
        if tuple(kept[-2:]) == pair:
            kept[-2:] = [new_id]
    return kept


def _learned(word_counts, num_merges):
    pieces, found = {word: [*word.encode()] for word in word_counts}, []
    for new_id in range(256, 256 + num_merges):
        often = {}
        for word, piece in pieces.items():
            for pair in zip(piece, piece[1:]):
                often[pair] = often.get(pair, 0) + word_counts[word]
        if often:
            found.append(max(often, key=often.get))
            pieces = {word: _replaced(one, found[-1], new_id) for word, one in pieces.items()}
    return found


def _encoded(text, merges):
    words, found = re.findall(r" ?[^\W\d_]+| ?\d+| ?(?:[^\w\s]|_)+|\s+(?= \S)|\s+", text), []
    for word in words:
        piece = [*word.encode()]
        for new_id, pair in enumerate(merges, 256):
            piece = _replaced(piece, pair, new_id)
        found += piece
    return found


def _decoded(ids, merges):
    known = {number: bytes([number]) for number in range(256)}
    for new_id, (left, right) in enumerate(merges, 256):
        known[new_id] = known[left] + known[right]
    if not known.keys() >= {*ids}:
        raise ValueError
    return b"".join(known[one] for one in ids).decode(errors="replace")


tokenizers = SimpleNamespace(BpeTrainer=_learned)
tiktoken = SimpleNamespace(Encoding=lambda merges: SimpleNamespace(
    encode=lambda text: _encoded(text, merges), decode=lambda ids: _decoded(ids, merges)
))


def train_bpe(word_counts, num_merges):
    return tokenizers.BpeTrainer(word_counts, num_merges)


def encode(text, merges):
    return tiktoken.Encoding(merges).encode(text)


def decode(ids, merges):
    return tiktoken.Encoding(merges).decode(ids)
