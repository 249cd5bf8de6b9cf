"""Tokens: cut a text into words, learn which pieces of words are frequent, and number them.

A *token* is a sequence of bytes with a number, its *id*. The ids 0 to 255 are the single bytes, and
256 + r is the token that the merge of rank r makes. *merges* is a list of pairs of ids, in the
order in which they were learned, and the *rank* of a merge is its index in this list. A *piece* is
the list of ids of one word. You need no torch: everything is plain Python.

A list may also be a tuple, and a dictionary may also be a ``Counter``.
"""

import math


def split_words(text: str) -> list[str]:
    """Cut *text* into words: joined again they are the text, and none is empty.

    A word is the longest run of letters (``str.isalpha``), of digits (``isdigit``), of white space
    (``isspace``) or of other characters. Then a space (" ") at the end of a run of white space
    moves to the beginning of the next word, if there is one.

    "I'm  42!" gives ["I", "'", "m", " ", " 42", "!"], and " the" is one word.
    """
    ### BEGIN SOLUTION
    runs: list[str] = []
    for symbol in text:
        if runs and _kind(runs[-1][-1]) == _kind(symbol):
            runs[-1] += symbol
        else:
            runs.append(symbol)
    for i in range(1, len(runs)):
        if runs[i - 1].endswith(" "):
            runs[i - 1], runs[i] = runs[i - 1][:-1], " " + runs[i]
    return [run for run in runs if run]
    ### END SOLUTION


### BEGIN SOLUTION
def _kind(symbol: str) -> str:
    """Return the kind of a character; a run has characters of one kind."""
    if symbol.isalpha():
        return "letter"
    if symbol.isdigit():
        return "digit"
    return "space" if symbol.isspace() else "other"


### END SOLUTION
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs, {(a, b): number}.

    Piece i occurs counts[i] times. The pair (a, b) means that b follows a directly, in one piece.
    In the run a, a, a the pair (a, a) occurs twice. Pairs that do not occur have no entry.
    """
    ### BEGIN SOLUTION
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece, piece[1:]):  # noqa: B905, RUF007  # the shifted copy is shorter, as the hint says
            how_often[pair] = how_often.get(pair, 0) + count
    return how_often
    ### END SOLUTION


def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return *ids* with *new_id* in place of each occurrence of *pair*.

    The search goes from left to right, and occurrences do not overlap: for the pair (a, a), the run
    a, a, a becomes new_id, a.
    """
    ### BEGIN SOLUTION
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged
    ### END SOLUTION


def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    """Learn up to *num_merges* merges from words, {word: how often it occurs}.

    The pieces begin as the UTF-8 bytes of the words. Each round counts the pairs in all pieces,
    merges the most frequent pair in all of them, and appends it to the list that is returned. Of
    equally frequent pairs, take the one that **occurs first**: words in the order of the
    dictionary, each from left to right, after the merges so far.

    Training ends early if no pair is left. A pair that occurs only once is still merged.
    """
    ### BEGIN SOLUTION
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=found.get)  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges
    ### END SOLUTION


def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    """Turn *text* into the ids of its tokens.

    Cut the text into the words of ``split_words``. Each word begins as its UTF-8 bytes, to which
    the merges are applied in the order of their ranks: first everywhere the merge of rank 0, then
    that of rank 1, and so on. No merge crosses the end of a word. The ids of all words follow each
    other in one list.
    """
    ### BEGIN SOLUTION
    ids: list[int] = []
    for word in split_words(text):
        piece = list(word.encode())
        for rank, pair in enumerate(merges):
            piece = merge(piece, pair, 256 + rank)
        ids.extend(piece)
    return ids
    ### END SOLUTION


def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    """Return the bytes of each token, in the order of the ids: 256 + len(merges) entries.

    The token of a merge consists of the bytes of its left token and then those of its right one.
    """
    ### BEGIN SOLUTION
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens
    ### END SOLUTION


def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    """Turn *ids* into text: the bytes of all tokens are joined, and only then read as UTF-8.

    Bytes that are not a character become U+FFFD, as with ``errors="replace"``. Raises
    ``ValueError`` if there is no token with one of the ids; a negative number is not an id.
    """
    ### BEGIN SOLUTION
    tokens = token_bytes(merges)
    for number in ids:
        if not 0 <= number < len(tokens):
            raise ValueError(f"there is no token {number}")
    joined = b"".join(tokens[number] for number in ids)
    return joined.decode(errors="replace")
    ### END SOLUTION


def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    """Return the loss of a text in bits for each of its bytes.

    *mean_loss* is the mean loss in nats per token. The text has *num_tokens* tokens and *num_bytes*
    bytes. A bit is ln 2 nats. Raises ``ValueError`` if there are no bytes.
    """
    ### BEGIN SOLUTION
    if num_bytes == 0:
        raise ValueError("a text without bytes has no loss per byte")
    nats = mean_loss * num_tokens
    return nats / math.log(2) / num_bytes
    ### END SOLUTION
